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

use contract::{
    patch::{Batch, OverviewChange, Patch},
    settings::StartNotice,
};
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

/// Every window's link to the engine's patches.
#[derive(Default)]
pub struct Bridge {
    links: Mutex<HashMap<String, Link>>,
    notices: Vec<StartNotice>,
}

impl Bridge {
    /// A bridge that adds the shell's own notices to the app's facts.
    #[must_use]
    pub fn new(notices: Vec<StartNotice>) -> Self {
        Self { links: Mutex::default(), notices }
    }

    /// Sends a window's patches through `send` until it says no. A link the window had before ends: a page that was
    /// loaded again starts at 1.
    pub fn link(&self, window: &str, feed: impl Feed, send: impl Fn(String) -> bool + Send + 'static) {
        let sent = Arc::new(AtomicU64::new(0));
        let task = tauri::async_runtime::spawn(pump(feed, send, sent.clone(), self.notices.clone()));
        if let Some(before) = self.links().insert(window.to_owned(), Link { task, sent }) {
            before.task.abort();
        }
    }

    /// Ends a window's link.
    pub fn unlink(&self, window: &str) {
        if let Some(link) = self.links().remove(window) {
            link.task.abort();
        }
    }

    /// The number of the last batch a window was sent.
    #[must_use]
    pub fn last_batch(&self, window: &str) -> u64 {
        self.links().get(window).map_or(0, |link| link.sent.load(Ordering::SeqCst))
    }

    /// The shell's own notices: what the engine cannot know.
    #[must_use]
    pub fn notices(&self) -> &[StartNotice] {
        &self.notices
    }

    fn links(&self) -> MutexGuard<'_, HashMap<String, Link>> {
        self.links.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn pump(
    mut feed: impl Feed,
    send: impl Fn(String) -> bool + Send,
    sent: Arc<AtomicU64>,
    notices: Vec<StartNotice>,
) {
    while let Some(mut patches) = feed.next().await {
        patches.iter_mut().for_each(|patch| add_notices(patch, &notices));
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

fn add_notices(patch: &mut Patch, notices: &[StartNotice]) {
    if let Patch::Overview { change: OverviewChange::Facts { facts } } = patch {
        facts.notices.extend_from_slice(notices);
    }
}

#[cfg(test)]
mod tests {
    use contract::settings::{AppFacts, KeyringState, Preferences};
    use pretty_assertions::assert_eq;
    use serde_json::Value;
    use tokio::{sync::mpsc, time::Instant};

    use super::*;

    impl Feed for mpsc::Receiver<Vec<Patch>> {
        fn next(&mut self) -> impl Future<Output = Option<Vec<Patch>>> + Send {
            self.recv()
        }
    }

    fn facts() -> Patch {
        let facts = AppFacts {
            version: "1".into(),
            os: "linux".into(),
            preferences: Preferences::default(),
            keyring: KeyringState::Ready,
            notices: Vec::new(),
        };
        Patch::Overview { change: OverviewChange::Facts { facts } }
    }

    struct Page {
        patches: mpsc::Sender<Vec<Patch>>,
        batches: mpsc::UnboundedReceiver<Value>,
    }

    fn page(notices: Vec<StartNotice>) -> Page {
        let (patches, feed) = mpsc::channel(1);
        let (seen, batches) = mpsc::unbounded_channel();
        let send = move |json: String| seen.send(serde_json::from_str(&json).unwrap()).is_ok();
        tokio::spawn(pump(feed, send, Arc::default(), notices));
        Page { patches, batches }
    }

    #[tokio::test(start_paused = true)]
    async fn batches_are_numbered_from_one_and_a_flood_stays_in_the_feed() {
        let mut page = page(Vec::new());
        let begin = Instant::now();
        for _ in 0..100 {
            page.patches.send(vec![facts()]).await.unwrap();
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
        let mut page = page(Vec::new());
        tokio::time::sleep(Duration::from_secs(1)).await;
        let begin = Instant::now();
        page.patches.send(vec![facts()]).await.unwrap();
        page.batches.recv().await.unwrap();
        assert_eq!(begin.elapsed(), Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn a_closed_page_ends_the_pump() {
        let page = page(Vec::new());
        drop(page.batches);
        page.patches.send(vec![facts()]).await.unwrap();
        page.patches.closed().await;
    }

    #[tokio::test(start_paused = true)]
    async fn changed_facts_keep_the_shells_own_notices() {
        let mut page = page(vec![StartNotice::PlainRenderer]);
        page.patches.send(vec![facts()]).await.unwrap();
        let batch = page.batches.recv().await.unwrap();
        assert_eq!(batch["patches"][0]["change"]["facts"]["notices"][0]["kind"], "plain_renderer");
    }
}
