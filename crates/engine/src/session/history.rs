//! Reading a session's history and merging it with what is known.
//!
//! Pages come newest first. A session that was never read whole shows its newest page at once and fetches the older
//! ones behind it; when the last is in, everything is made again from the log, in order. A session that was read
//! whole before only needs what is new since then. While the newest page is read, live frames wait (so that they are
//! placed behind it); requests never wait longer than one answer of the server.

use std::time::Duration;

use contract::{
    error::ErrorCode,
    item::{ItemBody, Marker},
    session::{SessionState, StopState},
    wire::{Frame, Origin},
};
use store::StoreError;
use tokio::time::Instant;

use super::{
    intake::Taken,
    local::LocalRecord,
    reading::{Found, HistoryNews, Reading},
    task::{News, SessionTask},
};

/// When a failed reading is tried again for the first time; each further failure doubles it.
const RETRY_AFTER: Duration = Duration::from_secs(2);

/// The longest pause between two tries.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// What the transcript says where a page of the history led back to one already read.
const CIRCLES: &str = "The server's list of events goes in circles, so what is older than this could not be read. It is tried again with the next connection.";

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
    /// Readings that failed in a row.
    failures: u32,
    /// The last reading went in circles: the server has no more for us until it is asked anew.
    circles: bool,
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
            failures: 0,
            circles: false,
        }
    }

    /// Whether it was given up until somebody asks for it anew.
    pub(super) fn is_given_up(&self) -> bool {
        self.circles
    }

    fn next_pause(&mut self) -> Duration {
        let pause = RETRY_AFTER.saturating_mul(2u32.saturating_pow(self.failures)).min(LONGEST_PAUSE);
        self.failures = self.failures.saturating_add(1);
        pause
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

    /// A look beside the stream counts as a reading for what waits for one.
    pub(super) fn begin_beside(&mut self) -> u64 {
        self.generation += 1;
        self.generation
    }

    /// The whole history came in one answer.
    pub(super) fn beside_done(&mut self) {
        self.complete = true;
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
        if !self.may_read() {
            return;
        }
        if link.protocol.history(&self.record.remote_id, None).is_none() {
            self.beside.owe_history();
            self.look();
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
        if matches!(news.found, Found::Events { .. }) && !self.may_read() {
            self.history.abandon();
            return self.stop_for_room().await;
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
                self.history.failures = 0;
                self.history.circles = false;
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
            Found::Circles => {
                self.history.reading = None;
                self.history.failures = 0;
                self.history.circles = true;
                if !self.history.newest_done {
                    self.newest_page_done(None, Taken::default()).await?;
                }
                self.place_listed().await?;
                self.say_circles().await?;
                self.fold.reducer.touch_header();
                // All that can be read was read: what waited for it is judged by that.
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
                    _ => self.retry_at = Some(Instant::now() + self.history.next_pause()),
                }
                tracing::info!(session_id = self.id.0, code = ?error.code, "history could not be read");
                self.fold.reducer.touch_header();
            }
        }
        Ok(())
    }

    /// Says once that the older part of the history cannot be read: where the part that can be read begins.
    async fn say_circles(&mut self) -> Result<(), StoreError> {
        tracing::warn!(session_id = self.id.0, "the list of events goes in circles");
        let said = self
            .fold
            .reducer
            .transcript
            .iter()
            .any(|item| matches!(&item.body, ItemBody::Marker(Marker::Gap { detail, .. }) if detail == CIRCLES));
        if said {
            return Ok(());
        }
        self.lowest -= 1;
        let record = LocalRecord::Gap { detail: CIRCLES.into(), recovered: false };
        self.take_local(&record, Some(self.lowest)).await
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
        if matches!(self.fold.reducer.stop, StopState::Requested { .. })
            && self.fold.reducer.state == SessionState::Idle
        {
            // The server's own list says that nothing runs: so a stop is done.
            self.take_local(&LocalRecord::StopConfirmed, None).await?;
        }
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
        let asks = self.turned_away_read(reading);
        if std::mem::take(&mut self.stream.unchecked) && self.seems_to_run() || asks {
            self.read_session().await?;
        }
        self.flush_outbox().await
    }

    /// Once per connect, where the events say that a turn runs, the server is asked whether it still does: one that
    /// died in the middle of a turn never wrote an event about it (P-22).
    async fn read_session(&mut self) -> Result<(), StoreError> {
        let link = self.link.clone();
        let ask = link.and_then(|link| Some((link.protocol.read_session(&self.record.remote_id)?, link)));
        let Some((ask, link)) = ask else { return self.turned_away_told(None).await };
        let news = self.news.clone();
        tokio::spawn(async move {
            // A failure says nothing of what runs: the stream and the next connect have the say.
            let remote = link.ask(ask).await.ok().map(Box::new);
            // The session's task may have ended.
            let _ = news.send(News::Session(remote)).await;
        });
        Ok(())
    }

    fn seems_to_run(&self) -> bool {
        matches!(self.fold.reducer.state, SessionState::Running | SessionState::Rescheduling)
    }

    /// The server's word on the session itself. The event that says so may be on its way: the history, read once more
    /// from here on, has it if there is one.
    pub(super) async fn take_session(&mut self, remote: Option<&protocols::RemoteSession>) -> Result<(), StoreError> {
        self.turned_away_told(remote.map(|remote| &remote.state)).await?;
        let Some(remote) = remote else { return Ok(()) };
        if remote.state == SessionState::Idle && self.seems_to_run() && !self.history.is_reading() {
            self.stream.doubted = Some(self.log_seq);
            self.read_history();
        }
        Ok(())
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
        let came = appended.frames.iter().zip(&appended.outcomes).filter(|(_, came)| **came != store::Outcome::Same);
        self.kept.add(came.map(|(frame, _)| frame.frame.data.len() as u64).sum());
        Ok(())
    }
}
