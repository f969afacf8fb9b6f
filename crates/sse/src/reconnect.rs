//! When to open a stream again: a pure machine. Time and chance are passed in, nothing here waits or sends.
//!
//! [`Reconnect::step`] takes what happened and says what to do next, which state the link is in and which lines go
//! into the connection log. It promises:
//! * the n-th failure in a row waits between b/2 and b, where b is 0.5 s (or the server's `retry`, if longer)
//!   doubled n-1 times, at most 30 s; never less than the server's `retry` or `Retry-After` asks for;
//! * failures are forgotten only after a connection that lived for 60 s;
//! * only a stream that can be re-attached is ever cut or opened a second time. Closing any other stops or loses
//!   the work, so silence, wake and Retry now leave it alone, and its end is the end (design: "Reconnect").

mod backoff;
mod retry_after;

use std::time::Duration;

use contract::{
    Millis,
    connection::{ConnectionCause, ConnectionLogKind, ConnectionState},
    probe::ProbeLayer,
};

pub use self::{
    backoff::{FIRST_DELAY, LONGEST_DELAY, LONGEST_RETRY, LONGEST_RETRY_AFTER, STABLE_AFTER},
    retry_after::RetryAfter,
};

use self::backoff::Backoff;

/// A connection that lived this long and is closed cleanly while nothing runs is opened again without a word.
pub const QUIET_AFTER: Duration = Duration::from_secs(5);

/// One moment on both clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// Monotonic time since some fixed start. All waiting is measured on it.
    pub mono: Duration,
    /// Wall time, for what is shown and logged.
    pub wall: Millis,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// The stream is wanted.
    Start,
    /// The server accepted: an event stream follows.
    Opened,
    /// Bytes came.
    Bytes,
    /// The server ended the stream cleanly.
    Closed,
    /// The connection broke.
    Broken {
        /// How, in words.
        detail: String,
    },
    /// The server answered with a status that is no success, or with 204.
    Refused {
        /// The HTTP status.
        status: u16,
        /// Its `Retry-After`.
        retry_after: Option<RetryAfter>,
        /// Its words.
        message: String,
    },
    /// The server's answer was no event stream.
    NotAStream {
        /// What it was instead.
        detail: String,
    },
    /// No connection could be made, or no answer came.
    Unreachable {
        /// The layer that failed.
        layer: ProbeLayer,
        /// How, in words.
        detail: String,
    },
    /// No byte came for longer than the limit.
    Silent,
    /// The computer slept.
    Wake,
    /// The planned wait is over.
    Due,
    /// The person pressed Retry now.
    RetryNow,
    /// There is a new token.
    NewToken,
    /// The server is paused or off.
    Pause,
    /// The server is wanted again.
    Resume,
    /// A terminal event: the stream has ended for good.
    Terminal,
    /// Nobody needs the stream any more.
    CloseHere,
    /// The server named its reconnection time.
    Retry(Duration),
    /// Whether a turn runs.
    Running(bool),
}

/// What to do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Drop what is open, if anything, and open the stream.
    Open,
    /// Go on with what is being done.
    Keep,
    /// Drop what is open, if anything, and report [`Input::Due`] at this monotonic time.
    WaitUntil(Duration),
    /// Drop what is open, if anything, and wait for an input from outside.
    Hold,
    /// Drop what is open, if anything, and end.
    Stop(Stop),
}

/// Why the machine has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// A terminal event, or 204: there is nothing more to come.
    Ended,
    /// Closed by us.
    ClosedHere,
    /// A stream that cannot be re-attached is over; what followed is found elsewhere.
    NotReattachable(ConnectionCause),
}

/// The answer to one input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// What to do.
    pub order: Order,
    /// The state of the link, where it changed.
    pub state: Option<ConnectionState>,
    /// Lines for the connection log, in order, each with its words for people who look closely.
    pub log: Vec<(ConnectionLogKind, Option<String>)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    New,
    Connecting,
    Live {
        since: Duration,
    },
    Waiting,
    /// Waits for the person or the server's owner: 401, 403, 404.
    Held,
    Paused,
    Over,
}

