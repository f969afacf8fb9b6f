//! What the session does: its states, its turns' ends, its stops.

use contract::{
    Millis,
    item::{ItemBody, Marker},
    session::{Activity, ClosedReason, SessionState, StopReason, StopState},
};

use super::{Reducer, Stamp};

impl Reducer {
    pub(super) fn is_over(&self) -> bool {
        matches!(self.closed, Some(ClosedReason::Terminated | ClosedReason::Deleted))
    }

    /// The session is over for good: nothing of it runs or waits.
    pub fn end_session(&mut self, closed: ClosedReason, at: Millis) {
        self.closed = Some(closed);
        self.state = SessionState::Ended;
        self.drafts_closed(true);
        self.end_thinking(at);
        self.void_requests();
        self.cancel_open_tools(at);
        if self.turn.turn.as_ref().is_some_and(|turn| turn.ended_at.is_none()) {
            self.turn.end(StopReason::Other { word: "terminated".into() }, at);
        }
        self.changes.header = true;
    }

    pub(super) fn status(&mut self, state: SessionState, at: Millis) {
        match state {
            SessionState::Running | SessionState::Rescheduling => {
                for id in self.requests.goes_on() {
                    self.changes.request(&id);
                }
                self.turn.waits(false, at);
            }
            SessionState::Idle => self.turn.waits(false, at),
            SessionState::Unknown
            | SessionState::Waiting
            | SessionState::Stopping
            | SessionState::Ended
            | SessionState::Other { .. } => {}
        }
        if !self.is_over() {
            self.state = state;
        }
        self.changes.header = true;
    }

    /// How a turn ended that the server calls ended so: by the stop, where that is what ended it.
    pub(super) fn ended_by(&self, stop: StopReason) -> StopReason {
        let stopped = self.stop_ends_turn && matches!(self.stop, StopState::Requested { .. });
        if stopped { StopReason::Stopped } else { stop }
    }

    pub(super) fn turn_ended(&mut self, stop: StopReason, stamp: &Stamp) {
        let stop = self.ended_by(stop);
        self.end_thinking(stamp.at);
        self.void_requests();
        self.cancel_open_tools(stamp.at);
        self.turn.end(stop.clone(), stamp.at);
        if matches!(self.stop, StopState::Requested { .. }) {
            self.stop = StopState::Confirmed { at: stamp.at };
        }
        // What was chosen for this run holds for no other (P-50).
        self.run.options = None;
        self.activity = Some(Activity::Finished { stop: stop.clone() });
        if stop != StopReason::EndTurn {
            let id = format!("end@{}", stamp.position);
            self.put(stamp.clone(), id, ItemBody::Marker(Marker::TurnEnd { stop: stop.clone() }));
        }
        self.effects.turn_ended = Some(stop);
        self.effects.look = true;
        self.changes.header = true;
    }

    /// The server says that nothing runs, though no event said so: what was open can never end by itself.
    pub fn found_idle(&mut self, at: Millis) {
        self.status(SessionState::Idle, at);
        self.drafts_closed(true);
        self.end_thinking(at);
        self.cancel_open_tools(at);
        self.run.options = None;
        self.turn.end(self.ended_by(StopReason::Other { word: "lost".into() }), at);
        if matches!(self.stop, StopState::Requested { .. }) {
            self.stop = StopState::Confirmed { at };
        }
    }

    /// The connection is being made anew: a stop that a drop swallowed shows again as asked for.
    pub fn stop_requested(&mut self, at: Millis, ends_turn: bool) {
        self.stop = StopState::Requested { at };
        self.stop_ends_turn = ends_turn;
        self.changes.header = true;
    }

    /// We listen no longer to what goes on.
    pub fn let_go(&mut self, at: Millis) {
        self.stop = StopState::LetGo { at };
        self.stop_ends_turn = false;
        self.changes.header = true;
    }

    /// What begins a turn is on its way, and the server may begin its answer only when all is over: it runs meanwhile.
    pub fn awaited(&mut self, at: Millis) {
        if self.awaiting.is_none() {
            self.awaiting = Some((self.state.clone(), self.turn.turn.clone()));
        }
        self.turn.start(None, at);
        self.stop = StopState::None;
        self.state = SessionState::Running;
        self.changes.header = true;
    }

    /// The server has begun its answer: what that says holds.
    pub fn awaited_no_more(&mut self) {
        self.awaiting = None;
    }

    /// No turn began: all is as it was.
    pub fn not_begun(&mut self) {
        if let Some((state, turn)) = self.awaiting.take() {
            self.state = state;
            self.turn.turn = turn;
            self.changes.header = true;
        }
    }

    /// The server did not take a stop.
    pub fn stop_refused(&mut self) {
        self.stop = StopState::None;
        self.changes.header = true;
    }

    /// The server took a stop, and no end of a turn will tell of it.
    pub fn stop_confirmed(&mut self, at: Millis, position: i64) {
        if self.stop_ends_turn && !matches!(self.state, SessionState::Idle | SessionState::Ended) {
            // The stream was let go before it told of an end.
            self.status(SessionState::Idle, at);
            self.drafts_closed(true);
            self.turn_ended(StopReason::Stopped, &Stamp { at, turn: None, thread: None, position });
        }
        self.stop = StopState::Confirmed { at };
        self.changes.header = true;
    }
}
