//! Sessions: what is known of each, apart from its log. Never hidden and never removed (P-39).

use contract::{server::ServerId, session::SessionId};
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::{
    SessionRecord, Store, StoreError, StoredSession,
    encode::{from_json, from_word, json, optional_text, text, word},
};

/// The columns [`stored_session`] reads, in its order, of a table called `s`.
pub(crate) const COLUMNS: &str = "s.id, s.server, s.remote_id, s.title, s.agent, s.state, s.waiting, s.waiting_kind, s.activity, \
     s.created_at, s.updated_at, s.last_event_at, s.synced_updated_at, s.archived, s.ended, \
     s.run_options";

/// How many columns those are: what a query adds to them stands from here on.
pub(crate) const COLUMN_COUNT: usize = 16;

/// When a session of a table called `s` was last active, as far as is known.
pub(crate) const LAST_ACTIVE: &str =
    "max(ifnull(s.last_event_at, 0), ifnull(s.updated_at, 0), ifnull(s.created_at, 0))";

impl Store {
    /// Inserts or replaces what is kept of a session, by its server and the server's id for it; gives its number.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub async fn put_session(&self, session: SessionRecord) -> Result<SessionId, StoreError> {
        self.write(1, move |desk| put(desk.conn, &session)).await
    }

    /// The same for many, in one transaction.
    ///
    /// # Errors
    /// When the database cannot be written; then none is.
    pub async fn put_sessions(&self, sessions: Vec<SessionRecord>) -> Result<Vec<SessionId>, StoreError> {
        self.write(sessions.len(), move |desk| sessions.iter().map(|session| put(desk.conn, session)).collect()).await
    }

    /// The session with this number.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub async fn session(&self, id: SessionId) -> Result<Option<StoredSession>, StoreError> {
        self.read(move |conn| {
            let sql = format!("SELECT {COLUMNS} FROM sessions s WHERE s.id = ?1");
            let mut query = conn.prepare_cached(&sql)?;
            query.query_and_then([id.0], stored_session)?.next().transpose()
        })
        .await
    }

    /// All sessions, or one server's, last active first; those of removed servers included.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub async fn sessions(&self, server: Option<ServerId>) -> Result<Vec<StoredSession>, StoreError> {
        self.read(move |conn| {
            let sql = format!(
                "SELECT {COLUMNS} FROM sessions s WHERE ?1 IS NULL OR s.server = ?1 ORDER BY {LAST_ACTIVE} DESC, s.id DESC"
            );
            conn.prepare_cached(&sql)?.query_and_then([server.map(|id| id.0)], stored_session)?.collect()
        })
        .await
    }
}

fn put(conn: &Connection, session: &SessionRecord) -> Result<SessionId, StoreError> {
    let waiting_kind = session.waiting_kind.as_ref().map(|kind| word("request's kind", kind)).transpose()?;
    let activity = session.activity.as_ref().map(|activity| json("session's activity", activity)).transpose()?;
    let ended = session.ended.as_ref().map(|reason| word("session's end", reason)).transpose()?;
    let run_options = session.run_options.as_ref().map(|options| json("run options", options)).transpose()?;
    let id = conn
        .prepare_cached(
            "INSERT INTO sessions (server, remote_id, title, agent, state, waiting, waiting_kind, activity, created_at,
                                   updated_at, last_event_at, synced_updated_at, archived, ended, run_options)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)
             ON CONFLICT (server, remote_id) DO UPDATE SET title = ?3, agent = ?4, state = ?5, waiting = ?6,
               waiting_kind = ?7, activity = ?8, created_at = ?9, updated_at = ?10, last_event_at = ?11,
               synced_updated_at = ?12, archived = ?13, ended = ?14, run_options = ?15
             RETURNING id",
        )?
        .query_row(
            params![
                session.server.0,
                session.remote_id,
                session.title,
                session.agent,
                json("session's state", &session.state)?,
                session.waiting,
                waiting_kind,
                activity,
                session.created_at,
                session.updated_at,
                session.last_event_at,
                session.synced_updated_at,
                session.archived,
                ended,
                run_options,
            ],
            |row| row.get(0),
        )?;
    Ok(SessionId(id))
}

/// Says when there is no such session: what belongs to a session is never written without it.
pub(crate) fn require(conn: &Connection, id: SessionId) -> Result<(), StoreError> {
    conn.prepare_cached("SELECT 1 FROM sessions WHERE id = ?1")?
        .query_row([id.0], |_| Ok(()))
        .optional()?
        .ok_or(StoreError::NoSuchSession(id))
}

pub(crate) fn stored_session(row: &Row<'_>) -> Result<StoredSession, StoreError> {
    Ok(StoredSession {
        id: SessionId(row.get(0)?),
        record: SessionRecord {
            server: ServerId(text(row, 1)?),
            remote_id: text(row, 2)?,
            title: optional_text(row, 3)?,
            agent: optional_text(row, 4)?,
            state: from_json("session's state", &text(row, 5)?)?,
            waiting: row.get(6)?,
            waiting_kind: optional_text(row, 7)?.map(|kind| from_word("request's kind", &kind)).transpose()?,
            activity: optional_text(row, 8)?.map(|json| from_json("session's activity", &json)).transpose()?,
            created_at: row.get(9)?,
            updated_at: row.get(10)?,
            last_event_at: row.get(11)?,
            synced_updated_at: row.get(12)?,
            archived: row.get(13)?,
            ended: optional_text(row, 14)?.map(|reason| from_word("session's end", &reason)).transpose()?,
            run_options: optional_text(row, 15)?.map(|options| from_json("run options", &options)).transpose()?,
        },
    })
}
