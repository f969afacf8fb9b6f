//! Requests: what waits for the person. Decisions: the answers. The ledger: all decisions.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::{
    Millis,
    item::Text,
    scrutiny::{Mark, Risk},
    server::ServerId,
    session::SessionId,
    setup::OwnToolCall,
};

/// A request's id in its session: the server's id for what must be answered, apart from the tool call's.
pub type RequestId = String;

/// Something that waits for the person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct Request {
    /// Its id in its session.
    pub id: RequestId,
    /// Its session.
    pub session: SessionId,
    /// Its server.
    pub server: ServerId,
    /// The server's name, for the card.
    pub server_name: String,
    /// What is asked.
    pub kind: RequestKind,
    /// The tool's name, where one is asked about.
    pub tool: Option<String>,
    /// Where the tool comes from, when not built in (MCP server).
    pub source: Option<String>,
    /// The item in the transcript that this is about.
    pub item: Option<String>,
    /// The sub-agents from the root to the asker; empty for the session's own agent.
    pub agent_path: Vec<String>,
    /// The command, where the call runs one.
    pub command: Option<Text>,
    /// Where it would run, where the server says it.
    pub work_dir: Option<String>,
    /// The arguments as text made in Rust: exactly what was received, indented.
    pub arguments: Text,
    /// Lines of what is shown (the command, or else the arguments).
    pub lines: u32,
    /// The questions, for `question`.
    pub questions: Vec<Question>,
    /// What can be answered.
    pub choices: Vec<Choice>,
    /// Where it stands.
    pub state: RequestState,
    /// Why it can be answered only once and not remembered, or needs care; the page shows each in words.
    pub flags: Vec<RequestFlag>,
    /// SHA-256 over what is shown (design: "What you approve is what runs"), hex. A decision must carry it.
    pub digest: String,
    /// When it was asked.
    pub asked_at: Millis,
    /// When the server gives up on it, where it says so.
    pub deadline: Option<Millis>,
    /// The group it belongs to, where the answers to all of a group are sent together. Each is decided on its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub group: Option<String>,
    /// What this app would do, where one of its own tools is called: an allowed call is carried out here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub own_tool: Option<OwnToolCall>,
    /// What it can do, as this app judges by itself. `None` for what does nothing (a question).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub risk: Option<Risk>,
    /// What a reader would not see in the payload that is shown (the command, or else the arguments), in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[ts(optional, as = "Option<Vec<Mark>>")]
    pub marks: Vec<Mark>,
}

/// What is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum RequestKind {
    /// May this call run?
    Approval,
    /// A question with options or free text.
    Question,
    /// A tool that the client runs: its result is wanted.
    ClientTool,
    /// The server waits for something this app cannot show in another way: the fallback card.
    Fallback,
}

/// One question of a question request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct Question {
    /// Its id in its request.
    pub id: String,
    /// Its text.
    pub text: String,
    /// The options, by label.
    pub options: Vec<String>,
    /// Whether several may be chosen.
    pub multiple: bool,
    /// Whether free text is taken.
    pub free_text: bool,
}

/// One way to answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct Choice {
    /// Its id, given back in the decision.
    pub id: String,
    /// What it does.
    pub kind: ChoiceKind,
    /// The server's own label, where it has one.
    pub label: Option<String>,
    /// For "always": what it covers.
    pub scope: Option<Scope>,
    /// Whether a reason is taken with it.
    pub takes_reason: bool,
}

/// The id of a choice that says of itself that nobody here knows the tool: it needs no result.
pub const UNKNOWN_TOOL: &str = "unknown_tool";

/// What an "always" covers. The page says each in words, before it is given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Scope {
    /// Exactly this command text, in any folder, for every session of the server, until the server ends.
    CommandTextUntilServerEnds,
    /// Every call of this tool in this session, whatever its arguments.
    ToolInSession {
        /// The tool's name.
        tool: String,
    },
    /// The server's own words for it.
    Words {
        /// The words.
        words: String,
    },
}

/// What a choice does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum ChoiceKind {
    /// Allows this call, once.
    AllowOnce,
    /// Allows this and later ones within its scope.
    AllowAlways,
    /// Refuses.
    Deny,
    /// Gives a result or an answer.
    Answer,
    /// Says that the tool failed.
    ReportError,
    /// Declines a question.
    Decline,
}

