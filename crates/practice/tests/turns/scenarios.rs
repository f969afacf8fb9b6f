//! The scenarios made for this protocol, and those of the others.

use practice::{TurnsVersion, TurnsWait};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::client::{Frame, Rig, calls, names, permission, result, rig, rig_of, stop, text, user};
use crate::inputs::say;

/// The answers to what waits, all alike.
async fn answers(rig: &Rig, session: &str, yes: bool) -> Vec<Value> {
    let clients: Vec<Value> = rig.session(session).await["tools"].as_array().cloned().unwrap_or_default();
    let waiting = rig.turns.waiting(session).await.unwrap();
    let answer = |call: &Value| {
        let id = call["toolCallId"].as_str().unwrap();
        let client = call["name"] == "ghost" || clients.iter().any(|tool| tool["name"] == call["name"]);
        if client { result(id, if yes { "sea" } else { "declined" }) } else { permission(id, yes) }
    };
    waiting.iter().map(answer).collect()
}

/// Plays what one message plays of a scenario, answering everything alike.
async fn play(rig: &Rig, session: &str, mode: &str, yes: bool) -> Vec<Frame> {
    let mut frames = rig.turn(session, mode, json!([user("go")])).await;
    while stop(&frames) == "tool_use" {
        let answers = answers(rig, session, yes).await;
        frames.extend(rig.turn(session, mode, json!(answers)).await);
    }
    frames
}

async fn started(rig: &Rig, id: &str) -> String {
    let session = rig.turns.start_scenario(id).unwrap();
    for gate in ["middle", "end"] {
        rig.control.open_gate(&session, gate).unwrap();
    }
    session
}

async fn played(id: &str, yes: bool) -> Vec<Frame> {
    let rig = rig().await;
    let session = started(&rig, id).await;
    play(&rig, &session, "delta", yes).await
}

fn all() -> Vec<String> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/scenarios");
    let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter_map(|name| name.strip_suffix(".json").filter(|id| *id != "oversized").map(str::to_owned)).collect()
}

#[tokio::test]
async fn every_scenario_comes_to_its_stop_whatever_is_answered() {
    let rig = rig().await;
    let mut count = 0;
    for id in all() {
        for yes in [true, false] {
            let session = started(&rig, &id).await;
            let mode = if yes { "delta" } else { "message" };
            let frames = play(&rig, &session, mode, yes).await;
            let starts = frames.iter().filter(|frame| frame.event == "turn_start").count();
            let stops = frames.iter().filter(|frame| frame.event == "turn_stop").count();
            assert_eq!((starts, names(&frames)[0]), (stops, "turn_start"), "{id}");
            assert!(rig.turns.settled(&session).await.unwrap().iter().any(|one| one["role"] == "user"), "{id}");
            count += 1;
        }
    }
    assert!(count > 2 * 60, "{count}");
}

#[tokio::test]
async fn every_scenario_is_worked_off_in_v4_too() {
    let rig = rig_of(TurnsVersion::V4).await;
    for id in all().into_iter().filter(|id| id.starts_with("turns-")) {
        let session = started(&rig, &id).await;
        rig.input(&session, say("go")).await;
        loop {
            let resting = TurnsWait { active: Some(false), ..TurnsWait::default() };
            let seen = rig.turns.wait(&session, resting).await.unwrap();
            let Some(call) = seen["pending"].as_array().unwrap().first().cloned() else { break };
            let client =
                call["name"] == "ghost" || seen["tools"].as_array().unwrap().iter().any(|name| *name == call["name"]);
            let input = if client {
                json!({"type": "tool", "toolCallId": call["toolCallId"], "content": "sea"})
            } else {
                json!({"type": "permission", "toolCallId": call["toolCallId"], "granted": true})
            };
            rig.input(&session, input).await;
        }
        let told = rig.turns.told(&session).unwrap();
        assert_eq!(told.last().unwrap()["event"], "idle", "{id}");
    }
}

#[tokio::test]
async fn people_are_offered_those_worth_watching_and_not_on_the_other_protocols() {
    let ids = |rows: Vec<contract::command::ScenarioRow>| rows.into_iter().map(|row| row.id).collect::<Vec<_>>();
    assert_eq!(ids(practice::turns_scenarios()), ["turns-chinese", "turns-trip"]);
    let others = [practice::scenarios(), practice::runs_scenarios()].map(ids).concat();
    assert!(!others.iter().any(|id| id.starts_with("turns-")));
}

#[tokio::test]
async fn the_trip_asks_a_question_and_a_booking_and_follows_the_answers() {
    let (yes, no) = (played("turns-trip", true).await, played("turns-trip", false).await);
    assert!(text(&yes).contains("Then sea it is.") && text(&yes).contains("Your ticket is booked"));
    assert!(text(&no).contains("I booked nothing"));
}

#[tokio::test]
async fn the_chinese_scenario_is_the_seed_pages_own_story() {
    let frames = played("turns-chinese", false).await;
    assert!(text(&frames).contains("我没有写笔记。Tool call denied"));
    let result = frames.iter().find(|frame| frame.event == "tool_result").unwrap();
    assert_eq!(result.data["content"], "东京：18°C，多云");
}

