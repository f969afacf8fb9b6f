//! Streams: where they begin, how they resume, what they show (wire page §6 and §8).

use practice::{Command, Config};
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::client::{Live, create, get, id_of, kinds, listed, say, server, server_with, text_of};

const DELTAS: &str = "event_deltas%5B%5D=agent.message&event_deltas%5B%5D=agent.thinking";

#[tokio::test]
async fn a_tail_start_shows_only_what_comes_and_a_replay_all() {
    let practice = server().await;
    for (start, wanted) in [("tail", "two"), ("replay", "one")] {
        let session = create(&practice.base_url(), &[("practice.start", start)]).await;
        let mut first = Live::open(&format!("{session}/events/stream")).await;
        say(&session, "one").await;
        first.idle().await;
        let mut second = Live::open(&format!("{session}/events/stream")).await;
        say(&session, "two").await;
        let frames = second.idle().await;
        let texts: Vec<String> = frames.iter().filter(|frame| frame.event == "user.message").map(text_of).collect();
        assert_eq!(texts, [wanted], "{start}");
    }
}

#[tokio::test]
async fn a_cursor_resumes_right_behind_it_by_header_and_by_parameter() {
    let practice = server().await;
    let session = create(&practice.base_url(), &[]).await;
    let mut live = Live::open(&format!("{session}/events/stream")).await;
    say(&session, "hello").await;
    let frames = live.idle().await;
    let behind: Vec<&str> = frames[2..].iter().map(|frame| frame.id.as_str()).collect();
    let cursor = frames[1].id.as_str();
    let by_header =
        Live::open_with(&format!("{session}/events/stream"), &[("last-event-id", cursor)]).await.idle().await;
    assert_eq!(by_header.iter().map(|frame| frame.id.as_str()).collect::<Vec<_>>(), behind);
    let by_query = Live::open(&format!("{session}/events/stream?after_id={cursor}")).await.idle().await;
    assert_eq!(by_query, by_header);
    assert_eq!(get(&format!("{session}/events/stream?after_id=evt_unknown")).await.status, 400);
    let opened = practice.control().counters().opened;
    assert_eq!(opened[1].last_event_id.as_deref(), Some(cursor));
    assert_eq!(opened[2].after_id.as_deref(), Some(cursor));
}

#[tokio::test]
async fn previews_share_one_id_and_come_only_to_those_who_ask() {
    let practice = server().await;
    let session = create(&practice.base_url(), &[]).await;
    let mut asks = Live::open(&format!("{session}/events/stream?{DELTAS}")).await;
    let mut plain = Live::open(&format!("{session}/events/stream")).await;
    say(&session, "THINK about it\nPLAY:plain").await;
    let frames = asks.idle().await;
    let message = frames.iter().find(|frame| frame.event == "agent.message").unwrap();
    let deltas: Vec<_> = frames.iter().filter(|frame| frame.event == "event_delta").collect();
    assert!(deltas.len() > 1);
    assert!(deltas.iter().all(|frame| frame.id == message.id && frame.data.get("id").is_none()));
    let text: String = deltas.iter().map(|frame| frame.data["delta"]["content"]["text"].as_str().unwrap()).collect();
    assert_eq!(text, text_of(message));
    let thinking = frames.iter().filter(|frame| frame.data["event"]["type"] == "agent.thinking").count();
    assert_eq!(thinking, 1, "a thinking preview is a start and nothing more");
    let without = plain.idle().await;
    assert!(!without.iter().any(|frame| frame.event.starts_with("event_")), "{:?}", kinds(&without));
    let names: Vec<_> = listed(&session).await.iter().map(|event| event["type"].clone()).collect();
    assert_eq!(kinds(&without), names, "previews are in no list");
    assert_eq!(get(&format!("{session}/events/stream?event_deltas[]=agent.tool_use")).await.status, 400);
}

