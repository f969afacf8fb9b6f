//! Our answers beside those of the reference server, byte for byte where only the numbers of the calls differ.

use practice::TurnsManner;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::client::{Frame, Rig, bytes, calls, mixed_setup, permission, result, rig_with, user};

/// The bytes of a capture.
fn captured(name: &str) -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/captures/turns");
    std::fs::read_to_string(format!("{folder}/{name}")).unwrap()
}

/// The numbers of the calls are the model's: each becomes its place.
fn renumbered(text: &str) -> String {
    let mut known: Vec<String> = Vec::new();
    let mut parts = text.split("\"call_");
    let mut out = parts.next().unwrap().to_owned();
    for part in parts {
        let (number, rest) = part.split_once('"').unwrap();
        let place = known.iter().position(|one| one == number).unwrap_or_else(|| {
            known.push(number.to_owned());
            known.len() - 1
        });
        out.push_str(&format!("\"call_{place}\"{rest}"));
    }
    out
}

fn same(frames: &[Frame], name: &str) {
    assert_eq!(renumbered(&bytes(frames)), renumbered(&captured(name)), "{name}");
}

async fn measured() -> (Rig, String) {
    let rig = rig_with(TurnsManner::measured()).await;
    let session = rig.create(&mixed_setup()).await;
    (rig, session)
}

const NOTE: &str = "CALL:write_note {\"text\":\"hi\"}";

#[tokio::test]
async fn a_plain_answer_and_one_that_is_cut_off_have_the_bytes_of_the_real_server() {
    let (rig, session) = measured().await;
    same(&rig.say(&session, "hello").await, "01-plain-delta.sse");
    same(&rig.say(&session, "LEN").await, "12-long-delta.sse");
}

#[tokio::test]
async fn an_untrusted_tool_that_is_granted_has_the_bytes_of_the_real_server() {
    let (rig, session) = measured().await;
    let asked = rig.say(&session, NOTE).await;
    same(&asked, "02-untrusted-delta.sse");
    let granted = rig.turn(&session, "delta", json!([permission(&calls(&asked)[0], true)])).await;
    same(&granted, "03-grant-delta.sse");
}

#[tokio::test]
async fn an_untrusted_tool_that_is_denied_has_the_bytes_of_the_real_server() {
    let (rig, session) = measured().await;
    let asked = rig.turn(&session, "message", json!([user(NOTE)])).await;
    same(&asked, "04-untrusted-message.sse");
    let mut denied = permission(&calls(&asked)[0], false);
    denied["reason"] = json!("not now");
    same(&rig.turn(&session, "message", json!([denied])).await, "05-deny-message.sse");
}

#[tokio::test]
async fn a_trusted_tool_has_the_bytes_of_the_real_server() {
    let (rig, session) = measured().await;
    same(&rig.say(&session, "CALL:clock").await, "06-trusted-delta.sse");
}

#[tokio::test]
async fn the_mixed_batch_has_the_bytes_of_the_real_server() {
    let (rig, session) = measured().await;
    let frames = rig.say(&session, "MIX").await;
    same(&frames, "07-mixed-delta.sse");
    let ids = calls(&frames);
    let mut pick = result(&ids[1], "");
    pick["content"] = json!([{"type": "text", "text": "blue"}]);
    let answers = json!([result(&ids[0], "4"), pick, permission(&ids[3], true)]);
    same(&rig.turn(&session, "delta", answers).await, "08-mixed-resolve-delta.sse");
}

#[tokio::test]
async fn a_tool_nobody_has_has_the_bytes_of_the_real_server() {
    let (rig, session) = measured().await;
    same(&rig.say(&session, "CALL:ghost").await, "14-unknowntool-delta.sse");
}

#[tokio::test]
async fn answers_without_a_stream_have_the_bytes_of_the_real_server() {
    let (rig, session) = measured().await;
    let whole = |answer: crate::client::Answer| renumbered(&answer.text());
    let kept = |name: &str| renumbered(captured(name).trim_end());
    let asked = rig.none(&session, json!([user(NOTE)])).await;
    let id = asked.json()["messages"][0]["content"][1]["toolCallId"].as_str().unwrap().to_owned();
    assert_eq!(whole(asked), kept("09-untrusted-none.json"));
    assert_eq!(whole(rig.none(&session, json!([permission(&id, true)])).await), kept("10-grant-none.json"));
    assert_eq!(whole(rig.none(&session, json!([user("CALL:clock")])).await), kept("11-trusted-none.json"));
    assert_eq!(whole(rig.none(&session, json!([user("REFUSE")])).await), kept("13-filter-none.json"));
}

#[tokio::test]
async fn only_history_has_the_result_of_a_granted_tool_and_a_trusted_one_twice() {
    let (rig, session) = measured().await;
    let asked = rig.say(&session, &format!("CALL:clock\n{NOTE}")).await;
    rig.turn(&session, "delta", json!([permission(&calls(&asked)[1], true)])).await;
    let history = rig.history(&session).await;
    let results: Vec<Value> = history.into_iter().filter(|message| message["role"] == "tool").collect();
    let ids: Vec<&str> = results.iter().map(|result| result["toolCallId"].as_str().unwrap()).collect();
    assert_eq!(ids, ["call_1", "call_1", "call_2"]);
    assert_eq!(results[2]["content"], "\"saved hi\"");
}
