//! One reading of a session's history: page by page, newest first, in a task of its own.

use std::time::Duration;

use contract::error::AppError;

use super::task::News;
use crate::server::link::ServerLink;

/// Pause between pages, as the server's rate limits ask for (qoder-cloud-agents §2).
const BETWEEN_PAGES: Duration = Duration::from_millis(100);

/// Pages read without a pause: enough for nearly every reconnect.
const PAGES_AT_ONCE: u32 = 3;

/// What a reading found.
pub(super) struct HistoryNews {
    pub generation: u64,
    pub found: Found,
}

/// A part of what a reading found, or its end.
pub(super) enum Found {
    /// Events, oldest first; `newest` for the page that live frames wait for.
    Events { events: Vec<String>, newest: bool },
    /// Everything there is was read.
    Complete,
    /// A page led back to one already read: nothing older can be had.
    Circles,
    /// It failed.
    Failed(AppError),
}

/// One reading, in a task of its own.
pub(super) struct Reading {
    pub link: std::sync::Arc<ServerLink>,
    pub store: store::Store,
    pub session: contract::session::SessionId,
    pub remote: String,
    /// Everything is read, though the log holds a part of it.
    pub whole: bool,
    /// Events from this place on came with the open stream, so that they say nothing of what lies before it.
    pub before: i64,
    pub generation: u64,
    pub news: tokio::sync::mpsc::Sender<News>,
}

impl Reading {
    /// Reads, and tells what it found page by page.
    pub(super) async fn run(self) {
        let found = match self.read().await {
            Ok(found) => found,
            Err(error) => Found::Failed(error),
        };
        self.tell(found).await;
    }

    async fn tell(&self, found: Found) {
        // The session's task may have ended; then nobody needs it.
        let _ = self.news.send(News::History(HistoryNews { generation: self.generation, found })).await;
    }

    async fn read(&self) -> Result<Found, AppError> {
        let mut page: Option<String> = None;
        let mut seen = std::collections::HashSet::new();
        let mut fresh: Vec<String> = Vec::new();
        let mut pages = 0;
        loop {
            let Some(ask) = self.link.protocol.history(&self.remote, page.as_deref()) else {
                return Ok(Found::Complete);
            };
            let answer = self.link.ask(ask).await.map_err(|failed| failed.error)?;
            pages += 1;
            let known = self.oldest_is_known(&answer.events).await?;
            let mut events = answer.events;
            events.reverse();
            let last = answer.next.is_none() || events.is_empty();
            if self.whole {
                self.tell(Found::Events { events, newest: pages == 1 }).await;
            } else {
                // Pages go backwards: each older one stands before those already read.
                events.append(&mut fresh);
                fresh = events;
                if known || last {
                    self.tell(Found::Events { events: fresh, newest: true }).await;
                    return Ok(Found::Complete);
                }
            }
            let Some(next) = answer.next.filter(|_| !last) else { return Ok(Found::Complete) };
            if !seen.insert(next.clone()) {
                if !self.whole {
                    self.tell(Found::Events { events: fresh, newest: true }).await;
                }
                return Ok(Found::Circles);
            }
            page = Some(next);
            if pages >= PAGES_AT_ONCE {
                tokio::time::sleep(BETWEEN_PAGES).await;
            }
        }
    }

    /// Whether the oldest event of a page is in the log, so that everything older is, too.
    async fn oldest_is_known(&self, events: &[String]) -> Result<bool, AppError> {
        #[derive(serde::Deserialize)]
        struct Id {
            id: Option<String>,
        }
        let Some(oldest) = events.last() else { return Ok(true) };
        let Some(id) = serde_json::from_str::<Id>(oldest).ok().and_then(|read| read.id) else { return Ok(false) };
        let known = self.store.frame(self.session, id).await?;
        Ok(known.is_some_and(|frame| frame.position < self.before))
    }
}
