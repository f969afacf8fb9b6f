//! P-25 and S-11: the probe names the layer that fails, changes nothing, and gives the token only to whom it belongs.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use anyhow::{Context as _, Result};
use contract::{
    error::ErrorCode,
    probe::{ProbeLayer, ProbeOutcome, ProbeReport, ServerDraft},
    server::{ServerOptions, ServerWarning},
};
use engine::{Engine, MemoryCredentials};
use practice::{RequestAct, RequestFault};
use pretty_assertions::assert_eq;
use tests::rig::{Dialect, Rig, draft, engine};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader},
    net::TcpListener,
    sync::watch,
};

use super::pass;

/// A server that gives one answer to everything and keeps the head of every request.
struct Answering {
    address: String,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Answering {
    /// `answer` makes the whole answer from a request's head.
    async fn start(answer: impl Fn(&str) -> String + Send + Sync + 'static) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = format!("http://{}", listener.local_addr()?);
        let heads = Arc::new(Mutex::new(Vec::new()));
        let (kept, answer) = (Arc::clone(&heads), Arc::new(answer));
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let (kept, answer) = (Arc::clone(&kept), Arc::clone(&answer));
                tokio::spawn(async move {
                    let mut socket = BufReader::new(socket);
                    let mut head = String::new();
                    while socket.read_line(&mut head).await.is_ok_and(|read| read > 0) {
                        if head.ends_with("\r\n\r\n") {
                            kept.lock().unwrap_or_else(PoisonError::into_inner).push(head.clone());
                            if socket.write_all(answer(&head).as_bytes()).await.is_err() {
                                return;
                            }
                            head.clear();
                        }
                    }
                });
            }
        });
        Ok(Self { address, heads })
    }

    fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn status(line: &str, more: &str) -> String {
    format!("HTTP/1.1 {line}\r\ncontent-length: 0\r\n{more}\r\n")
}

/// An engine without servers.
async fn alone() -> Result<(Engine, tempfile::TempDir)> {
    let dir = tempfile::tempdir()?;
    Ok((engine(dir.path(), Arc::new(MemoryCredentials::default())).await?, dir))
}

async fn probed(engine: &Engine, address: &str, token: &str) -> Result<ProbeReport> {
    Ok(engine.probe_server(draft(address, token, ServerOptions::default())).await?)
}

/// The layer that failed and its code; all layers before it work, nothing stands behind it.
fn failed(report: &ProbeReport) -> (ProbeLayer, ErrorCode) {
    let last = report.steps.last().expect("a step");
    assert_eq!(last.outcome, ProbeOutcome::Failed, "{report:?}");
    assert!(report.steps.iter().rev().skip(1).all(|step| step.outcome == ProbeOutcome::Ok), "{report:?}");
    assert!(report.steps.windows(2).all(|pair| pair[0].layer < pair[1].layer), "{report:?}");
    assert_eq!(report.found, None);
    (last.layer, report.error.as_ref().expect("an error").code)
}

#[tokio::test]
async fn p25_the_probe_names_an_address_that_is_none() -> Result<()> {
    let (engine, _dir) = alone().await?;
    for typed in ["", "http://a b", "ftp://127.0.0.1", "http://me:secret@127.0.0.1"] {
        let report = probed(&engine, typed, "").await?;
        assert_eq!(failed(&report), (ProbeLayer::Url, ErrorCode::InvalidInput), "{typed}");
    }
    Ok(())
}

#[tokio::test]
async fn p25_the_probe_names_a_host_that_is_not_found() -> Result<()> {
    let (engine, _dir) = alone().await?;
    let report = probed(&engine, "https://countersign-test.invalid", "").await?;
    assert_eq!(failed(&report), (ProbeLayer::Dns, ErrorCode::Unreachable));
    Ok(())
}

#[tokio::test]
async fn p25_the_probe_names_a_port_where_nobody_listens() -> Result<()> {
    let (engine, _dir) = alone().await?;
    // Bound and never listened on: nobody else can get the port meanwhile.
    let socket = tokio::net::TcpSocket::new_v4()?;
    socket.bind("127.0.0.1:0".parse()?)?;
    let report = probed(&engine, &format!("http://{}", socket.local_addr()?), "").await?;
    assert_eq!(failed(&report), (ProbeLayer::Connect, ErrorCode::Unreachable));
    Ok(())
}

