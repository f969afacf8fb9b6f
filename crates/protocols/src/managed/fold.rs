//! The one fold for all dialects: what an event says, taken into the running state of its session.
//!
//! Events that are folded again upsert. Events that stand before what was folded already are history that is read
//! backwards: they make items and change nothing else.

mod items;
mod now;
mod past;
mod told;

use std::collections::{HashMap, HashSet};

use contract::{
    event::{Event, EventBody},
    item::{NoticeCode, NoticeLevel},
    session::SessionState,
};

use self::told::{Told, cut, named, notice, plain, reread};
use super::{
    calls::Calls,
    dialect::Dialect,
    drafts::Drafts,
    ids::Ids,
    joined::Replies,
    parse::{Form, Read},
    said::{Said, What},
    turns::Turns,
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
