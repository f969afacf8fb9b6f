//! What of a session is shown and may also stand in its history.

use std::collections::HashMap;

use crate::reconcile::{Known, Piece};

/// What is shown, in order.
#[derive(Debug, Default)]
pub(super) struct Shown {
    pub known: Vec<Known>,
    /// How each call stands, by item.
    pub calls: HashMap<String, Fate>,
    /// Items made from histories so far.
    pub inserted: u64,
}

/// How a call stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// Nothing is known of its end.
    Open,
    /// It ended, and what came of it was never said.
    Silent,
    /// Its end and its output are known.
    Told,
}

impl Shown {
    /// Something is shown.
    pub(super) fn add(&mut self, id: &str, turn: Option<String>, piece: Piece, is_whole: bool) {
        self.known.push(Known { id: id.to_owned(), turn, piece, is_whole });
    }

    /// Something that is shown is known better. What changes stands near the end.
    pub(super) fn change(&mut self, id: &str, piece: Piece, is_whole: bool) {
        if let Some(known) = self.known.iter_mut().rev().find(|known| known.id == id) {
            known.piece = piece;
            known.is_whole = is_whole;
        }
    }

    /// What came of a call is known.
    pub(super) fn answered(&mut self, id: &str, text: &str) {
        if let Some(Known { piece: Piece::Call { output, .. }, .. }) =
            self.known.iter_mut().rev().find(|known| known.id == id)
        {
            *output = Some(text.to_owned());
        }
    }

    /// Calls of which no end is known, by item.
    pub(super) fn open_calls(&self) -> Vec<String> {
        self.known
            .iter()
            .filter(|known| self.calls.get(&known.id) == Some(&Fate::Open))
            .map(|known| known.id.clone())
            .collect()
    }

    /// The newest open call with this id of the server's.
    pub(super) fn open_call(&self, wanted: &str) -> Option<&Known> {
        self.known.iter().rev().find(|known| {
            matches!(&known.piece, Piece::Call { call, .. } if call == wanted)
                && self.calls.get(&known.id) == Some(&Fate::Open)
        })
    }
}
