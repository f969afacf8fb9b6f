//! P-46: a token is in no log line, no file, no error and nothing a window is shown.

use std::{
    io::Write,
    sync::{Arc, Mutex, PoisonError},
};

use anyhow::Result;
use contract::{
    command::{EditServer, NoArgs, ReplaceToken, SessionRef},
    error::ErrorCode,
    request::RequestState,
    server::{Header, ServerOptions, ServerState},
};
use engine::MemoryCredentials;
use practice::{Config, Pace, Practice, RequestAct};
use pretty_assertions::assert_eq;
use serde_json::json;
use tests::rig::{Dialect, Rig, decision, draft, engine};
use tracing_subscriber::fmt::MakeWriter;

const CANARY: &str = "canary-5f0c9e2b7d41";

/// Everything that is logged.
#[derive(Clone, Default)]
struct Logged(Arc<Mutex<Vec<u8>>>);

impl Write for Logged {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Logged {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

impl Logged {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().unwrap_or_else(PoisonError::into_inner)).into_owned()
    }
}

#[tokio::test]
async fn p46_a_token_is_in_no_log_no_file_no_error_and_nothing_that_is_shown() -> Result<()> {
    let logged = capture()?;
    let dir = tempfile::tempdir()?;
    let practice =
        Practice::start(Config { token: Some(CANARY.to_owned()), pace: Pace::Fast, ..Config::default() }).await?;
    let engine = engine(dir.path(), Arc::new(MemoryCredentials::default())).await?;
    let mut shown = String::new();
    let entered = draft(&practice.base_url(), &format!("  {CANARY}\n"), ServerOptions::default());
    shown.push_str(&format!("{entered:?}{:?}", engine.probe_server(entered.clone()).await?));
    let server = engine.add_server(entered.clone()).await?;
    shown.push_str(&serde_json::to_string(&server)?);

    // A run with everything in it: list, stream, history, a decision.
    let feed = engine.attach_window("main");
    let remote = practice.start_scenario("approval").await?;
    let session = engine.session_by_remote(&server.id, &remote).await?;
    shown.push_str(&serde_json::to_string(&engine.open_session("main", SessionRef { session }).await?)?);
    let request = loop {
        if let Some(request) = engine.waiting_requests(NoArgs {}).await?.pop() {
            break request;
        }
        for patch in feed.next().await.into_iter().flatten() {
            shown.push_str(&serde_json::to_string(&patch)?);
        }
    };
    shown.push_str(&format!("{:?}", engine.decide(decision(&request, "allow_once")).await?));
    practice.control().until(|seen| seen.accepted(&request.id) == 1).await?;

    // What fails: a refused token, a taken-back one, an address with a password, headers that carry secrets.
    let wrong = ReplaceToken {
        server: server.id.clone(),
        token: format!("{CANARY}-wrong"),
        session_only: false,
        stop_runs: false,
    };
    shown.push_str(&format!("{wrong:?}"));
    engine.replace_token(wrong).await?;
    loop {
        let overview = engine.overview("main", NoArgs {}).await?;
        shown.push_str(&serde_json::to_string(&overview)?);
        if overview.servers.iter().all(|server| server.state == ServerState::Unauthorized) {
            break;
        }
        for patch in feed.next().await.into_iter().flatten() {
            shown.push_str(&serde_json::to_string(&patch)?);
        }
    }
    let refused = practice::RequestAct::Redirect { location: "http://127.0.0.2:1/".to_owned() };
    practice.control().fail_next("GET", "/agents", refused);
    shown.push_str(&format!("{:?}", engine.probe_server(entered.clone()).await?));
    let password = draft(&format!("http://me:{CANARY}@127.0.0.1"), "", ServerOptions::default());
    shown.push_str(&format!("{:?}", engine.add_server(password).await.unwrap_err()));
    shown.push_str(&serde_json::to_string(&engine.overview("main", NoArgs {}).await?)?);
    engine.shutdown().await;

    assert!(logged.text().contains("request"), "the log was captured");
    for (what, text) in [("the log", logged.text()), ("what is shown", shown)] {
        if let Some(at) = text.find(CANARY) {
            let from = text[..at].char_indices().rev().nth(200).map_or(0, |(index, _)| index);
            panic!("{what} holds the token: {}", &text[from..at]);
        }
    }
    let mut files = 0;
    for entry in std::fs::read_dir(dir.path())? {
        let path = entry?.path();
        let bytes = std::fs::read(&path)?;
        assert!(!bytes.windows(CANARY.len()).any(|window| window == CANARY.as_bytes()), "{}", path.display());
        files += 1;
    }
    assert!(files > 0, "the record lies there");
    Ok(())
}

/// Captures what this process logs, down to the last detail.
fn capture() -> Result<Logged> {
    let logged = Logged::default();
    let subscriber =
        tracing_subscriber::fmt().with_max_level(tracing::Level::TRACE).with_ansi(false).with_writer(logged.clone());
    tracing::subscriber::set_global_default(subscriber.finish())?;
    Ok(logged)
}

