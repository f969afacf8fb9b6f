//! A block over the cap: what is kept of it while the rest runs by.
//!
//! Kept are the last event name, the last id and the first bytes of the data. They are written as a small block of
//! their own, which the field parser reads like any other; the frame says that it is too large and how large it was.

use contract::wire::TOO_LARGE_KEPT;
use memchr::memchr;

use super::{
    Step,
    line::{Line, classify, retry},
};

/// How much of one line is kept: all data that is kept at most, with room for the field's name.
const LINE_KEPT: usize = TOO_LARGE_KEPT + 16;

#[derive(Debug, Default)]
pub(super) struct Oversize {
    line: Vec<u8>,
    line_len: u64,
    name: Option<Vec<u8>>,
    id: Option<Vec<u8>>,
    /// Whole `data:` lines.
    data: Vec<u8>,
    data_len: usize,
    has_data: bool,
    cut: bool,
    bytes: u64,
}

pub(super) enum Closed {
    /// A block was written.
    Data {
        has_id: bool,
        named: bool,
        bytes: u64,
    },
    Cursor(String),
    Nothing,
}

impl Oversize {
    /// Takes bytes up to and with the blank line that ends the block; gives back how many those were, or `None`
    /// where the block goes on. `step` receives what lines mean by themselves.
    pub(super) fn take(&mut self, text: &[u8], mut step: impl FnMut(Step)) -> Option<usize> {
        let mut rest = text;
        while let Some(end) = memchr(b'\n', rest) {
            let (line, next) = rest.split_at(end);
            self.extend(line);
            rest = next.get(1..).unwrap_or_default();
            if self.line_len == 0 {
                return Some(text.len() - rest.len());
            }
            self.end_line(&mut step);
        }
        self.extend(rest);
        None
    }

    /// The bytes so far, comments not counted.
    pub(super) fn wire_bytes(&self) -> u64 {
        self.bytes + if self.line.first() == Some(&b':') { 0 } else { self.line_len }
    }

    /// Writes what was kept as a block at the end of `arena`.
    pub(super) fn close(self, arena: &mut Vec<u8>) -> Closed {
        if !self.has_data {
            return match self.id {
                Some(id) => Closed::Cursor(String::from_utf8_lossy(&id).into_owned()),
                None => Closed::Nothing,
            };
        }
        for (field, value) in [(b"event: ".as_slice(), &self.name), (b"id: ", &self.id)] {
            if let Some(value) = value {
                arena.extend_from_slice(field);
                arena.extend_from_slice(value);
                arena.push(b'\n');
            }
        }
        arena.extend_from_slice(&self.data);
        arena.push(b'\n');
        let named = self.name.is_some_and(|name| !name.is_empty());
        Closed::Data { has_id: self.id.is_some(), named, bytes: self.bytes }
    }

    fn extend(&mut self, bytes: &[u8]) {
        self.line_len += bytes.len() as u64;
        let room = LINE_KEPT - self.line.len();
        self.line.extend_from_slice(bytes.get(..room).unwrap_or(bytes));
    }

    fn end_line(&mut self, step: &mut impl FnMut(Step)) {
        let line = std::mem::take(&mut self.line);
        let whole = self.line_len == line.len() as u64;
        let kind = classify(&line);
        if kind != Line::Comment {
            self.bytes += self.line_len + 1;
        }
        match kind {
            Line::Comment => step(Step::Comment),
            Line::Retry(after) if whole => retry(after).into_iter().for_each(|after| step(Step::Retry(after))),
            // A cut name or id would be another name or id.
            Line::Event(name) if whole => self.name = Some(name.to_vec()),
            Line::Id(id) if whole && !id.contains(&0) => self.id = Some(id.to_vec()),
            Line::Data(value) => self.keep_data(value),
            _ => {}
        }
        self.line = line;
        self.line.clear();
        self.line_len = 0;
    }

    fn keep_data(&mut self, value: &[u8]) {
        let used = self.data_len + usize::from(self.has_data);
        self.has_data = true;
        if self.cut || used > TOO_LARGE_KEPT {
            self.cut = true;
            return;
        }
        let kept = match value.get(..TOO_LARGE_KEPT - used) {
            Some(start) if start.len() < value.len() => {
                self.cut = true;
                without_split_character(start)
            }
            _ => value,
        };
        self.data.extend_from_slice(b"data: ");
        self.data.extend_from_slice(kept);
        self.data.push(b'\n');
        self.data_len = used + kept.len();
    }
}

/// Our own cut may fall into a character; that is no fault of the server's and must not look like one.
fn without_split_character(bytes: &[u8]) -> &[u8] {
    let Some(last) = bytes.utf8_chunks().last() else { return bytes };
    let split = str::from_utf8(last.invalid()).is_err_and(|error| error.error_len().is_none());
    let whole = if split { bytes.len() - last.invalid().len() } else { bytes.len() };
    bytes.get(..whole).unwrap_or(bytes)
}
