//! The peer and an engine that knows it.

use std::{sync::Arc, time::Duration};

use anyhow::{Context as _, Result, bail, ensure};
use contract::{
    command::{CreateSession, NoArgs, SendMessage, ServerRef, SessionRef, SetRunOptions},
    item::{ItemBody, Message, MessageState, Role, ToolCall, ToolState},
    request::{Decision, Request, RequestKind},
    server::{Server, ServerId, ServerOptions},
    session::{RunOptions, SessionState, StopReason},
};
use engine::{Engine, MemoryCredentials};
use tempfile::TempDir;
use tests::{
    rig::{self, decision, draft},
    view::{View, line},
};

use super::{Level, Peer, TOKEN};

/// The peer and an engine that knows it.
pub struct Joined {
    /// The server and its model.
    pub peer: Peer,
    /// The app without its window.
    pub engine: Engine,
    /// The server in it.
    pub server: ServerId,
    credentials: Arc<MemoryCredentials>,
    dir: TempDir,
}

impl Joined {
    /// Both, joined.
    pub async fn start(level: Level) -> Result<Self> {
        let peer = Peer::start(level)?;
        let dir = tempfile::tempdir()?;
        let credentials = Arc::new(MemoryCredentials::default());
        let engine = rig::engine(dir.path(), Arc::clone(&credentials) as _).await?;
        let server = engine.add_server(draft(&peer.base(), TOKEN, ServerOptions::default())).await?;
        ensure!(server.protocol == "runs", "{server:?}");
        Ok(Self { peer, engine, server: server.id, credentials, dir })
    }

    /// Ends the app and starts it again, as a crash or a restart does.
    pub async fn restart_app(&mut self) -> Result<()> {
        self.engine.shutdown().await;
        self.engine = rig::engine(self.dir.path(), Arc::clone(&self.credentials) as _).await?;
        Ok(())
    }

    /// Another app that knows the same server, and its folder.
    pub async fn another_app(&self) -> Result<(Engine, ServerId, TempDir)> {
        let dir = tempfile::tempdir()?;
        let engine = rig::engine(dir.path(), Arc::new(MemoryCredentials::default())).await?;
        let server = engine.add_server(draft(&self.peer.base(), TOKEN, ServerOptions::default())).await?.id;
        engine.refresh_server(ServerRef { server: server.clone() }).await?;
        Ok((engine, server, dir))
    }

    /// A new session, shown in a window of its title's name, that begins with a message where there is one.
    pub async fn session(&self, title: &str, message: &str) -> Result<View> {
        let new = CreateSession {
            server: self.server.clone(),
            agent: None,
            environment: None,
            title: Some(title.to_owned()),
            message: message.to_owned(),
            start: contract::setup::SessionStart::default(),
        };
        let made = self.engine.create_session(new).await?;
        View::open(&self.engine, title, made.session).await
    }

    /// Sends a message.
    pub async fn say(&self, view: &View, text: &str) -> Result<()> {
        let message = SendMessage { session: view.session(), text: text.to_owned(), images: Vec::new() };
        Ok(self.engine.send_message(message).await?)
    }

    /// Says how the next runs are asked for.
    pub async fn set_options(&self, view: &View, options: RunOptions) -> Result<()> {
        Ok(self.engine.set_run_options(SetRunOptions { session: view.session(), options }).await?)
    }

    /// Answers a request as it is shown.
    pub async fn decide(&self, request: &Request, choice: &str) -> Result<()> {
        self.give(decision(request, choice)).await
    }

    /// Gives a decision.
    pub async fn give(&self, decision: Decision) -> Result<()> {
        Ok(self.engine.decide(decision).await.map(drop)?)
    }

    /// Stops what runs in a session.
    pub async fn stop(&self, view: &View) -> Result<()> {
        Ok(self.engine.stop_session(SessionRef { session: view.session() }).await?)
    }

    /// The server as the app shows it.
    pub async fn shown(&self) -> Result<Server> {
        let servers = self.engine.overview("asking", NoArgs {}).await?.servers;
        servers.into_iter().find(|server| server.id == self.server).context("the server is not shown")
    }

    /// Waits until the server is shown in a way.
    pub async fn until_shown(&self, what: &str, holds: impl Fn(&Server) -> bool) -> Result<Server> {
        let feed = self.engine.attach_window("asking");
        let waited = tokio::time::timeout(Duration::from_secs(20), async {
            loop {
                let shown = self.shown().await?;
                if holds(&shown) {
                    return Ok(shown);
                }
                feed.next().await.context("the feed ended")?;
            }
        });
        match waited.await {
            Ok(shown) => shown,
            Err(_) => bail!("waited in vain for: {what}\n{:?}", self.shown().await?),
        }
    }

    /// The app's folder.
    pub fn dir(&self) -> &std::path::Path {
        self.dir.path()
    }

    /// Ends both.
    pub async fn end(self) {
        self.engine.shutdown().await;
    }
}

/// Waits for a request of a kind, with its command or question.
pub async fn asked(view: &mut View, kind: RequestKind) -> Result<Request> {
    view.until("a request", |view| view.open_requests().iter().any(|request| request.kind == kind)).await?;
    let request = view.open_requests().first().map(|request| (*request).clone());
    request.context("it is gone")
}

/// Waits until the agent has said this, nothing runs and the last turn ended well.
pub async fn said(view: &mut View, words: &str) -> Result<()> {
    view.until(words, |view| agent_says(view, words)).await?;
    ended(view, StopReason::EndTurn).await
}

/// Waits until nothing runs and the last turn ended like this.
pub async fn ended(view: &mut View, stop: StopReason) -> Result<()> {
    let what = format!("a turn that ended with {stop:?}");
    let is_over = move |view: &View| {
        let last = view.header.turn.as_ref();
        // What is said overtakes nothing: the words of a turn may come behind the news of its end.
        view.header.row.state == SessionState::Idle
            && last.is_some_and(|turn| turn.stop == Some(stop.clone()))
            && !view.items.values().any(|item| is_going_on(&item.body))
    };
    view.until(&what, is_over).await
}

fn is_going_on(body: &ItemBody) -> bool {
    match body {
        ItemBody::Message(message) => matches!(message.state, MessageState::Streaming | MessageState::Sending),
        ItemBody::Thought(thought) => thought.active,
        ItemBody::Tool(call) => {
            matches!(call.state, ToolState::Announced | ToolState::Waiting | ToolState::Running)
        }
        _ => false,
    }
}

fn messages(view: &View, role: Role) -> Vec<String> {
    let is_theirs = |body: &ItemBody| matches!(body, ItemBody::Message(Message { role: of, .. }) if *of == role);
    view.ordered().into_iter().filter(|item| is_theirs(&item.body)).map(line).collect()
}

/// What the agent said, message by message.
pub fn agent(view: &View) -> Vec<String> {
    messages(view, Role::Agent)
}

/// What the person said, message by message.
pub fn person(view: &View) -> Vec<String> {
    messages(view, Role::User)
}

/// The agent has said these words.
pub fn agent_says(view: &View, words: &str) -> bool {
    agent(view).iter().any(|said| said.contains(words))
}

/// The calls of tools, in order.
pub fn calls(view: &View) -> Vec<ToolCall> {
    let call = |body: &ItemBody| if let ItemBody::Tool(call) = body { Some(call.clone()) } else { None };
    view.ordered().into_iter().filter_map(|item| call(&item.body)).collect()
}
