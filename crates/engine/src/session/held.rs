//! What the stream brought while the newest page of the history is read: it waits, so that it is placed behind that
//! page, but no server can make it wait without end.

use contract::{Millis, wire::Frame};

/// Bytes that may wait: beyond this they are taken in, and put in order when the page is there.
pub(super) const HELD_BYTES: usize = 8 * 1024 * 1024;

/// What is held of one read.
pub(super) enum Held {
    /// Frames, and when they came.
    Frames(Vec<Frame>, Millis),
    /// The cursor moves without a frame.
    Cursor(String),
}

impl Held {
    fn bytes(&self) -> usize {
        match self {
            Self::Frames(frames, _) => frames
                .iter()
                .map(|frame| {
                    size_of::<Frame>()
                        + frame.data.len()
                        + frame.id.as_ref().map_or(0, String::len)
                        + frame.name.as_ref().map_or(0, String::len)
                })
                .sum(),
            Self::Cursor(id) => size_of::<Self>() + id.len(),
        }
    }
}

/// All that is held, in the order of its arrival.
#[derive(Default)]
pub(super) struct HeldBack {
    reads: Vec<Held>,
    bytes: usize,
}

impl HeldBack {
    /// Holds this back, too.
    pub(super) fn hold(&mut self, held: Held) {
        self.bytes = self.bytes.saturating_add(held.bytes());
        self.reads.push(held);
    }

    /// Whether nothing is held.
    pub(super) fn is_empty(&self) -> bool {
        self.reads.is_empty()
    }

    /// Whether more is held than may wait.
    pub(super) fn is_full(&self) -> bool {
        self.bytes > HELD_BYTES
    }

    /// Takes everything out.
    pub(super) fn take(&mut self) -> Vec<Held> {
        self.bytes = 0;
        std::mem::take(&mut self.reads)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(bytes: usize) -> Frame {
        Frame { data: "x".repeat(bytes), ..Frame::default() }
    }

    #[test]
    fn s17_what_is_held_back_is_full_at_its_cap_whether_in_few_large_frames_or_many_small_ones() {
        for size in [0, 100, 1024 * 1024] {
            let mut held = HeldBack::default();
            let mut frames = 0;
            while !held.is_full() {
                held.hold(Held::Frames(vec![frame(size)], 0));
                frames += 1;
                assert!(frames <= HELD_BYTES / size.max(1) + HELD_BYTES / size_of::<Frame>() + 1, "{size}");
            }
            assert_eq!(held.take().len(), frames);
            assert!(held.is_empty() && !held.is_full());
        }
    }

    #[test]
    fn s17_cursors_without_frames_fill_it_as_well() {
        let mut held = HeldBack::default();
        while !held.is_full() {
            held.hold(Held::Cursor("i".repeat(10_000)));
        }
        assert!(held.take().len() <= HELD_BYTES / 10_000 + 1);
    }
}
