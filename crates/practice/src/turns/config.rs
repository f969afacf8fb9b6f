//! How a session is set up: its agent with tools and options, and the client's tools (§1.2 and §2).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{TurnsManner, agents};
use crate::scenario::Call;

/// What stands for a secret in answers of v3 (§2, Get).
const REDACTED: &str = "***";

/// A tool of the server that is switched on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Enabled {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) trust: bool,
}

/// How a session is set up.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Setup {
    pub(crate) agent: String,
    pub(crate) enabled: Vec<Enabled>,
    pub(crate) options: BTreeMap<String, String>,
    /// The client's tools as they were declared.
    pub(crate) tools: Vec<Value>,
    /// Counts the changes.
    #[serde(default)]
    pub(crate) revision: u64,
}

/// What a request wants of it. Missing = as it is.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub(crate) struct Change {
    #[serde(default)]
    pub(crate) agent: Option<AgentChange>,
    #[serde(default)]
    pub(crate) tools: Option<Vec<Value>>,
}

/// The part about the agent.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub(crate) struct AgentChange {
    #[serde(default)]
    pub(crate) name: Option<String>,
    #[serde(default)]
    pub(crate) tools: Option<Vec<Enabled>>,
    #[serde(default)]
    pub(crate) options: Option<BTreeMap<String, String>>,
}

/// Who answers a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Party {
    /// The server, inline.
    Server,
    /// The client runs it.
    Client,
    /// The client allows or denies it.
    Person,
    /// Nobody knows it: only a result sent by the client goes on (§7.6).
    Nobody,
}

/// The agent as sessions show it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct AgentShown {
    name: String,
    tools: Vec<Enabled>,
    options: Map<String, Value>,
}

impl Setup {
    /// Who answers a call. `gated` = by the script it is not the server's alone.
    pub(crate) fn party(&self, call: &Call, gated: bool) -> Party {
        if self.tools.iter().any(|tool| tool.get("name").and_then(Value::as_str) == Some(&call.name)) {
            return Party::Client;
        }
        match self.enabled.iter().find(|tool| tool.name == call.name) {
            Some(tool) if tool.trust => Party::Server,
            Some(_) => Party::Person,
            // Agents may have tools they show nobody (§1.1).
            None if gated => Party::Nobody,
            None => Party::Server,
        }
    }

    /// The names of the client's tools, in order.
    pub(crate) fn client_tools(&self) -> Vec<&str> {
        self.tools.iter().filter_map(|tool| tool.get("name")?.as_str()).collect()
    }

    /// Takes a change: lists are replaced, options merged by key; the agent's name stays.
    pub(crate) fn apply(&mut self, change: Change) {
        self.revision += 1;
        if let Some(agent) = change.agent {
            if let Some(tools) = agent.tools {
                self.enabled = tools;
            }
            self.options.extend(agent.options.unwrap_or_default());
        }
        if let Some(tools) = change.tools {
            self.tools = tools;
        }
    }

    /// Why a change cannot be taken (v3-revised and v4; v3 looks at nothing).
    pub(crate) fn objection(&self, change: &Change) -> Option<String> {
        let agent = change.agent.as_ref();
        let known =
            |name: &str| agents::has_tool(&self.agent, name) || self.enabled.iter().any(|enabled| enabled.name == name);
        let enabled = agent.and_then(|agent| agent.tools.as_ref()).unwrap_or(&self.enabled);
        if let Some(tool) = enabled.iter().find(|tool| !known(&tool.name)) {
            return Some(format!("unknown tool: {}", tool.name));
        }
        for (name, value) in agent.and_then(|agent| agent.options.as_ref()).into_iter().flatten() {
            match agents::takes_option(&self.agent, name, value) {
                None => return Some(format!("unknown option: {name}")),
                Some(false) => return Some(format!("{name} cannot be {value}")),
                Some(true) => {}
            }
        }
        let tools = change.tools.as_ref().unwrap_or(&self.tools);
        let mut names: Vec<&str> = enabled.iter().map(|tool| tool.name.as_str()).collect();
        for tool in tools {
            let Some(name) = tool.get("name").and_then(Value::as_str) else {
                return Some("a tool needs a name".to_owned());
            };
            if names.contains(&name) {
                return Some(format!("two tools are named {name}"));
            }
            names.push(name);
        }
        None
    }

