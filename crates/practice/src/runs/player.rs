//! One run: plays the steps of a prompt, writes its frames, keeps the history, and ends in one of the ways of §8.

mod end;
mod pace;

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
    time::Duration,
};

use serde::Serialize;
use tokio::sync::mpsc;

use self::end::End;
use super::{
    RunsManner,
    desk::{Desk, Ends, Run, Runs},
    event::{Event, frame, pieces},
    free,
    http::schema::RunOptions,
    shape::{Failure, Message, Tool, Usage},
    stream::Item,
};
use crate::{
    scenario::{Retry, Step},
    world::World,
};

/// What a run begins with.
pub(super) struct Begin {
    /// The session it belongs to.
    pub(super) session: String,
    /// What it plays.
    pub(super) steps: VecDeque<Step>,
    /// The person's text; scripts may repeat it.
    pub(super) message: String,
    /// What the last tool gave back, where the run goes on behind it.
    pub(super) output: String,
    /// How it answers requests.
    pub(super) options: RunOptions,
    /// Nothing of it joins the conversation (a side question).
    pub(super) aside: bool,
}

/// Why the steps did not come to their end.
pub(super) enum Broken {
    /// The provider or the run failed.
    Failed(Failure),
    /// It was stopped while something waited, and what waited is settled now.
    Stopped,
}

/// A run.
pub(super) struct Player {
    pub(super) world: Arc<World>,
    pub(super) session: String,
    pub(super) number: u64,
    pub(super) manner: RunsManner,
    pub(super) options: RunOptions,
    pub(super) tools: Vec<Tool>,
    pub(super) questions: Vec<String>,
    pub(super) steps: VecDeque<Step>,
    /// What stands for `{answer}` and `{output}` in what is said next.
    pub(super) words: BTreeMap<&'static str, String>,
    out: mpsc::UnboundedSender<Item>,
    ends: Ends,
    aside: bool,
    before: Usage,
    /// The text of the open model request; `None` = none is open.
    open: Option<String>,
    said: String,
    stop: Option<(String, Option<String>)>,
    steered: bool,
}

/// Begins a run and gives the way its frames come and what ends it. `None` = one goes on in this session already.
pub(super) fn begin(world: &Arc<World>, begin: Begin) -> Option<(mpsc::UnboundedReceiver<Item>, Ends)> {
    let (out, frames) = mpsc::unbounded_channel();
    let ends = Ends::default();
    let (number, manner, before) = world.runs.change(|desk| {
        let number = desk.runs + 1;
        let manner = desk.manner.clone();
        let session = desk.session_mut(&begin.session).filter(|session| session.run.is_none())?;
        let (ends, sender) = (ends.clone(), out.clone());
        session.run = Some(Run {
            number,
            stopping: false,
            ends,
            pending: None,
            steers: VecDeque::new(),
            rest: begin.steps.clone(),
            out: sender,
        });
        session.left = if begin.aside { session.left.take() } else { None };
        let before = session.usage;
        desk.runs = number;
        Some((number, manner, before))
    })?;
    let player = Player {
        world: Arc::clone(world),
        session: begin.session,
        number,
        manner,
        options: begin.options,
        tools: Vec::new(),
        questions: Vec::new(),
        steps: begin.steps,
        words: BTreeMap::from([("{message}", begin.message), ("{output}", begin.output)]),
        out,
        ends: ends.clone(),
        aside: begin.aside,
        before,
        open: None,
        said: String::new(),
        stop: None,
        steered: false,
    };
    world.players.spawn(player.run());
    Some((frames, ends))
}

impl Player {
    async fn run(mut self) {
        let (ends, stop, timeout) = (self.ends.clone(), self.world.stop.clone(), self.options.timeout);
        let end = tokio::select! {
            biased;
            () = ends.killed.cancelled() => End::Killed,
            () = stop.cancelled() => End::Closed,
            () = ends.gone.cancelled() => End::Gone,
            () = ends.cancel.cancelled() => End::Cancelled,
            () = deadline(timeout) => End::Failed(Failure {
                error: "timeout".into(),
                message: format!("The run did not finish within {}s", timeout.unwrap_or_default().as_secs_f64()),
            }),
            played = self.play() => match played {
                Ok(()) => End::Played,
                Err(Broken::Failed(failure)) => End::Failed(failure),
                Err(Broken::Stopped) => End::Cancelled,
            },
        };
        self.finish(end);
    }

