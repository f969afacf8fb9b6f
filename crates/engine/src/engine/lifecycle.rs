//! Start, end, windows.

use std::{collections::HashMap, sync::Arc, time::Duration};

use contract::{
    command::NoArgs,
    error::AppError,
    patch::Overview,
    server::{ServerId, TokenState},
    settings::{AppFacts, KeyringState, Preferences, StartNotice},
};
use protocols::Family;
use store::{Opened, Store};
use tokio::{sync::watch, time::Instant};
use tokio_util::sync::CancellationToken;

use super::{Engine, EngineConfig, Inner};
use crate::{MemoryCredentials, WindowFeed, hub::Hub, rows, server::floor::is_busy, session::Command};

/// How often tasks that nobody needs are looked for.
const SWEEP_EVERY: Duration = Duration::from_secs(10);

/// How often the search index is brought up at the latest.
const INDEX_EVERY: Duration = Duration::from_secs(2);

/// Rows of the index made in one step: a few milliseconds of the writer's time.
const INDEX_ROWS: u32 = 100;

/// After a step the index rests this many times as long as the step took: the writer is there for the log.
const INDEX_REST: u32 = 3;

/// However much streams in, the index goes on this often.
const INDEX_AT_LEAST: Duration = Duration::from_secs(10);

/// What closing the window would leave behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LiveSessions {
    /// Sessions in which something runs or waits.
    pub count: u32,
    /// Whether leaving their streams does them no harm.
    pub harmless: bool,
}

impl Engine {
    /// Opens the record and connects to every server that is not paused.
    ///
    /// # Errors
    /// When the record cannot be opened (in use, too new, not writable).
    pub async fn start(config: EngineConfig) -> Result<Self, AppError> {
        Self::start_speaking(config, protocols::families()).await
    }

    /// The same, with these protocols instead of all that this app ships.
    ///
    /// # Errors
    /// The same.
    pub async fn start_speaking(config: EngineConfig, families: Vec<Box<dyn Family>>) -> Result<Self, AppError> {
        let EngineConfig { data_dir, credentials, preferences, clock, desktop, version, os } = config;
        let now = clock.now();
        let path = data_dir.join("countersign.db");
        let opened = tokio::task::spawn_blocking(move || {
            std::fs::create_dir_all(&data_dir)?;
            Ok::<_, std::io::Error>(Store::open(&path, now))
        })
        .await
        .map_err(|error| broken(&error.to_string()))?
        .map_err(|error| broken(&error.to_string()))?;
        let Opened { store, set_aside } = opened?;
        let notices = set_aside
            .map(|path| StartNotice::DatabaseSetAside { path: path.display().to_string() })
            .into_iter()
            .collect();
        let facts = AppFacts { version, os, preferences: preferences.load(), keyring: KeyringState::Checking, notices };
        let pending = store.unsettled_decisions().await?;
        let mut by_session: HashMap<_, Vec<_>> = HashMap::new();
        for decision in pending {
            by_session.entry(decision.session).or_default().push(decision);
        }
        let hub = Arc::new(Hub::new(store, clock, credentials, preferences, desktop, facts));
        let engine = Self {
            inner: Arc::new(Inner {
                hub,
                families,
                session_only: MemoryCredentials::default(),
                links: std::sync::Mutex::default(),
                tasks: tokio::sync::Mutex::default(),
                pending: std::sync::Mutex::new(by_session),
                practice: std::sync::Mutex::default(),
                index: tokio::sync::Notify::new(),
                cancel: CancellationToken::new(),
            }),
        };
        engine.load_rows().await?;
        engine.load_servers().await?;
        tokio::spawn(engine.clone().keyring_probe());
        tokio::spawn(engine.clone().sweep());
        tokio::spawn(engine.clone().index());
        Ok(engine)
    }

    async fn load_rows(&self) -> Result<(), AppError> {
        let hub = self.hub();
        let servers: Vec<_> = hub.store.servers().await?.into_iter().map(|server| server.id).collect();
        for session in hub.store.sessions(None).await? {
            if servers.contains(&session.record.server) && rows::belongs_in_lists(&session.record) {
                hub.put_row(rows::row_of(session.id, &session.record, hub.now()));
            }
        }
        Ok(())
    }

    async fn keyring_probe(self) {
        let hub = self.hub();
        // A locked keyring must not keep servers without a stored token waiting: they are linked already.
        let state = hub.credentials.probe().await;
        hub.change_facts(|facts| facts.keyring = state);
    }

    async fn sweep(self) {
        loop {
            tokio::select! {
                () = self.inner.cancel.cancelled() => return,
                () = tokio::time::sleep(SWEEP_EVERY) => {
                    self.hub().lapse_marks();
                    self.retire_unused().await;
                }
            }
        }
    }

