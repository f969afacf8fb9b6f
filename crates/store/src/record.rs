//! What goes into the record and comes out of it, where the contract has no word for it.

use std::path::PathBuf;

use contract::{
    Millis,
    command::SentImage,
    item::{Item, ItemId},
    request::{ChoiceKind, DecidedBy, Fate, Request, RequestId, RequestKind},
    server::{ServerId, ServerOptions, TokenState},
    session::{Activity, ClosedReason, RunOptions, SessionId, SessionState, Usage},
    wire::{Cursor, LoggedFrame},
};

use crate::Store;

/// The version of the projections this build makes. Raised when items made from the same frames would differ; then
/// each session's are made again from its log.
pub const PROJECTION_VERSION: i64 = 1;

/// An open store.
#[derive(Debug)]
pub struct Opened {
    /// The store.
    pub store: Store,
    /// Where the damaged file is now, when there was one and a new file was begun.
    pub set_aside: Option<PathBuf>,
}

/// A saved server. Holds no token: only what is known of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredServer {
    /// Its id.
    pub id: ServerId,
    /// The person's name for it.
    pub name: String,
    /// Where it listens.
    pub base_url: String,
    /// The protocol's id.
    pub protocol: String,
    /// How it is spoken to.
    pub options: ServerOptions,
    /// The person paused it.
    pub paused: bool,
    /// The built-in practice server.
    pub practice: bool,
    /// Where its token is, if it has one.
    pub token: TokenState,
    /// When it last answered.
    pub last_seen_at: Option<Millis>,
}

/// What is kept of a session, apart from its log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRecord {
    /// Its server.
    pub server: ServerId,
    /// The server's id for it, opaque.
    pub remote_id: String,
    /// Its title.
    pub title: Option<String>,
    /// Its agent's name.
    pub agent: Option<String>,
    /// What it does, as last seen.
    pub state: SessionState,
    /// How many requests wait.
    pub waiting: u32,
    /// The kind of the oldest waiting request.
    pub waiting_kind: Option<RequestKind>,
    /// What it was last seen doing.
    pub activity: Option<Activity>,
    /// When it was created, as the server says.
    pub created_at: Option<Millis>,
    /// When it last changed, as the server says.
    pub updated_at: Option<Millis>,
    /// When its last event came.
    pub last_event_at: Option<Millis>,
    /// The server's `updated_at` up to which the log is known to be whole.
    pub synced_updated_at: Option<Millis>,
    /// Archived at the server.
    pub archived: bool,
    /// Why it takes nothing more.
    pub ended: Option<ClosedReason>,
    /// How its next runs are asked for, where the person chose it.
    pub run_options: Option<RunOptions>,
}

/// A session with its number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredSession {
    /// Its number here.
    pub id: SessionId,
    /// What is kept of it.
    pub record: SessionRecord,
}

/// What an append does to the session's cursor, in the same transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CursorMove {
    /// Leaves it.
    Keep,
    /// Sets it.
    To(Cursor),
    /// Forgets it (an empty `id:` field resets it; WHATWG HTML 9.2.6).
    Clear,
}

/// What became of one appended frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// A row of its own.
    New,
    /// Known byte for byte: no row.
    Same,
    /// Known with other data: the row's data was replaced, its place kept.
    Changed,
}

/// A committed append.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Appended {
    /// The frames, given back.
    pub frames: Vec<LoggedFrame>,
    /// What became of each, in the same order.
    pub outcomes: Vec<Outcome>,
    /// The session's log mark after this append: what [`ItemsSave::through_seq`] says once it is projected.
    pub log_seq: i64,
}

/// A decision to write down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewDecision {
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
    /// One line of what was decided on.
    pub subject: String,
    /// The reason given.
    pub reason: Option<String>,
    /// The digest of what was shown.
    pub digest: String,
    /// How long the request had waited, in milliseconds.
    pub waited_ms: u64,
    /// JSON of what is sent, to send it again after a crash.
    pub outgoing: Option<String>,
    /// The idempotency key it is sent with.
    pub key: String,
    /// [`Fate::Sending`] for our own; the final fate for a decision that is not ours.
    pub fate: Fate,
}

/// A decision that was written down and whose fate is not known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingDecision {
    /// Its number in the ledger.
    pub number: i64,
    /// The session.
    pub session: SessionId,
    /// The request.
    pub request: RequestId,
    /// What was chosen.
    pub choice: ChoiceKind,
    /// JSON of what is sent; empty where none was given.
    pub outgoing: String,
    /// The idempotency key.
    pub key: String,
    /// When it was decided.
    pub at: Millis,
}

/// A message of the person that is not at the server yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutboxMessage {
    /// The session.
    pub session: SessionId,
    /// Its id here, unique in its session.
    pub id: String,
    /// Its text.
    pub body: String,
    /// Images that go with it.
    pub images: Vec<SentImage>,
    /// The idempotency key it is sent with.
    pub key: String,
    /// When it was written.
    pub at: Millis,
    /// Where it stands.
    pub state: OutboxState,
}

/// Where a message in the outbox stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutboxState {
    /// Sent when the turn ends.
    Queued,
    /// Sent only on the person's word.
    Held,
    /// On its way.
    Sending,
}

/// One item with the text it is found by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredItem {
    /// The item.
    pub item: Item,
    /// What search looks at.
    pub search_text: String,
}

/// A change of a session's projections, all in one transaction.
#[derive(Debug, Clone, PartialEq)]
pub struct ItemsSave {
    /// These are all items: others of the session go.
    pub replace_all: bool,
    /// Items to insert or replace, by id.
    pub upserts: Vec<StoredItem>,
    /// Items that are no more.
    pub gone: Vec<ItemId>,
    /// The log mark ([`Appended::log_seq`], [`FrameReader::log_seq`](crate::FrameReader::log_seq)) this is made from.
    pub through_seq: i64,
    /// All requests of the session, in order.
    pub requests: Vec<Request>,
    /// The usage of the session.
    pub usage: Usage,
}

/// What a session's projections were made from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProjectionMark {
    /// The [`PROJECTION_VERSION`] they were made with.
    pub version: i64,
    /// The log mark they were made from.
    pub through_seq: i64,
    /// The session's log mark now; differs from `through_seq` when the log has moved on, changed rows included.
    pub log_seq: i64,
}

impl ProjectionMark {
    /// Whether the projections are of this build and of the whole log.
    #[must_use]
    pub fn is_current(self) -> bool {
        self.version == PROJECTION_VERSION && self.through_seq == self.log_seq
    }
}
