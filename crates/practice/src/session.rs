//! One session: its state, and what every change of it writes.

mod cell;
pub(crate) mod post;
pub(crate) mod show;

use std::{
    collections::{BTreeMap, HashMap, HashSet, VecDeque},
    sync::Arc,
};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::{
    Form, Manner,
    ids::Ids,
    journal::{Journal, Piece},
    keep::Record,
    scenario::{Call, Step},
    voice::{self, Envelope, Tokens},
};

pub(crate) use cell::Cell;

/// The time now, as the wire has it (0 to 9 fractional digits, §2).
pub(crate) fn now() -> String {
    jiff::Timestamp::now().to_string()
}

/// What a session does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Phase {
    /// Takes messages.
    #[default]
    Idle,
    /// A turn runs.
    Running,
    /// A turn waits for answers.
    Waiting,
    /// The runtime restarts.
    Rescheduling,
    /// Over.
    Terminated,
}

impl Phase {
    /// The `status` of the session object.
    pub(crate) fn status(self) -> &'static str {
        match self {
            Self::Idle | Self::Waiting => "idle",
            Self::Running => "running",
            Self::Rescheduling => "rescheduling",
            Self::Terminated => "terminated",
        }
    }
}

/// A step and the sub-agent thread it belongs to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Item {
    pub(crate) thread: Option<String>,
    pub(crate) step: Step,
}

/// Something the person sent that starts a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Input {
    /// The event that carried it.
    pub(crate) event: String,
    /// Its text.
    pub(crate) text: String,
    /// Set when it is a goal.
    pub(crate) outcome: Option<Goal>,
}

/// A goal the person set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Goal {
    pub(crate) id: String,
    pub(crate) description: String,
    pub(crate) max_iterations: u64,
}

/// The calls a turn waits for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Held {
    pub(crate) thread: Option<String>,
    pub(crate) calls: Vec<Call>,
    pub(crate) ids: Vec<String>,
}

/// An answer of the person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Answer {
    Allow,
    Deny(Option<String>),
    Result { text: String, failed: bool },
}

/// What may be answered, and how.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Pending {
    pub(crate) id: String,
    pub(crate) custom: bool,
    pub(crate) thread: Option<String>,
}

/// A running turn.
#[derive(Debug, Clone)]
pub(crate) struct Turn {
    pub(crate) id: String,
    pub(crate) cancel: CancellationToken,
    pub(crate) tokens: Tokens,
    /// The open model request: the id of its start event and its span id.
    pub(crate) span: Option<(String, String)>,
    pub(crate) span_output: u64,
}

/// A sub-agent.
#[derive(Debug, Default)]
pub(crate) struct Thread {
    pub(crate) id: String,
    pub(crate) agent: String,
    pub(crate) status: &'static str,
    pub(crate) created_at: String,
    pub(crate) archived_at: Option<String>,
    pub(crate) journal: Journal,
}

/// Where tests stop the agent.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    pub(crate) held: bool,
    pub(crate) permits: u64,
    pub(crate) open: HashSet<String>,
    /// The agent stands at a gate now.
    pub(crate) waiting: bool,
}

/// What the session object shows and what a restart needs of it.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Profile {
    pub(crate) title: Option<String>,
    pub(crate) metadata: BTreeMap<String, String>,
    pub(crate) agent: Value,
    pub(crate) environment_id: String,
    pub(crate) environment_variables: BTreeMap<String, String>,
    pub(crate) resources: Vec<Value>,
    pub(crate) vault_ids: Vec<String>,
    pub(crate) budget: Value,
    pub(crate) created_at: String,
    pub(crate) updated_at: String,
    pub(crate) archived_at: Option<String>,
    pub(crate) phase: Phase,
    pub(crate) tokens: Tokens,
    pub(crate) outcomes: Vec<Value>,
    pub(crate) files: Vec<Artifact>,
}

