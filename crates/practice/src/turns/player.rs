//! What the agent does: plays the steps of a message or of answers, tells them in the session's version, and keeps the
//! history. It does not end with its reader (§2.4).

mod calls;
mod tell;
mod work;

use std::{collections::VecDeque, sync::Arc};

use serde_json::{Value, json};
use tokio::sync::oneshot;

use self::tell::{Draft, Voice};
pub(super) use self::{
    tell::Turned,
    work::{Work, begin, enter, go_on, idle, receive, work_off},
};
use super::{
    TurnsManner,
    desk::{HeldCall, Session},
    free, pace,
    shape::{CallOut, Content, Entry, Message},
};
use crate::{
    runs::{pieces, written},
    scenario::{Call, Question, Retry, Step},
    world::World,
};

/// Why the steps did not come to their end.
pub(super) enum Broken {
    /// The model failed.
    Failed { code: String, message: String },
    /// Calls wait for the client.
    Waits,
}

/// What came of a turn.
#[derive(Debug)]
pub(super) enum Outcome {
    Stopped {
        reason: String,
        messages: Vec<Message>,
        pending: Vec<CallOut>,
    },
    /// Nothing that could be told.
    Failed,
}

/// The agent at work.
pub(super) struct Player {
    pub(super) world: Arc<World>,
    pub(super) session: String,
    pub(super) number: u64,
    pub(super) manner: TurnsManner,
    voice: Voice,
    steps: VecDeque<Step>,
    /// The person's text; scripts may repeat it.
    message: String,
    /// What the calls of the last step gave back.
    outputs: Vec<String>,
    draft: Draft,
    /// Not in the history yet.
    staged: Vec<Entry>,
    /// What a `none` turn answers with.
    produced: Vec<Message>,
    stop: Option<String>,
    outcome: Option<oneshot::Sender<Outcome>>,
}

/// The question of a script as the call a client answers.
pub(super) fn asked(question: &Question) -> Call {
    Call {
        name: "ask_user".into(),
        input: json!({"question": question.question, "options": question.options}),
        allow: question.answered.clone(),
        deny: question.declined.clone(),
        ..Call::default()
    }
}

/// The words of the other protocols for why a model stops.
fn stop_reason(reason: &str) -> &str {
    match reason {
        "max_output" | "context_full" => "max_tokens",
        "paused" | "interrupted" | "other" => "end_turn",
        known => known,
    }
}

impl Player {
    async fn play(&mut self) -> Result<(), Broken> {
        while let Some(step) = self.steps.pop_front() {
            self.perform(step).await?;
        }
        self.close_draft();
        Ok(())
    }

