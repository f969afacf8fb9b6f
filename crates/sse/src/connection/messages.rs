//! What a connection is told, and what it reports.

use std::time::Duration;

use bytes::Bytes;
use contract::{
    Millis,
    connection::{ConnectionCause, ConnectionLogRow, ConnectionState},
};

use crate::frame::Piece;

/// What the owner tells the connection. To close it, cancel its token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// The person pressed Retry now.
    RetryNow,
    /// The computer woke up, or the network changed.
    Wake,
    /// The server is paused or off.
    Pause,
    /// The server is wanted again.
    Resume,
    /// The request factory has a new token.
    NewToken,
    /// A terminal event was read: the stream has ended for good.
    Terminal,
    /// Whether a turn runs, and how long no byte may come in that state (`None` = for ever).
    Activity {
        /// A turn runs.
        running: bool,
        /// The limit on silence.
        silence: Option<Duration>,
    },
}

/// What the connection reports.
#[derive(Debug)]
pub enum Link {
    /// The state has changed.
    State(ConnectionState),
    /// A line for the connection log.
    Log(ConnectionLogRow),
    /// The server has accepted; batches follow.
    Opened,
    /// The pieces of one read, in order.
    Batch {
        /// The pieces; never empty.
        pieces: Vec<Piece>,
        /// When they were read.
        received_at: Millis,
    },
    /// The server refused with a status. Follows no [`Link::Opened`]; the state tells what becomes of it.
    Refused(http::Response<Bytes>),
    /// No byte for this long on a stream that is never cut; said again after each further limit.
    Quiet {
        /// Since the last byte.
        silent_for: Duration,
    },
    /// What [`Link::Opened`] began is over.
    Closed {
        /// Why; `None` where we closed it.
        cause: Option<ConnectionCause>,
        /// The bytes of an unfinished block at its end, which was dropped.
        dropped_bytes: u64,
    },
}
