//! The session's live stream: opened when somebody needs it, its frames held back until the history is merged.

use std::{sync::Arc, time::Duration};

use contract::{
    Millis,
    connection::{ConnectionCause, ConnectionLogKind, ConnectionState},
    error::{AppError, ErrorCode},
    server::ServerState,
    session::SessionState,
    wire::{Cursor, Origin},
};
use sse::{
    client::Opener,
    connection::{CommittedCursor, Connection, ConnectionSpec, Limits, Link, RequestSource},
    frame::Piece,
};
use store::StoreError;
use tokio::{sync::mpsc, time::Instant};
use tokio_util::sync::CancellationToken;

use super::{
    held::{Held, HeldBack},
    intake::{Committing, Prepared, Room, Taken},
    local::LocalRecord,
    task::SessionTask,
    turn_stream::TurnStream,
};
use crate::feed::TEXT_INTERVAL;

/// Reads that may wait for the session's task. When full, the connection reads no further and TCP slows the server.
const READS: usize = 64;

/// A link that was away shorter than this, and missed nothing, is not worth a line in the transcript.
const WORTH_A_LINE_MS: u64 = 3_000;

/// Positions kept free at each connect, so that history read late still stands before the live frames.
const ROOM: i64 = 1 << 20;

/// Live frames wait at most this long for the history.
const HOLD: Duration = Duration::from_secs(2);

/// Reads taken in before commands and timers have their turn.
const READS_AT_ONCE: u32 = 8;

/// Reads that came while the last were being committed are committed together up to these bounds (frames, bytes):
/// a decision may have to wait for one such transaction.
const TOGETHER_FRAMES: usize = 2_048;
const TOGETHER_BYTES: usize = 2 * 1024 * 1024;

/// From so many frames in one transaction on, what can wait makes room.
const MANY: usize = 100;

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

impl SessionTask {
    /// Opens the stream.
    pub(super) fn open_stream(&mut self) {
        let Some(link) = self.link.clone() else { return };
        if link.protocol.stream(&self.record.remote_id, None).is_none() {
            return;
        }
        let remote = self.record.remote_id.clone();
        let requests = Arc::clone(&link);
        let liveness = link.protocol.liveness();
        let ways = Ways {
            request: Arc::new(move |cursor| {
                let resume = cursor.filter(|_| requests.protocol.resumes());
                // `None` was ruled out above: a protocol's answer does not depend on the cursor.
                let mut request = requests.protocol.stream(&remote, resume.as_ref()).unwrap_or_default();
                requests.authorize(&mut request);
                request
            }),
            opener: Arc::new(link.client.clone()),
            reattach: link.protocol.capabilities().reattach,
            limits: Limits { event_cap: link.event_cap, silence: liveness.running, ..Limits::default() },
        };
        self.connect(ways);
    }

    /// Starts the connection of a stream.
    pub(super) fn connect(&mut self, ways: Ways) {
        let cursor = CommittedCursor::new(self.cursor.clone());
        let (to_task, links) = mpsc::channel(READS);
        let (commands, orders) = mpsc::channel(16);
        let cancel = CancellationToken::new();
        let spec = ConnectionSpec {
            request: ways.request,
            words: Arc::new(sse::connection::plain_words),
            reattach: ways.reattach,
            limits: ways.limits,
            cursor: cursor.clone(),
        };
        let connection = Connection::new(
            spec,
            ways.opener,
            Arc::new(sse::clock::SystemClock::default()),
            to_task,
            orders,
            cancel.clone(),
        );
        tokio::spawn(connection.run());
        self.stream.open = Some(Open { links, commands, cancel, cursor, activity: None });
        self.stream.state = ConnectionState::Connecting { attempt: 0 };
        self.fold.reducer.touch_header();
    }

    /// Lets go of the stream.
    pub(super) async fn close_stream(&mut self) -> Result<(), StoreError> {
        if !self.stream.is_open() {
            return Ok(());
        }
        if self.stream.turn.is_some() {
            self.cut_turn().await?;
            return self.publish(true).await;
        }
        self.drain_held().await?;
        self.stream.close();
        self.stream.dropped = None;
        self.stream.away = None;
        self.stream.state = match self.stream.state {
            ConnectionState::Ended | ConnectionState::Gone => self.stream.state.clone(),
            _ => ConnectionState::Closed,
        };
        self.log_connection(ConnectionLogKind::ClosedHere, None).await?;
        self.fold.reducer.touch_header();
        self.publish(true).await
    }

    /// Takes one word of the connection.
    pub(super) async fn take_link(&mut self, link: Option<Link>) -> Result<(), StoreError> {
        if self.stream.turn.is_some() {
            self.take_turn_link(link).await?;
            return self.publish(false).await;
        }
        match link {
            Some(Link::State(state)) => self.link_state(state).await?,
            Some(Link::Log(row)) => self.log_connection(row.what, row.detail).await?,
            Some(Link::Opened) => self.link_opened().await?,
            Some(Link::Batch { .. }) if self.is_full() && self.can_wait() => return self.stop_for_room().await,
            Some(Link::Batch { pieces, received_at }) => self.take_reads(pieces, received_at).await?,
            Some(Link::Refused(response)) => self.link_refused(response.status().as_u16()).await?,
            Some(Link::Quiet { .. }) => self.fold.reducer.touch_header(),
            Some(Link::Closed { cause, .. }) => {
                if let Some(cause) = cause {
                    self.link_dropped(cause).await?;
                }
            }
            // The connection's task has ended: for good, or cancelled.
            None => self.stream.open = None,
        }
        self.publish(false).await
    }

