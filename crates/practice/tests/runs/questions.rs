//! Questions of the model (§6).

use practice::{Generation, RunsManner};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::client::{SHORT, asking, call_of, kinds, of, rig, rig_of, until};

const ONE: &str = "ASK:Which db?|sqlite|postgres";

#[tokio::test]
async fn a_question_comes_before_its_call_starts_and_takes_free_text() {
    let rig = rig().await;
    let mut live = rig.prompt(&asking(ONE)).await;
    let asked = until(&mut live, "question_asked").await;
    assert!(of(&asked, "tool_started").is_empty());
    let frame = &asked.last().unwrap().data;
    assert_eq!((&frame["options"], &frame["answered"]), (&json!(["sqlite", "postgres"]), &json!(false)));
    let pending = rig.get("/runs/current").await.json()["pending"].clone();
    assert_eq!(
        (&pending["kind"], &pending["command"], &pending["timeout_seconds"]),
        (&json!("question"), &Value::Null, &Value::Null)
    );
    let call = call_of(&asked);
    assert!(!rig.approve(&call, true).await, "a question is no approval");
    assert!(rig.answer(&call, Some("neither, \"duckdb\"")).await);
    let (rest, _) = live.rest().await;
    assert_eq!(kinds(&rest)[..2], ["tool_started", "tool_finished"]);
    let output: Value = serde_json::from_str(rest[1].data["output"].as_str().unwrap()).unwrap();
    assert_eq!(
        output,
        json!({"name": "ask_user_response", "payload": {"tool_call_id": call, "answer": "neither, \"duckdb\""}})
    );
    assert_eq!(rest.last().unwrap().data["questions"], json!(["Which db?"]));
}

#[tokio::test]
async fn null_declines_and_a_blank_answer_is_refused() {
    let rig = rig().await;
    let mut live = rig.prompt(&asking(ONE)).await;
    let call = call_of(&until(&mut live, "question_asked").await);
    for blank in ["", "  \n"] {
        let refused = rig.post("/runs/questions", json!({"call_id": call, "answer": blank})).await;
        assert_eq!((refused.status, refused.json()["error"].clone()), (400, json!("invalid")));
    }
    assert!(rig.answer(&call, None).await);
    assert!(!rig.answer(&call, Some("late")).await);
    let (rest, _) = live.rest().await;
    assert!(rest[1].data["output"].as_str().unwrap().contains(r#""answer": null, "declined": true"#));
}

#[tokio::test]
async fn a_request_that_did_not_ask_for_questions_declines_them_and_shows_them() {
    let rig = rig().await;
    let frames = rig.run(&json!({"text": ONE})).await;
    assert_eq!(of(&frames, "question_asked")[0]["answered"], false);
    assert!(of(&frames, "tool_finished")[0]["output"].as_str().unwrap().contains("declined"));
}

#[tokio::test]
async fn several_may_be_chosen_where_the_question_says_so() {
    let rig = rig().await;
    let mut live = rig.prompt(&asking(&format!("MANY\n{ONE}"))).await;
    let asked = until(&mut live, "question_asked").await;
    assert_eq!(asked.last().unwrap().data["allow_multiple"], true);
    assert_eq!(rig.get("/runs/current").await.json()["pending"]["allow_multiple"], true);
}

#[tokio::test]
async fn questions_wait_for_ever_since_0_2_0() {
    let rig = rig().await;
    let mut body = asking(ONE);
    body["answer_timeout"] = json!(SHORT.as_secs_f64());
    let mut live = rig.prompt(&body).await;
    let call = call_of(&until(&mut live, "question_asked").await);
    // Another run whose approval runs out proves that this much time went by.
    rig.post("/sessions", json!({})).await;
    let mut other = asking("RUN:ls");
    other["answer_timeout"] = json!(SHORT.as_secs_f64());
    assert_eq!(of(&rig.run(&other).await, "notice").len(), 1);
    let first = rig.get("/sessions").await.json()["sessions"].as_array().unwrap().clone();
    let running = first.iter().find(|session| session["running"] == true).unwrap()["id"].as_str().unwrap().to_owned();
    rig.post(&format!("/sessions/{running}/open"), json!({})).await;
    assert!(rig.answer(&call, Some("sqlite")).await);
    assert!(of(&live.rest().await.0, "notice").is_empty());
}

#[tokio::test]
async fn questions_time_out_in_0_1() {
    let rig = rig_of(Generation::First).await;
    let mut body = asking(ONE);
    body["answer_timeout"] = json!(SHORT.as_secs_f64());
    let frames = rig.run(&body).await;
    assert_eq!(of(&frames, "notice")[0]["level"], "warn");
    assert!(of(&frames, "tool_finished")[0]["output"].as_str().unwrap().contains("declined"));
    assert_eq!(rig.runs.manner(), RunsManner::of(Generation::First));
}
