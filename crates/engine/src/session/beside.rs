//! What is asked beside a stream: where a turn's stream is the answer to what began it, nothing else tells of a run
//! that another client drives, of what waits in it, or of what a broken stream swallowed.
//!
//! A look is the protocol's checks and, once nothing runs any more and the history is owed, the whole history. Each
//! answer becomes a frame of the log; one equal to the last of its name is dropped. Looks follow an opened window, an
//! approval, a drop, silence, a stop and a crash; while a run goes on that is not ours they follow each other. A session
//! nobody looks at and nothing of ours runs in is never made the server's current one for it.

use std::collections::{HashMap, HashSet};

use contract::{
    Millis,
    connection::{ConnectionCause, ConnectionState},
    error::{AppError, ErrorCode},
    probe::ProbeLayer,
    wire::{Frame, Origin},
};
use protocols::Checked;
use store::{OutboxMessage, OutboxState, StoreError};
use tokio::time::{Duration, Instant};

use super::{
    handle::Reply,
    task::{News, SessionTask},
};
use crate::server::{
    floor::{Going, is_busy},
    link::AskError,
};

/// How often a run that is not ours is looked at.
const FOLLOW_EVERY: Duration = Duration::from_secs(2);

/// The pause after the first look that failed; each further one doubles it.
const FIRST_PAUSE: Duration = Duration::from_secs(1);

/// The longest pause after looks that failed.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// So many readings of the history that say nothing of what was lost on its way give it up: half a minute and more.
const LOOKS_FOR_LOST: u32 = 5;

/// The name of the frame that a whole history becomes.
const HISTORY: &str = "history";

/// What is known of the looks of one session.
#[derive(Debug, Default)]
pub(super) struct Beside {
    looking: Option<u64>,
    /// How many turns of ours had begun or ended when the look began.
    bounds: u64,
    again: bool,
    /// The history is to be read once nothing runs.
    pub(super) owed: bool,
    /// It is owed for a turn of ours, whoever looks at the session.
    pub(super) for_turn: bool,
    /// It is being read, and whether for a turn of ours. What is owed meanwhile is owed of a time behind this reading.
    reading: Option<bool>,
    /// A run is to be taken up again once the stream of the last turn, which is over, has ended.
    pub(super) resume: Option<Reply<()>>,
    /// The whole history was read at least once since this record began.
    read_once: bool,
    failures: u32,
    /// Readings of the history, one after the other, while nothing else tells whether a turn goes on.
    readings: u32,
    last: HashMap<String, String>,
    /// Requests that were looked at since they appeared.
    pub(super) seen: HashSet<String>,
    /// Requests whose deadline was looked at.
    pub(super) expired: HashSet<String>,
    pub(super) own_turn_over: Option<Millis>,
    /// A turn of ours has ended: the next look also reads how full the context is.
    measure: bool,
    /// When the next look is due.
    pub at: Option<Instant>,
}

/// What a look found.
pub(super) enum Look {
    /// The checks' answers; `None` = the session is not current, and nobody here looks at it.
    Checks(Option<Vec<Checked>>),
    /// The whole history.
    History(String),
}

impl Beside {
    pub(super) fn new(read_once: bool) -> Self {
        Self { read_once, ..Self::default() }
    }

    /// What comes next is news, even where it says the same as before.
    pub(super) fn forget(&mut self) {
        self.last.clear();
    }

    /// The same of the checks alone: while a stream of ours was open, they were not listened to.
    fn forget_checks(&mut self) {
        self.last.retain(|name, _| name == HISTORY);
    }

    /// The history must be read once nothing runs.
    pub(super) fn owe_history(&mut self) {
        self.owed = true;
    }

    /// The same, for a turn of ours whose end is not known.
    pub(super) fn owe_for_turn(&mut self) {
        self.readings = 0;
        self.owed = true;
        self.for_turn = true;
    }

