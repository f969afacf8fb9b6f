//! The fold of v3: what frames say, taken into the running state of their session.
//!
//! A turn begins with a message, stops for answers as often as its calls need them, and goes on with those answers until
//! it ends. Turns are counted here, so that a log that is read again gives the same ids.

mod ask;
mod beside;
mod calls;
pub(super) mod parse;
mod past;
mod read_past;
mod shown;
mod turn;

use contract::{
    event::{Event, EventBody},
    item::{MessageState, NoticeCode, NoticeLevel, Role},
    session::{SessionState, StopReason},
    wire::{Frame, Origin},
};

use self::{
    parse::{Form, Read},
    shown::{Fate, Shown},
    turn::{Sent, Turn},
};
use super::{
    agents::Agent,
    session_object::SessionObject,
    wire::{Block, Said, Who},
};
use crate::{
    Opened, Parsed, Seen, SessionCodec,
    reconcile::Piece,
    told::{self, Told, named, notice, text_part},
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

    fn turn_opened(&mut self, opened: &Opened, _seen: Seen, out: &mut Vec<Event>) {
        match opened {
            Opened::Message { id, text, images, .. } => {
                self.fold.message_sent(id, text, images, out);
            }
            Opened::Answers { answers } => self.fold.answers_sent(answers, out),
            // Nothing is taken up again here.
            Opened::Resume { .. } => {}
        }
    }

    fn connection_lost(&mut self, out: &mut Vec<Event>) {
        self.fold.lost(out);
    }
}

/// The words for a turn whose end was never told.
pub(super) const UNSAID: &str = "no stop marker";

/// The running state of one session.
#[derive(Debug, Default)]
struct Fold {
    /// Turns so far.
    turns: u64,
    /// The turn that goes on, or the last one.
    turn: Option<Turn>,
    shown: Shown,
    session: Option<Box<SessionObject>>,
    agent: Option<Box<Agent>>,
    state: SessionState,
    /// A turn goes on that is not ours.
    foreign: bool,
    /// A history that came while a turn of ours was told: it may be behind the stream, and is taken in after it.
    later: Option<String>,
}

impl Fold {
    /// A turn begins; the one before is over, whatever is known of it.
    fn begin(&mut self, out: &mut Vec<Event>) {
        if self.turn.as_ref().is_some_and(|turn| turn.is_open) {
            self.over(StopReason::Interrupted, out);
        }
        self.turns += 1;
        self.turn = Some(Turn::new(self.turns));
    }

    fn message_sent(&mut self, id: &str, text: &str, images: &[contract::command::SentImage], out: &mut Vec<Event>) {
        self.begin(out);
        let Some(turn) = self.turn.as_mut() else { return };
        turn.is_told = true;
        turn.sent.push(Sent::Message(id.to_owned()));
        let mut told = Told::new(Some(turn.id.clone()), out);
        if std::mem::take(&mut self.foreign) {
            told.push(EventBody::ForeignRun(false));
        }
        let mut parts = if text.is_empty() { Vec::new() } else { vec![text_part(text)] };
        parts.extend(images.iter().map(picture));
        self.shown.add(id, told.turn(), Piece::User(text.to_owned()), true);
        told.push(EventBody::TurnStarted);
        told.message(id, Role::User, parts, MessageState::Done);
        told.status(&mut self.state, SessionState::Running);
    }

    /// A stream of ours tells a turn.
    fn is_told(&self) -> bool {
        self.turn.as_ref().is_some_and(|turn| turn.is_open && turn.is_told)
    }

