//! What the server was asked, for tests to look at: "exactly one decision" is a count here.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Everything that is counted.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Counters {
    /// All requests but those to control.
    pub requests: u64,
    /// Every POST, in the order of arrival.
    pub posts: Vec<Posted>,
    /// Every decision that arrived, accepted or not.
    pub decisions: Vec<DecisionSeen>,
    /// How often a session's history was listed, a page a time.
    #[serde(default)]
    pub lists: u64,
    /// How often it was asked how full a session's context is.
    #[serde(default)]
    pub measured: u64,
    /// Streams that are open now.
    pub open_streams: u64,
    /// Every stream that was opened, in order.
    pub opened: Vec<Opened>,
    /// How often a token came where it must never go (a file's own address).
    pub leaked_tokens: u64,
    /// The names of requests that were held, in the order of arrival.
    #[serde(default)]
    pub held: Vec<String>,
}

impl Counters {
    /// The decisions for this request that the server accepted.
    #[must_use]
    pub fn accepted(&self, request: &str) -> usize {
        self.decisions.iter().filter(|seen| seen.request == request && (200..300).contains(&seen.status)).count()
    }
}

/// One POST.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Posted {
    /// Its path, without the query.
    pub path: String,
    /// Its `Idempotency-Key`.
    pub idempotency_key: Option<String>,
    /// Its body.
    pub body: Value,
    /// The status it was answered with.
    pub status: u16,
    /// It was answered from memory, by its key.
    pub repeated: bool,
}

/// One decision in a POST.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DecisionSeen {
    /// The id it answers.
    pub request: String,
    /// The whole event.
    pub event: Value,
    /// The `Idempotency-Key` of its request.
    pub idempotency_key: Option<String>,
    /// The status it was answered with.
    pub status: u16,
    /// It was answered from memory, by its key: it changed nothing.
    pub repeated: bool,
}

/// One stream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opened {
    /// Its session.
    pub session: String,
    /// Its sub-agent thread.
    pub thread: Option<String>,
    /// The `Last-Event-ID` header.
    pub last_event_id: Option<String>,
    /// The `after_id` parameter.
    pub after_id: Option<String>,
    /// The previews it asked for.
    pub previews: Vec<String>,
    /// The `delta_flush_interval_ms` parameter.
    pub delta_flush_interval_ms: Option<u64>,
}