    /// Whether a first history is on its way.
    pub(super) fn is_loading(&self) -> bool {
        !self.read_once && (self.owed || self.reading.is_some()) && self.looking.is_some()
    }

    /// Whether a look goes on, or the history is still owed.
    pub(super) fn is_unsettled(&self) -> bool {
        self.looking.is_some() || self.owed
    }

    /// Whether a look goes on.
    pub(super) fn is_looking(&self) -> bool {
        self.looking.is_some()
    }

    /// Gives a look up: its link says nothing any more.
    pub(super) fn abandon(&mut self) {
        self.looking = None;
        self.not_read();
    }

    /// What was being read is not had: it is owed as before.
    fn not_read(&mut self) {
        if let Some(for_turn) = self.reading.take() {
            self.owed = true;
            self.for_turn |= for_turn;
        }
    }

    /// Our own turn has ended with its last word.
    pub(super) fn turn_over(&mut self, now: Millis) {
        self.forget_checks();
        self.own_turn_over = Some(now);
        self.measure = true;
    }

    /// Whether the history was ever read: before that, nobody can tell a message that is there from one that is not.
    pub(super) fn has_read(&self) -> bool {
        self.read_once
    }

    fn next_reading(&mut self) -> Duration {
        let pause = FIRST_PAUSE.saturating_mul(2u32.saturating_pow(self.readings)).min(LONGEST_PAUSE);
        self.readings = self.readings.saturating_add(1);
        pause
    }

    fn next_pause(&mut self) -> Duration {
        let pause = FIRST_PAUSE.saturating_mul(2u32.saturating_pow(self.failures)).min(LONGEST_PAUSE);
        self.failures = self.failures.saturating_add(1);
        pause
    }
}

/// Whether the server answered, and could not say this alone. Some fail where a run goes on (runs-server §3).
fn is_no(failed: &AskError) -> bool {
    let of_all = matches!(
        failed.error.code,
        ErrorCode::Unauthorized | ErrorCode::Forbidden | ErrorCode::GoneAtServer | ErrorCode::ServerPaused
    );
    failed.layer.is_none() && !of_all
}

impl SessionTask {
    /// Whether this session's server tells of a turn only in the answer to what began it.
    pub(super) fn has_turn_streams(&self) -> bool {
        self.link.as_ref().is_some_and(|link| link.protocol.whole_history(&self.record.remote_id).is_some())
    }

    /// Whether nothing but the history tells of a turn that nobody listens to.
    pub(super) fn history_tells(&self) -> bool {
        self.link.as_ref().is_some_and(|link| link.protocol.history_tells_the_end())
    }

    /// Whether the history is to be read until it says what became of a turn, or of something lost on its way.
    fn reads_on(&self) -> bool {
        self.history_tells()
            && self.fold.reducer.closed.is_none()
            && (is_busy(&self.fold.reducer.state) && !self.waits_here()
                || self.has_lost_answers()
                || !self.uncertain.is_empty())
    }

    /// Looks at the session beside its stream, or once more after the look that goes on.
    pub(super) fn look(&mut self) {
        let Some(link) = self.link.clone().filter(|_| self.has_turn_streams()) else { return };
        if self.beside.looking.is_some() {
            self.beside.again = true;
            return;
        }
        // Asked from here on, it sees what any wish before it was about.
        self.beside.again = false;
        let generation = self.begin_look();
        let ours = !self.watchers.is_empty()
            || self.stream.is_open()
            || self.beside.owed
            || !self.in_flight.is_empty()
            || !self.outbox.is_empty();
        let going = if ours { Going::There } else { Going::OnlyIfThere };
        let (news, remote) = (self.news.clone(), self.record.remote_id.clone());
        let measure = std::mem::take(&mut self.beside.measure).then(|| link.protocol.measure(&remote)).flatten();
        tokio::spawn(async move {
            let looked = async {
                let Some(floor) = link.stand(&remote, going).await? else { return Ok(Look::Checks(None)) };
                let mut checks = Vec::new();
                let mut failed = None;
                for ask in link.protocol.checks(&remote) {
                    match link.once(&ask).await {
                        Ok(checked) => checks.push(checked),
                        // What one of them cannot say now is no reason to drop what the others say.
                        Err(refused) if is_no(&refused) => failed = Some(refused),
                        Err(other) => {
                            checks.clear();
                            failed = Some(other);
                            break;
                        }
                    }
                }
                if let Some(ask) = measure.filter(|_| failed.is_none()) {
                    // A meter that cannot be read is no reason to drop anything else.
                    checks.extend(link.once(&ask).await.ok());
                }
                floor.leave().await;
                match failed {
                    Some(failed) if checks.is_empty() => Err(failed),
                    _ => Ok(Look::Checks(Some(checks))),
                }
            };
            let looked = looked.await;
            // The session's task may have ended; the next one looks for itself.
            let _ = news.send(News::Looked { generation, looked }).await;
        });
    }

