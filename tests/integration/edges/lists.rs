//! Lists that go wrong, and where a token may go (numbers 22 and 24).

use std::{
    fs,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use anyhow::Result;
use contract::{
    command::{DefineOutcome, NoArgs, ServerRef, SessionRef},
    connection::ConnectionState,
    item::{ItemBody, Marker},
    probe::ServerDraft,
    search::HistoryQuery,
    server::ServerOptions,
};
use engine::{Engine, MemoryCredentials};
use practice::{Command, RequestAct, RequestFault};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use tests::{
    rig::{self, Dialect, Rig},
    view::{View, line},
};
use tokio::sync::mpsc;

use super::{
    stage::{Stage, blocks},
    wire::{Answer, Wire},
};
use crate::rows::pass;

/// The engine with a server by hand.
async fn with(wire: &Wire, dir: &Path) -> Result<(Engine, View)> {
    let engine = rig::engine(dir, Arc::new(MemoryCredentials::default())).await?;
    let options = ServerOptions { dialect: Some("qoder".into()), ..ServerOptions::default() };
    let draft = ServerDraft { protocol: Some("managed".into()), ..rig::draft(&wire.base, "secret-token", options) };
    let server = engine.add_server(draft).await?.id;
    let session = engine.session_by_remote(&server, "sess_1").await?;
    let view = View::open(&engine, "main", session).await?;
    Ok((engine, view))
}

fn event(id: &str) -> Value {
    json!({"id": id, "type": "agent.message", "content": blocks(&format!("Text of {id}")), "processed_at": "2026-09-01T08:00:00Z"})
}

/// A list whose pages lead from one to the next as `next` says, with a stream that stays open.
async fn circling(next: fn(&str) -> &'static str) -> Result<Vec<String>> {
    let (open, stream) = mpsc::unbounded_channel();
    let stream = std::sync::Mutex::new(Some(stream));
    let wire = Wire::with_session(move |asked| {
        if asked.path.contains("/events/stream") {
            return stream.lock().unwrap().take().map(Answer::Stream);
        }
        let query = asked.path.split_once("/events?")?.1;
        let page = query.split('&').find_map(|pair| pair.strip_prefix("page=")).unwrap_or_default();
        Some(Answer::Json(json!({"data": [event(&format!("evt_{page}"))], "next_page": next(page), "has_more": true})))
    })
    .await?;
    let dir = tempfile::tempdir()?;
    let (engine, mut view) = with(&wire, dir.path()).await?;
    view.until("the first page", |view| view.text().contains("Text of evt_")).await?;
    view.until("the end of the reading", |view| !view.header.loading_history).await?;
    let lists: Vec<String> =
        wire.seen().into_iter().map(|asked| asked.path).filter(|path| path.contains("/events?")).collect();
    drop(open);
    engine.shutdown().await;
    Ok(lists)
}

#[tokio::test]
async fn managed_edge_22_a_list_whose_cursor_never_advances_is_not_followed() -> Result<()> {
    let same = circling(|_| "p").await?;
    let circle = circling(|page| if page == "a" { "b" } else { "a" }).await?;
    // Once for the list's news and once for the stream: no reading asks for a page twice.
    for path in same.iter().chain(&circle) {
        let asked = same.iter().chain(&circle).filter(|other| *other == path).count();
        assert!(asked <= 4, "{path}: {asked} times in four readings");
    }
    for path in same.iter().chain(&circle) {
        let limit = path.split(['?', '&']).find_map(|pair| pair.strip_prefix("limit=")).unwrap();
        assert!(limit.parse::<u32>()? <= 100, "{path}");
    }
    Ok(())
}

/// A history of three pages; while `sane` is not set, the second leads back to the first.
async fn confused(sane: Arc<AtomicBool>) -> Result<Wire> {
    let streams = std::sync::Mutex::new(Vec::new());
    Wire::with_session(move |asked| {
        if asked.path.contains("/events/stream") {
            let (open, stream) = mpsc::unbounded_channel();
            streams.lock().unwrap().push(open);
            return Some(Answer::Stream(stream));
        }
        let query = asked.path.split_once("/events?")?.1;
        let page = query.split('&').find_map(|pair| pair.strip_prefix("page=")).unwrap_or("1");
        let next = match page {
            "1" => Some("2"),
            "2" if sane.load(Ordering::Relaxed) => Some("3"),
            "2" => Some("1"),
            _ => None,
        };
        let page = json!({"data": [event(&format!("evt_{page}"))], "next_page": next, "has_more": next.is_some()});
        Some(Answer::Json(page))
    })
    .await
}

#[tokio::test]
async fn managed_edge_22_a_list_that_goes_in_circles_is_given_up_said_and_tried_again_when_asked() -> Result<()> {
    let sane = Arc::new(AtomicBool::new(false));
    let wire = confused(Arc::clone(&sane)).await?;
    let dir = tempfile::tempdir()?;
    let (engine, mut view) = with(&wire, dir.path()).await?;
    let lists = || wire.seen().into_iter().filter(|asked| asked.path.contains("/events?")).count();
    let gaps = |view: &View| {
        let gap = |item: &&&contract::item::Item| matches!(item.body, ItemBody::Marker(Marker::Gap { .. }));
        view.ordered().iter().filter(gap).count()
    };
    view.until("the pages that can be read, and a word about the rest", |view| {
        let text = view.text();
        text.contains("Text of evt_1") && text.contains("Text of evt_2") && gaps(view) == 1
    })
    .await?;
    let first = view.ordered()[0].body.clone();
    let ItemBody::Marker(Marker::Gap { detail, recovered }) = first else { panic!("{}", view.text()) };
    assert!(detail.contains("goes in circles") && !recovered, "{detail}");
    view.until("the end of the reading", |view| {
        !view.header.loading_history && matches!(view.header.connection, ConnectionState::Live { .. })
    })
    .await?;

    // Nothing is asked again every few seconds, once what the start asked for is through: three readings of three pages.
    let mut counts = Vec::new();
    for _ in 0..6 {
        pass(Duration::from_secs(8)).await;
        engine.search_history(HistoryQuery { limit: 1, ..HistoryQuery::default() }).await?;
        counts.push(lists());
    }
    let asked = lists();
    assert!(asked <= 9, "asked again by itself: {counts:?}");

    let which = SessionRef { session: view.session() };
    engine.retry_now(which).await?;
    wire.until(|seen| seen.iter().filter(|asked| asked.path.contains("/events?")).count() > asked).await?;
    assert_eq!(gaps(&view), 1, "said once");
    sane.store(true, Ordering::Relaxed);
    // Another reading may be under way: then it is asked once more behind it.
    while !view.text().contains("Text of evt_3") {
        engine.retry_now(which).await?;
        view.step().await?;
    }
    let agent: Vec<String> = view.ordered().into_iter().map(line).filter(|line| line.starts_with("Agent")).collect();
    assert_eq!(agent, ["3", "2", "1"].map(|page| format!("Agent Done: Text of evt_{page}")));
    assert_eq!(gaps(&view), 1);
    engine.shutdown().await;
    Ok(())
}

#[tokio::test]
async fn a_history_that_cannot_be_read_is_tried_again_less_and_less_often() -> Result<()> {
    let wire = Wire::with_session(|asked| {
        asked.path.contains("/events?").then_some(Answer::Json(json!({"data": "none of your business"})))
    })
    .await?;
    let dir = tempfile::tempdir()?;
    let (engine, view) = with(&wire, dir.path()).await?;
    let lists = || wire.seen().into_iter().filter(|asked| asked.path.contains("/events?")).count();
    let mut counts = Vec::new();
    for _ in 0..30 {
        pass(Duration::from_secs(10)).await;
        // A round through the engine and back: what was due was asked.
        engine.search_history(HistoryQuery { limit: 1, ..HistoryQuery::default() }).await?;
        wire.until(|seen| !seen.is_empty()).await?;
        counts.push(lists());
    }
    assert!(*counts.last().unwrap() <= 16, "in five minutes: {counts:?}");
    drop(view);
    engine.shutdown().await;
    Ok(())
}

#[tokio::test]
async fn managed_edge_22_a_list_answered_as_a_stream_is_refused_and_read_again() -> Result<()> {
    let rig = Rig::start(Dialect::Qoder).await?;
    let remote = Stage::finished(&rig, "plain", &[]).await?;
    // The stream itself may say so; the list may not.
    let act = RequestAct::ContentType { value: "text/event-stream".into() };
    let fault = RequestFault { method: Some("GET".into()), path: Some("/events".into()), times: 2, act };
    rig.control.run(Command::RequestFault(fault)).await?;
    let view = rig.open(&remote).await?;
    let mut stage = Stage::over(rig, remote, view);
    // The reading that is refused is tried again after a while; until then there is nothing to see.
    stage.view.until("the history", |view| view.text().contains("in a few words")).await?;
    stage.settle().await?;
    assert_eq!(stage.text().await?, "User Done: Hello\nAgent Done: Hello. This is a plain answer in a few words.");
    stage.stop().await;
    Ok(())
}

/// Whether a file below the folder holds this text.
fn holds(folder: &Path, text: &str) -> Result<bool> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            if holds(&path, text)? {
                return Ok(true);
            }
        } else if fs::read(&path)?.windows(text.len()).any(|window| window == text.as_bytes()) {
            return Ok(true);
        }
    }
    Ok(false)
}

