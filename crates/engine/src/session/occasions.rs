//! When a session is looked at beside its stream ([`super::beside`]): a request appears, its time runs out, the server's
//! list says something else than we know, a planned look is due.

use contract::{request::RequestState, session::SessionState};
use protocols::RemoteSession;
use tokio::time::{Duration, Instant};

use super::task::SessionTask;
use crate::server::floor::is_busy;

/// A request whose time has run out without a word is looked at so much later (milliseconds).
const AFTER_DEADLINE_MS: i64 = 2_000;

/// The list calls a session changed that our own turn changed: within this much of its end (milliseconds).
const OWN_CHANGE_MS: i64 = 10_000;

impl SessionTask {
    /// A request that was not there before is looked at once: the stream does not tell all of it.
    pub(super) fn look_at_new_requests(&mut self) {
        if !self.stream.is_open() || self.stream.turn.is_none() {
            return;
        }
        let open = self.fold.reducer.requests.open();
        let new: Vec<String> =
            open.filter(|request| !self.beside.seen.contains(&request.id)).map(|request| request.id.clone()).collect();
        if !new.is_empty() {
            self.beside.seen.extend(new);
            self.look();
        }
    }

    /// The planned look is due. What is owed to nobody any more is owed again when somebody opens the session.
    pub(super) fn look_again(&mut self) {
        self.beside.at = None;
        if self.is_needed() || self.beside.for_turn {
            self.look();
        } else {
            self.beside.owed = false;
            self.reached();
            self.fold.reducer.touch_header();
        }
    }

    /// When a request's time has run out for long enough that somebody should have said so.
    pub(super) fn expiry_due(&self) -> Option<Instant> {
        if !self.has_turn_streams() {
            return None;
        }
        let now = self.hub.now();
        let open = self.fold.reducer.requests.open();
        let due = open
            .filter(|request| request.state == RequestState::Open && !self.beside.expired.contains(&request.id))
            .filter_map(|request| request.deadline)
            .min()?;
        let left = u64::try_from(due + AFTER_DEADLINE_MS - now).unwrap_or(0);
        Some(Instant::now() + Duration::from_millis(left))
    }

    /// Looks where a request's time has run out.
    pub(super) fn look_at_expired(&mut self) {
        let now = self.hub.now();
        let open = self.fold.reducer.requests.open();
        let due: Vec<String> = open
            .filter(|request| request.deadline.is_some_and(|deadline| deadline + AFTER_DEADLINE_MS <= now))
            .filter(|request| !self.beside.expired.contains(&request.id))
            .map(|request| request.id.clone())
            .collect();
        if !due.is_empty() {
            self.beside.expired.extend(due);
            self.look();
        }
    }

    /// The server's list says something of a session whose turns have streams of their own.
    pub(super) fn listed_beside(&mut self, remote: &RemoteSession, stale: bool) {
        if self.stream.is_open() {
            return;
        }
        let watched = !self.watchers.is_empty();
        if remote.state == SessionState::Unknown {
            // The list does not say what runs.
            return;
        }
        let runs = is_busy(&remote.state);
        let ran = is_busy(&self.fold.reducer.state);
        if runs != ran {
            self.beside.owed |= watched;
            if runs {
                self.fold.reducer.state = remote.state.clone();
                self.fold.reducer.touch_header();
            }
            if runs || watched || self.beside.owed {
                self.look();
            } else {
                // Nobody saw what ran there, and nobody looks: the history is read when somebody does.
                self.fold.reducer.state = SessionState::Idle;
                self.fold.reducer.touch_header();
            }
        } else if stale && watched {
            let own = self.beside.own_turn_over.zip(remote.updated_at);
            if own.is_some_and(|(over, changed)| changed <= over + OWN_CHANGE_MS) {
                self.record.synced_updated_at = self.record.updated_at;
            } else {
                self.beside.owed = true;
                self.look();
            }
        }
    }
}
