//! Sessions over a restart of the server, where it has a state file.

use practice::{Config, TurnsManner, TurnsVersion};
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::client::{Rig, calls, mixed_setup, on_file, patient, permission, result, text, user};
use crate::inputs::say;

fn config(file: &std::path::Path, version: TurnsVersion) -> Config {
    Config { turns: TurnsManner::of(version), state_file: Some(file.to_owned()), ..Config::default() }
}

async fn again(rig: Rig, config: Config) -> Rig {
    // The file is complete once nobody holds the server any more.
    drop((rig.control, rig.turns));
    patient(rig.practice.stop()).await;
    on_file(config).await
}

#[tokio::test]
async fn a_session_is_found_again_with_its_history_its_setup_and_the_calls_that_wait() {
    let folder = tempfile::tempdir().unwrap();
    let config = config(&folder.path().join("state.jsonl"), TurnsVersion::V3);
    let rig = on_file(config.clone()).await;
    let session = rig.create(&mixed_setup()).await;
    let gone = rig.plain().await;
    rig.turns.remove(&gone).unwrap();
    let ids = calls(&rig.say(&session, "MIX").await);
    let (shown, history) = (rig.session(&session).await, rig.history(&session).await);

    let rig = again(rig, config).await;
    assert_eq!(rig.turns.sessions(), std::slice::from_ref(&session));
    assert_eq!((rig.session(&session).await, rig.history(&session).await), (shown, history));
    let answers = json!([result(&ids[0], "4"), result(&ids[1], "blue"), permission(&ids[3], true)]);
    let frames = rig.turn(&session, "delta", answers).await;
    assert_eq!(text(&frames), "Tools said: 12:00 | 4 | blue | saved hi");
    let next = calls(&rig.turn(&session, "delta", json!([user("CALL:write_note {}")])).await);
    assert!(!ids.contains(&next[0]), "call ids never come again");
}

#[tokio::test]
async fn the_agent_of_v4_waits_for_the_same_answers_and_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let config = config(&folder.path().join("state.jsonl"), TurnsVersion::V4);
    let rig = on_file(config.clone()).await;
    let session = rig.turns.start_scenario("turns-untrusted").unwrap();
    rig.input(&session, say("go")).await;
    let waiting = rig.turns.waiting(&session).await.unwrap();

    let rig = again(rig, config).await;
    assert_eq!(rig.turns.waiting(&session).await.unwrap(), waiting);
    rig.input(&session, json!({"type": "permission", "toolCallId": waiting[0]["toolCallId"], "granted": true})).await;
    let history = rig.turns.settled(&session).await.unwrap();
    assert_eq!(history.last().unwrap()["content"][0]["text"], "Your note is kept: saved hi.");
    rig.input(&session, say("hello")).await;
    let more = rig.turns.settled(&session).await.unwrap();
    assert_eq!(more.last().unwrap()["content"][0]["text"], "You said: hello");
}
