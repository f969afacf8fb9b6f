//! Misbehaviour on request, on the streams of runs and on their requests.

use practice::{Command, FaultBody, RequestAct, RunsManner, RunsOrder, StreamAct};
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::client::{Ended, asking, call_of, kinds, last, of, raw, rig, until};

const HELLO: &str = "hello there";

#[tokio::test]
async fn a_stream_is_cut_at_the_very_byte_and_its_run_stops() {
    let rig = rig().await;
    let frames = rig.run(&asking(HELLO)).await;
    let first = frames[0].bytes.len();
    rig.control.bend_next_stream(StreamAct::CutAtByte { bytes: first as u64 + 20 });
    let mut live = rig.prompt(&asking("RUN:echo hi")).await;
    let (seen, ended) = live.rest().await;
    assert_eq!((seen.len(), ended, live.seen.len()), (1, Ended::Cut, 20 + first - seen[0].bytes.len()));
    rig.idle().await;
    assert_eq!(rig.resumable().await["resumable"], true);
}

#[tokio::test]
async fn a_stream_ends_early_or_stalls_on_request() {
    let rig = rig().await;
    rig.control.bend_next_stream(StreamAct::EndAfter { frames: 2 });
    let (frames, ended) = rig.prompt(&asking(HELLO)).await.rest().await;
    assert_eq!((frames.len(), ended), (2, Ended::Cleanly), "an end without a terminal frame");
    rig.idle().await;
    rig.control.bend_next_stream(StreamAct::Stall { after: 1 });
    let mut live = rig.prompt(&asking(HELLO)).await;
    live.frame().await.unwrap();
    rig.idle().await;
    rig.control.cut_streams();
    assert_eq!(live.rest().await, (vec![], Ended::Cut), "half open: the run ended and nobody heard of it");
}

#[tokio::test]
async fn other_writings_of_a_stream_carry_the_same_frames() {
    let rig = rig().await;
    let whole = kinds(&rig.run(&asking(HELLO)).await);
    for act in [StreamAct::Drip { bytes: 1, every_ms: 0 }, StreamAct::Comments] {
        rig.control.bend_next_stream(act.clone());
        let mut live = rig.prompt(&asking(HELLO)).await;
        let mut bytes = Vec::new();
        while let Ok(block) = live.block().await {
            bytes.extend(block);
        }
        let text = String::from_utf8(bytes).unwrap();
        assert_eq!(text.matches("event: event").count(), whole_events(&whole), "{act:?}");
    }
    rig.control.bend_next_stream(StreamAct::CrLf);
    let mut live = rig.prompt(&asking(HELLO)).await;
    assert!(live.block().await.unwrap().ends_with(b"\r\n\r\n"));
    rig.idle().await;
    rig.control.bend_next_stream(StreamAct::DataLines);
    rig.control.bend_next_stream(StreamAct::NoNames);
    let block = rig.prompt(&asking(HELLO)).await.block().await.unwrap();
    assert_eq!(String::from_utf8(block).unwrap(), "data: {\"type\":\"text_delta\",\ndata: \"text\":\"Hello! \"}\n\n");
}

/// How many `event` frames a plain answer has: five words, usage, and the end.
fn whole_events(kinds: &[String]) -> usize {
    assert_eq!(kinds, ["text_delta", "usage_updated", "finished", "result"]);
    "Hello! You said: hello there".split(' ').count() + 2
}

#[tokio::test]
async fn bad_utf_8_oversized_events_and_strange_bytes_arrive_as_asked() {
    let rig = rig().await;
    rig.control.bend_next_stream(StreamAct::BadUtf8 { after: 0 });
    let block = rig.prompt(&asking(HELLO)).await.block().await.unwrap();
    assert!(std::str::from_utf8(&block).is_err());
    rig.idle().await;
    rig.control.bend_next_stream(StreamAct::Oversized { after: 1, bytes: 2_000_000 });
    let mut live = rig.prompt(&asking(HELLO)).await;
    live.frame().await.unwrap();
    let big = live.frame().await.unwrap();
    assert_eq!((big.data["type"].clone(), big.data["text"].as_str().unwrap().len()), (json!("notice"), 2_000_000));
    rig.idle().await;
    let mut live = rig.prompt(&asking("RUN:ls")).await;
    until(&mut live, "approval_requested").await;
    rig.runs.frame(None, "progress", &json!({"percent": 40})).unwrap();
    rig.runs.raw(None, "data: [DONE]\n\n").unwrap();
    assert_eq!(live.frame().await.unwrap().event, "progress");
    assert_eq!(live.block().await.unwrap(), b"data: [DONE]\n\n");
    rig.control.bend_next_stream(StreamAct::ContentType { value: "text/html".into() });
    rig.runs.restart();
    assert!(rig.prompt(&asking(HELLO)).await.head.contains("content-type: text/html"));
}

