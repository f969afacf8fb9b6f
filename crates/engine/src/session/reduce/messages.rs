//! Messages and drafts.

use contract::{
    event::AppendTo,
    item::{Item, ItemBody, ItemId, Message, MessageState, Part, Role, Text, Thought, ToolCall, ToolState},
    session::Activity,
};

use super::{Reducer, Stamp, transcript::MESSAGE_INLINE_BYTES};

impl Reducer {
    pub(super) fn message(
        &mut self,
        stamp: Stamp,
        id: ItemId,
        replaces: Option<&str>,
        role: Role,
        parts: Vec<Part>,
        state: MessageState,
    ) {
        if role == Role::Agent {
            self.end_thinking(stamp.at);
        }
        if role == Role::User && self.transcript.get(&id).is_none() {
            self.take_over_local(&id, &parts);
        }
        let mut stamp = stamp;
        if let Some(draft) = replaces.filter(|draft| *draft != id)
            && self.transcript.remove(draft).is_some()
        {
            self.changes.item_gone(draft);
            self.drafts.retain(|open| open != draft);
        }
        if let Some(known) = self.transcript.get(&id) {
            stamp.turn = stamp.turn.or_else(|| known.turn.clone());
        }
        if role == Role::Agent && state == MessageState::Streaming {
            if !self.drafts.contains(&id) {
                self.drafts.push(id.clone());
            }
        } else {
            self.drafts.retain(|open| open != &id);
        }
        let parts = self.transcript.keep_parts(&id, "", parts, MESSAGE_INLINE_BYTES);
        self.put(stamp, id, ItemBody::Message(Message { role, parts, state }));
    }

    /// A message of ours is shown before the server has it. It stands at the end, whatever comes meanwhile.
    pub fn local_message(&mut self, id: &str, text: &str, state: MessageState, at: i64) {
        let parts = vec![Part::Text(Text { text: text.to_owned(), chars: text.chars().count() as u64, handle: None })];
        if !self.local.iter().any(|(known, _)| known == id) {
            self.local.push((id.to_owned(), text.to_owned()));
        }
        let stamp = Stamp { at, turn: None, thread: None, position: LOCAL_POSITION };
        self.put(stamp, id.to_owned(), ItemBody::Message(Message { role: Role::User, parts, state }));
    }

    /// A message of ours is no longer shown as such (the server has it, or it went back to the queue).
    pub fn drop_local_message(&mut self, id: &str) {
        self.local.retain(|(known, _)| known != id);
        if self.transcript.remove(id).is_some() {
            self.changes.item_gone(id);
        }
    }

    /// The server shows a message: where it is one of ours that is still on its way, ours makes room for it.
    fn take_over_local(&mut self, server_id: &str, parts: &[Part]) {
        let text: String = parts
            .iter()
            .filter_map(|part| if let Part::Text(text) = part { Some(text.text.as_str()) } else { None })
            .collect();
        if let Some(index) = self.local.iter().position(|(_, ours)| *ours == text) {
            let (id, _) = self.local.remove(index);
            if self.transcript.remove(&id).is_some() {
                self.changes.item_gone(&id);
            }
            self.effects.arrived.push((id, server_id.to_owned()));
        }
    }

    pub(super) fn draft_started(&mut self, stamp: &Stamp, id: &str, to: &AppendTo) {
        if self.is_whole(id) {
            return;
        }
        self.activity = Some(match to {
            AppendTo::Message | AppendTo::ToolInput { .. } => Activity::Writing,
            AppendTo::Thought => Activity::Thinking,
        });
        self.changes.header = true;
        if matches!(to, AppendTo::Message) {
            self.end_thinking(stamp.at);
        }
        if !self.drafts.iter().any(|open| open == id) {
            self.drafts.push(id.to_owned());
        }
        let body = match to {
            AppendTo::Message => {
                ItemBody::Message(Message { role: Role::Agent, parts: Vec::new(), state: MessageState::Streaming })
            }
            AppendTo::Thought => {
                self.thinking.entry(id.to_owned()).or_insert(stamp.at);
                ItemBody::Thought(Thought { text: Text::default(), active: true, took_ms: None })
            }
            AppendTo::ToolInput { name } => ItemBody::Tool(announced(name)),
        };
        self.put(stamp.clone(), id.to_owned(), body);
    }

