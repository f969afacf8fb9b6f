//! Turns whose questions are answered together, against the practice server's `turns` side: what the engine does of its
//! own around the wire (groups, own tools, answers that come whole, turns that are let go, setups).

mod answers;
mod course;
mod setup;

use std::sync::Arc;

use anyhow::{Context as _, Result};
use contract::{
    command::{CreateSession, QueuedAction, QueuedMessageAction, SendMessage, SessionRef},
    connection::ConnectionState,
    request::{Answer, Decision, Request},
    server::{ServerId, ServerOptions},
    session::{SessionState, StopReason},
    setup::{SessionSetup, SessionStart, ToolSetting},
};
use engine::{Engine, EngineConfig, MemoryCredentials, MemoryDesktop};
use practice::{Config, Control, Pace, Practice, TurnsManner, TurnsPost};
use tempfile::TempDir;
use tests::{
    rig::{config, decision, draft},
    view::View,
};

/// An engine and a practice server's `turns` side, and one session of it in a window.
pub struct Stage {
    /// The engine.
    pub engine: Engine,
    /// The server.
    pub practice: Practice,
    /// Its control.
    pub control: Control,
    /// The server's id in the engine.
    pub server: ServerId,
    /// The session's id at the server.
    pub remote: String,
    /// The window.
    pub view: View,
    /// What is done here for an agent.
    pub desktop: Arc<MemoryDesktop>,
    /// The keyring.
    pub credentials: Arc<MemoryCredentials>,
    /// Where the engine's record lies.
    pub dir: TempDir,
}

/// A setup with these of the server's tools (those that begin with `!` run unasked) and these of the app's.
pub fn setup(tools: &[&str], own_tools: &[&str]) -> SessionSetup {
    let setting =
        |name: &&str| ToolSetting { name: name.trim_start_matches('!').to_owned(), trusted: name.starts_with('!') };
    SessionSetup {
        tools: tools.iter().map(setting).collect(),
        own_tools: own_tools.iter().map(|name| (*name).to_owned()).collect(),
        ..SessionSetup::default()
    }
}

/// The setup most tests begin with.
pub fn usual() -> SessionStart {
    let setup = setup(&["!clock", "write_note", "run_command"], &["ask_user", "read_clipboard", "write_clipboard"]);
    SessionStart { setup: Some(setup), ..SessionStart::default() }
}

impl Stage {
    /// Both, with a session of the usual setup.
    pub async fn start(manner: TurnsManner) -> Result<Self> {
        Self::with(manner, ServerOptions::default(), usual()).await
    }

    /// Both, with options of the server and what the session begins with.
    pub async fn with(manner: TurnsManner, options: ServerOptions, start: SessionStart) -> Result<Self> {
        let dir = tempfile::tempdir()?;
        let practice = Practice::start(Config { pace: Pace::Fast, turns: manner, ..Config::default() }).await?;
        let credentials = Arc::new(MemoryCredentials::default());
        let desktop = Arc::new(MemoryDesktop::with_clipboard("from the clipboard"));
        let config =
            EngineConfig { desktop: Arc::clone(&desktop) as _, ..config(dir.path(), Arc::clone(&credentials) as _) };
        let engine = Engine::start(config).await?;
        let server = engine.add_server(draft(&practice.turns_base_url(), practice.token(), options)).await?.id;
        let control = practice.control();
        let session = engine.create_session(create(&server, start)).await?.session;
        let remote = control.turns().sessions().last().cloned().context("no session")?;
        let view = View::open(&engine, "main", session).await?;
        Ok(Self { engine, practice, control, server, remote, view, desktop, credentials, dir })
    }

    /// The session as commands name it.
    pub fn which(&self) -> SessionRef {
        SessionRef { session: self.view.session() }
    }

    /// Sends a message.
    pub async fn say(&self, text: &str) -> Result<()> {
        let send = SendMessage { session: self.view.session(), text: text.to_owned(), images: Vec::new() };
        Ok(self.engine.send_message(send).await?)
    }

