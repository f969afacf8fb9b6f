//! The writer thread: the one connection that writes. Takes what has queued up, runs it in one transaction, and
//! answers each caller after COMMIT.
//!
//! A write that fails is undone alone (savepoint); the others of its group stand. Urgent writes (ledger, outbox) are
//! a group of their own with `synchronous = FULL`: in WAL mode that syncs the log at COMMIT.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
};

use rusqlite::Connection;
use tokio::sync::watch;

use crate::{
    StoreError,
    checkpoint::Checkpoints,
    grouped::{Desk, Numbers, Write},
    lock::{Left, Lock},
    queue::{Lane, Queue},
};

/// Rows in one transaction, roughly: about 20 ms, which is what a decision may have to wait for.
const GROUP_ROWS: usize = 4_096;

/// A write with the lane it came by.
pub(crate) struct Queued {
    pub(crate) lane: Lane,
    pub(crate) write: Box<dyn Write>,
}

/// How the writer ended; `None` while it runs.
pub(crate) type Ending = Option<Result<(), StoreError>>;

/// Everything the thread owns.
pub(crate) struct Writer {
    pub(crate) conn: Connection,
    pub(crate) numbers: Numbers,
    pub(crate) queue: Arc<Queue<Queued>>,
    pub(crate) checkpoints: Checkpoints,
    pub(crate) readers: Vec<JoinHandle<()>>,
    pub(crate) lock: Lock,
    pub(crate) damage_seen: Arc<AtomicBool>,
    pub(crate) ended: watch::Sender<Ending>,
}

impl Writer {
    pub(crate) fn run(mut self) {
        let mut group = Vec::new();
        while self.queue.pop_group(&mut group, GROUP_ROWS, |queued| queued.write.weight()) {
            self.run_group(&mut group);
        }
        let Self { conn, checkpoints, readers, lock, damage_seen, ended, .. } = self;
        checkpoints.end();
        let ending = finish(conn, readers, lock, &damage_seen);
        if let Err(error) = &ending {
            tracing::error!(%error, "closing the database");
        }
        ended.send_replace(Some(ending));
    }

    fn run_group(&mut self, group: &mut Vec<Queued>) {
        let urgent = group.first().is_some_and(|queued| queued.lane == Lane::Urgent);
        let began = self.begin(urgent);
        let mut lost = began.err();
        let mut waiting = Vec::with_capacity(group.len());
        for Queued { mut write, .. } in group.drain(..) {
            if lost.is_none()
                && let Err(error) = self.run_one(write.as_mut())
            {
                self.note(&error);
                // SQLite rolls the whole transaction back by itself when the disk is full or fails.
                if self.conn.is_autocommit() {
                    lost = Some(error);
                }
            }
            waiting.push(write);
        }
        if lost.is_none() {
            lost = self.conn.execute_batch("COMMIT").err().map(StoreError::from);
        }
        if let Some(error) = &lost {
            self.note(error);
            if !self.conn.is_autocommit() {
                // Nothing is left to do about a rollback that fails: the next BEGIN says so.
                let _ = self.conn.execute_batch("ROLLBACK");
            }
        }
        for write in waiting {
            write.answer(lost.clone());
        }
        if urgent && let Err(error) = self.conn.execute_batch("PRAGMA synchronous = NORMAL") {
            self.note(&error.into());
        }
        self.checkpoints.committed(&self.conn);
    }

    fn begin(&self, urgent: bool) -> Result<(), StoreError> {
        if urgent {
            self.conn.execute_batch("PRAGMA synchronous = FULL")?;
        }
        self.conn.execute_batch("BEGIN IMMEDIATE")?;
        Ok(())
    }

    fn run_one(&mut self, write: &mut dyn Write) -> Result<(), StoreError> {
        self.conn.prepare_cached("SAVEPOINT one")?.execute([])?;
        let result = write.run(&mut Desk { conn: &self.conn, numbers: &mut self.numbers });
        if result.is_err() && !self.conn.is_autocommit() {
            self.conn.prepare_cached("ROLLBACK TO one")?.execute([])?;
        }
        if !self.conn.is_autocommit() {
            self.conn.prepare_cached("RELEASE one")?.execute([])?;
        }
        result
    }

    fn note(&self, error: &StoreError) {
        if error.is_damage() {
            self.damage_seen.store(true, Ordering::Relaxed);
        }
        tracing::warn!(%error, "write failed");
    }
}

