//! Sessions and what new ones are made of (wire page §3).

use practice::Command;
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::client::{CLAUDE, Ended, Live, QODER, create, get, id_of, listed, message, post, raw, say, server};

#[tokio::test]
async fn a_session_is_made_with_all_it_was_given() {
    let practice = server().await;
    let body = json!({"agent": {"id": "agent_practice", "type": "agent_with_overrides", "system": "Be brief"},
        "environment_id": "env_practice", "title": "Fix CI", "metadata": {"team": "core"},
        "environment_variables": "A=1;B=2", "initial_events": [message("hello")]});
    let made = post(&format!("{}/sessions", practice.base_url()), &body).await.json();
    assert_eq!((&made["title"], &made["agent"]["system"]), (&json!("Fix CI"), &json!("Be brief")));
    assert_eq!(made["environment_variables"], json!({"A": "1", "B": "2"}));
    let session = format!("{}/sessions/{}", practice.base_url(), made["id"].as_str().unwrap());
    assert_eq!(listed(&session).await[0]["content"][0]["text"], "hello");
}

#[tokio::test]
async fn a_session_needs_a_living_agent_and_an_environment() {
    let practice = server().await;
    let url = format!("{}/sessions", practice.base_url());
    for (agent, environment) in [
        (json!("agent_none"), "env_practice"),
        (json!("agent_retired"), "env_practice"),
        (json!(null), "env_practice"),
        (json!("agent_practice"), "env_none"),
    ] {
        let answer = post(&url, &json!({"agent": agent, "environment_id": environment})).await;
        assert_eq!(answer.status, 400, "{agent} {environment}");
    }
    practice.control().run(Command::EmptyAccount).await.unwrap();
    assert_eq!(get(&format!("{}/agents?limit=1", practice.base_url())).await.json()["data"], json!([]));
    let wanted = json!({"name": "Mine", "config": {"type": "cloud"}});
    let made = post(&format!("{}/environments", practice.base_url()), &wanted).await.json();
    let named = json!({"name": "Mine", "model": "practice-1", "tools": []});
    let agent = post(&format!("{}/agents", practice.base_url()), &named).await.json();
    let answer = post(&url, &json!({"agent": agent["id"], "environment_id": made["id"]})).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
}

#[tokio::test]
async fn a_title_and_a_metadata_patch_are_told_to_the_streams() {
    let practice = server().await;
    let session = create(&practice.base_url(), &[("keep", "1"), ("drop", "2")]).await;
    let mut live = Live::open(&format!("{session}/events/stream")).await;
    let patch = json!({"title": "New", "metadata": {"drop": null, "add": "3"}});
    let shown = post(&session, &patch).await.json();
    assert_eq!(shown["metadata"], json!({"keep": "1", "add": "3"}));
    let told = live.frame().await.unwrap();
    assert_eq!((told.event.as_str(), &told.data["title"]), ("session.updated", &json!("New")));
    let many: serde_json::Map<_, _> = (0..17).map(|key| (key.to_string(), json!("x"))).collect();
    assert_eq!(post(&session, &json!({"metadata": many})).await.status, 400);
}

#[tokio::test]
async fn an_archived_session_is_read_but_takes_nothing() {
    let practice = server().await;
    let session = create(&practice.base_url(), &[]).await;
    let archived = post(&format!("{session}/archive"), &json!({})).await.json();
    assert_eq!((archived["archived_at"].is_string(), &archived["status"]), (true, &json!("idle")));
    assert_eq!(get(&format!("{session}/events")).await.status, 200);
    assert_eq!(say(&session, "late").await.status, 409);
}

#[tokio::test]
async fn a_deleted_session_ends_its_streams_and_is_gone() {
    let practice = server().await;
    let session = create(&practice.base_url(), &[]).await;
    let mut live = Live::open(&format!("{session}/events/stream")).await;
    let answer = raw(&session, "DELETE", QODER, "").await.unwrap();
    assert_eq!(answer.json(), json!({"id": id_of(&session), "type": "session_deleted"}));
    let (frames, ended) = live.rest().await;
    assert_eq!((frames[0].event.as_str(), frames.len(), ended), ("session.deleted", 1, Ended::Cleanly));
    assert_eq!(get(&session).await.status, 404);
    assert_eq!(get(&format!("{session}/events/stream")).await.status, 404);
}

#[tokio::test]
async fn a_delivered_file_has_an_address_that_takes_no_token() {
    let practice = server().await;
    let session = create(&practice.base_url(), &[]).await;
    let mut live = Live::open(&format!("{session}/events/stream")).await;
    say(&session, "PLAY:every-event").await;
    let frames = live.until("agent.artifact_delivered").await;
    let file = frames.last().unwrap().data["file_id"].as_str().unwrap().to_owned();
    let place = get(&format!("{}/files/{file}/content", practice.base_url())).await.json();
    let url = place["url"].as_str().unwrap();
    let bytes = raw(url, "GET", &[], "").await.unwrap();
    assert_eq!((bytes.status, bytes.text().as_str()), (200, "# Report\n\nAll good.\n"));
    assert_eq!(practice.control().counters().leaked_tokens, 0);
    assert_eq!(raw(url, "GET", QODER, "").await.unwrap().status, 400);
    assert_eq!(practice.control().counters().leaked_tokens, 1);
    let claude = format!("{}/files/{file}/content", practice.claude_base_url());
    assert_eq!(raw(&claude, "GET", CLAUDE, "").await.unwrap().text(), "# Report\n\nAll good.\n");
}

#[tokio::test]
async fn models_are_one_page() {
    let practice = server().await;
    let models = get(&format!("{}/models", practice.base_url())).await.json();
    assert_eq!((&models["has_more"], &models["data"][0]["is_enabled"]), (&json!(false), &json!(true)));
}
