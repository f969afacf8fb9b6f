//! P-18, P-26 and S-17: a flood, an oversized event or a strange server never hides what waits elsewhere.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use anyhow::{Context as _, Result};
use contract::{
    command::{NoArgs, SessionRef},
    error::ErrorCode,
    item::{ItemBody, NoticeCode},
    patch::{Patch, SessionChange},
    probe::ServerDraft,
    request::{ChoiceKind, RequestFlag, RequestKind, RequestState},
    server::ServerOptions,
    session::SessionState,
};
use practice::{Config, Practice, WaitFor};
use pretty_assertions::assert_eq;
use serde_json::json;
use tests::{
    rig::{Dialect, Rig, decision, draft},
    view::View,
};
use tokio::sync::{mpsc, oneshot};

use super::{is_live, pass};
use crate::edges::wire::{Answer, Wire};

/// How many events the flooding session brings.
const FLOOD: usize = 3_000;

fn says(id: &str, text: &str) -> serde_json::Value {
    json!({"id": id, "type": "agent.message", "content": [{"type": "text", "text": text}]})
}

fn notices(view: &View, code: NoticeCode) -> usize {
    let of = |body: &ItemBody| matches!(body, ItemBody::Notice(notice) if notice.code == code);
    view.items.values().filter(|item| of(&item.body)).count()
}

#[tokio::test]
async fn p26_a_flooding_session_does_not_hold_up_another_sessions_approval() -> Result<()> {
    let rig = Rig::start(Dialect::Qoder).await?;
    let flooding = rig.practice.start_scenario("plain").await?;
    rig.control.hold_session(None)?;
    let asking = rig.practice.start_scenario("approval").await?;
    let (flooding_id, asking_id) = (rig.session(&flooding).await?, rig.session(&asking).await?);
    let feed = rig.engine.attach_window("main");
    rig.engine.open_session("main", SessionRef { session: flooding_id }).await?;
    rig.engine.open_session("main", SessionRef { session: asking_id }).await?;
    rig.control.until(|seen| seen.opened.len() >= 2).await?;
    let words = "x".repeat(300);
    for number in 0..FLOOD {
        rig.control.emit(&flooding, says(&format!("evt_flood_{number}"), &words))?;
    }
    rig.control.release(None)?;
    // The window draws nothing until the request waits in the engine: what is queued by then is the flood.
    while rig.engine.waiting_requests(NoArgs {}).await?.is_empty() {
        tokio::task::yield_now().await;
    }
    let mut batches = 0;
    loop {
        batches += 1;
        let batch = feed.next().await.context("the feed ended")?;
        let asks = batch.iter().any(|patch| {
            matches!(patch, Patch::Session { session, change: SessionChange::Request { request }, .. }
                if *session == asking_id && request.state == RequestState::Open)
        });
        if asks {
            break;
        }
    }
    assert!(batches <= 2, "the request came in batch {batches}");
    Ok(())
}

#[tokio::test]
async fn p26_an_oversized_event_is_kept_by_its_beginning_and_the_stream_goes_on() -> Result<()> {
    let options = ServerOptions { event_cap_bytes: Some(128 * 1024), ..ServerOptions::default() };
    let rig = Rig::start_with(Dialect::Qoder, options).await?;
    let (remote, mut view) = rig.play("plain", &[]).await?;
    view.until("an idle live stream", |view| view.header.row.state == SessionState::Idle && is_live(view)).await?;
    view.until("its history", |view| !view.header.loading_history).await?;
    let (before, lists) = (rig.control.counters().opened.len(), rig.control.counters().lists);
    rig.control.emit(&remote, says("evt_big", &"巨".repeat(100_000)))?;
    rig.control.emit(&remote, says("evt_after", "Still here after it."))?;
    view.until("what came after it", |view| view.text().contains("Still here after it.")).await?;
    view.until("a word about it", |view| notices(view, NoticeCode::TooLarge) == 1).await?;
    rig.control.until(|seen| seen.lists > lists).await?;
    assert_eq!(rig.control.counters().opened.len(), before, "the stream went on");
    // The list cannot bring it either: the cap holds there, too. It is asked for it once, not again and again; one
    // more reading may be the connect's own, which looks whether a turn still runs.
    let asked = rig.control.counters().lists;
    for number in 1..=4 {
        pass(Duration::from_secs(6)).await;
        let words = format!("Later, {number}.");
        rig.control.emit(&remote, says(&format!("evt_later_{number}"), &words))?;
        view.until("what came later", |view| view.text().contains(&words)).await?;
    }
    let more = rig.control.counters().lists - asked;
    assert!(more <= 1, "the list was asked {more} times more");
    assert_eq!(notices(&view, NoticeCode::TooLarge), 1, "{}", view.text().chars().take(2_000).collect::<String>());
    Ok(())
}

