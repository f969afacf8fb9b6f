//! A window without a page: applies snapshots and patches as the page does, and complains where the page would.

use std::{collections::BTreeMap, time::Duration};

use anyhow::{Context as _, Result, bail, ensure};
use contract::{
    command::SessionRef,
    connection::ConnectionLogRow,
    item::{Item, ItemBody, Part},
    patch::{OverviewChange, Patch, SessionChange, Snapshot},
    request::{LedgerRow, Request, RequestState},
    session::{SessionHeader, SessionId},
};
use engine::{Engine, WindowFeed};

/// How long something that must happen may take. Generous: a busy machine must not fail a test.
const PATIENCE: Duration = Duration::from_secs(120);

/// One session as a window shows it.
pub struct View {
    engine: Engine,
    feed: WindowFeed,
    window: String,
    session: SessionId,
    revision: u64,
    /// Everything above the transcript.
    pub header: SessionHeader,
    /// The items by id.
    pub items: BTreeMap<String, Item>,
    /// The requests by id.
    pub requests: BTreeMap<String, Request>,
    /// The connection log.
    pub log: Vec<ConnectionLogRow>,
    /// The decisions, by number.
    pub decisions: BTreeMap<i64, LedgerRow>,
    /// Patches applied since the session was opened.
    pub patches: usize,
}

impl View {
    /// Opens a session in a window of this name.
    ///
    /// # Errors
    /// The engine's own.
    pub async fn open(engine: &Engine, window: &str, session: SessionId) -> Result<Self> {
        let feed = engine.attach_window(window);
        let snapshot = engine.open_session(window, SessionRef { session }).await?;
        let mut view = Self {
            engine: engine.clone(),
            feed,
            window: window.to_owned(),
            session,
            revision: 0,
            header: snapshot.header.clone(),
            items: BTreeMap::new(),
            requests: BTreeMap::new(),
            log: Vec::new(),
            decisions: BTreeMap::new(),
            patches: 0,
        };
        view.take(snapshot);
        Ok(view)
    }

    fn take(&mut self, snapshot: Snapshot) {
        self.revision = snapshot.revision;
        self.header = snapshot.header;
        self.items = snapshot.items.into_iter().map(|item| (item.id.clone(), item)).collect();
        self.requests = snapshot.requests.into_iter().map(|request| (request.id.clone(), request)).collect();
        self.log = snapshot.connection_log;
        self.decisions = snapshot.decisions.into_iter().map(|row| (row.number, row)).collect();
    }

    /// The session.
    #[must_use]
    pub fn session(&self) -> SessionId {
        self.session
    }

    /// Waits until something holds, applying what comes.
    ///
    /// # Errors
    /// When it does not come to hold, or a patch cannot be applied.
    pub async fn until(&mut self, what: &str, holds: impl Fn(&Self) -> bool) -> Result<()> {
        let waited = tokio::time::timeout(PATIENCE, async {
            while !holds(self) {
                self.step().await?;
            }
            Ok(())
        });
        match waited.await {
            Ok(done) => done,
            Err(_) => bail!("waited in vain for: {what}\n{}", self.text()),
        }
    }

    /// Applies the next batch.
    ///
    /// # Errors
    /// When the feed ended or a patch cannot be applied.
    pub async fn step(&mut self) -> Result<()> {
        let batch = self.feed.next().await.context("the feed ended")?;
        for patch in batch {
            match patch {
                Patch::Overview { change: OverviewChange::Servers { .. } | OverviewChange::Session { .. } } => {}
                Patch::Overview { .. } => {}
                Patch::Session { session, revision, change } if session == self.session => {
                    ensure!(revision == self.revision + 1, "a hole: {} then {revision}", self.revision);
                    self.revision = revision;
                    self.apply(change).await?;
                }
                Patch::Session { .. } => {}
            }
        }
        Ok(())
    }

    async fn apply(&mut self, change: SessionChange) -> Result<()> {
        self.patches += 1;
        match change {
            SessionChange::Header { header } => self.header = *header,
            SessionChange::Item { item } => {
                self.items.insert(item.id.clone(), *item);
            }
            SessionChange::Append { item, part, text } => {
                let known =
                    self.items.get_mut(&item).with_context(|| format!("text for an item nobody has: {item}"))?;
                let to = match (&mut known.body, part) {
                    (ItemBody::Message(message), Some(part)) => match message.parts.get_mut(part as usize) {
                        Some(Part::Text(to)) => to,
                        _ => bail!("text for a part nobody has: {item} {part}"),
                    },
                    (ItemBody::Thought(thought), _) => &mut thought.text,
                    (ItemBody::Tool(tool), _) => &mut tool.input,
                    (body, _) => bail!("text for an item that holds none: {body:?}"),
                };
                to.chars += text.chars().count() as u64;
                to.text.push_str(&text);
            }
            SessionChange::ItemGone { item } => {
                self.items.remove(&item);
            }
            SessionChange::Request { request } => {
                self.requests.insert(request.id.clone(), *request);
            }
            SessionChange::RequestGone { request } => {
                self.requests.remove(&request);
            }
            SessionChange::Connection { row } => self.log.push(row),
            SessionChange::Decision { row } => {
                self.decisions.insert(row.number, row);
            }
            SessionChange::Reset => {
                let snapshot = self.engine.open_session(&self.window, SessionRef { session: self.session }).await?;
                self.take(snapshot);
            }
        }
        Ok(())
    }

    /// The items in order.
    #[must_use]
    pub fn ordered(&self) -> Vec<&Item> {
        let mut items: Vec<&Item> = self.items.values().collect();
        items.sort_by(|a, b| (a.order, &a.id).cmp(&(b.order, &b.id)));
        items
    }

    /// The requests that can be answered.
    #[must_use]
    pub fn open_requests(&self) -> Vec<&Request> {
        self.requests.values().filter(|request| request.state == RequestState::Open).collect()
    }

    /// The transcript as plain lines: what is compared in tests.
    #[must_use]
    pub fn text(&self) -> String {
        self.ordered().into_iter().map(line).collect::<Vec<_>>().join("\n")
    }
}

/// One item as one line, without ids, times and places.
#[must_use]
pub fn line(item: &Item) -> String {
    let parts = |parts: &[Part]| {
        parts
            .iter()
            .map(|part| match part {
                Part::Text(text) => text.text.clone(),
                Part::Image { media_type, bytes, .. } => format!("[{media_type}, {bytes} bytes]"),
                Part::Remote { what, address } => format!("[{what} {address}]"),
                Part::Redacted => "[redacted]".to_owned(),
                Part::Unknown { what, raw } => format!("[{what} {}]", raw.text),
            })
            .collect::<String>()
    };
    match &item.body {
        ItemBody::Message(message) => format!("{:?} {:?}: {}", message.role, message.state, parts(&message.parts)),
        ItemBody::Thought(thought) => {
            format!("Thought{}: {}", if thought.active { " (active)" } else { "" }, thought.text.text)
        }
        ItemBody::Tool(tool) => {
            format!(
                "Tool {} {:?} {}: {}",
                tool.name,
                tool.state,
                tool.subject.as_deref().unwrap_or(""),
                parts(&tool.output)
            )
        }
        ItemBody::Notice(notice) => format!("Notice {:?} {:?}: {}", notice.level, notice.code, notice.text),
        ItemBody::Marker(marker) => format!("Marker {marker:?}"),
        ItemBody::Artifact(artifact) => format!("Artifact {}", artifact.name),
        ItemBody::Unknown(unknown) => format!("Unknown {}: {}", unknown.what, unknown.raw.text),
    }
}
