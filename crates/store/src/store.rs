//! The store as callers hold it: two queues, and the threads behind them.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use contract::Millis;
use rusqlite::Connection;
use tokio::sync::{oneshot, watch};

use crate::{
    Opened, StoreError,
    checkpoint::Checkpoints,
    damage::{Check, check_pages},
    grouped::{Desk, Numbers, Task},
    lock::Lock,
    open,
    queue::{Lane, Queue},
    writer::{Ending, Queued, Writer},
};

/// Reading connections, each with a thread.
pub(crate) const READERS: usize = 3;

/// Writes that may wait; a caller beyond that waits itself.
const WRITES_WAITING: usize = 256;

/// Reads that may wait.
const READS_WAITING: usize = 256;

type Read = Box<dyn FnOnce(&Connection) + Send>;

/// The record. Cheap to clone; the database is closed by [`Store::close`], or in the background when the last clone
/// is dropped.
#[derive(Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

struct Inner {
    writes: Arc<Queue<Queued>>,
    reads: Arc<Queue<Read>>,
    damage_seen: Arc<AtomicBool>,
    ended: watch::Receiver<Ending>,
}

impl Inner {
    fn stop(&self) {
        self.reads.close();
        self.writes.close();
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.stop();
    }
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store").finish_non_exhaustive()
    }
}

impl Store {
    /// Opens or creates the database at `path` and brings its schema up to date. Blocks: call it off the runtime.
    /// A damaged file is set aside under a name made with `now`, and a new one begun.
    ///
    /// # Errors
    /// [`StoreError::Locked`] while another store has it open; [`StoreError::TooNew`] for a file of a newer version,
    /// which is left as it is; [`StoreError::File`] and [`StoreError::Sqlite`] when it cannot be used at all.
    pub fn open(path: &Path, now: Millis) -> Result<Opened, StoreError> {
        open::open(path, now)
    }

    pub(crate) fn start(
        path: &Path,
        mut conn: Connection,
        readers: Vec<Connection>,
        lock: Lock,
        check: Check,
    ) -> Result<Self, StoreError> {
        let writes = Arc::new(Queue::new(WRITES_WAITING));
        let reads: Arc<Queue<Read>> = Arc::new(Queue::new(READS_WAITING));
        let damage_seen = Arc::new(AtomicBool::new(false));
        let (ended_tx, ended) = watch::channel(None);
        let numbers = Numbers::read(&conn)?;
        let inner = Inner { writes: writes.clone(), reads: reads.clone(), damage_seen: damage_seen.clone(), ended };
        if check == Check::Meanwhile {
            let damage_seen = damage_seen.clone();
            let look = move |conn: &Connection| {
                if let Err(error) = check_pages(conn) {
                    tracing::error!(%error, "checking the pages");
                    damage_seen.store(true, Ordering::Relaxed);
                }
            };
            reads.push_urgent(Box::new(look)).map_err(|_| StoreError::Closed)?;
        }
        let checkpoints = Checkpoints::take_over(&mut conn, path, damage_seen.clone())?;
        let spawn_failed = |error| StoreError::file("store thread", error);
        let mut threads = Vec::new();
        for conn in readers {
            let reads = reads.clone();
            let reader = thread::Builder::new().name("store-read".into()).spawn(move || {
                let mut next = Vec::with_capacity(1);
                while reads.pop_group(&mut next, 1, |_| 1) {
                    next.drain(..).for_each(|read| read(&conn));
                }
            });
            threads.push(reader.map_err(spawn_failed)?);
        }
        let writer =
            Writer { conn, numbers, queue: writes, checkpoints, readers: threads, lock, damage_seen, ended: ended_tx };
        thread::Builder::new().name("store-write".into()).spawn(move || writer.run()).map_err(spawn_failed)?;
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Finishes what is queued, folds the WAL into the database and releases the lock. Calls after it (on any clone)
    /// fail with [`StoreError::Closed`]; closing again is harmless.
    ///
    /// # Errors
    /// When the last checkpoint fails. Nothing committed is lost by that: the WAL stays.
    pub async fn close(&self) -> Result<(), StoreError> {
        self.inner.stop();
        let mut ended = self.inner.ended.clone();
        let ending = ended.wait_for(Option::is_some).await.map_err(|_| StoreError::Closed)?;
        ending.clone().unwrap_or(Err(StoreError::Closed))
    }

    /// Runs `work` on the writer thread, in a transaction shared with others, and answers after COMMIT.
    pub(crate) async fn write<T, F>(&self, weight: usize, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&mut Desk<'_>) -> Result<T, StoreError> + Send + 'static,
    {
        self.enqueue(Lane::Plain, weight, work).await
    }

    /// The same ahead of everything queued, and synced to disk before the answer.
    pub(crate) async fn write_synced<T, F>(&self, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&mut Desk<'_>) -> Result<T, StoreError> + Send + 'static,
    {
        self.enqueue(Lane::Urgent, 1, work).await
    }

    async fn enqueue<T, F>(&self, lane: Lane, weight: usize, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&mut Desk<'_>) -> Result<T, StoreError> + Send + 'static,
    {
        let (reply, answer) = oneshot::channel();
        let write = Box::new(Task::new(weight, work, reply));
        let queued = Queued { lane, write };
        let taken = match lane {
            Lane::Urgent => self.inner.writes.push_urgent(queued),
            Lane::Plain => self.inner.writes.push(queued).await,
        };
        taken.map_err(|_| StoreError::Closed)?;
        answer.await.map_err(|_| StoreError::Closed)?
    }

    /// Runs `work` on a reading thread, in one read transaction: all it reads is of one moment.
    pub(crate) async fn read<T, F>(&self, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    {
        let (reply, answer) = oneshot::channel();
        let damage_seen = self.inner.damage_seen.clone();
        let read = move |conn: &Connection| {
            let result = conn.unchecked_transaction().map_err(StoreError::from).and_then(|moment| work(&moment));
            if result.as_ref().is_err_and(StoreError::is_damage) {
                damage_seen.store(true, Ordering::Relaxed);
            }
            // The caller may have gone away.
            let _ = reply.send(result);
        };
        self.inner.reads.push(Box::new(read)).await.map_err(|_| StoreError::Closed)?;
        answer.await.map_err(|_| StoreError::Closed)?
    }
}
