//! Inputs, sessions and history of v4 (§4).

use practice::{TurnsFold, TurnsLocation, TurnsManner, TurnsVersion, TurnsWait};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::client::{Rig, mixed_setup, names, raw, rig_of, rig_with, roles};

pub fn say(text: &str) -> Value {
    json!({"type": "user", "content": text})
}

async fn v4() -> (Rig, String) {
    let rig = rig_of(TurnsVersion::V4).await;
    let session = rig.create(&mixed_setup()).await;
    (rig, session)
}

async fn history(rig: &Rig, session: &str) -> Vec<Value> {
    let mut entries =
        rig.get(&format!("/sessions/{session}/history")).await.json()["history"].as_array().unwrap().clone();
    entries.reverse();
    entries
}

#[tokio::test]
async fn a_session_is_made_at_an_absolute_address_that_serves_it() {
    let (rig, _) = v4().await;
    let made = rig.post("/sessions", &mixed_setup()).await;
    assert_eq!((made.status, made.body.len()), (201, 0));
    let location = made.header("location").unwrap();
    assert!(location.starts_with(&format!("{}/sessions/", rig.base)), "{location}");
    let found = raw(&location, "GET", &[("authorization", "Bearer tok")], "").await.unwrap();
    assert_eq!((found.status, &found.json()["pending"]), (200, &json!([])));
    assert_eq!(rig.get("/meta").await.json()["version"], 4);
}

#[tokio::test]
async fn a_location_can_be_another_origin_that_serves_the_same_session() {
    let manner = TurnsManner { location: TurnsLocation::OtherOrigin, ..TurnsManner::of(TurnsVersion::V4) };
    let rig = rig_with(manner).await;
    let location = rig.post("/sessions", &mixed_setup()).await.header("location").unwrap();
    let other = rig.practice.turns_other_base_url().unwrap();
    assert!(location.starts_with(&other) && !location.starts_with(&rig.base), "{location}");
    let found = raw(&location, "GET", &[("authorization", "Bearer tok")], "").await.unwrap();
    assert_eq!(found.status, 200);
    let refused = raw(&location, "GET", &[], "").await.unwrap();
    assert_eq!(refused.status, 401);
    let visits: Vec<_> = rig.turns.visits().into_iter().map(|visit| (visit.method, visit.with_key)).collect();
    assert_eq!(visits, [("GET".to_owned(), true), ("GET".to_owned(), false)], "what came here alone");
    rig.practice.stop().await;
    assert!(tokio::net::TcpStream::connect(other.split('/').nth(2).unwrap()).await.is_err());
}

#[tokio::test]
async fn a_location_can_be_any_text() {
    let location = TurnsLocation::Prefix { text: "https://elsewhere.invalid/v4".into() };
    let rig = rig_with(TurnsManner { location, ..TurnsManner::of(TurnsVersion::V4) }).await;
    let made = rig.post("/sessions", &mixed_setup()).await.header("location").unwrap();
    let id = rig.turns.sessions().pop().unwrap();
    assert_eq!(made, format!("https://elsewhere.invalid/v4/sessions/{id}"));
}

#[tokio::test]
async fn secrets_are_told_as_whether_there_is_one() {
    let (rig, session) = v4().await;
    assert_eq!(rig.session(&session).await["agent"]["options"], json!({"api_key": false}));
    let change = json!({"agent": {"options": {"api_key": "s3cret", "tone": "dry"}}}).to_string();
    let changed = rig.send("PATCH", &format!("/sessions/{session}"), &change).await.json();
    assert_eq!(changed["agent"]["options"], json!({"api_key": true, "tone": "dry"}));
    assert!(changed.get("active").is_none());
}

