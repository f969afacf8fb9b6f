//! Messages into a run that goes on (§8).

use practice::{Generation, RunsManner};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::client::{Rig, asking, call_of, kinds, of, rig, rig_of, rig_with, until};

/// A run that stands at the gate of its script.
async fn at_gate(rig: &Rig) -> crate::client::Live {
    let session = rig.runs.start_scenario("runs-steer").unwrap();
    let live = rig.prompt(&asking("whatever")).await;
    rig.runs.wait(Some(&session), None, None, Some(true)).await.unwrap();
    live
}

fn open_gate(rig: &Rig) {
    rig.control.open_gate(&rig.runs.current(), "middle").unwrap();
}

#[tokio::test]
async fn a_steer_message_is_taken_in_once_the_step_is_over() {
    let rig = rig().await;
    let mut live = at_gate(&rig).await;
    let steered = rig.post("/runs/steer", json!({"text": "also the docs"})).await;
    assert_eq!(steered.text(), r#"{"steered":true,"text":"also the docs"}"#);
    open_gate(&rig);
    let (frames, _) = live.rest().await;
    assert_eq!(
        kinds(&frames),
        [
            "text_delta",
            "usage_updated",
            "tool_started",
            "tool_finished",
            "steered",
            "text_delta",
            "usage_updated",
            "steering_finished",
            "finished",
            "result"
        ],
        "the script is left for it"
    );
    assert_eq!(frames.last().unwrap().data["text"], "Hello! You said: also the docs");
    let roles: Vec<_> = rig.history().await.iter().map(|message| message["role"].clone()).collect();
    assert_eq!(roles, ["user", "assistant", "tool", "user", "assistant"]);
}

#[tokio::test]
async fn several_steer_messages_are_answered_in_turn() {
    let rig = rig().await;
    let mut live = at_gate(&rig).await;
    for text in ["one", "two"] {
        rig.post("/runs/steer", json!({"text": text})).await;
    }
    open_gate(&rig);
    let (frames, _) = live.rest().await;
    let told: Vec<_> = of(&frames, "steered").iter().map(|event| event["text"].clone()).collect();
    assert_eq!(told, ["one", "two"]);
    assert_eq!(of(&frames, "steering_finished").len(), 2);
}

#[tokio::test]
async fn a_newer_steer_message_takes_the_place_of_one_that_waits_where_the_server_does_so() {
    let rig = rig_with(RunsManner { supersede_steers: true, ..RunsManner::default() }).await;
    let mut live = at_gate(&rig).await;
    for text in ["one", "two"] {
        rig.post("/runs/steer", json!({"text": text})).await;
    }
    open_gate(&rig);
    let (frames, _) = live.rest().await;
    assert_eq!(of(&frames, "steering_interrupted")[0]["text"], "one");
    assert_eq!(of(&frames, "steered").len(), 1);
}

#[tokio::test]
async fn a_steer_message_does_not_release_an_approval() {
    let rig = rig().await;
    let mut live = rig.prompt(&asking("RUN:echo hi")).await;
    let call = call_of(&until(&mut live, "approval_requested").await);
    rig.post("/runs/steer", json!({"text": "never mind"})).await;
    assert_eq!(rig.runs.pending(None).unwrap().as_deref(), Some(call.as_str()));
    rig.approve(&call, true).await;
    let (rest, _) = live.rest().await;
    assert_eq!(kinds(&rest)[..3], ["tool_finished", "steered", "text_delta"]);
}

#[tokio::test]
async fn calls_that_were_not_begun_are_skipped_for_a_steer_message_where_the_server_does_so() {
    let rig = rig_with(RunsManner { skip_on_steer: true, ..RunsManner::default() }).await;
    let mut live = rig.prompt(&asking("RUN:echo one\nRUN:echo two")).await;
    let call = call_of(&until(&mut live, "approval_requested").await);
    rig.post("/runs/steer", json!({"text": "only the first"})).await;
    rig.approve(&call, true).await;
    let (rest, _) = live.rest().await;
    let told: Vec<_> =
        of(&rest, "tool_finished").iter().map(|tool| (tool["ok"].clone(), tool["skipped"].clone())).collect();
    assert_eq!(told, [(json!(true), json!(false)), (json!(false), json!(true))]);
    assert!(of(&rest, "approval_requested").is_empty());
}

#[tokio::test]
async fn nothing_is_steered_where_nothing_runs() {
    let rig = rig().await;
    let answer = rig.post("/runs/steer", json!({"text": "hello?"})).await;
    assert_eq!(answer.text(), r#"{"steered":false,"text":null}"#);
    assert_eq!(rig.post("/runs/steer", json!({"text": ""})).await.status, 422);
}

#[tokio::test]
async fn the_answer_says_the_text_that_the_event_will_carry() {
    let rig = rig().await;
    let mut live = at_gate(&rig).await;
    let told = rig.post("/runs/steer", json!({"text": "see @src/users.py", "mentions": true})).await.json();
    let text = told["text"].as_str().unwrap().to_owned();
    assert!(text.starts_with("see @src/users.py\n\n"));
    open_gate(&rig);
    assert_eq!(of(&live.rest().await.0, "steered")[0]["text"], text);
}

#[tokio::test]
async fn in_0_1_steering_takes_only_text_and_ends_without_a_word() {
    let rig = rig_of(Generation::First).await;
    let mut live = at_gate(&rig).await;
    let body = json!({"text": "see @src/users.py", "mentions": true});
    assert_eq!(rig.post("/runs/steer", body).await.text(), r#"{"steered":true}"#);
    open_gate(&rig);
    let (frames, _) = live.rest().await;
    assert_eq!(of(&frames, "steered")[0]["text"], "see @src/users.py");
    assert!(of(&frames, "steering_finished").is_empty());
}

#[tokio::test]
async fn steer_takes_images_only_where_the_model_does() {
    let picture = json!([{"data": "iVBORw0KGgo=", "media_type": "image/png"}]);
    for (multimodal, status) in [(false, 400), (true, 200)] {
        let rig = rig_with(RunsManner { multimodal, ..RunsManner::default() }).await;
        let _live = at_gate(&rig).await;
        let answer = rig.post("/runs/steer", json!({"text": "look", "images": picture})).await;
        assert_eq!(answer.status, status, "{}", answer.text());
        assert_eq!(rig.runs.glimpse(None).unwrap()["steers"], Value::from(u8::from(multimodal)));
    }
}
