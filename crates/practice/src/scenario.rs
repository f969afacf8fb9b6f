//! Scenarios: scripted agents as JSON. The format is described in `tests/scenarios/README.md`.

pub(crate) mod free_play;

use contract::command::ScenarioRow;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Form, PracticeError, SseIds, Start, Text};

/// A scripted agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Scenario {
    /// Its id; the file's name.
    pub(crate) id: String,
    /// Its title, in its own language.
    pub(crate) title: String,
    /// One sentence on what it shows.
    pub(crate) summary: String,
    /// Shown to people (`true`) or only there for tests.
    #[serde(default)]
    pub(crate) watch: bool,
    /// The age of its events, where it matters.
    #[serde(default)]
    pub(crate) form: Option<Form>,
    /// How its text streams, where it matters.
    #[serde(default)]
    pub(crate) text: Option<Text>,
    /// What its streams begin with, where it matters.
    #[serde(default)]
    pub(crate) start: Option<Start>,
    /// What its `id:` lines hold, where it matters.
    #[serde(default)]
    pub(crate) ids: Option<SseIds>,
    /// Which protocol it is made for.
    #[serde(default)]
    pub(crate) protocol: Wire,
    /// What happens.
    pub(crate) steps: Vec<Step>,
}

/// The protocols a scenario can be made for. Those for `managed` play on `runs` as well; not the other way round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Wire {
    /// Managed agents.
    #[default]
    Managed,
    /// The coding agent's server.
    Runs,
    /// The Agent Application Protocol.
    Turns,
}

/// One thing that happens.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Step {
    /// The person's message that opens a turn, sent by the script.
    User { text: String },
    /// Thinking.
    Think {
        #[serde(default)]
        text: String,
        #[serde(default = "default_think_ms")]
        ms: u64,
    },
    /// Text, streamed in deltas.
    Say {
        text: String,
        #[serde(default = "default_delta_ms")]
        delta_ms: u64,
    },
    /// A call the platform runs by itself.
    Tool(Call),
    /// A call that waits for the person.
    Ask(Call),
    /// A call the client runs.
    CustomTool(Call),
    /// Several calls that wait together.
    Batch {
        calls: Vec<Call>,
        /// `runs`: in which order they finish, by their places; missing = as they were called.
        #[serde(default)]
        finish: Vec<usize>,
    },
    /// An error.
    Error {
        #[serde(default = "default_error")]
        kind: String,
        message: String,
        #[serde(default)]
        retry: Retry,
    },
    /// A goal with its verdicts.
    Outcome { description: String, rubric: String, verdicts: Vec<Verdict> },
    /// The verdicts of a goal that was set already.
    Judge { outcome_id: String, verdicts: Vec<Verdict> },
    /// A sub-agent.
    Thread { agent: String, task: String, report: String, steps: Vec<Step> },
    /// The sub-agent is done (written by the player, never by hand).
    ThreadClose { agent: String, report: String },
    /// The runtime restarts in the middle.
    Rescheduled {
        #[serde(default)]
        ms: u64,
    },
    /// A file for the person.
    Artifact { name: String, content_type: String, text: String },
    /// An event of any type, as it is.
    Event { event: Value },
    /// Nothing for a while.
    Pause { ms: u64 },
    /// Waits until control opens the gate of this name.
    Gate { name: String },
    /// The turn ends; the next message of the person goes on with the script.
    WaitForMessage,
    /// The turn ends with this reason.
    End { reason: String },
    /// The session ends for good.
    Terminate { reason: String },
    /// `runs`: a question with its options.
    Question(Question),
    /// `runs`: a call the model's provider runs by itself, such as a web search.
    ServerTool(Call),
    /// `runs`: a message that is no part of the answer.
    Notice {
        text: String,
        #[serde(default)]
        level: Option<String>,
    },
    /// `runs`: the conversation is summed up.
    Compact {
        summary: String,
        #[serde(default = "yes")]
        applied: bool,
    },
    /// `runs`: the model stops here for this reason, and the run ends.
    Stop {
        reason: String,
        #[serde(default)]
        message: Option<String>,
    },
    /// `runs`: a frame of any name, as it is; without a name it has no `event:` line.
    Frame {
        #[serde(default)]
        name: Option<String>,
        payload: Value,
    },
    /// `runs`, `turns`: bytes as they are on the stream.
    Raw { text: String },
}

/// A question of the model.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Question {
    /// What is asked.
    pub(crate) question: String,
    /// What may be chosen; free text is fine all the same.
    pub(crate) options: Vec<String>,
    /// Several may be chosen.
    pub(crate) allow_multiple: bool,
    /// What follows an answer.
    pub(crate) answered: Vec<Step>,
    /// What follows when it was declined.
    pub(crate) declined: Vec<Step>,
}

/// How the session goes on after an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Retry {
    /// The server tries again by itself.
    Retrying,
    /// The turn is dead; the session takes messages.
    #[default]
    Exhausted,
    /// The session ends.
    Terminal,
}

/// A tool call.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Call {
    /// The tool.
    pub(crate) name: String,
    /// Its arguments.
    pub(crate) input: Value,
    /// How long it takes once it may run.
    pub(crate) ms: u64,
    /// What it gives back.
    pub(crate) result: String,
    /// Fills the result up to so many bytes.
    pub(crate) result_bytes: usize,
    /// It fails.
    pub(crate) error: bool,
    /// The client runs it (only in a batch; `custom_tool` says it by itself).
    pub(crate) custom: bool,
    /// The MCP server it belongs to.
    pub(crate) mcp_server: Option<String>,
    /// `runs`: a rule has decided already, whatever the run asked for.
    pub(crate) ruled: Option<bool>,
    /// `turns`: what it gives back, as blocks, instead of `result`.
    pub(crate) content: Option<Value>,
    /// `runs`: it is passed over for a newer message of the person.
    pub(crate) skipped: bool,
    /// What follows when it was allowed (or answered, for a client's tool).
    pub(crate) allow: Vec<Step>,
    /// What follows when it was denied.
    pub(crate) deny: Vec<Step>,
}

