//! Every scenario plays to its end, in every dialect of text.

use practice::{Practice, WaitFor};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::client::{Live, get, id_of, listed, send, server};

async fn settle(practice: &Practice, session: &str) -> Vec<String> {
    let control = practice.control();
    let phase =
        |phase: &str| WaitFor { session: Some(session.into()), phase: Some(phase.into()), ..WaitFor::default() };
    loop {
        let (idle, waiting, over) = (phase("idle"), phase("waiting"), phase("terminated"));
        tokio::select! {
            done = control.wait(&idle) => { done.unwrap(); if !control.events(session).unwrap().is_empty() { return Vec::new() } tokio::task::yield_now().await; }
            done = control.wait(&over) => { done.unwrap(); return Vec::new(); }
            done = control.wait(&waiting) => { done.unwrap(); return control.waiting(session).unwrap(); }
        }
    }
}

async fn play(practice: &Practice, scenario: &str, metadata: &[(&str, &str)], result: &str) -> Vec<Value> {
    let id = practice.start_scenario_with(scenario, metadata).await.unwrap();
    let session = format!("{}/sessions/{id}", practice.base_url());
    for gate in ["middle", "end"] {
        practice.control().open_gate(&id, gate).unwrap();
    }
    loop {
        let waiting = settle(practice, &id).await;
        if waiting.is_empty() {
            break;
        }
        let events = practice.control().events(&id).unwrap();
        for request in waiting {
            let use_event = events.iter().find(|event| event["id"] == request.as_str()).unwrap();
            let answer = if use_event["type"] == "agent.custom_tool_use" {
                json!({"type": "user.custom_tool_result", "custom_tool_use_id": request,
                       "content": [{"type": "text", "text": "found"}], "is_error": result == "deny"})
            } else {
                json!({"type": "user.tool_confirmation", "tool_use_id": request, "result": result})
            };
            assert_eq!(send(&session, json!([answer])).await.status, 200);
        }
    }
    practice.control().events(&id).unwrap()
}

fn texts(events: &[Value]) -> String {
    let said = events.iter().filter(|event| event["type"] == "agent.message");
    said.map(|event| event["content"][0]["text"].as_str().unwrap_or_default()).collect::<Vec<_>>().join("")
}

#[tokio::test]
async fn every_scenario_offered_plays_to_its_end_whatever_is_answered() {
    let practice = server().await;
    for row in practice::scenarios() {
        for result in ["allow", "deny"] {
            let events = play(&practice, &row.id, &[], result).await;
            let idle = events.iter().rev().find(|event| event["type"] == "session.status_idle").unwrap();
            assert_eq!(idle["stop_reason"]["type"], "end_turn", "{} {result}", row.id);
        }
    }
}

#[tokio::test]
async fn a_scenario_says_the_same_in_every_dialect() {
    let practice = server().await;
    let mut said = Vec::new();
    for text in ["plain", "flag", "repeat", "incremental", "preview"] {
        for form in ["newest", "seed", "claude"] {
            let metadata = [("practice.text", text), ("practice.form", form)];
            said.push(texts(&play(&practice, "coding-run", &metadata, "allow").await));
        }
    }
    said.dedup();
    assert_eq!(said.len(), 1);
    assert!(said[0].contains("All 22 tests pass"));
}

#[tokio::test]
async fn a_denial_leads_somewhere_else() {
    let practice = server().await;
    let allowed = texts(&play(&practice, "parallel-batch", &[], "allow").await);
    let denied = texts(&play(&practice, "parallel-batch", &[], "deny").await);
    assert!(allowed.contains("Old build output is gone") && !denied.contains("Old build output is gone"));
    assert!(denied.contains("It holds 450 MB"));
}

#[tokio::test]
async fn tokyo_weather_is_chinese_and_speaks_the_seed_page() {
    let practice = server().await;
    let events = play(&practice, "tokyo-weather", &[], "allow").await;
    assert!(texts(&events).contains("今天东京**小雨**"));
    assert!(events.iter().all(|event| event["schema_version"] == "1.0"));
}

#[tokio::test]
async fn a_long_result_has_megabytes_on_one_line() {
    let practice = server().await;
    let events = play(&practice, "long-output", &[], "allow").await;
    let result = events.iter().find(|event| event["type"] == "agent.tool_result").unwrap();
    assert_eq!(result["content"][0]["text"].as_str().unwrap().len(), 3_000_000);
}

#[tokio::test]
async fn a_gate_keeps_the_script_until_it_is_opened() {
    let practice = server().await;
    let id = practice.start_scenario("gated").await.unwrap();
    let session = format!("{}/sessions/{id}", practice.base_url());
    let control = practice.control();
    let at_gate = WaitFor { session: Some(id.clone()), at_gate: Some(true), ..WaitFor::default() };
    control.wait(&at_gate).await.unwrap();
    assert_eq!(texts(&listed(&session).await), "First part.");
    let mut live = Live::open(&format!("{session}/events/stream")).await;
    control.open_gate(id_of(&session), "middle").unwrap();
    let frames = live.idle().await;
    assert_eq!(frames.last().unwrap().data["stop_reason"]["type"], "requires_action");
}

#[tokio::test]
async fn a_script_waits_for_the_person_and_goes_on() {
    let practice = server().await;
    let id = practice.start_scenario("seed-lifecycle").await.unwrap();
    let session = format!("{}/sessions/{id}", practice.base_url());
    let mut live = Live::open(&format!("{session}/events/stream")).await;
    live.until("span.model_request_end").await;
    assert_eq!(get(&session).await.json()["status"], "idle");
    crate::client::say(&session, "where are you?").await;
    let asked = live.idle().await;
    assert_eq!(asked.last().unwrap().data["stop_reason"]["type"], "requires_action");
}