/// The machine of one stream.
#[derive(Debug)]
pub struct Reconnect {
    reattach: bool,
    running: bool,
    phase: Phase,
    backoff: Backoff,
}

impl Reconnect {
    /// A machine that waits for [`Input::Start`]. `reattach` says whether the stream can be left and taken up again.
    pub fn new(reattach: bool) -> Self {
        Self { reattach, running: false, phase: Phase::New, backoff: Backoff::default() }
    }

    /// Takes what happened at `now`. `chance` is a random number from 0 up to 1 and places a wait within its bounds.
    pub fn step(&mut self, now: Moment, input: Input, chance: f64) -> Step {
        match (self.phase, input) {
            (Phase::Over, _) => keep(),
            (_, Input::Retry(after)) => {
                self.backoff.server_retry(after);
                keep()
            }
            (_, Input::Running(running)) => {
                self.running = running;
                keep()
            }
            (_, Input::Terminal) => self.stop(Stop::Ended),
            (_, Input::CloseHere) => self.stop(Stop::ClosedHere),
            (Phase::New, Input::Start) | (Phase::Paused, Input::Resume) => self.connect(),
            (Phase::New | Phase::Connecting | Phase::Live { .. }, Input::Pause) if self.has_lost_work() => keep(),
            (Phase::New | Phase::Connecting | Phase::Live { .. } | Phase::Waiting | Phase::Held, Input::Pause) => {
                self.phase = Phase::Paused;
                hold(ConnectionState::Paused, ConnectionLogKind::ClosedHere, None)
            }
            (Phase::Connecting, Input::Opened) => {
                self.phase = Phase::Live { since: now.mono };
                Step {
                    order: Order::Keep,
                    state: Some(ConnectionState::Live { since: now.wall }),
                    log: vec![(ConnectionLogKind::Connected, None)],
                }
            }
            (Phase::Connecting | Phase::Live { .. }, Input::Closed) => self.closed(now, chance),
            (Phase::Connecting | Phase::Live { .. }, Input::Broken { detail }) => {
                self.lost(now, ConnectionCause::Broken, detail, None, chance)
            }
            (Phase::Connecting, Input::Refused { status, retry_after, message }) => {
                self.refused(now, status, retry_after, message, chance)
            }
            (Phase::Connecting, Input::NotAStream { detail }) => {
                self.lost(now, ConnectionCause::NotAStream, detail, None, chance)
            }
            (Phase::Connecting, Input::Unreachable { layer, detail }) => {
                self.lost(now, ConnectionCause::Unreachable { layer }, detail, None, chance)
            }
            (Phase::Live { .. }, Input::Silent) if self.reattach => self.cut(now, ConnectionCause::Silent),
            (Phase::Live { .. } | Phase::Connecting, Input::Wake) if self.reattach => {
                self.cut(now, ConnectionCause::Wake)
            }
            (Phase::Live { .. } | Phase::Connecting, Input::RetryNow) if self.reattach => {
                self.cut(now, ConnectionCause::RetryNow)
            }
            (Phase::Waiting, Input::Due | Input::Wake | Input::RetryNow | Input::NewToken)
            | (Phase::Held, Input::RetryNow | Input::NewToken) => self.connect(),
            _ => keep(),
        }
    }

    /// Leaving a stream that cannot be taken up again loses its work, even while it is being opened: the request
    /// may have arrived.
    fn has_lost_work(&self) -> bool {
        !self.reattach && self.phase != Phase::New
    }

    fn connect(&mut self) -> Step {
        self.phase = Phase::Connecting;
        let attempt = self.backoff.failures();
        Step {
            order: Order::Open,
            state: Some(ConnectionState::Connecting { attempt }),
            log: vec![(ConnectionLogKind::Connecting { attempt }, None)],
        }
    }

    /// We leave a live stream in order to open it anew at once.
    fn cut(&mut self, now: Moment, cause: ConnectionCause) -> Step {
        self.backoff.lived(self.life(now));
        let mut step = self.connect();
        step.log.insert(0, (ConnectionLogKind::Dropped { cause }, None));
        step
    }

