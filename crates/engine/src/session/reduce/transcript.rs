//! The items of one session in order, with the whole of their long texts.

use std::{
    collections::{BTreeMap, HashMap, HashSet, hash_map::Entry},
    sync::Arc,
};

use contract::item::{Item, ItemBody, ItemId, Part, TEXT_INLINE_BYTES, Text};

/// A message's text reaches the page whole up to this many bytes: people read messages, not fold them out.
pub const MESSAGE_INLINE_BYTES: usize = 256 * 1024;

/// Places within one frame's position: a frame makes at most this many items.
const PLACES: i64 = 16;

/// The items of one session.
#[derive(Debug, Default)]
pub struct Transcript {
    /// Boxed: what comes live fills a tree's nodes by halves, and an item is large.
    items: BTreeMap<i64, Box<Item>>,
    places: HashMap<ItemId, i64>,
    payloads: HashMap<String, Arc<str>>,
    /// Places from the first to the last of these are taken: one frame may make thousands of items, and each need not
    /// step over all before it.
    taken: Option<(i64, i64)>,
}

impl Transcript {
    /// How many items there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The item with this id.
    #[must_use]
    pub fn get(&self, id: &str) -> Option<&Item> {
        self.places.get(id).and_then(|order| self.items.get(order)).map(Box::as_ref)
    }

    /// The item with this id, to change it.
    pub fn get_mut(&mut self, id: &str) -> Option<&mut Item> {
        self.places.get(id).and_then(|order| self.items.get_mut(order)).map(Box::as_mut)
    }

    /// Inserts an item, or replaces the body of the one with its id, which keeps its place.
    pub fn put(&mut self, mut item: Item, position: i64) {
        match self.places.entry(item.id.clone()) {
            Entry::Occupied(place) => item.order = *place.get(),
            Entry::Vacant(place) => {
                let mut order = position.saturating_mul(PLACES);
                // What comes live stands behind everything: no place there is taken.
                if self.items.last_key_value().is_some_and(|(last, _)| *last >= order) {
                    let mut from = order;
                    if let Some((first, last)) = self.taken.filter(|(first, last)| (*first..=*last).contains(&order)) {
                        (from, order) = (first, last + 1);
                    }
                    while self.items.contains_key(&order) {
                        order += 1;
                    }
                    self.taken = Some((from, order));
                }
                item.order = *place.insert(order);
            }
        }
        self.items.insert(item.order, Box::new(item));
    }

    /// Takes an item out, with its long texts.
    pub fn remove(&mut self, id: &str) -> Option<Item> {
        let order = self.places.remove(id)?;
        if self.taken.is_some_and(|(first, last)| (first..=last).contains(&order)) {
            self.taken = None;
        }
        if !self.payloads.is_empty() {
            let prefix = format!("{id}#");
            self.payloads.retain(|handle, _| !handle.starts_with(&prefix));
        }
        self.items.remove(&order).map(|item| *item)
    }

    /// Puts these items in this order, wherever they stand; each other item stays behind the one it followed. Says
    /// whether that moved anything.
    pub fn arrange(&mut self, wanted: &[ItemId]) -> bool {
        let mut wanted: Vec<&ItemId> = wanted.iter().filter(|id| self.places.contains_key(*id)).collect();
        let mut seen = HashSet::new();
        wanted.retain(|id| seen.insert(*id));
        let current: Vec<i64> = wanted.iter().filter_map(|id| self.places.get(*id)).copied().collect();
        if current.is_sorted() {
            return false;
        }
        // What follows a named item goes with it; what stands before the first one stays there.
        let mut following: HashMap<&str, Vec<ItemId>> = HashMap::new();
        let mut sequence: Vec<ItemId> = Vec::with_capacity(self.items.len());
        let mut leader: Option<&str> = None;
        for item in self.items.values() {
            if seen.contains(&item.id) {
                leader = Some(&item.id);
            } else if let Some(leader) = leader {
                following.entry(leader).or_default().push(item.id.clone());
            } else {
                sequence.push(item.id.clone());
            }
        }
        for id in wanted {
            sequence.push(id.clone());
            sequence.extend(following.remove(id.as_str()).unwrap_or_default());
        }
        let orders: Vec<i64> = self.items.keys().copied().collect();
        let mut taken = std::mem::take(&mut self.items);
        for (id, order) in sequence.into_iter().zip(orders) {
            if let Some(mut item) = self.places.get(&id).and_then(|place| taken.remove(place)) {
                item.order = order;
                self.items.insert(order, item);
                self.places.insert(id, order);
            }
        }
        true
    }

