//! The one fold for all dialects: what an event says, taken into the running state of its session.
//!
//! Events that are folded again upsert. Events that stand before what was folded already are history that is read
//! backwards: they make items and change nothing else.

use std::collections::{HashMap, HashSet};

use contract::{
    event::{Event, EventBody, Permission, UsageScope},
    item::{Marker, MessageState, Notice, NoticeCode, NoticeLevel, Part, Role},
    request::{ChoiceKind, RequestKind},
    session::{SessionState, StopReason, Usage},
    wire::{Origin, TooLarge},
};

use super::{
    calls::{Announced, Calls, cut_seed},
    dialect::Dialect,
    drafts::Drafts,
    ids::Ids,
    joined::Replies,
    parse::{Form, Read},
    parts::{text_part, whole},
    said::{Judged, Said, Stop, What},
    turns::{Ends, Turns, reason},
};
use crate::Seen;

/// One reading direction: what comes, or history read backwards.
#[derive(Debug, Default)]
struct Lane {
    turns: Turns,
    replies: Replies,
}

/// A message of the person, as it was first folded.
#[derive(Debug, Clone)]
struct Asked {
    turn: String,
    is_queued: bool,
}

/// The running state of one session.
#[derive(Debug)]
pub(super) struct Fold {
    dialect: &'static Dialect,
    now: Lane,
    past: Lane,
    /// The last place that was folded, and the last in history.
    newest: Option<i64>,
    newest_past: Option<i64>,
    state: SessionState,
    drafts: Drafts,
    calls: Calls,
    messages: HashMap<String, Asked>,
    /// Events that change the state: they count once.
    counted: Ids,
    /// The last chunks of flagged drafts, with the text before them.
    tails: HashMap<String, String>,
    /// Where each evaluation of a goal began, by goal and iteration.
    evaluations: HashMap<(String, Option<u32>), String>,
    /// Sub-agents that were created.
    children: HashSet<String>,
    /// The primary thread, where the server names it: what carries it is the session's own.
    own_thread: Option<String>,
}

/// Where the events of one frame go.
struct Told<'a> {
    at: Option<i64>,
    turn: Option<String>,
    thread: Option<String>,
    out: &'a mut Vec<Event>,
}

impl Told<'_> {
    fn push(&mut self, body: EventBody) {
        self.out.push(Event { at: self.at, turn: self.turn.clone(), thread: self.thread.clone(), body });
    }

    /// The frame's last event: takes its turn along instead of copying it.
    fn push_last(&mut self, body: EventBody) {
        let (turn, thread) = (self.turn.take(), self.thread.take());
        self.out.push(Event { at: self.at, turn, thread, body });
    }

    fn extend(&mut self, bodies: Vec<EventBody>) {
        for body in bodies {
            self.push(body);
        }
    }
}

impl Fold {
    pub(super) fn new(dialect: &'static Dialect) -> Self {
        Self {
            dialect,
            now: Lane::default(),
            past: Lane::default(),
            newest: None,
            newest_past: None,
            state: SessionState::Unknown,
            drafts: Drafts::default(),
            calls: Calls::default(),
            messages: HashMap::new(),
            counted: Ids::default(),
            tails: HashMap::new(),
            evaluations: HashMap::new(),
            children: HashSet::new(),
            own_thread: None,
        }
    }

    /// Takes a frame in.
    pub(super) fn take(&mut self, read: Read, seen: Seen, out: &mut Vec<Event>) {
        let frame_id = || format!("frame:{}", seen.position);
        if read.repaired {
            let id = match &read.form {
                Form::Event(said) if !said.id.is_empty() => said.id.clone(),
                _ => frame_id(),
            };
            let text = "Some bytes of this event were not valid text and were replaced.";
            out.push(plain(notice(format!("utf8:{id}"), NoticeLevel::Warning, NoticeCode::BadUtf8, text, None)));
        }
        match read.form {
            Form::Event(said) => self.event(said, seen, out),
            Form::Nothing => {}
            Form::StreamError { message, detail } => {
                out.push(plain(notice(
                    frame_id(),
                    NoticeLevel::Error,
                    NoticeCode::Server,
                    &message,
                    detail.as_deref(),
                )));
            }
            Form::Unreadable { name, cause, raw } => {
                let text = format!("An event{} could not be read: {cause}.", named(&name));
                let level = NoticeLevel::Warning;
                out.push(plain(notice(frame_id(), level, NoticeCode::UnreadableFrame, &text, Some(&raw))));
                reread(seen, text, out);
            }
            Form::Cut { id, name, tool, size, beginning } => {
                let id = if id.is_empty() { frame_id() } else { id };
                cut(id, &name, tool, size, &beginning, seen, out);
            }
        }
    }

