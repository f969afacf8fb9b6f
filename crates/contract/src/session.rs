//! A session as the page shows it: its row in the sidebar, its header, its turn.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::{
    Millis,
    connection::ConnectionState,
    request::RequestKind,
    server::ServerId,
    setup::{AgentOffer, SessionSetup},
};

/// A session's number in this app's record. The server's own id is [`SessionRow::remote_id`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, TS)]
#[serde(transparent)]
pub struct SessionId(pub i64);

/// What a session does, as its server last said.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, TS)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum SessionState {
    /// Not read yet.
    #[default]
    Unknown,
    /// Nothing runs.
    Idle,
    /// A turn runs.
    Running,
    /// A turn waits for the person.
    Waiting,
    /// The server retries or moves the run; nothing to do.
    Rescheduling,
    /// A stop was asked for and is not confirmed yet.
    Stopping,
    /// Over for good: terminated or deleted.
    Ended,
    /// A word of the server that we do not know, verbatim.
    Other {
        /// The word.
        word: String,
    },
}

/// A session's row in lists.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct SessionRow {
    /// Its number here.
    pub id: SessionId,
    /// Its server.
    pub server: ServerId,
    /// The server's id for it, opaque.
    pub remote_id: String,
    /// Its title; `None` where it has none yet.
    pub title: Option<String>,
    /// What it does.
    pub state: SessionState,
    /// How many requests wait for the person.
    pub waiting: u32,
    /// The kind of the oldest waiting request.
    pub waiting_kind: Option<RequestKind>,
    /// What it was last seen doing, for one short line.
    pub activity: Option<Activity>,
    /// When its last event came.
    pub last_event_at: Option<Millis>,
    /// When it was created, as the server says.
    pub created_at: Option<Millis>,
    /// Archived at the server: readable, takes nothing more.
    pub archived: bool,
    /// A live link to its stream exists or is being made.
    pub live: bool,
    /// Commands run unasked in it now (P-50). `None` = the person is asked, or everything is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub unasked: Option<UnaskedMark>,
}

/// That commands run unasked in a session, and where that holds: said for as long as it does, whichever session is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct UnaskedMark {
    /// How many commands are listed that run unasked while all others are refused; `None` = every command.
    pub listed: Option<u32>,
    /// It holds for the run that goes on; else for runs that begin.
    pub running: bool,
    /// When it lapses for runs that begin; `None` where only the run's end ends it.
    pub until: Option<Millis>,
}

/// What a session was last seen doing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Activity {
    /// The model thinks.
    Thinking,
    /// The model writes.
    Writing,
    /// A tool runs.
    Tool {
        /// Its name.
        name: String,
    },
    /// The last turn ended.
    Finished {
        /// How.
        stop: StopReason,
    },
    /// An error stopped it.
    Failed {
        /// The server's words, cut to one line.
        message: String,
    },
}

/// How a turn ended, from the server's word for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum StopReason {
    /// The agent had finished.
    EndTurn,
    /// It waits for the person.
    RequiresAction,
    /// Stopped by a person.
    Stopped,
    /// The limit on turns or steps was reached.
    MaxTurns,
    /// The limit on output was reached.
    MaxTokens,
    /// The budget was reached.
    Budget,
    /// The model's context is full.
    ContextFull,
    /// The server paused it.
    Paused,
    /// It broke off before its end: the connection or the server was lost, or something cut in.
    Interrupted,
    /// The time the run was given ran out.
    TimedOut,
    /// The model refused.
    Refusal {
        /// The server's explanation.
        explanation: Option<String>,
    },
    /// An error ended it.
    Error {
        /// The server's words.
        message: Option<String>,
    },
    /// A word of the server that we do not know, verbatim.
    Other {
        /// The word.
        word: String,
    },
}

