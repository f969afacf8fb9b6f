//! History and search over titles and texts. Words of three characters and more are found by trigrams, one or two
//! Chinese, Japanese or Korean characters by pairs, other short words by looking at the texts themselves.
//!
//! A session is found when its title, or one of its items, holds every word. Found sessions come last active first.

use std::collections::HashSet;

use contract::{
    search::{HistoryHit, HistoryPage, HistoryPlace, HistoryQuery},
    session::{SessionId, SessionRow},
};
use rusqlite::{Connection, Row, params_from_iter, types::Value};

use crate::{
    Store, StoreError,
    encode::{optional_text, text},
    items::SESSION_SHIFT,
    search_index::{behind, is_cjk},
    search_places::{has_all, place},
    sessions::{COLUMN_COUNT, COLUMNS, LAST_ACTIVE, stored_session},
};

/// Sessions in one page at most.
const PAGE: u32 = 200;

/// Items shown per session.
const PLACES: u32 = 3;

impl Store {
    /// Finds sessions by words in titles and texts; every session where there are no words. Removed servers' sessions
    /// are included. `waiting` and the state are as last stored; no session is said to be live.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub async fn search(&self, query: HistoryQuery) -> Result<HistoryPage, StoreError> {
        self.read(move |conn| page(conn, &query)).await
    }
}

fn page(conn: &Connection, query: &HistoryQuery) -> Result<HistoryPage, StoreError> {
    // A NUL would end the expression for SQLite, and no text is found by control characters.
    let clean: String = query.text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let phrase = clean.trim();
    let words: Vec<&str> = phrase.split_whitespace().collect();
    let plan = if words.is_empty() { None } else { Some(Plan::new(&words)) };
    let wanted = query.limit.clamp(1, PAGE) as usize;
    let places = plan.as_ref().map(|plan| Places::of(conn, plan, query.offset as usize + wanted)).transpose()?;

    let mut ids = Vec::new();
    let sql = format!(
        "SELECT s.id, s.title FROM sessions s WHERE ?1 IS NULL OR s.server = ?1 ORDER BY {LAST_ACTIVE} DESC, s.id DESC"
    );
    let mut sessions = conn.prepare_cached(&sql)?;
    let mut rows = sessions.query([query.server.as_ref().map(|id| id.0.as_str())])?;
    let mut skip = query.offset;
    while ids.len() <= wanted
        && let Some(row) = rows.next()?
    {
        let id: i64 = row.get(0)?;
        let titled = optional_text(row, 1)?.is_some_and(|title| has_all(&title, &words));
        if let Some(places) = &places
            && !titled
            && !places.are_in(conn, id)?
        {
            continue;
        }
        if skip > 0 {
            skip -= 1;
            continue;
        }
        ids.push((id, titled));
    }
    let more = ids.len() > wanted;
    ids.truncate(wanted);

    let mut hits = Vec::with_capacity(ids.len());
    for (id, titled) in ids {
        let mut hit = hit(conn, SessionId(id))?;
        if let Some(plan) = &plan {
            if titled && let Some(title) = &hit.row.title {
                hit.places.push(place(None, title, phrase, &words));
            }
            hit.places.extend(plan.places(conn, id, phrase, &words)?);
        }
        hits.push(hit);
    }
    Ok(HistoryPage { hits, more, index_behind: behind(conn)? })
}

fn hit(conn: &Connection, id: SessionId) -> Result<HistoryHit, StoreError> {
    let sql = format!(
        "SELECT {COLUMNS}, ifnull(v.name, s.server), nullif({LAST_ACTIVE}, 0)
         FROM sessions s LEFT JOIN servers v ON v.id = s.server WHERE s.id = ?1"
    );
    let mut query = conn.prepare_cached(&sql)?;
    let mut rows = query.query([id.0])?;
    let row = rows.next()?.ok_or(StoreError::NoSuchSession(id))?;
    let record = stored_session(row)?.record;
    Ok(HistoryHit {
        row: SessionRow {
            id,
            server: record.server,
            remote_id: record.remote_id,
            title: record.title,
            state: record.state,
            waiting: record.waiting,
            waiting_kind: record.waiting_kind,
            activity: record.activity,
            last_event_at: record.last_event_at,
            created_at: record.created_at,
            archived: record.archived,
            live: false,
            unasked: None,
        },
        server_name: text(row, COLUMN_COUNT)?,
        places: Vec::new(),
        last_active_at: row.get(COLUMN_COUNT + 1)?,
    })
}

/// How the items are found: one table that leads, and texts that are looked at behind it.
struct Plan {
    lead: Lead,
    /// Conditions on `i.search_text`, with their values from `?5` on.
    conditions: String,
    patterns: Vec<String>,
}

/// The table whose rows are walked, with the expression it is asked.
enum Lead {
    Trigrams(String),
    Pairs(String),
    Items,
}

impl Lead {
    fn table(&self) -> &'static str {
        match self {
            Self::Trigrams(_) => "items_fts",
            Self::Pairs(_) => "items_pairs",
            Self::Items => "items",
        }
    }

    fn expression(&self) -> Option<&str> {
        match self {
            Self::Trigrams(expression) | Self::Pairs(expression) => Some(expression),
            Self::Items => None,
        }
    }

    /// Ordered by the leading table's own row number: by the items' SQLite would sort every match first.
    fn sql(&self, conditions: &str) -> String {
        let table = self.table();
        let from = match self {
            Self::Trigrams(_) | Self::Pairs(_) => {
                format!("{table} CROSS JOIN items i ON i.id = {table}.rowid WHERE {table} MATCH ?1 AND {table}.rowid")
            }
            Self::Items => "items i WHERE ?1 IS NULL AND i.id".to_owned(),
        };
        let order = if matches!(self, Self::Items) { "i" } else { table };
        format!(
            "SELECT i.id, i.item, i.search_text FROM {from} BETWEEN ?2 AND ?3{conditions} ORDER BY {order}.rowid LIMIT ?4"
        )
    }
}

