//! One stream kept open: the task that does what the [reconnect machine](crate::reconnect) says.
//!
//! It reports everything as [`Link`] messages over a bounded queue. When the queue is full it stops reading, so the
//! server is slowed down by TCP, and silence is not counted meanwhile. All pieces of one read travel as one
//! [`Link::Batch`], so that they can be committed in one transaction. The cursor it resumes from is the one the
//! receiver has committed and given back through [`CommittedCursor`], never one that was only read.

mod activity;
mod messages;
mod spec;
mod wake;

use std::{fmt, sync::Arc};

use contract::connection::{ConnectionCause, ConnectionLogKind, ConnectionLogRow};
use tokio::{sync::mpsc, time::Instant};
use tokio_util::sync::CancellationToken;

pub use self::{
    messages::{Command, Link},
    spec::{CommittedCursor, ConnectionSpec, Limits, RequestSource, WordsSource, plain_words},
};

use self::{
    activity::{Activity, Happened, Read, Reading},
    wake::SleepDetector,
};
use crate::{
    client::{OpenError, Opener},
    clock::Clock,
    frame::Piece,
    reconnect::{Input, Order, Reconnect, Step, Stop},
};

/// How much is read before a batch is handed on (bytes).
pub const BATCH: usize = 256 * 1024;

/// The task of one stream.
pub struct Connection {
    spec: ConnectionSpec,
    opener: Arc<dyn Opener>,
    clock: Arc<dyn Clock>,
    chance: Box<dyn FnMut() -> f64 + Send>,
    links: mpsc::Sender<Link>,
    commands: Option<mpsc::Receiver<Command>>,
    cancel: CancellationToken,
    machine: Reconnect,
    activity: Activity,
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection").field("spec", &self.spec).field("machine", &self.machine).finish_non_exhaustive()
    }
}

/// The connection is to end: cancelled, or nobody receives any more.
struct Unwanted;

impl Connection {
    /// A connection that reports to `links`, obeys `commands`, and is closed by `cancel`.
    pub fn new(
        spec: ConnectionSpec,
        opener: Arc<dyn Opener>,
        clock: Arc<dyn Clock>,
        links: mpsc::Sender<Link>,
        commands: mpsc::Receiver<Command>,
        cancel: CancellationToken,
    ) -> Self {
        let machine = Reconnect::new(spec.reattach);
        Self {
            spec,
            opener,
            clock,
            chance: Box::new(crate::clock::chance),
            links,
            commands: Some(commands),
            cancel,
            machine,
            activity: Activity::Holding,
        }
    }

    /// Uses these random numbers (from 0 up to 1) instead of its own.
    #[must_use]
    pub fn with_chance(mut self, chance: impl FnMut() -> f64 + Send + 'static) -> Self {
        self.chance = Box::new(chance);
        self
    }

    /// Runs until the stream has ended for good, the token is cancelled, or nobody receives any more.
    pub async fn run(mut self) -> Stop {
        match self.keep_open().await {
            Ok(stop) => stop,
            Err(Unwanted) => {
                let now = self.clock.now();
                let step = self.machine.step(now, Input::CloseHere, 0.0);
                self.say_goodbye(step);
                Stop::ClosedHere
            }
        }
    }

    async fn keep_open(&mut self) -> Result<Stop, Unwanted> {
        let mut sleep = SleepDetector::new(self.clock.now());
        let mut next = self.feed(Input::Start).await?;
        while next.is_none() {
            let happened = tokio::select! {
                biased;
                () = self.cancel.cancelled() => return Err(Unwanted),
                command = from(&mut self.commands) => command.map_or(Happened::NoMoreCommands, Happened::Command),
                happened = self.activity.next(self.spec.limits.silence) => happened,
                () = sleep.tick() => Happened::Tick,
            };
            next = match happened {
                Happened::NoMoreCommands => {
                    self.commands = None;
                    None
                }
                Happened::Command(command) => self.obey(command).await?,
                Happened::Tick if sleep.slept(self.clock.now()) => self.feed(Input::Wake).await?,
                Happened::Tick => None,
                Happened::Due => self.feed(Input::Due).await?,
                Happened::Answer(Ok(body)) => {
                    self.activity = Activity::Reading(Box::new(Reading::new(body, self.spec.limits.event_cap)));
                    self.send(Link::Opened).await?;
                    self.feed(Input::Opened).await?
                }
                Happened::Answer(Err(error)) => self.not_opened(error).await?,
                Happened::Silent(silent_for) => {
                    if !self.spec.reattach {
                        self.send(Link::Quiet { silent_for }).await?;
                    }
                    self.feed(Input::Silent).await?
                }
                Happened::Read(read) => self.read(read).await?,
            };
        }
        next.ok_or(Unwanted)
    }

