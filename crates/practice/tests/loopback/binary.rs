//! The binary: one line with its addresses, and it never outlives whoever started it.

use std::process::Stdio;

use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, Command},
};

use crate::client::{get, listed, patient, post, raw};

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

#[tokio::test]
async fn it_says_where_it_listens_and_ends_with_its_input() {
    let (mut child, line) = start(&["--token", "tok", "--pace", "fast", "--scenario", "approval"]).await;
    let session = format!("{}/sessions/{}", line["base_url"].as_str().unwrap(), line["sessions"][0].as_str().unwrap());
    assert_eq!(line["token"], "tok");
    assert_eq!(get(&session).await.status, 200);
    assert_eq!(post(line["control_url"].as_str().unwrap(), &json!({"do": "counters"})).await.status, 200);
    assert_eq!(get(&format!("{}/agents", line["claude_base_url"].as_str().unwrap())).await.status, 200);
    drop(child.stdin.take());
    assert!(patient(child.wait()).await.unwrap().success());
}

#[tokio::test]
async fn it_speaks_the_version_of_turns_it_is_told_to() {
    let wanted = ["--token", "tok", "--turns", "v4", "--turns-faults", "measured", "--turns-scenario", "turns-plain"];
    let (_child, line) = start(&wanted).await;
    let base = line["turns_base_url"].as_str().unwrap();
    assert_eq!(get(&format!("{base}/meta")).await.json()["version"], 4);
    let session = format!("{base}/sessions/{}", line["turns_sessions"][0].as_str().unwrap());
    let found = raw(&session, "GET", &[("authorization", "Bearer tok")], "").await.unwrap();
    assert_eq!((found.status, &found.json()["pending"]), (200, &json!([])));
}

#[cfg(unix)]
#[tokio::test]
async fn it_ends_on_sigterm_with_a_stream_open() {
    let (mut child, line) = start(&["--token", "tok", "--pace", "fast"]).await;
    let session = crate::client::create(line["base_url"].as_str().unwrap(), &[]).await;
    let mut live = crate::client::Live::open(&format!("{session}/events/stream")).await;
    let id = child.id().unwrap().to_string();
    assert!(Command::new("kill").args(["-TERM", &id]).status().await.unwrap().success());
    assert!(patient(child.wait()).await.unwrap().success());
    assert_eq!(live.rest().await.1, crate::client::Ended::Cleanly);
}

#[tokio::test]
async fn a_killed_server_finds_its_sessions_again_under_the_same_port_and_token() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("state.jsonl");
    let state = ["--state", file.to_str().unwrap(), "--token", "tok", "--pace", "fast"];
    let (mut child, line) = start(&[&state[..], &["--scenario", "approval"]].concat()).await;
    let base = line["base_url"].as_str().unwrap().to_owned();
    let id = line["sessions"][0].as_str().unwrap().to_owned();
    let wait = json!({"do": "wait", "session": id, "phase": "waiting"});
    post(line["control_url"].as_str().unwrap(), &wait).await;
    let before = listed(&format!("{base}/sessions/{id}")).await;
    // The writer is a thread of its own: what it has written is what a killed server leaves.
    while !std::fs::read_to_string(&file).unwrap().contains("\"held\":{") {
        tokio::task::yield_now().await;
    }
    patient(child.kill()).await.unwrap();
    let port = base.split(':').nth(2).unwrap().split('/').next().unwrap();
    let (_child, line) = start(&[&state[..], &["--port", port]].concat()).await;
    assert_eq!(line["base_url"], base);
    assert_eq!(listed(&format!("{base}/sessions/{id}")).await, before);
}

#[tokio::test]
async fn a_wrong_argument_is_told_and_nothing_starts() {
    for arguments in [
        &["--port"][..],
        &["--port", "x"],
        &["--dialect", "klingon"],
        &["--turns", "v5"],
        &["--turns-faults", "some"],
        &["--what", "1"],
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_practice")).args(arguments).output();
        let output = patient(output).await.unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(String::from_utf8_lossy(&output.stderr).contains("usage: practice"));
    }
}
