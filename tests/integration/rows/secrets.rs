//! P-46: a token is in no log line, no file, no error and nothing a window is shown.

use std::{
    io::Write,
    sync::{Arc, Mutex, PoisonError},
};

use anyhow::Result;
use contract::{
    command::{EditServer, NoArgs, ReplaceToken, SessionRef},
    error::ErrorCode,
    server::{Header, ServerOptions, ServerState},
};
use engine::MemoryCredentials;
use practice::{Config, Pace, Practice};
use pretty_assertions::assert_eq;
use tests::rig::{decision, draft, engine};
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
    let logged = Logged::default();
    let subscriber =
        tracing_subscriber::fmt().with_max_level(tracing::Level::TRACE).with_ansi(false).with_writer(logged.clone());
    // Everything in this process is captured, also what other threads and other tests log.
    tracing::subscriber::set_global_default(subscriber.finish())?;
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
    let wrong = ReplaceToken { server: server.id.clone(), token: format!("{CANARY}-wrong"), session_only: false };
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
