//! What the page receives: snapshots and numbered patches, batched per window.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::{
    Millis,
    connection::ConnectionLogRow,
    item::{Item, ItemId},
    request::{LedgerRow, Request},
    server::{Server, ServerId},
    session::{SessionHeader, SessionId, SessionRow},
    settings::AppFacts,
};

/// One message over a window's channel: patches in order. `number` counts up by one per window; on a hole the
/// page asks for new snapshots.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
pub struct Batch {
    /// Counts up by one per window, from 1.
    pub number: u64,
    /// What changed, in order.
    pub patches: Vec<Patch>,
}

/// One change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(tag = "topic", rename_all = "snake_case")]
pub enum Patch {
    /// A change of the lists every screen shares.
    Overview {
        /// The change.
        change: OverviewChange,
    },
    /// A change inside a session the window has open.
    Session {
        /// The session.
        session: SessionId,
        /// Counts up by one per session from its snapshot's number.
        revision: u64,
        /// The change.
        change: SessionChange,
    },
}

/// Everything the sidebar and the shared screens show.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
pub struct Overview {
    /// Servers in the person's order.
    pub servers: Vec<Server>,
    /// Sessions worth a row in the sidebar.
    pub sessions: Vec<SessionRow>,
    /// The app's own facts.
    pub facts: AppFacts,
    /// The number of the last batch this includes.
    pub batch: u64,
}

/// A change of the overview.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum OverviewChange {
    /// All servers, in order.
    Servers {
        /// All of them.
        servers: Vec<Server>,
    },
    /// One session's row is new or changed.
    Session {
        /// The row.
        row: SessionRow,
    },
    /// A session's row is gone.
    SessionGone {
        /// Which.
        session: SessionId,
    },
    /// The app's own facts changed.
    Facts {
        /// All of them.
        facts: AppFacts,
    },
    /// Something about a server needs saying once.
    Notice {
        /// Which.
        server: ServerId,
        /// The words.
        text: String,
    },
}

/// One session as it is now.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
pub struct Snapshot {
    /// The session.
    pub session: SessionId,
    /// Patches with a higher revision apply to this.
    pub revision: u64,
    /// Everything above the transcript.
    pub header: SessionHeader,
    /// The last page of items, in order.
    pub items: Vec<Item>,
    /// Whether older items can be asked for.
    pub has_older: bool,
    /// How many items there are in all.
    pub total_items: u64,
    /// Requests that wait, or were settled a moment ago.
    pub requests: Vec<Request>,
    /// The connection log's last rows.
    pub connection_log: Vec<ConnectionLogRow>,
    /// The last decisions of this session.
    pub decisions: Vec<LedgerRow>,
}

/// A change inside a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum SessionChange {
    /// The header changed.
    Header {
        /// All of it.
        header: Box<SessionHeader>,
    },
    /// An item is new or changed: replace the one with its id, else insert by order.
    Item {
        /// The item.
        item: Box<Item>,
    },
    /// Text to append to a part of an item that streams. The page already holds the item.
    Append {
        /// The item.
        item: ItemId,
        /// Which part of a message; `None` for a thought's text or a tool's input.
        part: Option<u32>,
        /// The text.
        text: String,
    },
    /// An item is gone (a draft that was dropped).
    ItemGone {
        /// Which.
        item: ItemId,
    },
    /// A request is new or changed.
    Request {
        /// The request.
        request: Box<Request>,
    },
    /// A request is gone from the card area.
    RequestGone {
        /// Which.
        request: String,
    },
    /// A row of the connection log.
    Connection {
        /// The row.
        row: ConnectionLogRow,
    },
    /// A row of the ledger is new or changed.
    Decision {
        /// The row.
        row: LedgerRow,
    },
    /// Everything changed (history was read again): ask for a new snapshot.
    Reset,
}

/// A page of items for scrolling up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
pub struct ItemPage {
    /// In order.
    pub items: Vec<Item>,
    /// Whether older ones exist.
    pub has_older: bool,
}

/// A part of a big payload, read by handle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct PayloadChunk {
    /// The text from `from`, at most as long as asked for.
    pub text: String,
    /// The first character (Unicode scalar value) of `text` in the whole.
    pub from: u64,
    /// Characters of the whole.
    pub chars: u64,
    /// When it was read, so that the page can tell a changed payload.
    pub read_at: Millis,
}
