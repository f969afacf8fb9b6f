//! The ways a run ends: stopped, timed out, left by its client, cut off with its server; and how it goes on (§8).

use practice::{Generation, Recover, RunsManner};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::client::{Ended, SHORT, asking, call_of, kinds, last, of, rig, rig_of, rig_with, until};

#[tokio::test]
async fn a_run_that_is_stopped_while_it_talks_ends_with_a_partial_result() {
    let rig = rig().await;
    let session = rig.runs.start_scenario("runs-steer").unwrap();
    let mut live = rig.prompt(&asking("talk")).await;
    rig.runs.wait(Some(&session), None, None, Some(true)).await.unwrap();
    assert_eq!(rig.post("/runs/cancel", json!({})).await.text(), r#"{"cancelled":true}"#);
    let (frames, ended) = live.rest().await;
    assert_eq!((last(&frames).0, ended), ("result", Ended::Cleanly));
    assert_eq!(
        (&last(&frames).1["text"], &last(&frames).1["stop"]),
        (&json!("The code has three parts. "), &Value::Null)
    );
    assert_eq!(last(&frames).1["usage"]["requests"], 0, "a stopped step counts nothing");
    assert!(of(&frames, "finished").is_empty());
    assert_eq!(rig.history().await.len(), 1, "what was half said is not stored");
    assert_eq!(
        rig.resumable().await,
        json!({"resumable": true, "kind": "call_model",
               "description": "The model was never answered: the request stopped before it replied."})
    );
    assert_eq!(rig.post("/runs/cancel", Value::Null).await.text(), r#"{"cancelled":false}"#);
}

#[tokio::test]
async fn the_seeds_form_of_a_stop_is_a_cancelled_frame() {
    let rig = rig_of(Generation::Seed).await;
    let session = rig.runs.start_scenario("runs-steer").unwrap();
    let mut live = rig.prompt(&asking("talk")).await;
    rig.runs.wait(Some(&session), None, None, Some(true)).await.unwrap();
    assert_eq!(rig.send("POST", "/runs/cancel", "").await.status, 200, "its body may be missing");
    let (frames, _) = live.rest().await;
    assert_eq!(last(&frames), ("cancelled", &json!({"type": "cancelled"})));
}

#[tokio::test]
async fn a_stop_while_an_approval_waits_takes_effect_once_it_is_answered_and_runs_nothing() {
    for approve in [true, false] {
        let rig = rig().await;
        let mut live = rig.prompt(&asking("RUN:echo hi")).await;
        let call = call_of(&until(&mut live, "approval_requested").await);
        assert_eq!(rig.post("/runs/cancel", json!({})).await.json()["cancelled"], true);
        let current = rig.get("/runs/current").await.json();
        assert_eq!((&current["running"], &current["pending"]["call_id"]), (&json!(true), &json!(call)));
        assert_eq!(rig.post("/runs/steer", json!({"text": "x"})).await.json()["steered"], false);
        assert!(rig.approve(&call, approve).await);
        let (rest, _) = live.rest().await;
        assert_eq!(kinds(&rest), ["result"], "no tool_finished comes");
        let tool = &rest[0].data["tools"][0];
        assert_eq!((&tool["ok"], &tool["output"]), (&json!(false), &json!("")));
        assert_eq!(rest[0].data["text"], "I will use a tool. ");
        let told = rig.history().await.pop().unwrap();
        assert_eq!(
            (&told["role"], &told["text"]),
            (&json!("tool"), &json!("Request cancelled before tool completion"))
        );
    }
}

#[tokio::test]
async fn a_stop_while_an_approval_waits_takes_effect_when_its_time_is_over() {
    let rig = rig().await;
    let mut live = rig.prompt(&asking("RUN:echo hi")).await;
    until(&mut live, "approval_requested").await;
    rig.post("/runs/cancel", json!({})).await;
    rig.runs.expire(None).unwrap();
    assert_eq!(kinds(&live.rest().await.0), ["notice", "result"]);
}

#[tokio::test]
async fn a_stop_while_a_question_waits_takes_effect_once_it_is_declined() {
    let rig = rig().await;
    let mut live = rig.prompt(&asking("ASK:Which?|a|b")).await;
    let call = call_of(&until(&mut live, "question_asked").await);
    rig.post("/runs/cancel", json!({})).await;
    assert!(rig.answer(&call, None).await);
    let (rest, _) = live.rest().await;
    assert_eq!(kinds(&rest), ["result"]);
    assert_eq!((&rest[0].data["tools"], &rest[0].data["questions"]), (&json!([]), &json!(["Which?"])));
}

#[tokio::test]
async fn a_run_has_a_deadline_where_one_is_named() {
    let rig = rig().await;
    let mut body = asking("RUN:echo hi");
    body["timeout"] = json!(SHORT.as_secs_f64());
    let frames = rig.run(&body).await;
    assert_eq!(
        last(&frames),
        ("error", &json!({"error": "timeout", "message": "The run did not finish within 0.05s"}))
    );
}

#[tokio::test]
async fn closing_the_connection_stops_the_run_and_it_can_be_resumed() {
    let rig = rig().await;
    let mut live = rig.prompt(&asking("RUN:echo hi")).await;
    until(&mut live, "approval_requested").await;
    drop(live);
    rig.idle().await;
    assert_eq!(
        rig.resumable().await,
        json!({"resumable": true, "kind": "call_model",
               "description": "The tools finished, and the request stopped before the model saw their results."})
    );
    let (frames, _) = rig.stream("/runs/resume", &json!({"approvals": {"mode": "ask"}})).await.rest().await;
    assert_eq!(kinds(&frames)[..2], ["text_delta", "usage_updated"]);
    assert_eq!(last(&frames).1["text"], "Finished. The tool said: Request cancelled before tool completion");
    assert_eq!(rig.resumable().await["resumable"], false);
    assert_eq!(rig.control.counters().open_streams, 0);
}

#[tokio::test]
async fn nothing_to_resume_is_an_error_frame_or_a_409() {
    let told = |empty| {
        let what = if empty { "The session has no messages" } else { "The last request finished" };
        json!({"error": "nothing_to_do", "message": format!("{what}, so there is nothing to resume.")})
    };
    let rig = rig().await;
    for empty in [true, false] {
        let (frames, _) = rig.stream("/runs/resume", &json!({})).await.rest().await;
        assert_eq!((frames.len(), last(&frames)), (1, ("error", &told(empty))));
        rig.run(&json!({"text": "hello"})).await;
    }
    let newer = rig_of(Generation::Seed).await;
    let refused = newer.post("/runs/resume", json!({})).await;
    assert_eq!((refused.status, refused.json()), (409, told(true)));
}

#[tokio::test]
async fn a_failed_run_ends_with_an_error_frame_and_can_be_resumed() {
    let rig = rig().await;
    let frames = rig.run(&json!({"text": "ERR"})).await;
    assert_eq!((frames.len(), last(&frames).0, &last(&frames).1["error"]), (1, "error", &json!("run")));
    assert_eq!(rig.resumable().await["kind"], "call_model");
    let (frames, _) = rig.stream("/runs/resume", &json!({})).await.rest().await;
    assert_eq!(last(&frames).0, "result");
}

#[tokio::test]
async fn an_image_is_refused_within_the_stream_where_the_model_takes_none() {
    let rig = rig().await;
    let picture = json!([{"data": "iVBORw0KGgo=", "media_type": "image/png"}]);
    let frames = rig.run(&json!({"text": "look", "images": picture})).await;
    assert_eq!((frames.len(), last(&frames).0, &last(&frames).1["error"]), (1, "error", &json!("invalid")));
    let sees = rig_with(RunsManner { multimodal: true, ..RunsManner::default() }).await;
    assert_eq!(last(&sees.run(&json!({"text": "look", "images": picture})).await).0, "result");
    let message = sees.history().await.swap_remove(0);
    assert_eq!((&message["images"], &message["pictures"]), (&json!(1), &picture));
}

#[tokio::test]
async fn a_killed_server_sends_no_terminal_frame_and_starts_with_an_empty_session() {
    let rig = rig().await;
    let mut live = rig.prompt(&asking("RUN:echo hi")).await;
    let call = call_of(&until(&mut live, "approval_requested").await);
    let before = rig.runs.current();
    rig.runs.restart();
    assert_eq!(live.rest().await, (vec![], Ended::Cut));
    assert_ne!(rig.runs.current(), before);
    assert_eq!((rig.history().await.len(), rig.resumable().await["resumable"].clone()), (0, json!(false)));
    assert!(!rig.approve(&call, true).await);
    rig.post(&format!("/sessions/{before}/open"), json!({})).await;
    assert_eq!(rig.resumable().await["kind"], "recover_tools");
    let mut live = rig.stream("/runs/resume", &json!({"approvals": {"mode": "ask"}})).await;
    let again = until(&mut live, "approval_requested").await;
    assert_eq!(again.last().unwrap().data["command"], "echo hi");
    assert_ne!(call_of(&again), call, "the same command asks under another id");
    rig.approve(&call_of(&again), true).await;
    assert_eq!(last(&live.rest().await.0).1["text"], "Finished. The tool said: hi");
}

#[tokio::test]
async fn calls_a_killed_server_left_open_are_reported_and_not_run_again_where_the_server_does_so() {
    let rig = rig_with(RunsManner { recover: Recover::Report, ..RunsManner::default() }).await;
    let mut live = rig.prompt(&asking("RUN:echo hi")).await;
    until(&mut live, "approval_requested").await;
    let before = rig.runs.current();
    rig.runs.restart();
    rig.post(&format!("/sessions/{before}/open"), json!({})).await;
    assert_eq!(rig.resumable().await["kind"], "recover_tools");
    let (frames, _) = rig.stream("/runs/resume", &json!({"approvals": {"mode": "ask"}})).await.rest().await;
    assert!(of(&frames, "tool_started").is_empty());
    assert_eq!(last(&frames).1["text"], "Finished. The tool said: Request cancelled before tool completion");
}

#[tokio::test]
async fn a_script_goes_on_where_it_was_cut_off() {
    let rig = rig().await;
    let session = rig.runs.start_scenario("runs-steer").unwrap();
    let live = rig.prompt(&asking("talk")).await;
    rig.runs.wait(Some(&session), None, None, Some(true)).await.unwrap();
    drop(live);
    rig.idle().await;
    rig.control.open_gate(&session, "middle").unwrap();
    let (frames, _) = rig.stream("/runs/resume", &json!({})).await.rest().await;
    assert_eq!(last(&frames).1["text"], "That is all of it.");
}