#[tokio::test]
async fn a_rotated_token_leaves_the_stream_alone_and_refuses_the_answer() {
    let rig = rig().await;
    let mut live = rig.prompt(&asking("RUN:echo hi")).await;
    let call = call_of(&until(&mut live, "approval_requested").await);
    rig.control.rotate_token("new");
    let body = json!({"call_id": call, "approve": true});
    assert_eq!(rig.post("/runs/approvals", body.clone()).await.status, 401);
    let url = format!("{}/runs/approvals", rig.base);
    let again = raw(&url, "POST", &[("authorization", "Bearer new")], &body.to_string()).await.unwrap();
    assert_eq!(again.json(), json!({"resolved": true}));
    assert_eq!(last(&live.rest().await.0).0, "result");
}

#[tokio::test]
async fn requests_are_refused_in_this_sides_shape() {
    let rig = rig().await;
    for (status, error) in [(401, "unauthorized"), (409, "busy"), (500, "internal"), (502, "run"), (503, "internal")] {
        let act = RequestAct::Status { status, body: FaultBody::Json, retry_after: Some("3".into()) };
        rig.control.fail_next("GET", "/sessions", act);
        let refused = rig.get("/sessions").await;
        assert_eq!((refused.status, refused.json()["error"].clone()), (status, json!(error)));
        assert_eq!(refused.header("retry-after").as_deref(), Some("3"));
    }
    rig.control.fail_next("POST", "/prompts", RequestAct::Reset);
    let url = format!("{}/prompts", rig.base);
    assert!(raw(&url, "POST", &[("authorization", "Bearer tok")], "{}").await.is_none());
}

#[tokio::test]
async fn an_answer_that_is_lost_was_counted_and_settles_once() {
    let rig = rig().await;
    let mut live = rig.prompt(&asking("RUN:echo hi")).await;
    let call = call_of(&until(&mut live, "approval_requested").await);
    rig.control.fail_next("POST", "/runs/approvals", RequestAct::LoseAnswer);
    let (url, body) = (format!("{}/runs/approvals", rig.base), json!({"call_id": call, "approve": true}));
    assert!(raw(&url, "POST", &[("authorization", "Bearer tok")], &body.to_string()).await.is_none());
    assert!(!rig.approve(&call, true).await);
    assert_eq!(of(&live.rest().await.0, "tool_finished")[0]["output"], "hi\n");
    let decisions = rig.control.counters().decisions;
    assert_eq!(decisions.iter().map(|seen| seen.repeated).collect::<Vec<_>>(), [false, true]);
}

#[tokio::test]
async fn another_process_gives_its_orders_over_http() {
    let rig = rig().await;
    let tell = async |order: RunsOrder| {
        let body = serde_json::to_string(&Command::Runs { order }).unwrap();
        let headers = [("authorization", "Bearer tok")];
        raw(&rig.practice.control_url(), "POST", &headers, &body).await.unwrap()
    };
    let started = tell(RunsOrder::Scenario { scenario: "runs-approval".into() }).await.json();
    assert_eq!(started["session"], rig.runs.current().as_str());
    let mut live = rig.prompt(&asking("go")).await;
    until(&mut live, "approval_requested").await;
    let wait = RunsOrder::Wait { session: None, running: Some(true), pending: Some(true), at_gate: None };
    let seen = tell(wait).await.json();
    assert_eq!((&seen["pending"]["command"], &seen["messages"]), (&json!("pytest -q"), &json!(2)));
    assert_eq!(tell(RunsOrder::Expire { session: None }).await.json(), json!({"expired": true}));
    assert!(of(&live.rest().await.0, "notice").len() == 1);
    tell(RunsOrder::Manner { manner: RunsManner { ready: false, ..RunsManner::default() } }).await;
    assert_eq!(rig.get("/settings").await.status, 409);
    assert_eq!(tell(RunsOrder::Scenario { scenario: "none".into() }).await.status, 404);
    assert_eq!(tell(RunsOrder::Look { session: Some("none".into()) }).await.status, 404);
    tell(RunsOrder::Restart).await;
    let look = tell(RunsOrder::Look { session: None }).await.json();
    assert_eq!((&look["running"], &look["messages"]), (&json!(false), &json!(0)));
}