    pub(super) fn append(&mut self, stamp: &Stamp, id: &str, to: &AppendTo, part: u32, text: &str) {
        if self.is_whole(id) {
            return;
        }
        if self.transcript.get(id).is_none() {
            self.draft_started(stamp, id, to);
        }
        let Some(item) = self.transcript.get_mut(id) else { return };
        match &mut item.body {
            ItemBody::Message(message) => {
                let index = part as usize;
                if index == message.parts.len() {
                    message.parts.push(Part::Text(Text::default()));
                    self.changes.item(id);
                }
                if let Some(Part::Text(open)) = message.parts.get_mut(index) {
                    open.text.push_str(text);
                    open.chars += text.chars().count() as u64;
                    self.changes.append(id, Some(part), text);
                }
            }
            ItemBody::Thought(thought) => {
                thought.text.text.push_str(text);
                thought.text.chars += text.chars().count() as u64;
                self.changes.append(id, None, text);
            }
            ItemBody::Tool(tool) => {
                tool.input.text.push_str(text);
                tool.input.chars += text.chars().count() as u64;
                self.changes.append(id, None, text);
            }
            ItemBody::Notice(_) | ItemBody::Marker(_) | ItemBody::Artifact(_) | ItemBody::Unknown(_) => {}
        }
    }

    /// Whether the item is there in its final form, so that a replayed preview must not touch it.
    fn is_whole(&self, id: &str) -> bool {
        match self.transcript.get(id).map(|item| &item.body) {
            Some(ItemBody::Message(message)) => message.state != MessageState::Streaming,
            Some(ItemBody::Tool(tool)) => {
                tool.state != ToolState::Announced || !self.drafts.iter().any(|open| open == id)
            }
            Some(ItemBody::Thought(_)) => !self.drafts.iter().any(|open| open == id),
            Some(_) => true,
            None => false,
        }
    }

    pub(super) fn drafts_closed(&mut self, keep: bool) {
        for id in std::mem::take(&mut self.drafts) {
            self.thinking.remove(&id);
            let Some(item) = self.transcript.get_mut(&id) else { continue };
            if keep && !is_empty_draft(item) {
                match &mut item.body {
                    ItemBody::Message(message) => message.state = MessageState::Incomplete,
                    ItemBody::Thought(thought) => thought.active = false,
                    ItemBody::Tool(tool) => tool.state = ToolState::Cancelled,
                    ItemBody::Notice(_) | ItemBody::Marker(_) | ItemBody::Artifact(_) | ItemBody::Unknown(_) => {}
                }
                self.changes.item(&id);
            } else {
                self.transcript.remove(&id);
                self.changes.item_gone(&id);
            }
        }
    }
}

/// Behind everything the server will ever send in one connection.
const LOCAL_POSITION: i64 = 1 << 46;

fn is_empty_draft(item: &Item) -> bool {
    match &item.body {
        ItemBody::Message(message) => message.parts.is_empty(),
        ItemBody::Thought(thought) => thought.text.text.is_empty(),
        ItemBody::Tool(_)
        | ItemBody::Notice(_)
        | ItemBody::Marker(_)
        | ItemBody::Artifact(_)
        | ItemBody::Unknown(_) => false,
    }
}

fn announced(name: &str) -> ToolCall {
    ToolCall {
        name: name.to_owned(),
        source: None,
        input: Text::default(),
        command: None,
        subject: None,
        state: ToolState::Announced,
        output: Vec::new(),
        started_at: None,
        ended_at: None,
        request: None,
    }
}
