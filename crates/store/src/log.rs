//! The log's write side: frames and the cursor they move, in one transaction.
//!
//! Buffered frames with an identity are unique by (session, thread, event id). One statement inserts, replaces or
//! leaves a row, and what it did is read from two counters SQLite keeps anyway.

use contract::{
    session::SessionId,
    wire::{FrameKind, LoggedFrame},
};
use rusqlite::{CachedStatement, Connection, OptionalExtension, params};

use crate::{
    Appended, CursorMove, Outcome, Store, StoreError,
    frame_row::{checksum, kind_number, origin_number, sse_id_column, thread_column},
    grouped::{Desk, Numbers},
    sessions::require,
};

/// A truncated copy of an event never replaces the whole one; apart from that, other data replaces what is there.
/// The place and the time of arrival stay, so that nothing on screen moves.
const UPSERT: &str = "
    INSERT INTO frames (seq, session, position, origin, kind, event_id, thread, sse_id, name, repaired, too_large,
                        received_at, checksum, data)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)
    ON CONFLICT (session, event_id, thread) WHERE kind = 1 AND event_id IS NOT NULL
    DO UPDATE SET origin = excluded.origin, sse_id = excluded.sse_id, name = excluded.name,
      repaired = excluded.repaired, too_large = excluded.too_large, checksum = excluded.checksum, data = excluded.data
    WHERE (data <> excluded.data OR too_large IS NOT excluded.too_large)
      AND (excluded.too_large IS NULL OR too_large IS NOT NULL)";

const INSERT: &str = "
    INSERT INTO frames (seq, session, position, origin, kind, event_id, thread, sse_id, name, repaired, too_large,
                        received_at, checksum, data)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)";

impl Store {
    /// Appends frames to a session's log and moves its cursor, in one transaction (several queued appends may share
    /// one). The frames are given back with what became of each. Preview and control frames are always new.
    ///
    /// # Errors
    /// [`StoreError::NoSuchSession`], or when the database cannot be written; then nothing of it is.
    pub async fn append(
        &self,
        session: SessionId,
        frames: Vec<LoggedFrame>,
        cursor: CursorMove,
    ) -> Result<Appended, StoreError> {
        self.write(frames.len(), move |desk| append(desk, session, frames, &cursor)).await
    }

    /// Puts persisted events at places that count up from `first`, in the order given: a list that was read whole
    /// knows the order better than the ways on which its events came. What is not named stays where it is, and where
    /// all stand in this order already, nothing moves. Gives whether anything moved.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub async fn place_events(
        &self,
        session: SessionId,
        event_ids: Vec<String>,
        first: i64,
    ) -> Result<bool, StoreError> {
        self.write(event_ids.len(), move |desk| {
            let mut find = desk.conn.prepare_cached(
                "SELECT position FROM frames WHERE session = ?1 AND event_id = ?2 AND kind = 1 ORDER BY thread LIMIT 1",
            )?;
            let mut last = i64::MIN;
            let mut in_order = true;
            for event_id in &event_ids {
                let found: Option<i64> = find.query_row(params![session.0, event_id], |row| row.get(0)).optional()?;
                if let Some(position) = found {
                    in_order &= position > last;
                    last = position;
                }
            }
            if in_order {
                return Ok(false);
            }
            let mut place = desk.conn.prepare_cached(
                "UPDATE frames SET position = ?3 WHERE session = ?1 AND event_id = ?2 AND kind = 1 AND position <> ?3",
            )?;
            for (event_id, position) in event_ids.iter().zip(first..) {
                place.execute(params![session.0, event_id, position])?;
            }
            Ok(true)
        })
        .await
    }
}

fn append(
    desk: &mut Desk<'_>,
    session: SessionId,
    frames: Vec<LoggedFrame>,
    cursor: &CursorMove,
) -> Result<Appended, StoreError> {
    let Desk { conn, numbers } = desk;
    require(conn, session)?;
    let mut outcomes = Vec::with_capacity(frames.len());
    let mut mark = None;
    {
        let mut upsert = conn.prepare_cached(UPSERT)?;
        let mut insert = conn.prepare_cached(INSERT)?;
        for frame in &frames {
            let unique = frame.kind == FrameKind::Buffered && frame.identity.is_some();
            let statement = if unique { &mut upsert } else { &mut insert };
            let outcome = write_frame(conn, statement, numbers, session, frame, &mut mark)?;
            outcomes.push(outcome);
        }
    }
    let log_seq = move_cursor(conn, session, cursor, mark)?;
    Ok(Appended { frames, outcomes, log_seq })
}

/// Writes one frame and, where it changed the log, sets `mark` to the change's number.
fn write_frame(
    conn: &Connection,
    statement: &mut CachedStatement<'_>,
    numbers: &mut Numbers,
    session: SessionId,
    logged: &LoggedFrame,
    mark: &mut Option<i64>,
) -> Result<Outcome, StoreError> {
    let LoggedFrame { frame, origin, kind, identity, position, received_at } = logged;
    let identity = identity.as_ref();
    let seq = numbers.next_log_seq();
    let rows = statement.execute(params![
        seq,
        session.0,
        position,
        origin_number(*origin),
        kind_number(*kind),
        identity.map(|identity| identity.event_id.as_str()),
        thread_column(identity),
        sse_id_column(frame, identity),
        frame.name.as_deref(),
        frame.repaired,
        frame.too_large.map(|too_large| too_large.bytes.cast_signed()),
        received_at,
        checksum(frame),
        frame.data.as_str(),
    ])?;
    // An update leaves the last inserted rowid as it was, and `seq` has never been one before.
    let outcome = match rows {
        0 => return Ok(Outcome::Same),
        _ if conn.last_insert_rowid() == seq => Outcome::New,
        _ => Outcome::Changed,
    };
    *mark = Some(seq);
    Ok(outcome)
}

/// Writes the cursor and the log mark, where either changes; gives the mark that holds now.
fn move_cursor(
    conn: &Connection,
    session: SessionId,
    cursor: &CursorMove,
    mark: Option<i64>,
) -> Result<i64, StoreError> {
    let (moves, after) = match cursor {
        CursorMove::Keep => (false, None),
        CursorMove::To(cursor) => (true, Some(cursor.0.as_str())),
        CursorMove::Clear => (true, None),
    };
    if !moves && mark.is_none() {
        return log_seq(conn, session);
    }
    let now = conn
        .prepare_cached(
            "INSERT INTO cursors (session, after, log_seq) VALUES (?1, ?3, ifnull(?4, 0))
             ON CONFLICT (session) DO UPDATE SET after = iif(?2, ?3, after), log_seq = ifnull(?4, log_seq)
             RETURNING log_seq",
        )?
        .query_row(params![session.0, moves, after, mark], |row| row.get(0))?;
    Ok(now)
}

/// The number of the last change of the session's log; 0 for an empty one.
pub(crate) fn log_seq(conn: &Connection, session: SessionId) -> Result<i64, StoreError> {
    let seq = conn
        .prepare_cached("SELECT log_seq FROM cursors WHERE session = ?1")?
        .query_row([session.0], |row| row.get(0))
        .optional()?;
    Ok(seq.unwrap_or(0))
}
