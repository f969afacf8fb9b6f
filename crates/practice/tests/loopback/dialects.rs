//! Every age of the wire: the forms of text (wire page §8), of events (§7), of ends and errors.

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::client::{Ended, Frame, Live, create, get, kinds, listed, say, send, server, text_of};

const TEXT: &str = "one two three four five six seven eight nine ten eleven twelve";

async fn play(metadata: &[(&str, &str)], query: &str, text: &str) -> (String, Vec<Frame>) {
    let practice = server().await;
    let session = create(&practice.base_url(), metadata).await;
    let mut live = Live::open(&format!("{session}/events/stream{query}")).await;
    say(&session, text).await;
    let mut frames = live.idle().await;
    if metadata.contains(&("practice.form", "seed")) {
        frames.extend(live.until("span.model_request_end").await);
    }
    let events = listed(&session).await;
    let names: Vec<&str> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    (names.join(" "), frames)
}

#[tokio::test]
async fn d0_frames_have_the_flag_until_the_whole_text() {
    let (names, frames) = play(&[("practice.text", "flag")], "", TEXT).await;
    let messages: Vec<_> = frames.iter().filter(|frame| frame.event == "agent.message").collect();
    let (whole, parts) = messages.split_last().unwrap();
    assert!(parts.len() > 2 && parts.iter().all(|part| part.data["delta"] == true));
    let joined: String = parts.iter().map(|part| part.data["content"].as_str().unwrap()).collect();
    assert_eq!(joined, text_of(whole));
    assert_eq!(names.matches("agent.message").count(), 1);
}

#[tokio::test]
async fn d1_repeats_the_message_and_a_longer_interval_merges_without_loss() {
    let mut counts = Vec::new();
    for query in ["?delta_flush_interval_ms=1", "?delta_flush_interval_ms=200", "?delta_flush_interval_ms=60000"] {
        let (names, frames) = play(&[("practice.text", "repeat")], query, TEXT).await;
        let parts: Vec<_> = frames.iter().filter(|frame| frame.event == "agent.message").collect();
        assert_eq!(parts.iter().map(|part| text_of(part)).collect::<String>(), format!("You said: {TEXT}"));
        assert!(parts.iter().all(|part| part.data["id"] == part.id && part.data.get("delta").is_none()));
        counts.push((parts.len(), names.matches("agent.message").count()));
    }
    let pieces = counts[0].1;
    assert_eq!(counts[0].0, pieces, "nothing is merged");
    assert!(counts[1].0 < pieces && counts[2].0 <= counts[1].0, "{counts:?}");
}

#[tokio::test]
async fn d2_chunks_are_persisted_and_make_the_message() {
    let practice = server().await;
    let body = json!({"agent": {"id": "agent_practice", "type": "agent"}, "environment_id": "env_practice",
                      "incremental_streaming_enabled": true});
    let made = crate::client::post(&format!("{}/sessions", practice.base_url()), &body).await.json();
    let session = format!("{}/sessions/{}", practice.base_url(), made["id"].as_str().unwrap());
    let mut live = Live::open(&format!("{session}/events/stream")).await;
    say(&session, &format!("THINK\nEDIT\nASK:{TEXT}")).await;
    let frames = live.idle().await;
    let of = |kind: &str| frames.iter().filter(|frame| frame.event == kind).collect::<Vec<_>>();
    let deltas = of("agent.content_block_delta");
    let thought: String = deltas.iter().filter_map(|frame| frame.data["delta"]["thinking"].as_str()).collect();
    assert_eq!(thought, of("agent.thinking")[0].data["thinking"].as_str().unwrap());
    let input: String = deltas.iter().filter_map(|frame| frame.data["delta"]["partial_json"].as_str()).collect();
    assert_eq!(serde_json::from_str::<Value>(&input).unwrap(), of("agent.tool_use")[0].data["input"]);
    assert_eq!(of("agent.message_start").len(), of("agent.message_stop").len());
    assert!(deltas.iter().all(|frame| frame.data["id"] == frame.id && frame.data["message_id"].is_string()));
    let names = listed(&session).await;
    assert_eq!(names.len(), frames.len(), "chunks are in the list as well");
}

