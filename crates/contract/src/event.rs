//! Domain events: what a protocol's fold makes of frames, and what the session reducer takes. Not exported to the page.
//!
//! A fold turns the wire into these; it has already joined deltas to drafts and results to calls as far as the
//! wire's own ids tell. The reducer turns them into items, requests and patches, and knows no protocol.

use crate::{
    Millis,
    item::{Artifact, Marker, MessageState, Notice, Part, Role, ToolState},
    request::{ChoiceKind, Question, RequestKind},
    session::{ContextMeter, Resumable, RunOptions, SessionState, StopReason, Usage},
    setup::{AgentOffer, OwnToolCall, SessionSetup},
};

/// One thing that happened in a session.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// When the server says it happened.
    pub at: Option<Millis>,
    /// The turn, where the wire names it.
    pub turn: Option<String>,
    /// The sub-agent, where it is not the session's own agent.
    pub thread: Option<String>,
    /// What happened.
    pub body: EventBody,
}

/// What happened.
#[derive(Debug, Clone, PartialEq)]
pub enum EventBody {
    /// A message, whole: replaces the item with this id, and the draft it names.
    Message {
        /// The item's id.
        id: String,
        /// The id of the draft it replaces, when that is another.
        replaces: Option<String>,
        /// Who said it.
        role: Role,
        /// Its parts.
        parts: Vec<Part>,
        /// Whether it is all there.
        state: MessageState,
    },
    /// Text to append to a draft: creates the item where it is missing.
    Append {
        /// The draft's item id.
        id: String,
        /// Message, thought, or a tool's input.
        to: AppendTo,
        /// The block's index.
        part: u32,
        /// The text.
        text: String,
    },
    /// A draft begins, or begins again from nothing.
    DraftStarted {
        /// The draft's item id.
        id: String,
        /// Message, thought, or a tool's input.
        to: AppendTo,
    },
    /// Open drafts are closed without their whole form.
    DraftsClosed {
        /// True: what was shown stays, marked incomplete. False: it is dropped (a replay will rebuild it).
        keep: bool,
    },
    /// A thought, whole (text may be empty: only the fact that the agent thinks).
    Thought {
        /// The item's id.
        id: String,
        /// Its text.
        text: String,
        /// Still going on.
        active: bool,
    },
    /// A tool call is announced or known better.
    ToolCall {
        /// The call's item id.
        id: String,
        /// The tool's name.
        name: String,
        /// Where it comes from, when not built in.
        source: Option<String>,
        /// The arguments as raw JSON text, exactly as received.
        input: String,
        /// What the server's rule says, where it says it.
        permission: Permission,
    },
    /// A tool call ended without a result.
    ToolEnded {
        /// The call's item id.
        call: String,
        /// How.
        state: ToolState,
    },
    /// A tool call's result.
    ToolResult {
        /// The result's own event id.
        id: String,
        /// The call it answers; matched by name and turn where it is unknown.
        call: String,
        /// The tool's name, where the wire says it.
        name: Option<String>,
        /// The result.
        output: Vec<Part>,
        /// It failed.
        is_error: bool,
    },
    /// A request became known (it may not be answerable yet).
    Request(Box<RequestSeed>),
    /// The server waits for exactly these request ids (an idle that requires action). Unknown ids get a fallback card.
    Waiting {
        /// The ids.
        requests: Vec<String>,
    },
    /// A request was answered, by us or elsewhere.
    Settled {
        /// Which.
        request: String,
        /// How, where known.
        choice: Option<ChoiceKind>,
        /// The reason given.
        reason: Option<String>,
        /// The event that says so.
        event_id: String,
        /// The output given, for a client tool.
        output: Vec<Part>,
    },
    /// The session's state changed.
    Status(SessionState),
    /// A turn began.
    TurnStarted,
    /// The turn ended (not for `requires_action`).
    TurnEnded {
        /// How.
        stop: StopReason,
    },
    /// A request to the model began.
    ModelStarted {
        /// Its id.
        id: String,
    },
    /// A request to the model ended.
    ModelEnded {
        /// Its id.
        id: String,
        /// It failed.
        is_error: bool,
    },
    /// Usage.
    Usage {
        /// The numbers.
        usage: Usage,
        /// Of what.
        scope: UsageScope,
    },
    /// The title or other facts of the session changed.
    Facts {
        /// The new title.
        title: Option<String>,
        /// The agent's name.
        agent: Option<String>,
        /// Archived.
        archived: Option<bool>,
    },
    /// A goal was set, or judged.
    Goal {
        /// The item's id.
        id: String,
        /// The outcome's id; empty where the wire has none.
        goal: String,
        /// What is wanted, where it was set.
        description: Option<String>,
        /// The rubric.
        rubric: Option<String>,
        /// The iteration.
        iteration: Option<u32>,
        /// The verdict's word.
        verdict: Option<String>,
        /// The explanation.
        explanation: Option<String>,
        /// Being judged now.
        evaluating: bool,
    },
    /// A sub-agent changed.
    Thread {
        /// Its id.
        id: String,
        /// Its name.
        name: Option<String>,
        /// What it does.
        state: SessionState,
        /// It has just been created.
        created: bool,
    },
    /// A file was delivered.
    Artifact {
        /// The item's id.
        id: String,
        /// The file.
        artifact: Artifact,
    },
    /// A notice.
    Notice {
        /// The item's id.
        id: String,
        /// The notice.
        notice: Notice,
    },
    /// A line across the transcript.
    Marker {
        /// The item's id.
        id: String,
        /// The marker.
        marker: Marker,
    },
    /// A run can be taken up again, or no longer.
    Resumable(Option<Resumable>),
    /// Whether a run goes on that another client drives.
    ForeignRun(bool),
    /// How full the context is.
    Context(ContextMeter),
    /// The options of the run that begins.
    RunOptions(RunOptions),
    /// How the session is set up, and what its agent lets it choose, where that is known.
    Setup {
        /// The setup.
        setup: SessionSetup,
        /// The offer.
        offer: Option<AgentOffer>,
    },
    /// The history is not whole: the server may summarise it or leave things out.
    IncompleteHistory,
    /// What the server's history says of the order of these items: each stands behind the one before it. Items it does
    /// not name stay behind the item they followed.
    Arranged {
        /// The item ids, in order.
        items: Vec<String>,
    },
    /// The stream will say nothing more, ever.
    Ended {
        /// Deleted rather than terminated.
        deleted: bool,
        /// The server's reason.
        reason: Option<String>,
    },
    /// Something unknown: kept and shown.
    Unknown {
        /// The item's id.
        id: String,
        /// Its type.
        what: String,
        /// The raw event.
        raw: String,
    },
    /// The frame could not be read: the session must be read again.
    Reread {
        /// Why.
        cause: String,
    },
}

