//! Telling a sound file from a damaged one and from a newer one, and setting a damaged one aside.

use std::{
    fs::{self, File},
    io::{ErrorKind, Read},
    path::{Path, PathBuf},
};

use contract::Millis;
use rusqlite::{Connection, OpenFlags, config::DbConfig};

use crate::{
    StoreError,
    lock::{Left, beside},
    migrate::{check_known, version},
};

/// Files up to this size are checked at every start: it costs less than 0.1 s.
const ALWAYS_CHECKED_BYTES: u64 = 16 * 1024 * 1024;

/// The database header (SQLite file format, 1.3): 100 bytes that begin with this.
const MAGIC: &[u8; 16] = b"SQLite format 3\0";
const HEADER_BYTES: usize = 100;

/// Looks at the file before SQLite does, since opening alone may write to it.
///
/// # Errors
/// [`StoreError::TooNew`] or [`StoreError::Damaged`]; the file is untouched.
pub(crate) fn look_before_opening(path: &Path) -> Result<(), StoreError> {
    let Some(header) = read_header(path)? else {
        return Ok(());
    };
    if header.len() < HEADER_BYTES || !header.starts_with(MAGIC) {
        return Err(StoreError::Damaged { detail: "the file is not a database".into() });
    }
    if let Some(bytes) = header.get(60..64).and_then(|bytes| <[u8; 4]>::try_from(bytes).ok()) {
        check_known(i64::from(i32::from_be_bytes(bytes)))?;
    }
    // After a crash the version may stand in the WAL alone.
    if fs::metadata(beside(path, "-wal")).is_ok_and(|wal| wal.len() > 0) {
        let conn = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        check_known(version(&conn)?)?;
    }
    Ok(())
}

/// The first bytes of the file; `None` where there is none, or an empty one.
fn read_header(path: &Path) -> Result<Option<Vec<u8>>, StoreError> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(StoreError::file(path, error)),
    };
    let mut header = Vec::with_capacity(HEADER_BYTES);
    file.take(HEADER_BYTES as u64).read_to_end(&mut header).map_err(|error| StoreError::file(path, error))?;
    Ok(if header.is_empty() { None } else { Some(header) })
}

/// When the pages of a database are checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Check {
    /// Before it is used.
    Now,
    /// While it is in use: it is large (half a gigabyte takes 3 s), and a process that was killed does not damage it
    /// as long as the system stands. What is found is acted on at the next start.
    Meanwhile,
    /// Not at all.
    Never,
}

impl Check {
    pub(crate) fn due(left: Left, path: &Path) -> Self {
        let small = fs::metadata(path).map_or(0, |file| file.len()) <= ALWAYS_CHECKED_BYTES;
        match left {
            Left::Damaged => Self::Now,
            _ if small => Self::Now,
            Left::Open => Self::Meanwhile,
            Left::Closed => Self::Never,
        }
    }
}

/// Checks the pages of an open database.
///
/// # Errors
/// [`StoreError::Damaged`] with SQLite's first finding.
pub(crate) fn check_pages(conn: &Connection) -> Result<(), StoreError> {
    let finding: String = conn.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    if finding == "ok" { Ok(()) } else { Err(StoreError::Damaged { detail: finding }) }
}

/// Renames the file and its `-wal` and `-shm` to names that are free, so that SQLite can still open what is left.
///
/// # Errors
/// [`StoreError::File`] when a rename fails.
pub(crate) fn set_aside(path: &Path, now: Millis) -> Result<PathBuf, StoreError> {
    let taken = |target: &Path| ["", "-wal", "-shm"].iter().any(|suffix| beside(target, suffix).exists());
    let first = beside(path, &format!(".damaged-{now}"));
    let target = std::iter::once(first.clone())
        .chain((2_u32..).map(|n| beside(&first, &format!("-{n}"))))
        .find(|target| !taken(target))
        .unwrap_or(first);
    // The database last: should a rename fail, what belongs together is still found at the next start.
    for suffix in ["-shm", "-wal", ""] {
        let from = beside(path, suffix);
        match fs::rename(&from, beside(&target, suffix)) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(StoreError::file(from, error));
            }
            _ => {}
        }
    }
    tracing::error!(path = %target.display(), "damaged database set aside");
    Ok(target)
}