    async fn obey(&mut self, command: Command) -> Result<Option<Stop>, Unwanted> {
        let input = match command {
            Command::RetryNow => Input::RetryNow,
            Command::Wake => Input::Wake,
            Command::Pause => Input::Pause,
            Command::Resume => Input::Resume,
            Command::NewToken => Input::NewToken,
            Command::Terminal => Input::Terminal,
            Command::Activity { running, silence } => {
                self.spec.limits.silence = silence;
                Input::Running(running)
            }
        };
        self.feed(input).await
    }

    async fn not_opened(&mut self, error: OpenError) -> Result<Option<Stop>, Unwanted> {
        self.activity = Activity::Holding;
        let detail = error.to_string();
        let retry_after = error.retry_after();
        let input = match error {
            OpenError::Refused(response) => {
                let (status, message) = (response.status().as_u16(), (self.spec.words)(&response));
                self.send(Link::Refused(*response)).await?;
                Input::Refused { status, retry_after, message }
            }
            OpenError::NotAStream { .. } => Input::NotAStream { detail },
            OpenError::Send(error) => Input::Unreachable { layer: error.layer(), detail },
        };
        self.feed(input).await
    }

    async fn read(&mut self, read: Read) -> Result<Option<Stop>, Unwanted> {
        let Read { pieces, end } = read;
        self.feed(Input::Bytes).await?;
        for piece in &pieces {
            if let Piece::Retry(after) = piece {
                self.feed(Input::Retry(*after)).await?;
            }
        }
        if !pieces.is_empty() {
            let received_at = self.clock.now().wall;
            self.send(Link::Batch { pieces, received_at }).await?;
            // The wait for the receiver is no silence of the server's.
            if let Activity::Reading(reading) = &mut self.activity {
                reading.alive();
            }
        }
        match end {
            Some(end) => self.feed(end).await,
            None => Ok(None),
        }
    }

    /// Tells the machine, reports what it says, and does it.
    async fn feed(&mut self, input: Input) -> Result<Option<Stop>, Unwanted> {
        let now = self.clock.now();
        let Step { order, state, log } = self.machine.step(now, input, (self.chance)());
        if order != Order::Keep
            && let Activity::Reading(reading) = std::mem::replace(&mut self.activity, Activity::Holding)
        {
            self.send(Link::Closed { cause: cause(&log), dropped_bytes: reading.finish() }).await?;
        }
        for (what, detail) in log {
            let cursor = self.spec.cursor.get().map(|cursor| cursor.0);
            self.send(Link::Log(ConnectionLogRow { at: now.wall, what, cursor, detail })).await?;
        }
        if let Some(state) = state {
            self.send(Link::State(state)).await?;
        }
        self.activity = match order {
            Order::Keep => return Ok(None),
            Order::Open => {
                let request = (self.spec.request)(self.spec.cursor.get());
                Activity::Opening(self.opener.open(request, self.spec.limits.answer))
            }
            Order::WaitUntil(until) => Activity::Waiting(Instant::now() + until.saturating_sub(now.mono)),
            Order::Hold => Activity::Holding,
            Order::Stop(stop) => return Ok(Some(stop)),
        };
        Ok(None)
    }

    async fn send(&mut self, link: Link) -> Result<(), Unwanted> {
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => Err(Unwanted),
            sent = self.links.send(link) => sent.map_err(|_| Unwanted),
        }
    }

    /// The last messages of a cancelled connection, as far as there is room: closing never waits.
    fn say_goodbye(&mut self, step: Step) {
        let at = self.clock.now().wall;
        let cursor = self.spec.cursor.get().map(|cursor| cursor.0);
        let mut links = Vec::new();
        if let Activity::Reading(reading) = std::mem::replace(&mut self.activity, Activity::Holding) {
            links.push(Link::Closed { cause: None, dropped_bytes: reading.finish() });
        }
        links.extend(
            step.log
                .into_iter()
                .map(|(what, detail)| Link::Log(ConnectionLogRow { at, what, cursor: cursor.clone(), detail })),
        );
        links.extend(step.state.map(Link::State));
        for link in links {
            if self.links.try_send(link).is_err() {
                return;
            }
        }
    }
}

async fn from(commands: &mut Option<mpsc::Receiver<Command>>) -> Option<Command> {
    match commands {
        Some(commands) => commands.recv().await,
        None => std::future::pending().await,
    }
}

fn cause(log: &[(ConnectionLogKind, Option<String>)]) -> Option<ConnectionCause> {
    log.iter().find_map(|(what, _)| match what {
        ConnectionLogKind::Dropped { cause } => Some(*cause),
        _ => None,
    })
}

#[cfg(test)]
mod tests;
