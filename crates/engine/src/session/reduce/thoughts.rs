//! Thoughts: when they began, when they were over.

use contract::{
    Millis,
    item::{Item, ItemBody, ItemId, Thought},
    session::Activity,
};

use super::{Reducer, Stamp, transcript};

impl Reducer {
    pub(super) fn thought(&mut self, stamp: Stamp, id: ItemId, text: &str, active: bool) {
        let known = match self.transcript.get(&id).map(|item| &item.body) {
            Some(ItemBody::Thought(thought)) => Some((thought.text.clone(), thought.took_ms)),
            _ => None,
        };
        // A whole thought without text does not wipe out what was streamed.
        let text = match &known {
            Some((known, _)) if text.is_empty() => known.clone(),
            _ => self.transcript.keep(format!("{id}#thought"), text, transcript::MESSAGE_INLINE_BYTES),
        };
        let started = self.thinking.get(&id).copied();
        let took_ms = match (active, started) {
            (false, Some(started)) => u64::try_from(stamp.at - started).ok(),
            _ => known.and_then(|(_, took)| took),
        };
        if active {
            let began = self.thinking_since(stamp.at);
            self.thinking.entry(id.clone()).or_insert(began);
            self.activity = Some(Activity::Thinking);
            self.changes.header = true;
        } else {
            self.thinking.remove(&id);
        }
        self.drafts.retain(|draft| draft != &id);
        self.put(stamp, id, ItemBody::Thought(Thought { text, active, took_ms }));
    }

    /// Some servers tell of a thought when it begins, some when it is over. It began no earlier than its request to
    /// the model, and no earlier than what the agent did before it.
    pub(super) fn thinking_since(&self, at: Millis) -> Millis {
        let Some(asked) = self.turn.model_since() else { return at };
        asked.max(self.done_at.unwrap_or(asked)).min(at)
    }

    /// Thoughts that were open end when something else begins.
    pub(super) fn end_thinking(&mut self, at: Millis) {
        self.done_at = Some(at);
        if self.thinking.is_empty() {
            return;
        }
        for (id, started) in std::mem::take(&mut self.thinking) {
            if let Some(Item { body: ItemBody::Thought(thought), .. }) = self.transcript.get_mut(&id) {
                thought.active = false;
                thought.took_ms = u64::try_from(at - started).ok();
                self.changes.item(&id);
            }
        }
    }
}