    fn begin_look(&mut self) -> u64 {
        self.beside.at = None;
        let generation = self.history.begin_beside();
        self.beside.looking = Some(generation);
        self.beside.bounds = self.stream.turn_bounds;
        generation
    }

    fn read_whole_history(&mut self) {
        let Some(link) = self.link.clone() else { return };
        let Some(ask) = link.protocol.whole_history(&self.record.remote_id) else { return };
        let generation = self.begin_look();
        self.beside.owed = false;
        self.beside.reading = Some(std::mem::take(&mut self.beside.for_turn));
        self.fold.reducer.touch_header();
        let (news, remote) = (self.news.clone(), self.record.remote_id.clone());
        tokio::spawn(async move {
            let looked = link.once_at(&remote, &ask).await.map(Look::History);
            // The session's task may have ended; the next one looks for itself.
            let _ = news.send(News::Looked { generation, looked }).await;
        });
    }

    /// Takes what a look found.
    pub(super) async fn looked(&mut self, generation: u64, looked: Result<Look, AskError>) -> Result<(), StoreError> {
        if self.beside.looking != Some(generation) {
            return Ok(());
        }
        self.beside.looking = None;
        if looked.is_ok() {
            self.beside.failures = 0;
            self.reached();
        }
        match looked {
            // A turn of ours began or ended meanwhile: this may be of the time before.
            Ok(_) if self.beside.bounds != self.stream.turn_bounds => self.beside.again = true,
            Ok(Look::Checks(None)) => {}
            Ok(Look::Checks(Some(checks))) => {
                for Checked { name, body } in checks {
                    self.take_beside(name, body, Origin::Answer).await?;
                }
                self.after_checks(generation).await?;
            }
            // A turn began meanwhile: what was read is older than what its stream brings.
            Ok(Look::History(_)) if self.stream.is_open() => {}
            Ok(Look::History(body)) => {
                self.take_beside(HISTORY, body, Origin::History).await?;
                self.history_is_in(generation).await?;
            }
            Err(failed) => self.look_failed(&failed, generation).await?,
        }
        if self.beside.looking.is_none() {
            self.beside.not_read();
        }
        if std::mem::take(&mut self.beside.again) {
            self.look();
        }
        self.fold.reducer.touch_header();
        Ok(())
    }

    /// One answer becomes one frame, where it says something new.
    async fn take_beside(&mut self, name: &str, body: String, origin: Origin) -> Result<(), StoreError> {
        if self.beside.last.get(name) == Some(&body) {
            return Ok(());
        }
        self.beside.last.insert(name.to_owned(), body.clone());
        let frame = Frame { name: Some(name.to_owned()), data: body, ..Frame::default() };
        let now = self.now();
        self.take_frames(vec![frame], origin, now).await.map(|_| ())
    }

