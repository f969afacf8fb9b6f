//! Servers. A removed one keeps its row, so that its sessions keep its name.

use contract::{Millis, server::ServerId};
use rusqlite::{Row, params};

use crate::{
    Store, StoreError, StoredServer,
    encode::{from_json, from_word, json, text, word},
};

const COLUMNS: &str = "id, name, base_url, protocol, options, paused, practice, token_state, last_seen_at";

impl Store {
    /// The servers in the person's order, without the removed ones.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub async fn servers(&self) -> Result<Vec<StoredServer>, StoreError> {
        self.read(|conn| {
            let sql = format!("SELECT {COLUMNS} FROM servers WHERE removed_at IS NULL ORDER BY place, id");
            conn.prepare_cached(&sql)?.query_and_then([], server)?.collect()
        })
        .await
    }

    /// A server by its id, whether or not it was removed.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub async fn server(&self, id: ServerId) -> Result<Option<StoredServer>, StoreError> {
        self.read(move |conn| {
            let sql = format!("SELECT {COLUMNS} FROM servers WHERE id = ?1");
            conn.prepare_cached(&sql)?.query_and_then([id.0], server)?.next().transpose()
        })
        .await
    }

    /// Inserts a server as the last one, or replaces it in its place. A removed one is back.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub async fn put_server(&self, server: StoredServer) -> Result<(), StoreError> {
        self.write(1, move |desk| {
            desk.conn
                .prepare_cached(
                    "INSERT INTO servers (id, place, name, base_url, protocol, options, paused, practice, token_state,
                                          last_seen_at)
                     VALUES (?1, (SELECT ifnull(max(place), 0) + 1 FROM servers), ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
                     ON CONFLICT (id) DO UPDATE SET name = ?2, base_url = ?3, protocol = ?4, options = ?5, paused = ?6,
                       practice = ?7, token_state = ?8, last_seen_at = ?9, removed_at = NULL",
                )?
                .execute(params![
                    server.id.0,
                    server.name,
                    server.base_url,
                    server.protocol,
                    json("server's options", &server.options)?,
                    server.paused,
                    server.practice,
                    word("token's state", &server.token)?,
                    server.last_seen_at,
                ])?;
            Ok(())
        })
        .await
    }

    /// Puts the servers in this order. Ones that are not named come after, in their old order.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub async fn reorder_servers(&self, order: Vec<ServerId>) -> Result<(), StoreError> {
        self.write(order.len(), move |desk| {
            let named = i64::try_from(order.len()).unwrap_or(i64::MAX);
            desk.conn.prepare_cached("UPDATE servers SET place = place + ?1")?.execute([named])?;
            let mut set = desk.conn.prepare_cached("UPDATE servers SET place = ?2 WHERE id = ?1")?;
            // Places only need to rise: those below the lowest shifted one are free.
            for (place, id) in (0_i64..).zip(&order) {
                set.execute(params![id.0, place - named])?;
            }
            Ok(())
        })
        .await
    }

    /// Marks a server as removed. Its sessions, frames and decisions stay.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub async fn remove_server(&self, id: ServerId, now: Millis) -> Result<(), StoreError> {
        self.write(1, move |desk| {
            desk.conn
                .prepare_cached("UPDATE servers SET removed_at = ?2 WHERE id = ?1 AND removed_at IS NULL")?
                .execute(params![id.0, now])?;
            Ok(())
        })
        .await
    }

    /// The name of every server ever saved, and whether it was removed.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub async fn server_names(&self) -> Result<Vec<(ServerId, String, bool)>, StoreError> {
        self.read(|conn| {
            conn.prepare_cached("SELECT id, name, removed_at IS NOT NULL FROM servers ORDER BY place, id")?
                .query_and_then([], |row| Ok((ServerId(text(row, 0)?), text(row, 1)?, row.get(2)?)))?
                .collect()
        })
        .await
    }
}

fn server(row: &Row<'_>) -> Result<StoredServer, StoreError> {
    Ok(StoredServer {
        id: ServerId(text(row, 0)?),
        name: text(row, 1)?,
        base_url: text(row, 2)?,
        protocol: text(row, 3)?,
        options: from_json("server's options", &text(row, 4)?)?,
        paused: row.get(5)?,
        practice: row.get(6)?,
        token: from_word("token's state", &text(row, 7)?)?,
        last_seen_at: row.get(8)?,
    })
}