#[tokio::test]
async fn p26_a_request_over_the_cap_gets_a_card_that_can_only_be_denied() -> Result<()> {
    let options = ServerOptions { event_cap_bytes: Some(128 * 1024), ..ServerOptions::default() };
    let rig = Rig::start_with(Dialect::Qoder, options).await?;
    let (remote, mut view) = rig.play("plain", &[]).await?;
    view.until("an idle live stream", |view| view.header.row.state == SessionState::Idle && is_live(view)).await?;
    let command = format!("rm -rf {}", "build ".repeat(50_000));
    rig.control.emit(
        &remote,
        json!({"id": "evt_ask", "type": "agent.tool_use", "name": "Bash", "input": {"command": command}, "evaluated_permission": "ask"}),
    )?;
    let stop = json!({"type": "requires_action", "event_ids": ["evt_ask"]});
    rig.control.emit(&remote, json!({"type": "session.status_idle", "stop_reason": stop}))?;
    view.until("the session waiting", |view| view.header.row.state == SessionState::Waiting).await?;
    pass(Duration::from_secs(2)).await;
    view.until("a card", |view| view.open_requests().len() == 1).await?;
    let card = view.open_requests()[0].clone();
    assert_eq!((card.id.as_str(), card.kind), ("evt_ask", RequestKind::Fallback));
    assert!(card.flags.contains(&RequestFlag::TooLarge), "{card:?}");
    assert_eq!(card.choices.iter().map(|choice| choice.kind).collect::<Vec<_>>(), [ChoiceKind::Deny]);
    let refused = rig.engine.decide(decision(&card, "allow_once")).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::InvalidInput, "what cannot be seen cannot be allowed");
    Ok(())
}

#[tokio::test]
async fn p18_a_waiting_session_without_a_card_gets_a_fallback_card_within_two_seconds_and_says_so() -> Result<()> {
    let rig = Rig::start(Dialect::Qoder).await?;
    let (remote, mut view) = rig.play("plain", &[]).await?;
    view.until("an idle live stream", |view| view.header.row.state == SessionState::Idle && is_live(view)).await?;
    let stop = json!({"type": "requires_action", "event_ids": ["evt_nobody_knows"]});
    rig.control.emit(&remote, json!({"type": "session.status_idle", "stop_reason": stop}))?;
    view.until("the session waiting", |view| view.header.row.state == SessionState::Waiting).await?;
    assert_eq!(view.open_requests().len(), 0);
    pass(Duration::from_secs(2)).await;
    view.until("a card", |view| view.open_requests().len() == 1).await?;
    let card = view.open_requests()[0];
    assert_eq!((card.id.as_str(), card.kind), ("evt_nobody_knows", RequestKind::Fallback));
    assert_eq!(card.choices.iter().map(|choice| choice.kind).collect::<Vec<_>>(), [ChoiceKind::Deny]);
    view.until("a word about it", |view| notices(view, NoticeCode::FallbackCard) == 1).await?;
    assert_eq!(view.header.row.waiting, 1);
    Ok(())
}