    async fn after_checks(&mut self, generation: u64) -> Result<(), StoreError> {
        if self.stream.is_open() {
            return self.resolve_checks(generation).await;
        }
        if self.reads_on() {
            self.resolve_checks(generation).await?;
            self.read_whole_history();
            return Ok(());
        }
        if is_busy(&self.fold.reducer.state) && !self.waits_here() {
            // Another client's run: its end is seen here, and then what it did is read.
            self.beside.owed = true;
            self.beside.at = Some(Instant::now() + FOLLOW_EVERY);
            self.resolve_checks(generation).await?;
            // What is queued can steer it.
            return self.flush_outbox().await;
        }
        self.settle_stop_if_idle().await?;
        if self.beside.owed {
            self.read_whole_history();
            return Ok(());
        }
        self.resolve_checks(generation).await?;
        self.flush_outbox().await
    }

    async fn history_is_in(&mut self, generation: u64) -> Result<(), StoreError> {
        self.beside.reading = None;
        self.beside.read_once = true;
        self.record.synced_updated_at = self.record.updated_at.or(Some(0));
        self.history.beside_done();
        self.resolve_checks(generation).await?;
        let given_up = !self.history_tells() || self.beside.readings >= LOOKS_FOR_LOST;
        self.judge_answers(given_up).await?;
        if given_up || !self.reads_on() {
            self.judge_lost(generation).await?;
        }
        if self.reads_on() {
            self.beside.owed = true;
            self.beside.for_turn = true;
            self.beside.at = Some(Instant::now() + self.beside.next_reading());
        }
        self.flush_outbox().await
    }

    /// The server answers again: what a failed look said of the link is over.
    pub(super) fn reached(&mut self) {
        if !self.stream.is_open() && self.stream.state != ConnectionState::Ended {
            self.stream.state = ConnectionState::Closed;
        }
    }

    /// How the link stands, where no stream tells of it.
    fn not_reached(&mut self, state: ConnectionState) {
        if !self.stream.is_open() {
            self.stream.state = state;
        }
    }

    async fn look_failed(&mut self, failed: &AskError, generation: u64) -> Result<(), StoreError> {
        let error = &failed.error;
        tracing::info!(session_id = self.id.0, code = ?error.code, "the session could not be looked at");
        match error.code {
            ErrorCode::GoneAtServer => {
                self.gone().await?;
                self.resolve_checks(u64::MAX).await?;
            }
            // Another token, or the person's word, looks again.
            ErrorCode::Unauthorized => self.not_reached(ConnectionState::Unauthorized),
            ErrorCode::Forbidden => self.not_reached(ConnectionState::Forbidden { message: error.message.clone() }),
            ErrorCode::TooLarge | ErrorCode::WrongProtocol => {
                // Asked again it would say the same. What can be known is known, and nothing waits for more of it.
                self.say_refused(error);
                self.beside.owed = false;
                self.beside.for_turn = false;
                self.history_is_in(generation).await?;
            }
            _ => {
                let attempt = self.beside.failures + 1;
                let pause = self.beside.next_pause();
                self.beside.at = Some(Instant::now() + pause);
                let retry_at = self.now() + i64::try_from(pause.as_millis()).unwrap_or(0);
                let cause = ConnectionCause::Unreachable { layer: failed.layer.unwrap_or(ProbeLayer::Answer) };
                let detail = error.message.clone();
                self.not_reached(ConnectionState::Waiting { attempt, retry_at, cause, detail });
            }
        }
        Ok(())
    }

    /// Messages whose arrival was not known: those that the history did not bring wait for the person's word.
    async fn judge_lost(&mut self, generation: u64) -> Result<(), StoreError> {
        let lost: Vec<OutboxMessage> = self
            .outbox
            .iter()
            .filter(|message| message.state == OutboxState::Sending)
            .filter(|message| self.uncertain.get(&message.id).is_some_and(|since| *since <= generation))
            .cloned()
            .collect();
        for message in lost {
            self.hold_back(&message.id).await?;
            self.say_refused(&AppError::new(
                ErrorCode::Unreachable,
                "The connection broke while a message was on its way, and the server's history does not hold it. It was not sent again.",
            ));
        }
        Ok(())
    }
}
