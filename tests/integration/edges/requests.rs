//! What waits for the person, whoever answers it (numbers 14, 18 and 25).

use anyhow::Result;
use contract::{
    command::SessionRef,
    error::ErrorCode,
    item::ItemBody,
    request::{ChoiceKind, DecidedBy, Fate, RequestKind, RequestState},
    session::SessionState,
};
use pretty_assertions::assert_eq;
use serde_json::json;
use tests::rig::decision;

use super::stage::{Stage, blocks};

fn tools(stage: &Stage) -> Vec<String> {
    stage.lines(|body| matches!(body, ItemBody::Tool(_)))
}

#[tokio::test]
async fn managed_edge_14_several_ids_are_answered_one_by_one() -> Result<()> {
    let mut stage = Stage::play("parallel-batch", &[]).await?;
    stage.view.until("three cards", |view| view.open_requests().len() == 3).await?;
    let ids: Vec<String> = stage.rig.control.waiting(&stage.remote)?;
    for (answered, id) in ids.iter().enumerate() {
        stage.view.until("the rest", |view| view.open_requests().len() == 3 - answered).await?;
        let choice = if answered == 1 { "deny" } else { "allow_once" };
        stage.rig.engine.decide(decision(&stage.view.requests[id].clone(), choice)).await?;
    }
    stage.settle().await?;
    let seen = stage.rig.control.counters();
    assert_eq!(ids.iter().map(|id| seen.accepted(id)).collect::<Vec<_>>(), [1, 1, 1]);
    assert_eq!(seen.decisions.len(), 3);
    stage
        .view
        .until("three fates", |view| {
            view.decisions.len() == 3 && view.decisions.values().all(|row| row.fate == Fate::Accepted)
        })
        .await?;
    assert!(stage.view.requests.values().all(|request| matches!(request.state, RequestState::Accepted { .. })));
    assert_eq!(stage.lines(|body| matches!(body, ItemBody::Tool(tool) if tool.request.is_some())).len(), 3);
    stage.stop().await;
    Ok(())
}

#[tokio::test]
async fn managed_edge_14_an_id_that_no_event_explained_gets_a_card_that_its_event_completes() -> Result<()> {
    let mut stage = Stage::idle(&[]).await?;
    let waits = |ids: &[&str]| json!({"type": "session.status_idle", "stop_reason": {"type": "requires_action", "event_ids": ids}});
    stage.emit(json!({"type": "session.status_running"}))?;
    stage.emit(waits(&["evt_later"]))?;
    stage.view.until("a fallback card", |view| view.requests.contains_key("evt_later")).await?;
    let card = stage.view.requests["evt_later"].clone();
    assert_eq!(card.kind, RequestKind::Fallback);
    assert_eq!(stage.view.header.row.state, SessionState::Waiting);
    let late = json!({"id": "evt_later", "type": "agent.tool_use", "name": "Bash", "input": {"command": "make"},
        "evaluated_permission": "ask"});
    stage.emit(late)?;
    stage
        .view
        .until("the real card", |view| {
            view.requests["evt_later"].kind == RequestKind::Approval && view.open_requests().len() == 1
        })
        .await?;
    assert_eq!(stage.view.requests.len(), 1);
    assert_ne!(stage.view.requests["evt_later"].digest, card.digest);
    // What was shown before is no longer what would be allowed.
    let refused = stage.rig.engine.decide(decision(&card, "deny")).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::RequestChanged, "{:?}", stage.view.requests);
    stage.stop().await;
    Ok(())
}

#[tokio::test]
async fn managed_edge_14_an_id_that_another_client_answered_is_no_card() -> Result<()> {
    let mut stage = Stage::play("approval", &[]).await?;
    stage.view.until("the card", |view| view.open_requests().len() == 1).await?;
    let card = stage.view.open_requests()[0].clone();
    stage.rig.control.silence_streams();
    assert_eq!(stage.confirm_elsewhere(&card.id, "deny").await?, 200);
    let opened = stage.rig.control.counters().opened.len();
    stage.rig.control.cut_streams();
    stage.back(opened).await?;
    stage.settle().await?;
    let state = stage.view.requests[&card.id].state.clone();
    assert!(matches!(state, RequestState::Elsewhere { choice: Some(ChoiceKind::Deny), .. }), "{state:?}");
    let refused = stage.rig.engine.decide(decision(&card, "allow_once")).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::RequestSettled);
    assert_eq!(stage.rig.control.counters().decisions.len(), 1, "only the other client's");
    stage.stop().await;
    Ok(())
}

#[tokio::test]
async fn managed_edge_14_a_card_is_there_again_after_a_restart_and_is_answered_once() -> Result<()> {
    let mut stage = Stage::play("approval", &[]).await?;
    stage.view.until("the card", |view| view.open_requests().len() == 1).await?;
    let before = stage.view.open_requests()[0].clone();
    stage.restart().await?;
    stage.view.until("the card", |view| view.open_requests().len() == 1).await?;
    let after = stage.view.open_requests()[0].clone();
    assert_eq!((&after.id, &after.digest), (&before.id, &before.digest));
    stage.live().await?;
    stage.rig.engine.decide(decision(&before, "allow_once")).await?;
    stage.settle().await?;
    assert_eq!(stage.rig.control.counters().accepted(&before.id), 1);
    assert_eq!(stage.view.decisions.len(), 1);
    assert_eq!(stage.said().await?, ["One command.", "Done after the approval."]);
    assert_eq!(tools(&stage), ["Tool Bash Done ls -la: total 0"]);
    stage.restart().await?;
    stage.settle().await?;
    assert_eq!(tools(&stage), ["Tool Bash Done ls -la: total 0"]);
    assert!(stage.view.open_requests().is_empty());
    stage.stop().await;
    Ok(())
}

