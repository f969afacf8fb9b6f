//! Bytes to frames: cuts an event stream into whole blocks and has `eventsource-stream` read each one.
//!
//! Alone that parser panics on a byte-order mark, hangs after one bad UTF-8 byte, forgets ids and takes quadratic
//! time on large events. Given one complete, valid block at a time it does none of that, so the [`Splitter`] does
//! what happens *between* blocks: byte-order mark, line ends, UTF-8 repair, caps, and the `id:` and `retry:` of
//! blocks without data. It promises that any chunking of the same bytes gives the same pieces, in linear time.

mod fields;
mod line;
mod oversize;

use std::{ops::Range, time::Duration};

use contract::wire::{Frame, TooLarge};
use memchr::{memchr, memchr_iter};

use self::{
    line::{Line, classify, last_id},
    oversize::Oversize,
};

pub use self::fields::FieldParserError;

/// The default cap on one line and on one event (bytes).
pub const DEFAULT_EVENT_CAP: usize = 64 * 1024 * 1024;

/// Above this, the scratch memory of a large event is given back once the event is done (bytes).
const SCRATCH_KEPT: usize = 1024 * 1024;

const BYTE_ORDER_MARK: [u8; 3] = [0xEF, 0xBB, 0xBF];

/// What the wire said, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// A block with data.
    Frame(Frame),
    /// A block without data that moved the cursor; empty resets it (WHATWG HTML 9.2.6, `id`).
    Cursor(String),
    /// The server named its reconnection time (WHATWG HTML 9.2.6, `retry`).
    Retry(Duration),
    /// One or more comment lines: a heartbeat.
    Comment,
}

/// Cuts bytes into blocks and blocks into [`Piece`]s. One per connection.
#[derive(Debug)]
pub struct Splitter {
    cap: usize,
    /// How many bytes of a byte-order mark were seen; `None` once the start of the stream is behind us.
    mark: Option<usize>,
    after_cr: bool,
    /// Blocks that did not lie in one chunk: complete ones first, then the open one from `open.at` on.
    arena: Vec<u8>,
    open: Open,
    tail: Tail,
    oversize: Option<Oversize>,
    steps: Vec<Step>,
    unix: Vec<u8>,
}

/// What is known of the block that has no blank line yet.
#[derive(Debug, Default)]
struct Open {
    at: usize,
    size: usize,
    has_data: bool,
    has_id: bool,
    named: bool,
}

/// The line that has no end yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tail {
    None,
    /// Not kept: comments mean nothing, however long.
    Comment,
    /// Starts here in the arena.
    Line(usize),
}

#[derive(Debug)]
enum Step {
    Block(Block),
    Cursor(String),
    Retry(Duration),
    Comment,
}

#[derive(Debug)]
struct Block {
    place: Place,
    has_id: bool,
    named: bool,
    too_large: Option<TooLarge>,
}

#[derive(Debug)]
enum Place {
    Chunk(Range<usize>),
    Arena(Range<usize>),
    Repaired(String),
}

fn part(bytes: &[u8], range: Range<usize>) -> &[u8] {
    bytes.get(range).unwrap_or_default()
}

impl Default for Splitter {
    fn default() -> Self {
        Self::new(DEFAULT_EVENT_CAP)
    }
}

impl Splitter {
    /// A splitter for one connection. `cap` bounds one event, and with it one line (bytes, comments and the
    /// closing blank line not counted, each line end counted as one byte).
    pub fn new(cap: usize) -> Self {
        Self {
            cap,
            mark: Some(0),
            after_cr: false,
            arena: Vec::new(),
            open: Open::default(),
            tail: Tail::None,
            oversize: None,
            steps: Vec::new(),
            unix: Vec::new(),
        }
    }

