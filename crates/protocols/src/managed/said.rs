//! What an event says, in this protocol's own words: read from the wire, not yet taken into any state.

use contract::{
    Millis,
    event::Permission,
    item::{Artifact, Notice, Part, Role},
    request::{ChoiceKind, RequestKind},
    session::{SessionState, Usage},
};

/// One event.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Said {
    /// When the server says it happened.
    pub at: Option<Millis>,
    /// `turn_id`, at servers that have it.
    pub turn: Option<String>,
    /// `session_thread_id`, where the event is a sub-agent's (or the primary thread's own).
    pub thread: Option<String>,
    /// Its id; empty where it has none.
    pub id: String,
    /// Its JSON has none of the fields that events share, as in the seed page's first sample.
    pub is_bare: bool,
    /// What it says.
    pub what: What,
}

/// What an event says.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum What {
    /// `event_start`: a preview begins.
    PreviewStart { of: String, thought: bool },
    /// `event_delta`: text of a preview. `None`: a kind of delta we do not know.
    PreviewDelta { of: String, index: u32, text: Option<String> },
    /// D2: a raw message's own frame.
    Chunk { message: String, own_thread: bool, chunk: Chunk },
    /// `user.message`.
    UserMessage { parts: Vec<Part>, unprocessed: bool },
    /// `user.interrupt`.
    Interrupt,
    /// `user.tool_confirmation`.
    Confirmed { call: String, choice: Option<ChoiceKind>, reason: Option<String> },
    /// `user.custom_tool_result`.
    ClientResult { call: String, output: Vec<Part>, is_error: bool },
    /// `user.define_outcome`.
    GoalSet { goal: String, description: Option<String>, rubric: Option<String> },
    /// `system.message`.
    SystemMessage { parts: Vec<Part> },
    /// `agent.message`.
    AgentMessage { parts: Vec<Part>, is_delta: bool, message: Option<String> },
    /// `agent.thinking`.
    Thinking { text: String, message: Option<String> },
    /// `agent.tool_use`, `agent.mcp_tool_use`, `agent.custom_tool_use`.
    ToolUse { name: String, source: Option<String>, input: String, permission: Permission, kind: RequestKind },
    /// `agent.tool_result`, `agent.mcp_tool_result`, `user.tool_result`.
    ToolResult { call: String, name: Option<String>, output: Vec<Part>, is_error: bool },
    /// `agent.artifact_delivered`.
    Artifact(Artifact),
    /// `agent.thread_message_sent`, `_received`.
    ThreadMessage { with: String, role: Role, parts: Vec<Part> },
    /// `agent.thread_context_compacted`.
    Compacted,
    /// `session.status_running`.
    Running,
    /// `session.status_idle`.
    Idle { stop: Stop, usage: Option<Usage> },
    /// `session.status_rescheduled`.
    Rescheduled,
    /// `terminated`, `session.status_terminated`, `session.deleted`.
    Ended { deleted: bool, reason: Option<String> },
    /// `session.error`.
    Failed { notice: Notice, is_fatal: bool },
    /// `session.updated`.
    Facts { title: Option<String>, agent: Option<String>, archived: Option<bool> },
    /// `session.usage`.
    SessionUsage(Usage),
    /// `session.thread_created`, `session.thread_status_*`.
    Thread { thread: String, name: Option<String>, state: SessionState, is_new: bool },
    /// `span.model_request_start`.
    ModelStarted { span: String },
    /// `span.model_request_end`.
    ModelEnded { span: String, is_error: bool, usage: Option<Usage> },
    /// `span.outcome_evaluation_*`.
    Judged(Judged),
    /// `workflow_run.*`, and whatever else is told and not drawn.
    Progress { key: String, notice: Notice },
    /// A type we do not know.
    Unknown { what: String, raw: String },
}

/// A frame of a raw message (D2: `agent.message_start` … `agent.message_stop`).
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Chunk {
    /// The message begins.
    Start,
    /// A block begins, or begins again.
    BlockStart { index: u32, kind: BlockKind },
    /// Text of a block, by the delta's type.
    Delta { index: u32, text: String },
    /// A block is all there.
    BlockStop { index: u32 },
    /// The message is all there.
    Stop,
    /// Carries nothing to show.
    Other,
}

/// What a block of a raw message is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum BlockKind {
    /// Text, perhaps not empty.
    Text(String),
    /// Thinking.
    Thinking(String),
    /// A tool call being written.
    Tool { id: Option<String>, name: String },
    /// Something else.
    Other,
}

/// Why a session is idle.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Stop {
    /// `stop_reason.type`, verbatim.
    pub word: Option<String>,
    /// `stop_reason.event_ids`.
    pub event_ids: Vec<String>,
    /// `stop_details.explanation`, or a message beside the reason.
    pub explanation: Option<String>,
}

/// A step of judging a goal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Judged {
    /// The goal.
    pub goal: String,
    /// The event that began this evaluation, where it is named.
    pub start: Option<String>,
    /// Which iteration.
    pub iteration: Option<u32>,
    /// The verdict's word.
    pub verdict: Option<String>,
    /// Its explanation.
    pub explanation: Option<String>,
    /// Not over yet.
    pub evaluating: bool,
}