#[tokio::test]
async fn p25_the_probe_names_tls_where_the_server_speaks_plain_http() -> Result<()> {
    let (engine, _dir) = alone().await?;
    let server = Answering::start(|_| status("400 Bad Request", "")).await?;
    let report = probed(&engine, &server.address.replace("http:", "https:"), "").await?;
    assert_eq!(failed(&report), (ProbeLayer::Tls, ErrorCode::Unreachable));
    Ok(())
}

/// The address that the process with a proxy of its own probes.
const BEHIND_PROXY: &str = "COUNTERSIGN_TEST_P25_BEHIND_PROXY";

#[tokio::test]
async fn p25_the_probe_names_a_proxy_that_wants_a_login() -> Result<()> {
    if let Ok(address) = std::env::var(BEHIND_PROXY) {
        let (engine, _dir) = alone().await?;
        assert_eq!(failed(&probed(&engine, &address, "").await?), (ProbeLayer::Proxy, ErrorCode::Unreachable));
        return Ok(());
    }
    let proxy =
        Answering::start(|_| status("407 Proxy Authentication Required", "proxy-authenticate: Basic\r\n")).await?;
    // The environment belongs to the whole process, so the probe runs in one of its own.
    let mut child = tokio::process::Command::new(std::env::current_exe()?);
    child
        .args(["--exact", "rows::probe::p25_the_probe_names_a_proxy_that_wants_a_login"])
        .env(BEHIND_PROXY, "https://countersign-test.invalid")
        .env("HTTPS_PROXY", &proxy.address)
        .env("https_proxy", &proxy.address)
        .env_remove("NO_PROXY")
        .env_remove("no_proxy");
    let output = child.output().await?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    assert!(proxy.heads().iter().any(|head| head.starts_with("CONNECT ")), "the proxy was asked");
    Ok(())
}

#[tokio::test]
async fn p25_the_probe_names_a_missing_and_a_wrong_token_and_posts_nothing() -> Result<()> {
    let rig = Rig::start(Dialect::Qoder).await?;
    let before = rig.control.counters();
    for address in [rig.practice.base_url(), rig.practice.claude_base_url()] {
        for token in ["", "wrong"] {
            let report = probed(&rig.engine, &address, token).await?;
            assert_eq!(failed(&report), (ProbeLayer::Auth, ErrorCode::Unauthorized), "{address} {token}");
            assert_eq!(report.steps.last().and_then(|step| step.status), Some(401));
        }
        let report = probed(&rig.engine, &address, &format!(" {}\n", rig.practice.token())).await?;
        assert_eq!(report.error, None);
        let found = report.found.context("nothing found")?;
        assert_eq!((found.protocol.as_str(), found.unauthenticated), ("managed", false));
        let dialect = if address.ends_with("/cloud") { "qoder" } else { "claude" };
        assert_eq!(found.dialect.as_deref(), Some(dialect), "{address}");
    }
    let after = rig.control.counters();
    assert!(after.requests > before.requests);
    assert_eq!(after.posts, before.posts, "a probe changes nothing");
    Ok(())
}

#[tokio::test]
async fn p25_the_probe_names_a_server_that_speaks_something_else_and_only_reads() -> Result<()> {
    let (engine, _dir) = alone().await?;
    for line in ["404 Not Found", "200 OK"] {
        let server = Answering::start(move |_| status(line, "")).await?;
        let report = probed(&engine, &server.address, "tok-canary").await?;
        assert_eq!(failed(&report), (ProbeLayer::Protocol, ErrorCode::WrongProtocol), "{line}");
        let heads = server.heads();
        assert!(!heads.is_empty());
        assert!(heads.iter().all(|head| head.starts_with("GET ")), "{heads:?}");
        assert!(heads.iter().all(|head| !head.contains("tok-canary")), "no token to whom did not ask for one");
    }
    Ok(())
}