    async fn link_state(&mut self, state: ConnectionState) -> Result<(), StoreError> {
        match &state {
            ConnectionState::Gone if self.stream.expired => return Ok(()),
            ConnectionState::Unauthorized => {
                self.hub.change_server(&self.record.server, |server| server.state = ServerState::Unauthorized);
            }
            // The stream's 404 may be the stream's alone: the history knows whether the session is gone.
            ConnectionState::Gone => {
                self.stream.refused = true;
                self.read_history();
            }
            ConnectionState::Closed
            | ConnectionState::Connecting { .. }
            | ConnectionState::Live { .. }
            | ConnectionState::Waiting { .. }
            | ConnectionState::Forbidden { .. }
            | ConnectionState::Ended
            | ConnectionState::Paused
            | ConnectionState::Full => {}
        }
        self.stream.state = state;
        self.fold.reducer.touch_header();
        // The history may have been read before the link was called live: then this is what a message waited for.
        if self.stream.is_live() { self.flush_outbox().await } else { Ok(()) }
    }

    async fn link_opened(&mut self) -> Result<(), StoreError> {
        self.stream.expired = false;
        let now = self.now();
        if let Some((since, cause)) = self.stream.dropped.take() {
            let quiet = cause == ConnectionCause::Closed && self.fold.reducer.state == SessionState::Idle;
            let before = self.stream.away.take();
            self.stream.away = Some(Away {
                ms: u64::try_from(now - since).unwrap_or(0),
                after: self.cursor.as_ref().map(|cursor| cursor.0.clone()),
                cursor_expired: before.is_some_and(|away| away.cursor_expired),
                quiet,
            });
        }
        // Where the last stream was cut off before a page of the history was merged with what it had brought, the page
        // still goes before that.
        if !self.stream.awaits_page || self.stream.reserved.is_none() {
            self.stream.reserved = Some(self.position);
            self.stream.overtaken = false;
        }
        self.stream.awaits_page = true;
        self.stream.unchecked = true;
        self.stream.doubted = None;
        self.position += ROOM;
        self.stream.hold_until = Some(Instant::now() + HOLD);
        self.read_history_for_stream();
        Ok(())
    }

    async fn link_dropped(&mut self, cause: ConnectionCause) -> Result<(), StoreError> {
        self.drain_held().await?;
        let now = self.now();
        self.stream.dropped.get_or_insert((now, cause));
        self.take_local(&LocalRecord::Dropped { cause }, None).await
    }

    /// A refused cursor is dropped, and history fills the gap (P-20).
    async fn link_refused(&mut self, status: u16) -> Result<(), StoreError> {
        if self.cursor.is_none() || !matches!(status, 400 | 404 | 410 | 412 | 416 | 422) {
            self.stream.expired = false;
            return Ok(());
        }
        self.move_cursor(String::new()).await?;
        self.stream.expired = true;
        let now = self.now();
        self.stream.dropped.get_or_insert((now, ConnectionCause::Status { status }));
        self.stream.away = Some(Away { ms: 0, after: None, cursor_expired: true, quiet: false });
        self.log_connection(ConnectionLogKind::CursorExpired, None).await?;
        self.stream.retry_now();
        Ok(())
    }

    /// Takes a read in.
    pub(super) async fn take_reads(&mut self, pieces: Vec<Piece>, at: Millis) -> Result<(), StoreError> {
        if self.flows(&pieces) { self.take_batches(pieces, at).await } else { self.take_batch(pieces, at).await }
    }

    /// Whether a read is nothing but frames, and nothing holds them back or may move them.
    fn flows(&self, pieces: &[Piece]) -> bool {
        self.stream.held.is_empty()
            && !self.stream.awaits_page
            && !self.history.is_reading()
            && pieces.iter().all(|piece| !matches!(piece, Piece::Cursor(_)))
    }

    /// Takes a read in, and those that are there behind it: while some are folded, the next are being committed.
    async fn take_batches(&mut self, pieces: Vec<Piece>, at: Millis) -> Result<(), StoreError> {
        self.stream.hold_until = None;
        let mut next = Some(self.begin_reads(pieces, at, Room::default()));
        let mut room = Room::default();
        let mut shown = Instant::now();
        for turn in 1.. {
            let Some(Committing { appended, parsed, cursor, terminal }) = next.take() else { break };
            let appended = appended.await.map_err(|_| StoreError::Closed)??;
            if appended.frames.len() >= MANY {
                self.hub.frames_came();
            }
            if turn < READS_AT_ONCE && !self.is_full() {
                next = self.ready_read().map(|(pieces, at)| self.begin_reads(pieces, at, std::mem::take(&mut room)));
            }
            let taken;
            (taken, room) = self.committed(appended, parsed, cursor, terminal).await?;
            if taken.terminal {
                self.stream.terminal();
            }
            if next.is_some() && (self.fold.reducer.cannot_wait() || shown.elapsed() >= TEXT_INTERVAL) {
                self.publish(false).await?;
                shown = Instant::now();
            }
        }
        Ok(())
    }

