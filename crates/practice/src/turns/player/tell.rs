//! How what happens is told: frames of a turn's own answer in v3, events of the session in v4. One draft is one message.

use bytes::Bytes;
use serde_json::json;
use tokio::sync::mpsc;

use super::Player;
use crate::{
    runs::stream::Item,
    session::now,
    turns::{
        log::{Event, Mode, piece},
        shape::{Block, CallOut, Content, Message, Part, ResultOut, Stamped, frame},
    },
};

/// The answer of a turn.
pub(in crate::turns) struct Turned {
    pub(in crate::turns) mode: Mode,
    pub(in crate::turns) out: mpsc::UnboundedSender<Item>,
}

/// Who hears it.
pub(super) enum Voice {
    Turn(Turned),
    Session,
}

/// The message that is being written.
#[derive(Debug, Default)]
pub(super) struct Draft {
    /// Its id, once it has begun.
    id: Option<String>,
    thinking: Option<String>,
    pub(super) text: Option<String>,
    ended: bool,
}

impl Draft {
    pub(super) fn is_empty(&self) -> bool {
        self.id.is_none()
    }
}

impl Player {
    /// Any bytes.
    pub(super) fn put(&self, bytes: Bytes) {
        match &self.voice {
            Voice::Turn(turned) => {
                // Nobody reads any more once the connection is closed; the turn goes on.
                let _ = turned.out.send(Item::Frame(bytes));
            }
            Voice::Session => self.log(Event::Raw(bytes)),
        }
    }

    pub(super) fn log(&self, event: Event) {
        self.with(|session| session.log.push(event));
    }

    pub(super) fn stamped<T>(&self, payload: T) -> Stamped<T> {
        Stamped { id: self.world.turns.next_id("evt"), timestamp: now(), payload }
    }

    fn frame(&self, name: &str, payload: &impl serde::Serialize) {
        if let Voice::Turn(turned) = &self.voice {
            let lost = self.manner.faults.lose_after_start && turned.mode == Mode::Message && name != "turn_start";
            if !lost {
                self.put(frame(name, payload));
            }
        }
    }

    pub(super) fn turn_start(&self) {
        self.frame("turn_start", &json!({}));
    }

    pub(super) fn turn_stop(&self, reason: &str) {
        if !self.manner.faults.no_turn_stop {
            self.frame("turn_stop", &json!({"stopReason": reason}));
        }
    }

    /// A piece of the message's thinking or text.
    pub(super) fn piece(&mut self, thinking: bool, text: &str) {
        if self.draft.id.is_none() {
            let id = self.world.turns.next_id("msg");
            if matches!(self.voice, Voice::Session) {
                self.log(Event::Start { id: id.clone() });
            }
            self.draft.id = Some(id);
        }
        let kept = if thinking { &mut self.draft.thinking } else { &mut self.draft.text };
        kept.get_or_insert_default().push_str(text);
        match &self.voice {
            Voice::Turn(turned) if turned.mode == Mode::Delta => self.put(piece(thinking, text)),
            Voice::Turn(_) => {}
            Voice::Session => self.log(Event::Piece { thinking, text: text.to_owned() }),
        }
    }

    /// The thinking or the text is complete.
    pub(super) fn whole(&self, thinking: bool) {
        if !matches!(&self.voice, Voice::Turn(turned) if turned.mode == Mode::Message) {
            return;
        }
        match (thinking, &self.draft) {
            (true, draft) => {
                self.frame("thinking", &json!({"thinking": draft.thinking.as_deref().unwrap_or_default()}))
            }
            (false, draft) => self.frame("text", &json!({"text": draft.text.as_deref().unwrap_or_default()})),
        }
    }

    /// The message is complete; calls may still join it in the history.
    pub(super) fn end_message(&mut self) {
        let Some(id) = self.draft.id.clone().filter(|_| !self.draft.ended) else { return };
        self.draft.ended = true;
        if matches!(self.voice, Voice::Session) {
            let thought = self.draft.thinking.clone();
            let thinking = thought.map(|thinking| (self.world.turns.next_id("msg"), thinking));
            self.log(Event::End { id, timestamp: now(), thinking, text: self.draft.text.clone() });
        }
    }

    pub(super) fn tell_call(&self, call: &CallOut) -> Option<String> {
        match &self.voice {
            Voice::Turn(_) => {
                self.frame("tool_call", call);
                None
            }
            Voice::Session => {
                let stamped = self.stamped(call.clone());
                let id = stamped.id.clone();
                self.log(Event::Call(stamped));
                Some(id)
            }
        }
    }

    /// Gives the id the result has in the history.
    pub(super) fn tell_result(&self, result: &ResultOut) -> Option<String> {
        match &self.voice {
            Voice::Turn(_) => {
                self.frame("tool_result", result);
                None
            }
            Voice::Session => {
                let stamped = self.stamped(result.clone());
                let id = stamped.id.clone();
                self.log(Event::Result(stamped));
                Some(id)
            }
        }
    }

    /// The message and its calls are over: they are staged and joined to the history with all before.
    pub(super) fn close_draft(&mut self) {
        self.close_with(&[], None);
        self.commit();
    }

    /// The message joins what is staged, with these calls. `id` stands for a message that has only calls.
    pub(super) fn close_with(&mut self, calls: &[CallOut], id: Option<String>) {
        self.end_message();
        let draft = std::mem::take(&mut self.draft);
        let v4 = self.manner.is_v4();
        let thinking = draft.thinking.map(|thinking| Part::Thinking { thinking });
        let text = draft.text.map(|text| Part::Text { text });
        let mut parts = if self.manner.faults.text_before_thinking { [text, thinking] } else { [thinking, text] }
            .into_iter()
            .flatten()
            .collect::<Vec<_>>();
        parts.extend(calls.iter().cloned().map(|CallOut { tool_call_id, name, input }| {
            if v4 { Part::ToolCall { tool_call_id, name, input } } else { Part::ToolUse { tool_call_id, name, input } }
        }));
        if !parts.is_empty() {
            let blocks = parts.into_iter().map(Block::Known).collect();
            self.produce(Message::of("assistant", Content::Blocks(blocks)), draft.id.or(id));
        }
    }
}