    /// Takes a frame in.
    fn take(&mut self, read: Read, seen: Seen, out: &mut Vec<Event>) {
        let Read { repaired, form, name, raw } = read;
        let turn = self.turn.as_ref().filter(|turn| turn.is_open).map(|turn| turn.id.clone());
        if repaired {
            let words = "Some bytes of this event were not valid text and were replaced.";
            let id = format!("utf8:{}", seen.position);
            Told::new(None, out).push(notice(id, NoticeLevel::Warning, NoticeCode::BadUtf8, words, None));
        }
        let unknown = |out: &mut Vec<Event>| {
            let (id, what) = (format!("frame:{}", seen.position), name.clone());
            Told::new(turn.clone(), out).push(EventBody::Unknown { id, what, raw: raw.clone() });
        };
        match form {
            Form::Nothing | Form::Start => {}
            Form::Unknown => unknown(out),
            // What answers beside a turn are named by means nothing in the turn's own answer.
            Form::Session(_) | Form::Agent(_) | Form::History | Form::Closed if seen.origin == Origin::Stream => {
                unknown(out);
            }
            Form::Session(session) => self.session_read(session, out),
            Form::Agent(agent) => self.agent_read(agent, seen, out),
            Form::History if self.is_told() => self.later = Some(raw),
            Form::History => self.history(&raw, seen, out),
            Form::Closed => self.closed(out),
            // Before a turn began, or behind its end, none should come: it is kept.
            Form::Turn { .. } if !self.is_told() => unknown(out),
            Form::Turn { stop, messages, pending } => self.whole(&stop, messages, pending, out),
            Form::Stop(reason) if self.is_told() => {
                self.close(MessageState::Done, out);
                self.stop(&reason, out);
                self.take_later(out);
            }
            // A second end.
            Form::Stop(_) => {}
            Form::Result { call, output } => {
                self.close(MessageState::Done, out);
                let id = self.turn.as_ref().map(|turn| turn.id.clone());
                self.result(&call, output, &mut Told::new(id, out));
            }
            // Before a turn began, or behind its end, nothing should come: it is kept.
            _ if !self.is_told()
                && matches!(
                    form,
                    Form::Text(_) | Form::Thinking(_) | Form::WholeText(_) | Form::WholeThinking(_) | Form::Call(_)
                ) =>
            {
                unknown(out)
            }
            Form::Text(text) => self.in_turn(out, |turn, shown, told| turn.write(&text, shown, told)),
            Form::Thinking(text) => self.in_turn(out, |turn, shown, told| turn.think(&text, shown, told)),
            Form::WholeText(text) => self.in_turn(out, |turn, shown, told| turn.say(&text, shown, told)),
            Form::WholeThinking(text) => self.in_turn(out, |turn, shown, told| turn.thought(&text, shown, told)),
            Form::Call(called) => {
                self.close(MessageState::Done, out);
                let id = self.turn.as_ref().map(|turn| turn.id.clone());
                self.called(&called, &mut Told::new(id, out));
            }
            Form::Unreadable { cause } => {
                unknown(out);
                let words = format!("An event{} could not be read: {cause}.", named(&name));
                let id = format!("unreadable:{}", seen.position);
                let (level, code) = (NoticeLevel::Warning, NoticeCode::UnreadableFrame);
                Told::new(turn, out).push(notice(id, level, code, &words, None));
                told::reread(seen, words, out);
                self.end_unread(&name, out);
            }
            Form::Cut { size } => {
                let words = format!(
                    "An event{} of {} bytes is over this server's cap; only its beginning is kept.",
                    named(&name),
                    size.bytes
                );
                let (level, code) = (NoticeLevel::Warning, NoticeCode::TooLarge);
                Told::new(turn, out).push(notice(format!("cut:{}", seen.position), level, code, &words, Some(&raw)));
                told::reread(seen, words, out);
                self.end_unread(&name, out);
            }
        }
    }

    /// A last word of which nothing else could be read: the turn is over all the same, and the history has the rest.
    fn end_unread(&mut self, name: &str, out: &mut Vec<Event>) {
        if matches!(name, "turn_stop" | "turn") && self.is_told() {
            self.closed(out);
        }
    }

