//! What of a session is shown and may also stand in its history.

use std::collections::{HashMap, HashSet};

use crate::reconcile::{Known, Piece};

/// What is shown, in order.
#[derive(Debug, Default)]
pub(super) struct Shown {
    pub known: Vec<Known>,
    /// How each call stands, by item.
    pub calls: HashMap<String, Fate>,
    /// Items made from histories so far.
    pub inserted: u64,
    /// Texts that a stop cut off, by item: a history that has as much of them makes none of them whole.
    pub cut: HashSet<String>,
    /// Calls that the model's provider ran within a request, by item.
    pub at_server: HashSet<String>,
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

    /// What is shown as a history tells it: what an agent said around calls within one request is one text there. Each
    /// with the places, of what is shown, that it stands for.
    pub(super) fn as_told(&self) -> Vec<(Known, Vec<usize>)> {
        let mut told: Vec<(Known, Vec<usize>)> = Vec::with_capacity(self.known.len());
        // The text that the next one goes on, where only such calls came since.
        let mut open: Option<usize> = None;
        let mut goes_on = false;
        for (at, known) in self.known.iter().enumerate() {
            match &known.piece {
                Piece::Call { .. } if self.at_server.contains(&known.id) => goes_on = open.is_some(),
                Piece::Agent(text) if goes_on => {
                    goes_on = false;
                    if let Some((Known { piece: Piece::Agent(whole), is_whole, .. }, places)) =
                        open.and_then(|open| told.get_mut(open))
                    {
                        whole.push_str(text);
                        *is_whole = known.is_whole;
                        places.push(at);
                        continue;
                    }
                }
                Piece::Agent(_) => open = Some(told.len()),
                Piece::User(_) | Piece::Call { .. } | Piece::Summary(_) | Piece::Other(_) => {
                    (open, goes_on) = (None, false);
                }
            }
            told.push((known.clone(), vec![at]));
        }
        told
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
    /// The newest call with this id of the server's, behind the last message of a person, that was taken for one
    /// without an end.
    pub(super) fn silent_call(&self, wanted: &str) -> Option<&Known> {
        self.known.iter().rev().take_while(|known| !matches!(known.piece, Piece::User(_))).find(|known| {
            matches!(&known.piece, Piece::Call { call, .. } if call == wanted)
                && self.calls.get(&known.id) == Some(&Fate::Silent)
        })
    }
}