    fn closed(&mut self, now: Moment, chance: f64) -> Step {
        let quiet = self.reattach && !self.running && self.life(now) >= QUIET_AFTER;
        if !quiet {
            return self.lost(now, ConnectionCause::Closed, String::new(), None, chance);
        }
        // A server may end the stream of an idle session whenever it likes: no failure, no alarm.
        self.backoff.lived(self.life(now));
        self.phase = Phase::Waiting;
        let delay = self.backoff.quiet_delay(chance);
        Step {
            order: Order::WaitUntil(now.mono + delay),
            state: Some(ConnectionState::Connecting { attempt: self.backoff.failures() }),
            log: vec![
                (ConnectionLogKind::Dropped { cause: ConnectionCause::Closed }, None),
                (ConnectionLogKind::WaitingUntil { retry_at: wall_after(now, delay) }, None),
            ],
        }
    }

    fn refused(&mut self, now: Moment, status: u16, after: Option<RetryAfter>, message: String, chance: f64) -> Step {
        let cause = ConnectionCause::Status { status };
        let state = match status {
            204 => return self.stop(Stop::Ended),
            401 => ConnectionState::Unauthorized,
            403 => ConnectionState::Forbidden { message: message.clone() },
            404 | 410 => ConnectionState::Gone,
            _ => return self.lost(now, cause, message, after, chance),
        };
        let mut step = hold(state, ConnectionLogKind::Dropped { cause }, words(message));
        if self.reattach {
            self.phase = Phase::Held;
        } else {
            // A second try would send the person's message a second time.
            self.phase = Phase::Over;
            step.order = Order::Stop(Stop::NotReattachable(cause));
        }
        step
    }

    fn lost(
        &mut self,
        now: Moment,
        cause: ConnectionCause,
        detail: String,
        after: Option<RetryAfter>,
        chance: f64,
    ) -> Step {
        let dropped = (ConnectionLogKind::Dropped { cause }, words(detail.clone()));
        if !self.reattach {
            self.phase = Phase::Over;
            return Step {
                order: Order::Stop(Stop::NotReattachable(cause)),
                state: Some(ConnectionState::Closed),
                log: vec![dropped],
            };
        }
        self.backoff.lived(self.life(now));
        let delay = self.backoff.next_delay(chance, after.map(|after| after.delay(now.wall)));
        self.phase = Phase::Waiting;
        let retry_at = wall_after(now, delay);
        Step {
            order: Order::WaitUntil(now.mono + delay),
            state: Some(ConnectionState::Waiting { attempt: self.backoff.failures(), retry_at, cause, detail }),
            log: vec![dropped, (ConnectionLogKind::WaitingUntil { retry_at }, None)],
        }
    }

    fn stop(&mut self, stop: Stop) -> Step {
        self.phase = Phase::Over;
        let (state, line) = match stop {
            Stop::Ended => (ConnectionState::Ended, ConnectionLogKind::Ended),
            Stop::ClosedHere | Stop::NotReattachable(_) => (ConnectionState::Closed, ConnectionLogKind::ClosedHere),
        };
        Step { order: Order::Stop(stop), state: Some(state), log: vec![(line, None)] }
    }

    fn life(&self, now: Moment) -> Duration {
        match self.phase {
            Phase::Live { since } => now.mono.saturating_sub(since),
            _ => Duration::ZERO,
        }
    }
}

fn keep() -> Step {
    Step { order: Order::Keep, state: None, log: Vec::new() }
}

fn hold(state: ConnectionState, line: ConnectionLogKind, detail: Option<String>) -> Step {
    Step { order: Order::Hold, state: Some(state), log: vec![(line, detail)] }
}

fn words(text: String) -> Option<String> {
    Some(text).filter(|text| !text.is_empty())
}

fn wall_after(now: Moment, delay: Duration) -> Millis {
    now.wall.saturating_add(Millis::try_from(delay.as_millis()).unwrap_or(Millis::MAX))
}

#[cfg(test)]
mod tests;