/// Readers first, so that this connection is the last one and the WAL goes into the database.
fn finish(
    conn: Connection,
    readers: Vec<JoinHandle<()>>,
    mut lock: Lock,
    damage_seen: &AtomicBool,
) -> Result<(), StoreError> {
    for reader in readers {
        // A reader that panicked has been answered for by its callers' replies.
        let _ = reader.join();
    }
    conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
    conn.close().map_err(|(_, error)| error)?;
    lock.leave(if damage_seen.load(Ordering::Relaxed) { Left::Damaged } else { Left::Closed })
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use tempfile::TempDir;

    use crate::{Store, StoreError};

    fn open(folder: &TempDir) -> Store {
        Store::open(&folder.path().join("record.db"), 1).unwrap().store
    }

    async fn synchronous(store: &Store, urgent: bool) -> i64 {
        let read = |desk: &mut crate::grouped::Desk<'_>| {
            Ok(desk.conn.query_row("PRAGMA synchronous", [], |row| row.get(0))?)
        };
        if urgent { store.write_synced(read).await.unwrap() } else { store.write(1, read).await.unwrap() }
    }

    async fn fill(store: &Store, bytes: usize) -> Result<usize, StoreError> {
        let sql = "INSERT INTO usage (session, body) VALUES ((SELECT count(*) FROM usage), ?1)";
        store.write(1, move |desk| Ok(desk.conn.execute(sql, ["x".repeat(bytes)])?)).await
    }

    async fn rows(store: &Store) -> i64 {
        store.read(|conn| Ok(conn.query_row("SELECT count(*) FROM usage", [], |row| row.get(0))?)).await.unwrap()
    }

    #[tokio::test]
    async fn only_the_ledgers_transactions_are_synced_at_each_commit() {
        let folder = tempfile::tempdir().unwrap();
        let store = open(&folder);
        const NORMAL: i64 = 1;
        const FULL: i64 = 2;
        assert_eq!(synchronous(&store, false).await, NORMAL);
        assert_eq!(synchronous(&store, true).await, FULL);
        assert_eq!(synchronous(&store, false).await, NORMAL);
    }

    #[tokio::test]
    async fn writes_that_queue_up_share_a_transaction_and_a_failed_one_is_undone_alone() {
        let folder = tempfile::tempdir().unwrap();
        let store = open(&folder);
        let (began_tx, began) = tokio::sync::oneshot::channel();
        let (go, wait) = mpsc::channel::<()>();
        // Holds the writer until the others are queued.
        let gate = store.write(1, move |_| {
            let _ = began_tx.send(());
            wait.recv().map_err(|_| StoreError::Closed)
        });
        let others = async {
            began.await.unwrap();
            let visible = store.clone();
            tokio::join!(
                fill(&store, 1),
                store.write(1, |desk| -> Result<(), StoreError> {
                    desk.conn.execute("INSERT INTO usage (session, body) VALUES (50, 'undone')", [])?;
                    Err(StoreError::NotAFate { number: 7 })
                }),
                store.write(1, move |desk| {
                    let here: i64 = desk.conn.query_row("SELECT count(*) FROM usage", [], |row| row.get(0))?;
                    let (tell, told) = mpsc::channel();
                    // From outside, nothing of the group is committed yet.
                    std::thread::spawn(move || {
                        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
                        tell.send(runtime.block_on(rows(&visible))).unwrap();
                    });
                    Ok((here, told.recv().unwrap()))
                }),
                async { go.send(()).unwrap() },
            )
        };
        let (gate, (one, failed, seen, ())) = tokio::join!(gate, others);
        gate.unwrap();
        assert_eq!(one.unwrap(), 1);
        assert!(matches!(failed, Err(StoreError::NotAFate { number: 7 })));
        assert_eq!(seen.unwrap(), (1, 0));
        assert_eq!(rows(&store).await, 1);
    }

    #[tokio::test]
    async fn a_full_disk_fails_the_write_and_room_again_lets_the_next_one_through() {
        let folder = tempfile::tempdir().unwrap();
        let store = open(&folder);
        fill(&store, 10).await.unwrap();
        let limit = |pages: i64| {
            store.write(1, move |desk| {
                Ok(desk.conn.query_row(&format!("PRAGMA max_page_count = {pages}"), [], |row| row.get::<_, i64>(0))?)
            })
        };
        limit(1).await.unwrap();
        let (full, small) = tokio::join!(fill(&store, 1 << 20), fill(&store, 10));
        assert!(matches!(full, Err(StoreError::Sqlite(_))));
        let small = i64::from(small.is_ok());
        assert_eq!(rows(&store).await, 1 + small, "what was answered is there, and nothing else");
        limit(1 << 30).await.unwrap();
        fill(&store, 1 << 20).await.unwrap();
        assert_eq!(rows(&store).await, 2 + small);
    }
}