/// A file the agent handed over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Artifact {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) content_type: String,
    pub(crate) text: String,
}

/// The part of a session that its player works through.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Program {
    pub(crate) items: VecDeque<Item>,
    pub(crate) current: Option<Item>,
    pub(crate) held: Option<Held>,
    pub(crate) inbox: VecDeque<Input>,
    pub(crate) pending: Vec<Pending>,
    pub(crate) turn: Option<String>,
    pub(crate) message: String,
    pub(crate) answer: String,
}

/// The state.
pub(crate) struct State {
    pub(crate) session: String,
    pub(crate) manner: Manner,
    pub(crate) profile: Profile,
    pub(crate) program: Program,
    pub(crate) answers: HashMap<String, Answer>,
    pub(crate) turn: Option<Turn>,
    pub(crate) main: Journal,
    pub(crate) threads: Vec<Thread>,
    pub(crate) gate: Gate,
    pub(crate) deleted: bool,
    /// The turn that was accepted is to be stopped as it begins.
    pub(crate) stop_next: bool,
    /// The id of the turn that the accepted message will begin.
    next_turn: Option<String>,
    ids: Arc<Ids>,
    records: Vec<Record>,
    touched: bool,
}

impl State {
    /// What a restart needs has changed: it is kept at the end of this change.
    pub(crate) fn touch(&mut self) {
        self.touched = true;
    }

    /// A new event id.
    pub(crate) fn event_id(&self) -> String {
        self.ids.next(if self.manner.form == Form::Claude { "sevt" } else { "evt" })
    }

    /// A new id of another kind.
    pub(crate) fn id(&self, prefix: &str) -> String {
        self.ids.next(prefix)
    }

    /// The journal of a thread, or the session's own.
    pub(crate) fn journal(&mut self, thread: Option<&str>) -> &mut Journal {
        let place = thread.and_then(|id| self.threads.iter().position(|thread| thread.id == id));
        match place.and_then(|place| self.threads.get_mut(place)) {
            Some(thread) => &mut thread.journal,
            None => &mut self.main,
        }
    }

    /// The journal of a thread, or the session's own, to read.
    pub(crate) fn read(&self, thread: Option<&str>) -> &Journal {
        let found = thread.and_then(|id| self.threads.iter().find(|thread| thread.id == id));
        found.map_or(&self.main, |thread| &thread.journal)
    }

    /// Persists an event of a new id, and gives that id.
    pub(crate) fn emit(&mut self, thread: Option<&str>, kind: &str, payload: Value) -> String {
        let id = self.event_id();
        self.emit_as(thread, &id, kind, payload, None);
        id
    }

    /// Persists an event of this id.
    pub(crate) fn emit_as(&mut self, thread: Option<&str>, id: &str, kind: &str, payload: Value, piece: Option<Piece>) {
        let at = now();
        let turn = self.turn.as_ref().map(|turn| turn.id.clone()).or_else(|| self.next_turn.clone());
        let envelope =
            Envelope { form: self.manner.form, id, kind, session: &self.session, turn: turn.as_deref(), at: &at };
        let value = voice::event(&envelope, payload);
        self.store(thread, value, &at, piece);
    }

    /// Persists an event as it is.
    pub(crate) fn store(&mut self, thread: Option<&str>, value: Value, at: &str, piece: Option<Piece>) {
        self.records.push(Record::Event {
            session: self.session.clone(),
            thread: thread.map(str::to_owned),
            at: at.to_owned(),
            event: value.clone(),
        });
        self.profile.updated_at = at.to_owned();
        self.journal(thread).append(value, at, piece);
    }

    /// The ids that still wait for an answer, in the order they were asked.
    pub(crate) fn open_ids(&self) -> Vec<String> {
        let answered = |pending: &&Pending| !self.answers.contains_key(&pending.id);
        self.program.pending.iter().filter(answered).map(|pending| pending.id.clone()).collect()
    }

