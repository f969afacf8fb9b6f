//! The transcript's items: messages, thoughts, tool calls, notices, markers.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::{Millis, session::StopReason};

/// An item's id, stable from its first delta to its last change: the event id where there is one.
pub type ItemId = String;

/// One item of the transcript.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct Item {
    /// Its id, unique in its session.
    pub id: ItemId,
    /// Its place: items are shown in rising order; ties by id.
    pub order: i64,
    /// The turn it belongs to.
    pub turn: Option<String>,
    /// The sub-agent it belongs to.
    pub thread: Option<String>,
    /// When it happened, as the server says; else when it was received.
    pub at: Millis,
    /// What it is.
    pub body: ItemBody,
}

/// What an item is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ItemBody {
    /// Something said.
    Message(Message),
    /// Something thought.
    Thought(Thought),
    /// A tool call with its result.
    Tool(ToolCall),
    /// Something the server or this app has to say.
    Notice(Notice),
    /// A line across the transcript.
    Marker(Marker),
    /// A file the agent delivered.
    Artifact(Artifact),
    /// Something we do not know, verbatim.
    Unknown(Unknown),
}

/// Text, cut where it is long; the rest is read by handle.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, TS)]
pub struct Text {
    /// The text, or its beginning.
    pub text: String,
    /// Characters (Unicode scalar values) of the whole text.
    pub chars: u64,
    /// How to read the whole, where `text` is only the beginning.
    pub handle: Option<String>,
}

/// Texts up to this many bytes reach the page whole.
pub const TEXT_INLINE_BYTES: usize = 16 * 1024;

/// Something said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct Message {
    /// Who said it.
    pub role: Role,
    /// Its parts, in order.
    pub parts: Vec<Part>,
    /// Whether it is all there.
    pub state: MessageState,
}

/// Who said a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The person.
    User,
    /// The agent.
    Agent,
    /// The system.
    System,
}

/// Whether a message is all there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum MessageState {
    /// All there.
    Done,
    /// Being written.
    Streaming,
    /// Cut off: this is what had been shown.
    Incomplete,
    /// Ours: being sent.
    Sending,
    /// Ours: accepted, the agent has not taken it up yet.
    Queued,
    /// Ours: the server refused it.
    Refused {
        /// Why.
        message: String,
    },
    /// Ours: it is not known whether it arrived; looked for in the history.
    Uncertain,
}

/// One part of a message or a result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Part {
    /// Text (Markdown in messages, plain in results).
    Text(Text),
    /// An image inside the event; drawn on click.
    Image {
        /// `image/png`, …
        media_type: String,
        /// How to read it: its bytes, as base64.
        handle: String,
        /// Decoded bytes.
        bytes: u64,
    },
    /// Something that lies elsewhere: fetched only on the person's click.
    Remote {
        /// `image`, `document`, …
        what: String,
        /// The address or file id, in full.
        address: String,
    },
    /// Withheld by the server.
    Redacted,
    /// A block we do not know, as raw JSON.
    Unknown {
        /// The block's type, verbatim.
        what: String,
        /// The raw JSON.
        raw: Text,
    },
}

/// Something thought.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct Thought {
    /// The text; empty where the server shows none.
    pub text: Text,
    /// Still thinking.
    pub active: bool,
    /// How long it took, where known.
    pub took_ms: Option<u64>,
}

/// A tool call with its result. Upserted by id, never appended twice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct ToolCall {
    /// The tool's name, verbatim.
    pub name: String,
    /// Where it comes from, when not built in: the MCP server's name, or `client` for a tool of ours.
    pub source: Option<String>,
    /// The arguments as text made in Rust (JSON with its numbers and strings exactly as received, indented).
    pub input: Text,
    /// The command, where the tool runs one; shown instead of the JSON.
    pub command: Option<String>,
    /// One line that says what it acts on (path, command, query, address).
    pub subject: Option<String>,
    /// Where the call stands.
    pub state: ToolState,
    /// The result.
    pub output: Vec<Part>,
    /// When it began and ended, where known.
    pub started_at: Option<Millis>,
    /// See `started_at`.
    pub ended_at: Option<Millis>,
    /// The request that asks about this call, where there is one.
    pub request: Option<String>,
}

