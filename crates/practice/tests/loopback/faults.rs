//! Misbehaving on request: what a client sees of each fault.

use practice::{Command, FaultBody, Practice, RequestAct, StreamAct};
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::client::{Ended, Live, QODER, create, get, id_of, kinds, listed, message, raw, say, server, text_of};

async fn finished(practice: &Practice) -> String {
    let session = create(&practice.base_url(), &[("practice.start", "replay")]).await;
    say(&session, "hello").await;
    Live::open(&format!("{session}/events/stream")).await.idle().await;
    session
}

#[tokio::test]
async fn a_cut_at_byte_n_delivers_exactly_n_bytes() {
    let practice = server().await;
    let session = finished(&practice).await;
    let mut whole = Live::open(&format!("{session}/events/stream")).await;
    let all: Vec<u8> = whole.idle().await.into_iter().flat_map(|frame| frame.bytes).collect();
    for bytes in [1, 100, 333] {
        practice.control().bend_next_stream(StreamAct::CutAtByte { bytes });
        let mut live = Live::open(&format!("{session}/events/stream")).await;
        let (frames, ended) = live.rest().await;
        let mut seen: Vec<u8> = frames.into_iter().flat_map(|frame| frame.bytes).collect();
        seen.append(&mut live.seen);
        assert_eq!(ended, Ended::Cut);
        assert_eq!(seen, all[..usize::try_from(bytes).unwrap()]);
    }
}

#[tokio::test]
async fn a_stream_is_cut_or_ended_behind_frame_n() {
    let practice = server().await;
    let session = finished(&practice).await;
    for (act, wanted) in [
        (StreamAct::CutAfter { frames: 2 }, (2, Ended::Cut)),
        (StreamAct::CutAfter { frames: 0 }, (0, Ended::Cut)),
        (StreamAct::EndAfter { frames: 3 }, (3, Ended::Cleanly)),
    ] {
        practice.control().bend_next_stream(act.clone());
        let (frames, ended) = Live::open(&format!("{session}/events/stream")).await.rest().await;
        assert_eq!((frames.len(), ended), wanted, "{act:?}");
    }
}

#[tokio::test]
async fn frames_are_doubled_and_turned_round() {
    let practice = server().await;
    let session = finished(&practice).await;
    let straight = Live::open(&format!("{session}/events/stream")).await.idle().await;
    practice.control().bend_next_stream(StreamAct::Duplicate);
    let mut live = Live::open(&format!("{session}/events/stream")).await;
    assert_eq!(live.frame().await.unwrap(), live.frame().await.unwrap());
    practice.control().bend_next_stream(StreamAct::Reverse { after: 1, count: 3 });
    let turned = Live::open(&format!("{session}/events/stream")).await.idle().await;
    let order: Vec<usize> =
        turned.iter().map(|frame| straight.iter().position(|other| other.id == frame.id).unwrap()).collect();
    assert_eq!(order[..5], [0, 3, 2, 1, 4]);
}

#[tokio::test]
async fn a_stalled_stream_stays_open_and_gives_nothing() {
    let practice = server().await;
    let control = practice.control();
    let session = finished(&practice).await;
    control.run(Command::Heartbeat { ms: Some(1) }).await.unwrap();
    control.bend_next_stream(StreamAct::Stall { after: 1 });
    let mut stalled = Live::open(&format!("{session}/events/stream")).await;
    stalled.frame().await.unwrap();
    let mut other = Live::open(&format!("{session}/events/stream")).await;
    while !other.block().await.unwrap().starts_with(b":") {}
    control.until(|counters| counters.open_streams == 2).await.unwrap();
    control.cut_streams();
    let (frames, ended) = stalled.rest().await;
    assert_eq!((kinds(&frames), ended), (vec![], Ended::Cut), "no event and no heartbeat came in all that time");
}

#[tokio::test]
async fn open_streams_fall_silent_on_order() {
    let practice = server().await;
    let control = practice.control();
    let session = finished(&practice).await;
    let mut live = Live::open(&format!("{session}/events/stream")).await;
    live.idle().await;
    control.silence_streams();
    control.emit(id_of(&session), json!({"type": "agent.message"})).unwrap();
    let mut fresh = Live::open(&format!("{session}/events/stream")).await;
    fresh.idle().await;
    assert_eq!(fresh.frame().await.unwrap().event, "agent.message");
    control.end_streams();
    assert_eq!(live.rest().await, (vec![], Ended::Cleanly));
    control.until(|counters| counters.open_streams == 0).await.unwrap();
}