    /// Takes the next bytes, however they were cut, and appends what they complete to `pieces`.
    ///
    /// # Errors
    /// [`FieldParserError`] where the field parser gives no event for a complete block with data. Nothing a
    /// server sends does that; the connection is to be dropped, for frames would be missing from it.
    pub fn push(&mut self, chunk: &[u8], pieces: &mut Vec<Piece>) -> Result<(), FieldParserError> {
        let Some(seen) = self.mark else { return self.text(chunk, pieces) };
        let wanted = BYTE_ORDER_MARK.get(seen..).unwrap_or_default();
        let same = wanted.iter().zip(chunk).take_while(|(a, b)| a == b).count();
        let rest = chunk.get(same..).unwrap_or_default();
        if same == wanted.len() {
            self.mark = None;
            return self.text(rest, pieces);
        }
        if rest.is_empty() {
            self.mark = Some(seen + same);
            return Ok(());
        }
        self.mark = None;
        self.text(part(&BYTE_ORDER_MARK, 0..seen + same), pieces)?;
        self.text(rest, pieces)
    }

    /// Ends the stream. A block without its blank line is dropped, as the standard says (WHATWG HTML 9.2.6, end
    /// of file); the answer is how many of its bytes were, comments not counted.
    pub fn finish(self) -> u64 {
        if let Some(oversize) = self.oversize {
            return oversize.wire_bytes();
        }
        (self.arena.len() - self.open.at + self.mark.unwrap_or(0)) as u64
    }

    fn text(&mut self, mut bytes: &[u8], pieces: &mut Vec<Piece>) -> Result<(), FieldParserError> {
        if self.after_cr && !bytes.is_empty() {
            self.after_cr = false;
            bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
        }
        let Some(first) = memchr(b'\r', bytes) else { return self.lines(bytes, pieces) };
        let mut unix = std::mem::take(&mut self.unix);
        unix.clear();
        let mut next = Some(first);
        while let Some(at) = next {
            let (line, end) = bytes.split_at(at);
            unix.extend_from_slice(line);
            unix.push(b'\n');
            bytes = match end {
                [_, b'\n', rest @ ..] => rest,
                // A CR ends its line at once; whether an LF belongs to it shows with the next byte.
                [_] => {
                    self.after_cr = true;
                    &[]
                }
                [_, rest @ ..] => rest,
                [] => &[],
            };
            next = memchr(b'\r', bytes);
        }
        unix.extend_from_slice(bytes);
        let done = self.lines(&unix, pieces);
        self.unix = unix;
        done
    }

    /// Takes bytes whose lines end in LF.
    fn lines(&mut self, text: &[u8], pieces: &mut Vec<Piece>) -> Result<(), FieldParserError> {
        let mut at = 0;
        while at < text.len() {
            let rest = part(text, at..text.len());
            let Some(oversize) = &mut self.oversize else {
                at = self.scan(text, at);
                continue;
            };
            let steps = &mut self.steps;
            match oversize.take(rest, |step| steps.push(step)) {
                None => break,
                Some(used) => {
                    at += used;
                    self.close_oversize();
                }
            }
        }
        let mut steps = std::mem::take(&mut self.steps);
        let done = fields::read(&mut steps, text, &self.arena, pieces);
        steps.clear();
        self.steps = steps;
        self.drop_read_blocks();
        done
    }

