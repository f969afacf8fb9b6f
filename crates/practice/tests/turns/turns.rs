//! Turns of v3 (§2).

use practice::TurnsWait;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::client::{calls, mixed_setup, names, permission, result, rig, roles, stop, text, tool, user};

#[tokio::test]
async fn a_plain_turn_begins_streams_and_stops() {
    let rig = rig().await;
    let session = rig.plain().await;
    let frames = rig.say(&session, "你好").await;
    assert_eq!(names(&frames), ["turn_start", "text_delta", "turn_stop"]);
    assert_eq!((text(&frames).as_str(), stop(&frames)), ("You said: 你好", "end_turn"));
    let history = rig.history(&session).await;
    assert_eq!(roles(&history), ["user", "assistant"]);
    assert_eq!(history[1]["content"], json!([{"type": "text", "text": "You said: 你好"}]));
}

#[tokio::test]
async fn whole_messages_and_no_stream_tell_the_same_turn() {
    let rig = rig().await;
    let session = rig.plain().await;
    let frames = rig.turn(&session, "message", json!([user("THINK aloud")])).await;
    assert_eq!(names(&frames), ["turn_start", "thinking", "text", "turn_stop"]);
    assert_eq!(frames[2].data, json!({"text": "You said: THINK aloud"}));
    let answer = rig.none(&session, json!([user("THINK aloud")])).await.json();
    assert_eq!(answer["stopReason"], "end_turn");
    let blocks = &answer["messages"][0]["content"];
    assert_eq!((&blocks[0]["thinking"], &blocks[1]["text"]), (&frames[1].data["thinking"], &frames[2].data["text"]));
    let history = rig.history(&session).await;
    assert_eq!(history[1], history[3]);
}

#[tokio::test]
async fn the_mixed_batch_is_answered_in_one_request_and_the_trusted_call_by_nobody() {
    let rig = rig().await;
    let session = rig.create(&mixed_setup()).await;
    let frames = rig.say(&session, "MIX").await;
    let kinds = ["turn_start", "text_delta", "tool_call", "tool_call", "tool_call", "tool_call", "tool_result"];
    assert_eq!(names(&frames), [&kinds[..], &["turn_stop"]].concat());
    assert_eq!(stop(&frames), "tool_use");
    let ids = calls(&frames);
    let waiting = rig.turns.waiting(&session).await.unwrap();
    let waiting: Vec<&str> = waiting.iter().map(|call| call["toolCallId"].as_str().unwrap()).collect();
    assert_eq!(waiting, [&ids[0], &ids[1], &ids[3]]);
    let answers = json!([result(&ids[0], "4"), result(&ids[1], "blue"), permission(&ids[3], true)]);
    let frames = rig.turn(&session, "delta", answers.clone()).await;
    assert_eq!(names(&frames), ["turn_start", "tool_result", "text_delta", "turn_stop"]);
    assert_eq!(text(&frames), "Tools said: 12:00 | 4 | blue | saved hi");
    let history = rig.turns.settled(&session).await.unwrap();
    assert_eq!(roles(&history), ["user", "assistant", "tool", "tool", "tool", "tool", "assistant"]);
    let posts = rig.turns.posts();
    assert_eq!(posts[2].body, json!({"messages": answers, "stream": "delta"}).to_string());
    assert_eq!((posts[2].method.as_str(), posts[2].status), ("POST", Some(200)));
    let decisions = rig.control.counters().decisions;
    assert_eq!((decisions.len(), decisions.iter().any(|seen| seen.repeated)), (3, false));
}

#[tokio::test]
async fn a_denial_is_told_to_the_model_and_only_its_text_is_in_the_history() {
    let rig = rig().await;
    let session = rig.create(&mixed_setup()).await;
    for (reason, wanted) in [(None, "Tool call denied"), (Some("not now"), "Tool call denied: not now")] {
        let asked = rig.say(&session, "CALL:write_note {\"text\":\"a\"}").await;
        let mut denied = permission(&calls(&asked)[0], false);
        denied["reason"] = json!(reason);
        let frames = rig.turn(&session, "delta", json!([denied])).await;
        assert_eq!(text(&frames), format!("Tools said: {wanted}"));
        let history = rig.history(&session).await;
        assert_eq!(history[history.len() - 2]["content"], wanted);
        assert!(!history.iter().any(|message| message["role"] == "tool_permission"));
    }
}

#[tokio::test]
async fn a_granted_tool_without_a_stream_answers_with_its_result_first() {
    let rig = rig().await;
    let session = rig.create(&mixed_setup()).await;
    let asked = rig.none(&session, json!([user("CALL:write_note {\"text\":\"a\"}")])).await.json();
    assert_eq!(asked["stopReason"], "tool_use");
    let id = asked["messages"][0]["content"][1]["toolCallId"].as_str().unwrap().to_owned();
    let answer = rig.none(&session, json!([permission(&id, true)])).await.json();
    assert_eq!(roles(answer["messages"].as_array().unwrap()), ["tool", "assistant"]);
}