    async fn play(&mut self) -> Result<(), Broken> {
        loop {
            while let Some(step) = self.steps.pop_front() {
                let rest = std::iter::once(step.clone()).chain(self.steps.iter().cloned()).collect();
                self.with_run(|run| run.rest = rest);
                self.perform(step).await?;
            }
            self.with_run(|run| run.rest.clear());
            self.close_request(Vec::new());
            if std::mem::take(&mut self.steered) && self.manner.is_newer() {
                self.emit(&Event::SteeringFinished);
            }
            if !self.steer() {
                return Ok(());
            }
        }
    }

    async fn perform(&mut self, step: Step) -> Result<(), Broken> {
        match step {
            Step::Say { text, delta_ms } => self.say(&text, delta_ms).await,
            Step::Think { text, ms } => self.think(&text, ms).await,
            Step::Tool(call) => self.calls(vec![call], Vec::new(), false).await?,
            Step::Ask(call) | Step::CustomTool(call) => self.calls(vec![call], Vec::new(), true).await?,
            Step::Batch { calls, finish } => self.calls(calls, finish, true).await?,
            Step::ServerTool(call) => self.server_tool(&call).await,
            Step::Question(question) => self.question(question).await?,
            Step::Error { kind, message, retry: Retry::Retrying } => {
                self.emit(&Event::Notice { text: format!("{message} ({kind})"), level: Some("warn".into()) });
            }
            Step::Error { kind, message, .. } => {
                // The managed scenarios' word for "no kind is known".
                let error = if kind == "unknown_error" { "run".to_owned() } else { kind };
                return Err(Broken::Failed(Failure { error, message }));
            }
            Step::Notice { text, level } => self.emit(&Event::Notice { text, level }),
            Step::Compact { summary, applied } => self.compact(&summary, applied).await,
            Step::Stop { reason, message } => {
                self.stop = Some((reason, message));
                self.steps.clear();
            }
            Step::Terminate { reason } => {
                return Err(Broken::Failed(Failure { error: "run".into(), message: reason }));
            }
            Step::End { reason } => {
                self.stop = (reason != "end_turn").then_some((reason, None));
                self.steps.clear();
            }
            Step::Frame { name: Some(name), payload } => self.send(&name, &payload),
            Step::Frame { name: None, payload } => self.put(format!("data: {payload}\n\n").into()),
            Step::Raw { text } => self.put(text.into()),
            Step::Event { event } => self.send("event", &event),
            Step::Pause { ms } | Step::Rescheduled { ms } => self.pause(ms).await,
            Step::Gate { name } => self.gate(&name).await,
            Step::Artifact { name, content_type, text } => {
                let call = super::calls::written(&name, &content_type, &text);
                self.calls(vec![call], Vec::new(), false).await?;
            }
            Step::Thread { steps, report, .. } => {
                self.steps.push_front(free::say(report));
                for step in steps.into_iter().rev() {
                    self.steps.push_front(step);
                }
            }
            Step::Outcome { verdicts, .. } | Step::Judge { verdicts, .. } => {
                let said = verdicts.into_iter().map(|verdict| free::say(verdict.say));
                for step in said.rev() {
                    self.steps.push_front(step);
                }
            }
            // Both begin another prompt; the script was cut there.
            Step::User { .. } | Step::WaitForMessage | Step::ThreadClose { .. } => {}
        }
        Ok(())
    }

    async fn say(&mut self, text: &str, delta_ms: u64) {
        let mut text = text.to_owned();
        for (name, value) in &self.words {
            text = text.replace(name, value);
        }
        self.open.get_or_insert_default();
        for piece in pieces(&text) {
            self.pause(delta_ms).await;
            self.open.get_or_insert_default().push_str(&piece);
            self.emit(&Event::TextDelta { text: piece });
        }
    }