#[tokio::test]
async fn the_mixed_scenario_makes_four_calls_and_three_wait() {
    let rig = rig().await;
    let session = rig.turns.start_scenario("turns-mixed").unwrap();
    let frames = rig.say(&session, "go").await;
    assert_eq!((calls(&frames).len(), rig.turns.waiting(&session).await.unwrap().len()), (4, 3));
    let result = frames.iter().find(|frame| frame.event == "tool_result").unwrap();
    assert_eq!(result.data["toolCallId"], calls(&frames)[2].as_str());
}

#[tokio::test]
async fn a_refusal_says_nothing_and_the_session_goes_on() {
    let rig = rig().await;
    let session = rig.turns.start_scenario("turns-refusal").unwrap();
    let frames = rig.say(&session, "go").await;
    assert_eq!((names(&frames), stop(&frames)), (vec!["turn_start", "turn_stop"], "refusal"));
    assert_eq!(text(&rig.say(&session, "please").await), "That I can do.");
}

#[tokio::test]
async fn an_answer_at_its_limit_goes_on_when_it_is_asked_to() {
    let rig = rig().await;
    let session = rig.turns.start_scenario("turns-max-tokens").unwrap();
    let frames = rig.say(&session, "go").await;
    assert_eq!((text(&frames).as_str(), stop(&frames)), ("There is a lot to tell, and it begins with", "max_tokens"));
    assert_eq!(text(&rig.say(&session, "Continue").await), " the sea, and ends with the sea.");
}

#[tokio::test]
async fn a_failure_keeps_what_was_said_and_a_second_try_works() {
    let rig = rig().await;
    let session = rig.turns.start_scenario("turns-error").unwrap();
    let frames = rig.say(&session, "go").await;
    assert_eq!((text(&frames).as_str(), stop(&frames)), ("This begins well, and then", "error"));
    assert_eq!(rig.history(&session).await.len(), 2);
    assert_eq!(text(&rig.say(&session, "go").await), "This time it worked.");
}

#[tokio::test]
async fn images_come_as_blocks_of_a_result() {
    let frames = played("turns-images", true).await;
    let result = frames.iter().find(|frame| frame.event == "tool_result").unwrap();
    let kinds: Vec<&Value> = result.data["content"].as_array().unwrap().iter().map(|block| &block["type"]).collect();
    assert_eq!(kinds, ["text", "image", "image"]);
    assert!(result.data["content"][1]["url"].as_str().unwrap().starts_with("data:image/png;base64,"));
}

#[tokio::test]
async fn several_messages_of_a_turn_are_several_in_message_mode_and_in_the_history() {
    let rig = rig().await;
    let session = rig.turns.start_scenario("turns-messages").unwrap();
    let frames = rig.turn(&session, "message", json!([user("go")])).await;
    let wanted = ["turn_start", "text", "text", "tool_call", "tool_result", "thinking", "text", "turn_stop"];
    assert_eq!(names(&frames), wanted);
    let history = rig.history(&session).await;
    assert_eq!(history.iter().filter(|one| one["role"] == "assistant").count(), 3);
}

#[tokio::test]
async fn unknown_and_broken_events_stand_between_known_ones() {
    let frames = played("turns-unknown", true).await;
    let broken: Vec<&Frame> = frames.iter().filter(|frame| frame.data.is_null()).collect();
    assert_eq!((broken.len(), broken[0].event.as_str()), (1, "text_delta"));
    assert!(names(&frames).contains(&"mood_changed"));
}

#[tokio::test]
async fn a_hidden_tool_runs_and_a_result_comes_for_a_call_nobody_saw() {
    let frames = played("turns-hidden-tool", true).await;
    let results: Vec<&Value> =
        frames.iter().filter(|frame| frame.event == "tool_result").map(|frame| &frame.data["toolCallId"]).collect();
    assert_eq!(results, [calls(&frames)[0].as_str(), "call_never_seen"]);
    assert_eq!(stop(&frames), "end_turn");
}

#[tokio::test]
async fn a_long_command_is_told_to_its_last_line() {
    let rig = rig().await;
    let session = rig.turns.start_scenario("turns-long-input").unwrap();
    rig.say(&session, "go").await;
    let waiting = rig.turns.waiting(&session).await.unwrap();
    let command = waiting[0]["input"]["command"].as_str().unwrap();
    assert!(command.len() > 5_000 && command.ends_with("rm -rf ./build ./dist"));
}

#[tokio::test]
async fn a_scenario_can_be_armed_for_a_session_or_asked_for_in_a_message() {
    let rig = rig().await;
    let session = rig.plain().await;
    rig.turns.arm(&session, "turns-plain").unwrap();
    assert_eq!(text(&rig.say(&session, "go").await), "Hello. I am a practice agent and run nothing.");
    assert_eq!(text(&rig.say(&session, "go").await), "And this is my second answer.");
    assert!(text(&rig.say(&session, "PLAY:turns-thinking").await).starts_with("Away from the sun"));
}