/// What a delta belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AppendTo {
    /// An agent's message.
    Message,
    /// A thought.
    Thought,
    /// The input of a tool call that is being written.
    ToolInput {
        /// The tool's name.
        name: String,
    },
}

/// What the server's rule says about a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Permission {
    /// Not said.
    Unsaid,
    /// Allowed by a rule.
    Allowed,
    /// The person is asked.
    Ask,
    /// Denied by a rule.
    Denied,
}

/// What usage numbers are about. All are snapshots: they overwrite, never add, save `Call`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UsageScope {
    /// One request to the model: added to its turn.
    Call,
    /// The whole turn.
    Turn,
    /// The whole session.
    Session,
}

/// A request as the wire has it, before the reducer gives it its digest and its flags.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestSeed {
    /// The id that answers must name.
    pub id: String,
    /// What is asked.
    pub kind: RequestKind,
    /// The tool call's item id.
    pub item: Option<String>,
    /// The tool's name.
    pub tool: Option<String>,
    /// Where the tool comes from.
    pub source: Option<String>,
    /// The arguments as raw JSON text, exactly as received.
    pub arguments: String,
    /// The command, where the call runs one.
    pub command: Option<String>,
    /// Where it would run.
    pub work_dir: Option<String>,
    /// The questions.
    pub questions: Vec<Question>,
    /// What can be answered.
    pub choices: Vec<crate::request::Choice>,
    /// Whether the server waits for the answer already.
    pub answerable: bool,
    /// Milliseconds until the server gives up, where it says so.
    pub deadline_ms: Option<u64>,
    /// The payload is only the beginning of what the server holds.
    pub too_large: bool,
    /// The group whose answers are sent together, where there is one.
    pub group: Option<String>,
    /// What this app would do, where one of its own tools is called.
    pub own_tool: Option<OwnToolCall>,
}