/// A verdict on a goal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Verdict {
    /// What the agent says before it is judged.
    #[serde(default)]
    pub(crate) say: String,
    /// `needs_revision`, `satisfied`, `failed`, `max_iterations_reached`.
    pub(crate) result: String,
    /// Why.
    pub(crate) explanation: String,
}

fn default_think_ms() -> u64 {
    900
}

fn yes() -> bool {
    true
}

fn default_delta_ms() -> u64 {
    40
}

fn default_error() -> String {
    "unknown_error".to_owned()
}

macro_rules! embedded {
    ($($id:literal),* $(,)?) => {
        const SCENARIOS: &[(&str, &str)] =
            &[$(($id, include_str!(concat!("../../../tests/scenarios/", $id, ".json")))),*];
    };
}

embedded!(
    "coding-run",
    "parallel-batch",
    "research-run",
    "tokyo-weather",
    "client-tool",
    "goal",
    "sub-agent",
    "plain",
    "approval",
    "deny",
    "long-output",
    "oversized",
    "gated",
    "every-event",
    "error-exhausted",
    "terminated",
    "seed-lifecycle",
    "runs-coding",
    "runs-chinese",
    "runs-approval",
    "runs-batch",
    "runs-compaction",
    "runs-error-first",
    "runs-error-late",
    "runs-large-output",
    "runs-messages",
    "runs-notices",
    "runs-out-of-order",
    "runs-plain",
    "runs-questions",
    "runs-ruled",
    "runs-server-tool",
    "runs-skipped",
    "runs-steer",
    "runs-stop-context-full",
    "runs-stop-interrupted",
    "runs-stop-max-output",
    "runs-stop-other",
    "runs-stop-paused",
    "runs-stop-refusal",
    "runs-talk",
    "runs-thinking",
    "runs-unknown",
    "turns-chinese",
    "turns-client-tool",
    "turns-error",
    "turns-error-first",
    "turns-gated",
    "turns-ghost",
    "turns-hidden-tool",
    "turns-images",
    "turns-json-content",
    "turns-large",
    "turns-long-input",
    "turns-max-tokens",
    "turns-messages",
    "turns-mixed",
    "turns-plain",
    "turns-refusal",
    "turns-shared",
    "turns-steps",
    "turns-thinking",
    "turns-trip",
    "turns-trusted",
    "turns-unknown",
    "turns-untrusted",
);

/// The scenario of this id.
pub(crate) fn find(id: &str) -> Result<Scenario, PracticeError> {
    let (_, text) =
        SCENARIOS.iter().find(|(known, _)| *known == id).ok_or_else(|| PracticeError::NoScenario(id.to_owned()))?;
    serde_json::from_str(text).map_err(|source| PracticeError::BadScenario { id: id.to_owned(), source })
}

/// The scenarios worth watching, in the order they are offered. Those that exist for tests are left out; they can
/// be started by their id all the same.
#[must_use]
pub fn scenarios() -> Vec<ScenarioRow> {
    rows(Wire::Managed)
}

/// The scenarios worth watching that are made for the `runs` protocol.
#[must_use]
pub fn runs_scenarios() -> Vec<ScenarioRow> {
    rows(Wire::Runs)
}

/// The scenarios worth watching that are made for the `turns` protocol.
#[must_use]
pub fn turns_scenarios() -> Vec<ScenarioRow> {
    rows(Wire::Turns)
}

fn rows(wire: Wire) -> Vec<ScenarioRow> {
    SCENARIOS
        .iter()
        .filter_map(|(id, _)| find(id).ok())
        .filter(|scenario| scenario.watch && scenario.protocol == wire)
        .map(|scenario| ScenarioRow { id: scenario.id, title: scenario.title, summary: scenario.summary })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scenario_file_reads_and_is_named_after_its_id() {
        for (id, _) in SCENARIOS {
            let scenario = find(id).unwrap();
            assert_eq!(scenario.id, *id);
            assert!(!scenario.title.is_empty() && !scenario.summary.is_empty() && !scenario.steps.is_empty());
        }
    }

    #[test]
    fn every_scenario_file_is_shipped() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/scenarios");
        let mut on_disk: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .filter_map(|entry| entry.unwrap().file_name().to_str()?.strip_suffix(".json").map(str::to_owned))
            .collect();
        let mut shipped: Vec<String> = SCENARIOS.iter().map(|(id, _)| (*id).to_owned()).collect();
        on_disk.sort();
        shipped.sort();
        assert_eq!(on_disk, shipped);
    }

    #[test]
    fn people_are_offered_the_scenarios_worth_watching() {
        let ids: Vec<String> = scenarios().into_iter().map(|row| row.id).collect();
        for id in ["coding-run", "parallel-batch", "research-run", "tokyo-weather", "client-tool"] {
            assert!(ids.iter().any(|known| known == id), "{id}");
        }
        assert!(!ids.iter().any(|known| known == "gated"));
    }

    #[test]
    fn an_unknown_word_in_a_step_is_an_error() {
        assert!(serde_json::from_str::<Step>(r#"{"do":"say","text":"a","speed":3}"#).is_err());
        assert!(serde_json::from_str::<Step>(r#"{"do":"ask","name":"a","alow":[]}"#).is_err());
        assert!(find("nothing").is_err());
    }
}