impl Plan {
    fn new(words: &[&str]) -> Self {
        let (long, short): (Vec<&str>, Vec<&str>) = words.iter().partition(|word| word.chars().count() >= 3);
        let (pairs, other): (Vec<&str>, Vec<&str>) = short.iter().partition(|word| word.chars().all(is_cjk));
        let (lead, looked_at) = if !long.is_empty() {
            (Lead::Trigrams(all_of(&long, phrase)), short)
        } else if !pairs.is_empty() {
            (Lead::Pairs(all_of(&pairs, pair)), other)
        } else {
            (Lead::Items, other)
        };
        let mut plan = Self { lead, conditions: String::new(), patterns: Vec::new() };
        for word in looked_at {
            plan.look_at(word);
        }
        plan
    }

    /// LIKE folds ASCII alone: the word is also tried in either case.
    fn look_at(&mut self, word: &str) {
        let mut forms = vec![word.to_owned(), word.to_lowercase(), word.to_uppercase()];
        forms.dedup();
        let mut alternatives = Vec::new();
        for form in forms {
            self.patterns.push(like(&form));
            alternatives.push(format!("i.search_text LIKE ?{} ESCAPE '\\'", self.patterns.len() + 4));
        }
        self.conditions.push_str(&format!(" AND ({})", alternatives.join(" OR ")));
    }

    /// Runs over the matches in `first..=last`, in the order of rows, up to `limit`.
    fn matches<T>(
        &self,
        conn: &Connection,
        range: (i64, i64),
        limit: u32,
        read: impl FnMut(&Row<'_>) -> Result<T, StoreError>,
    ) -> Result<Vec<T>, StoreError> {
        let sql = self.lead.sql(&self.conditions);
        let expression = self.lead.expression().map(str::to_owned);
        let mut values: Vec<Value> = vec![expression.into(), range.0.into(), range.1.into(), i64::from(limit).into()];
        values.extend(self.patterns.iter().cloned().map(Value::from));
        conn.prepare_cached(&sql)?.query_and_then(params_from_iter(values), read)?.collect()
    }

    fn places(
        &self,
        conn: &Connection,
        session: i64,
        phrase: &str,
        words: &[&str],
    ) -> Result<Vec<HistoryPlace>, StoreError> {
        self.matches(conn, rows_of(session), PLACES, |row| {
            Ok(place(Some(text(row, 1)?), &text(row, 2)?, phrase, words))
        })
    }
}

/// Which sessions have a match in an item.
enum Places<'a> {
    /// These, and no others.
    Sessions(HashSet<i64>),
    /// So many that each is looked at when its turn comes.
    Many(&'a Plan),
}

impl<'a> Places<'a> {
    /// Collects the sessions: from one match straight to the next session's first row, however many matches are
    /// between. A word that is in many sessions fills the page after a few of them, so collecting stops at the
    /// number of steps which is best when nothing is known of the word: √(rows wanted × sessions).
    fn of(conn: &Connection, plan: &'a Plan, wanted: usize) -> Result<Self, StoreError> {
        let sessions: u32 = conn.prepare_cached("SELECT count(*) FROM sessions")?.query_row([], |row| row.get(0))?;
        let budget = (sessions as usize).saturating_mul(wanted).isqrt().max(64);
        let mut found = HashSet::new();
        let mut from = 0;
        while let Some(id) = plan.matches(conn, (from, i64::MAX), 1, |row| Ok(row.get::<_, i64>(0)?))?.pop() {
            if found.len() >= budget {
                return Ok(Self::Many(plan));
            }
            let session = id >> SESSION_SHIFT;
            found.insert(session);
            from = (session + 1) << SESSION_SHIFT;
        }
        Ok(Self::Sessions(found))
    }

    fn are_in(&self, conn: &Connection, session: i64) -> Result<bool, StoreError> {
        match self {
            Self::Sessions(found) => Ok(found.contains(&session)),
            Self::Many(plan) => Ok(!plan.matches(conn, rows_of(session), 1, |_| Ok(()))?.is_empty()),
        }
    }
}

/// The items' row numbers of a session.
fn rows_of(session: i64) -> (i64, i64) {
    (session << SESSION_SHIFT, ((session + 1) << SESSION_SHIFT) - 1)
}

fn all_of(words: &[&str], form: impl Fn(&str) -> String) -> String {
    words.iter().map(|word| form(word)).collect::<Vec<_>>().join(" AND ")
}

/// The word as an FTS5 string: nothing in it is an operator.
fn phrase(word: &str) -> String {
    format!("\"{}\"", word.replace('"', "\"\""))
}

/// A pair is a word of the pairs table; a single character begins one.
fn pair(word: &str) -> String {
    if word.chars().count() == 1 { format!("{} *", phrase(word)) } else { phrase(word) }
}

fn like(word: &str) -> String {
    let mut pattern = String::from("%");
    for c in word.chars() {
        if matches!(c, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern.push('%');
    pattern
}
