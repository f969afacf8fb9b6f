//! Projections: items, requests and usage, made from the log and kept to open a session fast. All of it can be
//! dropped; [`Store::projection`] says what it was made from.

use std::collections::HashSet;

use contract::{
    item::{Item, ItemId},
    request::Request,
    session::{SessionId, Usage},
};
use rusqlite::{Connection, OptionalExtension, params};

use crate::{
    ItemsSave, PROJECTION_VERSION, ProjectionMark, Store, StoreError, StoredItem,
    encode::{from_json, json, text},
    grouped::Desk,
    log::log_seq,
    sessions::require,
};

/// An item's row number is its session's number shifted by this, plus its own: the index needs no look-up to know
/// the session, and one session's items are one range.
pub(crate) const SESSION_SHIFT: u32 = 32;

impl Store {
    /// Saves a change of a session's projections, in one transaction, as of [`PROJECTION_VERSION`].
    ///
    /// # Errors
    /// [`StoreError::NoSuchSession`], or when the database cannot be written; then nothing of it is.
    pub async fn save_items(&self, session: SessionId, save: ItemsSave) -> Result<(), StoreError> {
        self.write(save.upserts.len() + save.gone.len(), move |desk| save_items(desk, session, &save)).await
    }

    /// Saves a part of a change that is too large for one transaction: until [`Self::save_items`] ends it, the
    /// projections count as not current.
    ///
    /// # Errors
    /// [`StoreError::NoSuchSession`], or when the database cannot be written; then nothing of it is.
    pub async fn save_part(
        &self,
        session: SessionId,
        upserts: Vec<StoredItem>,
        gone: Vec<ItemId>,
    ) -> Result<(), StoreError> {
        self.write(upserts.len() + gone.len(), move |desk| {
            require(desk.conn, session)?;
            upsert_all(desk, session, &upserts, &mut HashSet::new())?;
            let gone: Vec<&str> = gone.iter().map(String::as_str).collect();
            remove(desk.conn, session, &gone)?;
            mark(desk.conn, session, NOT_CURRENT)
        })
        .await
    }

    /// The ids of a session's saved items.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub async fn item_ids(&self, session: SessionId) -> Result<HashSet<ItemId>, StoreError> {
        self.read(move |conn| known_items(conn, session)).await
    }

    /// What a session's projections were made from; `None` where there are none.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub async fn projection(&self, session: SessionId) -> Result<Option<ProjectionMark>, StoreError> {
        self.read(move |conn| {
            let mark: Option<(i64, i64)> = conn
                .prepare_cached("SELECT version, through_seq FROM projections WHERE session = ?1")?
                .query_row([session.0], |row| Ok((row.get(0)?, row.get(1)?)))
                .optional()?;
            let log_seq = log_seq(conn, session)?;
            Ok(mark.map(|(version, through_seq)| ProjectionMark { version, through_seq, log_seq }))
        })
        .await
    }

    /// A page of items in rising order: the last ones before that place, or the last ones of all.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub async fn items(
        &self,
        session: SessionId,
        before: Option<(i64, ItemId)>,
        limit: u32,
    ) -> Result<Vec<Item>, StoreError> {
        self.read(move |conn| {
            let item = |row: &rusqlite::Row<'_>| from_json("item", &text(row, 0)?);
            let mut items: Vec<Item> = match before {
                None => conn
                    .prepare_cached(
                        "SELECT body FROM items WHERE session = ?1 ORDER BY place DESC, item DESC LIMIT ?2",
                    )?
                    .query_and_then(params![session.0, limit], item)?
                    .collect::<Result<_, StoreError>>()?,
                Some((place, id)) => conn
                    .prepare_cached(
                        "SELECT body FROM items WHERE session = ?1 AND (place, item) < (?2, ?3)
                         ORDER BY place DESC, item DESC LIMIT ?4",
                    )?
                    .query_and_then(params![session.0, place, id, limit], item)?
                    .collect::<Result<_, StoreError>>()?,
            };
            items.reverse();
            Ok(items)
        })
        .await
    }

    /// All requests of a session, in the order they were saved in.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub async fn requests(&self, session: SessionId) -> Result<Vec<Request>, StoreError> {
        self.read(move |conn| {
            conn.prepare_cached("SELECT body FROM requests WHERE session = ?1 ORDER BY place")?
                .query_and_then([session.0], |row| from_json("request", &text(row, 0)?))?
                .collect()
        })
        .await
    }

    /// The usage of a session; nothing where none is known.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub async fn usage(&self, session: SessionId) -> Result<Usage, StoreError> {
        self.read(move |conn| {
            let mut query = conn.prepare_cached("SELECT body FROM usage WHERE session = ?1")?;
            let usage =
                query.query_and_then([session.0], |row| from_json("usage", &text(row, 0)?))?.next().transpose()?;
            Ok(usage.unwrap_or_default())
        })
        .await
    }

    /// Drops every projection and the search index. The log stays: all of it can be made again.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub async fn drop_projections(&self) -> Result<(), StoreError> {
        self.write(1, |desk| {
            desk.conn.execute_batch(
                "DELETE FROM items; DELETE FROM requests; DELETE FROM usage; DELETE FROM projections;
                 INSERT INTO items_fts (items_fts) VALUES ('delete-all');
                 INSERT INTO items_pairs (items_pairs) VALUES ('delete-all');",
            )?;
            Ok(())
        })
        .await
    }
}