#[tokio::test]
async fn p25_a_server_that_never_answers_is_given_up_within_ten_seconds() -> Result<()> {
    let (engine, _dir) = alone().await?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = format!("http://{}", listener.local_addr()?);
    let (came, mut connected) = watch::channel(false);
    tokio::spawn(async move {
        let mut open = Vec::new();
        while let Ok((socket, _)) = listener.accept().await {
            let mut socket = BufReader::new(socket);
            let mut line = String::new();
            // The request has arrived; no answer ever does.
            let _ = socket.read_line(&mut line).await;
            open.push(socket);
            let _ = came.send(true);
        }
    });
    let probe = tokio::spawn(async move { probed(&engine, &address, "").await });
    connected.wait_for(|came| *came).await?;
    pass(Duration::from_secs(10)).await;
    let report = probe.await??;
    assert_eq!(failed(&report), (ProbeLayer::Answer, ErrorCode::Unreachable));
    Ok(())
}

#[tokio::test]
async fn s11_plain_http_to_another_computer_is_refused_until_the_person_agrees() -> Result<()> {
    let (engine, _dir) = alone().await?;
    // An address for documentation: nothing is sent to it.
    let remote = "http://192.0.2.1:1";
    let report = probed(&engine, remote, "tok-canary").await?;
    assert_eq!(failed(&report), (ProbeLayer::Url, ErrorCode::InsecureUrl));
    let refused = engine.add_server(draft(remote, "tok-canary", ServerOptions::default())).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::InsecureUrl);
    Ok(())
}

#[tokio::test]
async fn s11_a_redirect_to_another_origin_never_gets_the_token() -> Result<()> {
    let thief = Answering::start(|_| status("401 Unauthorized", "x-request-id: 1\r\n")).await?;
    let (engine, _dir) = alone().await?;
    let to = format!("location: {}/api/v1/cloud/agents?limit=1\r\n", thief.address);
    let server = Answering::start(move |head| {
        if head.contains("tok-canary") {
            status("307 Temporary Redirect", &to)
        } else {
            status("401 Unauthorized", "x-request-id: 1\r\n")
        }
    })
    .await?;
    let report = probed(&engine, &server.address, "tok-canary").await?;
    assert!(report.error.is_some(), "{report:?}");
    assert!(server.heads().iter().any(|head| head.contains("tok-canary")), "the server itself was given it");
    assert_eq!(thief.heads(), Vec::<String>::new());

    // The same for a server that was honest when it was added.
    let (rig, _, mut view, request) = super::waiting_rig(Dialect::Qoder).await?;
    let act = RequestAct::Redirect { location: format!("{}/steal", thief.address) };
    let fault = RequestFault { method: None, path: Some("/sessions".to_owned()), times: 3, act };
    rig.control.run(practice::Command::RequestFault(fault)).await?;
    rig.control.cut_streams();
    view.until("a lost stream", |view| !super::is_live(view)).await?;
    let asked = rig.control.counters().requests;
    rig.engine.refresh_server(contract::command::ServerRef { server: rig.server.clone() }).await?;
    rig.control.until(|seen| seen.requests >= asked + 2).await?;
    view.until("the stream again", super::is_live).await?;
    assert_eq!(view.open_requests(), [&request]);
    assert_eq!(thief.heads(), Vec::<String>::new());
    Ok(())
}

#[tokio::test]
async fn s11_a_server_that_answers_without_a_token_is_warned_about() -> Result<()> {
    let (engine, _dir) = alone().await?;
    let list = r#"{"data":[],"first_id":null,"last_id":null,"has_more":false}"#;
    let server = Answering::start(move |_| {
        format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nx-request-id: 1\r\ncontent-length: {}\r\n\r\n{list}",
            list.len()
        )
    })
    .await?;
    let added = engine.add_server(draft(&server.address, "tok-canary", ServerOptions::default())).await?;
    assert_eq!(added.warnings, [ServerWarning::Unauthenticated]);
    Ok(())
}

#[tokio::test]
async fn a_server_that_cannot_be_probed_is_not_saved() -> Result<()> {
    let (engine, _dir) = alone().await?;
    let bad = ServerDraft { base_url: "http://127.0.0.1:1".to_owned(), ..draft("", "tok", ServerOptions::default()) };
    assert_eq!(engine.add_server(bad).await.unwrap_err().code, ErrorCode::Unreachable);
    let overview = engine.overview("main", contract::command::NoArgs {}).await?;
    assert_eq!(overview.servers, []);
    Ok(())
}
