//! What flows to one window: coalesced, bounded, requests and states ahead of queued text.
//!
//! The engine pushes changes; the window's bridge draws them with [`WindowFeed::next`]. Revisions are given when a
//! change leaves, so a request may overtake text without making a hole. When a window falls too far behind, a
//! session's queue is replaced by one `Reset`: the page then asks for a snapshot.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use contract::{
    item::ItemId,
    patch::{OverviewChange, Patch, SessionChange},
    session::SessionId,
};
use tokio::{sync::Notify, time::Instant};

/// At most this many batches with text leave per second.
pub const TEXT_INTERVAL: Duration = Duration::from_millis(33);

/// A session's queue beyond this (approximate bytes) is replaced by a `Reset`.
const SESSION_LIMIT: usize = 4 * 1024 * 1024;

/// One batch takes about this much (bytes); the rest follows at once in the next.
const BATCH_LIMIT: usize = 6 * 1024;

#[derive(Debug, Default)]
struct Queue {
    overview: Vec<OverviewChange>,
    sessions: HashMap<SessionId, SessionQueue>,
    urgent: bool,
    closed: bool,
}

#[derive(Debug, Default)]
struct SessionQueue {
    revision: u64,
    changes: VecDeque<SessionChange>,
    /// Items among `changes`, so that a new item is looked for only where it is.
    items: HashSet<ItemId>,
    bytes: usize,
    /// A `Reset` was queued: nothing more is worth sending until the window asks for a snapshot.
    stale: bool,
}

/// The engine's end and the window's end of one window's queue.
#[derive(Debug, Clone)]
pub struct WindowFeed {
    inner: Arc<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    queue: Mutex<Queue>,
    wake: Notify,
    last_text: Mutex<Option<Instant>>,
}

impl Default for WindowFeed {
    fn default() -> Self {
        Self { inner: Arc::new(Inner::default()) }
    }
}

impl WindowFeed {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.inner.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A change of the shared lists. Later whole lists and rows replace queued ones.
    pub fn push_overview(&self, change: OverviewChange) {
        let mut queue = self.queue();
        queue.overview.retain(|queued| !replaces(&change, queued));
        queue.overview.push(change);
        queue.urgent = true;
        drop(queue);
        self.inner.wake.notify_one();
    }

    /// Forgets queued changes of the shared lists: a fresh overview carries them.
    pub fn overview_taken(&self) {
        self.queue().overview.clear();
    }

    /// The window opened this session: what follows counts from its snapshot's revision 0.
    pub fn open(&self, session: SessionId) {
        self.queue().sessions.insert(session, SessionQueue::default());
    }

    /// The window no longer shows this session.
    pub fn close_session(&self, session: SessionId) {
        self.queue().sessions.remove(&session);
    }

    /// Whether the window shows this session.
    #[must_use]
    pub fn shows(&self, session: SessionId) -> bool {
        self.queue().sessions.contains_key(&session)
    }

    /// Whether changes of this session are worth making: the window shows it, and was not told to start over.
    #[must_use]
    pub fn follows(&self, session: SessionId) -> bool {
        self.queue().sessions.get(&session).is_some_and(|entry| !entry.stale)
    }

    /// Changes of a session. Nothing happens when the window does not show it.
    pub fn push(&self, session: SessionId, changes: Vec<SessionChange>) {
        let mut queue = self.queue();
        let Some(entry) = queue.sessions.get_mut(&session) else { return };
        let mut urgent = false;
        for change in changes {
            urgent |= is_urgent(&change);
            entry.push(change);
        }
        if entry.bytes > SESSION_LIMIT {
            entry.push(SessionChange::Reset);
            urgent = true;
        }
        queue.urgent |= urgent;
        drop(queue);
        self.inner.wake.notify_one();
    }

