//! Checkpoints beside the writer: a thread of their own brings the WAL into the database while writes go on, so that
//! neither a flood nor a decision waits for two syncs of the disk.
//!
//! SQLite begins the WAL anew only when all of it has been brought in. While writes never pause that may not happen,
//! so a WAL that has grown long is brought in by the writer itself, of which most is done by then.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, Ordering},
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread::{self, JoinHandle},
};

use rusqlite::{Connection, OpenFlags};

use crate::StoreError;

/// From so many pages in the WAL on, they are brought in (32 MiB).
const DUE: u32 = 4_096;

/// From so many on, the writer does it itself (128 MiB).
const OVERDUE: u32 = 16_384;

const SETTINGS: &str = "
    PRAGMA synchronous = NORMAL;
    PRAGMA wal_autocheckpoint = 0;
    PRAGMA trusted_schema = OFF;
    PRAGMA busy_timeout = 5000;";

/// The writer's end.
pub(crate) struct Checkpoints {
    pages: Arc<AtomicU32>,
    wake: SyncSender<()>,
    thread: JoinHandle<()>,
}

impl Checkpoints {
    /// Takes over from SQLite's own checkpoints after COMMIT on `writer`, which has the database at `path` open.
    pub(crate) fn take_over(
        writer: &mut Connection,
        path: &Path,
        damage_seen: Arc<AtomicBool>,
    ) -> Result<Self, StoreError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let conn = Connection::open_with_flags(path, flags)?;
        conn.execute_batch(SETTINGS)?;
        let pages = Arc::new(AtomicU32::new(0));
        let seen = pages.clone();
        writer.wal_hook(Some(move |_: &mut rusqlite::hooks::Wal, pages| {
            seen.store(u32::try_from(pages).unwrap_or(0), Ordering::Relaxed);
            Ok(())
        }))?;
        let (wake, woken) = sync_channel(1);
        let thread = thread::Builder::new()
            .name("store-checkpoint".into())
            .spawn(move || run(&conn, &woken, &damage_seen))
            .map_err(|error| StoreError::file("store thread", error))?;
        Ok(Self { pages, wake, thread })
    }

    /// After each COMMIT of the writer.
    pub(crate) fn committed(&self, writer: &Connection) {
        let pages = self.pages.load(Ordering::Relaxed);
        if pages >= OVERDUE {
            // Where the other thread is at it, this one has nothing to do and says so at once.
            if let Err(error) = checkpoint(writer) {
                tracing::warn!(%error, "checkpoint failed");
            }
        } else if pages >= DUE {
            // A full channel: it has been told.
            let _ = self.wake.try_send(());
        }
    }

    /// Ends the thread and closes its connection.
    pub(crate) fn end(self) {
        drop(self.wake);
        // One that panicked leaves a longer WAL behind, and nothing else.
        let _ = self.thread.join();
    }
}

fn run(conn: &Connection, woken: &Receiver<()>, damage_seen: &AtomicBool) {
    while woken.recv().is_ok() {
        if let Err(error) = checkpoint(conn) {
            if error.is_damage() {
                damage_seen.store(true, Ordering::Relaxed);
            }
            tracing::warn!(%error, "checkpoint failed");
        }
    }
}

/// PASSIVE: waits neither for readers nor for a writer, and brings in what it can.
fn checkpoint(conn: &Connection) -> Result<(), StoreError> {
    conn.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A writer with a table of which each row fills a page of the WAL.
    fn writer(path: &Path) -> Connection {
        let conn = Connection::open(path).unwrap();
        conn.execute_batch(
            "PRAGMA page_size = 8192; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; CREATE TABLE t (x);",
        )
        .unwrap();
        conn
    }

    fn grow(conn: &Connection, pages: u32) {
        conn.execute(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
             INSERT INTO t SELECT zeroblob(8100) FROM n",
            [pages],
        )
        .unwrap();
    }

    fn bytes(path: &Path) -> u64 {
        std::fs::metadata(path).unwrap().len()
    }

    #[test]
    fn a_wal_that_is_due_is_brought_in_beside_the_writer() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.db");
        let mut conn = writer(&path);
        let checkpoints = Checkpoints::take_over(&mut conn, &path, Arc::default()).unwrap();
        grow(&conn, DUE - 100);
        checkpoints.committed(&conn);
        grow(&conn, 200);
        let before = bytes(&path);
        checkpoints.committed(&conn);
        checkpoints.end();
        assert!(before < 1024 * 1024, "{before}");
        assert!(bytes(&path) > u64::from(DUE) * 8192, "{}", bytes(&path));
    }

    #[test]
    fn a_wal_that_is_overdue_is_brought_in_by_the_writer_and_begins_anew() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.db");
        let mut conn = writer(&path);
        let checkpoints = Checkpoints::take_over(&mut conn, &path, Arc::default()).unwrap();
        grow(&conn, OVERDUE);
        checkpoints.committed(&conn);
        assert!(bytes(&path) > u64::from(OVERDUE) * 8192);
        grow(&conn, 1);
        assert!(checkpoints.pages.load(Ordering::Relaxed) < DUE);
        checkpoints.end();
    }
}
