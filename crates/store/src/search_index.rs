//! The search index: filled behind the write path, a step at a time, in the order in which texts changed.
//!
//! Two tables: trigrams for three characters and more, and pairs of Chinese, Japanese and Korean characters as words
//! for one and two, which trigrams cannot find.

use rusqlite::{Connection, params};

use crate::{Store, StoreError, encode::text};

impl Store {
    /// Brings at most `max_rows` items into the search index and gives how many are still behind, counted up to
    /// 1,000. Runs on the writer thread: small steps keep appends quick.
    ///
    /// # Errors
    /// When the database cannot be written; then the step is done again by the next call.
    pub async fn index_step(&self, max_rows: u32) -> Result<u64, StoreError> {
        let weight = usize::try_from(max_rows).unwrap_or(usize::MAX);
        self.write(weight, move |desk| {
            step(desk.conn, max_rows)?;
            some_behind(desk.conn)
        })
        .await
    }
}

fn step(conn: &Connection, max_rows: u32) -> Result<(), StoreError> {
    let mut query = conn.prepare_cached(
        "SELECT changed, id, search_text FROM items WHERE changed > (SELECT changed FROM search_cursor)
         ORDER BY changed LIMIT ?1",
    )?;
    let mut forget = conn.prepare_cached("DELETE FROM items_fts WHERE rowid = ?1")?;
    let mut forget_pairs = conn.prepare_cached("DELETE FROM items_pairs WHERE rowid = ?1")?;
    let mut add = conn.prepare_cached("INSERT INTO items_fts (rowid, text) VALUES (?1, ?2)")?;
    let mut add_pairs = conn.prepare_cached("INSERT INTO items_pairs (rowid, pairs) VALUES (?1, ?2)")?;
    let mut reached = None;
    let mut rows = query.query([max_rows])?;
    let mut pairs = String::new();
    while let Some(row) = rows.next()? {
        reached = Some(row.get::<_, i64>(0)?);
        let id: i64 = row.get(1)?;
        let text = text(row, 2)?;
        forget.execute([id])?;
        forget_pairs.execute([id])?;
        add.execute(params![id, text])?;
        write_pairs(&text, &mut pairs);
        if !pairs.is_empty() {
            add_pairs.execute(params![id, pairs])?;
        }
    }
    if let Some(reached) = reached {
        conn.prepare_cached("UPDATE search_cursor SET changed = ?1")?.execute([reached])?;
    }
    Ok(())
}

/// As [`behind`], but counting ends early: a long way to go is counted again at each step.
fn some_behind(conn: &Connection) -> Result<u64, StoreError> {
    let count: i64 = conn
        .prepare_cached(
            "SELECT count(*) FROM
               (SELECT 1 FROM items WHERE changed > (SELECT changed FROM search_cursor) LIMIT 1000)",
        )?
        .query_row([], |row| row.get(0))?;
    Ok(count.unsigned_abs())
}

/// How many items have a text that is not in the index yet.
pub(crate) fn behind(conn: &Connection) -> Result<u64, StoreError> {
    let count: i64 = conn
        .prepare_cached("SELECT count(*) FROM items WHERE changed > (SELECT changed FROM search_cursor)")?
        .query_row([], |row| row.get(0))?;
    Ok(count.unsigned_abs())
}

/// Letters of Chinese, Japanese and Korean that SQLite's `unicode61` tokenizer (Unicode 6.1) takes for letters too.
pub(crate) fn is_cjk(c: char) -> bool {
    matches!(c,
        '\u{3005}' | '\u{3007}' | '\u{3041}'..='\u{3096}' | '\u{30A1}'..='\u{30FA}' | '\u{30FC}'
        | '\u{3400}'..='\u{4DB5}' | '\u{4E00}'..='\u{9FCC}' | '\u{AC00}'..='\u{D7A3}'
        | '\u{F900}'..='\u{FA6D}' | '\u{20000}'..='\u{2A6D6}')
}

/// The neighbouring pairs of each run of such characters, and the run's last one alone, as words. So a pair is a word
/// and a single character begins one.
fn write_pairs(text: &str, out: &mut String) {
    out.clear();
    let mut last: Option<char> = None;
    for c in text.chars() {
        let cjk = is_cjk(c);
        if let Some(first) = last {
            out.push(first);
            if cjk {
                out.push(c);
            }
            out.push(' ');
        }
        last = cjk.then_some(c);
    }
    out.extend(last);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_the_neighbours_of_each_run_and_its_end() {
        let mut pairs = String::from("left over");
        write_pairs("ok 东京天气 and 雨", &mut pairs);
        assert_eq!(pairs, "东京 京天 天气 气 雨");
        write_pairs("plain code()", &mut pairs);
        assert_eq!(pairs, "");
    }
}
