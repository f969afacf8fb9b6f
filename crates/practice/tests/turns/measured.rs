//! The faults of the reference server, each by its switch (§7).

use practice::{TurnsFaults, TurnsManner, TurnsWait};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::client::{
    Ended, Rig, calls, mixed_setup, names, permission, result, rig, rig_with, roles, stop, text, user,
};

async fn with(faults: TurnsFaults) -> (Rig, String) {
    let rig = rig_with(TurnsManner { faults, ..TurnsManner::default() }).await;
    let session = rig.create(&mixed_setup()).await;
    (rig, session)
}

#[tokio::test]
async fn a_stream_can_end_cleanly_without_its_stop() {
    let (rig, session) = with(TurnsFaults { no_turn_stop: true, ..TurnsFaults::default() }).await;
    assert_eq!(names(&rig.say(&session, "hi").await), ["turn_start", "text_delta"]);
    assert_eq!(names(&rig.say(&session, "MIX").await).last(), Some(&"tool_result"));
    assert_eq!(rig.turns.waiting(&session).await.unwrap().len(), 3);
}

#[tokio::test]
async fn message_mode_can_lose_everything_behind_its_start() {
    let (rig, session) = with(TurnsFaults { lose_after_start: true, ..TurnsFaults::default() }).await;
    let frames = rig.turn(&session, "message", json!([user("hi")])).await;
    assert_eq!(names(&frames), ["turn_start"]);
    assert_eq!(roles(&rig.history(&session).await), ["user", "assistant"]);
    assert_eq!(names(&rig.say(&session, "hi").await).len(), 3, "delta mode loses nothing");
}

#[tokio::test]
async fn a_granted_tool_can_run_without_a_word_in_every_mode() {
    for mode in ["delta", "message", "none"] {
        let (rig, session) = with(TurnsFaults { no_granted_result: true, ..TurnsFaults::default() }).await;
        let id = calls(&rig.say(&session, "CALL:write_note {\"text\":\"a\"}").await)[0].clone();
        let answers = json!([permission(&id, true)]);
        if mode == "none" {
            let answer = rig.none(&session, answers).await.json();
            assert_eq!(roles(answer["messages"].as_array().unwrap()), ["assistant"]);
        } else {
            assert!(!names(&rig.turn(&session, mode, answers).await).contains(&"tool_result"));
        }
        let history = rig.history(&session).await;
        assert_eq!((&history[2]["toolCallId"], &history[2]["content"]), (&json!(id), &json!("saved a")));
    }
}

#[tokio::test]
async fn history_can_have_a_trusted_result_twice_and_text_before_its_thinking() {
    let faults = TurnsFaults { duplicate_results: true, text_before_thinking: true, ..TurnsFaults::default() };
    let (rig, session) = with(faults).await;
    rig.say(&session, "CALL:clock").await;
    assert_eq!(roles(&rig.history(&session).await), ["user", "assistant", "tool", "tool", "assistant"]);
    let frames = rig.say(&session, "THINK").await;
    assert_eq!(names(&frames), ["turn_start", "thinking_delta", "text_delta", "turn_stop"]);
    let history = rig.history(&session).await;
    let kinds: Vec<&Value> =
        history.last().unwrap()["content"].as_array().unwrap().iter().map(|block| &block["type"]).collect();
    assert_eq!(kinds, ["text", "thinking"]);
}

#[tokio::test]
async fn results_can_be_written_as_json_once_more() {
    let (rig, session) = with(TurnsFaults { json_results: true, ..TurnsFaults::default() }).await;
    let frames = rig.say(&session, "CALL:clock").await;
    let told = frames.iter().find(|frame| frame.event == "tool_result").unwrap();
    assert_eq!(told.data["content"], "\"12:00\"");
}

#[tokio::test]
async fn a_failure_of_the_model_is_told_as_the_page_says_or_hidden() {
    let rig = rig().await;
    let session = rig.plain().await;
    let frames = rig.say(&session, "ERR").await;
    assert_eq!((names(&frames).len(), stop(&frames)), (2, "error"));
    assert_eq!(roles(&rig.history(&session).await), ["user"]);

    let (rig, session) = with(TurnsFaults { hidden_failures: true, ..TurnsFaults::default() }).await;
    let none = rig.none(&session, json!([user("ERR")])).await;
    assert_eq!((none.status, none.text().as_str()), (500, "Internal Server Error"));
    let message = rig.turn(&session, "message", json!([user("ERR")])).await;
    assert_eq!(names(&message), ["turn_start"]);
    let mut delta = rig.stream(&session, "delta", json!([user("ERR")])).await;
    delta.until("turn_start").await;
    let hangs = TurnsWait { active: Some(false), running: Some(1), ..TurnsWait::default() };
    rig.turns.wait(&session, hangs).await.unwrap();
    assert!(rig.history(&session).await.is_empty());
    assert_eq!(text(&rig.say(&session, "still there?").await), "You said: still there?");
    drop(delta);
    rig.turns.wait(&session, TurnsWait { running: Some(0), ..hangs }).await.unwrap();
}

#[tokio::test]
async fn a_message_while_calls_wait_fails_or_hangs_and_the_answers_still_go() {
    let rig = rig().await;
    let session = rig.create(&mixed_setup()).await;
    let ids = calls(&rig.say(&session, "MIX").await);
    let early = rig.none(&session, json!([user("hello?")])).await;
    assert_eq!((early.status, early.text().as_str()), (500, "Internal Server Error"));
    let mut hangs = rig.stream(&session, "delta", json!([result(&ids[0], "4")])).await;
    hangs.until("turn_start").await;
    assert_eq!(rig.turns.pending(&session).unwrap().len(), 3, "nothing was taken of an incomplete answer");
    let all = json!([result(&ids[0], "4"), result(&ids[1], "blue"), permission(&ids[3], false)]);
    assert_eq!(stop(&rig.turn(&session, "delta", all).await), "end_turn");
    rig.control.cut_streams();
    assert_eq!(hangs.rest().await, (vec![], Ended::Cut));
}

#[tokio::test]
async fn a_tool_nobody_has_wedges_its_session_until_the_client_answers_for_it() {
    let rig = rig().await;
    let session = rig.plain().await;
    let id = calls(&rig.say(&session, "CALL:ghost").await)[0].clone();
    assert_eq!(rig.none(&session, json!([user("hello?")])).await.status, 500);
    let frames = rig.turn(&session, "delta", json!([result(&id, "unknown tool")])).await;
    assert_eq!(text(&frames), "Tools said: unknown tool");
    assert_eq!(stop(&rig.say(&session, "hello?").await), "end_turn");
}
