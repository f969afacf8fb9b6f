//! The outbox: messages of the person that are not at the server yet. Synced to disk, as decisions are: what a person
//! wrote is not lost to a power cut.

use contract::session::SessionId;
use rusqlite::params;

use crate::{
    OutboxMessage, OutboxState, Store, StoreError,
    encode::{from_json, json, text},
    sessions::require,
};

impl Store {
    /// Inserts a message as the session's last one, or replaces it in its place.
    ///
    /// # Errors
    /// [`StoreError::NoSuchSession`], or when the database cannot be written.
    pub async fn put_outbox(&self, message: OutboxMessage) -> Result<(), StoreError> {
        self.write_synced(move |desk| {
            require(desk.conn, message.session)?;
            let images = json("message's images", &message.images)?;
            desk.conn
                .prepare_cached(
                    "INSERT INTO outbox (session, id, body, key, at, state, images) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
                     ON CONFLICT (session, id) DO UPDATE SET body = ?3, key = ?4, at = ?5, state = ?6, images = ?7",
                )?
                .execute(params![
                    message.session.0,
                    message.id,
                    message.body,
                    message.key,
                    message.at,
                    state_word(message.state),
                    images,
                ])?;
            Ok(())
        })
        .await
    }

    /// Removes a message; one that is not there is fine.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub async fn remove_outbox(&self, session: SessionId, id: String) -> Result<(), StoreError> {
        self.write_synced(move |desk| {
            desk.conn
                .prepare_cached("DELETE FROM outbox WHERE session = ?1 AND id = ?2")?
                .execute(params![session.0, id])?;
            Ok(())
        })
        .await
    }

    /// The messages in the order they were written; of one session or of all.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub async fn outbox(&self, session: Option<SessionId>) -> Result<Vec<OutboxMessage>, StoreError> {
        self.read(move |conn| {
            conn.prepare_cached(
                "SELECT session, id, body, key, at, state, images FROM outbox
                 WHERE ?1 IS NULL OR session = ?1 ORDER BY place",
            )?
            .query_and_then([session.map(|session| session.0)], |row| {
                Ok(OutboxMessage {
                    session: SessionId(row.get(0)?),
                    id: text(row, 1)?,
                    body: text(row, 2)?,
                    key: text(row, 3)?,
                    at: row.get(4)?,
                    state: state(&text(row, 5)?)?,
                    images: from_json("message's images", &text(row, 6)?)?,
                })
            })?
            .collect()
        })
        .await
    }
}

fn state_word(state: OutboxState) -> &'static str {
    match state {
        OutboxState::Queued => "queued",
        OutboxState::Held => "held",
        OutboxState::Sending => "sending",
    }
}

fn state(word: &str) -> Result<OutboxState, StoreError> {
    match word {
        "queued" => Ok(OutboxState::Queued),
        "held" => Ok(OutboxState::Held),
        "sending" => Ok(OutboxState::Sending),
        other => Err(StoreError::Damaged { detail: format!("an outbox state {other}") }),
    }
}
