//! The ledger's write side: every decision, and every fate of one, as a row chained to the row before. Synced to
//! disk before the call answers, so before anything is sent.

use contract::{
    Millis,
    request::{DecidedBy, Fate},
};
use rusqlite::{Connection, OptionalExtension, params, params_from_iter, types::Value};

use crate::{
    NewDecision, Store, StoreError,
    encode::word,
    ledger_chain::{COVERED, COVERED_COUNT, GENESIS, row_hash},
    ledger_read::{FATE, WITH_FATE, fate},
    sessions::require,
};

impl Store {
    /// Writes a decision down and gives its number. Synced to disk when it answers.
    ///
    /// # Errors
    /// [`StoreError::AlreadyDecided`] where the person's earlier decision on this request is on its way or accepted;
    /// [`StoreError::NoSuchSession`]; or when the database cannot be written.
    pub async fn record_decision(&self, decision: NewDecision) -> Result<i64, StoreError> {
        self.write_synced(move |desk| record(desk.conn, decision)).await
    }

    /// Writes down what became of a decision, as a row of its own. The fate it has already is not written again.
    ///
    /// # Errors
    /// [`StoreError::NoSuchDecision`], [`StoreError::NotAFate`], or when the database cannot be written.
    pub async fn settle_decision(&self, number: i64, fate: Fate, now: Millis) -> Result<(), StoreError> {
        self.write_synced(move |desk| settle(desk.conn, number, &fate, now)).await
    }
}

fn record(conn: &Connection, decision: NewDecision) -> Result<i64, StoreError> {
    require(conn, decision.session)?;
    if decision.by == DecidedBy::You {
        let sql = format!(
            "SELECT 1 FROM {WITH_FATE} WHERE d.session = ?1 AND d.request = ?2 AND d.settles IS NULL
               AND d.decided_by = 'you' AND ifnull(f.fate, d.fate) IN ('sending', 'accepted')"
        );
        if conn.prepare_cached(&sql)?.exists(params![decision.session.0, decision.request])? {
            return Err(StoreError::AlreadyDecided { session: decision.session, request: decision.request });
        }
    }
    let (fate, fate_message) = fate_columns(&decision.fate);
    let waited_ms = i64::try_from(decision.waited_ms).unwrap_or(i64::MAX);
    let chained = |number: i64| -> Result<[Value; COVERED_COUNT], StoreError> {
        Ok([
            number.into(),
            Value::Null,
            decision.session.0.into(),
            decision.request.into(),
            decision.at.into(),
            word("decider", &decision.by)?.into(),
            word("choice", &decision.choice)?.into(),
            decision.tool.into(),
            decision.subject.into(),
            decision.reason.into(),
            decision.digest.into(),
            waited_ms.into(),
            decision.outgoing.into(),
            decision.key.into(),
            fate.into(),
            fate_message.into(),
        ])
    };
    append_row(conn, chained)
}

fn settle(conn: &Connection, number: i64, settled: &Fate, now: Millis) -> Result<(), StoreError> {
    if *settled == Fate::Sending {
        return Err(StoreError::NotAFate { number });
    }
    let sql = format!(
        "SELECT {FATE}, d.session, d.request, d.decided_by, d.choice, d.digest, d.key FROM {WITH_FATE}
         WHERE d.number = ?1 AND d.settles IS NULL"
    );
    let found = conn
        .prepare_cached(&sql)?
        .query_and_then([number], |row| -> Result<_, StoreError> {
            let copied: [Value; 6] = [row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?, row.get(6)?, row.get(7)?];
            Ok((fate(row, 0)?, copied))
        })?
        .next()
        .transpose()?;
    let Some((current, [session, request, by, choice, digest, key])) = found else {
        return Err(StoreError::NoSuchDecision { number });
    };
    if current == *settled {
        return Ok(());
    }
    let (fate, fate_message) = fate_columns(settled);
    append_row(conn, |own| {
        Ok([
            own.into(),
            number.into(),
            session,
            request,
            now.into(),
            by,
            choice,
            Value::Null,
            String::new().into(),
            Value::Null,
            digest,
            0_i64.into(),
            Value::Null,
            key,
            fate.into(),
            fate_message.into(),
        ])
    })?;
    Ok(())
}

/// Appends the row that `values` makes for its number, chained to the last one.
fn append_row(
    conn: &Connection,
    values: impl FnOnce(i64) -> Result<[Value; COVERED_COUNT], StoreError>,
) -> Result<i64, StoreError> {
    let head: Option<(i64, Vec<u8>)> = conn
        .prepare_cached("SELECT number, hash FROM ledger_head")?
        .query_row([], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let (last, prev) = head.unwrap_or_else(|| (0, GENESIS.to_vec()));
    let number = last + 1;
    let values = values(number)?;
    let hash = row_hash(&prev, &values);
    let sql = format!(
        "INSERT INTO decisions ({COVERED}, prev, hash)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)"
    );
    let chain = [Value::Blob(prev), Value::Blob(hash.to_vec())];
    conn.prepare_cached(&sql)?.execute(params_from_iter(values.iter().chain(&chain)))?;
    conn.prepare_cached(
        "INSERT INTO ledger_head (only, number, hash) VALUES (1, ?1, ?2)
         ON CONFLICT (only) DO UPDATE SET number = ?1, hash = ?2",
    )?
    .execute(params![number, hash.as_slice()])?;
    Ok(number)
}

fn fate_columns(fate: &Fate) -> (String, Option<String>) {
    match fate {
        Fate::Sending => ("sending".into(), None),
        Fate::Accepted => ("accepted".into(), None),
        Fate::Refused { message } => ("refused".into(), Some(message.clone())),
        Fate::Superseded => ("superseded".into(), None),
        Fate::Unknown => ("unknown".into(), None),
    }
}
