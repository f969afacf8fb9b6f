//! History: every session ever seen, and search over titles and text.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::{Millis, item::ItemId, server::ServerId, session::SessionRow};

/// What is looked for.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, TS)]
#[serde(default)]
pub struct HistoryQuery {
    /// The words; empty = everything, newest first.
    pub text: String,
    /// Only this server's.
    pub server: Option<ServerId>,
    /// Rows to skip.
    pub offset: u32,
    /// Rows wanted (at most 200).
    pub limit: u32,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
pub struct HistoryPage {
    /// The sessions, best or newest first.
    pub hits: Vec<HistoryHit>,
    /// Whether there are more.
    pub more: bool,
    /// Events that are not in the index yet: results may be missing these.
    pub index_behind: u64,
}

/// One session that was found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
pub struct HistoryHit {
    /// The session.
    pub row: SessionRow,
    /// Its server's name, kept also for servers that were removed.
    pub server_name: String,
    /// The first places where the words stand.
    pub places: Vec<HistoryPlace>,
    /// When it was last active.
    pub last_active_at: Option<Millis>,
}

/// One place where the words stand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct HistoryPlace {
    /// The item; `None` = the title.
    pub item: Option<ItemId>,
    /// Text before the match.
    pub before: String,
    /// The match.
    pub matched: String,
    /// Text after it.
    pub after: String,
}
