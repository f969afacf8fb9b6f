//! The process ends and another one starts on the same state file (§8, edge 19).

use std::process::Stdio;

use practice::{Config, RunsManner};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, Command},
};

use crate::client::{Ended, Rig, asking, call_of, last, on_file, patient, until};

async fn again(rig: Rig, file: &std::path::Path) -> Rig {
    // The file is complete once nobody holds the server any more.
    drop((rig.control, rig.runs));
    patient(rig.practice.stop()).await;
    on_file(Config { state_file: Some(file.to_owned()), runs: RunsManner::default(), ..Config::default() }).await
}

#[tokio::test]
async fn sessions_survive_a_restart_and_a_new_empty_one_is_current() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("practice.jsonl");
    let config = Config { state_file: Some(file.clone()), ..Config::default() };
    let rig = on_file(config).await;
    rig.run(&json!({"text": "hello"})).await;
    rig.runs.start_scenario("runs-talk").unwrap();
    rig.run(&json!({"text": "first"})).await;
    let (talk, before) = (rig.runs.current(), rig.history().await);
    let mut live = rig.prompt(&asking("PLAY:nothing")).await;
    assert_eq!(last(&live.rest().await.0).1["text"], "The second part, after: PLAY:nothing");
    let rig = again(rig, &file).await;
    assert_eq!(rig.history().await, Vec::<Value>::new());
    assert_eq!(rig.get("/sessions").await.json()["sessions"].as_array().unwrap().len(), 2);
    rig.post(&format!("/sessions/{talk}/open"), json!({})).await;
    assert_eq!(rig.history().await[..2], before);
    assert_eq!(rig.get("/usage").await.json()["requests"], 2);
}

async fn start(arguments: &[&str]) -> (Child, Value) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_practice"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let line = patient(lines.next_line()).await.unwrap().unwrap();
    (child, serde_json::from_str(&line).unwrap())
}

fn over(line: &Value) -> crate::client::Remote {
    crate::client::Remote(line["runs_base_url"].as_str().unwrap().to_owned())
}

#[tokio::test]
async fn a_killed_process_leaves_a_run_that_another_one_resumes_under_a_new_call_id() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("state.jsonl");
    let state = ["--state", file.to_str().unwrap(), "--token", "tok", "--pace", "fast"];
    let more = ["--runs", "seed", "--runs-scenario", "runs-approval"];
    let (mut child, line) = start(&[&state[..], &more].concat()).await;
    let (server, session) = (over(&line), line["runs_sessions"][0].as_str().unwrap().to_owned());
    let mut live = server.prompt(&asking("go")).await;
    let asked = until(&mut live, "approval_requested").await;
    assert_eq!(asked.last().unwrap().data["work_dir"], "clients/web");
    // The writer is a thread of its own: what it has written is what a killed server leaves.
    while !std::fs::read_to_string(&file).unwrap().contains("\"tool_calls\":[{") {
        tokio::task::yield_now().await;
    }
    patient(child.kill()).await.unwrap();
    assert_eq!(live.rest().await, (vec![], Ended::Cut));
    let (_child, line) = start(&[&state[..], &["--runs", "seed"]].concat()).await;
    let server = over(&line);
    assert_eq!(server.get("/runs/resumable").await["resumable"], false);
    server.post(&format!("/sessions/{session}/open"), json!({})).await;
    assert_eq!(server.get("/runs/resumable").await["kind"], "recover_tools");
    let mut live = server.stream("/runs/resume", &json!({"approvals": {"mode": "ask"}})).await;
    let again = until(&mut live, "approval_requested").await;
    assert_ne!(call_of(&again), call_of(&asked));
    server.post("/runs/approvals", json!({"call_id": call_of(&again), "approve": true})).await;
    assert_eq!(last(&live.rest().await.0).1["text"], "They pass.");
}

#[tokio::test]
async fn the_binary_refuses_words_its_switches_do_not_know() {
    for arguments in [["--runs", "0.3"], ["--runs-permission", "maybe"], ["--runs-scenario", "nothing"]] {
        let output = Command::new(env!("CARGO_BIN_EXE_practice")).args(arguments).output();
        assert!(!patient(output).await.unwrap().status.success(), "{arguments:?}");
    }
}
