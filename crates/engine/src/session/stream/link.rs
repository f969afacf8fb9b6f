//! The link of the stream: made, let go, and what it says of itself.

use std::{sync::Arc, time::Duration};

use contract::{
    connection::{ConnectionCause, ConnectionLogKind, ConnectionState},
    server::ServerState,
    session::SessionState,
};
use sse::connection::{CommittedCursor, Connection, ConnectionSpec, Limits, Link};
use store::StoreError;
use tokio::{sync::mpsc, time::Instant};
use tokio_util::sync::CancellationToken;

use super::super::{intake::Taken, local::LocalRecord, task::SessionTask};
use super::{Away, Open, Ways};

/// Reads that may wait for the session's task. When full, the connection reads no further and TCP slows the server.
const READS: usize = 64;

/// Positions kept free at each connect, so that history read late still stands before the live frames.
const ROOM: i64 = 1 << 20;

/// Live frames wait at most this long for the history.
const HOLD: Duration = Duration::from_secs(2);

impl SessionTask {
    /// Opens the stream.
    pub(in crate::session) fn open_stream(&mut self) {
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
    pub(in crate::session) fn connect(&mut self, ways: Ways) {
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
    pub(in crate::session) async fn close_stream(&mut self) -> Result<(), StoreError> {
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
    pub(in crate::session) async fn take_link(&mut self, link: Option<Link>) -> Result<(), StoreError> {
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

    /// The session is gone at the server.
    pub(in crate::session) async fn gone(&mut self) -> Result<(), StoreError> {
        let now = self.now();
        self.fold.reducer.end_session(contract::session::ClosedReason::Deleted, now);
        self.stream.close();
        self.stream.state = ConnectionState::Gone;
        self.fold.reducer.touch_header();
        self.publish(true).await
    }

    /// Tells the connection whether a turn runs, for its watchdog.
    pub(in crate::session) fn tell_activity(&mut self) {
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
    pub(in crate::session) async fn log_resumed(&mut self, away: &Away, taken: Taken) -> Result<(), StoreError> {
        let what = ConnectionLogKind::Resumed { recovered: taken.new, duplicates: taken.known, away_ms: away.ms };
        self.log_connection(what, None).await
    }
}
