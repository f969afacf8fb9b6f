//! Misbehaviour on request, on streams and on requests of all versions.

use practice::{FaultBody, RequestAct, StreamAct, TurnsVersion};
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::client::{Ended, Live, names, raw, rig, rig_of, roles, stop, text, user};
use crate::inputs::say;

const TOKEN: &[(&str, &str)] = &[("authorization", "Bearer tok"), ("content-type", "application/json")];

#[tokio::test]
async fn a_turn_that_is_cut_at_any_byte_goes_on_and_is_in_the_history() {
    let rig = rig().await;
    let session = rig.plain().await;
    let whole: usize = rig.say(&session, "hello").await.iter().map(|frame| frame.bytes.len()).sum();
    for bytes in [0, 1, whole as u64 / 2, whole as u64 - 1] {
        rig.control.bend_next_stream(StreamAct::CutAtByte { bytes });
        let mut live = rig.stream(&session, "delta", json!([user("hello")])).await;
        let (frames, ended) = live.rest().await;
        let seen: usize = frames.iter().map(|frame| frame.bytes.len()).sum();
        assert_eq!((seen + live.seen.len(), ended), (usize::try_from(bytes).unwrap(), Ended::Cut));
    }
    assert_eq!(rig.turns.settled(&session).await.unwrap().len(), 10);
}

#[tokio::test]
async fn a_request_can_be_lost_before_it_arrives_and_its_answer_behind_it() {
    let rig = rig().await;
    let session = rig.plain().await;
    let (url, body) = (format!("{}/sessions/{session}/turns", rig.base), json!({"messages": [user("hi")]}).to_string());
    rig.control.fail_next("POST", "/turns", RequestAct::Reset);
    assert!(raw(&url, "POST", TOKEN, &body).await.is_none());
    assert!(rig.turns.posts().iter().all(|post| !post.path.ends_with("/turns")), "it never arrived");
    rig.control.fail_next("POST", "/sessions/", RequestAct::LoseAnswer);
    assert!(raw(&url, "POST", TOKEN, &body).await.is_none());
    assert_eq!(roles(&rig.turns.settled(&session).await.unwrap()), ["user", "assistant"]);
    assert_eq!(rig.turns.posts().last().unwrap().status, Some(200));
}

#[tokio::test]
async fn an_answer_with_a_stream_can_be_lost_and_its_turn_goes_on() {
    let rig = rig().await;
    let session = rig.plain().await;
    rig.control.fail_next("POST", "/sessions/", RequestAct::LoseAnswer);
    let body = json!({"messages": [user("hi")], "stream": "delta"}).to_string();
    assert!(raw(&format!("{}/sessions/{session}/turns", rig.base), "POST", TOKEN, &body).await.is_none());
    assert_eq!(rig.turns.settled(&session).await.unwrap().len(), 2);
}

#[tokio::test]
async fn a_stream_can_end_early_stall_and_come_in_drips() {
    let rig = rig().await;
    let session = rig.plain().await;
    rig.control.bend_next_stream(StreamAct::EndAfter { frames: 2 });
    let (frames, ended) = rig.stream(&session, "delta", json!([user("hello")])).await.rest().await;
    assert_eq!((frames.len(), ended), (2, Ended::Cleanly));
    rig.control.bend_next_stream(StreamAct::Stall { after: 1 });
    let mut live = rig.stream(&session, "delta", json!([user("hello")])).await;
    live.until("turn_start").await;
    assert_eq!(rig.turns.settled(&session).await.unwrap().len(), 4);
    rig.control.cut_streams();
    assert_eq!(live.rest().await, (vec![], Ended::Cut));
    rig.control.bend_next_stream(StreamAct::Drip { bytes: 1, every_ms: 0 });
    assert_eq!(text(&rig.say(&session, "东京").await), "You said: 东京");
}