    /// The stream broke.
    pub(super) fn connection_lost(&mut self, out: &mut Vec<Event>) {
        let mut bodies = Vec::new();
        if self.drafts.connection_lost(&mut bodies) {
            self.now.replies.tell_again(&mut bodies);
        }
        let turn = self.now.turns.current().map(str::to_owned);
        out.extend(bodies.into_iter().map(|body| Event { at: None, turn: turn.clone(), thread: None, body }));
    }

    fn event(&mut self, mut said: Said, seen: Seen, out: &mut Vec<Event>) {
        // The two frames of which there are many skip whatever cannot concern them.
        if let What::PreviewDelta { of, index, text } = said.what {
            return self.preview_delta(of, index, text, said.turn, seen, out);
        }
        if said.id.is_empty() {
            said.id = format!("frame:{}", seen.position);
        }
        said.thread = self.child(&said);
        if self.newest.is_some_and(|newest| seen.position < newest) {
            if self.now.replies.holds(&said.id) {
                return self.known_reply(said, out);
            }
            // Each older page is read forwards; a step back begins another.
            if self.newest_past.is_some_and(|newest| seen.position < newest) {
                self.past = Lane::default();
            }
            self.newest_past = Some(seen.position);
            return self.past_event(said, seen, out);
        }
        self.newest = Some(seen.position);
        self.now_event(said, seen, out);
    }

    /// A part of a reply comes again: it changes its own item at most.
    fn known_reply(&mut self, said: Said, out: &mut Vec<Event>) {
        let What::AgentMessage { parts, .. } = said.what else { return };
        let mut bodies = Vec::new();
        self.now.replies.take(said.id, said.turn.clone().unwrap_or_default(), parts, true, &mut bodies);
        Told { at: said.at, turn: said.turn, thread: said.thread, out }.extend(bodies);
    }

    fn preview_delta(
        &mut self,
        of: String,
        index: u32,
        text: Option<String>,
        turn: Option<String>,
        seen: Seen,
        out: &mut Vec<Event>,
    ) {
        let Some(text) = text else { return };
        self.newest = self.newest.max(Some(seen.position));
        let Some((append, begins)) = self.drafts.preview_delta(of, index, text) else { return };
        if begins {
            self.activity("preview", turn.as_deref(), None, out);
        }
        let turn = turn.or_else(|| self.now.turns.current().map(str::to_owned));
        if let (true, EventBody::Append { id, to, .. }) = (begins, &append) {
            let body = EventBody::DraftStarted { id: id.clone(), to: to.clone() };
            out.push(Event { at: None, turn: turn.clone(), thread: None, body });
        }
        out.push(Event { at: None, turn, thread: None, body: append });
    }

    /// The sub-agent an event is of; `None` for the session's own.
    fn child(&mut self, said: &Said) -> Option<String> {
        if let What::Chunk { own_thread: true, .. } = said.what
            && let Some(thread) = said.thread.as_ref().filter(|thread| !self.children.contains(*thread))
        {
            self.own_thread = Some(thread.clone());
        }
        said.thread.clone().filter(|thread| self.own_thread.as_ref() != Some(thread))
    }

    /// The agent does something: a turn runs, whether or not its beginning was seen.
    fn activity(&mut self, id: &str, named: Option<&str>, at: Option<i64>, out: &mut Vec<Event>) {
        let opens = self.state != SessionState::Idle && self.state != SessionState::Ended;
        let starts = self.now.turns.act(id, named, at, opens);
        if !starts && self.state != SessionState::Rescheduling {
            return;
        }
        let turn = self.now.turns.current().map(str::to_owned);
        if (starts || self.state == SessionState::Rescheduling) && self.state != SessionState::Running {
            self.state = SessionState::Running;
            out.push(Event { at, turn: turn.clone(), thread: None, body: EventBody::Status(SessionState::Running) });
        }
        if starts {
            out.push(Event { at, turn, thread: None, body: EventBody::TurnStarted });
        }
    }

