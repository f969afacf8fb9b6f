//! Our live link to a session's stream, and the log of its transitions.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::{Millis, probe::ProbeLayer};

/// The state of one session's stream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ConnectionState {
    /// Not wanted: nobody looks at this session and nothing runs in it.
    Closed,
    /// Being opened.
    Connecting {
        /// How many tries have failed since the last stable connection.
        attempt: u32,
    },
    /// Bytes arrive.
    Live {
        /// Since when.
        since: Millis,
    },
    /// Waiting for the next try.
    Waiting {
        /// How many tries have failed.
        attempt: u32,
        /// When the next one starts.
        retry_at: Millis,
        /// Why the last one failed.
        cause: ConnectionCause,
        /// The cause in words, for "Details".
        detail: String,
    },
    /// 401: waits for a token.
    Unauthorized,
    /// 403: waits, with the server's words.
    Forbidden {
        /// What the server said.
        message: String,
    },
    /// 404: the session is gone at the server.
    Gone,
    /// A terminal event ended the stream for good.
    Ended,
    /// The server is paused or off.
    Paused,
    /// What is kept of the server has reached its cap on disk: nothing more is read until the cap is raised.
    Full,
}

/// Why a connection ended or could not be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ConnectionCause {
    /// The server closed the stream cleanly.
    Closed,
    /// The connection broke.
    Broken,
    /// No byte came for too long.
    Silent,
    /// The server answered with a status.
    Status {
        /// The HTTP status.
        status: u16,
    },
    /// No connection could be made.
    Unreachable {
        /// The layer that failed.
        layer: ProbeLayer,
    },
    /// The answer was no event stream.
    NotAStream,
    /// The computer slept.
    Wake,
    /// The person pressed Retry now.
    RetryNow,
}

/// One line of the connection log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct ConnectionLogRow {
    /// When.
    pub at: Millis,
    /// What happened.
    pub what: ConnectionLogKind,
    /// The cursor at that moment.
    pub cursor: Option<String>,
    /// More, for people who look closely.
    pub detail: Option<String>,
}

/// What a line of the connection log says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ConnectionLogKind {
    /// A try began.
    Connecting {
        /// Which.
        attempt: u32,
    },
    /// The stream is open.
    Connected,
    /// Caught up after a drop.
    Resumed {
        /// Events that were new.
        recovered: u32,
        /// Events that were known already.
        duplicates: u32,
        /// How long the link was down.
        away_ms: u64,
    },
    /// The stream ended.
    Dropped {
        /// Why.
        cause: ConnectionCause,
    },
    /// The next try is planned.
    WaitingUntil {
        /// When.
        retry_at: Millis,
    },
    /// The cursor was refused; history was read instead.
    CursorExpired,
    /// Ended for good.
    Ended,
    /// Closed by us: nobody needs it.
    ClosedHere,
}