    /// As answers show it: never with a secret in it.
    pub(crate) fn shown(&self, manner: &TurnsManner) -> AgentShown {
        let secrets = agents::secrets(&self.agent);
        let mut options: Map<String, Value> = self
            .options
            .iter()
            .map(|(name, value)| {
                let secret = secrets.contains(&name.as_str());
                let value = match (secret, manner.is_v4()) {
                    (false, _) => value.clone().into(),
                    (true, true) => (!value.is_empty()).into(),
                    (true, false) => REDACTED.into(),
                };
                (name.clone(), value)
            })
            .collect();
        if manner.is_v4() {
            for name in secrets {
                options.entry(name).or_insert(false.into());
            }
        }
        AgentShown { name: self.agent.clone(), tools: self.enabled.clone(), options }
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;
    use crate::TurnsVersion;

    fn setup() -> Setup {
        let trusted = |name: &str, trust| Enabled { name: name.into(), trust };
        Setup {
            agent: agents::PRACTICE.into(),
            enabled: vec![trusted("clock", true), trusted("write_note", false)],
            options: [("api_key", "s3cret"), ("tone", "dry")].map(|(k, v)| (k.to_owned(), v.to_owned())).into(),
            tools: vec![json!({"name": "calc"})],
            revision: 0,
        }
    }

    fn change(body: Value) -> Change {
        serde_json::from_value(body).unwrap()
    }

    #[test]
    fn a_call_belongs_to_whoever_declared_its_name() {
        let party = |name: &str, gated| setup().party(&Call { name: name.into(), ..Call::default() }, gated);
        assert_eq!(party("calc", true), Party::Client);
        assert_eq!(party("clock", true), Party::Server);
        assert_eq!(party("write_note", false), Party::Person);
        assert_eq!(party("ghost", true), Party::Nobody);
        assert_eq!(party("hidden", false), Party::Server);
    }

    #[test]
    fn a_change_replaces_lists_and_merges_options() {
        let mut setup = setup();
        setup.apply(change(json!({"agent": {"name": "writer", "tools": [], "options": {"tone": "warm"}}})));
        assert_eq!((setup.agent.as_str(), setup.enabled.len()), ("practice", 0));
        assert_eq!((setup.options["tone"].as_str(), setup.options["api_key"].as_str()), ("warm", "s3cret"));
        assert_eq!(setup.client_tools(), ["calc"]);
    }

    #[test]
    fn no_answer_holds_a_secret() {
        for (version, wanted) in [(TurnsVersion::V3, json!("***")), (TurnsVersion::V4, json!(true))] {
            let shown = setup().shown(&TurnsManner::of(version));
            assert_eq!(shown.options["api_key"], wanted);
        }
        let none = Setup { agent: agents::PRACTICE.into(), ..Setup::default() };
        assert_eq!(none.shown(&TurnsManner::of(TurnsVersion::V4)).options["api_key"], json!(false));
        assert!(none.shown(&TurnsManner::default()).options.is_empty());
    }

    #[test]
    fn what_cannot_be_is_objected_to() {
        let object = |body| setup().objection(&change(body));
        assert_eq!(object(json!({"agent": {"options": {"model": "practice-2"}}})), None);
        assert_eq!(object(json!({"agent": {"options": {"model": "gone"}}})).unwrap(), "model cannot be gone");
        assert!(object(json!({"agent": {"tools": [{"name": "rocket"}]}})).is_some());
        assert!(object(json!({"tools": [{"name": "clock"}]})).is_some());
    }
}
