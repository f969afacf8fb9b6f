//! The manners a session can have: which age of the wire it speaks, how its text streams, how its streams start.

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use serde::{Deserialize, Serialize};

/// The default of `delta_flush_interval_ms` (seed page).
pub(crate) const FLUSH_MS: u64 = 50;

/// How a practice server is started.
#[derive(Clone)]
pub struct Config {
    /// The port; `None` = chosen by the system.
    pub port: Option<u16>,
    /// The token; `None` = 256 random bits as hex; empty = none is asked for.
    pub token: Option<String>,
    /// The seed of every id.
    pub seed: u64,
    /// Where sessions are kept over a restart (JSON lines, 0600); `None` = nowhere.
    pub state_file: Option<PathBuf>,
    /// Whether the agent takes its time.
    pub pace: Pace,
    /// The manner of sessions that do not ask for another.
    pub manner: Manner,
    /// How often a silent stream sends a comment; `None` = never.
    pub heartbeat: Option<Duration>,
    /// How the `runs` side behaves.
    pub runs: crate::RunsManner,
    /// How the `turns` side behaves.
    pub turns: crate::TurnsManner,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            port: None,
            token: None,
            seed: 1,
            state_file: None,
            pace: Pace::Real,
            manner: Manner::default(),
            heartbeat: Some(Duration::from_secs(10)),
            runs: crate::RunsManner::default(),
            turns: crate::TurnsManner::default(),
        }
    }
}

impl std::fmt::Debug for Config {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Config").field("port", &self.port).field("seed", &self.seed).finish_non_exhaustive()
    }
}

/// Whether the agent takes its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pace {
    /// As a person would watch it.
    #[default]
    Real,
    /// No pauses: for tests.
    Fast,
}

/// Which of the two siblings a request speaks: decided by its path alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// Below `/api/v1/cloud`.
    Qoder,
    /// Below `/v1`.
    Claude,
}

/// The age of a session's events (wire page §7 and §13).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// The newest Qoder pages.
    #[default]
    Newest,
    /// The seed page.
    Seed,
    /// Claude Managed Agents.
    Claude,
}

/// How text reaches the client (wire page §8).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Text {
    /// Whole messages only.
    Plain,
    /// D0: frames with `delta: true`, then the whole text.
    Flag,
    /// D1: several `agent.message` events that the client joins.
    Repeat,
    /// D2: persisted `agent.message_start` … `agent.message_stop`.
    Incremental,
    /// D3: `event_start` and `event_delta` for connections that ask.
    #[default]
    Preview,
}

/// What a stream without a cursor begins with (wire page §6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Start {
    /// Only what happens from now on.
    #[default]
    Tail,
    /// The whole history first.
    Replay,
}

/// What stands in the `id:` lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SseIds {
    /// The event's own id.
    #[default]
    Event,
    /// A counting number, as clones do.
    Integer,
}

/// One session's manner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Manner {
    /// The age of its events.
    pub form: Form,
    /// How its text streams.
    pub text: Text,
    /// What its streams begin with.
    pub start: Start,
    /// What its `id:` lines hold.
    pub ids: SseIds,
}

fn word<T: serde::de::DeserializeOwned>(metadata: &BTreeMap<String, String>, key: &str) -> Option<T> {
    serde_json::from_value(serde_json::Value::String(metadata.get(key)?.clone())).ok()
}

impl Manner {
    /// The manner with what the session's metadata asks for (`practice.form`, `.text`, `.start`, `.ids`).
    pub(crate) fn asked(mut self, metadata: &BTreeMap<String, String>) -> Self {
        if let Some(form) = word(metadata, "practice.form") {
            self.form = form;
        }
        if let Some(text) = word(metadata, "practice.text") {
            self.text = text;
        }
        if let Some(start) = word(metadata, "practice.start") {
            self.start = start;
        }
        if let Some(ids) = word(metadata, "practice.ids") {
            self.ids = ids;
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_chooses_the_manner_and_unknown_words_change_nothing() {
        let metadata = [("practice.form", "seed"), ("practice.text", "repeat"), ("practice.start", "sideways")]
            .map(|(key, value)| (key.to_owned(), value.to_owned()));
        let manner = Manner::default().asked(&metadata.into());
        assert_eq!(manner, Manner { form: Form::Seed, text: Text::Repeat, ..Manner::default() });
    }
}
