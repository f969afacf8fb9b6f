//! Raw messages (D2 of the Qoder page's section 8): `agent.message_start` … `agent.message_stop`, block by block.
//!
//! Text blocks are the parts of one message; thinking and calls are items of their own. Every frame is kept by the log
//! and has an id of its own, so a frame that comes again is told by that id.

use contract::{
    event::{AppendTo, EventBody},
    item::{MessageState, Part, Role},
};

use super::{
    super::{
        parts::text_part,
        said::{BlockKind, Chunk},
    },
    Draft, Drafts, Origin, ShownThought, append, tell,
};

impl Drafts {
    /// A frame of a raw message; `id` is the frame's own.
    pub(in super::super) fn chunk(&mut self, id: &str, message: &str, chunk: Chunk, out: &mut Vec<EventBody>) {
        if self.over.contains(message) {
            return;
        }
        if !id.is_empty() && !self.chunks.entry(message.to_owned()).or_default().insert(id) {
            return;
        }
        match chunk {
            Chunk::Start => self.begin_again(message, out),
            Chunk::BlockStart { index, kind } => self.block_start(message, index, kind, out),
            Chunk::Delta { index, text } => self.block_delta(message, index, text, out),
            Chunk::BlockStop { index } => self.block_stop(message, index, out),
            Chunk::Stop => self.message_stop(message, out),
            Chunk::Other => {}
        }
    }

    /// The same message from its beginning: what was shown of it goes.
    fn begin_again(&mut self, message: &str, out: &mut Vec<EventBody>) {
        let before = self.open.len();
        self.open.retain(|draft| draft.message() != Some(message));
        if self.open.len() != before {
            self.tell_again(out);
        }
    }

    fn block_start(&mut self, message: &str, index: u32, kind: BlockKind, out: &mut Vec<EventBody>) {
        let side = |to: AppendTo, tool: Option<String>| Draft {
            id: format!("{message}:{index}"),
            to,
            texts: Vec::new(),
            origin: Origin::Block { message: message.to_owned(), index, tool },
        };
        let (draft, text) = match kind {
            BlockKind::Text(text) => return self.text_block(message, index, text, out),
            BlockKind::Thinking(text) => {
                self.thoughts.insert(message.to_owned());
                (side(AppendTo::Thought, None), text)
            }
            BlockKind::Tool { id, name } => (side(AppendTo::ToolInput { name }, id), String::new()),
            BlockKind::Other => return,
        };
        self.open.retain(|known| known.id != draft.id);
        out.push(EventBody::DraftStarted { id: draft.id.clone(), to: draft.to.clone() });
        self.open.push(draft);
        if !text.is_empty() {
            self.block_delta(message, index, text, out);
        }
    }

    fn text_block(&mut self, message: &str, index: u32, text: String, out: &mut Vec<EventBody>) {
        let position = self.text_draft(message).unwrap_or_else(|| {
            out.push(EventBody::DraftStarted { id: message.to_owned(), to: AppendTo::Message });
            self.open.push(Draft {
                id: message.to_owned(),
                to: AppendTo::Message,
                texts: Vec::new(),
                origin: Origin::Text { message: message.to_owned(), indexes: Vec::new() },
            });
            self.open.len() - 1
        });
        let Some(Draft { origin: Origin::Text { indexes, .. }, texts, .. }) = self.open.get_mut(position) else {
            return;
        };
        match indexes.iter().position(|known| *known == index) {
            Some(part) => {
                if let Some(old) = texts.get_mut(part) {
                    old.clear();
                    if let Some(draft) = self.open.get(position) {
                        tell(draft, out);
                    }
                }
            }
            None => {
                indexes.push(index);
                texts.push(String::new());
            }
        }
        if !text.is_empty() {
            self.block_delta(message, index, text, out);
        }
    }

    pub(super) fn text_draft(&self, message: &str) -> Option<usize> {
        self.open.iter().position(|draft| matches!(&draft.origin, Origin::Text { message: of, .. } if of == message))
    }

    fn block_delta(&mut self, message: &str, index: u32, text: String, out: &mut Vec<EventBody>) {
        if text.is_empty() {
            return;
        }
        let side = self.open.iter_mut().find(|draft| {
            matches!(&draft.origin, Origin::Block { message: of, index: at, .. } if of == message && *at == index)
        });
        if let Some(draft) = side {
            if append(&mut draft.texts, 0, &text) {
                out.push(EventBody::Append { id: draft.id.clone(), to: draft.to.clone(), part: 0, text });
            }
            return;
        }
        // A delta whose block never began (the start was missed) is text: the only kind without a name.
        let has_block = self
            .text_draft(message)
            .and_then(|position| self.open.get(position))
            .is_some_and(|draft| matches!(&draft.origin, Origin::Text { indexes, .. } if indexes.contains(&index)));
        if !has_block {
            self.text_block(message, index, String::new(), out);
        }
        let Some(draft) = self.text_draft(message).and_then(|position| self.open.get_mut(position)) else { return };
        let Origin::Text { indexes, .. } = &draft.origin else { return };
        let Some(part) = indexes.iter().position(|known| *known == index) else { return };
        if let (Some(known), Ok(part)) = (draft.texts.get_mut(part), u32::try_from(part)) {
            known.push_str(&text);
            out.push(EventBody::Append { id: draft.id.clone(), to: AppendTo::Message, part, text });
        }
    }

    /// A thought is whole with its block; text and calls wait for their own event.
    fn block_stop(&mut self, message: &str, index: u32, out: &mut Vec<EventBody>) {
        let position = self.open.iter().position(|draft| {
            draft.to == AppendTo::Thought
                && matches!(&draft.origin, Origin::Block { message: of, index: at, .. } if of == message && *at == index)
        });
        if let Some(position) = position {
            let draft = self.open.remove(position);
            let text = draft.texts.concat();
            self.due.push(ShownThought { message: message.to_owned(), text: text.clone() });
            out.push(EventBody::Thought { id: draft.id, text, active: false });
        }
    }

    /// The message is whole, though its own event is still to come (and will replace it).
    fn message_stop(&mut self, message: &str, out: &mut Vec<EventBody>) {
        if let Some(draft) = self.text_draft(message).and_then(|position| self.open.get(position)) {
            let parts: Vec<Part> =
                draft.texts.iter().filter(|text| !text.is_empty()).map(|text| text_part(text)).collect();
            if !parts.is_empty() {
                let id = draft.id.clone();
                out.push(EventBody::Message {
                    id,
                    replaces: None,
                    role: Role::Agent,
                    parts,
                    state: MessageState::Done,
                });
            }
        }
        self.chunks.remove(message);
        self.over.insert(message.to_owned());
    }
}
