//! The session's live stream: opened when somebody needs it, its frames held back until the history is merged.

mod link;
mod reads;

use std::{sync::Arc, time::Duration};

use contract::{
    Millis,
    connection::{ConnectionCause, ConnectionState},
    error::{AppError, ErrorCode},
    wire::Cursor,
};
use sse::{
    client::Opener,
    connection::{CommittedCursor, Limits, Link, RequestSource},
};
use tokio::{sync::mpsc, time::Instant};
use tokio_util::sync::CancellationToken;

use super::{held::HeldBack, turn_stream::TurnStream};

/// A link that was away shorter than this, and missed nothing, is not worth a line in the transcript.
const WORTH_A_LINE_MS: u64 = 3_000;

/// How long and why the link was away.
#[derive(Debug, Clone)]
pub(super) struct Away {
    /// Milliseconds.
    pub ms: u64,
    /// The cursor it resumed after.
    pub after: Option<String>,
    /// The server refused the cursor.
    pub cursor_expired: bool,
    quiet: bool,
}

impl Away {
    /// Whether the transcript says so even when nothing was missed.
    pub(super) fn worth_a_line(&self) -> bool {
        !self.quiet && self.ms >= WORTH_A_LINE_MS
    }
}

struct Open {
    links: mpsc::Receiver<Link>,
    commands: mpsc::Sender<sse::connection::Command>,
    cancel: CancellationToken,
    cursor: CommittedCursor,
    activity: Option<(bool, Option<Duration>)>,
}

/// How a stream is opened.
pub(super) struct Ways {
    /// Makes the request.
    pub request: RequestSource,
    /// Sends it.
    pub opener: Arc<dyn Opener>,
    /// Whether it can be left and taken up again.
    pub reattach: bool,
    /// Its limits.
    pub limits: Limits,
}

/// The session's live stream.
pub(super) struct Stream {
    open: Option<Open>,
    /// The turn it is the stream of, where it is one turn's alone.
    pub turn: Option<TurnStream>,
    /// How many turns of ours have begun or ended: an answer that was asked for before one of these may be old.
    pub turn_bounds: u64,
    /// A word of the connection that was received and not taken in yet.
    ahead: Option<Link>,
    /// Its state, for the header.
    pub state: ConnectionState,
    /// It was refused: nothing is tried again until the person does something.
    pub refused: bool,
    held: HeldBack,
    /// Live frames wait for the history until then.
    pub hold_until: Option<Instant>,
    dropped: Option<(Millis, ConnectionCause)>,
    away: Option<Away>,
    /// Where history that is read late is placed.
    pub reserved: Option<i64>,
    /// Live frames were shown before the history was in.
    pub overtaken: bool,
    /// The newest page of the history was not read since it was opened.
    pub awaits_page: bool,
    /// Opened, and the session itself has not been read since.
    pub unchecked: bool,
    /// The server says that nothing runs, though the log, as far as it was then, does: the history is read again.
    pub doubted: Option<i64>,
    expired: bool,
}

impl Default for Stream {
    fn default() -> Self {
        Self {
            open: None,
            turn: None,
            turn_bounds: 0,
            ahead: None,
            state: ConnectionState::Closed,
            refused: false,
            held: HeldBack::default(),
            hold_until: None,
            dropped: None,
            away: None,
            reserved: None,
            overtaken: false,
            awaits_page: false,
            unchecked: false,
            doubted: None,
            expired: false,
        }
    }
}

impl Stream {
    /// Whether a connection exists or is being made.
    pub(super) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Whether bytes can arrive.
    pub(super) fn is_live(&self) -> bool {
        matches!(self.state, ConnectionState::Live { .. })
    }

    /// The next word of the connection, if it is there already.
    fn ready(&mut self) -> Option<Link> {
        self.open.as_mut()?.links.try_recv().ok()
    }

    /// The next word of the connection; waits for ever when there is none.
    pub(super) async fn next(&mut self) -> Option<Link> {
        if self.ahead.is_some() {
            return self.ahead.take();
        }
        match &mut self.open {
            Some(open) => open.links.recv().await,
            None => std::future::pending().await,
        }
    }

    /// What is held back will come again.
    pub(super) fn forget_held(&mut self) {
        self.held.take();
        self.hold_until = None;
    }

    /// Ends the connection.
    pub(super) fn close(&mut self) {
        self.ahead = None;
        if let Some(open) = self.open.take() {
            open.cancel.cancel();
        }
    }

    /// A terminal frame was read.
    fn terminal(&mut self) {
        if let Some(turn) = &mut self.turn {
            turn.over = true;
            self.turn_bounds += 1;
        }
        self.tell(sse::connection::Command::Terminal);
    }

    fn tell(&self, command: sse::connection::Command) {
        if let Some(open) = &self.open {
            // A full queue holds commands that make it do the same.
            let _ = open.commands.try_send(command);
        }
    }

    /// Try again now.
    pub(super) fn retry_now(&self) {
        self.tell(sse::connection::Command::RetryNow);
    }

    /// The computer woke up.
    pub(super) fn wake(&self) {
        self.tell(sse::connection::Command::Wake);
    }

    /// Something showed that the link may be dead.
    pub(super) fn check(&self) {
        if !self.is_live() {
            self.retry_now();
        }
    }

    /// What is committed, to resume from.
    pub(super) fn committed(&self, cursor: Option<Cursor>) {
        if let Some(open) = &self.open {
            open.cursor.set(cursor);
        }
    }

    /// How long it was away, once.
    pub(super) fn take_away(&mut self) -> Option<Away> {
        self.away.take()
    }

    /// The server refused us, in words.
    pub(super) fn refused_by(&mut self, error: &AppError) {
        self.refused = true;
        self.state = match error.code {
            ErrorCode::Unauthorized => ConnectionState::Unauthorized,
            _ => ConnectionState::Forbidden { message: error.message.clone() },
        };
        self.close();
    }
}
