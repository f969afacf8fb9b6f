//! The record on disk. One SQLite file, one process, one writing connection.
//!
//! Promises: what a call has answered is committed and survives `kill -9`; what the ledger has answered is synced to
//! disk as well; frames are kept as received and read back in the order of their places; everything derived from
//! them (items, requests, usage, the search index) can be dropped and made again; a file from a newer version is
//! left as it is and a damaged one is set aside, never deleted. There is no column for a token.
//!
//! No call blocks the runtime: writes go through a bounded queue to the writer thread, which puts what has queued
//! up into one transaction; reads run on a few threads of their own.

mod checkpoint;
mod connections;
mod damage;
mod encode;
mod error;
mod frame_row;
mod grouped;
mod items;
mod ledger;
mod ledger_chain;
mod ledger_read;
mod lock;
mod log;
mod log_read;
mod migrate;
mod open;
mod outbox;
mod queue;
mod record;
mod search;
mod search_index;
mod search_places;
mod servers;
mod sessions;
mod store;
mod writer;

pub use error::StoreError;
pub use log_read::FrameReader;
pub use migrate::SCHEMA_VERSION;
pub use record::{
    Appended, CursorMove, ItemsSave, NewDecision, Opened, OutboxMessage, OutboxState, Outcome, PROJECTION_VERSION,
    PendingDecision, ProjectionMark, SessionRecord, StoredItem, StoredServer, StoredSession,
};
pub use store::Store;
