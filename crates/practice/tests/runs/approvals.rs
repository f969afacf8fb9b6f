//! Who may run a command (§4 and §6).

use practice::{Generation, Permission, RunsManner};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::client::{SHORT, asking, call_of, kinds, last, of, rig, rig_of, rig_with, until};

fn with_mode(text: &str, approvals: Value) -> Value {
    json!({"text": text, "approvals": approvals})
}

#[tokio::test]
async fn a_run_goes_on_only_once_its_command_is_approved() {
    let rig = rig().await;
    let mut live = rig.prompt(&asking("RUN:echo hi")).await;
    let asked = until(&mut live, "approval_requested").await;
    assert_eq!(asked.last().unwrap().data["approved"], Value::Null);
    let current = rig.get("/runs/current").await;
    let call = call_of(&asked);
    assert_eq!(
        current.text(),
        format!(
            r#"{{"running":true,"pending":{{"kind":"approval","call_id":"{call}","command":"echo hi","timeout_seconds":30,"remember_supported":true,"question":null,"options":[],"allow_multiple":false}}}}"#
        )
    );
    assert!(rig.approve(&call, true).await);
    let (rest, _) = live.rest().await;
    assert_eq!(kinds(&rest), ["tool_finished", "text_delta", "usage_updated", "finished", "result"]);
    assert_eq!(rest[0].data["output"], "hi\n");
    assert_eq!(rig.get("/runs/current").await.text(), r#"{"running":false,"pending":null}"#);
}

#[tokio::test]
async fn an_answer_counts_once_and_later_ones_resolve_nothing() {
    let rig = rig().await;
    let mut live = rig.prompt(&asking("RUN:echo hi")).await;
    let call = call_of(&until(&mut live, "approval_requested").await);
    assert!(!rig.approve("call_other", true).await);
    assert!(!rig.answer(&call, Some("yes")).await, "an approval is no question");
    assert!(rig.approve(&call, false).await);
    assert!(!rig.approve(&call, true).await);
    let (rest, _) = live.rest().await;
    assert_eq!(rest[0].data["output"], "Shell command aborted by user: echo hi");
    let seen = rig.control.counters().decisions;
    let told: Vec<_> = seen.iter().map(|seen| (seen.event["approve"].clone(), seen.repeated)).collect();
    assert_eq!(
        told,
        [(json!(true), true), (Value::Null, true), (json!(false), false), (json!(true), true)],
        "tests see each body and whether it settled something"
    );
}

#[tokio::test]
async fn approve_and_remember_are_strictly_booleans() {
    let rig = rig().await;
    for approve in [json!("true"), json!(1), Value::Null] {
        let refused = rig.post("/runs/approvals", json!({"call_id": "x", "approve": approve})).await;
        assert_eq!(refused.status, 422);
        assert_eq!(refused.json(), json!({"error": "invalid", "message": "approve: Input should be a valid boolean"}));
    }
    let refused = rig.post("/runs/approvals", json!({"call_id": "x", "approve": true, "remember": "yes"})).await;
    assert_eq!((refused.status, refused.json()["error"].clone()), (422, json!("invalid")));
    assert_eq!(rig.post("/runs/approvals", json!({"call_id": "x"})).await.status, 422);
}

#[tokio::test]
async fn a_request_that_names_no_mode_denies() {
    let rig = rig().await;
    let frames = rig.run(&json!({"text": "RUN:ls"})).await;
    assert_eq!(of(&frames, "approval_requested")[0]["approved"], false);
    assert_eq!(of(&frames, "tool_finished")[0]["ok"], false);
}

#[tokio::test]
async fn the_mode_auto_approves_and_says_so() {
    let rig = rig().await;
    let frames = rig.run(&with_mode("RUN:ls", json!({"mode": "auto"}))).await;
    assert_eq!(of(&frames, "approval_requested")[0]["approved"], true);
    assert_eq!(of(&frames, "tool_finished")[0]["ok"], true);
}

#[tokio::test]
async fn the_mode_commands_approves_what_is_listed_and_refuses_the_rest() {
    let rig = rig().await;
    let policy = json!({"mode": "commands", "commands": ["git status"]});
    let frames = rig.run(&with_mode("RUN:git status -s\nRUN:whoami\nRUN:git status | sh", policy)).await;
    let told: Vec<_> = of(&frames, "approval_requested").iter().map(|asked| asked["approved"].clone()).collect();
    assert_eq!(told, [true, false, false]);
    let pipeline = json!({"mode": "commands", "commands": ["ls; rm"]});
    assert_eq!(rig.post("/prompts", with_mode("hi", pipeline)).await.status, 400);
}

#[tokio::test]
async fn the_servers_level_wins_over_the_requests_mode() {
    for (permission, ok) in [(Permission::Deny, false), (Permission::Safe, true), (Permission::Full, true)] {
        let rig = rig_with(RunsManner { permission, ..RunsManner::default() }).await;
        let frames = rig.run(&asking("RUN:ls")).await;
        assert!(of(&frames, "approval_requested").is_empty(), "{permission:?} asks nobody");
        assert_eq!(of(&frames, "tool_finished")[0]["ok"], ok, "{permission:?}");
        let patched = rig.send("PATCH", "/settings", r#"{"permission":"ask"}"#).await;
        assert_eq!(patched.json()["permission"], "ask");
        let mut live = rig.prompt(&asking("RUN:ls")).await;
        until(&mut live, "approval_requested").await;
    }
}

#[tokio::test]
async fn files_are_written_unasked_at_every_level() {
    for (_, permission) in [("deny", Permission::Deny), ("ask", Permission::Ask)] {
        let rig = rig_with(RunsManner { permission, ..RunsManner::default() }).await;
        let frames = rig.run(&json!({"text": "WRITE:notes.md"})).await;
        assert!(of(&frames, "approval_requested").is_empty());
        assert_eq!(of(&frames, "tool_finished")[0]["ok"], true);
    }
}

#[tokio::test]
async fn a_remembered_command_is_this_exact_text_for_every_session_until_the_server_ends() {
    let rig = rig().await;
    let mut live = rig.prompt(&asking("RUN:echo hi")).await;
    let call = call_of(&until(&mut live, "approval_requested").await);
    rig.post("/runs/approvals", json!({"call_id": call, "approve": true, "remember": true})).await;
    live.rest().await;
    rig.post("/sessions", json!({})).await;
    let frames = rig.run(&asking("RUN:echo hi @in elsewhere")).await;
    assert_eq!(
        kinds(&frames),
        [
            "text_delta",
            "usage_updated",
            "tool_started",
            "tool_finished",
            "text_delta",
            "usage_updated",
            "finished",
            "result"
        ]
    );
    let mut live = rig.prompt(&asking("RUN:echo hi there")).await;
    let call = call_of(&until(&mut live, "approval_requested").await);
    rig.approve(&call, false).await;
    live.rest().await;
    rig.runs.restart();
    let mut live = rig.prompt(&asking("RUN:echo hi")).await;
    until(&mut live, "approval_requested").await;
}

#[tokio::test]
async fn an_approval_nobody_answers_is_denied_with_a_notice() {
    let rig = rig().await;
    let mut body = asking("RUN:echo late");
    body["answer_timeout"] = json!(SHORT.as_secs_f64());
    let frames = rig.run(&body).await;
    let notice = of(&frames, "notice")[0];
    assert_eq!(
        (&notice["level"], &notice["text"]),
        (&json!("warn"), &json!("No answer within 0.05s; the command was denied."))
    );
    assert_eq!(of(&frames, "tool_finished")[0]["output"], "Shell command aborted by user: echo late");
    assert_eq!(last(&frames).0, "result");
}

#[tokio::test]
async fn a_test_can_let_the_answer_time_run_out_at_once() {
    let rig = rig().await;
    assert!(!rig.runs.expire(None).unwrap(), "nothing waits yet");
    let mut live = rig.prompt(&asking("RUN:echo late")).await;
    let call = call_of(&until(&mut live, "approval_requested").await);
    assert!(rig.runs.expire(None).unwrap());
    let (rest, _) = live.rest().await;
    assert_eq!(kinds(&rest)[..2], ["notice", "tool_finished"]);
    assert_eq!(rest[0].data["text"], "No answer within 300s; the command was denied.");
    assert!(!rig.approve(&call, true).await);
}

#[tokio::test]
async fn parallel_calls_ask_one_at_a_time() {
    let rig = rig().await;
    let mut live = rig.prompt(&asking("RUN:echo one\nRUN:echo two")).await;
    let first = until(&mut live, "approval_requested").await;
    assert_eq!(of(&first, "tool_started").len(), 2);
    let (one, two) = (call_of(&first), of(&first, "tool_started")[1]["call_id"].as_str().unwrap().to_owned());
    assert!(!rig.approve(&two, true).await, "the second does not wait yet");
    assert!(rig.approve(&one, false).await);
    let second = until(&mut live, "approval_requested").await;
    assert_eq!(kinds(&second), ["approval_requested"], "the denied call finishes later");
    assert!(rig.approve(&two, true).await);
    let (rest, _) = live.rest().await;
    let told: Vec<_> = of(&rest, "tool_finished").iter().map(|tool| tool["ok"].clone()).collect();
    assert_eq!(told, [false, true]);
}

#[tokio::test]
async fn the_seeds_generation_says_where_a_command_runs() {
    for (generation, says) in [(Generation::Second, false), (Generation::Seed, true)] {
        let rig = rig_of(generation).await;
        let mut live = rig.prompt(&asking("RUN:pytest -q @in clients/web")).await;
        let asked = until(&mut live, "approval_requested").await;
        let frame = &asked.last().unwrap().data;
        assert_eq!(frame.get("work_dir"), says.then(|| json!("clients/web")).as_ref());
        let pending = rig.get("/runs/current").await.json()["pending"].clone();
        assert_eq!(pending.get("work_dir"), says.then(|| json!("clients/web")).as_ref());
        rig.approve(&call_of(&asked), true).await;
        live.rest().await;
        let mut live = rig.prompt(&asking("RUN:ls")).await;
        let asked = until(&mut live, "approval_requested").await;
        assert_eq!(asked.last().unwrap().data.get("work_dir"), says.then_some(&Value::Null));
    }
}

#[tokio::test]
async fn pending_says_whether_remembering_is_offered() {
    let rig = rig_with(RunsManner { remember_supported: false, ..RunsManner::default() }).await;
    let mut live = rig.prompt(&asking("RUN:ls")).await;
    until(&mut live, "approval_requested").await;
    assert_eq!(rig.get("/runs/current").await.json()["pending"]["remember_supported"], false);
}
