//! The agents of `GET /meta` (page §1.1): what each offers, and how its turns can be told.

use contract::{
    session::AgentChoice,
    setup::{AgentOffer, AgentOption, AgentOptionKind, OfferedTool, SessionSetup},
};

use crate::{
    json::{Fields, elements},
    own_tools,
};

/// One agent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Agent {
    pub name: String,
    pub title: Option<String>,
    pub description: Option<String>,
    pub offer: AgentOffer,
    /// Turns are told text by text.
    pub delta: bool,
    /// Turns are told message by message.
    pub message: bool,
    /// The history can be read exactly.
    pub full: bool,
    /// The history can be read as the server shortened it.
    pub compacted: bool,
    /// The history can be read page by page (v4).
    pub tail: bool,
    /// As it came.
    pub raw: String,
}

/// The agents of an answer to `GET /meta`; `None` where it is none.
pub(super) fn agents(body: &str) -> Option<Vec<Agent>> {
    let fields = Fields::read(body).ok()?;
    let is_v4 = fields.number::<u64>("version") == Some(4);
    Some(elements(fields.raw("agents")?).into_iter().filter_map(|raw| agent(raw, is_v4)).collect())
}

/// One agent. One without a name cannot be chosen, and is left out.
pub(super) fn agent(raw: &str, is_v4: bool) -> Option<Agent> {
    let fields = Fields::read(raw).ok()?;
    let capabilities = fields.object("capabilities");
    let has = |group: &str, leaf: &str| {
        capabilities.as_ref().and_then(|all| all.object(group)).is_some_and(|group| group.raw(leaf).is_some())
    };
    Some(Agent {
        name: fields.word("name")?,
        title: fields.word("title"),
        description: fields.word("description"),
        offer: AgentOffer {
            tools: fields.raw("tools").map(elements).unwrap_or_default().into_iter().filter_map(tool).collect(),
            options: fields.raw("options").map(elements).unwrap_or_default().into_iter().filter_map(option).collect(),
            own_tools: is_v4 || has("application", "tools"),
            beginnings: true,
            image_links: has("image", "http"),
            image_data: has("image", "data"),
        },
        delta: has("stream", "delta"),
        message: has("stream", "message"),
        full: has("history", "full"),
        compacted: has("history", "compacted"),
        tail: has("history", "tail"),
        raw: raw.to_owned(),
    })
}

fn tool(raw: &str) -> Option<OfferedTool> {
    let fields = Fields::read(raw).ok()?;
    Some(OfferedTool {
        name: fields.word("name")?,
        title: fields.word("title"),
        description: fields.word("description"),
    })
}

/// A type nobody here knows is taken as text.
fn option(raw: &str) -> Option<AgentOption> {
    let fields = Fields::read(raw).ok()?;
    let kind = match fields.text("type").as_deref() {
        Some("secret") => AgentOptionKind::Secret,
        Some("select") => AgentOptionKind::Select { values: fields.texts("options") },
        _ => AgentOptionKind::Text,
    };
    let default = match kind {
        AgentOptionKind::Secret => String::new(),
        AgentOptionKind::Text | AgentOptionKind::Select { .. } => {
            fields.text("default").map(std::borrow::Cow::into_owned).unwrap_or_default()
        }
    };
    Some(AgentOption {
        name: fields.word("name")?,
        title: fields.word("title"),
        description: fields.word("description"),
        kind,
        default,
        kept: false,
    })
}

impl Agent {
    /// For the form of a new session.
    pub fn choice(&self) -> AgentChoice {
        AgentChoice {
            id: self.name.clone(),
            name: self.title.clone().unwrap_or_else(|| self.name.clone()),
            description: self.description.clone(),
            model: None,
            tools: self.offer.tools.iter().map(|tool| tool.name.clone()).collect(),
            offer: Some(self.offer.clone()),
        }
    }

    /// How a turn is told: the best this agent can (page §1.1).
    pub fn stream_mode(&self) -> &'static str {
        match (self.delta, self.message) {
            (true, _) => "delta",
            (false, true) => "message",
            (false, false) => "none",
        }
    }

    /// Whether an option is a secret.
    pub fn is_secret(&self, name: &str) -> bool {
        self.offer.options.iter().any(|option| option.name == name && option.kind == AgentOptionKind::Secret)
    }
}

/// What is wrong with a setup, in words: it is said before anything is sent.
pub(super) fn amiss(agent: Option<&Agent>, setup: &SessionSetup) -> Option<String> {
    let mut names: Vec<&str> = Vec::new();
    for tool in &setup.tools {
        if names.contains(&tool.name.as_str()) {
            return Some(format!("The tool {} is named twice.", tool.name));
        }
        names.push(&tool.name);
    }
    let offered = agent.map(|agent| agent.offer.tools.as_slice()).unwrap_or_default();
    for own in &setup.own_tools {
        if !own_tools::is_ours(own) {
            return Some(format!("This app has no tool called {own}."));
        }
        if names.contains(&own.as_str()) || offered.iter().any(|tool| tool.name == *own) {
            return Some(format!(
                "The server has a tool called {own}, too. Tool names must be unique: switch this app's {own} off."
            ));
        }
    }
    let agent = agent?;
    for option in &setup.options {
        let known = agent.offer.options.iter().find(|known| known.name == option.name);
        if let (Some(AgentOptionKind::Select { values }), Some(value)) = (known.map(|known| &known.kind), &option.value)
            && !values.contains(value)
        {
            return Some(format!("{value} is no value of the option {}.", option.name));
        }
    }
    if !setup.own_tools.is_empty() && !agent.offer.own_tools {
        return Some(format!("The agent {} takes no tools of this app.", agent.name));
    }
    None
}
