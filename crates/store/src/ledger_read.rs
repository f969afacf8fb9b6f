//! The ledger's read side: decisions with their fates, what is unsettled, and whether the chain holds.

use contract::{
    request::{Fate, LedgerRow},
    session::SessionId,
};
use rusqlite::{Connection, OptionalExtension, Row, params, types::Value};

use crate::{
    PendingDecision, Store, StoreError,
    encode::{from_word, optional_text, text},
    ledger_chain::{COVERED, COVERED_COUNT, GENESIS, row_hash},
};

/// Decisions `d` with the last row `f` that settles them.
pub(crate) const WITH_FATE: &str = "decisions d LEFT JOIN decisions f
    ON f.number = (SELECT max(s.number) FROM decisions s WHERE s.settles = d.number)";

/// The two columns [`fate`] reads.
pub(crate) const FATE: &str = "ifnull(f.fate, d.fate), iif(f.number IS NULL, d.fate_message, f.fate_message)";

impl Store {
    /// The newest decisions first, each with its fate; of one session or of all.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub async fn decisions(&self, session: Option<SessionId>, limit: u32) -> Result<Vec<LedgerRow>, StoreError> {
        self.read(move |conn| {
            let sql = format!(
                "SELECT d.number, d.session, d.request, d.at, d.decided_by, d.choice, d.tool, d.subject, d.reason,
                        d.digest, d.waited_ms, {FATE} FROM {WITH_FATE}
                 WHERE d.settles IS NULL AND (?1 IS NULL OR d.session = ?1) ORDER BY d.number DESC LIMIT ?2"
            );
            let session = session.map(|session| session.0);
            conn.prepare_cached(&sql)?.query_and_then(params![session, limit], ledger_row)?.collect()
        })
        .await
    }

    /// The decisions whose fate is not known, oldest first: what was on its way when the app ended.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub async fn unsettled_decisions(&self) -> Result<Vec<PendingDecision>, StoreError> {
        self.read(|conn| {
            let sql = format!(
                "SELECT d.number, d.session, d.request, d.choice, d.outgoing, d.key, d.at FROM {WITH_FATE}
                 WHERE d.settles IS NULL AND d.fate = 'sending' AND f.number IS NULL ORDER BY d.number"
            );
            conn.prepare_cached(&sql)?
                .query_and_then([], |row| {
                    Ok(PendingDecision {
                        number: row.get(0)?,
                        session: SessionId(row.get(1)?),
                        request: text(row, 2)?,
                        choice: from_word("choice", &text(row, 3)?)?,
                        outgoing: text(row, 4)?,
                        key: text(row, 5)?,
                        at: row.get(6)?,
                    })
                })?
                .collect()
        })
        .await
    }

    /// Walks the whole chain and gives the number of its rows (decisions and fates).
    ///
    /// # Errors
    /// [`StoreError::LedgerBroken`] with the first row that is missing, changed or out of the chain.
    pub async fn verify_ledger(&self) -> Result<u64, StoreError> {
        self.read(verify).await
    }
}

fn verify(conn: &Connection) -> Result<u64, StoreError> {
    let sql = format!("SELECT {COVERED}, prev, hash FROM decisions ORDER BY number");
    let mut query = conn.prepare_cached(&sql)?;
    let mut rows = query.query([])?;
    let mut expected = 1_i64;
    let mut prev = GENESIS;
    while let Some(row) = rows.next()? {
        let number: i64 = row.get(0)?;
        let values = covered(row)?;
        let hash = row_hash(&prev, &values);
        let stored_prev: Vec<u8> = row.get(COVERED_COUNT)?;
        let stored_hash: Vec<u8> = row.get(COVERED_COUNT + 1)?;
        if number != expected || stored_prev != prev || stored_hash != hash {
            return Err(StoreError::LedgerBroken { number: expected });
        }
        prev = hash;
        expected += 1;
    }
    let head: Option<(i64, Vec<u8>)> = conn
        .prepare_cached("SELECT number, hash FROM ledger_head")?
        .query_row([], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let (last, hash) = head.unwrap_or_else(|| (0, GENESIS.to_vec()));
    if last != expected - 1 || hash != prev {
        return Err(StoreError::LedgerBroken { number: expected.min(last + 1) });
    }
    Ok(last.unsigned_abs())
}

fn covered(row: &Row<'_>) -> Result<[Value; COVERED_COUNT], StoreError> {
    let mut values = std::array::from_fn(|_| Value::Null);
    for (column, value) in values.iter_mut().enumerate() {
        *value = row.get(column)?;
    }
    Ok(values)
}

fn ledger_row(row: &Row<'_>) -> Result<LedgerRow, StoreError> {
    let waited_ms: i64 = row.get(10)?;
    Ok(LedgerRow {
        number: row.get(0)?,
        session: SessionId(row.get(1)?),
        request: text(row, 2)?,
        at: row.get(3)?,
        by: from_word("decider", &text(row, 4)?)?,
        choice: from_word("choice", &text(row, 5)?)?,
        tool: optional_text(row, 6)?,
        subject: text(row, 7)?,
        reason: optional_text(row, 8)?,
        digest: text(row, 9)?,
        waited_ms: waited_ms.unsigned_abs(),
        fate: fate(row, 11)?,
    })
}

/// Reads [`FATE`], which begins at `column`.
pub(crate) fn fate(row: &Row<'_>, column: usize) -> Result<Fate, StoreError> {
    match text(row, column)?.as_str() {
        "sending" => Ok(Fate::Sending),
        "accepted" => Ok(Fate::Accepted),
        "refused" => Ok(Fate::Refused { message: text(row, column + 1)? }),
        "superseded" => Ok(Fate::Superseded),
        "unknown" => Ok(Fate::Unknown),
        other => Err(StoreError::Damaged { detail: format!("a decision's fate {other}") }),
    }
}
