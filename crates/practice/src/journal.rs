//! The journal of a session or thread: everything its streams may carry, in order, and the events its lists hold.
//!
//! Previews are in the journal but never in a list; an event that is written again under its id (a queued message
//! that was picked up) is a second entry of the journal and replaces the first in the list (wire page §4, §6).

use std::{collections::HashMap, sync::Arc};

use bytes::Bytes;
use serde_json::Value;

/// What an entry is to a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A persisted event.
    Buffered,
    /// Live text of an event that is still being made; only for connections that asked for it.
    Preview(Previewed),
    /// Live text for every connection (D0).
    Flag,
    /// Bytes as they are (for misbehaving).
    Raw(Bytes),
}

/// What a preview previews.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Previewed {
    /// `agent.message`.
    Message,
    /// `agent.thinking`.
    Thinking,
}

/// A piece of a D1 message: pieces of one window are merged per connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Piece {
    /// Milliseconds since its message began, by the script.
    pub(crate) at_ms: u64,
    /// Its text.
    pub(crate) text: String,
}

/// One entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    /// The event's id; previews carry the id of the event they preview.
    pub(crate) id: String,
    /// Counts the buffered entries: the id of sessions with integer ids. 0 for others.
    pub(crate) serial: u64,
    /// The `event:` line.
    pub(crate) name: String,
    /// The `data:` line.
    pub(crate) json: String,
    /// What it is to a stream.
    pub(crate) kind: Kind,
    /// Set for D1 pieces.
    pub(crate) piece: Option<Piece>,
}

/// A persisted event as lists show it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Listed {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) at: String,
    pub(crate) value: Value,
}

/// The journal.
#[derive(Debug, Default)]
pub(crate) struct Journal {
    entries: Vec<Arc<Entry>>,
    listed: Vec<Listed>,
    places: HashMap<String, usize>,
    serials: u64,
    open: Option<String>,
    ended: bool,
}

/// Where a new stream begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    /// The first entry.
    pub(crate) from: usize,
    /// Entries below this one were there before the stream: their previews count only while `open`.
    pub(crate) connected: usize,
    /// The event whose previews were being made.
    pub(crate) open: Option<String>,
}

fn text_of(value: &Value, key: &str) -> String {
    value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
}

impl Journal {
    /// Persists an event, or replaces the one with its id.
    pub(crate) fn append(&mut self, value: Value, at: &str, piece: Option<Piece>) {
        let (id, name) = (text_of(&value, "id"), text_of(&value, "type"));
        self.serials += 1;
        self.entries.push(Arc::new(Entry {
            id: id.clone(),
            serial: self.serials,
            name: name.clone(),
            json: value.to_string(),
            kind: Kind::Buffered,
            piece,
        }));
        if self.open.as_deref() == Some(id.as_str()) {
            self.open = None;
        }
        match self.places.get(&id).and_then(|place| self.listed.get_mut(*place)) {
            Some(listed) => listed.value = value,
            None => {
                self.places.insert(id.clone(), self.listed.len());
                self.listed.push(Listed { id, name, at: at.to_owned(), value });
            }
        }
    }

    /// Live text of the event `id`.
    pub(crate) fn preview(&mut self, id: &str, previewed: Previewed, value: &Value) {
        self.open = Some(id.to_owned());
        self.push_live(id, text_of(value, "type"), value.to_string(), Kind::Preview(previewed));
    }

    /// Live text for every connection.
    pub(crate) fn flag(&mut self, id: &str, name: &str, value: &Value) {
        self.open = Some(id.to_owned());
        self.push_live(id, name.to_owned(), value.to_string(), Kind::Flag);
    }

    /// Bytes as they are, for the streams that are open now.
    pub(crate) fn raw(&mut self, bytes: Bytes) {
        self.push_live("", String::new(), String::new(), Kind::Raw(bytes));
    }

    fn push_live(&mut self, id: &str, name: String, json: String, kind: Kind) {
        self.entries.push(Arc::new(Entry { id: id.to_owned(), serial: 0, name, json, kind, piece: None }));
    }

    /// No previews of the open event will come any more (the model call failed or was stopped).
    pub(crate) fn close_preview(&mut self) {
        self.open = None;
    }

    /// Nothing comes any more: streams end after the last entry.
    pub(crate) fn end(&mut self) {
        self.ended = true;
    }

    pub(crate) fn is_ended(&self) -> bool {
        self.ended
    }

    pub(crate) fn entry(&self, at: usize) -> Option<Arc<Entry>> {
        self.entries.get(at).cloned()
    }

    pub(crate) fn listed(&self) -> &[Listed] {
        &self.listed
    }

    pub(crate) fn find(&self, id: &str) -> Option<&Listed> {
        self.listed.get(*self.places.get(id)?)
    }

    /// Where a stream begins: at the tail or the head without a cursor, else as the resume table of §6 says.
    /// `None` = the cursor is unknown.
    pub(crate) fn place(&self, cursor: Option<&str>, replay: bool) -> Option<Place> {
        let connected = self.entries.len();
        let from = match cursor {
            None if replay => 0,
            None => connected,
            Some(cursor) => self.after(cursor)?,
        };
        Some(Place { from, connected, open: self.open.clone() })
    }

    fn after(&self, cursor: &str) -> Option<usize> {
        let number = cursor.parse::<u64>().ok();
        let buffered = self
            .entries
            .iter()
            .rposition(|entry| entry.kind == Kind::Buffered && (entry.id == cursor || number == Some(entry.serial)));
        if let Some(at) = buffered {
            return Some(at + 1);
        }
        if self.open.as_deref() == Some(cursor) {
            return Some(self.entries.len());
        }
        self.entries.iter().rposition(|entry| entry.id == cursor).map(|at| at + 1)
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    fn message(id: &str) -> Value {
        json!({"id": id, "type": "agent.message"})
    }

    #[test]
    fn the_cursor_of_a_message_in_the_making_gives_only_what_comes() {
        let mut journal = Journal::default();
        journal.append(message("evt_1"), "", None);
        journal.preview("evt_2", Previewed::Message, &json!({"type": "event_start"}));
        journal.preview("evt_2", Previewed::Message, &json!({"type": "event_delta"}));
        let before = journal.place(Some("evt_1"), false).unwrap();
        assert_eq!((before.from, before.open.as_deref()), (1, Some("evt_2")));
        assert_eq!(journal.place(Some("evt_2"), false).unwrap().from, 3);
        journal.append(message("evt_2"), "", None);
        assert_eq!(journal.place(Some("evt_1"), false).unwrap().open, None);
        assert_eq!(journal.place(Some("evt_2"), false).unwrap().from, 4);
        assert_eq!(journal.place(Some("evt_9"), false), None);
    }

    #[test]
    fn an_event_written_again_is_streamed_twice_and_listed_once() {
        let mut journal = Journal::default();
        journal.append(json!({"id": "evt_1", "type": "user.message", "processed_at": null}), "a", None);
        journal.append(json!({"id": "evt_1", "type": "user.message", "processed_at": "b"}), "b", None);
        assert_eq!(journal.entries.len(), 2);
        assert_eq!(journal.listed().len(), 1);
        assert_eq!(journal.find("evt_1").unwrap().value["processed_at"], "b");
        assert_eq!(journal.place(Some("1"), false).unwrap().from, 1);
    }
}
