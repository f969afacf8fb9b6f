//! The bounded queue in front of the writer and of the readers: async on the way in, blocking on the way out.
//!
//! When it is full, `push` waits: the caller stops reading its stream, which is the back pressure wanted. Urgent
//! entries (decisions) overtake plain ones and have no part in the bound, since a person makes few of them.

use std::{
    collections::VecDeque,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::Semaphore;

/// Which lane an entry takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lane {
    Urgent,
    Plain,
}

/// The queue was closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct QueueClosed;

pub(crate) struct Queue<T> {
    lanes: Mutex<Lanes<T>>,
    ready: Condvar,
    room: Semaphore,
}

struct Lanes<T> {
    urgent: VecDeque<T>,
    plain: VecDeque<T>,
    closed: bool,
}

impl<T> Queue<T> {
    pub(crate) fn new(room: usize) -> Self {
        Self {
            lanes: Mutex::new(Lanes { urgent: VecDeque::new(), plain: VecDeque::new(), closed: false }),
            ready: Condvar::new(),
            room: Semaphore::new(room),
        }
    }

    /// Puts a plain entry in, once there is room.
    pub(crate) async fn push(&self, entry: T) -> Result<(), QueueClosed> {
        // The room comes back when the entry is taken out.
        self.room.acquire().await.map_err(|_| QueueClosed)?.forget();
        self.put(entry, Lane::Plain)
    }

    /// Puts an urgent entry in, without waiting.
    pub(crate) fn push_urgent(&self, entry: T) -> Result<(), QueueClosed> {
        self.put(entry, Lane::Urgent)
    }

    fn put(&self, entry: T, lane: Lane) -> Result<(), QueueClosed> {
        let mut lanes = self.lock();
        if lanes.closed {
            return Err(QueueClosed);
        }
        match lane {
            Lane::Urgent => lanes.urgent.push_back(entry),
            Lane::Plain => lanes.plain.push_back(entry),
        }
        drop(lanes);
        self.ready.notify_one();
        Ok(())
    }

    /// Waits for entries and takes a group of one lane: all urgent ones, else plain ones up to `budget` by `weight`
    /// (at least one). False once the queue is closed and empty.
    pub(crate) fn pop_group(&self, group: &mut Vec<T>, budget: usize, weight: impl Fn(&T) -> usize) -> bool {
        let mut lanes = self.lock();
        loop {
            if !lanes.urgent.is_empty() {
                group.extend(lanes.urgent.drain(..));
                return true;
            }
            let mut taken = 0;
            let mut spent = 0;
            while spent < budget
                && let Some(entry) = lanes.plain.pop_front()
            {
                spent += weight(&entry).max(1);
                taken += 1;
                group.push(entry);
            }
            if taken > 0 {
                self.room.add_permits(taken);
                return true;
            }
            if lanes.closed {
                return false;
            }
            lanes = self.ready.wait(lanes).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Takes nothing more in; what is in it is still handed out.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.room.close();
        self.ready.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, Lanes<T>> {
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn urgent_entries_overtake_and_groups_keep_to_their_budget() {
        let queue = Queue::new(8);
        for entry in [3, 3, 3] {
            queue.push(entry).await.unwrap();
        }
        queue.push_urgent(99).unwrap();
        queue.close();
        let mut groups = Vec::new();
        let mut group = Vec::new();
        while queue.pop_group(&mut group, 4, |weight| *weight) {
            groups.push(std::mem::take(&mut group));
        }
        assert_eq!(groups, [vec![99], vec![3, 3], vec![3]]);
    }

    #[tokio::test]
    async fn a_full_queue_makes_the_caller_wait_until_an_entry_is_taken() {
        let queue = Queue::new(1);
        queue.push(1).await.unwrap();
        let mut second = std::pin::pin!(queue.push(2));
        let waits = std::future::poll_fn(|cx| std::task::Poll::Ready(second.as_mut().poll(cx).is_pending())).await;
        assert!(waits);
        let mut group = Vec::new();
        assert!(queue.pop_group(&mut group, 1, |_| 1));
        second.await.unwrap();
        assert!(queue.pop_group(&mut group, 1, |_| 1));
        assert_eq!(group, [1, 2]);
    }

    #[tokio::test]
    async fn a_closed_queue_takes_nothing_and_says_so() {
        let queue = Queue::new(1);
        queue.close();
        assert_eq!(queue.push(1).await, Err(QueueClosed));
        assert_eq!(queue.push_urgent(1), Err(QueueClosed));
    }
}