    /// Whether the window is gone.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.queue().closed
    }

    /// The window is gone: `next` ends.
    pub fn close(&self) {
        self.queue().closed = true;
        self.inner.wake.notify_one();
    }

    /// The next batch: at once when something waits for the person or a state changed, else at most 30 times a second.
    /// `None` when the window is gone.
    pub async fn next(&self) -> Option<Vec<Patch>> {
        loop {
            let (empty, urgent, closed) = {
                let queue = self.queue();
                let empty = queue.overview.is_empty() && queue.sessions.values().all(|entry| entry.changes.is_empty());
                (empty, queue.urgent, queue.closed)
            };
            if closed {
                return None;
            }
            if empty {
                self.inner.wake.notified().await;
                continue;
            }
            if !urgent {
                let last = *self.inner.last_text.lock().unwrap_or_else(PoisonError::into_inner);
                let due = last.map(|last| last + TEXT_INTERVAL).filter(|due| *due > Instant::now());
                if let Some(due) = due {
                    // Something urgent may come while the text waits.
                    tokio::select! {
                        () = tokio::time::sleep_until(due) => {}
                        () = self.inner.wake.notified() => continue,
                    }
                }
            }
            let (patches, more) = self.draw(urgent);
            if !urgent && !more {
                *self.inner.last_text.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
            }
            if !patches.is_empty() {
                return Some(patches);
            }
        }
    }

    /// Draws one batch. With `urgent`, only what must not wait is drawn.
    fn draw(&self, urgent: bool) -> (Vec<Patch>, bool) {
        let mut queue = self.queue();
        let mut patches: Vec<Patch> = queue.overview.drain(..).map(|change| Patch::Overview { change }).collect();
        let mut size = 0;
        let mut more = false;
        for (session, entry) in &mut queue.sessions {
            let mut index = 0;
            if !urgent && entry.changes.len() < SMALL {
                entry.items.clear();
                entry.items.extend(entry.changes.iter().filter_map(item_of).cloned());
            }
            while let Some(change) = entry.changes.get(index) {
                if urgent && !is_urgent(change) {
                    index += 1;
                    continue;
                }
                if !urgent && size > BATCH_LIMIT {
                    more = true;
                    break;
                }
                let Some(change) = entry.changes.remove(index) else { break };
                size += weight(&change);
                entry.bytes = entry.bytes.saturating_sub(weight(&change));
                entry.revision += 1;
                patches.push(Patch::Session { session: *session, revision: entry.revision, change });
            }
        }
        if urgent {
            queue.urgent = false;
        }
        (patches, more)
    }
}

impl SessionQueue {
    fn push(&mut self, change: SessionChange) {
        if self.stale {
            return;
        }
        match &change {
            SessionChange::Append { item, part, text } => {
                if let Some(SessionChange::Append { item: last, part: last_part, text: queued }) =
                    self.changes.back_mut()
                    && last == item
                    && last_part == part
                {
                    queued.push_str(text);
                    self.bytes += text.len();
                    return;
                }
            }
            SessionChange::Header { .. } => self.drop_where(|queued| matches!(queued, SessionChange::Header { .. })),
            SessionChange::Item { item } => {
                // A newer whole item carries its queued text.
                if self.items.contains(&item.id) {
                    self.drop_where(|queued| item_of(queued) == Some(&item.id));
                }
            }
            SessionChange::ItemGone { item } => {
                if self.items.contains(item) {
                    self.drop_where(|queued| item_of(queued) == Some(item));
                }
            }
            SessionChange::Request { request } => self
                .drop_where(|queued| matches!(queued, SessionChange::Request { request: old } if old.id == request.id)),
            SessionChange::Decision { row } => self.drop_where(
                |queued| matches!(queued, SessionChange::Decision { row: old } if old.number == row.number),
            ),
            SessionChange::RequestGone { .. } | SessionChange::Connection { .. } => {}
            SessionChange::Reset => {
                self.changes.clear();
                self.items.clear();
                self.bytes = 0;
                self.stale = true;
            }
        }
        self.bytes += weight(&change);
        if let Some(item) = item_of(&change) {
            self.items.insert(item.clone());
        }
        self.changes.push_back(change);
    }

    fn drop_where(&mut self, drop: impl Fn(&SessionChange) -> bool) {
        let mut bytes = self.bytes;
        self.changes.retain(|queued| {
            let gone = drop(queued);
            if gone {
                bytes = bytes.saturating_sub(weight(queued));
            }
            !gone
        });
        self.bytes = bytes;
    }
}

/// Below this many queued changes it is cheap to find out anew which items are among them.
const SMALL: usize = 64;

/// The item a queued change is about.
fn item_of(change: &SessionChange) -> Option<&ItemId> {
    match change {
        SessionChange::Item { item } => Some(&item.id),
        SessionChange::Append { item, .. } => Some(item),
        SessionChange::Header { .. }
        | SessionChange::ItemGone { .. }
        | SessionChange::Request { .. }
        | SessionChange::RequestGone { .. }
        | SessionChange::Connection { .. }
        | SessionChange::Decision { .. }
        | SessionChange::Reset => None,
    }
}

