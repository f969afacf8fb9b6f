//! One current session, and the others (§2, §3, §7, §8).

use practice::Generation;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::client::{Rig, asking, call_of, last, of, rig, rig_of, until};

async fn rows(rig: &Rig) -> Vec<Value> {
    rig.get("/sessions").await.json()["sessions"].as_array().unwrap().clone()
}

#[tokio::test]
async fn prompts_go_to_the_current_session_whatever_they_name() {
    let rig = rig().await;
    let first = rig.runs.current();
    rig.run(&json!({"text": "one"})).await;
    let created = rig.post("/sessions", json!({"title": "Second"})).await;
    assert_eq!(created.status, 201);
    let second = created.json()["id"].as_str().unwrap().to_owned();
    assert_eq!(
        created.json(),
        json!({"id": second, "title": "Second", "created_at": null, "updated_at": null, "current": true, "running": false})
    );
    let frames = rig.run(&json!({"text": "two", "session_id": first})).await;
    assert_eq!(last(&frames).1["session_id"], second.as_str());
    let ids: Vec<_> = rows(&rig).await.iter().map(|row| (row["id"].clone(), row["current"].clone())).collect();
    assert_eq!(ids, [(json!(second), json!(true)), (json!(first), json!(false))], "newest first");
    let opened = rig.post(&format!("/sessions/{first}/open"), json!({})).await;
    assert_eq!((opened.json()["id"].clone(), opened.json()["locked"].clone()), (json!(first), json!(false)));
    assert_eq!(rig.get("/sessions/current").await.json()["usage"]["requests"], 1);
}

#[tokio::test]
async fn a_session_in_which_nothing_was_stored_is_in_no_list_and_has_no_history() {
    let rig = rig().await;
    assert_eq!(rows(&rig).await, Vec::<Value>::new());
    let history = rig.get("/sessions/current/history").await;
    assert_eq!((history.status, history.json()["error"].clone()), (404, json!("not_found")));
}

#[tokio::test]
async fn the_list_has_a_limit_between_1_and_200() {
    let rig = rig().await;
    for title in ["a", "b", "c"] {
        rig.post("/sessions", json!({"title": title})).await;
    }
    let limited = rig.get("/sessions?limit=2").await.json();
    assert_eq!(limited["sessions"].as_array().unwrap().len(), 2);
    for (limit, problem) in
        [("0", "greater than or equal to 1"), ("201", "less than or equal to 200"), ("x", "a valid integer")]
    {
        let refused = rig.get(&format!("/sessions?limit={limit}")).await;
        assert_eq!(refused.status, 422);
        assert!(refused.json()["message"].as_str().unwrap().contains(problem));
    }
}

#[tokio::test]
async fn a_session_that_nothing_was_stored_in_is_unlisted_and_can_be_opened_until_the_server_ends() {
    let rig = rig().await;
    let first = rig.runs.current();
    rig.post("/sessions", Value::Null).await;
    assert_eq!(rows(&rig).await, Vec::<Value>::new());
    assert_eq!(rig.post(&format!("/sessions/{first}/open"), json!({})).await.status, 200);
    rig.runs.restart();
    assert_eq!(rig.post(&format!("/sessions/{first}/open"), json!({})).await.status, 404);
}

#[tokio::test]
async fn a_title_is_given_by_hand_or_by_the_model() {
    let rig = rig().await;
    assert_eq!(rig.post("/sessions/current/name", json!({})).await.json()["title"], Value::Null);
    rig.run(&json!({"text": "Fix the login form please, it is broken"})).await;
    let named = rig.post("/sessions/current/name", json!({})).await.json();
    assert_eq!(named["title"], "About: Fix the login form please, it");
    assert_eq!(rig.post("/sessions/current/rename", json!({"title": "Login"})).await.json()["title"], "Login");
    assert_eq!(rows(&rig).await[0]["title"], "Login");
    assert_eq!(rig.post("/sessions/current/rename", json!({"title": ""})).await.status, 422);
    assert_eq!(rig.post("/sessions/current/rename", json!({"title": "  "})).await.status, 400);
    assert_eq!(rig.post("/sessions/current/rename", json!({"title": "x".repeat(501)})).await.status, 422);
}

