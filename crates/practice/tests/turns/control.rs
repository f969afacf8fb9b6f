//! Control of this side, from the same process and over HTTP.

use practice::{Command, TurnsManner, TurnsOrder, TurnsVersion, TurnsWait};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::client::{Answer, Rig, calls, mixed_setup, permission, raw, rig, rig_of, stop, text, user};

async fn tell(rig: &Rig, order: TurnsOrder) -> Answer {
    let body = serde_json::to_string(&Command::Turns { order }).unwrap();
    raw(&rig.practice.control_url(), "POST", &[("authorization", "Bearer tok")], &body).await.unwrap()
}

#[tokio::test]
async fn another_process_gives_its_orders_over_http() {
    let rig = rig().await;
    let started = tell(&rig, TurnsOrder::Scenario { scenario: "turns-untrusted".into() }).await.json();
    let session = started["session"].as_str().unwrap().to_owned();
    let frames = rig.say(&session, "go").await;
    let until = TurnsWait { pending: Some(true), ..TurnsWait::default() };
    let seen = tell(&rig, TurnsOrder::Wait { session: session.clone(), until }).await.json();
    assert_eq!(seen["pending"][0]["toolCallId"], calls(&frames)[0].as_str());
    assert_eq!(tell(&rig, TurnsOrder::Expire { session: session.clone() }).await.json(), json!({"expired": 1}));
    assert_eq!(stop(&rig.say(&session, "hi").await), "end_turn");
    let posts = tell(&rig, TurnsOrder::Posts).await.json();
    assert_eq!(posts["posts"].as_array().unwrap().len(), 2);
    assert_eq!(tell(&rig, TurnsOrder::Scenario { scenario: "none".into() }).await.status, 404);
    assert_eq!(tell(&rig, TurnsOrder::Look { session: "none".into() }).await.status, 404);
    let manner = TurnsManner::of(TurnsVersion::V4);
    tell(&rig, TurnsOrder::Manner { manner }).await;
    assert_eq!(rig.get("/meta").await.json()["version"], 4);
    tell(&rig, TurnsOrder::Remove { session: session.clone() }).await;
    assert_eq!(rig.get(&format!("/sessions/{session}")).await.status, 404);
}

#[tokio::test]
async fn calls_that_nobody_answered_in_time_are_over_and_say_so() {
    let rig = rig().await;
    let session = rig.create(&mixed_setup()).await;
    let frames = rig.say(&session, "MIX").await;
    assert_eq!(rig.turns.expire(&session).unwrap(), 3);
    let late = json!([permission(&calls(&frames)[3], true)]);
    assert_eq!(rig.none(&session, late).await.status, 500);
    let history = rig.turns.settled(&session).await.unwrap();
    assert_eq!(history.iter().filter(|one| one["content"] == "Nobody answered in time.").count(), 3);
    assert_eq!(rig.turns.expire(&session).unwrap(), 0);
}

#[tokio::test]
async fn expired_calls_let_the_agent_of_v4_go_on() {
    let rig = rig_of(TurnsVersion::V4).await;
    let session = rig.create(&mixed_setup()).await;
    rig.input(&session, json!({"type": "user", "content": "CALL:write_note {}"})).await;
    rig.turns.waiting(&session).await.unwrap();
    rig.turns.expire(&session).unwrap();
    let history = rig.turns.settled(&session).await.unwrap();
    assert_eq!(history.last().unwrap()["content"][0]["text"], "Tools said: Nobody answered in time.");
}

#[tokio::test]
async fn any_frame_can_be_put_on_a_running_turn() {
    let rig = rig().await;
    let session = rig.plain().await;
    assert!(rig.turns.emit(&session, "x", &json!({})).is_err(), "nothing runs");
    let mut live = rig.stream(&session, "delta", json!([user("HANG")])).await;
    live.until("turn_start").await;
    rig.turns.emit(&session, "text_delta", &json!({"delta": "by hand "})).unwrap();
    rig.turns.raw(&session, "event: broken\ndata: {\n\n").unwrap();
    let frames = live.until("broken").await;
    assert_eq!((text(&frames).as_str(), &frames[1].data), ("by hand ", &Value::Null));
    rig.control.open_gate(&session, "hang").unwrap();
    assert_eq!(stop(&live.rest().await.0), "end_turn");
}

#[tokio::test]
async fn a_post_is_seen_from_its_arrival_on() {
    let rig = rig().await;
    let session = rig.plain().await;
    rig.control.hold_session(Some(&session)).unwrap();
    let asked = async { rig.none(&session, json!([user("hi")])).await };
    let looked = async {
        let posts = rig.turns.posted(2).await.unwrap();
        assert_eq!(
            (posts[1].status, posts[1].body.as_str()),
            (None, r#"{"messages":[{"content":"hi","role":"user"}]}"#)
        );
        rig.control.release(Some(&session)).unwrap();
    };
    let (answer, ()) = tokio::join!(asked, looked);
    assert_eq!(answer.status, 200);
    assert_eq!(rig.turns.posts()[1].status, Some(200));
}

#[tokio::test]
async fn another_clients_messages_can_be_written_into_the_history() {
    let rig = rig().await;
    let session = rig.plain().await;
    rig.turns.add_history(&session, user("from elsewhere")).unwrap();
    assert_eq!(rig.history(&session).await, [user("from elsewhere")]);
    assert!(rig.turns.add_history(&session, json!({"role": 1})).is_err());
    assert!(rig.turns.history("none").is_err());
}