/// Where a request stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum RequestState {
    /// Shown, but its call is still being written or the server does not wait for it yet: no buttons.
    Announced,
    /// Waits for the person.
    Open,
    /// Decided here and written down; it leaves when the others of its group are decided, too.
    Gathered {
        /// What was chosen.
        choice: ChoiceKind,
        /// When.
        at: Millis,
    },
    /// Decided here, written down, on its way.
    Sending {
        /// What was chosen.
        choice: ChoiceKind,
        /// How many tries so far.
        attempt: u32,
    },
    /// The server has it.
    Accepted {
        /// What was chosen.
        choice: ChoiceKind,
        /// When.
        at: Millis,
    },
    /// The server refused the answer; it can be given again where the server still waits.
    Refused {
        /// What was chosen.
        choice: ChoiceKind,
        /// The server's words.
        message: String,
    },
    /// The server gave up waiting. Never said to be the person's denial.
    Expired,
    /// Answered elsewhere (another client, a rule at the server).
    Elsewhere {
        /// What was answered, where known.
        choice: Option<ChoiceKind>,
        /// When it was seen.
        at: Millis,
    },
    /// Settled after an answer of ours was on its way whose arrival nothing tells: whether it was ours that settled it
    /// is not known.
    Unsure {
        /// What we had chosen.
        choice: ChoiceKind,
        /// When it was seen.
        at: Millis,
    },
    /// The turn was stopped or ended: nothing waits any more.
    Void,
}

/// What needs care about a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum RequestFlag {
    /// The arguments are not JSON, or not an object: shown raw.
    RawArguments,
    /// The payload was over the cap: only its beginning is known here.
    TooLarge,
    /// A key stands twice in one object.
    DuplicateKeys,
    /// Invisible, bidirectional or control characters; shown in place as code points.
    HiddenCharacters,
}

/// What the person decided. `digest` must equal the card's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct Decision {
    /// The session.
    pub session: SessionId,
    /// The request.
    pub request: RequestId,
    /// The digest of what was shown.
    pub digest: String,
    /// The chosen choice's id.
    pub choice: String,
    /// The reason, for a denial.
    #[serde(default)]
    pub reason: Option<String>,
    /// The answers, one per question, for a question.
    #[serde(default)]
    pub answers: Vec<Answer>,
    /// The result, for a client tool.
    #[serde(default)]
    pub result: Option<String>,
}

/// The answer to one question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct Answer {
    /// The question's id.
    pub question: String,
    /// The chosen labels.
    pub labels: Vec<String>,
    /// Free text.
    pub text: Option<String>,
}

/// One row of the ledger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct LedgerRow {
    /// Its number; the chain runs over these.
    pub number: i64,
    /// The session.
    pub session: SessionId,
    /// The request.
    pub request: RequestId,
    /// When it was decided.
    pub at: Millis,
    /// Who decided.
    pub by: DecidedBy,
    /// What.
    pub choice: ChoiceKind,
    /// The tool's name.
    pub tool: Option<String>,
    /// One line of what was decided on (the command or the arguments, cut).
    pub subject: String,
    /// The reason given.
    pub reason: Option<String>,
    /// The digest of what was shown.
    pub digest: String,
    /// Where the decision stands.
    pub fate: Fate,
    /// How long the request had waited, in milliseconds.
    pub waited_ms: u64,
}

/// Who decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum DecidedBy {
    /// The person, here.
    You,
    /// Another client or person.
    Elsewhere,
    /// A rule at the server.
    ServerRule,
    /// Nobody: the server's time ran out.
    Expiry,
    /// Nobody: the turn was stopped.
    Stop,
}

/// Where a decision stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Fate {
    /// Written down; on its way, or leaving when the others of its group are decided, too.
    Sending,
    /// The server has it.
    Accepted,
    /// The server refused it.
    Refused {
        /// Its words.
        message: String,
    },
    /// It was settled otherwise before ours arrived.
    Superseded,
    /// It is settled, and the server's word on ours was lost: whether ours arrived in time is not known.
    Unknown,
}
