//! A set of ids that only says whether one was seen: eight bytes each, however long the id.
//!
//! Hashed with the standard library's keyed hash, so that no server can make two ids meet on purpose.

use std::{
    collections::HashSet,
    hash::{BuildHasher, RandomState},
};

/// Ids that were seen.
#[derive(Debug, Default)]
pub(super) struct Ids {
    keys: RandomState,
    seen: HashSet<u64>,
}

impl Ids {
    /// Whether this id was seen.
    pub(super) fn contains(&self, id: &str) -> bool {
        !self.seen.is_empty() && self.seen.contains(&self.keys.hash_one(id))
    }

    /// Remembers an id; false where it was seen already.
    pub(super) fn insert(&mut self, id: &str) -> bool {
        self.seen.insert(self.keys.hash_one(id))
    }
}
