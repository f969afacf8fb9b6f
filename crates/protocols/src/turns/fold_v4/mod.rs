//! The fold of v4: one stream, and a history whose entries it shares ids with (page §4).
//!
//! There are no turns on the wire: one begins with an input and ends when the server says that it is idle, or fails.

mod calls;
pub(super) mod parse;

use std::collections::{HashMap, HashSet};

use contract::{
    Millis,
    event::{AppendTo, Event, EventBody},
    item::{MessageState, NoticeCode, NoticeLevel, Role},
    session::{SessionState, StopReason},
    wire::{Frame, Origin},
};

use self::{
    calls::Call,
    parse::{Form, Read},
};
use super::{
    agents::Agent,
    session_object::SessionObject,
    wire::{Block, Said, Who, parts_of, text_of},
};
use crate::{
    Parsed, Seen, SessionCodec,
    told::{self, named, notice, text_part},
};

/// The codec of one session.
#[derive(Debug, Default)]
pub(super) struct Codec {
    fold: Fold,
}

impl SessionCodec for Codec {
    fn parse(&self, frame: &Frame) -> Parsed {
        parse::parse(frame)
    }

    fn fold(&mut self, parsed: Parsed, seen: Seen, out: &mut Vec<Event>) {
        // A body of another protocol's codec cannot get here: the engine keeps one codec per session.
        if let Ok(read) = parsed.body.downcast::<Read>() {
            self.fold.take(*read, seen, out);
        }
    }

    /// What was being written is told again from its beginning.
    fn connection_lost(&mut self, out: &mut Vec<Event>) {
        if self.fold.draft.take().is_some() {
            out.push(bare(EventBody::DraftsClosed { keep: false }));
        }
    }
}

fn bare(body: EventBody) -> Event {
    Event { at: None, turn: None, thread: None, body }
}

/// A message being written.
#[derive(Debug)]
struct Draft {
    id: String,
    text: String,
    thinking: String,
}

/// The running state of one session.
#[derive(Debug, Default)]
struct Fold {
    turns: u64,
    /// The turn that goes on.
    turn: Option<String>,
    stopped: bool,
    draft: Option<Draft>,
    /// Messages that are shown, by item.
    shown: HashSet<String>,
    calls: HashMap<String, Call>,
    /// Requests that wait, in order: request, call.
    asked: Vec<(String, String)>,
    session: Option<Box<SessionObject>>,
    agent: Option<Box<Agent>>,
    state: SessionState,
}

/// Where the events of one frame go.
struct To<'a> {
    at: Option<Millis>,
    turn: Option<String>,
    out: &'a mut Vec<Event>,
}

impl To<'_> {
    fn push(&mut self, body: EventBody) {
        self.out.push(Event { at: self.at, turn: self.turn.clone(), thread: None, body });
    }
}

