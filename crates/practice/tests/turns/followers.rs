//! The event stream of v4 (§4, events and resume).

use practice::{TurnsManner, TurnsVersion, TurnsWait};
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::client::{Ended, Frame, Live, Rig, mixed_setup, names, rig_of, rig_with, text};
use crate::inputs::say;

async fn quiet() -> (Rig, String) {
    let rig = rig_with(TurnsManner { idle_after_turn: false, ..TurnsManner::of(TurnsVersion::V4) }).await;
    let session = rig.create(&mixed_setup()).await;
    (rig, session)
}

async fn times(live: &mut Live, event: &str, count: usize) -> Vec<Frame> {
    let mut frames = Vec::new();
    for _ in 0..count {
        frames.extend(live.until(event).await);
    }
    frames
}

#[tokio::test]
async fn a_message_streams_in_pieces_and_idle_ends_the_stream() {
    let rig = rig_of(TurnsVersion::V4).await;
    let session = rig.plain().await;
    let mut live = rig.follow(&session, "delta").await;
    rig.input(&session, say("THINK")).await;
    let (frames, ended) = live.rest().await;
    let wanted = ["input", "message_start", "thinking_delta", "text_delta", "message_end", "idle"];
    assert_eq!((names(&frames), ended), (wanted.to_vec(), Ended::Cleanly));
    assert_eq!(text(&frames), "You said: THINK");
    let first = String::from_utf8(frames[0].bytes.clone()).unwrap();
    assert!(first.starts_with("event: input\ndata: {\"id\":\"evt_"), "{first}");
    assert!(first.ends_with("\"type\":\"user\",\"content\":\"THINK\"}\n\n"), "{first}");
    let kept = rig.turns.settled(&session).await.unwrap();
    let start = frames.iter().find(|frame| frame.event == "message_start").unwrap();
    assert_eq!((&kept[0]["id"], &kept[1]["id"]), (&frames[0].data["id"], &start.data["id"]));
    assert_eq!(frames[frames.len() - 2].data["id"], start.data["id"]);
}

#[tokio::test]
async fn whole_messages_have_ids_and_times() {
    let (rig, session) = quiet().await;
    let mut live = rig.follow(&session, "message").await;
    rig.input(&session, say("THINK")).await;
    let frames = live.until("text").await;
    assert_eq!(names(&frames), ["input", "thinking", "text"]);
    assert_ne!(frames[1].data["id"], frames[2].data["id"]);
    assert!(frames[2].data["timestamp"].is_string());
    rig.turns.idle(&session).unwrap();
    assert_eq!(live.rest().await.1, Ended::Cleanly);
}

#[tokio::test]
async fn two_followers_hear_the_same_and_each_others_answers() {
    let (rig, session) = quiet().await;
    let (mut one, mut two) = (rig.follow(&session, "delta").await, rig.follow(&session, "delta").await);
    rig.input(&session, say("CALL:write_note {\"text\":\"a\"}")).await;
    let asked = one.until("tool_call").await;
    let call = asked.last().unwrap().data["toolCallId"].clone();
    rig.turns.input(&session, json!({"type": "permission", "toolCallId": call, "granted": true})).unwrap();
    let heard = times(&mut one, "message_end", 1).await;
    assert_eq!(names(&heard), ["input", "tool_result", "message_start", "text_delta", "message_end"]);
    assert_eq!(heard[0].data["granted"], true);
    let whole: Vec<_> = asked.into_iter().chain(heard).map(|frame| frame.bytes).collect();
    let other: Vec<_> = times(&mut two, "message_end", 2).await.into_iter().map(|frame| frame.bytes).collect();
    assert_eq!(other, whole);
    let again = rig.turns.input(&session, json!({"type": "permission", "toolCallId": call, "granted": true}));
    assert!(again.is_err());
    assert_eq!(rig.control.counters().open_streams, 2);
}

#[tokio::test]
async fn a_new_stream_repeats_what_is_not_in_the_history_and_nothing_else() {
    let (rig, session) = quiet().await;
    rig.input(&session, say("first")).await;
    rig.turns.settled(&session).await.unwrap();
    rig.input(&session, say("HANG")).await;
    let at_gate = TurnsWait { at_gate: Some(true), ..TurnsWait::default() };
    rig.turns.wait(&session, at_gate).await.unwrap();
    let mut live = rig.follow(&session, "delta").await;
    let first = live.frame().await.unwrap();
    assert_eq!(first.data["content"], "HANG");
    rig.control.open_gate(&session, "hang").unwrap();
    assert_eq!(text(&live.until("message_end").await), "You said: HANG");
}

#[tokio::test]
async fn a_stream_that_opens_in_the_middle_of_a_message_begins_it_again() {
    let (rig, session) = quiet().await;
    rig.control.hold_session(Some(&session)).unwrap();
    let mut first = rig.follow(&session, "delta").await;
    rig.input(&session, say("one two three")).await;
    for _ in 0..2 {
        rig.control.step(&session).unwrap();
    }
    let seen = times(&mut first, "text_delta", 2).await;
    let id = seen.iter().find(|frame| frame.event == "message_start").unwrap().data["id"].clone();
    rig.control.cut_streams();
    assert_eq!(first.rest().await.1, Ended::Cut);
    let mut second = rig.follow(&session, "delta").await;
    rig.control.release(Some(&session)).unwrap();
    let frames = second.until("message_end").await;
    assert_eq!(frames[1].data["id"], id);
    assert_eq!(text(&frames), "You said: one two three");
}

#[tokio::test]
async fn a_stream_wants_a_mode_that_is_offered() {
    let rig = rig_with(TurnsManner { message: false, ..TurnsManner::of(TurnsVersion::V4) }).await;
    let session = rig.plain().await;
    let ask = async |query: &str| rig.get(&format!("/sessions/{session}/events/stream{query}")).await.status;
    assert_eq!((ask("").await, ask("?stream=message").await, ask("?stream=none").await), (400, 400, 400));
    assert_eq!(rig.get("/sessions/none/events/stream?stream=delta").await.status, 404);
    rig.turns.set_manner(TurnsManner { says_stream: false, ..TurnsManner::of(TurnsVersion::V4) });
    assert_eq!(ask("?stream=delta").await, 400);
    assert!(rig.get("/meta").await.json()["agents"][0]["capabilities"].get("stream").is_none());
}

#[tokio::test]
async fn a_failure_is_an_event_and_the_stream_stays() {
    let (rig, session) = quiet().await;
    let mut live = rig.follow(&session, "delta").await;
    rig.input(&session, say("ERR")).await;
    let failed = live.until("error").await;
    assert_eq!(failed.last().unwrap().data["code"], "agent_error");
    rig.input(&session, say("again")).await;
    assert_eq!(text(&live.until("message_end").await), "You said: again");
}

#[tokio::test]
async fn a_session_that_is_deleted_ends_its_streams() {
    let (rig, session) = quiet().await;
    let mut live = rig.follow(&session, "delta").await;
    rig.turns.emit(&session, "mood_changed", &json!({"mood": "curious"})).unwrap();
    assert_eq!(live.frame().await.unwrap().event, "mood_changed");
    rig.turns.remove(&session).unwrap();
    assert_eq!(live.rest().await, (vec![], Ended::Cleanly));
    assert_eq!(rig.get(&format!("/sessions/{session}")).await.status, 404);
}
