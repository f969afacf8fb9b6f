//! Two sequences in order: the pairs that fit best, none of them crossing another.

use super::{Piece, text::bare};

/// What is paired.
#[derive(Debug)]
pub(super) struct Token<'a> {
    /// Which piece.
    pub at: usize,
    /// What it is.
    pub piece: &'a Piece,
    /// What is compared: a text without white space, arguments in one form.
    pub bare: String,
    /// It was not cut off.
    pub is_whole: bool,
}

/// One of ours with one of theirs, or with several that follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pair {
    /// Which of ours.
    pub our: usize,
    /// The first of theirs.
    pub their: usize,
    /// How many of theirs.
    pub covers: usize,
}

impl<'a> Token<'a> {
    /// `None` for what is not paired by its place.
    pub(super) fn of(at: usize, piece: &'a Piece, is_whole: bool) -> Option<Self> {
        let bare = match piece {
            Piece::User(text) | Piece::Agent(text) => bare(text),
            Piece::Call { arguments, .. } => serde_json::from_str::<serde_json::Value>(arguments)
                .map_or_else(|_| arguments.clone(), |value| value.to_string()),
            Piece::Other(raw) => raw.clone(),
            Piece::Summary(_) => return None,
        };
        Some(Self { at, piece, bare, is_whole })
    }

    fn is_said(&self) -> bool {
        matches!(self.piece, Piece::Agent(_))
    }
}

/// The best a pair can be.
const SAME: u32 = 8;
/// The beginning of it, or the same call under another id.
const ALIKE: u32 = 3;
/// Can only be told by where it stands.
const POSSIBLE: u32 = 1;

/// How well one of ours fits what begins at the first of these, and how many of them it covers; 0 = not at all.
fn fit(our: &Token<'_>, theirs: &[Token<'_>]) -> (u32, usize) {
    let Some(their) = theirs.first() else { return (0, 1) };
    let score = match (our.piece, their.piece) {
        (Piece::Agent(_), Piece::Agent(_)) => return said(our, theirs),
        (Piece::User(_), Piece::User(_)) => user(&our.bare, &their.bare),
        (
            Piece::Call { call: our_call, name: our_name, output: our_output, .. },
            Piece::Call { call: their_call, name: their_name, output: their_output, .. },
        ) => {
            // Ids repeat, and so do commands; a server may also have cut an output short.
            let differs = our_output.as_ref().zip(their_output.as_ref()).is_some_and(|(ours, theirs)| ours != theirs);
            match (our_call == their_call, our_name == their_name, our.bare == their.bare) {
                (true, true, true) if !differs => SAME,
                // Arguments that were never said, or not all of them.
                (true, true, false) if !differs => SAME - 1,
                (true, true, _) => ALIKE,
                (false, true, true) if !differs => ALIKE,
                _ => 0,
            }
        }
        (Piece::Other(ours), Piece::Other(theirs)) if ours == theirs => SAME,
        _ => 0,
    };
    (score, 1)
}

/// A text of ours may be several of theirs, and where it was cut off, the beginning of them or a little more.
fn said(our: &Token<'_>, theirs: &[Token<'_>]) -> (u32, usize) {
    let mut rest = our.bare.as_str();
    let mut covers = 0;
    for their in theirs.iter().take_while(|their| their.is_said()) {
        if rest == their.bare {
            return (SAME, covers + 1);
        }
        if let Some(more) = rest.strip_prefix(their.bare.as_str()) {
            rest = more;
            covers += 1;
        } else if their.bare.starts_with(rest) && !our.is_whole {
            return (ALIKE, covers + 1);
        } else {
            break;
        }
    }
    if our.is_whole || covers == 0 { (0, 1) } else { (ALIKE, covers) }
}

/// A server may write what `@` mentions stand for into the text, so a text with one can change altogether.
fn user(ours: &str, theirs: &str) -> u32 {
    if ours == theirs {
        SAME
    } else if !ours.is_empty() && theirs.contains(ours) {
        ALIKE
    } else if ours.contains('@') {
        POSSIBLE
    } else {
        0
    }
}

/// A table of this many fields at most; beyond, only what is the same is paired.
const CELLS: usize = 4_000_000;

/// The pairs, in order. Of pairs that fit alike the first counts: histories grow at their end.
pub(super) fn aligned(ours: &[Token<'_>], theirs: &[Token<'_>]) -> Vec<Pair> {
    let mut pairs = Vec::new();
    // What is the same at the beginning is nearly all there is, nearly always.
    let (mut our_head, mut their_head) = (0, 0);
    while let Some(our) = ours.get(our_head) {
        let (score, covers) = fit(our, theirs.get(their_head..).unwrap_or_default());
        if score != SAME {
            break;
        }
        pairs.push(Pair { our: our_head, their: their_head, covers });
        our_head += 1;
        their_head += covers;
    }
    let our_rest = ours.get(our_head..).unwrap_or_default();
    let their_rest = theirs.get(their_head..).unwrap_or_default();
    let rest = if our_rest.len().saturating_mul(their_rest.len()) <= CELLS {
        best(our_rest, their_rest)
    } else {
        first_come(our_rest, their_rest)
    };
    pairs.extend(rest.into_iter().map(|pair| Pair {
        our: pair.our + our_head,
        their: pair.their + their_head,
        ..pair
    }));
    pairs
}

/// The pairs with the greatest sum of fits.
fn best(ours: &[Token<'_>], theirs: &[Token<'_>]) -> Vec<Pair> {
    if ours.is_empty() || theirs.is_empty() {
        return Vec::new();
    }
    let width = theirs.len() + 1;
    // `sums` holds what the rest of both can give, counted from the end.
    let mut sums = vec![0_u32; (ours.len() + 1) * width];
    let sum = |sums: &[u32], our: usize, their: usize| sums.get(our * width + their).copied().unwrap_or(0);
    let fit_at = |our: &Token<'_>, their: usize| fit(our, theirs.get(their..).unwrap_or_default());
    for (our, token) in ours.iter().enumerate().rev() {
        for their in (0..theirs.len()).rev() {
            let skipped = sum(&sums, our + 1, their).max(sum(&sums, our, their + 1));
            let (score, covers) = fit_at(token, their);
            let taken = if score == 0 { 0 } else { score + sum(&sums, our + 1, their + covers) };
            if let Some(cell) = sums.get_mut(our * width + their) {
                *cell = skipped.max(taken);
            }
        }
    }
    let mut pairs = Vec::new();
    let (mut our, mut their) = (0, 0);
    while let Some(token) = ours.get(our).filter(|_| their < theirs.len()) {
        let here = sum(&sums, our, their);
        let (score, covers) = fit_at(token, their);
        if score > 0 && here == score + sum(&sums, our + 1, their + covers) {
            pairs.push(Pair { our, their, covers });
            our += 1;
            their += covers;
        } else if here == sum(&sums, our + 1, their) {
            our += 1;
        } else {
            their += 1;
        }
    }
    pairs
}

/// Each of ours with the next that is the same.
fn first_come(ours: &[Token<'_>], theirs: &[Token<'_>]) -> Vec<Pair> {
    let mut pairs = Vec::new();
    let mut from = 0;
    for (our, token) in ours.iter().enumerate() {
        let found = (from..theirs.len())
            .map(|their| (their, fit(token, theirs.get(their..).unwrap_or_default())))
            .find(|(_, (score, _))| *score == SAME);
        if let Some((their, (_, covers))) = found {
            pairs.push(Pair { our, their, covers });
            from = their + covers;
        }
    }
    pairs
}
