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
    grouped::{Desk, Numbers, Write},
    lock::Lock,
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
        let Self { conn, readers, lock, damage_seen, ended, .. } = self;
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
    // Not marked when damage was seen: the next start looks at every page.
    if !damage_seen.load(Ordering::Relaxed) {
        lock.mark_closed()?;
    }
    Ok(())
}
