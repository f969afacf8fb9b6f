//! What travels between `sse`, `protocols` and `store`: a frame as received, and the cursor to resume after.
//! Not exported to the page.

use crate::Millis;

/// One SSE block as received (WHATWG HTML, "Server-sent events", 9.2.5 and 9.2.6), before anything reads its data.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Frame {
    /// The block's own `id:` field, verbatim. `None` where the block had none (or one with NUL, which the
    /// standard ignores); `Some("")` where it was empty, which resets the cursor.
    pub id: Option<String>,
    /// The `event:` field; `None` where it was missing or empty (then the standard's name is `message`).
    pub name: Option<String>,
    /// The `data:` lines joined by LF.
    pub data: String,
    /// Some bytes were not UTF-8 and were replaced by U+FFFD. Said to the person, never swallowed.
    pub repaired: bool,
    /// The block was over the cap: `data` holds only its first [`TOO_LARGE_KEPT`] bytes.
    pub too_large: Option<TooLarge>,
}

/// How much of a frame over the cap is kept (bytes).
pub const TOO_LARGE_KEPT: usize = 64 * 1024;

/// The size of a frame that was over the cap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooLarge {
    /// Bytes of the whole block as it came over the wire.
    pub bytes: u64,
}

/// The event id to resume after: opaque, never parsed, never sorted.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Cursor(pub String);

/// Where a stored frame came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Origin {
    /// A live event stream.
    Stream,
    /// One event of a page of the list endpoint.
    List,
    /// A whole history answer; replaces what it covers.
    History,
    /// A body that was not streamed.
    Answer,
    /// Written here: what we sent, gaps, drops, stops.
    Local,
}

/// What a frame is to the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FrameKind {
    /// Live text that a later buffered event replaces: shares ids, never moves the cursor, is not de-duplicated.
    Preview,
    /// A persisted event: unique by (session, thread, event id), and moves the cursor.
    Buffered,
    /// Heartbeats, `[DONE]`, stream errors and whatever has no identity: kept, never de-duplicated, never moves the cursor.
    Control,
}

/// Who an event is, apart from the SSE id it came with.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Identity {
    /// `data.id` (or the SSE id where data has none).
    pub event_id: String,
    /// The sub-agent thread whose copy this is; `None` for the session's own.
    pub thread: Option<String>,
}

/// A frame with everything the store needs to keep it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoggedFrame {
    /// The frame itself.
    pub frame: Frame,
    /// Where it came from.
    pub origin: Origin,
    /// What it is to the log.
    pub kind: FrameKind,
    /// Its identity, where it has one.
    pub identity: Option<Identity>,
    /// The place in the transcript: frames are replayed in this order. Live frames count up, history that is
    /// fetched backwards counts down.
    pub position: i64,
    /// When it was received.
    pub received_at: Millis,
}