#[tokio::test]
async fn a_fork_is_a_copy_that_is_not_current() {
    let rig = rig().await;
    rig.run(&json!({"text": "one"})).await;
    let first = rig.runs.current();
    let fork = rig.post("/sessions/current/fork", json!({})).await.json()["id"].as_str().unwrap().to_owned();
    assert_eq!(rig.runs.current(), first);
    assert_eq!(rig.post(&format!("/sessions/{fork}/open"), json!({})).await.status, 200);
    assert_eq!(rig.history().await.len(), 2);
    rig.run(&json!({"text": "two"})).await;
    rig.post(&format!("/sessions/{first}/open"), json!({})).await;
    assert_eq!(rig.history().await.len(), 2, "the copy went its own way");
}

#[tokio::test]
async fn history_keeps_each_result_in_a_message_of_its_own() {
    let rig = rig().await;
    rig.run(&json!({"text": "WRITE:notes.md"})).await;
    let history = rig.history().await;
    let roles: Vec<_> = history.iter().map(|message| message["role"].clone()).collect();
    assert_eq!(roles, ["user", "assistant", "tool", "assistant"]);
    let call = &history[1]["tool_calls"][0];
    assert_eq!((&call["output"], &call["ok"]), (&json!(""), &json!(true)));
    assert_eq!((&history[2]["tool_call_id"], &history[2]["tool_name"]), (&call["call_id"], &json!("write_file")));
    assert_eq!(history[2]["text"], "Created notes.md");
    assert_eq!(history[1]["usage"]["requests"], 1);
    assert_eq!(
        rig.get("/sessions/current/history").await.text().split(',').next().unwrap(),
        r#"{"messages":[{"role":"user""#
    );
}