    async fn think(&mut self, text: &str, ms: u64) {
        self.open.get_or_insert_default();
        let pieces = pieces(text);
        let each = ms / (pieces.len() as u64).max(1);
        if self.manner.is_newer() {
            self.emit(&Event::ReasoningStarted);
        }
        for text in pieces {
            self.pause(each).await;
            self.emit(&Event::ReasoningDelta { text });
        }
        if self.manner.is_newer() {
            self.emit(&Event::ReasoningFinished);
        }
    }

    async fn compact(&mut self, summary: &str, applied: bool) {
        self.close_request(Vec::new());
        self.emit(&Event::CompactionStarted);
        for text in pieces(summary) {
            self.pause(40).await;
            if self.manner.is_newer() {
                self.emit(&Event::CompactionDelta { text });
            }
        }
        if applied {
            self.store(|desk, session| {
                if let Some(session) = desk.session_mut(session) {
                    session.seen_from = session.messages.len();
                    session.push(Message::of("summary", summary));
                }
            });
        }
        let summary = if applied { summary.to_owned() } else { String::new() };
        self.emit(&Event::CompactionFinished { applied, summary });
    }

    /// A model request ends: what it cost is told, and it joins the history with its calls.
    pub(super) fn close_request(&mut self, tool_calls: Vec<Tool>) {
        let text = match self.open.take() {
            Some(text) => text,
            None if tool_calls.is_empty() => return,
            None => String::new(),
        };
        let (session, aside) = (self.session.clone(), self.aside);
        let usage = self.world.runs.change(|desk| {
            let session = desk.session_mut(&session)?;
            let step = Usage {
                input_tokens: 100 + session.usage.requests,
                output_tokens: 12,
                seconds: 0.020,
                requests: 1,
                ..Usage::default()
            };
            session.usage.add(&step);
            if !aside {
                let usage = Some(step);
                let message = Message { tool_calls, usage, seconds: step.seconds, ..Message::of("assistant", &text) };
                session.push(message);
            }
            Some(session.usage)
        });
        self.said = text;
        if let Some(usage) = usage {
            self.emit(&Event::UsageUpdated { usage });
        }
    }

    /// Takes the next steer message in, if one waits: the agent leaves its script for it.
    pub(super) fn steer(&mut self) -> bool {
        let supersede = self.manner.supersede_steers;
        let (older, newest) = self.with_run(|run| {
            let keep = if supersede { run.steers.len().saturating_sub(1) } else { 0 };
            (run.steers.drain(..keep).collect::<Vec<_>>(), run.steers.pop_front())
        });
        for text in older {
            self.emit(&Event::SteeringInterrupted { text });
        }
        let Some(text) = newest else { return false };
        self.emit(&Event::Steered { text: text.clone() });
        self.store(|desk, session| {
            if let Some(session) = desk.session_mut(session) {
                session.push(Message::of("user", &text));
            }
        });
        self.steered = true;
        self.steps = free::steps(&text);
        true
    }

    /// Changes what is stored, unless nothing of this run is.
    pub(super) fn store(&self, change: impl FnOnce(&mut Desk, &str)) {
        if !self.aside {
            self.world.runs.change(|desk| change(desk, &self.session));
        }
    }

    /// Changes the run as others see it.
    pub(super) fn with_run<T: Default>(&self, change: impl FnOnce(&mut Run) -> T) -> T {
        self.world.runs.change(|desk| desk.run_of(&self.session, self.number).map(change)).unwrap_or_default()
    }

    pub(super) fn runs(&self) -> &Runs {
        &self.world.runs
    }

    pub(super) fn emit(&self, event: &Event) {
        self.send("event", event);
    }

    fn send(&self, name: &str, payload: &impl Serialize) {
        self.put(frame(name, payload));
    }

    fn put(&self, bytes: bytes::Bytes) {
        self.put_item(Item::Frame(bytes));
    }

    fn put_item(&self, item: Item) {
        // Nobody reads any more once the connection is closed; the run learns that by itself.
        let _ = self.out.send(item);
    }
}

/// Comes back when the run's time is over.
async fn deadline(timeout: Option<Duration>) {
    match timeout {
        Some(timeout) => tokio::time::sleep(timeout).await,
        None => std::future::pending().await,
    }
}
