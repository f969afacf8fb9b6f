//! Lays a server's whole history beside what was shown already, and says what is the same, what was cut short and what
//! is missing. Pure; knows no protocol.
//!
//! Both sides are read in order and no thing is matched twice, so that texts that repeat match one to one. What only
//! we know (a prompt that failed, for instance) stays. One text of ours may be several of the history's, where an agent
//! went on without anything between; white space does not count, since servers trim.
//!
//! Summaries of a compaction are matched by themselves: where they stand is the history's to say.

mod order;
mod text;

use std::collections::HashMap;

use self::{
    order::{Pair, Token, aligned},
    text::{bare, rest_after},
};

/// One thing of a session, as the history or we have it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Piece {
    /// Something a person said.
    User(String),
    /// Something the agent said.
    Agent(String),
    /// A tool call.
    Call {
        /// The server's id for it; may repeat in one session.
        call: String,
        /// The tool.
        name: String,
        /// The arguments as JSON.
        arguments: String,
        /// What came of it, where that is known.
        output: Option<String>,
    },
    /// What a compaction left; empty where it was not said.
    Summary(String),
    /// Anything else, by its whole content.
    Other(String),
}

/// A piece that is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Known {
    /// The item.
    pub id: String,
    /// The turn it is shown in.
    pub turn: Option<String>,
    /// What it is.
    pub piece: Piece,
    /// False for a text that was cut off: more of it may be in the history.
    pub is_whole: bool,
}

/// What becomes of one piece, in the order of the history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Placed {
    /// It is shown already.
    Known {
        /// Which, of those shown.
        known: usize,
        /// Which, of the history: the first, where it is several.
        past: usize,
        /// Its text, where ours is not it: it was cut off.
        text: Option<String>,
    },
    /// It is missing.
    New {
        /// Which, of the history.
        past: usize,
    },
}

/// Lays `past` beside `known`.
pub(crate) fn reconcile(known: &[Known], past: &[Piece]) -> Vec<Placed> {
    let ours: Vec<Token<'_>> =
        known.iter().enumerate().filter_map(|(at, known)| Token::of(at, &known.piece, known.is_whole)).collect();
    let theirs: Vec<Token<'_>> = past.iter().enumerate().filter_map(|(at, piece)| Token::of(at, piece, true)).collect();
    let mut placed: Vec<Placed> = Vec::with_capacity(past.len());
    let mut from = 0;
    for Pair { our, their, covers } in aligned(&ours, &theirs) {
        let missing = theirs.get(from..their).unwrap_or_default();
        placed.extend(missing.iter().map(|token| Placed::New { past: token.at }));
        let covered = theirs.get(their..their + covers).unwrap_or_default();
        if let (Some(our), Some(first)) = (ours.get(our), covered.first()) {
            placed.push(Placed::Known { known: our.at, past: first.at, text: mended(our, covered) });
        }
        from = their + covers;
    }
    let missing = theirs.get(from..).unwrap_or_default();
    placed.extend(missing.iter().map(|token| Placed::New { past: token.at }));
    placed.extend(summaries(known, past));
    placed.sort_by_key(|placed| match placed {
        Placed::Known { past, .. } | Placed::New { past } => *past,
    });
    placed
}

/// All that is shown in its new order: as `ids` has it, and what only we know behind what it stood behind.
pub(crate) fn reordered(known: Vec<Known>, inserted: Vec<Known>, ids: &[String]) -> Vec<Known> {
    let place: HashMap<&str, usize> = ids.iter().enumerate().map(|(place, id)| (id.as_str(), place)).collect();
    let mut all: Vec<(usize, usize, Known)> = Vec::with_capacity(known.len() + inserted.len());
    // Zero is before everything the history names.
    let mut leader = 0;
    for (number, known) in known.into_iter().enumerate() {
        if let Some(own) = place.get(known.id.as_str()) {
            leader = own + 1;
            all.push((leader, 0, known));
        } else {
            all.push((leader, number + 1, known));
        }
    }
    for known in inserted {
        let own = place.get(known.id.as_str()).map_or(0, |own| own + 1);
        all.push((own, 0, known));
    }
    all.sort_by_key(|(leader, number, _)| (*leader, *number));
    all.into_iter().map(|(_, _, known)| known).collect()
}

/// The text of one that was cut off, as the history has it. Where that has several for it, they stay one: ours up to the
/// last of them, and that one whole.
fn mended(our: &Token<'_>, covered: &[Token<'_>]) -> Option<String> {
    let Piece::Agent(shown) = our.piece else { return None };
    if our.is_whole {
        return None;
    }
    let whole: usize = covered.iter().map(|token| token.bare.len()).sum();
    if our.bare.len() > whole {
        // The server kept less than it had told.
        return None;
    }
    let (last, before) = covered.split_last()?;
    let before: usize = before.iter().map(|token| token.bare.len()).sum();
    let Piece::Agent(text) = last.piece else { return None };
    let ours = shown.len() - rest_after(shown, before).len();
    Some(format!("{}{text}", shown.get(..ours)?))
}

/// Summaries: those with the same text, then in order those whose text was never said.
fn summaries(known: &[Known], past: &[Piece]) -> Vec<Placed> {
    let mut open: Vec<(usize, String, bool)> = known
        .iter()
        .enumerate()
        .filter_map(|(index, known)| match &known.piece {
            Piece::Summary(text) => Some((index, bare(text), known.is_whole)),
            Piece::User(_) | Piece::Agent(_) | Piece::Call { .. } | Piece::Other(_) => None,
        })
        .collect();
    let theirs: Vec<(usize, &String)> = past
        .iter()
        .enumerate()
        .filter_map(|(index, piece)| if let Piece::Summary(text) = piece { Some((index, text)) } else { None })
        .collect();
    let mut matched: Vec<Option<usize>> = Vec::with_capacity(theirs.len());
    for (_, text) in &theirs {
        let bare = bare(text);
        let found = open.iter().position(|(_, known, _)| *known == bare);
        matched.push(found.map(|found| open.remove(found).0));
    }
    open.retain(|(_, text, is_whole)| text.is_empty() || !is_whole);
    let mut unsaid = open.into_iter();
    theirs
        .into_iter()
        .zip(matched)
        .map(|((past, text), same)| match same {
            Some(known) => Placed::Known { known, past, text: None },
            None => match unsaid.next() {
                Some((known, ..)) => Placed::Known { known, past, text: Some(text.clone()) },
                None => Placed::New { past },
            },
        })
        .collect()
}

#[cfg(test)]
mod tests;