    /// Looks at the lines of `text` from `from` on and gives back where it stopped: at the end, or where the open
    /// block went over the cap.
    fn scan(&mut self, text: &[u8], from: usize) -> usize {
        // The open block is what the arena holds from `open.at` on, followed by `text[kept..]`.
        let mut kept = from;
        let mut line_at = from;
        for end in memchr_iter(b'\n', part(text, from..text.len())).map(|end| from + end) {
            let next = end + 1;
            let line = match self.tail {
                Tail::None => part(text, line_at..end),
                Tail::Comment => b":",
                Tail::Line(start) => {
                    self.arena.extend_from_slice(part(text, line_at..end));
                    let line = start..self.arena.len();
                    self.arena.push(b'\n');
                    kept = next;
                    self.arena.get(line).unwrap_or_default()
                }
            };
            let size = line.len() + 1;
            match classify(line) {
                Line::Blank => {
                    self.close(text, kept..next);
                    kept = next;
                    line_at = next;
                    continue;
                }
                Line::Comment => {
                    self.steps.push(Step::Comment);
                    self.arena.extend_from_slice(part(text, kept..line_at));
                    self.tail = Tail::None;
                    kept = next;
                    line_at = next;
                    continue;
                }
                Line::Data(_) => self.open.has_data = true,
                Line::Event(name) => self.open.named = !name.is_empty(),
                Line::Id(id) => self.open.has_id |= !id.contains(&0),
                Line::Retry(after) => self.steps.extend(line::retry(after).map(Step::Retry)),
                Line::Other => {}
            }
            self.tail = Tail::None;
            self.open.size += size;
            line_at = next;
            if self.open.size > self.cap {
                self.go_oversize(part(text, kept..next));
                return next;
            }
        }
        let partial = part(text, line_at..text.len());
        match (self.tail, partial.first()) {
            (Tail::None, Some(b':')) => {
                self.arena.extend_from_slice(part(text, kept..line_at));
                self.tail = Tail::Comment;
            }
            (Tail::Comment, _) => {}
            (Tail::None, first) => {
                self.arena.extend_from_slice(part(text, kept..text.len()));
                if first.is_some() {
                    self.tail = Tail::Line(self.arena.len() - partial.len());
                }
            }
            (Tail::Line(_), _) => self.arena.extend_from_slice(partial),
        }
        if self.arena.len() - self.open.at > self.cap {
            self.go_oversize(&[]);
        }
        text.len()
    }

    fn close(&mut self, text: &[u8], rest: Range<usize>) {
        let open = std::mem::take(&mut self.open);
        let place = if self.arena.len() > open.at {
            self.arena.extend_from_slice(part(text, rest));
            Place::Arena(open.at..self.arena.len())
        } else {
            Place::Chunk(rest)
        };
        if open.has_data {
            self.steps.push(Step::Block(Block { place, has_id: open.has_id, named: open.named, too_large: None }));
        } else {
            if open.has_id {
                let block = match place {
                    Place::Chunk(range) => part(text, range),
                    Place::Arena(range) => part(&self.arena, range),
                    Place::Repaired(_) => &[],
                };
                self.steps.extend(last_id(block).map(Step::Cursor));
            }
            self.arena.truncate(open.at);
        }
        self.open.at = self.arena.len();
    }

    fn go_oversize(&mut self, rest: &[u8]) {
        let mut oversize = Oversize::default();
        // The steps of these lines were taken already.
        oversize.take(part(&self.arena, self.open.at..self.arena.len()), |_| {});
        oversize.take(rest, |_| {});
        self.arena.truncate(self.open.at);
        self.tail = Tail::None;
        self.oversize = Some(oversize);
    }

    fn close_oversize(&mut self) {
        let Some(oversize) = self.oversize.take() else { return };
        let at = self.open.at;
        match oversize.close(&mut self.arena) {
            oversize::Closed::Data { has_id, named, bytes } => {
                let place = Place::Arena(at..self.arena.len());
                self.steps.push(Step::Block(Block { place, has_id, named, too_large: Some(TooLarge { bytes }) }));
            }
            oversize::Closed::Cursor(id) => self.steps.push(Step::Cursor(id)),
            oversize::Closed::Nothing => {}
        }
        self.open = Open { at: self.arena.len(), ..Open::default() };
    }

    fn drop_read_blocks(&mut self) {
        self.arena.drain(..self.open.at.min(self.arena.len()));
        if let Tail::Line(start) = &mut self.tail {
            *start = start.saturating_sub(self.open.at);
        }
        self.open.at = 0;
        if self.arena.capacity() > SCRATCH_KEPT && self.arena.len() < SCRATCH_KEPT / 4 {
            self.arena.shrink_to(SCRATCH_KEPT / 4);
        }
        if self.unix.capacity() > SCRATCH_KEPT {
            self.unix = Vec::new();
        }
    }
}

#[cfg(test)]
mod tests;
