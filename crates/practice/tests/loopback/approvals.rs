//! Approvals, client tools, stops and queues (wire page §4 and §9; Claude page §5).

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::client::{Live, create, get, id_of, kinds, message, post, say, send, server, text_of};

fn allow(id: &Value) -> Value {
    json!({"type": "user.tool_confirmation", "tool_use_id": id, "result": "allow"})
}

fn deny(id: &Value, why: &str) -> Value {
    json!({"type": "user.tool_confirmation", "tool_use_id": id, "result": "deny", "deny_message": why})
}

#[tokio::test]
async fn one_request_waits_and_an_allow_gives_its_result() {
    let practice = server().await;
    let session = create(&practice.base_url(), &[]).await;
    let mut live = Live::open(&format!("{session}/events/stream")).await;
    say(&session, "RUN:ls").await;
    let asked = live.idle().await;
    let tool = asked.iter().find(|frame| frame.event == "agent.tool_use").unwrap();
    assert_eq!(tool.data["evaluated_permission"], "ask");
    let stop = &asked.last().unwrap().data["stop_reason"];
    assert_eq!(*stop, json!({"type": "requires_action", "event_ids": [tool.id]}));
    assert_eq!(say(&session, "too early").await.status, 409);
    assert_eq!(send(&session, json!([allow(&json!(tool.id))])).await.status, 200);
    let rest = live.idle().await;
    assert_eq!(kinds(&rest)[..3], ["user.tool_confirmation", "session.status_running", "agent.tool_result"]);
    assert_eq!(rest[2].data["tool_use_id"], tool.id);
    assert_eq!(send(&session, json!([allow(&json!(tool.id))])).await.status, 409, "a second answer");
    assert_eq!(practice.control().counters().accepted(&tool.id), 1);
}

#[tokio::test]
async fn several_requests_wait_together_and_a_partial_answer_leaves_the_rest() {
    let practice = server().await;
    let session = create(&practice.base_url(), &[]).await;
    let mut live = Live::open(&format!("{session}/events/stream")).await;
    say(&session, "RUN:a\nRUN:b\nRUN:c").await;
    let ids = live.idle().await.last().unwrap().data["stop_reason"]["event_ids"].clone();
    assert_eq!(ids.as_array().unwrap().len(), 3);
    send(&session, json!([deny(&ids[1], "not b")])).await;
    assert_eq!(live.idle().await.last().unwrap().data["stop_reason"]["event_ids"], json!([ids[0], ids[2]]));
    let twice = send(&session, json!([allow(&ids[0]), allow(&ids[0])])).await;
    assert_eq!(twice.status, 409);
    assert_eq!(practice.control().waiting(id_of(&session)).unwrap().len(), 2, "nothing of it was taken");
    send(&session, json!([allow(&ids[0]), allow(&ids[2])])).await;
    let rest = live.idle().await;
    let results: Vec<_> = rest.iter().filter(|frame| frame.event == "agent.tool_result").collect();
    assert_eq!(results.iter().map(|frame| frame.data["is_error"].clone()).collect::<Vec<_>>(), [false, true, false]);
    assert!(text_of(results[1]).contains("not b"));
    assert_eq!(rest.last().unwrap().data["stop_reason"]["type"], "end_turn");
}

#[tokio::test]
async fn a_client_tool_takes_a_result_and_no_confirmation() {
    let practice = server().await;
    let session = create(&practice.base_url(), &[]).await;
    let mut live = Live::open(&format!("{session}/events/stream")).await;
    say(&session, "ASK:tool").await;
    let asked = live.idle().await;
    let tool = asked.iter().find(|frame| frame.event == "agent.custom_tool_use").unwrap();
    assert_eq!(send(&session, json!([allow(&json!(tool.id))])).await.status, 400);
    let result = json!({"type": "user.custom_tool_result", "custom_tool_use_id": tool.id,
                        "content": [{"type": "text", "text": "it left on Monday"}]});
    assert_eq!(send(&session, json!([result])).await.status, 200);
    let said: Vec<String> = live.idle().await.iter().filter(|f| f.event == "agent.message").map(text_of).collect();
    assert_eq!(said, ["The tool answered: it left on Monday"]);
}

#[tokio::test]
async fn a_stop_while_waiting_makes_the_request_void() {
    let practice = server().await;
    let session = create(&practice.base_url(), &[]).await;
    let mut live = Live::open(&format!("{session}/events/stream")).await;
    say(&session, "RUN:ls").await;
    let ids = live.idle().await.last().unwrap().data["stop_reason"]["event_ids"].clone();
    let stopped = post(&format!("{session}/cancel"), &json!({})).await;
    assert_eq!((stopped.status, stopped.json()["status"].clone()), (202, json!("canceling")));
    assert_eq!(live.idle().await.last().unwrap().data["stop_reason"]["type"], "cancelled");
    assert_eq!(send(&session, json!([allow(&ids[0])])).await.status, 409);
    assert_eq!(post(&format!("{session}/cancel"), &json!({})).await.status, 200, "nothing to stop");
}