#[tokio::test]
async fn seed_events_have_the_forms_of_the_seed_page() {
    let seed = [("practice.form", "seed"), ("practice.text", "plain")];
    let (_, frames) = play(&seed, "", "THINK\nEDIT\nPLAY:plain").await;
    for frame in &frames {
        for field in ["turn_id", "session_id", "created_at", "processed_at", "schema_version"] {
            assert!(frame.data[field].is_string(), "{} {field}", frame.event);
        }
    }
    let of = |kind: &str| &frames.iter().find(|frame| frame.event == kind).unwrap().data;
    assert_eq!(of("session.status_running")["status"], "running");
    assert!(of("agent.thinking")["thinking"].as_str().is_some_and(|text| !text.is_empty()));
    assert!(of("agent.tool_result")["tool_use_id"].as_str().unwrap().starts_with("toolu_bdrk_"));
    assert_eq!(of("agent.tool_result")["name"], of("agent.tool_use")["name"]);
    assert!(of("session.status_idle")["usage"]["input_tokens"].is_u64());
    assert!(of("span.model_request_start")["model"].is_string());
}

#[tokio::test]
async fn the_seed_page_ends_the_model_request_behind_the_idle_event_and_newer_ones_before() {
    for (form, last) in [("seed", "span.model_request_end"), ("newest", "session.status_idle")] {
        let (names, _) = play(&[("practice.form", form), ("practice.text", "plain")], "", "hello").await;
        assert!(names.ends_with(last), "{form}: {names}");
    }
}

#[tokio::test]
async fn a_seed_goal_is_one_sentence_and_belongs_to_no_turn() {
    let practice = server().await;
    let session = create(&practice.base_url(), &[("practice.form", "seed")]).await;
    let goal =
        json!({"type": "user.define_outcome", "description": "A summary", "rubric": {"type": "text", "content": "r"}});
    let echoed = send(&session, json!([goal])).await.json()["data"][0].clone();
    assert_eq!(echoed["outcome"], "A summary");
    assert_eq!(echoed.get("turn_id"), None);
}

#[tokio::test]
async fn errors_come_in_both_shapes_and_the_session_takes_messages_again() {
    let (_, newest) = play(&[], "", "ERR").await;
    let error = &newest.iter().find(|frame| frame.event == "session.error").unwrap().data["error"];
    assert_eq!(error["retry_status"], json!({"type": "exhausted"}));
    assert_eq!(newest.last().unwrap().data["stop_reason"]["type"], "retries_exhausted");
    let (_, seed) = play(&[("practice.form", "seed")], "", "ERR").await;
    let error = &seed.iter().find(|frame| frame.event == "session.error").unwrap().data;
    assert!(error["error"].is_string() && error["code"].is_string());
    let idle = seed.iter().find(|frame| frame.event == "session.status_idle").unwrap();
    assert_eq!(idle.data["stop_reason"]["type"], "error");
    let (_, retried) = play(&[], "", "ERR:retrying").await;
    assert_eq!(retried.last().unwrap().data["stop_reason"]["type"], "end_turn");
}

#[tokio::test]
async fn a_session_that_ends_says_so_in_both_spellings_and_closes_its_streams() {
    let practice = server().await;
    for (form, kind) in [("newest", "session.status_terminated"), ("seed", "terminated")] {
        let session = create(&practice.base_url(), &[("practice.form", form)]).await;
        let mut live = Live::open(&format!("{session}/events/stream")).await;
        say(&session, "ERR:terminal").await;
        let (frames, ended) = live.rest().await;
        assert_eq!((frames.last().unwrap().event.as_str(), ended), (kind, Ended::Cleanly));
        assert_eq!(get(&session).await.json()["status"], "terminated");
        assert_eq!(say(&session, "more").await.status, 409);
        let cursor = frames[0].id.clone();
        let (again, ended) = Live::open(&format!("{session}/events/stream?after_id={cursor}")).await.rest().await;
        assert_eq!((again.len() + 1, ended), (frames.len(), Ended::Cleanly));
    }
}

#[tokio::test]
async fn claude_events_carry_three_common_fields_and_its_own_extras() {
    let practice = server().await;
    let session = create(&practice.claude_base_url(), &[]).await;
    let mut live = Live::open(&format!("{session}/events/stream")).await;
    say(&session, "RUN:ls").await;
    let frames = live.idle().await;
    assert!(frames.iter().all(|frame| frame.data.get("turn_id").is_none() && frame.id.starts_with("sevt_")));
    let tool = &frames.iter().find(|frame| frame.event == "agent.tool_use").unwrap().data;
    assert_eq!((&tool["name"], &tool["evaluation"]["type"]), (&json!("bash"), &json!("always_ask")));
    assert_eq!(frames.last().unwrap().data["stop_details"], Value::Null);
    let span = &frames.iter().find(|frame| frame.event == "span.model_request_end").unwrap().data;
    assert!(span["model_usage"]["input_tokens"].is_u64(), "{:?}", kinds(&frames));
    let shown = get(&session).await.json();
    assert_eq!(shown["usage"]["list_cost"]["currency"], "USD");
    assert_eq!(shown.get("environment_variables"), None);
}