#[tokio::test]
async fn managed_edge_24_the_token_follows_no_redirect_and_is_written_nowhere() -> Result<()> {
    let elsewhere = Wire::start(|_| Answer::Json(json!({"data": [], "has_more": false}))).await?;
    let options = ServerOptions { dialect: Some("qoder".into()), ..ServerOptions::default() };
    let rig = Rig::start_with(Dialect::Qoder, options).await?;
    let token = rig.practice.token().to_owned();
    let mut stage = Stage::on(rig, "plain", &[]).await?;
    stage.settle().await?;
    let redirect = || RequestAct::Redirect { location: format!("{}/agents", elsewhere.base) };
    let session = stage.view.session();
    let mut words = Vec::new();

    stage.rig.control.fail_next("GET", "/agents", redirect());
    let refused = stage.rig.engine.new_session_options(ServerRef { server: stage.rig.server.clone() }).await;
    words.push(format!("{refused:?}"));
    stage.rig.control.fail_next("POST", "/events", redirect());
    let outcome = DefineOutcome { session, description: "d".into(), rubric: "r".into(), max_iterations: None };
    words.push(format!("{:?}", stage.rig.engine.define_outcome(outcome).await));
    stage.rig.control.fail_next("POST", "/archive", redirect());
    words.push(format!("{:?}", stage.rig.engine.archive_session(SessionRef { session }).await));
    stage.rig.control.fail_next("GET", "/events/stream", redirect());
    stage.rig.control.cut_streams();
    stage.settle().await?;
    words.push(format!("{:?}", stage.view.log));
    words.push(format!("{:?}", stage.rig.engine.overview("main", NoArgs {}).await?.servers));

    for asked in elsewhere.seen() {
        assert!(!asked.head.contains(&token), "{asked:?}");
        assert!(!asked.head.contains("authorization"), "{asked:?}");
    }
    assert_eq!(stage.rig.control.counters().leaked_tokens, 0);
    assert!(!words.iter().any(|words| words.contains(&token)), "{words:?}");
    let Stage { rig, .. } = stage;
    rig.engine.shutdown().await;
    assert!(!holds(rig.dir.path(), &token)?, "the record holds the token");
    rig.practice.stop().await;
    Ok(())
}