    fn now_event(&mut self, said: Said, seen: Seen, out: &mut Vec<Event>) {
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

    /// History read backwards: items, and what now waits or was settled since. The session's state is known better.
    fn past_event(&mut self, said: Said, seen: Seen, out: &mut Vec<Event>) {
        let Said { at, turn: named, thread, id, is_bare, what } = said;
        let is_own = thread.is_none();
        let turns = &mut self.past.turns;
        match &what {
            What::UserMessage { .. } | What::PreviewStart { .. } | What::PreviewDelta { .. } => {}
            What::Running => {
                turns.run(&id, named.as_deref(), at);
            }
            _ if is_own => {
                turns.act(&id, named.as_deref(), at, !matches!(what, What::Idle { .. } | What::ModelEnded { .. }));
            }
            _ => {}
        }
        if is_own && ends_reply(&what) {
            let mut bodies = Vec::new();
            self.past.replies.end(&mut bodies);
        }
        let turn = named.clone().or_else(|| self.past.turns.current().map(str::to_owned));
        let mut told = Told { at, turn, thread, out };
        match what {
            What::UserMessage { parts, unprocessed } => match self.messages.get(&id) {
                Some(_) => self.user_message(id, parts, unprocessed, named.as_deref(), seen, &mut told),
                None => {
                    told.turn = Some(self.past.turns.message(&id, named.as_deref(), at, false));
                    told.push(message(id, Role::User, parts, MessageState::Done));
                }
            },
            What::Interrupt => {
                self.past.turns.is_interrupted = is_own;
                told.push(EventBody::Marker { id, marker: Marker::Interrupted });
            }
            What::AgentMessage { parts, is_delta: false, message } => {
                let chunk_of = chunk_key(named, is_bare);
                self.agent_message(id, parts, message, chunk_of, false, &mut told);
            }
            What::Thinking { text, message } => self.thinking(id, text, message, false, &mut told),
            What::Idle { stop, .. } => {
                let why = reason(&stop, self.past.turns.is_interrupted, self.past.turns.error.clone());
                if why != StopReason::RequiresAction {
                    self.past.turns.end();
                    end_marker(why, seen, &mut told);
                }
            }
            What::Failed { notice, .. } => {
                self.past.turns.error = Some(notice.text.clone());
                told.push(EventBody::Notice { id, notice });
            }
            What::Rescheduled => told.push(EventBody::Marker { id, marker: Marker::Rescheduled }),
            What::Thread { thread, name, state, is_new } => {
                if is_new && self.children.insert(thread.clone()) {
                    self.own_thread = self.own_thread.take().filter(|own| *own != thread);
                    told.push(EventBody::Thread { id: thread, name, state, created: true });
                }
            }
            What::ToolUse { name, source, input, permission, kind } => {
                self.tool_use(id, Use { name, source, input, permission, kind }, true, &mut told);
            }
            // Text that was being written is whole by now; the rest is about a state that has passed.
            What::PreviewStart { .. }
            | What::PreviewDelta { .. }
            | What::AgentMessage { is_delta: true, .. }
            | What::Chunk { .. }
            | What::Running
            | What::Ended { .. }
            | What::Facts { .. }
            | What::SessionUsage(_)
            | What::ModelStarted { .. }
            | What::ModelEnded { .. } => {}
            other => self.item(id, other, &mut told),
        }
    }

    /// Events that make the same items in both directions.
    fn item(&mut self, id: String, what: What, told: &mut Told<'_>) {
        match what {
            What::Confirmed { call, choice, reason } => {
                let mut bodies = Vec::new();
                self.calls.settle(call, choice, reason, &id, Vec::new(), &mut bodies);
                told.extend(bodies);
            }
            What::ClientResult { call, output, is_error } => {
                let choice = if is_error { ChoiceKind::ReportError } else { ChoiceKind::Answer };
                let mut bodies = Vec::new();
                self.calls.settle(call, Some(choice), None, &id, output, &mut bodies);
                told.extend(bodies);
            }
            What::ToolResult { call, name, output, is_error } => {
                let mut bodies = Vec::new();
                let call = self.calls.result(&id, &call, name.as_deref(), told.turn.as_deref(), &mut bodies);
                told.extend(bodies);
                told.push_last(EventBody::ToolResult { id, call, name, output, is_error });
            }
            What::GoalSet { goal, description, rubric } => told.push(EventBody::Goal {
                id,
                goal,
                description,
                rubric,
                iteration: None,
                verdict: None,
                explanation: None,
                evaluating: false,
            }),
            What::Judged(judged) => self.judged(id, judged, told),
            What::SystemMessage { parts } => told.push(message(id, Role::System, parts, MessageState::Done)),
            What::Artifact(artifact) => told.push(EventBody::Artifact { id, artifact }),
            What::ThreadMessage { with, role, parts } => {
                told.thread = Some(with).filter(|with| !with.is_empty() && self.own_thread.as_ref() != Some(with));
                told.push(message(id, role, parts, MessageState::Done));
            }
            What::Compacted => told.push(EventBody::Marker { id, marker: Marker::Compacted }),
            What::Progress { key, notice } => told.push(EventBody::Notice { id: key, notice }),
            What::Unknown { what, raw } => told.push(EventBody::Unknown { id, what, raw }),
            _ => {}
        }
    }

    fn user_message(
        &mut self,
        id: String,
        parts: Vec<Part>,
        unprocessed: bool,
        named: Option<&str>,
        seen: Seen,
        told: &mut Told<'_>,
    ) {
        let asked = match self.messages.get(&id) {
            Some(known) => {
                let known = known.clone();
                if seen.origin == Origin::Stream {
                    self.now.turns.message_came(&id);
                }
                Asked { is_queued: known.is_queued && unprocessed, ..known }
            }
            None => {
                // Not taken up yet, and something else runs: it waits at the server. Clones never fill the time in.
                let is_queued = unprocessed && self.now.turns.runs();
                let turn = self.now.turns.message(&id, named, told.at, seen.origin == Origin::Answer);
                Asked { turn, is_queued }
            }
        };
        told.turn = named.map(str::to_owned).or_else(|| Some(asked.turn.clone()));
        let state = if asked.is_queued { MessageState::Queued } else { MessageState::Done };
        self.messages.insert(id.clone(), asked);
        told.push(message(id, Role::User, parts, state));
    }

    fn agent_message(
        &mut self,
        id: String,
        parts: Vec<Part>,
        raw_message: Option<String>,
        chunk_of: Option<String>,
        live: bool,
        told: &mut Told<'_>,
    ) {
        let fit = self.drafts.take(&id, raw_message.as_deref(), &parts);
        let chunk_of = chunk_of.filter(|_| {
            !fit.had_draft && raw_message.is_none() && told.thread.is_none() && !self.tails.contains_key(&id)
        });
        let lane = if live { &mut self.now } else { &mut self.past };
        let mut bodies = Vec::new();
        if let Some(turn) = chunk_of {
            lane.replies.take(id, turn, parts, live, &mut bodies);
            let last = bodies.pop();
            told.extend(bodies);
            if let Some(last) = last {
                told.push_last(last);
            }
            return;
        }
        if told.thread.is_none() {
            lane.replies.end(&mut bodies);
            told.extend(bodies);
        }
        let before = fit.before.or_else(|| self.tails.get(&id).cloned());
        let parts = match before {
            Some(before) => {
                let parts = joined_behind(&before, parts);
                self.tails.insert(id.clone(), before);
                parts
            }
            None => parts,
        };
        told.push_last(EventBody::Message {
            id,
            replaces: fit.replaces,
            role: Role::Agent,
            parts,
            state: MessageState::Done,
        });
    }

    fn thinking(&mut self, id: String, text: String, message: Option<String>, live: bool, told: &mut Told<'_>) {
        let had_draft = self.drafts.take_thought(&id);
        if message.is_some_and(|message| self.drafts.has_thought_of(&message)) {
            // A raw message showed it already, block by block.
            return;
        }
        // Without a preview this event is the beginning: the agent thinks until something else comes.
        told.push(EventBody::Thought { id, text, active: live && !had_draft });
    }

    fn tool_use(&mut self, id: String, call: Use, in_past: bool, told: &mut Told<'_>) {
        let mut bodies = Vec::new();
        let is_client = call.kind == RequestKind::ClientTool;
        self.calls.announced(
            &Announced {
                id: &id,
                kind: call.kind,
                name: &call.name,
                source: call.source.as_deref(),
                input: &call.input,
                turn: told.turn.as_deref(),
                thread: told.thread.as_deref(),
                asks: call.permission == Permission::Ask || is_client,
                at_once: is_client && self.dialect.client_tools_at_once,
                in_past,
            },
            &mut bodies,
        );
        let Use { name, source, input, permission, .. } = call;
        told.push(EventBody::ToolCall { id, name, source, input, permission });
        told.extend(bodies);
    }

    fn idle(&mut self, stop: Stop, usage: Option<Usage>, named: Option<&str>, seen: Seen, told: &mut Told<'_>) {
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
    fn close_drafts(&mut self, told: &mut Told<'_>) {
        let mut bodies = Vec::new();
        self.drafts.close(&mut bodies);
        told.extend(bodies);
    }

    fn thread(&mut self, thread: String, name: Option<String>, state: SessionState, is_new: bool, told: &mut Told<'_>) {
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

    fn judged(&mut self, id: String, judged: Judged, told: &mut Told<'_>) {
        let key = (judged.goal.clone(), judged.iteration);
        let begun = judged.start.clone().or_else(|| self.evaluations.get(&key).cloned()).unwrap_or(id);
        self.evaluations.insert(key, begun.clone());
        told.push(EventBody::Goal {
            id: begun,
            goal: judged.goal,
            description: None,
            rubric: None,
            iteration: judged.iteration,
            verdict: judged.verdict,
            explanation: judged.explanation,
            evaluating: judged.evaluating,
        });
    }
}

/// The turn whose reply a message may be a chunk of; `None` where it can be none.
fn chunk_key(named: Option<String>, is_bare: bool) -> Option<String> {
    named.or_else(|| is_bare.then(String::new))
}

/// A tool call as its event has it.
struct Use {
    name: String,
    source: Option<String>,
    input: String,
    permission: Permission,
    kind: RequestKind,
}

/// Events that count once: folding one again must not begin, end or add anything.
fn changes_state(what: &What) -> bool {
    matches!(
        what,
        What::Running
            | What::Idle { .. }
            | What::Rescheduled
            | What::Ended { .. }
            | What::ModelStarted { .. }
            | What::ModelEnded { .. }
    )
}

/// Whether an event ends a reply that came in several messages.
fn ends_reply(what: &What) -> bool {
    match what {
        What::UserMessage { .. }
        | What::Interrupt
        | What::Thinking { .. }
        | What::ToolUse { .. }
        | What::ToolResult { .. }
        | What::Idle { .. }
        | What::Ended { .. }
        | What::ModelStarted { .. }
        | What::ModelEnded { .. }
        | What::PreviewStart { .. }
        | What::Chunk { .. }
        | What::AgentMessage { is_delta: true, .. } => true,
        What::Failed { is_fatal, .. } => *is_fatal,
        _ => false,
    }
}

/// The end of a turn that is not the running one: only its line, and only where it says something.
fn end_marker(stop: StopReason, seen: Seen, told: &mut Told<'_>) {
    if !matches!(stop, StopReason::EndTurn | StopReason::RequiresAction) {
        let id = format!("end@{}", seen.position);
        told.push(EventBody::Marker { id, marker: Marker::TurnEnd { stop } });
    }
}

fn cut(
    id: String,
    name: &str,
    tool: Option<String>,
    size: TooLarge,
    beginning: &str,
    seen: Seen,
    out: &mut Vec<Event>,
) {
    let text = format!(
        "An event{} of {} bytes is over this server's cap; only its beginning is kept.",
        named(name),
        size.bytes
    );
    let level = NoticeLevel::Warning;
    out.push(plain(notice(format!("cut:{id}"), level, NoticeCode::TooLarge, &text, Some(beginning))));
    let is_client = name == "agent.custom_tool_use";
    if is_client || matches!(name, "agent.tool_use" | "agent.mcp_tool_use") {
        out.push(plain(EventBody::Request(cut_seed(&id, tool, is_client, beginning))));
    }
    reread(seen, text, out);
}

/// Asks for the session to be read again; what came from reading it would only come again.
fn reread(seen: Seen, cause: String, out: &mut Vec<Event>) {
    if seen.origin == Origin::Stream {
        out.push(plain(EventBody::Reread { cause }));
    }
}

fn named(name: &str) -> String {
    if name.is_empty() { String::new() } else { format!(" ({name})") }
}

fn plain(body: EventBody) -> Event {
    Event { at: None, turn: None, thread: None, body }
}

fn notice(id: String, level: NoticeLevel, code: NoticeCode, text: &str, detail: Option<&str>) -> EventBody {
    EventBody::Notice { id, notice: Notice { level, code, text: text.to_owned(), detail: detail.map(whole) } }
}

fn message(id: String, role: Role, parts: Vec<Part>, state: MessageState) -> EventBody {
    EventBody::Message { id, replaces: None, role, parts, state }
}

/// Parts behind a text that was shown before them.
fn joined_behind(before: &str, mut parts: Vec<Part>) -> Vec<Part> {
    match parts.first_mut() {
        Some(Part::Text(first)) => {
            first.text.insert_str(0, before);
            first.chars += before.chars().count() as u64;
        }
        _ => parts.insert(0, text_part(before)),
    }
    parts
}