#[tokio::test]
async fn a_compaction_leaves_its_summary_in_the_full_history() {
    let rig = rig().await;
    rig.run(&json!({"text": "one"})).await;
    let nothing = rig.post("/sessions/current/compact", json!({})).await;
    assert_eq!(nothing.text(), r#"{"applied":false,"summary":"","compressed":0,"kept":0}"#);
    rig.run(&json!({"text": "two"})).await;
    let done = rig.post("/sessions/current/compact", json!({})).await.json();
    assert_eq!(
        done,
        json!({"applied": true, "summary": "So far the person asked: one; two", "compressed": 4, "kept": 0})
    );
    let seen = rig.get("/sessions/current/history").await.json();
    assert_eq!((seen["messages"].as_array().unwrap().len(), &seen["messages"][0]["role"]), (1, &json!("summary")));
    assert_eq!(rig.history().await.len(), 5);
    assert_eq!(rig.get("/sessions/current/history?full=perhaps").await.status, 422);
}

#[tokio::test]
async fn the_context_is_null_before_a_request_was_measured() {
    let rig = rig().await;
    assert_eq!(rig.get("/sessions/current/context").await.text(), "null");
    rig.run(&json!({"text": "one"})).await;
    let context = rig.get("/sessions/current/context").await.json();
    assert_eq!((&context["window"], &context["partial"]), (&json!(128_000), &json!(false)));
    assert!(context["shares"].as_array().unwrap().iter().any(|share| share["name"] == "User messages"));
}

#[tokio::test]
async fn in_0_1_nobody_leaves_a_session_that_runs() {
    let rig = rig_of(Generation::First).await;
    rig.run(&json!({"text": "one"})).await;
    let first = rig.runs.current();
    rig.post("/sessions", json!({})).await;
    let mut live = rig.prompt(&asking("RUN:ls")).await;
    until(&mut live, "approval_requested").await;
    for path in ["/sessions".to_owned(), format!("/sessions/{first}/open")] {
        let refused = rig.post(&path, json!({})).await;
        assert_eq!((refused.status, refused.json()["error"].clone()), (409, json!("busy")));
    }
    assert_eq!(rows(&rig).await[0].get("running"), None);
}

#[tokio::test]
async fn since_0_2_0_runs_go_on_aside_and_are_answered_once_they_are_back() {
    let rig = rig().await;
    let mut live = rig.prompt(&asking("RUN:echo aside")).await;
    let aside = rig.runs.current();
    let call = call_of(&until(&mut live, "approval_requested").await);
    assert_eq!(rig.post("/sessions", json!({})).await.status, 201);
    let running: Vec<_> = rows(&rig).await.into_iter().filter(|row| row["running"] == true).collect();
    assert_eq!((running.len(), running[0]["id"].clone()), (1, json!(aside)));
    assert_eq!(rig.get("/runs/current").await.json()["running"], false);
    assert!(!rig.approve(&call, true).await, "only the current session is addressed");
    assert_eq!(rig.post("/runs/cancel", json!({})).await.json()["cancelled"], false);
    assert_eq!(last(&rig.run(&json!({"text": "meanwhile"})).await).0, "result");
    rig.post(&format!("/sessions/{aside}/open"), json!({})).await;
    assert_eq!(rig.get("/runs/current").await.json()["pending"]["call_id"], call.as_str());
    assert!(rig.approve(&call, true).await);
    let (rest, _) = live.rest().await;
    assert_eq!(last(&rest).1["session_id"], aside.as_str());
}

#[tokio::test]
async fn two_runs_go_on_at_once_on_connections_of_their_own() {
    let rig = rig().await;
    let mut one = rig.prompt(&asking("RUN:echo one")).await;
    let first = (rig.runs.current(), call_of(&until(&mut one, "approval_requested").await));
    rig.post("/sessions", json!({})).await;
    let mut two = rig.prompt(&asking("RUN:echo two")).await;
    let second = call_of(&until(&mut two, "approval_requested").await);
    assert_eq!(rig.control.counters().open_streams, 2);
    rig.approve(&second, true).await;
    assert_eq!(of(&two.rest().await.0, "tool_finished")[0]["output"], "two\n");
    rig.post(&format!("/sessions/{}/open", first.0), json!({})).await;
    rig.approve(&first.1, true).await;
    assert_eq!(of(&one.rest().await.0, "tool_finished")[0]["output"], "one\n");
}

#[tokio::test]
async fn a_busy_session_refuses_a_second_prompt_and_says_so() {
    let rig = rig().await;
    let mut live = rig.prompt(&asking("RUN:ls")).await;
    until(&mut live, "approval_requested").await;
    let paths =
        ["/prompts", "/sessions/current/ask", "/sessions/current/compact", "/sessions/current/fork", "/runs/resume"];
    for path in paths {
        let refused = rig.post(path, json!({"text": "x", "question": "x"})).await;
        assert_eq!((refused.status, refused.json()["error"].clone()), (409, json!("busy")), "{path}");
    }
    assert_eq!(rig.post("/sessions/current/rename", json!({"title": "meanwhile"})).await.status, 200);
    assert_eq!(rig.get("/health").await.json()["busy"], true);
    assert_eq!(rig.get("/runs/resumable").await.status, 500, "the real server cannot say meanwhile");
}

#[tokio::test]
async fn a_session_that_is_open_elsewhere_is_read_only_here() {
    let rig = rig().await;
    rig.run(&json!({"text": "one"})).await;
    rig.runs.lock(None, true).unwrap();
    let id = rig.runs.current();
    let opened = rig.post(&format!("/sessions/{id}/open"), json!({})).await;
    assert_eq!((opened.status, opened.json()["locked"].clone()), (200, json!(true)));
    let frames = rig.run(&json!({"text": "two"})).await;
    assert_eq!((last(&frames).0, &last(&frames).1["error"]), ("error", &json!("locked")));
    assert_eq!(rig.history().await.len(), 2);
}

#[tokio::test]
async fn a_side_question_joins_no_conversation() {
    let rig = rig().await;
    rig.run(&json!({"text": "one"})).await;
    let answer = rig.post("/sessions/current/ask", json!({"question": "why?"})).await;
    assert_eq!(answer.text(), r#"{"answer":"Hello! You said: why?"}"#);
    let (frames, _) = rig.stream("/sessions/current/ask/stream", &json!({"question": "why?"})).await.rest().await;
    assert_eq!((last(&frames).0, &last(&frames).1["text"]), ("result", &json!("Hello! You said: why?")));
    assert_eq!(rig.history().await.len(), 2);
    assert_eq!(rig.resumable().await["resumable"], false);
    assert_eq!(rig.post("/sessions/current/ask", json!({"question": "ERR"})).await.status, 502);
    assert_eq!(rig.post("/sessions/current/ask", json!({"question": ""})).await.status, 422);
}
