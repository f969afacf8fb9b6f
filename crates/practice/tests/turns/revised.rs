//! The draft under the same number (§3).

use practice::{TurnsLocation, TurnsManner, TurnsVersion, TurnsWait};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::client::{Rig, calls, mixed_setup, permission, result, rig_of, rig_with, roles, stop, tool, user};

async fn revised() -> (Rig, String) {
    let rig = rig_of(TurnsVersion::V3Revised).await;
    let session = rig.create(&mixed_setup()).await;
    (rig, session)
}

#[tokio::test]
async fn a_session_is_made_with_a_location_and_an_empty_body() {
    let (rig, _) = revised().await;
    let made = rig.post("/sessions", &mixed_setup()).await;
    assert_eq!((made.status, made.body.len()), (201, 0));
    let location = made.header("location").unwrap();
    let id = rig.turns.sessions().pop().unwrap();
    assert_eq!(location, format!("/turns/sessions/{id}"));
    assert_eq!(rig.get("/meta").await.json()["version"], 3);
    let absolute = TurnsManner { location: TurnsLocation::Absolute, ..TurnsManner::of(TurnsVersion::V3Revised) };
    let rig = rig_with(absolute).await;
    let made = rig.post("/sessions", &mixed_setup()).await;
    assert!(made.header("location").unwrap().starts_with(&rig.base));
}

#[tokio::test]
async fn what_cannot_be_is_refused_when_a_session_is_made() {
    let (rig, _) = revised().await;
    let make = async |body: Value| rig.post("/sessions", &body).await.status;
    assert_eq!(make(json!({"agent": {"name": "nobody"}})).await, 404);
    assert_eq!(make(json!({"agent": {"name": "practice", "tools": [{"name": "rocket"}]}})).await, 400);
    assert_eq!(make(json!({"agent": {"name": "practice", "options": {"model": "gone"}}})).await, 400);
    assert_eq!(make(json!({"agent": {"name": "practice"}, "tools": [tool("a"), tool("a")]})).await, 400);
    assert_eq!(rig.send("POST", "/sessions", "{not json").await.status, 400);
}

#[tokio::test]
async fn a_session_says_whether_a_turn_is_active_and_what_waits() {
    let (rig, session) = revised().await;
    let shown = rig.session(&session).await;
    assert_eq!((&shown["active"], &shown["pending"]), (&json!(false), &json!([])));
    let mut live = rig.stream(&session, "delta", json!([user("HANG")])).await;
    live.until("turn_start").await;
    let at_gate = TurnsWait { at_gate: Some(true), ..TurnsWait::default() };
    rig.turns.wait(&session, at_gate).await.unwrap();
    assert_eq!(rig.session(&session).await["active"], true);
    for answer in [
        rig.none(&session, json!([user("again")])).await,
        rig.send("PATCH", &format!("/sessions/{session}"), r#"{"tools":[]}"#).await,
    ] {
        assert_eq!(answer.status, 409, "{}", answer.text());
    }
    rig.control.open_gate(&session, "hang").unwrap();
    live.rest().await;
    let frames = rig.say(&session, "CALL:write_note {\"text\":\"a\"}").await;
    let shown = rig.session(&session).await;
    let waits = json!([{"toolCallId": calls(&frames)[0], "name": "write_note", "input": {"text": "a"}}]);
    assert_eq!((&shown["active"], &shown["pending"]), (&json!(false), &waits));
}

#[tokio::test]
async fn exactly_one_answer_per_call_that_waits_is_taken() {
    let (rig, session) = revised().await;
    assert_eq!(rig.none(&session, json!([result("call_0", "x")])).await.status, 400, "nothing waits");
    let asked = rig.none(&session, json!([user("MIX")])).await.json();
    let ids: Vec<String> =
        asked["pending"].as_array().unwrap().iter().map(|one| one["toolCallId"].as_str().unwrap().to_owned()).collect();
    let (a, b, d) = (result(&ids[0], "4"), result(&ids[1], "blue"), permission(&ids[2], true));
    for bad in [
        json!([user("hello?")]),
        json!([a, b]),
        json!([a, b, d, a]),
        json!([a, b, d, result("call_99", "x")]),
        json!([a, b, d, user("and more")]),
        json!([a, b, result(&ids[2], "done")]),
        json!([a, permission(&ids[1], true), d]),
    ] {
        assert_eq!(rig.none(&session, bad.clone()).await.status, 400, "{bad}");
    }
    assert_eq!(stop(&rig.turn(&session, "delta", json!([d, a, b])).await), "end_turn");
}

#[tokio::test]
async fn a_patch_changes_the_session_and_a_turn_does_not() {
    let (rig, session) = revised().await;
    let change = json!({"agent": {"tools": [{"name": "clock"}], "options": {"api_key": "s3cret"}}, "tools": []});
    let changed = rig.send("PATCH", &format!("/sessions/{session}"), &change.to_string()).await;
    assert_eq!((changed.status, &changed.json()), (200, &rig.session(&session).await));
    assert_eq!(changed.json()["agent"]["options"], json!({"api_key": "***"}));
    let over = json!({"messages": [user("hi")], "agent": {"tools": []}});
    rig.post(&format!("/sessions/{session}/turns"), &over).await;
    assert_eq!(rig.session(&session).await["agent"]["tools"], json!([{"name": "clock", "trust": false}]));
    let refused =
        rig.send("PATCH", &format!("/sessions/{session}"), r#"{"agent":{"tools":[{"name":"rocket"}]}}"#).await;
    assert_eq!(refused.status, 400);
    assert_eq!(rig.send("PATCH", "/sessions/none", "{}").await.status, 404);
    assert_eq!(rig.turns.posts().iter().filter(|post| post.method == "PATCH").count(), 3);
}

#[tokio::test]
async fn history_comes_in_ranges_that_say_what_they_are() {
    let (rig, session) = revised().await;
    for text in ["a", "b"] {
        rig.say(&session, text).await;
    }
    let ask = async |query: &str| rig.get(&format!("/sessions/{session}/history?type=full{query}")).await;
    let last = ask("&start=-3").await.json();
    assert_eq!(roles(last["history"]["full"].as_array().unwrap()), ["assistant", "user", "assistant"]);
    assert_eq!(last["range"], json!({"start": 1, "end": 4, "total": 4}));
    assert_eq!(ask("&start=1&end=2").await.json()["history"]["full"].as_array().unwrap().len(), 1);
    assert_eq!(ask("&start=3&end=1").await.status, 400);
    assert_eq!(ask("&start=many").await.status, 400);
}