#[tokio::test]
async fn a_drip_delivers_all_of_it() {
    let practice = server().await;
    let session = finished(&practice).await;
    let whole = Live::open(&format!("{session}/events/stream")).await.idle().await;
    practice.control().bend_next_stream(StreamAct::Drip { bytes: 7, every_ms: 0 });
    assert_eq!(Live::open(&format!("{session}/events/stream")).await.idle().await, whole);
}

#[tokio::test]
async fn oversized_bad_and_strange_bytes_arrive_as_asked() {
    let practice = server().await;
    let control = practice.control();
    let session = finished(&practice).await;
    control.bend_next_stream(StreamAct::Oversized { after: 1, bytes: 2_000_000 });
    let mut live = Live::open(&format!("{session}/events/stream")).await;
    live.frame().await.unwrap();
    assert!(live.block().await.unwrap().len() > 2_000_000);

    control.bend_next_stream(StreamAct::BadUtf8 { after: 0 });
    let block = Live::open(&format!("{session}/events/stream")).await.block().await.unwrap();
    assert!(std::str::from_utf8(&block).is_err());

    control.bend_next_stream(StreamAct::CrLf);
    let block = Live::open(&format!("{session}/events/stream")).await.block().await.unwrap();
    assert_eq!(
        block.iter().filter(|byte| **byte == b'\n').count(),
        block.iter().filter(|byte| **byte == b'\r').count()
    );

    let mut live = Live::open(&format!("{session}/events/stream")).await;
    live.idle().await;
    control.raw(id_of(&session), "event: ping\ndata:\n\n").unwrap();
    assert_eq!(live.block().await.unwrap(), b"event: ping\ndata:\n\n");
    control
        .run(Command::Raw { session: id_of(&session).into(), text: "data: [DONE]\n".into(), hex: "ff0a".into() })
        .await
        .unwrap();
    control.raw(id_of(&session), "\n").unwrap();
    assert_eq!(live.block().await.unwrap(), b"data: [DONE]\n\xff\n\n");
}

#[tokio::test]
async fn a_stream_can_have_another_content_type() {
    let practice = server().await;
    let session = finished(&practice).await;
    practice.control().bend_next_stream(StreamAct::ContentType { value: "text/html".into() });
    let live = Live::open(&format!("{session}/events/stream")).await;
    assert!(live.head.contains("content-type: text/html"));
}

#[tokio::test]
async fn an_expired_cursor_is_refused_and_a_stream_without_one_is_served() {
    let practice = server().await;
    let session = finished(&practice).await;
    let id = listed(&session).await[0]["id"].as_str().unwrap().to_owned();
    for status in [400, 404] {
        practice.control().bend_next_stream(StreamAct::ExpiredCursor { status });
        Live::open(&format!("{session}/events/stream")).await.idle().await;
        assert_eq!(get(&format!("{session}/events/stream?after_id={id}")).await.status, status);
        Live::open(&format!("{session}/events/stream?after_id={id}")).await.idle().await;
    }
}

#[tokio::test]
async fn statuses_come_with_and_without_a_body() {
    let practice = server().await;
    let control = practice.control();
    let url = format!("{}/agents", practice.base_url());
    for status in [401, 403, 404, 409, 429, 500, 503, 529] {
        control.fail_next("GET", "/agents", RequestAct::Status { status, body: FaultBody::Json, retry_after: None });
        let answer = get(&url).await;
        assert_eq!((answer.status, answer.json()["type"].clone()), (status, json!("error")));
        let bare = RequestAct::Status { status, body: FaultBody::Empty, retry_after: Some("7".into()) };
        control.fail_next("GET", "/agents", bare);
        let answer = get(&url).await;
        assert_eq!((answer.status, answer.body.len(), answer.header("retry-after").as_deref()), (status, 0, Some("7")));
    }
    control.fail_next("GET", "/agents", RequestAct::Status { status: 502, body: FaultBody::Html, retry_after: None });
    assert!(get(&url).await.text().starts_with("<html>"));
    assert_eq!(get(&url).await.status, 200, "each fault is for one request");
}