    /// Begins the commit of a read together with all that came behind it meanwhile, up to a bound: under a flood one
    /// transaction then takes what came during the one before it, and a lone event still goes alone and at once.
    fn begin_reads(&mut self, pieces: Vec<Piece>, at: Millis, room: Room) -> Committing {
        let mut prepared = Prepared::within(room);
        let mut bytes = 0;
        let mut next = Some((pieces, at));
        while let Some((pieces, at)) = next {
            for piece in pieces {
                // Retry and comments: the connection obeyed them, and any byte was life. The others do not flow.
                let Piece::Frame(frame) = piece else { continue };
                bytes += frame.data.len();
                prepared.add(self.fold.codec.as_ref(), frame, Origin::Stream, self.position, at);
                self.position += 1;
            }
            next = if prepared.len() < TOGETHER_FRAMES && bytes < TOGETHER_BYTES { self.ready_read() } else { None };
        }
        self.begin(prepared)
    }

    /// The next read, if it is there already and flows.
    fn ready_read(&mut self) -> Option<(Vec<Piece>, Millis)> {
        if self.stream.ahead.is_some() {
            return None;
        }
        match self.stream.ready() {
            Some(Link::Batch { pieces, received_at }) if self.flows(&pieces) => Some((pieces, received_at)),
            other => {
                self.stream.ahead = other;
                None
            }
        }
    }

    async fn take_batch(&mut self, pieces: Vec<Piece>, at: Millis) -> Result<(), StoreError> {
        let mut frames = Vec::with_capacity(pieces.len());
        let mut moves = Vec::new();
        for piece in pieces {
            match piece {
                Piece::Frame(frame) => frames.push(frame),
                Piece::Cursor(id) => moves.push((frames.len(), id)),
                // The connection obeyed it, and any byte was life.
                Piece::Retry(_) | Piece::Comment => {}
            }
        }
        let held = &mut self.stream.held;
        let mut start = 0;
        let mut frames = frames.into_iter();
        for (index, id) in moves {
            held.hold(Held::Frames(frames.by_ref().take(index - start).collect(), at));
            held.hold(Held::Cursor(id));
            start = index;
        }
        held.hold(Held::Frames(frames.collect(), at));
        let waits = self.stream.awaits_page && self.history.is_reading() && self.stream.hold_until.is_some();
        if waits && !self.stream.held.is_full() {
            return Ok(());
        }
        self.drain_held().await
    }

    /// Takes in what was held back.
    pub(super) async fn drain_held(&mut self) -> Result<(), StoreError> {
        self.stream.hold_until = None;
        for held in self.stream.held.take() {
            // What finds no room comes again after the cursor, once there is some.
            if self.is_full() && self.can_wait() {
                break;
            }
            match held {
                Held::Frames(frames, at) if !frames.is_empty() => {
                    self.stream.overtaken |= self.stream.awaits_page;
                    if self.take_frames(frames, Origin::Stream, at).await?.terminal {
                        self.stream.terminal();
                    }
                }
                Held::Frames(..) => {}
                Held::Cursor(id) => self.move_cursor(id).await?,
            }
        }
        Ok(())
    }

    /// The session is gone at the server.
    pub(super) async fn gone(&mut self) -> Result<(), StoreError> {
        let now = self.now();
        self.fold.reducer.end_session(contract::session::ClosedReason::Deleted, now);
        self.stream.close();
        self.stream.state = ConnectionState::Gone;
        self.fold.reducer.touch_header();
        self.publish(true).await
    }

    /// Tells the connection whether a turn runs, for its watchdog.
    pub(super) fn tell_activity(&mut self) {
        // The limits of a turn's stream are set when it is opened.
        let Some(link) = self.link.as_ref().filter(|_| self.stream.turn.is_none()) else { return };
        let running = matches!(self.fold.reducer.state, SessionState::Running | SessionState::Rescheduling);
        let liveness = link.protocol.liveness();
        let wanted = (running, if running { liveness.running } else { liveness.idle });
        if let Some(open) = &mut self.stream.open
            && open.activity != Some(wanted)
        {
            open.activity = Some(wanted);
            let command = sse::connection::Command::Activity { running: wanted.0, silence: wanted.1 };
            // A full queue is emptied at once; whatever happens next tells again.
            if open.commands.try_send(command).is_err() {
                open.activity = None;
            }
        }
    }

    /// How the link came back, in the connection log.
    pub(super) async fn log_resumed(&mut self, away: &Away, taken: Taken) -> Result<(), StoreError> {
        let what = ConnectionLogKind::Resumed { recovered: taken.new, duplicates: taken.known, away_ms: away.ms };
        self.log_connection(what, None).await
    }
}