fn save_items(desk: &mut Desk<'_>, session: SessionId, save: &ItemsSave) -> Result<(), StoreError> {
    require(desk.conn, session)?;
    let mut stale = if save.replace_all { known_items(desk.conn, session)? } else { HashSet::new() };
    upsert_all(desk, session, &save.upserts, &mut stale)?;
    let stale: Vec<&str> = stale.iter().chain(&save.gone).map(String::as_str).collect();
    remove(desk.conn, session, &stale)?;
    save_rest(desk.conn, session, save)
}

/// Inserts or replaces items, and takes each out of `stale`.
fn upsert_all(
    desk: &mut Desk<'_>,
    session: SessionId,
    upserts: &[StoredItem],
    stale: &mut HashSet<String>,
) -> Result<(), StoreError> {
    let first = session.0 << SESSION_SHIFT;
    let last: i64 = desk
        .conn
        .prepare_cached("SELECT ifnull(max(id), ?1) FROM items WHERE id BETWEEN ?1 AND ?1 + 4294967295")?
        .query_row([first], |row| row.get(0))?;
    // Each takes a number whether it needs one or not: a hole is harmless.
    for (id, stored) in (last + 1..).zip(upserts) {
        stale.remove(&stored.item.id);
        upsert(desk, session, id, stored)?;
    }
    Ok(())
}

fn upsert(desk: &mut Desk<'_>, session: SessionId, id: i64, stored: &StoredItem) -> Result<(), StoreError> {
    let StoredItem { item, search_text } = stored;
    let change = desk.numbers.next_change();
    // A change that search cannot see does not send the item to the index again.
    desk.conn
        .prepare_cached(
            "INSERT INTO items (id, session, item, place, changed, body, search_text)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
             ON CONFLICT (session, item) DO UPDATE SET place = ?4, body = ?6, search_text = ?7,
               changed = iif(search_text = ?7, changed, ?5)",
        )?
        .execute(params![id, session.0, item.id, item.order, change, json("item", item)?, search_text])?;
    Ok(())
}

fn known_items(conn: &Connection, session: SessionId) -> Result<HashSet<String>, StoreError> {
    conn.prepare_cached("SELECT item FROM items WHERE session = ?1")?
        .query_and_then([session.0], |row| text(row, 0))?
        .collect()
}

fn remove(conn: &Connection, session: SessionId, items: &[&str]) -> Result<(), StoreError> {
    let mut delete = conn.prepare_cached("DELETE FROM items WHERE session = ?1 AND item = ?2 RETURNING id")?;
    let mut unindex = conn.prepare_cached("DELETE FROM items_fts WHERE rowid = ?1")?;
    let mut unpair = conn.prepare_cached("DELETE FROM items_pairs WHERE rowid = ?1")?;
    for item in items {
        let id: Option<i64> = delete.query_row(params![session.0, item], |row| row.get(0)).optional()?;
        if let Some(id) = id {
            unindex.execute([id])?;
            unpair.execute([id])?;
        }
    }
    Ok(())
}

fn save_rest(conn: &Connection, session: SessionId, save: &ItemsSave) -> Result<(), StoreError> {
    conn.prepare_cached("DELETE FROM requests WHERE session = ?1")?.execute([session.0])?;
    let mut insert =
        conn.prepare_cached("INSERT OR REPLACE INTO requests (session, id, place, body) VALUES (?1, ?2, ?3, ?4)")?;
    for (place, request) in (0_i64..).zip(&save.requests) {
        insert.execute(params![session.0, request.id, place, json("request", request)?])?;
    }
    conn.prepare_cached(
        "INSERT INTO usage (session, body) VALUES (?1, ?2) ON CONFLICT (session) DO UPDATE SET body = ?2",
    )?
    .execute(params![session.0, json("usage", &save.usage)?])?;
    mark(conn, session, save.through_seq)
}

/// A log mark that no log stands at.
const NOT_CURRENT: i64 = -1;

fn mark(conn: &Connection, session: SessionId, through_seq: i64) -> Result<(), StoreError> {
    conn.prepare_cached(
        "INSERT INTO projections (session, version, through_seq) VALUES (?1, ?2, ?3)
         ON CONFLICT (session) DO UPDATE SET version = ?2, through_seq = ?3",
    )?
    .execute(params![session.0, PROJECTION_VERSION, through_seq])?;
    Ok(())
}