/// Where a tool call stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ToolState {
    /// Being written by the model.
    Announced,
    /// Waits for a decision.
    Waiting,
    /// Runs.
    Running,
    /// Finished.
    Done,
    /// Finished with an error.
    Failed,
    /// Refused by a person or a rule.
    Denied {
        /// The reason given.
        reason: Option<String>,
    },
    /// Never finished: the turn was stopped or ended.
    Cancelled,
    /// Never run: a message that steered the turn came first.
    Skipped,
}

/// Something to say.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct Notice {
    /// How loud.
    pub level: NoticeLevel,
    /// What about; the page has words for the codes it knows.
    pub code: NoticeCode,
    /// The server's or our words.
    pub text: String,
    /// More, behind "Details".
    pub detail: Option<Text>,
}

/// How loud a notice is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum NoticeLevel {
    /// To know.
    Info,
    /// To mind.
    Warning,
    /// Something failed.
    Error,
}

/// What a notice is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum NoticeCode {
    /// The server says so.
    Server,
    /// The session's error; the server goes on by itself.
    ErrorRetrying,
    /// The session's error; the turn is dead.
    ErrorFatal,
    /// A frame could not be read; it is kept, and the session was read again.
    UnreadableFrame,
    /// An event was over the size cap; its beginning is kept.
    TooLarge,
    /// Bytes were not UTF-8 and were replaced.
    BadUtf8,
    /// A waiting session had no card to show: a fallback card was made.
    FallbackCard,
}

/// A line across the transcript.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum Marker {
    /// The turn ended.
    TurnEnd {
        /// How.
        stop: StopReason,
    },
    /// The connection was lost and is back.
    Resumed {
        /// How long it was away.
        away_ms: u64,
        /// The cursor it resumed after.
        after: Option<String>,
        /// Events recovered.
        recovered: u32,
    },
    /// Events are known to be missed.
    Gap {
        /// What is known of it.
        detail: String,
        /// Whether history filled it.
        recovered: bool,
    },
    /// The person (or another client) interrupted.
    Interrupted,
    /// This app was closed while a turn went on whose stream is its life.
    AppClosed {
        /// When.
        at: Millis,
    },
    /// The context was compacted.
    Compacted {
        /// What the model keeps of it, where the server says it.
        #[serde(default)]
        summary: Option<Text>,
        /// Still going on.
        #[serde(default)]
        active: bool,
        /// It was tried, and nothing was gained.
        #[serde(default)]
        unchanged: bool,
    },
    /// A message that was sent into the running turn.
    Steering {
        /// What became of it.
        phase: SteeringPhase,
        /// Its text, where the server repeats it.
        text: Option<String>,
    },
    /// A rule of the run answered in the person's place: nobody is asked.
    Ruled {
        /// What it answered.
        on: RuledOn,
        /// Allowed (or answered) rather than refused (or declined).
        allowed: bool,
        /// The command or the question, in full.
        subject: Text,
    },
    /// The run was moved or retried by the server.
    Rescheduled,
    /// The session ended for good.
    Ended {
        /// The server's reason.
        reason: Option<String>,
    },
    /// A sub-agent began.
    ThreadStarted {
        /// Its name.
        name: Option<String>,
    },
    /// A goal was set or judged.
    Goal {
        /// The goal's id.
        id: String,
        /// The description, where it was set.
        description: Option<String>,
        /// The verdict's word, where it was judged.
        verdict: Option<String>,
        /// The iteration.
        iteration: Option<u32>,
        /// The explanation.
        explanation: Option<String>,
    },
}

/// Where a message stands that was sent into a running turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum SteeringPhase {
    /// The agent took it in.
    Taken,
    /// The agent is done with it.
    Finished,
    /// Something newer took its place.
    Interrupted,
}

/// What a rule answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum RuledOn {
    /// A command.
    Command,
    /// A question.
    Question,
}

/// A file the agent delivered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct Artifact {
    /// The server's file id.
    pub file_id: String,
    /// Its name.
    pub name: String,
    /// Its size in bytes.
    pub bytes: Option<u64>,
    /// Its media type.
    pub media_type: Option<String>,
}

/// Something we do not know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct Unknown {
    /// Its type, verbatim; empty where it has none.
    pub what: String,
    /// The raw event.
    pub raw: Text,
}