#[tokio::test]
async fn s17_servers_with_the_same_ids_do_not_touch_each_other() -> Result<()> {
    let rig = Rig::start(Dialect::Qoder).await?;
    // The same seed, and nothing asked for before: both give their sessions and events the same ids.
    let config = Config { pace: practice::Pace::Fast, ..Config::default() };
    let (one, twin) = (Practice::start(config.clone()).await?, Practice::start(config).await?);
    let (remote, twin_remote) = (one.start_scenario("approval").await?, twin.start_scenario("approval").await?);
    assert_eq!(twin_remote, remote);
    for (practice, remote) in [(&one, &remote), (&twin, &twin_remote)] {
        let session = Some(remote.clone());
        practice.control().wait(&WaitFor { session, phase: Some("waiting".into()), ..WaitFor::default() }).await?;
    }
    let add = async |practice: &Practice| {
        rig.engine.add_server(draft(&practice.base_url(), practice.token(), ServerOptions::default())).await
    };
    let own = rig.engine.session_by_remote(&add(&one).await?.id, &remote).await?;
    let mut view = View::open(&rig.engine, "main", own).await?;
    view.until("the request", |view| view.open_requests().len() == 1).await?;
    let request = view.open_requests()[0].clone();
    let session = rig.engine.session_by_remote(&add(&twin).await?.id, &twin_remote).await?;
    assert_ne!(session, view.session());
    let mut other = View::open(&rig.engine, "other", session).await?;
    other.until("the twin's request", |view| view.open_requests().len() == 1).await?;
    let twins = other.open_requests()[0].clone();
    assert_eq!(twins.id, request.id);
    assert_ne!(twins.digest, request.digest, "a digest names its server");

    let mut crossed = decision(&request, "allow_once");
    crossed.session = session;
    assert_eq!(rig.engine.decide(crossed).await.unwrap_err().code, ErrorCode::RequestChanged);

    // Garbage, endless ids and a flood from the twin.
    let garbage = format!("id: \u{0}\nevent: agent.message\ndata: {{{{\n\nid: {}\ndata: []\n\n", "i".repeat(10_000));
    twin.control().raw(&twin_remote, garbage)?;
    for number in 0..500 {
        twin.control().emit(&twin_remote, says(&format!("evt_flood_{number}"), "x"))?;
    }
    other.until("the flood", |view| view.items.contains_key("evt_flood_499")).await?;
    assert_eq!(other.open_requests(), [&twins]);
    rig.engine.decide(decision(&request, "allow_once")).await?;
    one.control().until(|seen| seen.accepted(&request.id) == 1).await?;
    assert_eq!(twin.control().counters().decisions, [], "nothing of it reached the twin");
    assert!(!view.text().contains("evt_flood"), "{}", view.text());
    Ok(())
}

#[tokio::test]
async fn s17_a_flood_during_a_history_that_does_not_come_is_kept_whole_and_in_order() -> Result<()> {
    const FRAMES: usize = 200;
    let (open, stream) = mpsc::unbounded_channel();
    let (go, held) = oneshot::channel();
    let (stream, held) = (Mutex::new(Some(stream)), Mutex::new(Some(held)));
    let older = json!({"data": [says("evt_older", "Said before.")], "has_more": false});
    let wire = Wire::with_session(move |asked| {
        if asked.path.contains("/events/stream") {
            return stream.lock().unwrap_or_else(PoisonError::into_inner).take().map(Answer::Stream);
        }
        asked.path.contains("/events").then(|| match held.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some(held) => Answer::Held(held, older.clone()),
            None => Answer::Json(older.clone()),
        })
    })
    .await?;
    let rig = Rig::start(Dialect::Qoder).await?;
    let options = ServerOptions { dialect: Some("qoder".into()), ..ServerOptions::default() };
    let entered = ServerDraft { protocol: Some("managed".into()), ..draft(&wire.base, "", options) };
    let server = rig.engine.add_server(entered).await?.id;
    let session = rig.engine.session_by_remote(&server, "sess_1").await?;
    let mut view = View::open(&rig.engine, "main", session).await?;
    view.until("a live stream and a history on its way", |view| is_live(view) && view.header.loading_history).await?;
    let words = "x".repeat(64 * 1024);
    for number in 0..FRAMES {
        let id = format!("evt_{number:03}");
        open.send(format!("id: {id}\nevent: agent.message\ndata: {}\n\n", says(&id, &words)))?;
    }
    // Twelve megabytes are not kept waiting for the page, whatever becomes of it.
    view.until("the flood", |view| view.items.contains_key("evt_199")).await?;
    // A slow machine may have given this page up by now: then it is asked for again.
    let _ = go.send(());
    view.until("the page", |view| view.items.contains_key("evt_older") && !view.header.loading_history).await?;
    let ids: Vec<&str> =
        view.ordered().iter().map(|item| item.id.as_str()).filter(|id| id.starts_with("evt_")).collect();
    let flood = (0..FRAMES).map(|number| format!("evt_{number:03}"));
    let wanted: Vec<String> = std::iter::once("evt_older".to_owned()).chain(flood).collect();
    assert_eq!(ids, wanted);
    Ok(())
}
