//! What the shell holds while the app runs, and how the engine gets going behind the window.
//!
//! The window opens at once; the engine starts beside it. A command that comes early waits for it. Where the engine
//! cannot start (the database is newer, or another process has it), every command answers with that error, so the
//! page says it in the person's language, and the app ends with [`START_FAILED`].

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use contract::{
    error::{AppError, ErrorCode},
    settings::StartNotice,
};
use engine::{Engine, EngineConfig, PreferencesStore};
use tokio::sync::watch;

use crate::{
    bridge::Bridge, clipboard::Clipboard, opener::Opener, practice_server::PracticeServer, tray::Tray,
    window::CloseAsked,
};

/// The app's exit code where it could not start.
pub const START_FAILED: i32 = 2;

/// How long the engine may take to write down what it holds when the app ends.
/// A desktop that logs out waits for it only a little longer.
const SHUTDOWN_LIMIT: Duration = Duration::from_secs(2);

/// How long a database that another copy holds is waited for: that copy may be on its way out.
const LOCK_PATIENCE: Duration = Duration::from_secs(2);
/// How often it is looked at.
const LOCK_LOOK: Duration = Duration::from_millis(100);

/// The engine on its way up.
type Starting = Option<Result<Engine, AppError>>;

/// What the shell holds.
pub struct Shell {
    /// The way of patches to the windows.
    pub bridge: Bridge,
    /// The built-in practice server.
    pub practice: PracticeServer,
    /// The preferences.
    pub preferences: Arc<dyn PreferencesStore>,
    /// Copying.
    pub clipboard: Clipboard,
    /// Links.
    pub opener: Opener,
    /// Whether the page is up.
    pub page: Page,
    /// A second start finds this one and can bring its window back.
    pub can_come_back: bool,
    /// Whether there is an icon that brings the window back.
    pub tray: Tray,
    setup: Setup,
    engine: Arc<watch::Sender<Starting>>,
    told: AtomicBool,
}

/// How the engine is set up, kept for another try.
#[derive(Clone)]
pub struct Setup {
    /// Holds the database.
    pub data_dir: PathBuf,
    /// Where tokens live.
    pub credentials: Arc<dyn engine::Credentials>,
    /// The preferences.
    pub preferences: Arc<dyn PreferencesStore>,
    /// What is done here for an agent.
    pub desktop: Arc<dyn engine::Desktop>,
    /// This app's version.
    pub version: String,
    /// What only the shell knows of this start and the person must be told.
    pub notices: Vec<StartNotice>,
}

impl Setup {
    fn config(self) -> EngineConfig {
        EngineConfig {
            data_dir: self.data_dir,
            credentials: self.credentials,
            preferences: self.preferences,
            clock: Arc::new(engine::SystemClock),
            desktop: self.desktop,
            version: self.version,
            os: std::env::consts::OS.to_owned(),
        }
    }
}

/// What [`Shell::start`] needs.
pub struct Parts {
    /// How the engine is set up.
    pub setup: Setup,
    /// Copying.
    pub clipboard: Clipboard,
    /// Links.
    pub opener: Opener,
    /// The page's state.
    pub page: Page,
    /// See [`Shell::can_come_back`].
    pub can_come_back: bool,
}

impl Shell {
    /// Starts the engine beside everything else.
    #[must_use]
    pub fn start(parts: Parts) -> Self {
        let engine = Arc::new(watch::channel(None).0);
        let practice = PracticeServer::new(parts.setup.data_dir.join("practice.jsonl"));
        tauri::async_runtime::spawn(start_engine(parts.setup.clone(), practice.clone(), engine.clone()));
        Self {
            bridge: Bridge::default(),
            practice,
            preferences: parts.setup.preferences.clone(),
            clipboard: parts.clipboard,
            opener: parts.opener,
            page: parts.page,
            can_come_back: parts.can_come_back,
            tray: Tray::default(),
            setup: parts.setup,
            engine,
            told: AtomicBool::new(false),
        }
    }

    /// The engine, once it is up.
    ///
    /// # Errors
    /// Why it could not start.
    pub async fn engine(&self) -> Result<Engine, AppError> {
        let mut engine = self.engine.subscribe();
        match engine.wait_for(Option::is_some).await.as_deref() {
            Ok(Some(started)) => started.clone(),
            // Cannot be: the sender lives as long as this value, and what was waited for is there.
            Ok(None) | Err(_) => Err(AppError::new(ErrorCode::Internal, "The app could not start.")),
        }
    }

    /// The engine, once it is up, however many tries that takes; `None` where the app ends first.
    pub async fn engine_at_last(&self) -> Option<Engine> {
        let mut engine = self.engine.subscribe();
        let up = engine.wait_for(|engine| matches!(engine, Some(Ok(_)))).await.ok()?;
        up.as_ref().and_then(|started| started.as_ref().ok()).cloned()
    }

    /// The engine, once it is up; where its failure was told before, after another try. The cause may have gone: the
    /// other copy of the app has ended.
    ///
    /// # Errors
    /// Why it could not start.
    pub async fn engine_or_again(&self) -> Result<Engine, AppError> {
        let first = self.engine().await;
        if first.is_ok() || !self.told.swap(true, Ordering::SeqCst) {
            return first;
        }
        let failed = self.engine.send_if_modified(|engine| {
            let failed = matches!(engine, Some(Err(_)));
            if failed {
                *engine = None;
            }
            failed
        });
        if failed {
            let (setup, practice, engine) = (self.setup.clone(), self.practice.clone(), self.engine.clone());
            tauri::async_runtime::spawn(start_engine(setup, practice, engine));
        }
        self.engine().await
    }