#[tokio::test]
async fn a_lost_answer_was_carried_out_and_its_key_gives_it_again() {
    let practice = server().await;
    let control = practice.control();
    let session = create(&practice.base_url(), &[]).await;
    control.fail_next("POST", "/events", RequestAct::LoseAnswer);
    let url = format!("{session}/events");
    let body = json!({"events": [message("hello")]}).to_string();
    let headers = [QODER[0], ("idempotency-key", "once")];
    assert!(raw(&url, "POST", &headers, &body).await.is_none(), "no answer at all");
    let again = raw(&url, "POST", &headers, &body).await.unwrap();
    assert_eq!(again.status, 200);
    let echoes: Vec<_> = listed(&session).await.into_iter().filter(|event| event["type"] == "user.message").collect();
    assert_eq!(echoes.len(), 1);
    assert_eq!(echoes[0]["id"], again.json()["data"][0]["id"]);
    control.fail_next("POST", "/sessions", RequestAct::Reset);
    assert!(raw(&format!("{}/sessions", practice.base_url()), "POST", QODER, "{}").await.is_none());
    assert_eq!(control.sessions().len(), 1, "a reset request was not carried out");
}

#[tokio::test]
async fn requests_can_be_late_redirected_and_of_another_type() {
    let practice = server().await;
    let control = practice.control();
    let url = format!("{}/agents", practice.base_url());
    control.fail_next("GET", "/agents", RequestAct::Delay { ms: 1 });
    assert_eq!(get(&url).await.status, 200);
    control.fail_next("GET", "/agents", RequestAct::Redirect { location: "http://127.0.0.1:9/".into() });
    let answer = get(&url).await;
    assert_eq!((answer.status, answer.header("location").as_deref()), (307, Some("http://127.0.0.1:9/")));
    let stuck = r#"{"data":[],"next_page":"again","has_more":true}"#;
    let act = RequestAct::Reply { status: 200, content_type: "application/json".into(), body: stuck.into() };
    control.fail_next("GET", "/agents", act);
    assert_eq!(get(&url).await.json()["next_page"], "again");
    control.fail_next("GET", "/agents", RequestAct::ContentType { value: "text/plain".into() });
    assert_eq!(get(&url).await.header("content-type").as_deref(), Some("text/plain"));
}

#[tokio::test]
async fn a_half_open_request_gets_nothing_until_the_server_ends() {
    let practice = server().await;
    practice.control().fail_next("GET", "/agents", RequestAct::HalfOpen);
    let url = format!("{}/agents", practice.base_url());
    let asked = tokio::spawn(async move { raw(&url, "GET", QODER, "").await });
    practice.control().until(|counters| counters.requests == 1).await.unwrap();
    practice.stop().await;
    assert!(asked.await.unwrap().is_none());
}

#[tokio::test]
async fn a_held_request_and_a_held_answer_go_on_when_they_are_let_through() {
    let practice = server().await;
    let control = practice.control();
    let url = format!("{}/agents", practice.base_url());
    let acts = [RequestAct::Hold { name: "first".into() }, RequestAct::HoldAnswer { name: "second".into() }];
    for (number, act) in acts.into_iter().enumerate() {
        control.fail_next("GET", "/agents", act);
        let asked = tokio::spawn({
            let url = url.clone();
            async move { raw(&url, "GET", QODER, "").await }
        });
        let held = control.until(|counters| counters.held.len() > number).await.unwrap().held;
        assert!(!asked.is_finished());
        let command = json!({"do": "let_through", "name": held[number]});
        assert_eq!(crate::client::post(&practice.control_url(), &command).await.status, 200);
        assert_eq!(asked.await.unwrap().unwrap().status, 200);
    }
    assert_eq!(control.counters().held, ["first", "second"]);
}

#[tokio::test]
async fn a_rotated_token_shuts_the_old_one_out_but_not_control() {
    let practice = server().await;
    let session = finished(&practice).await;
    practice.control().rotate_token("new");
    assert_eq!(get(&session).await.status, 401);
    assert_eq!(raw(&session, "GET", &[("authorization", "Bearer new")], "").await.unwrap().status, 200);
    let counters = crate::client::post(&practice.control_url(), &json!({"do": "counters"})).await;
    assert_eq!(counters.status, 200);
}

#[tokio::test]
async fn a_flood_of_events_arrives_whole_and_in_order() {
    let practice = server().await;
    let session = finished(&practice).await;
    let mut live = Live::open(&format!("{session}/events/stream")).await;
    live.idle().await;
    for number in 0..2_000 {
        let event = json!({"type": "agent.message", "content": [{"type": "text", "text": number.to_string()}]});
        practice.control().emit(id_of(&session), event).unwrap();
    }
    for number in 0..2_000 {
        assert_eq!(text_of(&live.frame().await.unwrap()), number.to_string());
    }
    let flood = Command::Flood { session: id_of(&session).into(), events: 1_500, bytes: 300 };
    practice.control().run(flood).await.unwrap();
    for _ in 0..1_500 {
        let bytes = live.frame().await.unwrap().bytes.len();
        assert!((250..350).contains(&bytes), "{bytes}");
    }
}
