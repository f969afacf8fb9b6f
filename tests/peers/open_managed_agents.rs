//! The engine drives a real `managed` server: message, approval allowed, approval denied, custom tool.

use std::{process::Stdio, sync::Arc};

use anyhow::{Context as _, Result, ensure};
use contract::{
    command::{CreateSession, SendMessage},
    item::ItemBody,
    request::{Fate, RequestKind},
    server::{ServerId, ServerOptions, ServerState, ServerWarning},
    session::{SessionId, SessionState},
};
use engine::{Engine, MemoryCredentials};
use serde_json::{Value, json};
use tempfile::TempDir;
use tests::{
    rig::{self, decision, draft},
    view::View,
};
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::{Child, ChildStdin, Command},
};

use crate::{peers, script};

/// The key it takes.
pub const KEY: &str = "peer-key";

/// The peer, running.
pub struct Peer {
    child: Child,
    stdin: Option<ChildStdin>,
    base: String,
    http: reqwest::Client,
    _folder: TempDir,
}

impl Peer {
    pub async fn start() -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let mut child = Command::new(peers().join("open-managed-agents/bin/python"))
            .arg(script("serve_open_managed_agents.py"))
            .arg(folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .context("the peer does not start: `cargo xtask test peers` installs it")?;
        let stdout = child.stdout.take().context("no output")?;
        let port = BufReader::new(stdout).lines().next_line().await?.context("the peer ended before it listened")?;
        let stdin = child.stdin.take();
        let http = reqwest::Client::builder().no_proxy().build()?;
        Ok(Self { child, stdin, base: format!("http://127.0.0.1:{port}/v1"), http, _folder: folder })
    }

    /// Its address, as a person enters it.
    pub fn base(&self) -> &str {
        &self.base
    }

    fn request(&self, method: reqwest::Method, path: &str) -> reqwest::RequestBuilder {
        self.http
            .request(method, format!("{}{path}", self.base))
            .header("x-api-key", KEY)
            .header("anthropic-version", "2023-06-01")
            .header("anthropic-beta", "managed-agents-2026-04-01")
    }

    /// Sends a body and gives the answer.
    pub async fn send(&self, path: &str, body: &Value) -> Result<Value> {
        let answer = self.request(reqwest::Method::POST, path).json(body).send().await?;
        let status = answer.status();
        let body: Value = answer.json().await?;
        ensure!(status.is_success(), "{path}: {status} {body}");
        Ok(body)
    }

    /// Makes something and gives its id.
    pub async fn post(&self, path: &str, body: &Value) -> Result<String> {
        let made = self.send(path, body).await?;
        made.get("id").and_then(Value::as_str).map(str::to_owned).with_context(|| format!("{path}: no id in {made}"))
    }

    /// A session's events, as text.
    pub async fn events(&self, session: &str) -> Result<String> {
        Ok(self
            .request(reqwest::Method::GET, &format!("/sessions/{session}/events?limit=100"))
            .send()
            .await?
            .text()
            .await?)
    }

    /// An agent with these tools, and an environment for it.
    pub async fn agent(&self, tools: Value) -> Result<(String, String)> {
        let agent = self.post("/agents", &json!({"name": "Peer", "model": "local", "tools": tools})).await?;
        let environment = self.post("/environments", &json!({"name": "here", "config": {"type": "cloud"}})).await?;
        Ok((agent, environment))
    }

    pub async fn stop(mut self) -> Result<()> {
        drop(self.stdin.take());
        self.child.wait().await?;
        Ok(())
    }
}

/// The peer and an engine that knows it.
struct Joined {
    peer: Peer,
    engine: Engine,
    server: ServerId,
    _dir: TempDir,
}

impl Joined {
    async fn start() -> Result<Self> {
        let peer = Peer::start().await?;
        let dir = tempfile::tempdir()?;
        let engine = rig::engine(dir.path(), Arc::new(MemoryCredentials::default())).await?;
        let server = engine.add_server(draft(&peer.base, KEY, ServerOptions::default())).await?;
        ensure!(server.options.dialect.as_deref() == Some("claude"), "{server:?}");
        ensure!(!server.warnings.contains(&ServerWarning::Unauthenticated), "{server:?}");
        Ok(Self { peer, engine, server: server.id, _dir: dir })
    }