#[tokio::test]
async fn every_answer_goes_alone_and_the_agent_goes_on_behind_the_last() {
    let (rig, session) = v4().await;
    rig.input(&session, say("MIX")).await;
    let waiting = rig.turns.waiting(&session).await.unwrap();
    let ids: Vec<&str> = waiting.iter().map(|call| call["toolCallId"].as_str().unwrap()).collect();
    rig.input(&session, json!({"type": "permission", "toolCallId": ids[2], "granted": true})).await;
    assert_eq!(rig.session(&session).await["pending"].as_array().unwrap().len(), 2);
    rig.input(&session, json!({"type": "tool", "toolCallId": ids[0], "content": "4"})).await;
    rig.input(&session, json!({"type": "tool", "toolCallId": ids[1], "content": "blue"})).await;
    let kept = rig.turns.settled(&session).await.unwrap();
    assert_eq!(roles(&kept), ["user", "assistant", "tool", "tool", "tool", "tool", "assistant"]);
    assert_eq!(kept[6]["content"][0]["text"], "Tools said: 12:00 | saved hi | 4 | blue");
    assert_eq!(kept[1]["content"][1]["type"], "tool_call");
    let told = rig.turns.told(&session).unwrap();
    let id_of = |event: &str, call: &str| {
        let found = told.iter().find(|one| one["event"] == event && one["data"]["toolCallId"] == call);
        found.unwrap()["data"]["id"].clone()
    };
    assert_eq!(kept[3]["id"], id_of("tool_result", ids[2]), "the result of a granted tool");
    assert_eq!(kept[4]["id"], id_of("input", ids[0]), "the result of a tool of the client");
    assert_eq!(history(&rig, &session).await, kept);
}

#[tokio::test]
async fn an_answer_to_what_does_not_wait_is_refused() {
    let (rig, session) = v4().await;
    let path = format!("/sessions/{session}/input");
    let permission = |call: &str| json!({"type": "permission", "toolCallId": call, "granted": false});
    assert_eq!(rig.post(&path, &permission("call_1")).await.status, 400);
    rig.input(&session, say("CALL:write_note {}")).await;
    let call = rig.turns.waiting(&session).await.unwrap()[0]["toolCallId"].as_str().unwrap().to_owned();
    assert_eq!(rig.post(&path, &json!({"type": "tool", "toolCallId": call, "content": "x"})).await.status, 400);
    rig.input(&session, permission(&call)).await;
    assert_eq!(rig.post(&path, &permission(&call)).await.status, 400, "already resolved");
    assert_eq!(rig.post(&path, &json!({"type": "steer"})).await.status, 400);
    assert_eq!(rig.post("/sessions/none/input", &say("hi")).await.status, 404);
    let repeated: Vec<bool> = rig.control.counters().decisions.iter().map(|seen| seen.repeated).collect();
    assert_eq!(repeated, [true, false, false, true]);
}

#[tokio::test]
async fn a_message_while_the_agent_works_waits_for_its_turn() {
    let (rig, session) = v4().await;
    rig.input(&session, say("HANG")).await;
    let at_gate = TurnsWait { at_gate: Some(true), ..TurnsWait::default() };
    rig.turns.wait(&session, at_gate).await.unwrap();
    rig.input(&session, say("next")).await;
    assert_eq!(rig.turns.glimpse(&session).unwrap()["inbox"], 1);
    rig.control.open_gate(&session, "hang").unwrap();
    let kept = rig.turns.settled(&session).await.unwrap();
    let said: Vec<&Value> = kept.iter().filter(|one| one["role"] == "user").map(|one| &one["content"]).collect();
    assert_eq!(said, ["HANG", "next"]);
}

#[tokio::test]
async fn a_message_can_interrupt_the_agent_where_that_is_its_manner() {
    let rig = rig_with(TurnsManner { interrupts: true, ..TurnsManner::of(TurnsVersion::V4) }).await;
    let session = rig.plain().await;
    rig.input(&session, say("HANG")).await;
    let at_gate = TurnsWait { at_gate: Some(true), ..TurnsWait::default() };
    rig.turns.wait(&session, at_gate).await.unwrap();
    rig.input(&session, say("next")).await;
    let kept = rig.turns.settled(&session).await.unwrap();
    assert_eq!(roles(&kept), ["user", "user", "assistant"]);
}