    /// The last `limit` items before `before` (or of all), in order, and whether older ones exist.
    #[must_use]
    pub fn page(&self, before: Option<&str>, limit: usize) -> (Vec<Item>, bool) {
        let end = before.and_then(|id| self.places.get(id)).copied().unwrap_or(i64::MAX);
        let mut rows: Vec<Item> =
            self.items.range(..end).rev().take(limit + 1).map(|(_, item)| item.as_ref().clone()).collect();
        let has_older = rows.len() > limit;
        rows.truncate(limit);
        rows.reverse();
        (rows, has_older)
    }

    /// All items in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Item> {
        self.items.values().map(Box::as_ref)
    }

    /// A long text by its handle.
    #[must_use]
    pub fn payload(&self, handle: &str) -> Option<&Arc<str>> {
        self.payloads.get(handle)
    }

    /// Keeps a text under `handle` and gives what the page gets of it: the whole, or its beginning with the handle.
    pub fn keep(&mut self, handle: String, text: &str, inline: usize) -> Text {
        let chars = text.chars().count() as u64;
        if text.len() <= inline {
            self.payloads.remove(&handle);
            return Text { text: text.to_owned(), chars, handle: None };
        }
        let head = text.get(..floor_char_boundary(text, inline)).unwrap_or_default().to_owned();
        self.payloads.insert(handle.clone(), Arc::from(text));
        Text { text: head, chars, handle: Some(handle) }
    }

    /// Keeps a text of an item as [`Self::keep`] does. A short one is not copied.
    pub fn keep_own(&mut self, id: &str, what: &str, text: String, inline: usize) -> Text {
        if text.len() > inline {
            return self.keep(format!("{id}#{what}"), &text, inline);
        }
        if !self.payloads.is_empty() {
            self.payloads.remove(&format!("{id}#{what}"));
        }
        Text { chars: text.chars().count() as u64, text, handle: None }
    }

    /// Keeps the long texts of an item's parts.
    pub fn keep_parts(&mut self, id: &str, what: &str, mut parts: Vec<Part>, inline: usize) -> Vec<Part> {
        // Nearly every message and result: nothing of it is long, and nothing of it was.
        let is_short = |part: &Part| matches!(part, Part::Text(text) if text.text.len() <= inline);
        if self.payloads.is_empty() && parts.iter().all(is_short) {
            for part in &mut parts {
                if let Part::Text(text) = part {
                    text.handle = None;
                }
            }
            return parts;
        }
        parts
            .into_iter()
            .enumerate()
            .map(|(index, part)| {
                let handle = format!("{id}#{what}{index}");
                match part {
                    Part::Text(text) => Part::Text(self.keep(handle, &text.text, inline)),
                    Part::Unknown { what, raw } => {
                        Part::Unknown { what, raw: self.keep(handle, &raw.text, TEXT_INLINE_BYTES) }
                    }
                    // The wire's own bytes stand in `handle` until here: the page gets only the name to ask by.
                    Part::Image { media_type, handle: encoded, bytes } => {
                        self.payloads.insert(handle.clone(), Arc::from(encoded));
                        Part::Image { media_type, handle, bytes }
                    }
                    Part::Remote { .. } | Part::Redacted => part,
                }
            })
            .collect()
    }

    /// The text that search looks through.
    #[must_use]
    pub fn search_text(&self, item: &Item) -> String {
        let mut out = String::new();
        let mut add = |text: &Text| {
            let whole = text.handle.as_ref().and_then(|handle| self.payloads.get(handle));
            out.push_str(whole.map_or(text.text.as_str(), |whole| whole));
            out.push('\n');
        };
        let parts = |parts: &[Part], add: &mut dyn FnMut(&Text)| {
            for part in parts {
                match part {
                    Part::Text(text) | Part::Unknown { raw: text, .. } => add(text),
                    Part::Image { .. } | Part::Remote { .. } | Part::Redacted => {}
                }
            }
        };
        match &item.body {
            ItemBody::Message(message) => parts(&message.parts, &mut add),
            ItemBody::Thought(thought) => add(&thought.text),
            ItemBody::Tool(tool) => {
                add(&Text { text: tool.name.clone(), ..Text::default() });
                add(&tool.input);
                parts(&tool.output, &mut add);
            }
            ItemBody::Notice(notice) => add(&Text { text: notice.text.clone(), ..Text::default() }),
            ItemBody::Artifact(artifact) => add(&Text { text: artifact.name.clone(), ..Text::default() }),
            ItemBody::Unknown(unknown) => add(&unknown.raw),
            ItemBody::Marker(_) => {}
        }
        out
    }
}

