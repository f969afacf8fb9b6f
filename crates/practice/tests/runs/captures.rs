//! Our streams beside those of the real server: the same frames in the same order, with the same keys in the same order.

use practice::{Generation, Permission, RunsManner};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::client::{Frame, Rig, asking, call_of, rig, rig_with, until};

/// The outline of a frame: its name, and the keys of its data as they are written, with the event's type.
fn outline(name: &str, data: &str) -> String {
    let kind = serde_json::from_str::<Value>(data).unwrap()["type"].as_str().map(str::to_owned);
    format!("{name} {} {}", kind.unwrap_or_default(), keys(data).join(","))
}

/// The keys of an object in the order they are written, those inside it as well.
fn keys(data: &str) -> Vec<String> {
    let (mut keys, mut rest) = (Vec::new(), data);
    while let Some(at) = rest.find('"') {
        let text = &rest[at + 1..];
        let mut end = 0;
        let bytes = text.as_bytes();
        while bytes[end] != b'"' {
            end += if bytes[end] == b'\\' { 2 } else { 1 };
        }
        rest = &text[end + 1..];
        if rest.starts_with(':') {
            keys.push(text[..end].to_owned());
        }
    }
    keys
}

/// Pieces of text come in any number.
fn without_repeats(mut outlines: Vec<String>) -> Vec<String> {
    outlines.dedup_by(|one, other| one == other && one.contains("_delta"));
    outlines
}

fn captured(name: &str) -> Vec<String> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/captures/runs");
    let bytes = std::fs::read_to_string(format!("{folder}/{name}.sse")).unwrap().replace("\r\n", "\n");
    let (_, body) = bytes.split_once("\n\n").unwrap();
    let frames = body.split("\n\n").filter(|block| !block.trim().is_empty());
    let outlines = frames.map(|block| {
        let field = |name: &str| block.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        // The order of a call's own arguments is the model's; ours are sorted.
        let outline = outline(field("event: "), field("data: "));
        outline
            .replace("path,content", "content,path")
            .replace("arguments,question,options", "arguments,options,question")
    });
    without_repeats(outlines.collect())
}

fn ours(frames: &[Frame]) -> Vec<String> {
    let outlines = frames.iter().map(|frame| {
        let text = String::from_utf8(frame.bytes.clone()).unwrap();
        outline(&frame.event, text.lines().find_map(|line| line.strip_prefix("data: ")).unwrap())
    });
    without_repeats(outlines.collect())
}

/// Runs a prompt; the answers are for the approvals and questions in turn.
async fn answered(rig: &Rig, text: &str, kind: &str, answers: &[Value]) -> Vec<Frame> {
    let mut live = rig.prompt(&asking(text)).await;
    let mut frames = Vec::new();
    for answer in answers {
        let asked = until(&mut live, kind).await;
        let call = call_of(&asked);
        frames.extend(asked);
        let (path, key) =
            if kind == "approval_requested" { ("/runs/approvals", "approve") } else { ("/runs/questions", "answer") };
        assert_eq!(rig.post(path, json!({"call_id": call, key: answer})).await.json()["resolved"], true);
    }
    frames.extend(live.rest().await.0);
    frames
}

