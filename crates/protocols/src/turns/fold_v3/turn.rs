//! One turn: its texts and thoughts as they come (page §2.2).

use contract::{
    event::{AppendTo, EventBody},
    item::{MessageState, Part, Role},
};

use super::shown::Shown;
use crate::{
    reconcile::Piece,
    told::{Told, text_part},
};

/// One turn.
#[derive(Debug)]
pub(super) struct Turn {
    /// `turn3`: the turn's id, and the beginning of its items' ids.
    pub id: String,
    /// It is not over.
    pub is_open: bool,
    /// A stream, or an answer, of ours tells it now.
    pub is_told: bool,
    /// Its stream ended without a last word, and cleanly: the server has nothing more to say.
    pub is_closed: bool,
    /// What it was begun or taken up with: the history has it where it arrived.
    pub sent: Vec<Sent>,
    /// It stopped for answers, and what is asked waits for the session to be read.
    pub wants_session: bool,
    /// What is asked and not settled: request, call.
    pub asked: Vec<(String, String)>,
    messages: u32,
    thoughts: u32,
    message: Option<Draft>,
    thought: Option<Draft>,
    /// The text that stands right before, where its thinking may come behind it.
    last_text: Option<String>,
}

/// What we sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Sent {
    /// A message, by its item.
    Message(String),
    /// The answer to a call, by its item.
    Answer(String),
}

/// A text being written.
#[derive(Debug)]
struct Draft {
    id: String,
    text: String,
    is_shown: bool,
}

impl Turn {
    pub fn new(number: u64) -> Self {
        Self {
            id: format!("turn{number}"),
            is_open: true,
            is_told: false,
            is_closed: false,
            sent: Vec::new(),
            wants_session: false,
            asked: Vec::new(),
            messages: 0,
            thoughts: 0,
            message: None,
            thought: None,
            last_text: None,
        }
    }

    /// Text of the agent. White space alone shows no message.
    pub fn write(&mut self, text: &str, shown: &mut Shown, told: &mut Told<'_>) {
        if text.is_empty() {
            return;
        }
        self.end_thought(told);
        let draft = match &mut self.message {
            Some(draft) => draft,
            None => {
                self.messages += 1;
                let id = format!("{}.m{}", self.id, self.messages);
                self.message.insert(Draft { id, text: String::new(), is_shown: false })
            }
        };
        draft.text.push_str(text);
        let append = if draft.is_shown {
            text.to_owned()
        } else if draft.text.trim().is_empty() {
            return;
        } else {
            draft.is_shown = true;
            shown.add(&draft.id, told.turn(), Piece::Agent(String::new()), false);
            told.push(EventBody::DraftStarted { id: draft.id.clone(), to: AppendTo::Message });
            draft.text.clone()
        };
        told.push(EventBody::Append { id: draft.id.clone(), to: AppendTo::Message, part: 0, text: append });
    }

    /// The whole text of one message.
    pub fn say(&mut self, text: &str, shown: &mut Shown, told: &mut Told<'_>) {
        let part = (!text.trim().is_empty()).then(|| text_part(text));
        self.say_parts(text, part.into_iter().collect(), shown, told);
    }

    /// The same with pictures.
    pub fn say_parts(&mut self, text: &str, parts: Vec<Part>, shown: &mut Shown, told: &mut Told<'_>) {
        self.close_texts(MessageState::Done, shown, told);
        if parts.is_empty() {
            return;
        }
        self.messages += 1;
        let id = format!("{}.m{}", self.id, self.messages);
        shown.add(&id, told.turn(), Piece::Agent(text.to_owned()), true);
        told.message(&id, Role::Agent, parts, MessageState::Done);
        self.last_text = Some(id);
    }

    pub fn think(&mut self, text: &str, shown: &mut Shown, told: &mut Told<'_>) {
        if text.is_empty() {
            return;
        }
        if self.thought.is_none() {
            self.close_texts(MessageState::Done, shown, told);
            let id = self.next_thought();
            told.push(EventBody::DraftStarted { id: id.clone(), to: AppendTo::Thought });
            self.thought = Some(Draft { id, text: String::new(), is_shown: true });
        }
        let Some(draft) = &mut self.thought else { return };
        draft.text.push_str(text);
        told.push(EventBody::Append { id: draft.id.clone(), to: AppendTo::Thought, part: 0, text: text.to_owned() });
    }

    /// The whole thinking of one message. It stands before the message's text, even where a server tells it behind it
    /// (page §7.9).
    pub fn thought(&mut self, text: &str, shown: &mut Shown, told: &mut Told<'_>) {
        if text.is_empty() {
            return;
        }
        let behind = self.last_text.clone();
        self.close_texts(MessageState::Done, shown, told);
        let id = self.next_thought();
        told.push(EventBody::Thought { id: id.clone(), text: text.to_owned(), active: false });
        if let Some(message) = behind {
            told.push(EventBody::Arranged { items: vec![id, message] });
        }
    }

    fn next_thought(&mut self) -> String {
        self.thoughts += 1;
        format!("{}.t{}", self.id, self.thoughts)
    }

    fn end_thought(&mut self, told: &mut Told<'_>) {
        if let Some(draft) = self.thought.take() {
            told.push(EventBody::Thought { id: draft.id, text: draft.text, active: false });
        }
    }

    /// Nothing more is added to what is being written.
    pub fn close_texts(&mut self, state: MessageState, shown: &mut Shown, told: &mut Told<'_>) {
        self.last_text = None;
        self.end_thought(told);
        let Some(draft) = self.message.take() else { return };
        if draft.is_shown {
            shown.change(&draft.id, Piece::Agent(draft.text.clone()), state == MessageState::Done);
            told.message(&draft.id, Role::Agent, vec![text_part(&draft.text)], state);
        }
    }
}
