//! Hands complete blocks to `eventsource-stream` and makes frames of its events.
//!
//! The parser copies what remains of its buffer after every line, so a large block is given to it line by line:
//! that keeps it linear. It forgets nothing between lines, so the result is the same.

use std::{
    convert::Infallible,
    slice,
    task::{Context, Poll, Waker},
};

use contract::wire::{Frame, TOO_LARGE_KEPT};
use eventsource_stream::EventStream;
use futures_util::{StreamExt, stream};
use memchr::memchr;

use super::{Block, Piece, Place, Step, part};

/// Up to this size a block is handed over whole (bytes): cheaper than line by line while there is little to copy.
const WHOLE: usize = 1024;

/// From this size on the spare room behind a frame's data is given back (bytes).
const SHRINK_FROM: usize = 64 * 1024;

/// The field parser gave no event for a complete block with data.
#[derive(Debug, thiserror::Error)]
#[error("the field parser gave no event for a complete block")]
pub struct FieldParserError;

/// Reads the blocks among `steps` and appends everything to `pieces`, in order.
pub(super) fn read(
    steps: &mut [Step],
    chunk: &[u8],
    arena: &[u8],
    pieces: &mut Vec<Piece>,
) -> Result<(), FieldParserError> {
    if steps.is_empty() {
        return Ok(());
    }
    repair(steps, chunk, arena);
    let feed = Feed { steps: steps.iter(), chunk, arena, rest: b":\n" };
    let mut events = EventStream::new(stream::iter(feed));
    let mut context = Context::from_waker(Waker::noop());
    for step in steps.iter() {
        let block = match step {
            Step::Block(block) => block,
            Step::Cursor(id) => {
                pieces.push(Piece::Cursor(id.clone()));
                continue;
            }
            Step::Retry(after) => {
                pieces.push(Piece::Retry(*after));
                continue;
            }
            Step::Comment => {
                if pieces.last() != Some(&Piece::Comment) {
                    pieces.push(Piece::Comment);
                }
                continue;
            }
        };
        let Poll::Ready(Some(Ok(event))) = events.poll_next_unpin(&mut context) else {
            return Err(FieldParserError);
        };
        let mut data = event.data;
        if block.too_large.is_some() {
            data.truncate(data.floor_char_boundary(TOO_LARGE_KEPT));
        }
        if data.len() > SHRINK_FROM {
            data.shrink_to_fit();
        }
        pieces.push(Piece::Frame(Frame {
            // The parser carries ids from block to block and names the nameless; the frame says what the block said.
            id: block.has_id.then_some(event.id),
            name: block.named.then_some(event.event),
            data,
            repaired: matches!(block.place, Place::Repaired(_)),
            too_large: block.too_large,
        }));
    }
    Ok(())
}

/// Replaces what is not UTF-8, block by block. A line end is never part of a longer character, so this gives what
/// repairing the whole stream at once would give.
fn repair(steps: &mut [Step], chunk: &[u8], arena: &[u8]) {
    let blocks = || {
        steps.iter().filter_map(|step| match step {
            Step::Block(Block { place: Place::Chunk(range), .. }) => Some(range),
            _ => None,
        })
    };
    let from = blocks().map(|range| range.start).min().unwrap_or(0);
    let to = blocks().map(|range| range.end).max().unwrap_or(0);
    let chunk_is_valid = str::from_utf8(part(chunk, from..to)).is_ok();
    for step in steps {
        let Step::Block(block) = step else { continue };
        let bytes = match &block.place {
            Place::Chunk(_) if chunk_is_valid => continue,
            Place::Chunk(range) => part(chunk, range.clone()),
            Place::Arena(range) => part(arena, range.clone()),
            Place::Repaired(_) => continue,
        };
        if str::from_utf8(bytes).is_err() {
            block.place = Place::Repaired(String::from_utf8_lossy(bytes).into_owned());
        }
    }
}

/// The blocks as the parser receives them. It starts with an empty comment: the parser takes a byte-order mark off
/// its very first text, wrongly, and a block may start with one that is none.
struct Feed<'a> {
    steps: slice::Iter<'a, Step>,
    chunk: &'a [u8],
    arena: &'a [u8],
    rest: &'a [u8],
}

impl<'a> Iterator for Feed<'a> {
    type Item = Result<&'a [u8], Infallible>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        while self.rest.is_empty() {
            let Step::Block(block) = self.steps.next()? else { continue };
            self.rest = match &block.place {
                Place::Chunk(range) => part(self.chunk, range.clone()),
                Place::Arena(range) => part(self.arena, range.clone()),
                Place::Repaired(text) => text.as_bytes(),
            };
        }
        let length = if self.rest.len() <= WHOLE {
            self.rest.len()
        } else {
            memchr(b'\n', self.rest).map_or(self.rest.len(), |end| end + 1)
        };
        let (now, rest) = self.rest.split_at(length);
        self.rest = rest;
        Some(Ok(now))
    }
}
