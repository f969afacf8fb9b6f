//! A session as its server describes it (page §1.2): the agent and its tools, what the client declared, what waits.

use contract::{
    session::SessionState,
    setup::{OptionSetting, SessionSetup, ToolSetting},
};

use super::{
    agents::Agent,
    wire::{Called, called},
};
use crate::{
    RemoteSession,
    json::{Fields, elements, string},
    own_tools,
};

/// A session.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct SessionObject {
    pub id: String,
    pub agent: Option<String>,
    /// The server's tools that are on.
    pub tools: Vec<ToolSetting>,
    /// The options' values, raw.
    options: Vec<(String, String)>,
    /// The tools clients declared: each name with its specification, raw.
    pub client: Vec<(String, String)>,
    /// A turn runs (v3-revised).
    pub active: Option<bool>,
    /// The calls that wait (v3-revised, v4).
    pub pending: Option<Vec<Called>>,
}

/// What servers write instead of a secret (page §6).
const PLACEHOLDERS: [&str; 2] = ["***", "[redacted]"];

/// Whether a value stands for a secret that is not told.
pub(super) fn is_placeholder(value: &str) -> bool {
    PLACEHOLDERS.contains(&value)
}

impl SessionObject {
    /// Reads one; `None` where it is none.
    pub fn read(raw: &str) -> Option<Self> {
        let fields = Fields::read(raw).ok()?;
        let agent = fields.object("agent");
        let list = |fields: Option<&Fields<'_>>, name: &str| -> Vec<String> {
            let raw = fields.and_then(|fields| fields.raw(name));
            raw.map(elements).unwrap_or_default().into_iter().map(str::to_owned).collect()
        };
        let tools = list(agent.as_ref(), "tools");
        let options = agent.as_ref().and_then(|agent| agent.object("options"));
        Some(Self {
            id: fields.number_or_text("sessionId")?,
            agent: agent.as_ref().and_then(|agent| agent.word("name")),
            tools: tools.iter().filter_map(|raw| tool(raw)).collect(),
            options: options
                .map(|all| all.names().filter_map(|name| Some((name.to_owned(), all.raw(name)?.to_owned()))).collect())
                .unwrap_or_default(),
            client: list(Some(&fields), "tools")
                .into_iter()
                .filter_map(|raw| Some((Fields::read(&raw).ok()?.word("name")?, raw)))
                .collect(),
            active: fields.flag("active"),
            pending: fields
                .raw("pending")
                .map(|raw| elements(raw).into_iter().filter_map(|raw| called(&Fields::read(raw).ok()?)).collect()),
        })
    }

    /// It speaks the revised draft of v3 (page §3).
    pub fn is_revised(&self) -> bool {
        self.active.is_some() || self.pending.is_some()
    }

    /// Whether a client declared a tool of this name.
    pub fn declares(&self, name: &str) -> bool {
        self.client.iter().any(|(known, _)| known == name)
    }

    /// Specifications of tools that another client declared, raw: they go with ours, or they would be lost.
    pub fn foreign(&self) -> Vec<String> {
        self.client.iter().filter(|(name, _)| !own_tools::is_ours(name)).map(|(_, raw)| raw.clone()).collect()
    }

    /// How it is set up. What stands for a secret is never shown as a value.
    pub fn setup(&self, agent: Option<&Agent>) -> SessionSetup {
        SessionSetup {
            tools: self.tools.clone(),
            options: self.options.iter().filter_map(|(name, raw)| setting(name, raw, agent)).collect(),
            own_tools: self
                .client
                .iter()
                .filter(|(name, _)| own_tools::is_ours(name))
                .map(|(name, _)| name.clone())
                .collect(),
        }
    }

    /// Its row.
    pub fn row(&self, id: String) -> RemoteSession {
        let waits = self.pending.as_ref().map(|pending| !pending.is_empty());
        let state = match (self.active, waits) {
            (Some(true), _) => SessionState::Running,
            (_, Some(true)) => SessionState::Waiting,
            (Some(false), _) => SessionState::Idle,
            (None, _) => SessionState::Unknown,
        };
        RemoteSession { id, state, agent: self.agent.clone(), ..RemoteSession::default() }
    }
}

fn tool(raw: &str) -> Option<ToolSetting> {
    // A bare name is a tool that is on.
    if let Some(name) = string(raw) {
        return Some(ToolSetting { name: name.into_owned(), trusted: false });
    }
    let fields = Fields::read(raw).ok()?;
    Some(ToolSetting { name: fields.word("name")?, trusted: fields.flag("trust") == Some(true) })
}

fn setting(name: &str, raw: &str, agent: Option<&Agent>) -> Option<OptionSetting> {
    let secret = || OptionSetting { name: name.to_owned(), value: None };
    // v4 says of a secret only whether there is one.
    match raw {
        "true" => return Some(secret()),
        "false" => return None,
        _ => {}
    }
    let value = string(raw).map_or_else(|| raw.to_owned(), std::borrow::Cow::into_owned);
    let is_secret = agent.map_or_else(|| is_placeholder(&value), |agent| agent.is_secret(name));
    if is_secret {
        return Some(secret());
    }
    Some(OptionSetting { name: name.to_owned(), value: Some(value) })
}