#[tokio::test]
async fn p46_a_secret_in_a_tools_arguments_and_output_is_in_no_log_and_no_error() -> Result<()> {
    let logged = capture()?;
    let rig = Rig::start(Dialect::Qoder).await?;
    let (remote, mut view) = rig.play("plain", &[]).await?;
    view.until("the answer on a live stream", |view| view.text().contains("in a few words") && super::is_live(view))
        .await?;
    let call = json!({"id": "evt_call", "type": "agent.tool_use", "name": "Bash",
        "input": {"command": format!("curl -H 'x-key: {CANARY}' https://example.invalid")}, "evaluated_permission": "ask"});
    rig.control.emit(&remote, call)?;
    let stop = json!({"type": "requires_action", "event_ids": ["evt_call"]});
    rig.control.emit(&remote, json!({"type": "session.status_idle", "stop_reason": stop}))?;
    view.until("the card", |view| view.open_requests().len() == 1).await?;
    let card = view.open_requests()[0].clone();
    assert!(card.command.as_ref().is_some_and(|command| command.text.contains(CANARY)), "the person sees all of it");

    // Every way a decision can fail: refused here, refused there with words that repeat it, lost.
    let mut words = Vec::new();
    let mut stale = decision(&card, "allow_once");
    stale.digest = "0".repeat(64);
    words.push(format!("{:?}", rig.engine.decide(stale).await));
    let body = json!({"error": {"type": "invalid_request_error", "message": "no such call"}}).to_string();
    let refused = RequestAct::Reply { status: 400, content_type: "application/json".to_owned(), body };
    rig.control.fail_next("POST", &format!("/sessions/{remote}"), refused);
    rig.engine.decide(decision(&card, "deny")).await?;
    view.until("the refusal", |view| matches!(view.requests["evt_call"].state, RequestState::Refused { .. })).await?;
    // Output, an output that is too odd to read, and a frame that is no JSON.
    let output = json!([{"type": "text", "text": format!("key={CANARY}")}]);
    rig.control.emit(&remote, json!({"type": "agent.tool_result", "tool_use_id": "evt_call", "content": output}))?;
    rig.control.emit(&remote, json!({"type": "agent.tool_result", "tool_use_id": 7, "content": {CANARY: [CANARY]}}))?;
    rig.control.raw(&remote, format!("id: evt_odd\nevent: agent.message\ndata: {{\"{CANARY}\": \n\n"))?;
    view.until("the output", |view| view.text().contains(&format!("key={CANARY}"))).await?;
    rig.control.cut_streams();
    view.until("the stream again", |view| super::connects(view) > 1).await?;
    words.push(format!("{:?}", view.log));
    words.push(format!("{:?}", rig.engine.overview("main", NoArgs {}).await?.servers));
    rig.engine.shutdown().await;

    let log = logged.text();
    assert!(log.contains("decision not settled"), "the log was captured");
    let line = log.lines().find(|line| line.contains(CANARY));
    assert_eq!(line, None, "the log holds what a tool was given");
    assert!(!words.concat().contains(CANARY), "{words:?}");
    Ok(())
}

/// The address that the process with a password in its environment probes.
const WITH_PASSWORD: &str = "COUNTERSIGN_TEST_P46_WITH_PASSWORD";

#[tokio::test]
async fn p46_a_password_in_the_environments_proxy_is_in_no_log_and_no_error() -> Result<()> {
    if let Ok(address) = std::env::var(WITH_PASSWORD) {
        let logged = capture()?;
        let dir = tempfile::tempdir()?;
        let engine = engine(dir.path(), Arc::new(MemoryCredentials::default())).await?;
        let report = engine.probe_server(draft(&address, "", ServerOptions::default())).await?;
        assert!(report.error.is_some(), "nobody is there");
        writeln!(std::io::stdout(), "{report:?}\n{}", logged.text())?;
        return Ok(());
    }
    let mut child = tokio::process::Command::new(std::env::current_exe()?);
    child.args(["--exact", "rows::secrets::p46_a_password_in_the_environments_proxy_is_in_no_log_and_no_error"]);
    child.arg("--nocapture").env(WITH_PASSWORD, "https://countersign-test.invalid");
    for name in ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"] {
        // Port 9 of this computer, where nobody listens.
        child.env(name, format!("http://me:{CANARY}@127.0.0.1:9"));
    }
    let output = child.env_remove("NO_PROXY").env_remove("no_proxy").output().await?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("Failed"), "{said}");
    assert_eq!(said.lines().find(|line| line.contains(CANARY)), None);
    Ok(())
}

#[tokio::test]
async fn p46_headers_that_carry_secrets_are_refused_and_not_repeated() -> Result<()> {
    let dir = tempfile::tempdir()?;
    let practice = Practice::start(Config::default()).await?;
    let engine = engine(dir.path(), Arc::new(MemoryCredentials::default())).await?;
    let with = |name: &str| ServerOptions {
        headers: vec![Header { name: name.to_owned(), value: CANARY.to_owned() }],
        ..ServerOptions::default()
    };
    let server = engine.add_server(draft(&practice.base_url(), practice.token(), with("x-team"))).await?;
    for name in ["authorization", "Authorization", " x-api-key ", "Cookie", "proxy-authorization", "Set-Cookie"] {
        let refused = engine.add_server(draft(&practice.base_url(), practice.token(), with(name))).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::InvalidInput, "{name}");
        assert!(!format!("{refused:?}").contains(CANARY));
        let edit = EditServer {
            server: server.id.clone(),
            name: "Test".to_owned(),
            base_url: practice.base_url(),
            protocol: "managed".to_owned(),
            options: with(name),
            stop_runs: false,
        };
        assert_eq!(engine.edit_server(edit).await.unwrap_err().code, ErrorCode::InvalidInput, "{name}");
        let probed = engine.probe_server(draft(&practice.base_url(), practice.token(), with(name))).await?;
        assert_eq!(probed.error.map(|error| error.code), Some(ErrorCode::InvalidInput), "{name}");
    }
    assert_eq!(engine.overview("main", NoArgs {}).await?.servers.len(), 1);
    Ok(())
}