#[tokio::test]
async fn qoder_refuses_a_message_while_running_and_claude_queues_it() {
    let practice = server().await;
    practice.control().hold_session(None).unwrap();
    let qoder = create(&practice.base_url(), &[]).await;
    assert_eq!(say(&qoder, "one").await.status, 200);
    let busy = say(&qoder, "two").await;
    assert_eq!((busy.status, busy.json()["error"]["type"].clone()), (409, json!("conflict_error")));

    let claude = create(&practice.claude_base_url(), &[]).await;
    let mut live = Live::open(&format!("{claude}/events/stream")).await;
    say(&claude, "one").await;
    let queued = say(&claude, "two").await.json()["data"][0].clone();
    assert_eq!(queued["processed_at"], Value::Null);
    practice.control().release(None).unwrap();
    live.idle().await;
    let second = live.idle().await;
    let again = second.iter().find(|frame| frame.data["id"] == queued["id"]).unwrap();
    assert!(again.data["processed_at"].is_string(), "the same id again, with its time");
    let copies = crate::client::listed(&claude).await.iter().filter(|event| event["id"] == queued["id"]).count();
    assert_eq!(copies, 1);
    assert_eq!(post(&format!("{claude}/cancel"), &json!({})).await.status, 404, "no cancel in that dialect");
}

#[tokio::test]
async fn claude_takes_a_tool_result_before_the_idle_event() {
    let practice = server().await;
    let control = practice.control();
    let session = create(&practice.claude_base_url(), &[]).await;
    let mut live = Live::open(&format!("{session}/events/stream")).await;
    control.hold_session(Some(id_of(&session))).unwrap();
    say(&session, "ASK:tool").await;
    control.step(id_of(&session)).unwrap();
    let asked = live.until("agent.custom_tool_use").await;
    let id = &asked.last().unwrap().data["id"];
    let result = json!({"type": "user.custom_tool_result", "custom_tool_use_id": id, "content": []});
    assert_eq!(send(&session, json!([result])).await.status, 200);
    control.release(Some(id_of(&session))).unwrap();
    live.until("agent.message").await;
    let end = live.idle().await;
    assert_eq!(end.last().unwrap().data["stop_reason"]["type"], "end_turn");
}

#[tokio::test]
async fn an_interrupt_and_a_new_message_may_come_together() {
    let practice = server().await;
    practice.control().hold_session(None).unwrap();
    let session = create(&practice.base_url(), &[]).await;
    let mut live = Live::open(&format!("{session}/events/stream")).await;
    say(&session, "one").await;
    live.until("span.model_request_start").await;
    let both = send(&session, json!([{"type": "user.interrupt"}, message("two")])).await;
    assert_eq!(both.status, 200);
    live.idle().await;
    practice.control().release(None).unwrap();
    let said: Vec<String> = live.idle().await.iter().filter(|f| f.event == "agent.message").map(text_of).collect();
    assert_eq!(said, ["You said: two"]);
}

#[tokio::test]
async fn a_goal_is_judged_until_it_is_met() {
    let practice = server().await;
    let session = create(&practice.base_url(), &[]).await;
    let mut live = Live::open(&format!("{session}/events/stream")).await;
    let goal = json!({"type": "user.define_outcome", "description": "A summary",
                      "rubric": {"type": "text", "content": "- short"}});
    let echoed = send(&session, json!([goal])).await.json()["data"][0].clone();
    assert!(echoed["outcome_id"].as_str().unwrap().starts_with("outc_"));
    let frames = live.idle().await;
    let verdicts: Vec<_> = frames.iter().filter(|frame| frame.event == "span.outcome_evaluation_end").collect();
    assert_eq!(
        verdicts.iter().map(|frame| frame.data["result"].clone()).collect::<Vec<_>>(),
        ["needs_revision", "satisfied"]
    );
    let start = frames.iter().find(|frame| frame.event == "span.outcome_evaluation_start").unwrap();
    assert_eq!(verdicts[0].data["outcome_evaluation_start_id"], start.id);
    assert_eq!(get(&session).await.json()["outcome_evaluations"][0]["result"], "satisfied");
}

#[tokio::test]
async fn a_sub_agents_request_is_cross_posted_and_answered_at_the_session() {
    let practice = server().await;
    let session = format!("{}/sessions/{}", practice.base_url(), practice.start_scenario("sub-agent").await.unwrap());
    let mut live = Live::open(&format!("{session}/events/stream?after_id=")).await;
    practice.control().until(|counters| counters.open_streams == 1).await.unwrap();
    practice
        .control()
        .wait(&practice::WaitFor {
            session: Some(id_of(&session).into()),
            phase: Some("waiting".into()),
            ..Default::default()
        })
        .await
        .unwrap();
    let events = crate::client::listed(&session).await;
    let asked = events.iter().find(|event| event["type"] == "agent.tool_use").unwrap();
    let thread = asked["session_thread_id"].as_str().unwrap();
    let own = get(&format!("{session}/threads/{thread}/events?limit=100")).await.json();
    assert!(own["data"].as_array().unwrap().iter().any(|event| event["id"] == asked["id"]));
    assert!(events.iter().any(|event| event["type"] == "session.thread_status_idle"));
    assert_eq!(get(&format!("{session}/threads")).await.json()["data"][0]["id"], thread);
    let mut threads = Live::open(&format!("{session}/threads/{thread}/stream")).await;
    let answer = send(&session, json!([allow(&asked["id"])])).await.json();
    assert_eq!(answer["data"][0]["session_thread_id"], thread);
    threads.until("agent.tool_result").await;
    live.until("agent.thread_message_received").await;
    assert_eq!(live.idle().await.last().unwrap().data["stop_reason"]["type"], "end_turn");
}
