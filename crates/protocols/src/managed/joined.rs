//! Repeated `agent.message` events that are one reply (D1 of the Qoder page's section 8; the seed page's "`agent.message`
//! may arrive as streaming deltas").
//!
//! No field tells a chunk from a message. Chunks are what the seed's servers send: the same `turn_id`, or no common
//! field at all as in the page's sample; no draft, no raw message; nothing but itself in between. Text is appended to
//! the first one's item, so that a long reply costs as much as its text.

use contract::{
    event::{AppendTo, EventBody},
    item::{MessageState, Part, Role},
};

use super::ids::Ids;

/// A reply that may go on.
#[derive(Debug)]
struct Reply {
    /// The first event's id: the item's.
    id: String,
    key: String,
    /// How many events it is made of.
    members: usize,
    parts: Vec<Part>,
    is_streaming: bool,
}

/// The reply that may go on, and which events are parts of one.
#[derive(Debug, Default)]
pub(super) struct Replies {
    open: Option<Reply>,
    /// Events that are part of a reply: folding one again must not show it alone.
    absorbed: Ids,
}

impl Replies {
    /// A whole `agent.message` that may be a chunk; `key` is its turn. `live`: more may follow.
    pub(super) fn take(&mut self, id: String, key: String, parts: Vec<Part>, live: bool, out: &mut Vec<EventBody>) {
        if !self.absorbed.insert(&id) {
            // Only a reply's first and still only event can be told anew.
            if let Some(reply) = self.open.as_mut().filter(|reply| reply.members == 1 && reply.id == id) {
                reply.parts = parts;
                out.push(reply.told(reply.is_streaming));
            }
            return;
        }
        if let Some(reply) = self.open.as_mut().filter(|reply| reply.key == key) {
            reply.members += 1;
            return reply.go_on(parts, live, out);
        }
        self.end(out);
        let reply = Reply { id, key, members: 1, parts, is_streaming: live };
        out.push(reply.told(live));
        self.open = Some(reply);
    }

    /// Whether this event is part of a reply.
    pub(super) fn holds(&self, id: &str) -> bool {
        self.absorbed.contains(id)
    }

    /// Something else came: the reply is whole.
    pub(super) fn end(&mut self, out: &mut Vec<EventBody>) {
        let Some(reply) = self.open.take() else { return };
        if reply.is_streaming {
            out.push(reply.told(false));
        }
    }

    /// Drafts were dropped: what of the reply stands in the log is told again.
    pub(super) fn tell_again(&self, out: &mut Vec<EventBody>) {
        if let Some(reply) = self.open.as_ref().filter(|reply| reply.is_streaming) {
            out.push(reply.told(true));
        }
    }
}

impl Reply {
    fn told(&self, streaming: bool) -> EventBody {
        EventBody::Message {
            id: self.id.clone(),
            replaces: None,
            role: Role::Agent,
            parts: self.parts.clone(),
            state: if streaming { MessageState::Streaming } else { MessageState::Done },
        }
    }

    /// Appends a chunk. Text continues the last text; anything else is told with the whole reply.
    fn go_on(&mut self, parts: Vec<Part>, live: bool, out: &mut Vec<EventBody>) {
        let mut appended = Vec::new();
        let mut is_plain = live && self.is_streaming;
        for part in parts {
            let last = self.parts.len().checked_sub(1);
            match (self.parts.last_mut(), part) {
                (Some(Part::Text(open)), Part::Text(more)) => {
                    open.text.push_str(&more.text);
                    open.chars += more.chars;
                    if let Some(part) = last.and_then(|last| u32::try_from(last).ok()) {
                        let to = AppendTo::Message;
                        appended.push(EventBody::Append { id: self.id.clone(), to, part, text: more.text });
                    }
                }
                (_, part) => {
                    self.parts.push(part);
                    is_plain = false;
                }
            }
        }
        if is_plain {
            out.append(&mut appended);
        } else {
            self.is_streaming = live;
            out.push(self.told(live));
        }
    }
}