    /// A message was accepted while nothing ran: it carries the id of the turn it will begin.
    pub(crate) fn announce_turn(&mut self) {
        if self.turn.is_none() {
            let ids = &self.ids;
            self.next_turn.get_or_insert_with(|| ids.next("turn"));
        }
    }

    /// Begins a turn.
    pub(crate) fn begin_turn(&mut self) {
        let announced = self.next_turn.take();
        self.turn = Some(Turn {
            id: announced.unwrap_or_else(|| self.ids.next("turn")),
            cancel: CancellationToken::new(),
            tokens: Tokens::default(),
            span: None,
            span_output: 0,
        });
        self.program.turn = self.turn.as_ref().map(|turn| turn.id.clone());
        self.profile.phase = Phase::Running;
        self.touch();
    }

    /// Opens a model request unless one is open.
    pub(crate) fn open_span(&mut self, thread: Option<&str>) {
        if self.turn.as_ref().is_none_or(|turn| turn.span.is_some()) {
            return;
        }
        let span = self.ids.next("span");
        let payload = voice::span_start(self.manner.form, &span);
        let start = self.emit(thread, "span.model_request_start", payload);
        if let Some(turn) = &mut self.turn {
            turn.span = Some((start, span));
            turn.span_output = 0;
        }
    }

    /// Closes the open model request, if there is one.
    pub(crate) fn close_span(&mut self, thread: Option<&str>, failed: bool) {
        let Some(turn) = &mut self.turn else { return };
        let Some((start, span)) = turn.span.take() else { return };
        let (input, output) = (1_180 + turn.tokens.output, 12 + turn.span_output / 4);
        let tokens = Tokens { input, output, cached: 512, charged: 0 };
        turn.tokens.add(tokens);
        self.profile.tokens.add(tokens);
        let payload = voice::span_end(self.manner.form, &span, &start, failed, tokens);
        self.emit(thread, "span.model_request_end", payload);
    }

    /// Says that the turn is over, or waits.
    pub(crate) fn idle(&mut self, reason: &str) {
        let waiting = self.open_ids();
        let tokens = self.turn.as_ref().map(|turn| turn.tokens).unwrap_or_default();
        let payload = voice::idle(self.manner.form, reason, &waiting, tokens);
        self.emit(None, "session.status_idle", payload);
    }

    /// Ends the turn. The seed page draws the end of the model request behind the idle event (§13, row 16).
    pub(crate) fn end_turn(&mut self, reason: &str, failed: bool) {
        let thread = self.program.current.as_ref().and_then(|item| item.thread.clone());
        self.program.pending.clear();
        self.program.held = None;
        self.program.current = None;
        self.journal(thread.as_deref()).close_preview();
        self.main.close_preview();
        if self.manner.form == Form::Seed {
            self.idle(reason);
            self.close_span(thread.as_deref(), failed);
        } else {
            self.close_span(thread.as_deref(), failed);
            self.idle(reason);
        }
        self.turn = None;
        self.program.turn = None;
        self.profile.phase = Phase::Idle;
        self.touch();
    }

    /// Ends the session for good.
    pub(crate) fn terminate(&mut self, reason: &str) {
        let (kind, payload) = voice::terminated(self.manner.form, reason);
        self.emit(None, kind, payload);
        self.finish();
    }

    /// Tells the streams that the session was deleted.
    pub(crate) fn delete(&mut self) {
        self.emit(None, "session.deleted", json!({}));
        self.deleted = true;
        self.finish();
        self.records.push(Record::Deleted { session: self.session.clone() });
    }

    fn finish(&mut self) {
        if let Some(turn) = self.turn.take() {
            turn.cancel.cancel();
        }
        self.program = Program::default();
        self.profile.phase = Phase::Terminated;
        self.touch();
        self.main.end();
        for thread in &mut self.threads {
            thread.journal.end();
        }
    }
}