    async fn perform(&mut self, step: Step) -> Result<(), Broken> {
        match step {
            Step::Say { text, delta_ms } => self.say(&text, delta_ms).await,
            Step::Think { text, ms } => self.think(&text, ms).await,
            Step::Tool(call) | Step::ServerTool(call) => self.calls(vec![(call, false)], &[]).await?,
            Step::Ask(call) | Step::CustomTool(call) => self.calls(vec![(call, true)], &[]).await?,
            Step::Batch { calls, finish } => {
                let gated = |call: Call| (call.ruled != Some(true), call);
                let calls = calls.into_iter().map(gated).map(|(gated, call)| (call, gated)).collect();
                self.calls(calls, &finish).await?;
            }
            Step::Question(question) => self.calls(vec![(asked(&question), true)], &[]).await?,
            Step::Artifact { name, content_type, text } => {
                self.calls(vec![(written(&name, &content_type, &text), false)], &[]).await?;
            }
            Step::Error { retry: Retry::Retrying, .. } => {}
            Step::Error { kind, message, .. } => return Err(Broken::Failed { code: kind, message }),
            Step::Terminate { reason } => {
                return Err(Broken::Failed { code: "agent_error".into(), message: reason });
            }
            Step::Stop { reason, message } => {
                if reason == "error" {
                    let message = message.unwrap_or_default();
                    return Err(Broken::Failed { code: "agent_error".into(), message });
                }
                self.stop = Some(stop_reason(&reason).to_owned());
                self.steps.clear();
            }
            Step::End { .. } => self.steps.clear(),
            Step::Frame { name: Some(name), payload } => self.put(super::shape::frame(&name, &payload)),
            Step::Frame { name: None, payload } => self.put(format!("data: {payload}\n\n").into()),
            Step::Event { event } => {
                let name = event.get("type").and_then(Value::as_str).unwrap_or("event").to_owned();
                self.put(super::shape::frame(&name, &event));
            }
            Step::Raw { text } => self.put(text.into()),
            Step::Pause { ms } | Step::Rescheduled { ms } => pace::pause(&self.world, &self.session, ms).await,
            Step::Gate { name } => pace::at_gate(&self.world, &self.session, &name).await,
            Step::Thread { steps, report, .. } => {
                self.steps.push_front(free::say(report));
                for step in steps.into_iter().rev() {
                    self.steps.push_front(step);
                }
            }
            Step::Outcome { verdicts, .. } | Step::Judge { verdicts, .. } => {
                for verdict in verdicts.into_iter().rev() {
                    self.steps.push_front(free::say(verdict.say));
                }
            }
            // The protocol has no word for the first two; the others begin another message and the script was cut there.
            Step::Notice { .. }
            | Step::Compact { .. }
            | Step::User { .. }
            | Step::WaitForMessage
            | Step::ThreadClose { .. } => {}
        }
        Ok(())
    }

    async fn say(&mut self, text: &str, delta_ms: u64) {
        let outputs = self.outputs.join(" | ");
        let words = [("{message}", &self.message), ("{output}", &outputs), ("{answer}", &outputs)];
        let text = words.iter().fold(text.to_owned(), |text, (name, value)| text.replace(name, value));
        if self.draft.text.is_some() {
            self.close_draft();
        }
        self.speak(false, &text, delta_ms).await;
    }

    async fn think(&mut self, text: &str, ms: u64) {
        if !self.draft.is_empty() {
            self.close_draft();
        }
        let each = ms / (pieces(text).len() as u64).max(1);
        self.speak(true, text, each).await;
    }

    async fn speak(&mut self, thinking: bool, text: &str, each_ms: u64) {
        for piece in pieces(text) {
            pace::pause(&self.world, &self.session, each_ms).await;
            self.piece(thinking, &piece);
        }
        self.whole(thinking);
    }

    /// What is staged joins the history, and what was told of it is not told to new streams any more.
    pub(super) fn commit(&mut self) {
        let staged = std::mem::take(&mut self.staged);
        let (session, fold) = (self.session.clone(), self.manner.fold);
        self.world.turns.change(|desk| {
            let Some(session) = desk.session_mut(&session) else { return };
            if fold == super::TurnsFold::Step {
                session.history.extend(staged);
                session.fold();
            } else {
                session.unfolded.extend(staged);
            }
        });
    }

    fn stage(&mut self, message: Message) {
        let entry = self.world.turns.entry(message);
        self.staged.push(entry);
    }

    /// A message that this turn made: it is staged and answered with.
    fn produce(&mut self, message: Message, id: Option<String>) {
        self.produced.push(message.clone());
        let mut entry = self.world.turns.entry(message);
        entry.id = id.unwrap_or(entry.id);
        self.staged.push(entry);
    }

    /// Changes the session, while there is one.
    fn with<T: Default>(&self, change: impl FnOnce(&mut Session) -> T) -> T {
        self.world.turns.change(|desk| desk.session_mut(&self.session).map(change)).unwrap_or_default()
    }

    /// Nobody answers these calls any more; each gets this text as its result.
    fn drop_calls(&mut self, why: &str) {
        let held = self.with(|session| session.held.take());
        let left = held.into_iter().flat_map(|held| held.calls).filter(|call| !call.done);
        for HeldCall { id, .. } in left {
            self.stage(Message::tool(&id, Content::Text(why.to_owned())));
        }
    }
}