#[tokio::test]
async fn frames_can_come_twice_in_other_orders_with_bad_bytes_and_too_large() {
    let rig = rig().await;
    let session = rig.plain().await;
    rig.control.bend_next_stream(StreamAct::Duplicate);
    assert_eq!(text(&rig.say(&session, "hi").await), "You You said: said: hihi");
    rig.control.bend_next_stream(StreamAct::Reverse { after: 1, count: 3 });
    assert_eq!(text(&rig.say(&session, "hi").await), "hisaid: You ");
    rig.control.bend_next_stream(StreamAct::BadUtf8 { after: 1 });
    let mut live = rig.stream(&session, "delta", json!([user("hi")])).await;
    live.block().await.unwrap();
    assert!(std::str::from_utf8(&live.block().await.unwrap()).is_err());
    rig.control.bend_next_stream(StreamAct::Oversized { after: 1, bytes: 2_000_000 });
    let frames = rig.say(&session, "hi").await;
    assert_eq!((frames[1].event.as_str(), frames[1].bytes.len() > 2_000_000), ("practice_padding", true));
    assert_eq!(stop(&frames), "end_turn");
}

#[tokio::test]
async fn a_stream_can_be_written_in_other_ways_and_have_another_content_type() {
    let rig = rig().await;
    let session = rig.plain().await;
    rig.control.bend_next_stream(StreamAct::CrLf);
    let mut live = rig.stream(&session, "delta", json!([user("hi")])).await;
    assert!(live.head.contains("content-type: text/event-stream"), "{}", live.head);
    assert!(live.block().await.unwrap().ends_with(b"\r\n\r\n"));
    rig.control.bend_next_stream(StreamAct::ContentType { value: "text/html".into() });
    let live = rig.stream(&session, "delta", json!([user("hi")])).await;
    assert!(live.head.contains("content-type: text/html"), "{}", live.head);
}

#[tokio::test]
async fn refusals_come_in_this_sides_forms() {
    let rig = rig().await;
    let refuse = |status, body, retry_after: Option<&str>| RequestAct::Status {
        status,
        body,
        retry_after: retry_after.map(str::to_owned),
    };
    rig.control.fail_next("GET", "/turns/sessions", refuse(401, FaultBody::Json, None));
    let answer = rig.get("/sessions").await;
    assert_eq!((answer.status, answer.text().as_str()), (401, "Unauthorized"));
    assert!(answer.header("www-authenticate").is_some());
    rig.control.fail_next("GET", "/turns/sessions", refuse(404, FaultBody::Json, None));
    assert!(rig.get("/sessions").await.json()["error"].is_string());
    rig.control.fail_next("GET", "/turns/sessions", refuse(429, FaultBody::Json, Some("7")));
    let answer = rig.get("/sessions").await;
    assert_eq!((answer.status, answer.header("retry-after").as_deref()), (429, Some("7")));
    rig.control.fail_next("GET", "/turns/sessions", refuse(503, FaultBody::Json, None));
    let answer = rig.get("/sessions").await;
    assert_eq!((answer.status, answer.text().as_str()), (503, "Internal Server Error"));
    rig.control.fail_next("GET", "/turns/sessions", refuse(502, FaultBody::Html, None));
    assert!(rig.get("/sessions").await.text().starts_with("<html>"));
}

#[tokio::test]
async fn the_event_stream_is_bent_as_the_others_are() {
    let rig = rig_of(TurnsVersion::V4).await;
    let session = rig.plain().await;
    rig.control.bend_next_stream(StreamAct::CutAfter { frames: 2 });
    let mut live = rig.follow(&session, "delta").await;
    rig.input(&session, say("hi")).await;
    let (frames, ended) = live.rest().await;
    assert_eq!((names(&frames), ended), (vec!["input", "message_start"], Ended::Cut));
    rig.control.fail_next("POST", "/input", RequestAct::LoseAnswer);
    let url = format!("{}/sessions/{session}/input", rig.base);
    assert!(raw(&url, "POST", TOKEN, &say("lost?").to_string()).await.is_none());
    let kept = rig.turns.settled(&session).await.unwrap();
    assert_eq!(kept[2]["content"], "lost?");
}

#[tokio::test]
async fn streams_end_cleanly_with_the_server() {
    let rig = rig_of(TurnsVersion::V4).await;
    let session = rig.plain().await;
    let mut live: Live = rig.follow(&session, "delta").await;
    rig.practice.stop().await;
    assert_eq!(live.rest().await, (vec![], Ended::Cleanly));
}
