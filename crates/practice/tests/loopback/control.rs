//! Control over HTTP, and the server's own promises.

use practice::{Config, Practice};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::client::{Live, create, id_of, post, raw, say, server};

#[tokio::test]
async fn the_server_is_on_loopback_with_a_long_token_of_its_own() {
    let (one, two) =
        (Practice::start(Config::default()).await.unwrap(), Practice::start(Config::default()).await.unwrap());
    assert!(one.base_url().starts_with("http://127.0.0.1:"));
    assert_eq!(one.token().len(), 64);
    assert_ne!((one.token(), one.base_url()), (two.token(), two.base_url()));
}

#[tokio::test]
async fn control_needs_the_token() {
    let practice = server().await;
    let body = json!({"do": "counters"}).to_string();
    for headers in [&[][..], &[("authorization", "Bearer other")], &[("x-api-key", "tok")]] {
        assert_eq!(raw(&practice.control_url(), "POST", headers, &body).await.unwrap().status, 401);
    }
    assert_eq!(post(&practice.control_url(), &json!({"do": "dance"})).await.status, 400);
    assert_eq!(post(&practice.control_url(), &json!({"do": "session", "session": "none"})).await.status, 404);
}

#[tokio::test]
async fn a_test_in_another_process_can_steer_and_wait() {
    let practice = server().await;
    let tell = async |command: Value| post(&practice.control_url(), &command).await.json();
    let started = tell(json!({"do": "start_scenario", "scenario": "approval"})).await;
    let id = started["session"].as_str().unwrap();
    tell(json!({"do": "wait", "session": id, "phase": "waiting"})).await;
    let glimpse = tell(json!({"do": "session", "session": id})).await;
    let request = glimpse["waiting"][0].as_str().unwrap();
    let session = format!("{}/sessions/{id}", practice.base_url());
    let answer = json!({"type": "user.tool_confirmation", "tool_use_id": request, "result": "deny"});
    crate::client::send(&session, json!([answer])).await;
    let counters = tell(json!({"do": "wait", "decisions": 1, "session": id, "phase": "idle"})).await;
    assert_eq!(counters["decisions"][0]["request"], request);
    assert_eq!(counters["decisions"][0]["status"], 200);
    let late = post(&practice.control_url(), &json!({"do": "wait", "decisions": 2, "timeout_ms": 1})).await;
    assert_eq!(late.status, 408);
}

#[tokio::test]
async fn streams_are_counted_while_they_are_open() {
    let practice = server().await;
    let session = create(&practice.base_url(), &[]).await;
    let live = Live::open(&format!("{session}/events/stream")).await;
    let counters = practice.control().until(|counters| counters.open_streams == 1).await.unwrap();
    assert_eq!(counters.opened[0].session, id_of(&session));
    drop(live);
    say(&session, "so that the server notices").await;
    practice.control().until(|counters| counters.open_streams == 0).await.unwrap();
}

#[tokio::test]
async fn a_stop_ends_open_streams_cleanly() {
    let practice = server().await;
    let session = create(&practice.base_url(), &[]).await;
    let mut live = Live::open(&format!("{session}/events/stream")).await;
    practice.stop().await;
    assert_eq!(live.rest().await.1, crate::client::Ended::Cleanly);
}