/// The three rows of the resume table in §6.
#[tokio::test]
async fn a_resume_in_the_middle_of_a_message_follows_the_table() {
    let practice = server().await;
    let control = practice.control();
    let session = create(&practice.base_url(), &[]).await;
    let url = format!("{session}/events/stream?{DELTAS}");
    let mut live = Live::open(&url).await;
    control.hold_session(Some(id_of(&session))).unwrap();
    say(&session, "hello there, you who resume").await;
    let before = live.until("event_start").await;
    control.step(id_of(&session)).unwrap();
    let first = live.until("event_delta").await;
    let last_buffered = before.iter().rev().find(|frame| frame.event != "event_start").unwrap().id.clone();
    let making = first[0].id.clone();

    let mut earlier = Live::open_with(&url, &[("last-event-id", &last_buffered)]).await;
    let retained = earlier.until("event_delta").await;
    assert_eq!(kinds(&retained), ["event_start", "event_delta"], "start and retained deltas again");
    let mut inside = Live::open_with(&url, &[("last-event-id", &making)]).await;
    control.step(id_of(&session)).unwrap();
    let future = inside.until("event_delta").await;
    assert_eq!(future.len(), 1, "only future deltas");
    assert_ne!(future[0].data["delta"], first[0].data["delta"]);
    control.release(Some(id_of(&session))).unwrap();
    inside.until("agent.message").await;
    earlier.idle().await;
    let after = Live::open_with(&url, &[("last-event-id", &last_buffered)]).await.idle().await;
    assert_eq!(after[0].event, "agent.message", "generation finished: no previews");
}

#[tokio::test]
async fn a_stop_in_the_middle_of_a_preview_leaves_no_message() {
    let practice = server().await;
    let control = practice.control();
    let session = create(&practice.base_url(), &[]).await;
    let mut live = Live::open(&format!("{session}/events/stream?{DELTAS}")).await;
    control.hold_session(Some(id_of(&session))).unwrap();
    say(&session, "a text of many words that never ends").await;
    live.until("event_start").await;
    control.step(id_of(&session)).unwrap();
    live.until("event_delta").await;
    crate::client::send(&session, json!([{"type": "user.interrupt"}])).await;
    let rest = live.idle().await;
    assert_eq!(kinds(&rest), ["user.interrupt", "span.model_request_end", "session.status_idle"]);
    assert_eq!(rest[1].data["is_error"], true);
    assert_eq!(rest[2].data["stop_reason"]["type"], "cancelled");
    assert_eq!(get(&session).await.json()["status"], "idle");
}

#[tokio::test]
async fn integer_ids_count_the_buffered_events_and_resume() {
    let practice = server().await;
    let session = create(&practice.base_url(), &[("practice.ids", "integer")]).await;
    let mut live = Live::open(&format!("{session}/events/stream")).await;
    say(&session, "hello").await;
    let frames = live.idle().await;
    let ids: Vec<&str> = frames.iter().map(|frame| frame.id.as_str()).collect();
    assert_eq!(ids[..3], ["1", "2", "3"]);
    assert!(frames[0].data["id"].as_str().unwrap().starts_with("evt_"));
    let again = Live::open_with(&format!("{session}/events/stream"), &[("last-event-id", "2")]).await.idle().await;
    assert_eq!(again[..], frames[2..]);
}

#[tokio::test]
async fn a_silent_stream_sends_comments() {
    let practice = server_with(Config::default()).await;
    practice.control().run(Command::Heartbeat { ms: Some(5) }).await.unwrap();
    let session = create(&practice.base_url(), &[]).await;
    let mut live = Live::open(&format!("{session}/events/stream")).await;
    assert_eq!(live.block().await.unwrap(), b": heartbeat\n\n");
}

#[tokio::test]
async fn frames_have_three_lines_and_name_their_type_twice() {
    let practice = server().await;
    let session = create(&practice.base_url(), &[]).await;
    let mut live = Live::open(&format!("{session}/events/stream")).await;
    say(&session, "hello").await;
    for frame in live.idle().await {
        let text = String::from_utf8(frame.bytes.clone()).unwrap();
        assert_eq!(text.lines().count(), 4, "{text}");
        assert_eq!(frame.data["type"], frame.event);
        assert_eq!(frame.data["id"], frame.id);
    }
}