/// Everything above the transcript.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
pub struct SessionHeader {
    /// The row, as in lists.
    pub row: SessionRow,
    /// The agent's name, where known.
    pub agent: Option<String>,
    /// The state of its stream.
    pub connection: ConnectionState,
    /// The last cursor, for people who look closely.
    pub cursor: Option<String>,
    /// Why nothing can be sent now, where that is so.
    pub closed: Option<ClosedReason>,
    /// A stop that was asked for and where it stands.
    pub stop: StopState,
    /// Older history is still being fetched.
    pub loading_history: bool,
    /// The current or last turn.
    pub turn: Option<Turn>,
    /// Usage of the whole session, where the server says it.
    pub usage: Usage,
    /// Messages that wait here until the turn ends.
    pub queued: Vec<QueuedMessage>,
    /// Goals set for this session.
    pub goals: Vec<Goal>,
    /// Its sub-agents.
    pub threads: Vec<Thread>,
    /// A run that ended early and can be taken up again, where the server says so.
    pub resumable: Option<Resumable>,
    /// Another client drives the run that goes on: its events cannot be followed, only what waits can be answered.
    pub foreign_run: bool,
    /// How full the model's context is, where the server says it.
    pub context: Option<ContextMeter>,
    /// How the next run is asked for. `None` where the server takes no such options.
    pub run_options: Option<RunOptions>,
    /// The options of the run that goes on; `None` where none goes on, or they are not known.
    pub running_options: Option<RunOptions>,
    /// How it is set up, where the server takes such a thing and has told it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub setup: Option<SessionSetup>,
    /// What its agent lets it choose, where that is known: what a changed setup can be made of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub offer: Option<AgentOffer>,
    /// The server's history may leave things out: older parts may be summarised or missing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[ts(optional, as = "Option<bool>")]
    pub incomplete_history: bool,
}

/// A run that can be taken up again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct Resumable {
    /// The server's word for what would be done, verbatim.
    pub kind: String,
    /// The same in the server's words.
    pub description: Option<String>,
}

/// How full the model's context is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct ContextMeter {
    /// Tokens in use.
    pub used: u64,
    /// Tokens there is room for, where known.
    pub window: Option<u64>,
    /// Parts of it could not be counted.
    pub partial: bool,
    /// What takes the room, largest first as the server says it.
    pub shares: Vec<ContextShare>,
}

/// What one kind of content takes of the context.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct ContextShare {
    /// The server's name for it.
    pub name: String,
    /// Tokens.
    pub tokens: u64,
    /// How many pieces.
    pub items: Option<u64>,
}

/// What compacting a session's context did. A missing part was not said by the server.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, TS)]
pub struct Compaction {
    /// The context is another one now; where not, nothing was gained by trying.
    pub applied: bool,
    /// What the model keeps of what was put together.
    pub summary: Option<String>,
    /// Messages that were put together.
    pub compressed: Option<u64>,
    /// Messages that were kept as they are.
    pub kept: Option<u64>,
    /// How full the context was right before.
    pub before: Option<ContextMeter>,
    /// How full it is now, as far as the server has measured it anew.
    pub after: Option<ContextMeter>,
}

/// How a run is asked for, where the server takes options with each one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(default)]
pub struct RunOptions {
    /// How commands are answered.
    pub approvals: ApprovalMode,
    /// When a mode in which commands run unasked lapses for runs that begin then; said by this app, never taken from
    /// the page.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub unasked_until: Option<Millis>,
    /// How the agent's questions are answered.
    pub questions: QuestionMode,
    /// Seconds an approval may wait for its answer (1 to 3,600). The server then refuses the command.
    pub answer_timeout_s: u32,
    /// Seconds after which the server ends the whole run; `None` = never.
    pub run_timeout_s: Option<u32>,
    /// `@` paths in the text are read by the server.
    pub mentions: bool,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self {
            approvals: ApprovalMode::Ask,
            unasked_until: None,
            questions: QuestionMode::Ask,
            answer_timeout_s: 300,
            run_timeout_s: None,
            mentions: true,
        }
    }
}

/// How the commands of a run are answered.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, TS)]
#[serde(tag = "mode", rename_all = "snake_case")]
pub enum ApprovalMode {
    /// The person is asked.
    #[default]
    Ask,
    /// All are refused.
    Deny,
    /// All run unasked. Said on the session for as long as it holds.
    Auto,
    /// These (and these with arguments) run unasked, all others are refused. Said on the session for as long as it holds.
    Commands {
        /// The commands, one per row.
        commands: Vec<String>,
    },
}

/// How the questions of a run are answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum QuestionMode {
    /// The person is asked; a question waits for as long as it takes.
    #[default]
    Ask,
    /// All are declined at once.
    Decline,
}

/// Why a session takes nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum ClosedReason {
    /// Archived at the server.
    Archived,
    /// Terminated by the server.
    Terminated,
    /// Deleted at the server.
    Deleted,
    /// The server was removed here; only its history is kept.
    ServerRemoved,
}

