//! What comes now: it moves the session's state.

use contract::{
    event::{Event, EventBody, UsageScope},
    item::Marker,
    session::{SessionState, StopReason, Usage},
};

use super::{
    super::{
        said::{Said, Stop, What},
        turns::{Ends, reason},
    },
    Fold, changes_state, ends_reply,
    items::{Use, chunk_key},
    told::{Told, end_marker},
};
use crate::Seen;

impl Fold {
    pub(super) fn now_event(&mut self, said: Said, seen: Seen, out: &mut Vec<Event>) {
        let Said { at, turn: named, thread, id, is_bare, what } = said;
        if changes_state(&what) && !self.counted.insert(&id) {
            return;
        }
        let is_own = thread.is_none();
        let acts = matches!(
            what,
            What::PreviewStart { .. }
                | What::Chunk { .. }
                | What::AgentMessage { .. }
                | What::Thinking { .. }
                | What::ToolUse { .. }
                | What::ModelStarted { .. }
                | What::Failed { .. }
        );
        if acts && is_own {
            self.activity(&id, named.as_deref(), at, out);
        }
        // A reply goes on only with its own kind; signs that say nothing of the reply do not end it.
        if is_own && ends_reply(&what) {
            let mut bodies = Vec::new();
            self.now.replies.end(&mut bodies);
            if !bodies.is_empty() {
                let turn = self.now.turns.current().map(str::to_owned);
                Told { at: None, turn, thread: None, out }.extend(bodies);
            }
        }
        let turn = named.clone().or_else(|| self.now.turns.current().map(str::to_owned));
        let mut told = Told { at, turn, thread, out };
        match what {
            What::PreviewStart { of, thought } => {
                let mut bodies = Vec::new();
                self.drafts.preview_start(of, thought, &mut bodies);
                told.extend(bodies);
            }
            What::PreviewDelta { .. } => {}
            What::Chunk { message, chunk, .. } => {
                let mut bodies = Vec::new();
                self.drafts.chunk(&id, &message, chunk, &mut bodies);
                told.extend(bodies);
            }
            What::UserMessage { parts, unprocessed } => {
                self.user_message(id, parts, unprocessed, named.as_deref(), seen, &mut told);
            }
            What::Interrupt => {
                if is_own && self.now.turns.runs() {
                    self.now.turns.is_interrupted = true;
                }
                told.push(EventBody::Marker { id, marker: Marker::Interrupted });
            }
            What::AgentMessage { parts, is_delta: true, .. } => {
                let mut bodies = Vec::new();
                self.drafts.flagged(&id, &parts, &mut bodies);
                told.extend(bodies);
            }
            What::AgentMessage { parts, is_delta: false, message } => {
                let chunk_of = chunk_key(named, is_bare);
                self.agent_message(id, parts, message, chunk_of, true, &mut told);
            }
            What::Thinking { text, message } => self.thinking(id, text, message, true, &mut told),
            What::Running => {
                let starts = self.now.turns.run(&id, named.as_deref(), at);
                told.turn = self.now.turns.current().map(str::to_owned);
                self.state = SessionState::Running;
                told.push(EventBody::Status(SessionState::Running));
                if starts {
                    told.push(EventBody::TurnStarted);
                }
            }
            What::Idle { stop, usage } => self.idle(stop, usage, named.as_deref(), seen, &mut told),
            What::Rescheduled => {
                let starts = self.now.turns.act(&id, named.as_deref(), at, false);
                self.state = SessionState::Rescheduling;
                told.push(EventBody::Status(SessionState::Rescheduling));
                if starts {
                    told.push(EventBody::TurnStarted);
                }
                told.push(EventBody::Marker { id, marker: Marker::Rescheduled });
            }
            What::Ended { deleted, reason } => {
                self.close_drafts(&mut told);
                self.calls.turn_over();
                self.state = SessionState::Ended;
                if self.now.turns.end().is_some() {
                    told.push(EventBody::TurnEnded { stop: StopReason::Other { word: "terminated".to_owned() } });
                }
                told.push(EventBody::Status(SessionState::Ended));
                told.push(EventBody::Ended { deleted, reason });
            }
            What::Failed { notice, is_fatal } => {
                if is_own {
                    self.now.turns.error = Some(notice.text.clone());
                }
                if is_fatal && is_own {
                    self.close_drafts(&mut told);
                }
                told.push(EventBody::Notice { id, notice });
            }
            What::Facts { title, agent, archived } => told.push(EventBody::Facts { title, agent, archived }),
            What::SessionUsage(usage) => told.push(EventBody::Usage { usage, scope: UsageScope::Session }),
            What::Thread { thread, name, state, is_new } => self.thread(thread, name, state, is_new, &mut told),
            What::ModelStarted { span } => told.push(EventBody::ModelStarted { id: span }),
            What::ModelEnded { span, is_error, usage } => {
                self.close_drafts(&mut told);
                told.push(EventBody::ModelEnded { id: span, is_error });
                if let Some(usage) = usage.filter(|usage| *usage != Usage::default() && self.now.turns.counts_calls()) {
                    told.push(EventBody::Usage { usage, scope: UsageScope::Call });
                }
            }
            What::ToolUse { name, source, input, permission, kind } => {
                let mut bodies = Vec::new();
                self.drafts.take_tool(&id, &name, &mut bodies);
                let is_retold = !bodies.is_empty();
                told.extend(bodies);
                if is_retold {
                    let mut bodies = Vec::new();
                    self.now.replies.tell_again(&mut bodies);
                    told.extend(bodies);
                }
                self.tool_use(id, Use { name, source, input, permission, kind }, false, &mut told);
            }
            other => self.item(id, other, &mut told),
        }
    }