    async fn index(self) {
        let mut last = Instant::now();
        loop {
            if let Some(busy) = self.hub().busy_for().filter(|_| last.elapsed() < INDEX_AT_LEAST) {
                tokio::select! {
                    () = self.inner.cancel.cancelled() => return,
                    // Somebody searches.
                    () = self.inner.index.notified() => {}
                    () = tokio::time::sleep(busy) => continue,
                }
            }
            last = Instant::now();
            let behind = match self.hub().store.index_step(INDEX_ROWS).await {
                Ok(behind) => behind,
                Err(error) => {
                    tracing::warn!(%error, "the search index could not be brought up");
                    0
                }
            };
            let rest = if behind > 0 { last.elapsed() * INDEX_REST } else { INDEX_EVERY };
            tokio::select! {
                () = self.inner.cancel.cancelled() => return,
                () = self.inner.index.notified() => {}
                () = tokio::time::sleep(rest) => {}
            }
        }
    }

    /// Ends every task and closes the record.
    pub async fn shutdown(&self) {
        self.inner.cancel.cancel();
        let tasks: Vec<_> = self.inner.tasks.lock().await.drain().map(|(_, task)| task).collect();
        for task in tasks {
            // Each saves what it holds before it ends.
            task.ended().await;
        }
        if let Err(error) = self.hub().store.close().await {
            tracing::error!(%error, "the record could not be closed");
        }
    }

    /// The computer woke up, or the network changed: every link is checked.
    pub fn wake(&self) {
        self.hub().lapse_marks();
        let engine = self.clone();
        tokio::spawn(async move {
            for task in engine.all_tasks().await {
                // A full mailbox means that the task is awake.
                task.nudge(Command::Wake);
            }
            engine.nudge_all();
        });
    }

    /// A window exists: its patches flow from the feed.
    #[must_use]
    pub fn attach_window(&self, window: &str) -> WindowFeed {
        self.hub().renew_feed(window)
    }

    /// A window is gone.
    pub fn detach_window(&self, window: &str) {
        self.hub().drop_feed(window);
        let (engine, window) = (self.clone(), window.to_owned());
        tokio::spawn(async move {
            for task in engine.all_tasks().await {
                // The task has ended when it cannot be told.
                let _ = task.tell(Command::Close { window: window.clone() }).await;
            }
        });
    }

    /// Everything the shared screens show.
    ///
    /// # Errors
    /// None today.
    pub async fn overview(&self, window: &str, _: NoArgs) -> Result<Overview, AppError> {
        self.hub().feed(window).overview_taken();
        Ok(self.hub().overview())
    }

    /// Saves preferences.
    ///
    /// # Errors
    /// When they cannot be written.
    pub async fn set_preferences(&self, preferences: Preferences) -> Result<(), AppError> {
        self.hub().preferences.save(&preferences)?;
        self.hub().change_facts(|facts| facts.preferences = preferences);
        Ok(())
    }

    /// Adds something about the start that the person must be told.
    pub fn add_notice(&self, notice: StartNotice) {
        self.hub().change_facts(|facts| facts.notices.push(notice));
    }

    /// What closing the window would leave behind.
    #[must_use]
    pub fn live_sessions(&self) -> LiveSessions {
        let all = self.hub().servers().into_iter().map(|server| self.live_sessions_of(&server.id));
        all.fold(LiveSessions { count: 0, harmless: true }, |all, one| LiveSessions {
            count: all.count.saturating_add(one.count),
            harmless: all.harmless && one.harmless,
        })
    }

    /// Tells when something of [`Engine::live_sessions`] or [`Engine::waiting_count`] may have changed.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<()> {
        self.hub().changes()
    }

    /// How many requests wait for the person, over all servers.
    #[must_use]
    pub fn waiting_count(&self) -> u32 {
        self.hub().waiting()
    }

    /// What disconnecting from a server would leave behind.
    #[must_use]
    pub fn live_sessions_of(&self, server: &ServerId) -> LiveSessions {
        let busy = self.hub().rows_of(server).into_iter().filter(|row| row.live && is_busy(&row.state)).count();
        let reattach = self.hub().server(server).is_some_and(|server| server.capabilities.reattach);
        LiveSessions { count: u32::try_from(busy).unwrap_or(u32::MAX), harmless: busy == 0 || reattach }
    }

    /// Whether a server's token is only in memory.
    pub(super) fn token_warning(token: TokenState) -> bool {
        token == TokenState::SessionOnly
    }
}

fn broken(detail: &str) -> AppError {
    AppError::new(contract::error::ErrorCode::StoreFailed, "The app's data folder cannot be used.").with_detail(detail)
}
