//! Reading a session's history and merging it with what is known.
//!
//! Pages come newest first. A session that was never read whole shows its newest page at once and fetches the older
//! ones behind it; when the last is in, everything is made again from the log, in order. A session that was read
//! whole before only needs what is new since then. While the newest page is read, live frames wait (so that they are
//! placed behind it); requests never wait longer than one answer of the server.

use std::time::Duration;

use contract::{
    error::{AppError, ErrorCode},
    session::SessionState,
    wire::{Frame, Origin},
};
use store::StoreError;
use tokio::time::Instant;

use super::{
    intake::Taken,
    local::LocalRecord,
    task::{News, SessionTask},
};
use crate::server::link::ServerLink;

/// Pause between pages, as the server's rate limits ask for (qoder-cloud-agents §2).
const BETWEEN_PAGES: Duration = Duration::from_millis(100);

/// Pages read without a pause: enough for nearly every reconnect.
const PAGES_AT_ONCE: u32 = 3;

/// When a failed reading is tried again.
const RETRY_AFTER: Duration = Duration::from_secs(5);

/// Where the reading of a session's history stands.
#[derive(Debug)]
pub(super) struct History {
    complete: bool,
    reading: Option<u64>,
    generation: u64,
    again: bool,
    newest_done: bool,
    /// It began before the stream that is open now: what came in between is in neither, until it is read again.
    stale: bool,
    /// The ids of the pages of a reading that reads everything, newest page first, each oldest event first.
    pages: Vec<Vec<String>>,
}

/// What a reading found.
pub(super) struct HistoryNews {
    generation: u64,
    found: Found,
}

enum Found {
    /// Events, oldest first; `newest` for the page that live frames wait for.
    Events { events: Vec<String>, newest: bool },
    /// Everything there is was read.
    Complete,
    /// It failed.
    Failed(AppError),
}

impl History {
    pub(super) fn new(complete: bool) -> Self {
        Self {
            complete,
            reading: None,
            generation: 0,
            again: false,
            newest_done: false,
            stale: false,
            pages: Vec::new(),
        }
    }

    /// Whether the log is known to hold the whole history.
    pub(super) fn is_complete(&self) -> bool {
        self.complete
    }

    /// Whether live frames must wait for the newest page.
    pub(super) fn holds_live(&self) -> bool {
        self.reading.is_some() && !self.newest_done
    }

    /// The number of the first reading that begins after now.
    pub(super) fn next_reading(&self) -> u64 {
        self.generation + 1
    }

    /// Gives a reading up: its link says nothing any more. Gives whether there was one.
    pub(super) fn abandon(&mut self) -> bool {
        self.reading.take().is_some()
    }

    /// Whether a reading goes on.
    pub(super) fn is_reading(&self) -> bool {
        self.reading.is_some()
    }

    /// Whether older history is still being fetched.
    pub(super) fn is_loading(&self) -> bool {
        self.reading.is_some() && !self.complete
    }
}

impl SessionTask {
    /// Reads for a stream that was just opened: a reading that began before it does not count.
    pub(super) fn read_history_for_stream(&mut self) {
        if !self.history.complete && self.history.reading.is_some() {
            // The first reading of a long history goes on; what is new since it began is read after it.
            self.history.again = true;
            self.history.stale = true;
            return;
        }
        self.history.reading = None;
        self.read_history();
    }

    /// Starts reading, or reads once more after the reading that goes on.
    pub(super) fn read_history(&mut self) {
        let Some(link) = self.link.clone() else { return };
        if self.history.reading.is_some() {
            self.history.again = true;
            return;
        }
        if link.protocol.history(&self.record.remote_id, None).is_none() {
            return;
        }
        self.history.generation += 1;
        self.history.reading = Some(self.history.generation);
        self.history.newest_done = false;
        self.history.stale = false;
        self.history.pages.clear();
        let reading = Reading {
            link,
            store: self.hub.store.clone(),
            session: self.id,
            remote: self.record.remote_id.clone(),
            whole: !self.history.complete,
            before: self.stream.reserved.unwrap_or(i64::MAX),
            generation: self.history.generation,
            news: self.news.clone(),
        };
        tokio::spawn(reading.run());
        self.fold.reducer.touch_header();
    }