#[tokio::test]
async fn cancel_ends_the_work_and_answers_what_waits() {
    let (rig, session) = v4().await;
    rig.input(&session, say("MIX")).await;
    let waiting = rig.turns.waiting(&session).await.unwrap();
    rig.input(&session, json!({"type": "cancel"})).await;
    let kept = rig.turns.settled(&session).await.unwrap();
    let dropped: Vec<&Value> =
        kept.iter().filter(|one| one["content"] == "Cancelled by the user.").map(|one| &one["toolCallId"]).collect();
    let ids: Vec<&Value> = waiting.iter().map(|call| &call["toolCallId"]).collect();
    assert_eq!(dropped, ids);
    rig.input(&session, say("and now")).await;
    rig.turns.wait(&session, TurnsWait { messages: Some(kept.len() + 2), ..TurnsWait::default() }).await.unwrap();
}

#[tokio::test]
async fn what_was_said_before_a_cancel_is_kept() {
    let (rig, _) = v4().await;
    let session = rig.turns.start_scenario("turns-shared").unwrap();
    rig.input(&session, say("go")).await;
    let at_gate = TurnsWait { at_gate: Some(true), ..TurnsWait::default() };
    rig.turns.wait(&session, at_gate).await.unwrap();
    rig.input(&session, json!({"type": "cancel"})).await;
    let kept = rig.turns.settled(&session).await.unwrap();
    assert_eq!(kept[1]["content"], json!([{"type": "text", "text": "I look around. "}]));
}

#[tokio::test]
async fn history_pages_go_back_from_the_newest_entry() {
    let rig = rig_with(TurnsManner { history_page: 3, ..TurnsManner::of(TurnsVersion::V4) }).await;
    let session = rig.plain().await;
    for text in ["a", "b"] {
        rig.input(&session, say(text)).await;
        rig.turns.settled(&session).await.unwrap();
    }
    let path = format!("/sessions/{session}/history");
    let newest = rig.get(&path).await.json();
    assert_eq!(roles(newest["history"].as_array().unwrap()), ["assistant", "user", "assistant"]);
    assert!(newest["history"][0]["timestamp"].is_string());
    let before = newest["before"].as_str().unwrap();
    let oldest = rig.get(&format!("{path}?before={before}")).await.json();
    assert_eq!((roles(oldest["history"].as_array().unwrap()), oldest.get("before")), (vec!["user"], None));
    assert_eq!(rig.get(&format!("{path}?before=nonsense")).await.status, 400);
    rig.turns.set_manner(TurnsManner { tail: false, ..TurnsManner::of(TurnsVersion::V4) });
    assert_eq!(rig.get(&path).await.status, 404);
}

#[tokio::test]
async fn images_the_agent_does_not_take_are_refused() {
    let rig = rig_with(TurnsManner { image_http: false, ..TurnsManner::of(TurnsVersion::V4) }).await;
    let session = rig.plain().await;
    let picture = |url: &str| json!({"type": "user", "content": [{"type": "image", "url": url}]});
    let path = format!("/sessions/{session}/input");
    assert_eq!(rig.post(&path, &picture("https://example.invalid/a.png")).await.status, 400);
    assert_eq!(rig.post(&path, &picture("data:image/png;base64,AA==")).await.status, 200);
}

#[tokio::test]
async fn an_idle_fold_keeps_the_history_back_until_nothing_is_left() {
    let rig = rig_with(TurnsManner { fold: TurnsFold::Idle, ..TurnsManner::of(TurnsVersion::V4) }).await;
    let session = rig.turns.start_scenario("turns-shared").unwrap();
    rig.input(&session, say("go")).await;
    rig.control.open_gate(&session, "middle").unwrap();
    let call = rig.turns.waiting(&session).await.unwrap()[0]["toolCallId"].clone();
    assert!(history(&rig, &session).await.is_empty());
    let mut live = rig.follow(&session, "delta").await;
    let replayed = live.until("tool_call").await;
    assert_eq!(names(&replayed), ["input", "message_start", "text_delta", "message_end", "tool_call"]);
    rig.input(&session, json!({"type": "permission", "toolCallId": call, "granted": true})).await;
    live.until("idle").await;
    assert_eq!(roles(&history(&rig, &session).await), ["user", "assistant", "tool", "assistant"]);
}
