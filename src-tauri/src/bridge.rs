//! The engine's patches to one channel per window: numbered batches, each written as JSON once.
//!
//! Tauri's channels lose and reorder nothing, but have no backpressure: whatever is sent piles up in the page. So
//! nothing is taken from the engine's feed before it can be sent. The feed is bounded, joins text, and lets what
//! waits for a person overtake it.
//!
//! Numbers count up by one per channel, from 1. `overview` tells the number of the last batch sent before it was made,
//! so a batch that was under way meanwhile has a known number, and the page never takes it for a hole.

use std::{
    collections::HashMap,
    future::Future,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use contract::patch::{Batch, Patch};
use tauri::async_runtime::JoinHandle;

/// The least time between two batches: half a frame of the screen. Nobody sees it, and a flood of small states is
/// joined in the feed meanwhile.
const GAP: Duration = Duration::from_millis(8);

/// Where a window's patches come from.
pub trait Feed: Send + Sync + 'static {
    /// The next patches; `None` = there will be none any more.
    fn next(&mut self) -> impl Future<Output = Option<Vec<Patch>>> + Send;
}

impl Feed for engine::WindowFeed {
    fn next(&mut self) -> impl Future<Output = Option<Vec<Patch>>> + Send {
        engine::WindowFeed::next(self)
    }
}

struct Link {
    task: JoinHandle<()>,
    sent: Arc<AtomicU64>,
}

/// Hands a batch to a window; `false` = the window is gone.
pub type Deliver = Box<dyn Fn(String) -> bool + Send>;

/// Every window's link to the engine's patches.
#[derive(Default)]
pub struct Bridge {
    waiting: Mutex<HashMap<String, Deliver>>,
    links: Mutex<HashMap<String, Link>>,
}

impl Bridge {
    /// Keeps a window's channel until there is an engine to link it to.
    pub fn offer(&self, window: &str, send: Deliver) {
        lock(&self.waiting).insert(window.to_owned(), send);
    }

    /// Links a window that waits for it: its patches go through the channel it offered, until that is closed. A link
    /// it had before ends: a page that was loaded again starts at 1. Comes before the overview that patches build on.
    pub fn link<F: Feed>(&self, window: &str, feed: impl FnOnce() -> F) {
        let Some(send) = lock(&self.waiting).remove(window) else { return };
        let feed = feed();
        let sent = Arc::new(AtomicU64::new(0));
        let task = tauri::async_runtime::spawn(pump(feed, send, sent.clone()));
        if let Some(before) = lock(&self.links).insert(window.to_owned(), Link { task, sent }) {
            before.task.abort();
        }
    }

    /// Ends a window's link.
    pub fn unlink(&self, window: &str) {
        lock(&self.waiting).remove(window);
        if let Some(link) = lock(&self.links).remove(window) {
            link.task.abort();
        }
    }

    /// The number of the last batch a window was sent.
    #[must_use]
    pub fn last_batch(&self, window: &str) -> u64 {
        lock(&self.links).get(window).map_or(0, |link| link.sent.load(Ordering::SeqCst))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn pump(mut feed: impl Feed, send: impl Fn(String) -> bool + Send, sent: Arc<AtomicU64>) {
    while let Some(patches) = feed.next().await {
        // Counted before it goes: an overview made meanwhile must not name a smaller number than the page saw. A batch
        // that cannot be written uses its number up too, so that the page sees the hole.
        let number = sent.fetch_add(1, Ordering::SeqCst) + 1;
        match serde_json::to_string(&Batch { number, patches }) {
            Ok(batch) => {
                if !send(batch) {
                    return;
                }
            }
            Err(error) => tracing::error!(%error, number, "a batch could not be written as JSON"),
        }
        tokio::time::sleep(GAP).await;
    }
}

#[cfg(test)]
mod tests {
    use contract::{patch::OverviewChange, session::SessionId};
    use pretty_assertions::assert_eq;
    use serde_json::Value;
    use tokio::{sync::mpsc, time::Instant};

    use super::*;

    impl Feed for mpsc::Receiver<Vec<Patch>> {
        fn next(&mut self) -> impl Future<Output = Option<Vec<Patch>>> + Send {
            self.recv()
        }
    }

    fn gone() -> Patch {
        Patch::Overview { change: OverviewChange::SessionGone { session: SessionId(1) } }
    }

    struct Page {
        patches: mpsc::Sender<Vec<Patch>>,
        batches: mpsc::UnboundedReceiver<Value>,
    }

    fn page() -> Page {
        let (patches, feed) = mpsc::channel(1);
        let (seen, batches) = mpsc::unbounded_channel();
        let send = move |json: String| seen.send(serde_json::from_str(&json).unwrap()).is_ok();
        tokio::spawn(pump(feed, send, Arc::default()));
        Page { patches, batches }
    }

    #[tokio::test(start_paused = true)]
    async fn batches_are_numbered_from_one_and_a_flood_stays_in_the_feed() {
        let mut page = page();
        let begin = Instant::now();
        for _ in 0..100 {
            page.patches.send(vec![gone()]).await.unwrap();
        }
        assert!(begin.elapsed() >= GAP * 98, "the feed was emptied faster than the page may be sent to");
        drop(page.patches);
        for number in 1..=100 {
            assert_eq!(page.batches.recv().await.unwrap()["number"], number);
        }
        assert_eq!(page.batches.recv().await, None);
    }

    #[tokio::test(start_paused = true)]
    async fn the_first_batch_after_a_quiet_moment_goes_at_once() {
        let mut page = page();
        tokio::time::sleep(Duration::from_secs(1)).await;
        let begin = Instant::now();
        page.patches.send(vec![gone()]).await.unwrap();
        page.batches.recv().await.unwrap();
        assert_eq!(begin.elapsed(), Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn a_closed_page_ends_the_pump() {
        let page = page();
        drop(page.batches);
        page.patches.send(vec![gone()]).await.unwrap();
        page.patches.closed().await;
    }
}