#[tokio::test]
async fn overrides_of_a_turn_persist() {
    let rig = rig().await;
    let session = rig.create(&mixed_setup()).await;
    let asked = rig.say(&session, "CALL:write_note {}").await;
    let trusted =
        json!({"tools": [{"name": "write_note", "trust": true}], "options": {"tone": "dry"}, "name": "other"});
    let body = json!({"messages": [permission(&calls(&asked)[0], true)], "agent": trusted, "tools": [tool("new")]});
    assert_eq!(rig.post(&format!("/sessions/{session}/turns"), &body).await.status, 200);
    let shown = rig.session(&session).await;
    assert_eq!(shown["agent"]["name"], "practice");
    assert_eq!(shown["agent"]["tools"], json!([{"name": "write_note", "trust": true}]));
    assert_eq!((&shown["agent"]["options"], &shown["tools"]), (&json!({"tone": "dry"}), &json!([tool("new")])));
    assert_eq!(stop(&rig.say(&session, "CALL:write_note {}").await), "end_turn");
}

#[tokio::test]
async fn history_has_nothing_of_a_step_before_it_is_over_whether_the_reader_stayed_or_not() {
    let rig = rig().await;
    let session = rig.turns.start_scenario("turns-gated").unwrap();
    let mut live = rig.stream(&session, "delta", json!([user("go")])).await;
    live.until("text_delta").await;
    let at_gate = TurnsWait { at_gate: Some(true), ..TurnsWait::default() };
    rig.turns.wait(&session, at_gate).await.unwrap();
    assert!(rig.history(&session).await.is_empty());
    drop(live);
    rig.control.open_gate(&session, "middle").unwrap();
    let looked = rig.turns.wait(&session, TurnsWait { messages: Some(3), ..at_gate }).await.unwrap();
    assert_eq!(looked["messages"], 3);
    assert_eq!(roles(&rig.history(&session).await), ["user", "assistant", "tool"]);
    rig.control.open_gate(&session, "end").unwrap();
    assert_eq!(rig.turns.settled(&session).await.unwrap().len(), 4);
}

#[tokio::test]
async fn a_second_turn_is_not_refused_and_both_end_in_the_history() {
    let rig = rig().await;
    let session = rig.plain().await;
    let mut first = rig.stream(&session, "delta", json!([user("HANG first")])).await;
    first.until("turn_start").await;
    let at_gate = TurnsWait { at_gate: Some(true), ..TurnsWait::default() };
    rig.turns.wait(&session, at_gate).await.unwrap();
    assert_eq!(text(&rig.say(&session, "second").await), "You said: second");
    rig.control.open_gate(&session, "hang").unwrap();
    assert_eq!(stop(&first.rest().await.0), "end_turn");
    let history = rig.turns.settled(&session).await.unwrap();
    let said: Vec<&Value> = history.iter().filter(|one| one["role"] == "user").map(|one| &one["content"]).collect();
    assert_eq!(said, ["second", "HANG first"]);
}

#[tokio::test]
async fn a_turn_can_be_held_and_stepped() {
    let rig = rig().await;
    let session = rig.plain().await;
    rig.control.hold_session(Some(&session)).unwrap();
    let mut live = rig.stream(&session, "delta", json!([user("one two")])).await;
    live.until("turn_start").await;
    let held = TurnsWait { at_gate: Some(true), ..TurnsWait::default() };
    rig.turns.wait(&session, held).await.unwrap();
    rig.control.step(&session).unwrap();
    assert_eq!(live.frame().await.unwrap().data["delta"], "You ");
    rig.control.release(Some(&session)).unwrap();
    assert_eq!(text(&live.rest().await.0), "said: one two");
}

#[tokio::test]
async fn images_of_the_person_are_seen_and_kept() {
    let rig = rig().await;
    let session = rig.plain().await;
    let content = json!([{"type": "text", "text": "look"}, {"type": "image", "url": "data:image/png;base64,AA=="}]);
    let frames = rig.turn(&session, "delta", json!([{"role": "user", "content": content}])).await;
    assert_eq!(text(&frames), "You said: look (1 images)");
    assert_eq!(rig.history(&session).await[0]["content"], content);
}

#[tokio::test]
async fn a_request_that_comes_again_is_carried_out_again_and_its_answers_count_as_repeated() {
    let rig = rig().await;
    let session = rig.create(&mixed_setup()).await;
    let asked = rig.say(&session, "CALL:write_note {}").await;
    let answers = json!([permission(&calls(&asked)[0], true)]);
    assert_eq!(rig.none(&session, answers.clone()).await.status, 200);
    assert_eq!(rig.none(&session, answers).await.status, 500, "nothing waits for it");
    let repeated: Vec<bool> = rig.control.counters().decisions.iter().map(|seen| seen.repeated).collect();
    assert_eq!(repeated, [false, true]);
}
