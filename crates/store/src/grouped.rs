//! One write among others of a transaction: it is run, and answered only when the transaction's fate is known.

use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::StoreError;

/// What a write works on: the open transaction and the running numbers.
pub(crate) struct Desk<'a> {
    pub(crate) conn: &'a Connection,
    pub(crate) numbers: &'a mut Numbers,
}

/// Numbers that only rise, also over restarts. A rolled-back write leaves a hole, which is harmless.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Numbers {
    log_seq: i64,
    change: i64,
}

impl Numbers {
    /// Reads where they stood.
    pub(crate) fn read(conn: &Connection) -> Result<Self, StoreError> {
        let log_seq = conn.query_row(
            "SELECT max(ifnull((SELECT max(seq) FROM frames), 0), ifnull((SELECT max(log_seq) FROM cursors), 0))",
            [],
            |row| row.get(0),
        )?;
        let change = conn.query_row(
            "SELECT max(ifnull((SELECT max(changed) FROM items), 0), ifnull((SELECT changed FROM search_cursor), 0))",
            [],
            |row| row.get(0),
        )?;
        Ok(Self { log_seq, change })
    }

    /// The number of the next change of any session's log; a new frame's `seq`.
    pub(crate) fn next_log_seq(&mut self) -> i64 {
        self.log_seq += 1;
        self.log_seq
    }

    /// The number of the next change of any item's searchable text.
    pub(crate) fn next_change(&mut self) -> i64 {
        self.change += 1;
        self.change
    }
}

/// A queued write.
pub(crate) trait Write: Send {
    /// Rows it will touch, roughly: bounds the group.
    fn weight(&self) -> usize;
    /// Does the work inside the open transaction.
    fn run(&mut self, desk: &mut Desk<'_>) -> Result<(), StoreError>;
    /// Tells the caller: the work's own result when `lost` is `None`, else that the transaction was lost.
    fn answer(self: Box<Self>, lost: Option<StoreError>);
}

/// A write as a closure and the caller's reply.
pub(crate) struct Task<T, F> {
    weight: usize,
    work: Option<F>,
    result: Result<T, StoreError>,
    reply: oneshot::Sender<Result<T, StoreError>>,
}

impl<T, F> Task<T, F> {
    pub(crate) fn new(weight: usize, work: F, reply: oneshot::Sender<Result<T, StoreError>>) -> Self {
        Self { weight, work: Some(work), result: Err(StoreError::Closed), reply }
    }
}

impl<T, F> Write for Task<T, F>
where
    T: Send,
    F: FnOnce(&mut Desk<'_>) -> Result<T, StoreError> + Send,
{
    fn weight(&self) -> usize {
        self.weight
    }

    fn run(&mut self, desk: &mut Desk<'_>) -> Result<(), StoreError> {
        if let Some(work) = self.work.take() {
            self.result = work(desk);
        }
        self.result.as_ref().map(|_| ()).map_err(Clone::clone)
    }

    fn answer(self: Box<Self>, lost: Option<StoreError>) {
        // The caller may have gone away; the write stands all the same.
        let _ = self.reply.send(match lost {
            Some(error) => self.result.and(Err(error)),
            None => self.result,
        });
    }
}