    /// What closing the window would leave behind.
    #[must_use]
    pub fn close_asked(&self) -> CloseAsked {
        match &*self.engine.borrow() {
            Some(Ok(engine)) => {
                let live = engine.live_sessions();
                CloseAsked { live: live.count, harmless: live.harmless }
            }
            Some(Err(_)) | None => CloseAsked { live: 0, harmless: true },
        }
    }

    /// A window is gone: nothing is kept for it any more.
    pub fn forget_window(&self, window: &str) {
        self.bridge.unlink(window);
        if let Some(Ok(engine)) = &*self.engine.borrow() {
            engine.detach_window(window);
        }
    }

    /// The code the app ends with.
    #[must_use]
    pub fn exit_code(&self) -> i32 {
        if matches!(&*self.engine.borrow(), Some(Err(_))) { START_FAILED } else { 0 }
    }

    /// Ends the engine and the practice server in good order, within a time limit.
    pub async fn shutdown(&self) {
        let engine = match &*self.engine.borrow() {
            Some(Ok(engine)) => Some(engine.clone()),
            Some(Err(_)) | None => None,
        };
        let end = async {
            if let Some(engine) = engine {
                engine.shutdown().await;
            }
            self.practice.stop().await;
        };
        if tokio::time::timeout(SHUTDOWN_LIMIT, end).await.is_err() {
            tracing::warn!("the engine did not end in time");
        }
    }
}

async fn start_engine(setup: Setup, practice: PracticeServer, set: Arc<watch::Sender<Starting>>) {
    let began = Instant::now();
    let practice_on = setup.preferences.load().practice_on;
    let notices = setup.notices.clone();
    let mut started = Engine::start(setup.clone().config()).await;
    while matches!(&started, Err(error) if error.code == ErrorCode::StoreLocked) && began.elapsed() < LOCK_PATIENCE {
        tokio::time::sleep(LOCK_LOOK).await;
        started = Engine::start(setup.clone().config()).await;
    }
    match &started {
        Ok(engine) => {
            tracing::info!(took_ms = millis(began.elapsed()), "engine started");
            notices.into_iter().for_each(|notice| engine.add_notice(notice));
            if practice_on
                && let Err(error) =
                    practice.switch(engine, contract::command::SetPractice { on: true, stop_runs: false }).await
            {
                tracing::warn!(code = ?error.code, "the practice server did not start");
            }
        }
        Err(error) => {
            tracing::error!(code = ?error.code, "engine did not start");
            eprintln!("countersign: {}", error.message);
        }
    }
    set.send_replace(Some(started));
}

/// Whole milliseconds, for logs and files.
#[must_use]
pub fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// How far the page has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Nothing was heard of its first screen.
    Blank,
    /// A fault of its own keeps it from one; another renderer would not help.
    Broken,
    /// It has drawn its first interactive screen.
    Up,
}

/// How far the page has come, to be told and waited for.
#[derive(Clone)]
pub struct Page {
    stage: Arc<watch::Sender<Stage>>,
    ready_file: Option<PathBuf>,
    age: Arc<dyn Fn() -> Duration + Send + Sync>,
}

impl Page {
    /// Not drawn yet. `ready_file` gets the process's age in milliseconds when it is.
    pub fn new(ready_file: Option<PathBuf>, age: impl Fn() -> Duration + Send + Sync + 'static) -> Self {
        Self { stage: Arc::new(watch::channel(Stage::Blank).0), ready_file, age: Arc::new(age) }
    }

    /// The page says that it is up. It does so again after its process died and it was loaded anew.
    pub fn is_up(&self) {
        self.stage.send_replace(Stage::Up);
        let age_ms = millis((self.age)());
        tracing::info!(age_ms, "page ready");
        if let Some(file) = &self.ready_file
            && let Err(error) = write_whole(file, &age_ms.to_string())
        {
            tracing::warn!(%error, "the ready file could not be written");
        }
    }

    /// The page reports a fault of its own.
    pub fn is_broken(&self) {
        self.stage.send_if_modified(|stage| {
            let first = *stage == Stage::Blank;
            if first {
                *stage = Stage::Broken;
            }
            first
        });
    }

    /// How far it has come.
    #[must_use]
    pub fn stage(&self) -> Stage {
        *self.stage.borrow()
    }

    /// Waits until it is no longer blank.
    pub async fn heard_of(&self) {
        // The sender lives as long as this value, so the wait cannot fail.
        let _ = self.stage.subscribe().wait_for(|stage| *stage != Stage::Blank).await;
    }
}

/// Whoever waits for the file never reads half of it.
fn write_whole(file: &std::path::Path, text: &str) -> std::io::Result<()> {
    let beside = file.with_extension("part");
    std::fs::write(&beside, text)?;
    std::fs::rename(&beside, file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ready_file_holds_the_age_of_each_first_screen_and_a_page_that_is_up_stays_so() {
        use std::sync::atomic::{AtomicU64, Ordering};
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("ready");
        let age = Arc::new(AtomicU64::new(700));
        let page = Page::new(Some(file.clone()), move || Duration::from_millis(age.fetch_add(1, Ordering::SeqCst)));
        page.is_broken();
        assert_eq!(page.stage(), Stage::Broken);
        page.is_up();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "700");
        page.is_broken();
        assert_eq!(page.stage(), Stage::Up);
        std::fs::remove_file(&file).unwrap();
        page.is_up();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "701");
    }
}