    pub(super) fn idle(
        &mut self,
        stop: Stop,
        usage: Option<Usage>,
        named: Option<&str>,
        seen: Seen,
        told: &mut Told<'_>,
    ) {
        let why = reason(&stop, self.now.turns.is_interrupted, self.now.turns.error.clone());
        let ends = self.now.turns.idle(named, told.at);
        if let Ends::Earlier(turn) = ends {
            told.turn = turn;
            if self.state == SessionState::Unknown {
                self.state = SessionState::Idle;
                told.push(EventBody::Status(SessionState::Idle));
            }
            return end_marker(why, seen, told);
        }
        if let Some(usage) = usage {
            self.now.turns.usage_told();
            told.push(EventBody::Usage { usage, scope: UsageScope::Turn });
        }
        self.close_drafts(told);
        if why == StopReason::RequiresAction {
            self.state = SessionState::Waiting;
            told.push(EventBody::Status(SessionState::Waiting));
            for (thread, body) in self.calls.wait(stop.event_ids.clone()) {
                told.out.push(Event { at: told.at, turn: told.turn.clone(), thread, body });
            }
            return told.push(EventBody::Waiting { requests: stop.event_ids });
        }
        self.calls.turn_over();
        self.now.turns.end();
        self.state = SessionState::Idle;
        if ends == Ends::Open {
            told.push(EventBody::TurnEnded { stop: why });
        } else {
            told.push(EventBody::Waiting { requests: Vec::new() });
        }
        told.push(EventBody::Status(SessionState::Idle));
    }

    /// Nothing more comes for what is being written.
    pub(super) fn close_drafts(&mut self, told: &mut Told<'_>) {
        let mut bodies = Vec::new();
        self.drafts.close(&mut bodies);
        told.extend(bodies);
    }

    pub(super) fn thread(
        &mut self,
        thread: String,
        name: Option<String>,
        state: SessionState,
        is_new: bool,
        told: &mut Told<'_>,
    ) {
        if is_new {
            self.children.insert(thread.clone());
        } else if !self.children.contains(&thread) && self.own_thread.is_none() {
            // The first thread that nobody created is the session's own.
            self.own_thread = Some(thread.clone());
        }
        if self.own_thread.as_ref() == Some(&thread) {
            return;
        }
        told.thread = Some(thread.clone());
        told.push(EventBody::Thread { id: thread, name, state, created: is_new });
    }
}
