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
    /// Its end is known, and what came of it was never said.
    Silent,
    /// What came of it is known.
    Told,
}

impl Shown {
    pub fn add(&mut self, id: &str, turn: Option<String>, piece: Piece, is_whole: bool) {
        self.known.push(Known { id: id.to_owned(), turn, piece, is_whole });
    }

    /// Something that is shown is known better. What changes stands near the end.
    pub fn change(&mut self, id: &str, piece: Piece, is_whole: bool) {
        if let Some(known) = self.known.iter_mut().rev().find(|known| known.id == id) {
            known.piece = piece;
            known.is_whole = is_whole;
        }
    }

    /// The newest item of a call with this id of the server's.
    pub fn call(&self, wanted: &str) -> Option<&Known> {
        self.known.iter().rev().find(|known| matches!(&known.piece, Piece::Call { call, .. } if call == wanted))
    }

    /// How a call stands.
    pub fn fate(&self, item: &str) -> Fate {
        self.calls.get(item).copied().unwrap_or(Fate::Silent)
    }

    /// What came of a call is known.
    pub fn answered(&mut self, item: &str, text: &str) {
        self.calls.insert(item.to_owned(), Fate::Told);
        if let Some(Known { piece: Piece::Call { output, .. }, .. }) =
            self.known.iter_mut().rev().find(|known| known.id == item)
        {
            *output = Some(text.to_owned());
        }
    }

    /// Calls of which no end is known, by item.
    pub fn open_calls(&self) -> Vec<String> {
        let open = self.known.iter().filter(|known| self.calls.get(&known.id) == Some(&Fate::Open));
        open.map(|known| known.id.clone()).collect()
    }

    /// What is shown as a history tells it: there a message's text is one, where it was told with thoughts between. Each
    /// with the places, of what is shown, that it stands for.
    pub fn as_told(&self) -> (Vec<Known>, Vec<Vec<usize>>) {
        let mut told: Vec<Known> = Vec::with_capacity(self.known.len());
        let mut places: Vec<Vec<usize>> = Vec::with_capacity(self.known.len());
        for (at, known) in self.known.iter().enumerate() {
            if let (Piece::Agent(text), Some(last), Some(place)) = (&known.piece, told.last_mut(), places.last_mut())
                && last.turn == known.turn
                && let Piece::Agent(whole) = &mut last.piece
            {
                whole.push_str(text);
                last.is_whole = known.is_whole;
                place.push(at);
                continue;
            }
            told.push(known.clone());
            places.push(vec![at]);
        }
        (told, places)
    }
}
