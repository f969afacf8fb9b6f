//! What changed since the last flush, kept small: an item that changed ten times is sent once.

use std::{
    collections::HashSet,
    hash::{BuildHasher, BuildHasherDefault, Hasher, RandomState},
};

use contract::item::ItemId;

/// Changes not yet handed out.
#[derive(Debug, Default)]
pub struct Changes {
    items: Vec<ItemId>,
    /// The ids of `items`, hashed with a key of our own: no server can make two of them meet.
    dirty: HashSet<u64, BuildHasherDefault<AsItIs>>,
    keys: RandomState,
    appends: Vec<Append>,
    gone: Vec<ItemId>,
    requests: Vec<String>,
    requests_gone: Vec<String>,
    /// The header differs.
    pub header: bool,
    /// The header differs in what may follow a moment later: bars of the timeline, usage.
    pub header_soon: bool,
    /// Everything differs.
    pub reset: bool,
}

/// For numbers that a keyed hash gave: hashing them again would add nothing.
#[derive(Debug, Default)]
struct AsItIs(u64);

impl Hasher for AsItIs {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = number;
    }
}

/// Text to append to an item the page holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Append {
    /// The item.
    pub item: ItemId,
    /// The part of a message.
    pub part: Option<u32>,
    /// The text.
    pub text: String,
}

/// Changes taken out for sending.
#[derive(Debug, Default)]
pub struct Taken {
    /// Items new or changed, in the order of their first change.
    pub items: Vec<ItemId>,
    /// Appends to items that are not among `items`.
    pub appends: Vec<Append>,
    /// Items that are gone.
    pub gone: Vec<ItemId>,
    /// Requests new or changed.
    pub requests: Vec<String>,
    /// Requests that left the card area.
    pub requests_gone: Vec<String>,
    /// The header differs.
    pub header: bool,
    /// The header differs in what may follow a moment later: bars of the timeline, usage.
    pub header_soon: bool,
    /// Everything differs.
    pub reset: bool,
}

impl Changes {
    /// The whole item must be sent.
    pub fn item(&mut self, id: &str) {
        if self.dirty.insert(self.keys.hash_one(id)) {
            self.items.push(id.to_owned());
        }
    }

    fn is_dirty(&self, id: &str) -> bool {
        !self.dirty.is_empty() && self.dirty.contains(&self.keys.hash_one(id))
    }

    /// Text was appended; free when the whole item is to be sent anyway.
    pub fn append(&mut self, id: &str, part: Option<u32>, text: &str) {
        if self.is_dirty(id) {
            return;
        }
        match self.appends.last_mut() {
            Some(last) if last.item == id && last.part == part => last.text.push_str(text),
            _ => self.appends.push(Append { item: id.to_owned(), part, text: text.to_owned() }),
        }
    }

    /// The item is gone.
    pub fn item_gone(&mut self, id: &str) {
        if self.dirty.remove(&self.keys.hash_one(id)) {
            self.items.retain(|item| item != id);
        }
        self.appends.retain(|append| append.item != id);
        self.gone.push(id.to_owned());
    }

    /// The request must be sent.
    pub fn request(&mut self, id: &str) {
        if !self.requests.iter().any(|known| known == id) {
            self.requests.push(id.to_owned());
        }
    }

    /// The request left the card area.
    pub fn request_gone(&mut self, id: &str) {
        self.requests.retain(|known| known != id);
        self.requests_gone.push(id.to_owned());
    }

    /// Whether a request or a state is among them.
    #[must_use]
    pub fn cannot_wait(&self) -> bool {
        self.header || !self.requests.is_empty() || !self.requests_gone.is_empty()
    }

    /// Takes everything out.
    pub fn take(&mut self) -> Taken {
        let appends = std::mem::take(&mut self.appends);
        let taken = Taken {
            // An item that became dirty after a text was appended to it carries that text already.
            appends: appends.into_iter().filter(|append| !self.is_dirty(&append.item)).collect(),
            items: std::mem::take(&mut self.items),
            gone: std::mem::take(&mut self.gone),
            requests: std::mem::take(&mut self.requests),
            requests_gone: std::mem::take(&mut self.requests_gone),
            header: std::mem::take(&mut self.header),
            header_soon: std::mem::take(&mut self.header_soon),
            reset: std::mem::take(&mut self.reset),
        };
        self.dirty.clear();
        taken
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn text_for_an_item_that_is_gone_in_the_same_flush_is_not_sent() {
        let mut changes = Changes::default();
        changes.append("draft", Some(0), "some");
        changes.append("other", Some(0), "text");
        changes.item_gone("draft");
        let taken = changes.take();
        assert_eq!(taken.gone, ["draft"]);
        assert_eq!(taken.appends, [Append { item: "other".into(), part: Some(0), text: "text".into() }]);
    }
}