#[tokio::test]
async fn managed_edge_18_a_result_before_its_call_and_one_without_any() -> Result<()> {
    let mut stage = Stage::idle(&[]).await?;
    stage.emit(json!({"type": "session.status_running"}))?;
    stage.emit(json!({"type": "agent.tool_result", "tool_use_id": "evt_use", "content": blocks("early")}))?;
    stage.emit(json!({"id": "evt_use", "type": "agent.tool_use", "name": "Read", "input": {"file_path": "a.txt"}}))?;
    stage.emit(
        json!({"type": "agent.tool_result", "tool_use_id": "evt_never", "content": blocks("alone"), "is_error": true}),
    )?;
    stage.emit(json!({"type": "session.status_idle", "stop_reason": {"type": "end_turn"}}))?;
    stage.shown().await?;
    assert_eq!(tools(&stage), ["Tool Read Done a.txt: early", "Tool  Failed : alone"]);
    stage.restart().await?;
    stage.settle().await?;
    assert_eq!(tools(&stage), ["Tool Read Done a.txt: early", "Tool  Failed : alone"]);
    stage.stop().await;
    Ok(())
}

#[tokio::test]
async fn managed_edge_18_a_call_that_is_stopped_has_no_result_and_its_card_is_void() -> Result<()> {
    let mut stage = Stage::play("approval", &[]).await?;
    stage.view.until("the card", |view| view.open_requests().len() == 1).await?;
    let card = stage.view.open_requests()[0].clone();
    stage.live().await?;
    stage.rig.engine.stop_session(SessionRef { session: stage.view.session() }).await?;
    stage.settle().await?;
    assert_eq!(tools(&stage), ["Tool Bash Cancelled ls -la: "]);
    assert_eq!(stage.view.requests[&card.id].state, RequestState::Void);
    assert_eq!(stage.rig.control.counters().decisions.len(), 0);
    stage.stop().await;
    Ok(())
}

#[tokio::test]
async fn managed_edge_18_a_denied_call_and_a_clients_tool_end_without_a_servers_result() -> Result<()> {
    let mut stage = Stage::play("approval", &[]).await?;
    stage.view.until("the card", |view| view.open_requests().len() == 1).await?;
    let mut no = decision(&stage.view.open_requests()[0].clone(), "deny");
    no.reason = Some("not today".into());
    stage.rig.engine.decide(no).await?;
    stage.settle().await?;
    let lines = tools(&stage);
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].contains("Denied { reason: Some(\"not today\") }"), "{lines:?}");
    stage.stop().await;

    let mut stage = Stage::play("client-tool", &[]).await?;
    stage.view.until("the call", |view| view.open_requests().len() == 1).await?;
    let mut answer = decision(&stage.view.open_requests()[0].clone(), "answer");
    answer.result = Some("by hand".into());
    stage.rig.engine.decide(answer).await?;
    stage.settle().await?;
    let lines = tools(&stage);
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].contains("Done") && lines[0].ends_with("by hand"), "{lines:?}");
    stage.stop().await;
    Ok(())
}

#[tokio::test]
async fn managed_edge_25_two_windows_see_the_same_and_another_clients_answer_resolves_the_card_in_both() -> Result<()> {
    let mut stage = Stage::play("approval", &[]).await?;
    let mut second = stage.window("second").await?;
    stage.view.until("the card", |view| view.open_requests().len() == 1).await?;
    second.until("the card", |view| view.open_requests().len() == 1).await?;
    let id = stage.view.open_requests()[0].id.clone();
    stage.live().await?;
    assert_eq!(stage.confirm_elsewhere(&id, "allow").await?, 200);
    for view in [&mut stage.view, &mut second] {
        view.until("the end", |view| view.text().contains("Done after the approval.")).await?;
        let state = view.requests[&id].state.clone();
        assert!(matches!(state, RequestState::Elsewhere { choice: Some(ChoiceKind::AllowOnce), .. }), "{state:?}");
    }
    stage.settle().await?;
    second.until("the idle session", |view| view.header.row.state == SessionState::Idle).await?;
    let text = stage.text().await?;
    let last = stage.view.text();
    second.until("the mark", |view| view.text() == last).await?;
    assert_eq!(super::stage::without_marks(&second.text()), text);
    // The ledger has the other's decision, and none of ours.
    let rows =
        stage.rig.engine.decisions(contract::command::LogQuery { session: stage.view.session(), limit: 10 }).await?;
    assert_eq!(
        rows.iter().map(|row| (row.by, row.choice)).collect::<Vec<_>>(),
        [(DecidedBy::Elsewhere, ChoiceKind::AllowOnce)]
    );
    stage.stop().await;
    Ok(())
}
