//! A frame as a row: the numbers for its enums, its checksum, and back.

use contract::wire::{Frame, FrameKind, Identity, LoggedFrame, Origin, TooLarge};
use rusqlite::{
    Row, ToSql,
    types::{ToSqlOutput, Value, ValueRef},
};

use crate::{
    StoreError,
    encode::{optional_text, text},
};

/// The columns [`logged_frame`] reads, in its order.
pub(crate) const COLUMNS: &str =
    "seq, position, origin, kind, event_id, thread, sse_id, name, repaired, too_large, received_at, checksum, data";

/// `frames.kind` of a buffered frame; the partial index is over these.
const BUFFERED: i64 = 1;

pub(crate) fn kind_number(kind: FrameKind) -> i64 {
    match kind {
        FrameKind::Preview => 0,
        FrameKind::Buffered => BUFFERED,
        FrameKind::Control => 2,
    }
}

pub(crate) fn origin_number(origin: Origin) -> i64 {
    match origin {
        Origin::Stream => 0,
        Origin::List => 1,
        Origin::History => 2,
        Origin::Answer => 3,
        Origin::Local => 4,
    }
}

fn kind(number: i64) -> Result<FrameKind, StoreError> {
    match number {
        0 => Ok(FrameKind::Preview),
        BUFFERED => Ok(FrameKind::Buffered),
        2 => Ok(FrameKind::Control),
        other => Err(StoreError::Damaged { detail: format!("a frame of kind {other}") }),
    }
}

fn origin(number: i64) -> Result<Origin, StoreError> {
    match number {
        0 => Ok(Origin::Stream),
        1 => Ok(Origin::List),
        2 => Ok(Origin::History),
        3 => Ok(Origin::Answer),
        4 => Ok(Origin::Local),
        other => Err(StoreError::Damaged { detail: format!("a frame of origin {other}") }),
    }
}

/// Text, or a number that stands for something no text can be confused with. Borrowed: nothing is copied per row.
#[derive(Clone, Copy)]
pub(crate) enum TextOr<'a> {
    Text(&'a str),
    Number(i64),
    Null,
}

impl ToSql for TextOr<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self {
            Self::Text(text) => ToSqlOutput::Borrowed(ValueRef::Text(text.as_bytes())),
            Self::Number(number) => ToSqlOutput::Owned(Value::Integer(*number)),
            Self::Null => ToSqlOutput::Owned(Value::Null),
        })
    }
}

/// `frames.thread`: 0 is the session's own, since an empty text could be a thread's id.
pub(crate) fn thread_column(identity: Option<&Identity>) -> TextOr<'_> {
    match identity.and_then(|identity| identity.thread.as_deref()) {
        Some(thread) => TextOr::Text(thread),
        None => TextOr::Number(0),
    }
}

/// `frames.sse_id`: most often it is the event's id, which then is not stored twice.
pub(crate) fn sse_id_column<'a>(frame: &'a Frame, identity: Option<&Identity>) -> TextOr<'a> {
    match (frame.id.as_deref(), identity) {
        (None, _) => TextOr::Null,
        (Some(id), Some(identity)) if id == identity.event_id => TextOr::Number(1),
        (Some(id), _) => TextOr::Text(id),
    }
}

/// A checksum over what was received, against damage on disk (not against people): FNV-1a over words of 8 bytes.
pub(crate) fn checksum(frame: &Frame) -> i64 {
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    let mut sum: u64 = 0xcbf2_9ce4_8422_2325;
    let mut mix = |word: u64| sum = (sum ^ word).wrapping_mul(PRIME).rotate_left(29);
    for part in [frame.id.as_deref(), frame.name.as_deref(), Some(frame.data.as_str())] {
        let bytes = part.unwrap_or_default().as_bytes();
        mix(part.map_or(u64::MAX, |part| part.len() as u64));
        let (words, rest) = bytes.as_chunks::<8>();
        words.iter().for_each(|word| mix(u64::from_le_bytes(*word)));
        mix(rest.iter().fold(0, |tail, byte| (tail << 8) | u64::from(*byte)));
    }
    sum.cast_signed()
}

/// A row with its `seq`. A frame that is not what was written is given back as what it is now, marked as repaired,
/// so that the person is told: a damaged row must not take its session with it.
pub(crate) fn logged_frame(row: &Row<'_>) -> Result<(i64, LoggedFrame), StoreError> {
    let identity = match optional_text(row, 4)? {
        None => None,
        Some(event_id) => Some(Identity { event_id, thread: optional_text(row, 5)? }),
    };
    let id = match row.get_ref(6)? {
        ValueRef::Integer(_) => identity.as_ref().map(|identity| identity.event_id.clone()),
        _ => optional_text(row, 6)?,
    };
    let too_large: Option<i64> = row.get(9)?;
    let mut frame = Frame {
        id,
        name: optional_text(row, 7)?,
        data: text(row, 12)?,
        repaired: row.get(8)?,
        too_large: too_large.map(|bytes| TooLarge { bytes: bytes.cast_unsigned() }),
    };
    let seq = row.get(0)?;
    if row.get::<_, i64>(11)? != checksum(&frame) {
        tracing::error!(seq, "a stored frame is not what was written");
        frame.repaired = true;
    }
    let logged = LoggedFrame {
        frame,
        origin: origin(row.get(2)?)?,
        kind: kind(row.get(3)?)?,
        identity,
        position: row.get(1)?,
        received_at: row.get(10)?,
    };
    Ok((seq, logged))
}
