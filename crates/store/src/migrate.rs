//! Migrations: the SQL files of `migrations/`, run in order. `user_version` counts those that ran.

use rusqlite::Connection;

use crate::StoreError;

/// All migrations, oldest first. Only ever appended to.
pub(crate) const MIGRATIONS: &[(&str, &str)] = &[
    ("0001_record", include_str!("../migrations/0001_record.sql")),
    ("0002_search", include_str!("../migrations/0002_search.sql")),
    ("0003_runs", include_str!("../migrations/0003_runs.sql")),
];

/// The version of a database with all migrations of this build.
pub const SCHEMA_VERSION: i64 = MIGRATIONS.len() as i64;

/// The version of an open database.
pub(crate) fn version(conn: &Connection) -> Result<i64, StoreError> {
    Ok(conn.query_row("PRAGMA user_version", [], |row| row.get(0))?)
}

/// Refuses a version this build does not know.
pub(crate) fn check_known(found: i64) -> Result<(), StoreError> {
    if found > SCHEMA_VERSION {
        return Err(StoreError::TooNew { found, known: SCHEMA_VERSION });
    }
    Ok(())
}

/// Runs what is missing, each migration in a transaction of its own together with its number.
pub(crate) fn migrate(conn: &mut Connection) -> Result<(), StoreError> {
    let found = version(conn)?;
    check_known(found)?;
    for (number, (name, sql)) in (1_i64..).zip(MIGRATIONS) {
        if number <= found {
            continue;
        }
        let transaction = conn.transaction()?;
        transaction.execute_batch(sql)?;
        transaction.pragma_update(None, "user_version", number)?;
        transaction.commit()?;
        tracing::info!(migration = name, "migrated");
    }
    Ok(())
}