    async fn session(&self, tools: Value, message: &str) -> Result<(SessionId, View)> {
        let (agent, environment) = self.peer.agent(tools).await?;
        let made = self
            .engine
            .create_session(CreateSession {
                server: self.server.clone(),
                agent: Some(agent),
                environment: Some(environment),
                title: Some("Peer run".to_owned()),
                message: message.to_owned(),
                start: contract::setup::SessionStart::default(),
            })
            .await?;
        let view = View::open(&self.engine, "main", made.session).await?;
        Ok((made.session, view))
    }

    async fn stop(self) -> Result<()> {
        self.engine.shutdown().await;
        self.peer.stop().await
    }
}

pub fn asking_tools() -> Value {
    json!([{
        "type": "agent_toolset_20260401",
        "default_config": {"enabled": true, "permission_policy": {"type": "always_ask"}},
    }])
}

fn agent_says(view: &View, words: &str) -> bool {
    view.items.values().any(|item| {
        let line = tests::view::line(item);
        matches!(item.body, ItemBody::Message(_)) && line.starts_with("Agent") && line.contains(words)
    })
}

fn is_idle(view: &View) -> bool {
    view.header.row.state == SessionState::Idle && view.header.queued.is_empty()
}

#[tokio::test(flavor = "multi_thread")]
async fn open_managed_agents_answers_messages_once_each() -> Result<()> {
    let joined = Joined::start().await?;
    let (session, mut view) = joined.session(json!([]), "hello there").await?;
    view.until("the first answer", |view| agent_says(view, "Open Managed Agents local runtime") && is_idle(view))
        .await?;
    joined.engine.send_message(SendMessage { session, text: "and again".to_owned(), images: Vec::new() }).await?;
    let users = |view: &View| tests_lines(view, "User").len();
    view.until("the second message, once", |view| users(view) == 2 && is_idle(view)).await?;
    view.until("two answers", |view| tests_lines(view, "Agent").len() == 2).await?;
    ensure!(tests_lines(&view, "User") == ["User Done: hello there", "User Done: and again"], "{}", view.text());
    let servers = joined.engine.overview("other", contract::command::NoArgs {}).await?.servers;
    ensure!(servers.iter().all(|server| server.state == ServerState::Online), "{servers:?}");
    joined.stop().await
}

fn tests_lines(view: &View, start: &str) -> Vec<String> {
    view.ordered().into_iter().map(tests::view::line).filter(|line| line.starts_with(start)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn open_managed_agents_runs_what_was_allowed_and_not_what_was_denied() -> Result<()> {
    for (choice, reason, words) in [("allow_once", None, "tool"), ("deny", Some("not today"), "denial: not today")] {
        let joined = Joined::start().await?;
        let (_, mut view) = joined.session(asking_tools(), "do it").await?;
        view.until("an approval", |view| !view.open_requests().is_empty()).await?;
        let request = view.open_requests().first().map(|request| (*request).clone()).context("none")?;
        ensure!(request.kind == RequestKind::Approval && request.tool.as_deref() == Some("bash"), "{request:?}");
        let mut answer = decision(&request, choice);
        answer.reason = reason.map(str::to_owned);
        joined.engine.decide(answer).await?;
        view.until("the agent's word on it", |view| agent_says(view, words) && is_idle(view)).await?;
        view.until("the decision's fate", |view| view.decisions.values().any(|row| row.fate == Fate::Accepted)).await?;
        ensure!(view.decisions.len() == 1 && view.open_requests().is_empty(), "{:?}", view.decisions);
        joined.stop().await?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn open_managed_agents_gets_the_result_of_a_custom_tool() -> Result<()> {
    let joined = Joined::start().await?;
    let tools = json!([{
        "type": "custom", "name": "lookup_order", "description": "Finds an order",
        "input_schema": {"type": "object", "properties": {}},
    }]);
    let (_, mut view) = joined.session(tools, "where is my order").await?;
    view.until("a client tool", |view| !view.open_requests().is_empty()).await?;
    let request = view.open_requests().first().map(|request| (*request).clone()).context("none")?;
    ensure!(request.kind == RequestKind::ClientTool && request.tool.as_deref() == Some("lookup_order"), "{request:?}");
    let mut answer = decision(&request, "answer");
    answer.result = Some("shipped yesterday".to_owned());
    joined.engine.decide(answer).await?;
    view.until("the agent's word on it", |view| agent_says(view, "shipped yesterday") && is_idle(view)).await?;
    joined.stop().await
}