    fn in_turn(&mut self, out: &mut Vec<Event>, say: impl FnOnce(&mut Turn, &mut Shown, &mut Told<'_>)) {
        let Some(turn) = self.turn.as_mut() else { return };
        let mut told = Told::new(Some(turn.id.clone()), out);
        say(turn, &mut self.shown, &mut told);
    }

    fn close(&mut self, state: MessageState, out: &mut Vec<Event>) {
        self.in_turn(out, |turn, shown, told| turn.close_texts(state, shown, told));
    }

    /// A turn that came whole: the same as if it had been told (page §2.1).
    fn whole(
        &mut self,
        stop: &str,
        messages: Vec<Said>,
        pending: Option<Vec<super::wire::Called>>,
        out: &mut Vec<Event>,
    ) {
        for said in messages {
            let id = self.turn.as_ref().map(|turn| turn.id.clone());
            match said.who {
                Who::Agent => self.agent_said(said.blocks, out),
                Who::Tool(call) => {
                    let output = said.output.unwrap_or_else(|| super::wire::output(None));
                    self.result(&call, output, &mut Told::new(id, out));
                }
                // Ours, said again, or nothing that a turn brings.
                Who::User | Who::System => {}
                Who::Other(what) => {
                    let number = out.len();
                    let id_of = format!("{}.x{number}", id.clone().unwrap_or_default());
                    Told::new(id, out).push(EventBody::Unknown { id: id_of, what, raw: said.raw });
                }
            }
        }
        self.stop(stop, out);
        if let Some(pending) = pending {
            self.pending(&pending, out);
        }
        self.take_later(out);
    }

    /// One message of the agent, whole. Thinking comes first, wherever the server puts it (page §7.9).
    fn agent_said(&mut self, blocks: Vec<Block>, out: &mut Vec<Event>) {
        let (thinking, rest): (Vec<Block>, Vec<Block>) =
            blocks.into_iter().partition(|block| matches!(block, Block::Thinking(_)));
        for block in thinking.into_iter().chain(rest) {
            match block {
                Block::Thinking(text) => self.in_turn(out, |turn, shown, told| turn.thought(&text, shown, told)),
                Block::Text(text) => self.in_turn(out, |turn, shown, told| turn.say(&text, shown, told)),
                Block::Part(part) => {
                    self.in_turn(out, |turn, shown, told| turn.say_parts("", vec![part], shown, told));
                }
                Block::Call(called) => {
                    let id = self.turn.as_ref().map(|turn| turn.id.clone());
                    self.called(&called, &mut Told::new(id, out));
                }
            }
        }
        self.close(MessageState::Done, out);
    }

    /// The stream ended, cleanly, without a last word (page §7.3): calls that wait are asked about, else the history says
    /// how it ended.
    fn closed(&mut self, out: &mut Vec<Event>) {
        if !self.is_told() {
            return;
        }
        self.close(MessageState::Done, out);
        let Some(turn) = self.turn.as_mut() else { return };
        turn.is_told = false;
        let id = turn.id.clone();
        let waits = if self.session.is_some() { !self.unanswered(&id).is_empty() } else { self.has_open_calls(&id) };
        if waits && self.ask(out) {
            return self.take_later(out);
        }
        if let Some(turn) = self.turn.as_mut() {
            turn.is_closed = true;
        }
        self.take_later(out);
    }

    fn has_open_calls(&self, turn: &str) -> bool {
        let mut of_turn = self.shown.known.iter().filter(|known| known.turn.as_deref() == Some(turn));
        of_turn.any(|known| self.shown.calls.get(&known.id) == Some(&Fate::Open))
    }

    /// The stream broke, or nobody listens any more. The server goes on, and its history will hold the rest (page §2.4).
    fn lost(&mut self, out: &mut Vec<Event>) {
        if !self.is_told() {
            return;
        }
        self.close(MessageState::Incomplete, out);
        if let Some(turn) = self.turn.as_mut() {
            turn.is_told = false;
        }
        // What was read before the end is older than what the server does now: it is read again.
        self.later = None;
    }

    /// The turn is over.
    fn over(&mut self, stop: StopReason, out: &mut Vec<Event>) {
        let Some(turn) = self.turn.as_mut().filter(|turn| turn.is_open) else { return };
        let mut told = Told::new(Some(turn.id.clone()), out);
        turn.close_texts(MessageState::Incomplete, &mut self.shown, &mut told);
        turn.is_open = false;
        turn.is_told = false;
        turn.wants_session = false;
        turn.asked.clear();
        let id = turn.id.clone();
        for known in self.shown.known.iter().filter(|known| known.turn.as_deref() == Some(id.as_str())) {
            if let Some(fate) = self.shown.calls.get_mut(&known.id).filter(|fate| **fate == Fate::Open) {
                *fate = Fate::Silent;
            }
        }
        told.push(EventBody::TurnEnded { stop });
        told.status(&mut self.state, SessionState::Idle);
    }

    fn take_later(&mut self, out: &mut Vec<Event>) {
        if let Some(raw) = self.later.take() {
            self.merge(&raw, out);
        }
    }
}

/// A picture of ours, as it is shown.
pub(super) fn picture(image: &contract::command::SentImage) -> contract::item::Part {
    if image.data.starts_with("https://") {
        contract::item::Part::Remote { what: "image".to_owned(), address: image.data.clone() }
    } else {
        told::image(&image.media_type, &image.data)
    }
}