    /// Sends a message and waits until its turn is over.
    pub async fn run(&mut self, text: &str) -> Result<()> {
        let turn = |view: &View| view.header.turn.as_ref().map(|turn| turn.id.clone());
        let before = turn(&self.view);
        let said = format!("User Done: {text}");
        self.say(text).await?;
        self.view.until("the turn's end", |view| says(view, &said) && turn(view) != before && is_over(view)).await
    }

    /// So many cards that wait, in the order they were asked.
    pub async fn cards(&mut self, count: usize) -> Result<Vec<Request>> {
        self.view.until("cards", |view| view.open_requests().len() == count).await?;
        Ok(self.view.open_requests().into_iter().cloned().collect())
    }

    /// The card about a tool.
    pub async fn card(&mut self, tool: &str) -> Result<Request> {
        let of =
            |view: &View| view.open_requests().into_iter().find(|card| card.tool.as_deref() == Some(tool)).cloned();
        self.view.until("a card", |view| of(view).is_some()).await?;
        of(&self.view).context("no card")
    }

    /// Decides.
    pub async fn decide(&self, request: &Request, choice: &str) -> Result<Request> {
        Ok(self.engine.decide(decision(request, choice)).await?)
    }

    /// What to do with the one message that is queued.
    pub async fn queued(&self, action: QueuedAction) -> Result<()> {
        let id = self.view.header.queued.first().context("nothing is queued")?.id.clone();
        Ok(self.engine.queued_message(QueuedMessageAction { session: self.view.session(), id, action }).await?)
    }

    /// The turns that were asked for, byte for byte.
    pub fn asked(&self) -> Vec<TurnsPost> {
        let turns = self.control.turns().posts();
        turns.into_iter().filter(|post| post.method == "POST" && post.path.ends_with("/turns")).collect()
    }

    /// Shows the session anew.
    pub async fn anew(&mut self) -> Result<()> {
        self.view = View::open(&self.engine, "main", self.view.session()).await?;
        Ok(())
    }

    fn config(&self) -> EngineConfig {
        let credentials = Arc::clone(&self.credentials) as _;
        EngineConfig { desktop: Arc::clone(&self.desktop) as _, ..config(self.dir.path(), credentials) }
    }

    /// Ends the app and starts it again.
    pub async fn restart(&mut self) -> Result<()> {
        self.engine.shutdown().await;
        self.engine = Engine::start(self.config()).await?;
        self.anew().await
    }

    /// Starts another engine on the record as it lies on the disk at this moment: what a killed app leaves behind.
    pub async fn crash(&mut self) -> Result<()> {
        let left = tempfile::tempdir()?;
        for entry in std::fs::read_dir(self.dir.path())? {
            let entry = entry?;
            std::fs::copy(entry.path(), left.path().join(entry.file_name()))?;
        }
        self.engine.shutdown().await;
        self.dir = left;
        self.engine = Engine::start(self.config()).await?;
        self.anew().await
    }
}

/// A new session of the practice agent.
pub fn create(server: &ServerId, start: SessionStart) -> CreateSession {
    CreateSession {
        server: server.clone(),
        agent: Some("practice".to_owned()),
        environment: None,
        title: None,
        message: String::new(),
        start,
    }
}

/// The answer to a question.
pub fn answered(request: &Request, label: &str) -> Decision {
    let question = request.questions.first().map(|question| question.id.clone()).unwrap_or_default();
    let answer = Answer { question, labels: vec![label.to_owned()], text: None };
    Decision { answers: vec![answer], ..decision(request, "answer") }
}

pub fn has_line(view: &View, line: &str) -> bool {
    view.text().lines().any(|shown| shown == line)
}

pub fn says(view: &View, words: &str) -> bool {
    view.text().contains(words)
}

pub fn is_over(view: &View) -> bool {
    view.header.row.state == SessionState::Idle && view.header.connection == ConnectionState::Closed
}

pub fn stop_of(view: &View) -> Option<StopReason> {
    view.header.turn.as_ref().and_then(|turn| turn.stop.clone())
}

/// Two calls of the client, a trusted one and one that asks, in one step.
pub const MIX: &str = "CALL:ask_user {\"question\":\"Which colour?\",\"options\":[\"blue\",\"red\"]}\nCALL:read_clipboard {}\nCALL:clock {}\nCALL:write_note {\"text\":\"hi\"}";
