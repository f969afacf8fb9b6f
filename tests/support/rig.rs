//! An engine and a practice server, joined: what most integration tests start with.

use std::{path::Path, sync::Arc};

use anyhow::{Context as _, Result};
use contract::{
    probe::ServerDraft,
    request::{Decision, Request},
    server::{PRACTICE_SERVER, ServerId, ServerOptions},
    session::SessionId,
};
use engine::{Credentials, Engine, EngineConfig, MemoryCredentials, MemoryPreferences, NoDesktop, SystemClock};
use practice::{Config, Control, Pace, Practice, RunsManner, TurnsManner};
use tempfile::TempDir;

use crate::view::View;

/// Which dialect the engine speaks to the practice server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// As the app's own practice server.
    Qoder,
    /// The Claude dialect of the same server, added as a person would.
    Claude,
}

/// An engine and a practice server.
pub struct Rig {
    /// The engine.
    pub engine: Engine,
    /// The server.
    pub practice: Practice,
    /// Its control.
    pub control: Control,
    /// The server's id in the engine.
    pub server: ServerId,
    /// Where the engine's record lies.
    pub dir: TempDir,
    credentials: Arc<MemoryCredentials>,
}

impl Rig {
    /// Both, joined, at the fast pace.
    ///
    /// # Errors
    /// When one does not start.
    pub async fn start(dialect: Dialect) -> Result<Self> {
        Self::start_with(dialect, ServerOptions::default()).await
    }

    /// Both, joined, with options of the server.
    ///
    /// # Errors
    /// When one does not start.
    pub async fn start_with(dialect: Dialect, options: ServerOptions) -> Result<Self> {
        let dir = tempfile::tempdir()?;
        let practice = Practice::start(Config { pace: Pace::Fast, ..Config::default() }).await?;
        let credentials = Arc::new(MemoryCredentials::default());
        let engine = engine(dir.path(), Arc::clone(&credentials) as _).await?;
        let server = match dialect {
            Dialect::Qoder if options == ServerOptions::default() => {
                engine.attach_practice(practice.base_url(), practice.token().to_owned()).await?;
                ServerId(PRACTICE_SERVER.to_owned())
            }
            Dialect::Qoder => engine.add_server(draft(&practice.base_url(), practice.token(), options)).await?.id,
            Dialect::Claude => {
                engine.add_server(draft(&practice.claude_base_url(), practice.token(), options)).await?.id
            }
        };
        let control = practice.control();
        Ok(Self { engine, practice, control, server, dir, credentials })
    }

    /// Both, joined by the `runs` protocol: the server as a person adds it, behaving like this.
    ///
    /// # Errors
    /// When one does not start.
    pub async fn start_runs(manner: RunsManner) -> Result<Self> {
        let dir = tempfile::tempdir()?;
        let practice = Practice::start(Config { pace: Pace::Fast, runs: manner, ..Config::default() }).await?;
        let credentials = Arc::new(MemoryCredentials::default());
        let engine = engine(dir.path(), Arc::clone(&credentials) as _).await?;
        let draft = draft(&practice.runs_base_url(), practice.token(), ServerOptions::default());
        let server = engine.add_server(draft).await?.id;
        let control = practice.control();
        Ok(Self { engine, practice, control, server, dir, credentials })
    }

    /// Both, joined by the `turns` protocol: the server as a person adds it, behaving like this.
    ///
    /// # Errors
    /// When one does not start.
    pub async fn start_turns(manner: TurnsManner) -> Result<Self> {
        let dir = tempfile::tempdir()?;
        let practice = Practice::start(Config { pace: Pace::Fast, turns: manner, ..Config::default() }).await?;
        let credentials = Arc::new(MemoryCredentials::default());
        let engine = engine(dir.path(), Arc::clone(&credentials) as _).await?;
        let draft = draft(&practice.turns_base_url(), practice.token(), ServerOptions::default());
        let server = engine.add_server(draft).await?.id;
        let control = practice.control();
        Ok(Self { engine, practice, control, server, dir, credentials })
    }

    /// Starts a scenario and opens its session.
    ///
    /// # Errors
    /// When there is no such scenario or the engine cannot open it.
    pub async fn play(&self, scenario: &str, metadata: &[(&str, &str)]) -> Result<(String, View)> {
        let remote = self.practice.start_scenario_with(scenario, metadata).await?;
        let view = self.open(&remote).await?;
        Ok((remote, view))
    }

    /// Opens a session of the server.
    ///
    /// # Errors
    /// When the engine cannot open it.
    pub async fn open(&self, remote: &str) -> Result<View> {
        let session = self.session(remote).await?;
        View::open(&self.engine, "main", session).await
    }

    /// The number of a session of the server.
    ///
    /// # Errors
    /// When there is none.
    pub async fn session(&self, remote: &str) -> Result<SessionId> {
        Ok(self.engine.session_by_remote(&self.server, remote).await?)
    }

    /// Ends the engine and starts another on the same record, as a restart of the app does.
    ///
    /// # Errors
    /// When it does not start.
    pub async fn restart(&mut self) -> Result<()> {
        self.engine.shutdown().await;
        self.engine = engine(self.dir.path(), Arc::clone(&self.credentials) as _).await?;
        if self.server.0 == PRACTICE_SERVER {
            self.engine.attach_practice(self.practice.base_url(), self.practice.token().to_owned()).await?;
        }
        Ok(())
    }
}

impl Rig {
    /// Starts another engine on the record as it lies on the disk at this moment: what a killed app leaves behind.
    ///
    /// # Errors
    /// When it does not start.
    pub async fn crash(&mut self) -> Result<()> {
        let left = tempfile::tempdir()?;
        for entry in std::fs::read_dir(self.dir.path())? {
            let entry = entry?;
            std::fs::copy(entry.path(), left.path().join(entry.file_name()))?;
        }
        // Its connections end, and what it still writes goes where nobody looks.
        self.engine.shutdown().await;
        self.dir = left;
        self.engine = engine(self.dir.path(), Arc::clone(&self.credentials) as _).await?;
        Ok(())
    }
}

/// An engine over a folder.
///
/// # Errors
/// When it does not start.
pub async fn engine(dir: &Path, credentials: Arc<dyn Credentials>) -> Result<Engine> {
    Engine::start(config(dir, credentials)).await.context("the engine does not start")
}

/// What an engine over a folder starts with.
#[must_use]
pub fn config(dir: &Path, credentials: Arc<dyn Credentials>) -> EngineConfig {
    EngineConfig {
        data_dir: dir.to_owned(),
        credentials,
        preferences: Arc::new(MemoryPreferences::default()),
        clock: Arc::new(SystemClock),
        desktop: Arc::new(NoDesktop),
        version: "0.0.0".to_owned(),
        os: "test".to_owned(),
    }
}

/// A server as a person enters it.
#[must_use]
pub fn draft(base_url: &str, token: &str, options: ServerOptions) -> ServerDraft {
    ServerDraft {
        name: "Test".to_owned(),
        base_url: base_url.to_owned(),
        token: token.to_owned(),
        protocol: None,
        options,
        session_only: false,
    }
}

/// A decision on a request as it is shown.
#[must_use]
pub fn decision(request: &Request, choice: &str) -> Decision {
    Decision {
        session: request.session,
        request: request.id.clone(),
        digest: request.digest.clone(),
        choice: choice.to_owned(),
        reason: None,
        answers: Vec::new(),
        result: None,
    }
}
