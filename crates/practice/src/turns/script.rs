//! Scenarios as sessions of this side: what a script calls is declared, enabled and trusted as its steps say.

use std::collections::VecDeque;

use serde_json::{Value, json};

use super::{
    agents,
    config::{Enabled, Setup},
};
use crate::scenario::{Call, Step};

/// Tools of this name stay unknown: what a model made up (§7.6).
const GHOST: &str = "ghost";

#[derive(Default)]
struct Declared {
    enabled: Vec<Enabled>,
    tools: Vec<Value>,
}

impl Declared {
    fn call(&mut self, call: &Call, custom: bool, trust: bool) {
        let name = call.name.as_str();
        let known = self.enabled.iter().any(|tool| tool.name == name)
            || self.tools.iter().any(|tool| tool.get("name").and_then(Value::as_str) == Some(name));
        if !known && name != GHOST {
            if custom {
                let parameters = json!({"type": "object", "properties": {}});
                self.tools
                    .push(json!({"name": name, "description": "A tool of the client.", "parameters": parameters}));
            } else {
                self.enabled.push(Enabled { name: name.to_owned(), trust });
            }
        }
        call.allow.iter().chain(&call.deny).for_each(|step| self.step(step));
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Tool(call) => self.call(call, false, true),
            Step::Ask(call) => self.call(call, false, false),
            Step::CustomTool(call) => self.call(call, true, false),
            Step::Batch { calls, .. } => {
                for call in calls {
                    self.call(call, call.custom, call.ruled == Some(true));
                }
            }
            Step::Question(question) => {
                self.call(&super::player::asked(question), true, false);
            }
            Step::Thread { steps, .. } => steps.iter().for_each(|step| self.step(step)),
            _ => {}
        }
    }
}

/// A session in which everything the script calls is set up as the script means it.
pub(crate) fn setup(steps: &VecDeque<Step>) -> Setup {
    let mut declared = Declared::default();
    steps.iter().for_each(|step| declared.step(step));
    let Declared { enabled, tools } = declared;
    Setup { agent: agents::PRACTICE.to_owned(), enabled, tools, ..Setup::default() }
}

/// Takes the part of a script up to the next message.
pub(crate) fn part(script: &mut VecDeque<Step>) -> VecDeque<Step> {
    while script.front().is_some_and(super::free::opens) {
        script.pop_front();
    }
    let end = script.iter().position(super::free::opens).unwrap_or(script.len());
    script.drain(..end).collect()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn read(text: &str) -> VecDeque<Step> {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn a_script_sets_its_session_up() {
        let setup = setup(&read(
            r#"[{"do":"tool","name":"a"},{"do":"ask","name":"b","allow":[{"do":"custom_tool","name":"c"}]},
                {"do":"batch","calls":[{"name":"d","ruled":true},{"name":"e","custom":true},{"name":"ghost"}]}]"#,
        ));
        let enabled: Vec<_> = setup.enabled.iter().map(|tool| (tool.name.as_str(), tool.trust)).collect();
        assert_eq!(enabled, [("a", true), ("b", false), ("d", true)]);
        assert_eq!(setup.client_tools(), ["c", "e"]);
    }

    #[test]
    fn each_message_plays_the_script_up_to_the_next_one() {
        let mut script = read(
            r#"[{"do":"user","text":"a"},{"do":"say","text":"b"},{"do":"wait_for_message"},{"do":"say","text":"c"}]"#,
        );
        assert_eq!((part(&mut script).len(), part(&mut script).len(), part(&mut script).len()), (1, 1, 0));
    }
}