/// Whether it goes ahead of queued text.
fn is_urgent(change: &SessionChange) -> bool {
    match change {
        SessionChange::Header { .. }
        | SessionChange::Request { .. }
        | SessionChange::RequestGone { .. }
        | SessionChange::Decision { .. }
        | SessionChange::Reset => true,
        SessionChange::Item { .. }
        | SessionChange::Append { .. }
        | SessionChange::ItemGone { .. }
        | SessionChange::Connection { .. } => false,
    }
}

/// About how many bytes a change takes on its way to the page.
fn weight(change: &SessionChange) -> usize {
    use contract::item::{ItemBody, Part};
    let parts = |parts: &[Part]| -> usize {
        parts.iter().map(|part| if let Part::Text(text) = part { text.text.len() } else { 64 }).sum()
    };
    100 + match change {
        SessionChange::Append { text, .. } => text.len(),
        SessionChange::Item { item } => match &item.body {
            ItemBody::Message(message) => parts(&message.parts),
            ItemBody::Thought(thought) => thought.text.text.len(),
            ItemBody::Tool(tool) => tool.input.text.len() + parts(&tool.output),
            ItemBody::Notice(notice) => notice.text.len(),
            ItemBody::Unknown(unknown) => unknown.raw.text.len(),
            ItemBody::Marker(_) | ItemBody::Artifact(_) => 64,
        },
        SessionChange::Request { request } => request.arguments.text.len() + 500,
        SessionChange::Header { .. } => 500,
        SessionChange::ItemGone { .. }
        | SessionChange::RequestGone { .. }
        | SessionChange::Connection { .. }
        | SessionChange::Decision { .. }
        | SessionChange::Reset => 0,
    }
}

/// Whether a newer change of the shared lists makes a queued one pointless.
fn replaces(new: &OverviewChange, queued: &OverviewChange) -> bool {
    match (new, queued) {
        (OverviewChange::Servers { .. }, OverviewChange::Servers { .. })
        | (OverviewChange::Facts { .. }, OverviewChange::Facts { .. }) => true,
        (OverviewChange::Session { row }, OverviewChange::Session { row: old }) => row.id == old.id,
        (OverviewChange::SessionGone { session }, OverviewChange::Session { row }) => row.id == *session,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    const SESSION: SessionId = SessionId(1);

    fn append(text: &str) -> SessionChange {
        SessionChange::Append { item: "a".into(), part: Some(0), text: text.into() }
    }

    fn revisions(patches: &[Patch]) -> Vec<u64> {
        patches
            .iter()
            .filter_map(|patch| if let Patch::Session { revision, .. } = patch { Some(*revision) } else { None })
            .collect()
    }

    #[tokio::test(start_paused = true)]
    async fn text_is_joined_and_a_request_overtakes_it_without_a_hole() {
        let feed = WindowFeed::default();
        feed.open(SESSION);
        feed.push(SESSION, vec![append("a"), append("b")]);
        feed.push(SESSION, vec![SessionChange::RequestGone { request: "r".into() }]);
        let first = feed.next().await.unwrap();
        assert!(matches!(&first[..], [Patch::Session { revision: 1, change: SessionChange::RequestGone { .. }, .. }]));
        let second = feed.next().await.unwrap();
        assert_eq!(second, vec![Patch::Session { session: SESSION, revision: 2, change: append("ab") }]);
    }

    #[tokio::test(start_paused = true)]
    async fn text_leaves_at_most_thirty_times_a_second() {
        let feed = WindowFeed::default();
        feed.open(SESSION);
        let start = Instant::now();
        for _ in 0..3 {
            feed.push(SESSION, vec![append("x")]);
            assert!(feed.next().await.is_some());
        }
        assert!(start.elapsed() >= 2 * TEXT_INTERVAL, "{:?}", start.elapsed());
    }

    #[tokio::test(start_paused = true)]
    async fn a_window_that_falls_behind_is_told_to_start_over() {
        let feed = WindowFeed::default();
        feed.open(SESSION);
        let big = "x".repeat(1024 * 1024);
        for n in 0..6 {
            feed.push(SESSION, vec![SessionChange::Append { item: n.to_string(), part: None, text: big.clone() }]);
        }
        let patches = feed.next().await.unwrap();
        assert!(matches!(patches.first(), Some(Patch::Session { change: SessionChange::Reset, .. })), "{patches:?}");
        assert_eq!(revisions(&patches).first(), Some(&1));
    }

    #[tokio::test(start_paused = true)]
    async fn a_closed_feed_ends() {
        let feed = WindowFeed::default();
        feed.close();
        assert_eq!(feed.next().await, None);
    }
}
