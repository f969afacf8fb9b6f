//! The log's read side.

use contract::{
    server::ServerId,
    session::SessionId,
    wire::{Cursor, LoggedFrame},
};
use rusqlite::{Connection, params};

use crate::{
    Store, StoreError,
    encode::optional_text,
    frame_row::{COLUMNS, logged_frame},
    log::log_seq,
};

/// A page of frames ends at this many frames or bytes of data, whichever comes first.
const PAGE_FRAMES: usize = 2_000;
const PAGE_BYTES: usize = 8 * 1024 * 1024;

impl Store {
    /// Reads a session's log from its beginning, in the order of places (ties in the order of arrival).
    #[must_use]
    pub fn frames(&self, session: SessionId) -> FrameReader {
        FrameReader { store: self.clone(), session, after: Some((i64::MIN, i64::MIN)), log_seq: 0 }
    }

    /// The persisted event with this id, as received: the session's own copy, else the first thread's.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub async fn frame(&self, session: SessionId, event_id: String) -> Result<Option<LoggedFrame>, StoreError> {
        self.read(move |conn| {
            // A number sorts before every text: the session's own copy comes first.
            let sql = format!(
                "SELECT {COLUMNS} FROM frames WHERE session = ?1 AND event_id = ?2 AND kind = 1 ORDER BY thread LIMIT 1"
            );
            let mut query = conn.prepare_cached(&sql)?;
            let frame = query.query_and_then(params![session.0, event_id], logged_frame)?.next().transpose()?;
            Ok(frame.map(|(_, frame)| frame))
        })
        .await
    }

    /// The least and the greatest place in a session's log; `None` for an empty one.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub async fn position_bounds(&self, session: SessionId) -> Result<Option<(i64, i64)>, StoreError> {
        self.read(move |conn| {
            // Two look-ups: SQLite walks the whole index for min and max in one.
            let bounds: (Option<i64>, Option<i64>) = conn
                .prepare_cached(
                    "SELECT (SELECT min(position) FROM frames WHERE session = ?1),
                            (SELECT max(position) FROM frames WHERE session = ?1)",
                )?
                .query_row([session.0], |row| Ok((row.get(0)?, row.get(1)?)))?;
            Ok(bounds.0.zip(bounds.1))
        })
        .await
    }

    /// For each id, whether a persisted event of the session has it (of any thread).
    ///
    /// # Errors
    /// When the database cannot be read.
    pub async fn known_events(&self, session: SessionId, event_ids: Vec<String>) -> Result<Vec<bool>, StoreError> {
        self.read(move |conn| {
            let mut query =
                conn.prepare_cached("SELECT 1 FROM frames WHERE session = ?1 AND event_id = ?2 AND kind = 1")?;
            event_ids.iter().map(|id| Ok(query.exists(params![session.0, id])?)).collect()
        })
        .await
    }

    /// Bytes of the events kept of a server. Reads through all of them: some milliseconds for every hundred megabytes.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub async fn kept_bytes(&self, server: ServerId) -> Result<u64, StoreError> {
        self.read(move |conn| {
            let mut query = conn.prepare_cached(
                "SELECT coalesce(sum(octet_length(frames.data)), 0)
                 FROM sessions JOIN frames ON frames.session = sessions.id WHERE sessions.server = ?1",
            )?;
            let bytes: i64 = query.query_row([&server.0], |row| row.get(0))?;
            Ok(bytes.cast_unsigned())
        })
        .await
    }

    /// The cursor to resume a session's stream after.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub async fn cursor(&self, session: SessionId) -> Result<Option<Cursor>, StoreError> {
        self.read(move |conn| {
            let mut query = conn.prepare_cached("SELECT after FROM cursors WHERE session = ?1")?;
            let after = query.query_and_then([session.0], |row| optional_text(row, 0))?.next().transpose()?;
            Ok(after.flatten().map(Cursor))
        })
        .await
    }
}

/// Reads one session's log, page by page. Frames appended meanwhile behind the place reached are read as well.
#[derive(Debug)]
pub struct FrameReader {
    store: Store,
    session: SessionId,
    /// The place and `seq` of the last frame read; `None` at the end.
    after: Option<(i64, i64)>,
    log_seq: i64,
}

impl FrameReader {
    /// The next frames (about 2,000, fewer where they are large); `None` at the end.
    ///
    /// # Errors
    /// When the database cannot be read. The same page can be asked for again.
    pub async fn next(&mut self) -> Result<Option<Vec<LoggedFrame>>, StoreError> {
        let Some(after) = self.after else {
            return Ok(None);
        };
        let session = self.session;
        let page = self.store.read(move |conn| read_page(conn, session, after)).await?;
        self.after = page.after;
        self.log_seq = page.log_seq;
        Ok(if page.frames.is_empty() { None } else { Some(page.frames) })
    }

    /// The session's log mark at the moment the last page was read. Once [`FrameReader::next`] has given `None` and
    /// nobody appended meanwhile, all frames up to it were read.
    #[must_use]
    pub fn log_seq(&self) -> i64 {
        self.log_seq
    }
}

struct Page {
    frames: Vec<LoggedFrame>,
    after: Option<(i64, i64)>,
    log_seq: i64,
}

fn read_page(conn: &Connection, session: SessionId, after: (i64, i64)) -> Result<Page, StoreError> {
    let sql = format!(
        "SELECT {COLUMNS} FROM frames WHERE session = ?1 AND (position, seq) > (?2, ?3) ORDER BY position, seq"
    );
    let mut query = conn.prepare_cached(&sql)?;
    let mut frames = Vec::new();
    let mut bytes = 0;
    let mut last = None;
    for row in query.query_and_then(params![session.0, after.0, after.1], logged_frame)? {
        let (seq, frame) = row?;
        bytes += frame.frame.data.len();
        last = Some((frame.position, seq));
        frames.push(frame);
        if frames.len() >= PAGE_FRAMES || bytes >= PAGE_BYTES {
            break;
        }
    }
    Ok(Page { frames, after: last, log_seq: log_seq(conn, session)? })
}
