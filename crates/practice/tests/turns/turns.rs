//! Turns of v3 (§2).

use pretty_assertions::assert_eq;
use serde_json::json;

use crate::client::{calls, mixed_setup, names, permission, result, rig, roles, stop, text, user};

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
    let frames = rig.turn(&session, "delta", answers).await;
    assert_eq!(names(&frames), ["turn_start", "tool_result", "text_delta", "turn_stop"]);
    assert_eq!(text(&frames), "Tools said: 12:00 | 4 | blue | saved hi");
    let history = rig.turns.settled(&session).await.unwrap();
    assert_eq!(roles(&history), ["user", "assistant", "tool", "tool", "tool", "tool", "assistant"]);
    let posts = rig.turns.posts();
    assert_eq!(posts.len(), 3);
    assert!(posts[2].body.starts_with(r#"{"messages":[{"content":"4","role":"tool""#));
    let seen = rig.control.counters();
    assert_eq!(seen.decisions.iter().filter(|seen| !seen.repeated).count(), 3);
    assert_eq!(rig.none(&session, json!([user("hi")])).await.status, 200);
}
