//! What every task shares: the record, the clock, the lists that all screens show, the windows.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use contract::{
    Millis,
    patch::{Overview, OverviewChange},
    server::{Server, ServerId},
    session::{SessionId, SessionRow},
    settings::AppFacts,
};
use store::Store;
use tokio::{sync::watch, time::Instant};

use crate::{
    Clock, Credentials, Desktop, PreferencesStore, WindowFeed, credentials::OptionSecrets, kept::KeptByServer,
};

/// Rows an overview carries at most; all others are found in the history.
const OVERVIEW_ROWS: usize = 500;

/// What every task shares.
pub struct Hub {
    /// The record.
    pub store: Store,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// The tokens.
    pub credentials: Arc<dyn Credentials>,
    /// The values of agents' secret options.
    pub option_secrets: OptionSecrets,
    /// The preferences.
    pub preferences: Arc<dyn PreferencesStore>,
    /// The desktop.
    pub desktop: Arc<dyn Desktop>,
    lists: Mutex<Lists>,
    feeds: Mutex<HashMap<String, WindowFeed>>,
    streamed_at: Mutex<Option<Instant>>,
    changed: watch::Sender<()>,
    /// What is kept of each server.
    pub kept: KeptByServer,
}

/// Without frames for this long, the record's writer has time for what can wait.
const QUIET: Duration = Duration::from_millis(300);

#[derive(Debug)]
struct Lists {
    servers: Vec<Server>,
    rows: BTreeMap<SessionId, SessionRow>,
    facts: AppFacts,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Every section under these locks is a plain assignment: a panic inside cannot leave it half done.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Hub {
    /// A hub over an open store.
    pub fn new(
        store: Store,
        clock: Arc<dyn Clock>,
        credentials: Arc<dyn Credentials>,
        preferences: Arc<dyn PreferencesStore>,
        desktop: Arc<dyn Desktop>,
        facts: AppFacts,
    ) -> Self {
        let lists = Lists { servers: Vec::new(), rows: BTreeMap::new(), facts };
        Self {
            store,
            clock,
            option_secrets: OptionSecrets::new(Arc::clone(&credentials)),
            credentials,
            preferences,
            desktop,
            lists: Mutex::new(lists),
            feeds: Mutex::default(),
            streamed_at: Mutex::default(),
            changed: watch::channel(()).0,
            kept: KeptByServer::default(),
        }
    }

    /// Many frames came in one read: what can wait makes room for more of them.
    pub fn frames_came(&self) {
        *lock(&self.streamed_at) = Some(Instant::now());
    }

    /// How long work that can wait should wait yet, because frames stream in; `None` = it can begin.
    pub fn busy_for(&self) -> Option<Duration> {
        let since = lock(&self.streamed_at).as_ref()?.elapsed();
        QUIET.checked_sub(since).filter(|left| !left.is_zero())
    }

    /// The wall time.
    pub fn now(&self) -> Millis {
        self.clock.now()
    }

    /// The feed of a window, made when it is new.
    pub fn feed(&self, window: &str) -> WindowFeed {
        lock(&self.feeds).entry(window.to_owned()).or_default().clone()
    }

    /// A new feed for a window; an older one ends.
    pub fn renew_feed(&self, window: &str) -> WindowFeed {
        let feed = WindowFeed::default();
        if let Some(old) = lock(&self.feeds).insert(window.to_owned(), feed.clone()) {
            old.close();
        }
        feed
    }

    /// The window is gone.
    pub fn drop_feed(&self, window: &str) -> Option<WindowFeed> {
        let feed = lock(&self.feeds).remove(window);
        if let Some(feed) = &feed {
            feed.close();
        }
        feed
    }

    fn tell(&self, change: &OverviewChange) {
        for feed in lock(&self.feeds).values() {
            feed.push_overview(change.clone());
        }
        self.changed.send_replace(());
    }

    /// Tells when anything of the lists has changed; several changes may be told as one.
    pub fn changes(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    /// How many requests wait for the person.
    pub fn waiting(&self) -> u32 {
        lock(&self.lists).rows.values().fold(0, |sum, row| sum.saturating_add(row.waiting))
    }

    /// Everything the shared screens show.
    pub fn overview(&self) -> Overview {
        let lists = lock(&self.lists);
        let mut sessions: Vec<SessionRow> = lists.rows.values().cloned().collect();
        sessions.sort_by_key(|row| std::cmp::Reverse((row.waiting, row.last_event_at.max(row.created_at))));
        sessions.truncate(OVERVIEW_ROWS);
        Overview { servers: lists.servers.clone(), sessions, facts: lists.facts.clone(), batch: 0 }
    }

    /// The servers, in the person's order.
    pub fn servers(&self) -> Vec<Server> {
        lock(&self.lists).servers.clone()
    }

    /// One server.
    pub fn server(&self, id: &ServerId) -> Option<Server> {
        lock(&self.lists).servers.iter().find(|server| &server.id == id).cloned()
    }

    /// Changes the list of servers and tells every window.
    pub fn change_servers(&self, change: impl FnOnce(&mut Vec<Server>)) {
        let servers = {
            let mut lists = lock(&self.lists);
            let before = lists.servers.clone();
            change(&mut lists.servers);
            if before == lists.servers {
                return;
            }
            lists.servers.clone()
        };
        self.tell(&OverviewChange::Servers { servers });
    }

    /// Changes one server and tells every window.
    pub fn change_server(&self, id: &ServerId, change: impl FnOnce(&mut Server)) {
        self.change_servers(|servers| {
            if let Some(server) = servers.iter_mut().find(|server| &server.id == id) {
                change(server);
            }
        });
    }

    /// A session's row is new or changed.
    pub fn put_row(&self, row: SessionRow) {
        {
            let mut lists = lock(&self.lists);
            if lists.rows.get(&row.id) == Some(&row) {
                return;
            }
            lists.rows.insert(row.id, row.clone());
        }
        self.tell(&OverviewChange::Session { row });
    }

    /// Modes in which commands run unasked end by themselves, also in sessions that no task follows (P-50).
    pub fn lapse_marks(&self) {
        let now = self.now();
        let is_over = |row: &&SessionRow| row.unasked.is_some_and(|mark| mark.until.is_some_and(|until| until <= now));
        let over: Vec<SessionRow> = lock(&self.lists).rows.values().filter(is_over).cloned().collect();
        for row in over {
            self.put_row(SessionRow { unasked: None, ..row });
        }
    }

    /// A session's row leaves the lists.
    pub fn remove_row(&self, session: SessionId) {
        if lock(&self.lists).rows.remove(&session).is_some() {
            self.tell(&OverviewChange::SessionGone { session });
        }
    }

    /// A session's row.
    pub fn row(&self, session: SessionId) -> Option<SessionRow> {
        lock(&self.lists).rows.get(&session).cloned()
    }

    /// All rows of a server.
    pub fn rows_of(&self, server: &ServerId) -> Vec<SessionRow> {
        lock(&self.lists).rows.values().filter(|row| &row.server == server).cloned().collect()
    }

    /// The app's own facts.
    pub fn facts(&self) -> AppFacts {
        lock(&self.lists).facts.clone()
    }

    /// Changes the app's own facts and tells every window.
    pub fn change_facts(&self, change: impl FnOnce(&mut AppFacts)) {
        let facts = {
            let mut lists = lock(&self.lists);
            change(&mut lists.facts);
            lists.facts.clone()
        };
        self.tell(&OverviewChange::Facts { facts });
    }
}
