//! The connection log, bounded per session.

use contract::{connection::ConnectionLogRow, session::SessionId};
use rusqlite::params;

use crate::{
    Store, StoreError,
    encode::{from_json, json, optional_text, text},
};

/// Rows kept per session: the newest.
const KEPT: i64 = 5_000;

impl Store {
    /// Adds rows to a session's connection log, in order. The newest 5,000 of the session are kept.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub async fn log_connection(&self, session: SessionId, rows: Vec<ConnectionLogRow>) -> Result<(), StoreError> {
        self.write(rows.len(), move |desk| {
            let mut insert = desk.conn.prepare_cached(
                "INSERT INTO connection_log (session, at, what, cursor, detail) VALUES (?1, ?2, ?3, ?4, ?5)",
            )?;
            for row in &rows {
                let what = json("connection log line", &row.what)?;
                insert.execute(params![session.0, row.at, what, row.cursor, row.detail])?;
            }
            desk.conn
                .prepare_cached(
                    "DELETE FROM connection_log WHERE session = ?1 AND id <=
                       (SELECT id FROM connection_log WHERE session = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2)",
                )?
                .execute(params![session.0, KEPT])?;
            Ok(())
        })
        .await
    }

    /// The newest lines of a session's connection log, newest first.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub async fn connection_log(&self, session: SessionId, limit: u32) -> Result<Vec<ConnectionLogRow>, StoreError> {
        self.read(move |conn| {
            conn.prepare_cached(
                "SELECT at, what, cursor, detail FROM connection_log WHERE session = ?1 ORDER BY id DESC LIMIT ?2",
            )?
            .query_and_then(params![session.0, limit], |row| {
                Ok(ConnectionLogRow {
                    at: row.get(0)?,
                    what: from_json("connection log line", &text(row, 1)?)?,
                    cursor: optional_text(row, 2)?,
                    detail: optional_text(row, 3)?,
                })
            })?
            .collect()
        })
        .await
    }
}