impl Fold {
    fn take(&mut self, read: Read, seen: Seen, out: &mut Vec<Event>) {
        let Read { at, form, name, raw, repaired } = read;
        let mut to = To { at, turn: self.turn.clone(), out };
        if repaired {
            let words = "Some bytes of this event were not valid text and were replaced.";
            let id = format!("utf8:{}", seen.position);
            to.push(notice(id, NoticeLevel::Warning, NoticeCode::BadUtf8, words, None));
        }
        let is_live = seen.origin == Origin::Stream;
        match form {
            Form::Nothing => {}
            Form::Session(_) | Form::Agent(_) if is_live => self.unknown(name, raw, seen, &mut to),
            Form::Session(session) => self.session_read(session, &mut to),
            Form::Agent(agent) => {
                let is_new = self.agent != agent;
                self.agent = agent;
                self.tell_setup(is_new, &mut to);
            }
            Form::Said { id, blocks } => {
                self.busy(&mut to);
                self.message(&id, Role::User, blocks, &mut to);
            }
            Form::Answered { call, granted, reason, output } => self.answered(&call, granted, reason, output, &mut to),
            Form::Cancelled => self.stopped = true,
            Form::Began { id } => self.began(id, &mut to),
            Form::Text(text) => self.write(&text, false, &mut to),
            Form::Thinking(text) => self.write(&text, true, &mut to),
            Form::Ended { id } => self.ended(&id, &mut to),
            Form::WholeText { id, text } => {
                self.busy(&mut to);
                self.message(&id, Role::Agent, vec![Block::Text(text)], &mut to);
            }
            Form::WholeThinking { id, text } => {
                self.busy(&mut to);
                to.push(EventBody::Thought { id: format!("{id}.t"), text, active: false });
            }
            Form::Call(called) => {
                self.busy(&mut to);
                self.called(&called, true, &mut to);
            }
            Form::Result { call, output } => self.result(&call, output, &mut to),
            Form::Error { code, message } => self.failed(code, message, seen, &mut to),
            Form::Idle => self.idle(&mut to),
            Form::Entry { id, said } => self.entry(&id, said, &mut to),
            Form::Unknown => self.unknown(name, raw, seen, &mut to),
            Form::Unreadable { cause } => {
                let words = format!("An event{} could not be read: {cause}.", named(&name));
                self.unknown(name, raw, seen, &mut to);
                let (level, code) = (NoticeLevel::Warning, NoticeCode::UnreadableFrame);
                to.push(notice(format!("unreadable:{}", seen.position), level, code, &words, None));
                told::reread(seen, words, to.out);
            }
            Form::Cut { size } => {
                let words = format!(
                    "An event{} of {} bytes is over this server's cap; only its beginning is kept.",
                    named(&name),
                    size.bytes
                );
                let (level, code) = (NoticeLevel::Warning, NoticeCode::TooLarge);
                to.push(notice(format!("cut:{}", seen.position), level, code, &words, Some(&raw)));
                told::reread(seen, words, to.out);
            }
        }
    }

    fn unknown(&self, what: String, raw: String, seen: Seen, to: &mut To<'_>) {
        to.push(EventBody::Unknown { id: format!("frame:{}", seen.position), what, raw });
    }

    fn status(&mut self, state: SessionState, to: &mut To<'_>) {
        if self.state != state {
            self.state.clone_from(&state);
            to.push(EventBody::Status(state));
        }
    }

    /// Something goes on: a turn, where none did.
    fn busy(&mut self, to: &mut To<'_>) {
        if self.turn.is_none() {
            self.turns += 1;
            self.stopped = false;
            self.turn = Some(format!("turn{}", self.turns));
            to.turn.clone_from(&self.turn);
            to.push(EventBody::TurnStarted);
        }
        if self.asked.is_empty() {
            self.status(SessionState::Running, to);
        }
    }

    /// A message, whole. Its thinking is shown before it, where the message was not shown already.
    fn message(&mut self, id: &str, role: Role, blocks: Vec<Block>, to: &mut To<'_>) {
        if self.draft.as_ref().is_some_and(|draft| draft.id == id) {
            self.draft = None;
        }
        if !self.shown.contains(id) {
            for (number, block) in blocks.iter().enumerate() {
                if let Block::Thinking(text) = block {
                    let thought = if number == 0 { format!("{id}.t") } else { format!("{id}.t{number}") };
                    to.push(EventBody::Thought { id: thought, text: text.clone(), active: false });
                }
            }
        }
        let is_empty = text_of(&blocks).trim().is_empty();
        let parts = parts_of(blocks);
        if parts.is_empty() || is_empty && parts.len() == 1 && role == Role::Agent && !has_picture(&parts) {
            return;
        }
        self.shown.insert(id.to_owned());
        let (id, state) = (id.to_owned(), MessageState::Done);
        to.push(EventBody::Message { id, replaces: None, role, parts, state });
    }

