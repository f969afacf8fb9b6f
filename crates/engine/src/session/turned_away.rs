//! A message that the server turned away because something runs there. What the session does is read at once: its
//! history first, then the session itself. Nothing is guessed meanwhile, and a server that says "busy" of a session that
//! it calls idle is asked less and less often, and then not until the person says so.

use contract::{error::AppError, session::SessionState};
use store::{OutboxState, StoreError};
use tokio::time::{Duration, Instant};

use super::task::SessionTask;

/// The pause before the second try; each further one doubles it.
const FIRST_PAUSE: Duration = Duration::from_secs(1);

/// Tries of one message before it waits for the person's word.
const TRIES: u32 = 5;

/// How a message was turned away.
#[derive(Debug)]
pub(super) struct TurnedAway {
    message: String,
    error: AppError,
    tries: u32,
    /// The first reading that can know what ran.
    since: u64,
    /// When it may be tried again; `None` while what the server says of the session is being read.
    again_at: Option<Instant>,
}

impl SessionTask {
    /// The server says that something runs: our picture of it is old.
    pub(super) fn turned_away(&mut self, message: String, error: AppError) {
        let before =
            self.turned_away.take().filter(|before| before.message == message).map_or(0, |before| before.tries);
        let since = self.history.next_reading();
        self.turned_away = Some(TurnedAway { message, error, tries: before + 1, since, again_at: None });
        self.read_history();
    }

    /// Whether queued messages wait for what the server says of the session.
    pub(super) fn is_turned_away(&self) -> bool {
        self.turned_away.as_ref().is_some_and(|away| away.again_at.is_none_or(|at| at > Instant::now()))
    }

    /// A history was read whole by this reading. Gives whether the session itself must be asked.
    pub(super) fn turned_away_read(&mut self, reading: u64) -> bool {
        let Some(away) = &self.turned_away else { return false };
        if away.again_at.is_some() || reading < away.since {
            return false;
        }
        if matches!(self.fold.reducer.state, SessionState::Idle | SessionState::Unknown) {
            return true;
        }
        // Something runs or waits, and its end will be told.
        self.turned_away = None;
        false
    }

    /// What the server says of the session itself; `None` where it could not be asked.
    pub(super) async fn turned_away_told(&mut self, state: Option<&SessionState>) -> Result<(), StoreError> {
        let Some(away) = self.turned_away.as_mut().filter(|away| away.again_at.is_none()) else { return Ok(()) };
        let ours = &self.fold.reducer.state;
        if let Some(state @ (SessionState::Running | SessionState::Rescheduling)) = state
            && matches!(ours, SessionState::Idle | SessionState::Unknown)
        {
            // No event of it has come yet: the stream or the next connect brings its end.
            self.fold.reducer.state = state.clone();
            self.fold.reducer.touch_header();
            self.turned_away = None;
            return Ok(());
        }
        if away.tries < TRIES {
            let at = Instant::now() + FIRST_PAUSE * 2u32.pow(away.tries - 1);
            away.again_at = Some(at);
            self.retry_at = Some(self.retry_at.map_or(at, |other| other.min(at)));
            return Ok(());
        }
        let Some(TurnedAway { message, error, .. }) = self.turned_away.take() else { return Ok(()) };
        if let Some(kept) = self.outbox.iter_mut().find(|kept| kept.id == message && kept.state == OutboxState::Queued)
        {
            kept.state = OutboxState::Held;
            self.hub.store.put_outbox(kept.clone()).await?;
            self.say_refused(&error);
            self.fold.reducer.touch_header();
        }
        Ok(())
    }

    /// A message arrived, or the person wants one to go out now.
    pub(super) fn turned_away_no_more(&mut self) {
        self.turned_away = None;
    }
}