    /// Takes what a reading found.
    pub(super) async fn take_history(&mut self, news: HistoryNews) -> Result<(), StoreError> {
        if self.history.reading != Some(news.generation) {
            return Ok(());
        }
        match news.found {
            Found::Events { events, newest } => {
                let frames: Vec<Frame> = events.into_iter().map(|data| Frame { data, ..Frame::default() }).collect();
                self.note_page(&frames);
                if newest && self.history.stale {
                    // Older than the stream, so before whatever it brings; live frames go on waiting for what is not.
                    let first = self.stream.reserved.unwrap_or(self.position);
                    self.stream.reserved = Some(first + i64::try_from(frames.len()).unwrap_or(i64::MAX));
                    self.history.newest_done = true;
                    let now = self.now();
                    if self.take_at(frames, Origin::List, now, first).await?.new > 0 && self.stream.overtaken {
                        self.rebuild().await?;
                    }
                } else if newest {
                    let now = self.now();
                    self.stream.awaits_page = false;
                    // Before what the stream has brought since it was opened, behind all that was known then.
                    let marker_at = self.stream.reserved.take().unwrap_or(self.position);
                    let end = marker_at + 1 + i64::try_from(frames.len()).unwrap_or(i64::MAX);
                    self.position = self.position.max(end);
                    let order = self.ids(&frames);
                    let taken = self.take_at(frames, Origin::List, now, marker_at + 1).await?;
                    // What came on other ways while the page was read may stand anywhere among it: the page knows.
                    let moved = self.hub.store.place_events(self.id, order, marker_at + 1).await?;
                    if std::mem::take(&mut self.stream.overtaken) && taken.new > 0 || moved {
                        self.rebuild().await?;
                    }
                    self.newest_page_done(Some(marker_at), taken).await?;
                } else {
                    // Older pages go below everything known; the fold sees them in order once all are here.
                    let count = i64::try_from(frames.len()).unwrap_or(i64::MAX);
                    self.lowest -= count;
                    self.log_older(frames).await?;
                }
            }
            Found::Complete => {
                let was_whole = std::mem::replace(&mut self.history.complete, true);
                self.history.reading = None;
                if !self.history.newest_done {
                    self.newest_page_done(None, Taken::default()).await?;
                }
                self.record.synced_updated_at = self.record.updated_at.or(Some(0));
                if !was_whole {
                    self.place_listed().await?;
                }
                self.fold.reducer.touch_header();
                self.history_settled(news.generation).await?;
            }
            Found::Failed(error) => {
                self.history.reading = None;
                if !self.history.newest_done {
                    // Nothing was recovered: how long we were away is told by the reading that succeeds.
                    self.history.newest_done = true;
                    self.drain_held().await?;
                }
                match error.code {
                    ErrorCode::GoneAtServer => {
                        self.gone().await?;
                        self.resolve_checks(u64::MAX).await?;
                    }
                    ErrorCode::Unauthorized | ErrorCode::Forbidden => self.stream.refused_by(&error),
                    // Asked for once: the same page would be as large again. The next connect asks anew.
                    ErrorCode::TooLarge => {}
                    _ => self.retry_at = Some(Instant::now() + RETRY_AFTER),
                }
                tracing::info!(session_id = self.id.0, code = ?error.code, "history could not be read");
                self.fold.reducer.touch_header();
            }
        }
        Ok(())
    }

    /// The newest page is in (or will not come): live frames may follow.
    async fn newest_page_done(&mut self, marker_at: Option<i64>, taken: Taken) -> Result<(), StoreError> {
        self.history.newest_done = true;
        if let Some(away) = self.stream.take_away() {
            let recovered = taken.new;
            self.log_resumed(&away, taken).await?;
            if let Some(position) = marker_at
                && (recovered > 0 || away.worth_a_line())
            {
                let record = LocalRecord::Resumed { away_ms: away.ms, after: away.after.clone(), recovered };
                self.take_local(&record, Some(position)).await?;
            }
            if away.cursor_expired {
                let record = LocalRecord::Gap {
                    detail: "The server no longer knew where we had stopped; the history was read again.".into(),
                    recovered: true,
                };
                self.take_local(&record, None).await?;
            }
        }
        self.drain_held().await
    }

    /// What waited for the truth of the server.
    async fn history_settled(&mut self, reading: u64) -> Result<(), StoreError> {
        self.resolve_checks(reading).await?;
        self.resend_uncertain(reading);
        if !self.fold.reducer.requests.unexplained().is_empty() && self.fallback_at.is_none() {
            self.fallback_at = Some(Instant::now());
        }
        if std::mem::take(&mut self.history.again) {
            self.read_history();
        }
        if let Some(seen) = self.stream.doubted.take() {
            // Read after the server said so, and nothing new in it: no event will ever say it.
            if seen == self.log_seq && self.seems_to_run() {
                self.fold.reducer.found_idle(self.now());
            }
        }
        if std::mem::take(&mut self.stream.unchecked) {
            self.read_session();
        }
        self.flush_outbox().await
    }

    /// Once per connect, where the events say that a turn runs, the server is asked whether it still does: one that
    /// died in the middle of a turn never wrote an event about it (P-22).
    fn read_session(&self) {
        if !self.seems_to_run() {
            return;
        }
        let Some(link) = self.link.clone() else { return };
        let Some(ask) = link.protocol.read_session(&self.record.remote_id) else { return };
        let news = self.news.clone();
        tokio::spawn(async move {
            // A failure here is no news: the stream and the next connect have the say.
            if let Ok(remote) = link.ask(ask).await {
                // The session's task may have ended.
                let _ = news.send(News::Session(Box::new(remote))).await;
            }
        });
    }

    fn seems_to_run(&self) -> bool {
        matches!(self.fold.reducer.state, SessionState::Running | SessionState::Rescheduling)
    }