    /// A message begins, or begins again: its beginning is told anew.
    fn began(&mut self, id: String, to: &mut To<'_>) {
        self.busy(to);
        self.close_draft(to);
        if self.shown.contains(&id) {
            to.push(EventBody::Message {
                id: id.clone(),
                replaces: None,
                role: Role::Agent,
                parts: Vec::new(),
                state: MessageState::Streaming,
            });
        }
        self.draft = Some(Draft { id, text: String::new(), thinking: String::new() });
    }

    fn write(&mut self, text: &str, is_thinking: bool, to: &mut To<'_>) {
        if text.is_empty() {
            return;
        }
        self.busy(to);
        // Text without a beginning: a message all the same.
        let number = self.shown.len();
        let draft = self.draft.get_or_insert_with(|| Draft {
            id: format!("draft{number}"),
            text: String::new(),
            thinking: String::new(),
        });
        let (buffer, id, append) = if is_thinking {
            (&mut draft.thinking, format!("{}.t", draft.id), AppendTo::Thought)
        } else {
            (&mut draft.text, draft.id.clone(), AppendTo::Message)
        };
        if buffer.is_empty() {
            to.push(EventBody::DraftStarted { id: id.clone(), to: append.clone() });
        }
        buffer.push_str(text);
        to.push(EventBody::Append { id, to: append, part: 0, text: text.to_owned() });
    }

    fn ended(&mut self, id: &str, to: &mut To<'_>) {
        if self.draft.as_ref().is_some_and(|draft| draft.id == id) {
            self.close_draft(to);
        }
    }

    /// What was written is all there is of the message.
    fn close_draft(&mut self, to: &mut To<'_>) {
        let Some(Draft { id, text, thinking }) = self.draft.take() else { return };
        if !thinking.is_empty() {
            to.push(EventBody::Thought { id: format!("{id}.t"), text: thinking, active: false });
        }
        if !text.is_empty() {
            self.shown.insert(id.clone());
            let (role, parts, state) = (Role::Agent, vec![text_part(&text)], MessageState::Done);
            to.push(EventBody::Message { id, replaces: None, role, parts, state });
        }
    }

    /// One entry of the history: the same things, whole.
    fn entry(&mut self, id: &str, said: Said, to: &mut To<'_>) {
        match said.who {
            Who::User => self.message(id, Role::User, said.blocks, to),
            Who::System => self.message(id, Role::System, said.blocks, to),
            Who::Agent => {
                let calls: Vec<_> = said
                    .blocks
                    .iter()
                    .filter_map(|block| if let Block::Call(called) = block { Some(called.clone()) } else { None })
                    .collect();
                self.message(id, Role::Agent, said.blocks, to);
                for called in calls {
                    self.called(&called, false, to);
                }
            }
            Who::Tool(call) => self.result(&call, said.output.unwrap_or_else(|| super::wire::output(None)), to),
            Who::Other(what) => to.push(EventBody::Unknown { id: id.to_owned(), what, raw: said.raw }),
        }
    }

    fn failed(&mut self, code: Option<String>, message: String, seen: Seen, to: &mut To<'_>) {
        self.close_draft(to);
        let words = if message.is_empty() { "The agent failed." } else { &message };
        let id = format!("error:{}", seen.position);
        to.push(notice(id, NoticeLevel::Error, NoticeCode::ErrorFatal, words, code.as_deref()));
        self.over(StopReason::Error { message: (!message.is_empty()).then_some(message) }, to);
    }

    fn idle(&mut self, to: &mut To<'_>) {
        self.close_draft(to);
        if !self.asked.is_empty() {
            return;
        }
        let stop = if std::mem::take(&mut self.stopped) { StopReason::Stopped } else { StopReason::EndTurn };
        self.over(stop, to);
    }

    fn over(&mut self, stop: StopReason, to: &mut To<'_>) {
        if self.turn.take().is_some() {
            to.push(EventBody::TurnEnded { stop });
            self.asked.clear();
        }
        to.turn = None;
        self.status(SessionState::Idle, to);
    }
}

fn has_picture(parts: &[contract::item::Part]) -> bool {
    parts.iter().any(|part| !matches!(part, contract::item::Part::Text(_)))
}
