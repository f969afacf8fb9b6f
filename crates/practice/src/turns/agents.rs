//! The agents of the `turns` side, their tools and options, and `/meta` (§1.1).

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::TurnsManner;

/// The agent scenarios are played by.
pub(crate) const PRACTICE: &str = "practice";

/// A tool, of the server or of the client.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct ToolOut {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    description: String,
    parameters: Value,
}

/// An option of an agent.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct OptionOut {
    name: &'static str,
    title: &'static str,
    description: &'static str,
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    options: &'static [&'static str],
    default: &'static str,
}

/// An agent.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct AgentOut {
    name: &'static str,
    title: &'static str,
    version: &'static str,
    description: &'static str,
    tools: Vec<ToolOut>,
    options: Vec<OptionOut>,
    capabilities: Value,
}

/// The whole answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct MetaOut {
    version: u64,
    agents: Vec<AgentOut>,
}

const TOOLS: [(&str, &str, &str, &str); 4] = [
    ("clock", "Clock", "Says what time it is.", ""),
    ("write_note", "Write a note", "Keeps a note.", "text"),
    ("web_search", "Web search", "Searches the web.", "query"),
    ("run_command", "Run a command", "Runs a command in the workspace.", "command"),
];

const OPTIONS: [OptionOut; 3] = [
    OptionOut {
        name: "tone",
        title: "Tone",
        description: "How it talks.",
        kind: "text",
        options: &[],
        default: "friendly",
    },
    OptionOut {
        name: "model",
        title: "Model",
        description: "Which model answers.",
        kind: "select",
        options: &["practice-1", "practice-2"],
        default: "practice-1",
    },
    OptionOut {
        name: "api_key",
        title: "API key",
        description: "A key of a service it uses.",
        kind: "secret",
        options: &[],
        default: "",
    },
];

fn parameters(field: &str) -> Value {
    if field.is_empty() {
        return json!({"type": "object", "properties": {}});
    }
    json!({"type": "object", "properties": {field: {"type": "string"}}, "required": [field]})
}

fn tools() -> Vec<ToolOut> {
    let tool = |(name, title, description, field): &(&str, &str, &str, &str)| ToolOut {
        name: (*name).to_owned(),
        title: Some((*title).to_owned()),
        description: (*description).to_owned(),
        parameters: parameters(field),
    };
    TOOLS.iter().map(tool).collect()
}

fn flags(pairs: &[(&str, bool)]) -> Option<Value> {
    let on: Map<String, Value> =
        pairs.iter().filter(|(_, on)| *on).map(|(name, _)| ((*name).to_owned(), json!({}))).collect();
    (!on.is_empty()).then_some(Value::Object(on))
}

fn capabilities(manner: &TurnsManner) -> Value {
    let v4 = manner.is_v4();
    let groups = [
        (
            "history",
            flags(&[("full", manner.full && !v4), ("compacted", manner.compacted && !v4), ("tail", manner.tail && v4)]),
        ),
        (
            "stream",
            flags(&[
                ("delta", manner.delta && manner.says_stream),
                ("message", manner.message && manner.says_stream),
                ("none", manner.none && manner.says_stream && !v4),
            ]),
        ),
        ("application", flags(&[("tools", manner.client_tools && !v4)])),
        ("image", flags(&[("http", manner.image_http), ("data", manner.image_data)])),
    ];
    Value::Object(groups.into_iter().filter_map(|(name, on)| Some((name.to_owned(), on?))).collect())
}

fn all(manner: &TurnsManner) -> [AgentOut; 2] {
    [
        AgentOut {
            name: PRACTICE,
            title: "Practice agent",
            version: "1.0.0",
            description: "Plays scenarios and follows the words in a message.",
            tools: tools(),
            options: OPTIONS.to_vec(),
            capabilities: capabilities(manner),
        },
        AgentOut {
            name: "writer",
            title: "写手",
            version: "0.2.1",
            description: "用中文写作，没有工具。",
            tools: Vec::new(),
            options: Vec::new(),
            capabilities: capabilities(manner),
        },
    ]
}

/// What `/meta` says.
pub(crate) fn meta(manner: &TurnsManner) -> MetaOut {
    let agents = all(manner).into_iter().filter(|agent| !manner.hidden_agents.iter().any(|name| name == agent.name));
    MetaOut { version: manner.number(), agents: agents.collect() }
}

/// The server has an agent of this name and says so.
pub(crate) fn is_offered(manner: &TurnsManner, agent: &str) -> bool {
    meta(manner).agents.iter().any(|known| known.name == agent)
}

/// The agent has a tool of this name for clients to set up.
pub(crate) fn has_tool(agent: &str, tool: &str) -> bool {
    agent == PRACTICE && TOOLS.iter().any(|(name, ..)| *name == tool)
}

/// The value of an option is one the option can have; `None` = the agent has no such option.
pub(crate) fn takes_option(agent: &str, name: &str, value: &str) -> Option<bool> {
    let option = OPTIONS.iter().find(|option| agent == PRACTICE && option.name == name)?;
    Some(option.options.is_empty() || option.options.contains(&value))
}

/// The agent's options that are secrets.
pub(crate) fn secrets(agent: &str) -> Vec<&'static str> {
    let mine = OPTIONS.iter().filter(|option| agent == PRACTICE && option.kind == "secret");
    mine.map(|option| option.name).collect()
}

/// What a tool of the server gives back; nothing is run.
pub(crate) fn outcome(tool: &str, input: &Value) -> String {
    let field = |name: &str| input.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    match tool {
        "clock" => "12:00".to_owned(),
        "write_note" => format!("saved {}", field("text")),
        "web_search" => format!("three pages about {}", field("query")),
        "run_command" => {
            let command = field("command");
            command.strip_prefix("echo ").map_or_else(|| format!("ran: {command}"), str::to_owned)
        }
        _ => "done".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::TurnsVersion;

    #[test]
    fn capabilities_are_empty_objects_and_a_group_without_any_is_left_out() {
        let manner = TurnsManner { image_http: false, image_data: false, compacted: false, ..TurnsManner::default() };
        let wanted = json!({"application": {"tools": {}}, "history": {"full": {}},
            "stream": {"delta": {}, "message": {}, "none": {}}});
        assert_eq!(capabilities(&manner), wanted);
        let v4 = json!({"history": {"tail": {}}, "image": {"data": {}, "http": {}},
            "stream": {"delta": {}, "message": {}}});
        assert_eq!(capabilities(&TurnsManner::of(TurnsVersion::V4)), v4);
    }

    #[test]
    fn an_agent_can_vanish() {
        let manner = TurnsManner { hidden_agents: vec!["writer".into()], ..TurnsManner::default() };
        assert!(is_offered(&manner, PRACTICE) && !is_offered(&manner, "writer"));
        assert!(is_offered(&TurnsManner::default(), "writer"));
    }
}