    /// The server's word on the session itself. The event that says so may be on its way: the history, read once more
    /// from here on, has it if there is one.
    pub(super) fn take_session(&mut self, remote: &protocols::RemoteSession) {
        if remote.state == SessionState::Idle && self.seems_to_run() && !self.history.is_reading() {
            self.stream.doubted = Some(self.log_seq);
            self.read_history();
        }
    }

    /// Once a history was read whole, its events stand in the list's order, whichever way each of them came: a stream
    /// that replays, pages that were overtaken, both cut off in the middle. What is newer than the list stays behind it.
    async fn place_listed(&mut self) -> Result<(), StoreError> {
        let order: Vec<String> = std::mem::take(&mut self.history.pages).into_iter().rev().flatten().collect();
        if order.is_empty() {
            return Ok(());
        }
        let first = self.lowest.min(0) - i64::try_from(order.len()).unwrap_or(i64::MAX);
        let moved = self.hub.store.place_events(self.id, order, first).await?;
        if moved {
            self.lowest = first;
        }
        // Older pages were only logged: the fold has not seen them.
        if moved || self.lowest < 0 {
            self.rebuild().await?;
        }
        Ok(())
    }

    /// Notes the order of a page of a reading that reads everything.
    fn note_page(&mut self, page: &[Frame]) {
        if self.history.complete {
            return;
        }
        let ids = self.ids(page);
        self.history.pages.push(ids);
    }

    fn ids(&self, page: &[Frame]) -> Vec<String> {
        let identities = page.iter().filter_map(|frame| self.fold.codec.parse(frame).identity);
        identities.map(|event| event.event_id).collect()
    }

    async fn log_older(&mut self, frames: Vec<Frame>) -> Result<(), StoreError> {
        let at = self.now();
        let logged = frames
            .into_iter()
            .zip(self.lowest..)
            .map(|(frame, position)| {
                let read = self.fold.codec.parse(&frame);
                contract::wire::LoggedFrame {
                    frame,
                    origin: Origin::List,
                    kind: read.kind,
                    identity: read.identity,
                    position,
                    received_at: at,
                }
            })
            .collect();
        let appended = self.hub.store.append(self.id, logged, store::CursorMove::Keep).await?;
        self.log_seq = self.log_seq.max(appended.log_seq);
        Ok(())
    }
}

/// One reading, in a task of its own.
struct Reading {
    link: std::sync::Arc<ServerLink>,
    store: store::Store,
    session: contract::session::SessionId,
    remote: String,
    whole: bool,
    /// Events from this place on came with the open stream, so that they say nothing of what lies before it.
    before: i64,
    generation: u64,
    news: tokio::sync::mpsc::Sender<News>,
}

impl Reading {
    async fn run(self) {
        let found = match self.read().await {
            Ok(()) => Found::Complete,
            Err(error) => Found::Failed(error),
        };
        self.tell(found).await;
    }

    async fn tell(&self, found: Found) {
        // The session's task may have ended; then nobody needs it.
        let _ = self.news.send(News::History(HistoryNews { generation: self.generation, found })).await;
    }

    async fn read(&self) -> Result<(), AppError> {
        let mut page: Option<String> = None;
        let mut seen = std::collections::HashSet::new();
        let mut fresh: Vec<String> = Vec::new();
        let mut pages = 0;
        loop {
            let Some(ask) = self.link.protocol.history(&self.remote, page.as_deref()) else { return Ok(()) };
            let answer = self.link.ask(ask).await.map_err(|failed| failed.error)?;
            pages += 1;
            let known = self.oldest_is_known(&answer.events).await?;
            let mut events = answer.events;
            events.reverse();
            let last = answer.next.is_none() || events.is_empty();
            if self.whole {
                self.tell(Found::Events { events, newest: pages == 1 }).await;
            } else {
                // Pages go backwards: each older one stands before those already read.
                events.append(&mut fresh);
                fresh = events;
                if known || last {
                    self.tell(Found::Events { events: fresh, newest: true }).await;
                    return Ok(());
                }
            }
            let Some(next) = answer.next.filter(|_| !last) else { return Ok(()) };
            if !seen.insert(next.clone()) {
                return Err(AppError::new(
                    ErrorCode::WrongProtocol,
                    "The server's history goes in circles: a page led back to one already read.",
                ));
            }
            page = Some(next);
            if pages >= PAGES_AT_ONCE {
                tokio::time::sleep(BETWEEN_PAGES).await;
            }
        }
    }

    /// Whether the oldest event of a page is in the log, so that everything older is, too.
    async fn oldest_is_known(&self, events: &[String]) -> Result<bool, AppError> {
        #[derive(serde::Deserialize)]
        struct Id {
            id: Option<String>,
        }
        let Some(oldest) = events.last() else { return Ok(true) };
        let Some(id) = serde_json::from_str::<Id>(oldest).ok().and_then(|read| read.id) else { return Ok(false) };
        let known = self.store.frame(self.session, id).await?;
        Ok(known.is_some_and(|frame| frame.position < self.before))
    }
}