/// A stop, from the click to the server's word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, TS)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum StopState {
    /// None asked for.
    #[default]
    None,
    /// Asked for; the server has not confirmed.
    Requested {
        /// When.
        at: Millis,
    },
    /// The server confirmed it.
    Confirmed {
        /// When.
        at: Millis,
    },
    /// The server cannot be stopped: we no longer listen, it goes on, and its history will hold the rest.
    LetGo {
        /// When.
        at: Millis,
    },
}

/// One turn, for the inspector.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
pub struct Turn {
    /// Its id: the server's, or one counted here.
    pub id: String,
    /// When it began.
    pub started_at: Option<Millis>,
    /// When it ended; `None` while it runs or waits.
    pub ended_at: Option<Millis>,
    /// How it ended.
    pub stop: Option<StopReason>,
    /// Its usage.
    pub usage: Usage,
    /// What ran when, for the timeline.
    pub spans: Vec<Span>,
}

/// One bar of the timeline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct Span {
    /// Whose bar.
    pub kind: SpanKind,
    /// Its lane's name: the tool's name; empty for the others.
    pub name: String,
    /// Start.
    pub started_at: Millis,
    /// End; `None` while it goes on.
    pub ended_at: Option<Millis>,
}

/// Whose bar of the timeline it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum SpanKind {
    /// A request to the model.
    Model,
    /// A tool.
    Tool,
    /// Waiting for the person.
    You,
}

/// What was used. A missing number was not said by the server.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, TS)]
#[serde(default)]
pub struct Usage {
    /// Tokens in.
    pub input_tokens: Option<u64>,
    /// Tokens out.
    pub output_tokens: Option<u64>,
    /// Of those in, how many came from a cache.
    pub cache_read_tokens: Option<u64>,
    /// Tokens written to a cache.
    pub cache_write_tokens: Option<u64>,
    /// Of those out, how many were reasoning.
    pub reasoning_tokens: Option<u64>,
    /// Requests to the model.
    pub requests: Option<u64>,
    /// Milliseconds the model took.
    pub model_ms: Option<u64>,
    /// Credits, as the server's decimal text.
    pub credits: Option<String>,
    /// Money, as text with its currency.
    pub cost: Option<String>,
}

/// A message that waits here until the turn ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct QueuedMessage {
    /// Its id here.
    pub id: String,
    /// Its text.
    pub text: String,
    /// When it was written.
    pub at: Millis,
    /// Held back because the turn was stopped or failed: sent only on the person's word.
    pub held: bool,
    /// How many images go with it.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[ts(optional, as = "Option<u32>")]
    pub images: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives the field by reference")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// A goal set for a session (an outcome).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct Goal {
    /// The outcome's id; empty until the server gave one.
    pub id: String,
    /// What is wanted.
    pub description: String,
    /// The rubric it is judged by, where known.
    pub rubric: Option<String>,
    /// Which iteration runs.
    pub iteration: Option<u32>,
    /// The last verdict's word (`satisfied`, `needs_revision`, …), verbatim.
    pub verdict: Option<String>,
    /// The last verdict's explanation.
    pub explanation: Option<String>,
    /// Being judged right now.
    pub evaluating: bool,
}

/// A sub-agent of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct Thread {
    /// The server's id.
    pub id: String,
    /// The agent's name.
    pub name: Option<String>,
    /// What it does.
    pub state: SessionState,
}

/// An agent a new session can be given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct AgentChoice {
    /// The server's id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: Option<String>,
    /// Its model.
    pub model: Option<String>,
    /// Names of its tools.
    pub tools: Vec<String>,
    /// What a session with it can be set up with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub offer: Option<AgentOffer>,
}

/// An environment a new session can run in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct EnvironmentChoice {
    /// The server's id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// What it is.
    pub description: Option<String>,
}

/// What the new-session form offers for one server.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, TS)]
pub struct NewSessionOptions {
    /// The agents; empty = none exist (where the server needs one, that is said).
    pub agents: Vec<AgentChoice>,
    /// The environments.
    pub environments: Vec<EnvironmentChoice>,
}

/// One completion of an `@` mention.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct Mention {
    /// What is put into the text, behind the `@`.
    pub token: String,
    /// The server's word for what it is (`file`, `folder`, …).
    pub kind: String,
    /// Its name.
    pub name: String,
    /// More about it.
    pub description: Option<String>,
}
