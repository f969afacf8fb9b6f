//! Sessions survive a restart of the server (the state file).

use std::path::Path;

use practice::{Config, Practice};
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::client::{Live, create, get, id_of, listed, say, send, server_with};

async fn on(file: &Path) -> Practice {
    server_with(Config { state_file: Some(file.to_owned()), ..Config::default() }).await
}

#[tokio::test]
async fn a_request_that_waits_is_answered_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("practice.jsonl");
    let practice = on(&file).await;
    let session = create(&practice.base_url(), &[("practice.start", "replay")]).await;
    say(&session, "RUN:ls").await;
    let before = Live::open(&format!("{session}/events/stream")).await.idle().await;
    let (id, request) =
        (id_of(&session).to_owned(), before.last().unwrap().data["stop_reason"]["event_ids"][0].clone());
    practice.stop().await;

    let practice = on(&file).await;
    let session = format!("{}/sessions/{id}", practice.base_url());
    let mut live = Live::open(&format!("{session}/events/stream")).await;
    let again = live.idle().await;
    assert_eq!(again, before, "the same events with the same ids");
    let answer = json!({"type": "user.tool_confirmation", "tool_use_id": request, "result": "allow"});
    assert_eq!(send(&session, json!([answer])).await.status, 200);
    let rest = live.idle().await;
    assert!(rest.iter().any(|frame| frame.event == "agent.tool_result"));
    assert_eq!(rest.last().unwrap().data["stop_reason"]["type"], "end_turn");
    practice.stop().await;

    let practice = on(&file).await;
    let session = format!("{}/sessions/{id}", practice.base_url());
    assert_eq!(listed(&session).await.len(), before.len() + rest.len());
    assert_eq!(get(&session).await.json()["status"], "idle");
    assert_eq!(say(&session, "more").await.status, 200);
}

#[tokio::test]
async fn a_running_turn_is_rescheduled_and_comes_to_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("practice.jsonl");
    let practice = on(&file).await;
    practice.control().hold_session(None).unwrap();
    let session = create(&practice.base_url(), &[("practice.start", "replay")]).await;
    let mut live = Live::open(&format!("{session}/events/stream")).await;
    say(&session, "hello").await;
    live.until("span.model_request_start").await;
    practice.stop().await;

    let practice = on(&file).await;
    let session = format!("{}/sessions/{}", practice.base_url(), id_of(&session));
    let mut live = Live::open(&format!("{session}/events/stream")).await;
    live.until("session.status_rescheduled").await;
    let rest = live.idle().await;
    assert!(rest.iter().any(|frame| frame.event == "agent.message"));
}

#[tokio::test]
async fn what_was_deleted_or_ended_stays_so() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("practice.jsonl");
    let practice = on(&file).await;
    let (gone, over) = (create(&practice.base_url(), &[]).await, create(&practice.base_url(), &[]).await);
    crate::client::raw(&gone, "DELETE", crate::client::QODER, "").await.unwrap();
    let mut live = Live::open(&format!("{over}/events/stream")).await;
    say(&over, "ERR:terminal").await;
    live.rest().await;
    practice.stop().await;

    let practice = on(&file).await;
    assert_eq!(practice.control().sessions(), [id_of(&over)]);
    let session = format!("{}/sessions/{}", practice.base_url(), id_of(&over));
    assert_eq!(get(&session).await.json()["status"], "terminated");
    assert_eq!(say(&session, "more").await.status, 409);
}

#[cfg(unix)]
#[tokio::test]
async fn the_file_is_for_its_owner_and_holds_no_token() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("practice.jsonl");
    let practice = on(&file).await;
    create(&practice.base_url(), &[]).await;
    practice.stop().await;
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(!std::fs::read_to_string(&file).unwrap().contains("\"tok\""));
}

#[tokio::test]
async fn a_torn_last_line_costs_only_that_line() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("practice.jsonl");
    let practice = on(&file).await;
    let session = create(&practice.base_url(), &[]).await;
    practice.stop().await;
    let mut text = std::fs::read_to_string(&file).unwrap();
    text.push_str("{\"line\":\"event\",\"sess");
    std::fs::write(&file, text).unwrap();
    let practice = on(&file).await;
    assert_eq!(practice.control().sessions(), [id_of(&session)]);
}