/// The greatest index at or below `at` that does not split a character.
pub fn floor_char_boundary(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use contract::item::{Thought, Unknown};
    use pretty_assertions::assert_eq;

    use super::*;

    fn item(id: &str) -> Item {
        Item {
            id: id.into(),
            order: 0,
            turn: None,
            thread: None,
            at: 0,
            body: ItemBody::Thought(Thought { text: Text::default(), active: false, took_ms: None }),
        }
    }

    fn ids(transcript: &Transcript) -> Vec<&str> {
        transcript.iter().map(|item| item.id.as_str()).collect()
    }

    #[test]
    fn items_stand_by_position_and_keep_their_place_when_replaced() {
        let mut transcript = Transcript::default();
        transcript.put(item("b"), 2);
        transcript.put(item("a"), -3);
        transcript.put(item("b2"), 2);
        transcript.put(item("b"), 9);
        assert_eq!(ids(&transcript), ["a", "b", "b2"]);
    }

    #[test]
    fn a_frame_of_very_many_items_costs_no_more_for_each_and_a_free_place_is_taken_again() {
        let mut transcript = Transcript::default();
        transcript.put(item("later"), 5_000);
        let many: Vec<String> = (0..200_000).map(|number| number.to_string()).collect();
        for id in &many {
            transcript.put(item(id), 1);
        }
        transcript.put(item("behind"), 2);
        let mut wanted: Vec<&str> = many.iter().map(String::as_str).collect();
        let before_later = 5_000 * 16 - 16;
        wanted.insert(before_later, "later");
        wanted.push("behind");
        assert_eq!(ids(&transcript), wanted);
        transcript.remove("7");
        transcript.put(item("instead"), 1);
        assert_eq!(ids(&transcript)[7], "instead");
    }

    #[test]
    fn arranged_items_move_and_take_along_what_followed_them() {
        let mut transcript = Transcript::default();
        for (position, id) in ["first", "a", "a's thought", "c", "c's notice", "late b"].into_iter().enumerate() {
            transcript.put(item(id), i64::try_from(position).unwrap());
        }
        let wanted = ["a", "late b", "gone", "c"].map(ItemId::from);
        assert!(transcript.arrange(&wanted));
        assert_eq!(ids(&transcript), ["first", "a", "a's thought", "late b", "c", "c's notice"]);
        assert!(transcript.iter().all(|item| transcript.get(&item.id).is_some_and(|found| found.order == item.order)));
        assert!(!transcript.arrange(&wanted), "it stands so already");
    }

    #[test]
    fn a_page_ends_before_the_named_item() {
        let mut transcript = Transcript::default();
        for n in 0..5 {
            transcript.put(item(&n.to_string()), n);
        }
        let (page, older) = transcript.page(Some("3"), 2);
        assert_eq!((page.iter().map(|item| item.id.as_str()).collect::<Vec<_>>(), older), (vec!["1", "2"], true));
        let (page, older) = transcript.page(None, 9);
        assert_eq!((page.len(), older), (5, false));
    }

    #[test]
    fn a_long_text_is_cut_between_characters_and_read_whole_by_its_handle() {
        let mut transcript = Transcript::default();
        let text = "东".repeat(10);
        let kept = transcript.keep("x#0".into(), &text, 4);
        assert_eq!((kept.text.as_str(), kept.chars), ("东", 10));
        assert_eq!(transcript.payload(&kept.handle.unwrap()).unwrap().as_ref(), text);
    }

    #[test]
    fn removing_an_item_forgets_its_long_texts() {
        let mut transcript = Transcript::default();
        let mut unknown = item("u");
        unknown.body =
            ItemBody::Unknown(Unknown { what: String::new(), raw: transcript.keep("u#raw".into(), "long", 1) });
        transcript.put(unknown, 0);
        assert!(transcript.payload("u#raw").is_some());
        transcript.remove("u");
        assert!(transcript.payload("u#raw").is_none());
    }
}
