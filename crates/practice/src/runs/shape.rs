//! The JSON shapes of the `runs` wire (§3, §5 and §7), with their keys in the order the real server writes them.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Tokens and time of a session or a run.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct Usage {
    pub(crate) input_tokens: u64,
    pub(crate) output_tokens: u64,
    pub(crate) cache_read_tokens: u64,
    pub(crate) cache_write_tokens: u64,
    pub(crate) reasoning_tokens: u64,
    pub(crate) seconds: f64,
    pub(crate) requests: u64,
    pub(crate) context_tokens: u64,
}

impl Usage {
    /// Adds one model request.
    pub(crate) fn add(&mut self, step: &Self) {
        self.input_tokens += step.input_tokens;
        self.output_tokens += step.output_tokens;
        self.seconds += step.seconds;
        self.requests += step.requests;
        self.context_tokens = step.input_tokens;
    }

    /// What was spent since `before`; the context is as it is now.
    pub(crate) fn since(&self, before: &Self) -> Self {
        Self {
            input_tokens: self.input_tokens - before.input_tokens,
            output_tokens: self.output_tokens - before.output_tokens,
            seconds: if self.requests == before.requests { 0.0 } else { self.seconds - before.seconds },
            requests: self.requests - before.requests,
            ..*self
        }
    }
}

/// A tool call and how it ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Tool {
    pub(crate) call_id: String,
    pub(crate) name: String,
    pub(crate) arguments: Value,
    pub(crate) output: String,
    pub(crate) ok: bool,
    pub(crate) skipped: bool,
}

/// A picture of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Picture {
    pub(crate) data: String,
    pub(crate) media_type: String,
}

/// A message of a stored session (§7).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Message {
    pub(crate) role: String,
    pub(crate) text: String,
    pub(crate) tool_calls: Vec<Tool>,
    pub(crate) tool_call_id: Option<String>,
    pub(crate) tool_name: Option<String>,
    pub(crate) ok: bool,
    pub(crate) images: usize,
    pub(crate) pictures: Vec<Picture>,
    pub(crate) usage: Option<Usage>,
    pub(crate) seconds: f64,
}

impl Message {
    /// A message of `role` with this text and nothing else.
    pub(crate) fn of(role: &str, text: &str) -> Self {
        Self {
            role: role.to_owned(),
            text: text.to_owned(),
            tool_calls: Vec::new(),
            tool_call_id: None,
            tool_name: None,
            ok: true,
            images: 0,
            pictures: Vec::new(),
            usage: None,
            seconds: 0.0,
        }
    }

    /// What a tool gave back.
    pub(crate) fn result(tool: &Tool) -> Self {
        Self {
            tool_call_id: Some(tool.call_id.clone()),
            tool_name: Some(tool.name.clone()),
            ok: tool.ok,
            ..Self::of("tool", &tool.output)
        }
    }
}

/// The `result` frame.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct RunResult {
    pub(crate) text: String,
    pub(crate) session_id: String,
    pub(crate) usage: Usage,
    pub(crate) tools: Vec<Tool>,
    pub(crate) stop: Option<String>,
    pub(crate) stop_message: Option<String>,
    pub(crate) questions: Vec<String>,
}

/// A failure, in the one shape there is (§2).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Failure {
    pub(crate) error: String,
    pub(crate) message: String,
}

/// What a run waits for (§6).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct PendingOut {
    pub(crate) kind: &'static str,
    pub(crate) call_id: String,
    pub(crate) command: Option<String>,
    /// Only where the server says it at all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) work_dir: Option<Option<String>>,
    /// The command's own limit, not the time left to answer.
    pub(crate) timeout_seconds: Option<u64>,
    pub(crate) remember_supported: bool,
    pub(crate) question: Option<String>,
    pub(crate) options: Vec<String>,
    pub(crate) allow_multiple: bool,
}

/// A configured model.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Model {
    pub(crate) name: String,
    pub(crate) model: String,
    pub(crate) context_window: u64,
    pub(crate) multimodal: bool,
    pub(crate) efforts: Vec<String>,
    pub(crate) active: bool,
    pub(crate) compact_percent: f64,
    #[serde(flatten)]
    pub(crate) newer: Option<NewerModel>,
}

/// What 0.2.0 says of a model besides.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct NewerModel {
    pub(crate) web_search: bool,
    pub(crate) web_search_name: Option<String>,
    pub(crate) display_model: Option<String>,
    pub(crate) base_url: Option<String>,
    pub(crate) api: String,
    pub(crate) temperature: Option<f64>,
    pub(crate) can_search: bool,
    pub(crate) search_name: String,
}

/// `GET /settings`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Settings {
    pub(crate) model: Model,
    pub(crate) effort: String,
    pub(crate) efforts: Vec<String>,
    pub(crate) permission: super::Permission,
    pub(crate) permissions: Vec<&'static str>,
    pub(crate) harness: bool,
    pub(crate) unsaved: Option<String>,
}

/// A row of `GET /sessions`, and the answer to creating and renaming.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct SessionOut {
    pub(crate) id: String,
    pub(crate) title: Option<String>,
    pub(crate) created_at: Option<String>,
    pub(crate) updated_at: Option<String>,
    pub(crate) current: bool,
    /// Since 0.2.0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) running: Option<bool>,
}

/// The session the next prompt goes on with.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct CurrentOut {
    pub(crate) id: String,
    pub(crate) title: Option<String>,
    pub(crate) locked: bool,
    pub(crate) usage: Usage,
}

/// What a compaction did.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub(crate) struct CompactionOut {
    pub(crate) applied: bool,
    pub(crate) summary: String,
    pub(crate) compressed: usize,
    pub(crate) kept: usize,
}

/// `GET /health`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Health {
    pub(crate) status: &'static str,
    pub(crate) version: &'static str,
    pub(crate) workspace: &'static str,
    pub(crate) ready: bool,
    pub(crate) session: Option<String>,
    pub(crate) models: usize,
    pub(crate) busy: bool,
}

/// The totals of a session.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Stats {
    pub(crate) id: String,
    pub(crate) entries: usize,
    pub(crate) requests: u64,
    pub(crate) input_tokens: u64,
    pub(crate) output_tokens: u64,
    pub(crate) cache_read_tokens: u64,
    pub(crate) reasoning_tokens: u64,
    pub(crate) total_tokens: u64,
    pub(crate) cache_share: Option<f64>,
}

/// A share of the context window.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Share {
    pub(crate) name: &'static str,
    pub(crate) tokens: u64,
    pub(crate) items: usize,
}

/// `GET /sessions/current/context`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Context {
    pub(crate) window: u64,
    pub(crate) used: u64,
    pub(crate) measured_by: &'static str,
    pub(crate) shares: Vec<Share>,
    pub(crate) partial: bool,
    pub(crate) from_provider: bool,
}