#[tokio::test]
async fn an_approved_command_streams_as_the_real_server_streams_it() {
    let rig = rig().await;
    let frames = answered(&rig, "RUN:echo hi-from-shell", "approval_requested", &[json!(true)]).await;
    assert_eq!(ours(&frames), captured("approval-granted"));
    let result = String::from_utf8(frames.last().unwrap().bytes.clone()).unwrap();
    assert!(result.contains(r#""tools":[{"call_id":"call_1_0","name":"bash","arguments":{"command":"echo hi-from-shell"},"output":"hi-from-shell\n","ok":true,"skipped":false}],"stop":null,"stop_message":null,"questions":[]}"#));
}

#[tokio::test]
async fn denied_parallel_and_remembered_commands_stream_as_the_real_server_streams_them() {
    let rig = rig().await;
    let frames = rig.run(&json!({"text": "RUN:ls"})).await;
    assert_eq!(ours(&frames), captured("approval-denied"));
    let frames = rig.run(&json!({"text": "RUN:ls", "approvals": {"mode": "auto"}})).await;
    assert_eq!(ours(&frames), captured("mode-auto"));
    let answers = [json!(false), json!(true)];
    let frames = answered(&rig, "RUN:echo one\nRUN:echo two", "approval_requested", &answers).await;
    assert_eq!(ours(&frames), captured("two-parallel-calls"));
    let mut live = rig.prompt(&asking("RUN:echo again")).await;
    let call = call_of(&until(&mut live, "approval_requested").await);
    rig.post("/runs/approvals", json!({"call_id": call, "approve": true, "remember": true})).await;
    live.rest().await;
    assert_eq!(ours(&rig.run(&asking("RUN:echo again")).await), captured("remembered-command"));
}

#[tokio::test]
async fn an_expired_approval_streams_as_the_real_server_streams_it() {
    let rig = rig().await;
    let mut live = rig.prompt(&asking("RUN:echo slowpoke")).await;
    let mut frames = until(&mut live, "approval_requested").await;
    rig.runs.expire(None).unwrap();
    frames.extend(live.rest().await.0);
    assert_eq!(ours(&frames), captured("approval-timed-out"));
}

#[tokio::test]
async fn the_levels_of_the_server_stream_as_the_real_server_streams_them() {
    for (permission, name) in [(Permission::Deny, "deny"), (Permission::Safe, "safe"), (Permission::Full, "full")] {
        let rig = rig_with(RunsManner { permission, ..RunsManner::of(Generation::Second) }).await;
        let frames = rig.run(&asking("RUN:touch file.txt")).await;
        assert_eq!(ours(&frames), captured(&format!("server-level-{name}")));
    }
}

#[tokio::test]
async fn questions_stream_as_the_real_server_streams_them() {
    let rig = rig().await;
    let question = "ASK:Which db?|sqlite|postgres";
    let frames = answered(&rig, question, "question_asked", &[json!("sqlite")]).await;
    assert_eq!(ours(&frames), captured("question-answered"));
    assert_eq!(ours(&rig.run(&json!({"text": question})).await), captured("question-declined"));
}

#[tokio::test]
async fn plain_thinking_files_and_failures_stream_as_the_real_server_streams_them() {
    let rig = rig().await;
    assert_eq!(ours(&rig.run(&asking("THINK hello there")).await), captured("plain"));
    assert_eq!(ours(&rig.run(&asking("LEN now")).await), captured("max-output"));
    let frames = rig.run(&asking("WRITE:new.txt")).await;
    assert_eq!(ours(&frames), captured("write-file"));
    assert_eq!(ours(&rig.run(&asking("ERR")).await), captured("provider-error"));
}

#[tokio::test]
async fn steering_stopping_and_resuming_stream_as_the_real_server_streams_them() {
    let rig = rig().await;
    let mut live = rig.prompt(&asking("RUN:echo steered-away")).await;
    let mut frames = until(&mut live, "approval_requested").await;
    rig.post("/runs/steer", json!({"text": "never mind, just say hi"})).await;
    rig.approve(&call_of(&frames), true).await;
    frames.extend(live.rest().await.0);
    assert_eq!(ours(&frames), captured("steer-during-approval"));
    let frames = rig.stream("/runs/resume", &json!({})).await.rest().await.0;
    assert_eq!(ours(&frames), captured("resume-nothing-to-do"));
    let mut live = rig.prompt(&asking("RUN:echo cancelme")).await;
    let mut frames = until(&mut live, "approval_requested").await;
    rig.post("/runs/cancel", json!({})).await;
    rig.approve(&call_of(&frames), true).await;
    frames.extend(live.rest().await.0);
    assert_eq!(ours(&frames), captured("cancel-while-streaming"));
    assert_eq!(ours(&rig.stream("/runs/resume", &json!({})).await.rest().await.0), captured("resume"));
    let mut live = rig.prompt(&asking("RUN:echo bye")).await;
    let frames = until(&mut live, "approval_requested").await;
    assert_eq!(ours(&frames), captured("client-disconnected"));
}
