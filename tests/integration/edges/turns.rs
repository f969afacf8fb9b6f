//! What ends a turn and what does not (numbers 15 to 17).

use std::sync::Mutex;

use anyhow::{Context as _, Result};
use contract::{
    command::SendMessage,
    item::{ItemBody, Marker},
    probe::ServerDraft,
    server::ServerOptions,
    session::SessionState,
};
use engine::MemoryCredentials;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use tests::view::View;
use tokio::sync::mpsc;

use super::{
    stage::{Stage, blocks, frame, said},
    wire::{Answer, Wire},
};

fn running() -> Value {
    json!({"type": "session.status_running"})
}

fn idle(reason: &str) -> Value {
    json!({"type": "session.status_idle", "stop_reason": {"type": reason}})
}

fn ends(stage: &Stage) -> Vec<String> {
    stage.lines(|body| matches!(body, ItemBody::Marker(Marker::TurnEnd { .. })))
}

#[tokio::test]
async fn managed_edge_15_an_idle_for_action_pauses_and_one_for_the_budget_ends() -> Result<()> {
    let mut stage = Stage::play("approval", &[]).await?;
    stage.view.until("the card", |view| view.open_requests().len() == 1).await?;
    assert_eq!(stage.view.header.row.state, SessionState::Waiting);
    assert!(stage.view.header.turn.as_ref().is_some_and(|turn| turn.ended_at.is_none()), "the turn goes on");
    assert_eq!(ends(&stage), [""; 0]);
    stage.stop().await;

    let mut stage = Stage::idle(&[]).await?;
    stage.emit(running())?;
    stage.emit(said("As far as the money goes"))?;
    stage.emit(idle("budget_reached"))?;
    let text = stage.text().await?;
    assert!(text.ends_with("As far as the money goes\nMarker TurnEnd { stop: Budget }"), "{text}");
    assert_eq!(stage.view.header.row.state, SessionState::Idle);
    assert!(stage.view.open_requests().is_empty());
    stage.stop().await;
    Ok(())
}

#[tokio::test]
async fn managed_edge_15_a_sub_agents_idle_does_not_end_the_turn() -> Result<()> {
    let mut stage = Stage::idle(&[]).await?;
    let child = |kind: &str, more: Value| {
        let mut event = json!({"type": kind, "session_thread_id": "sthr_9", "agent_name": "helper"});
        event.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        event
    };
    stage.emit(running())?;
    stage.emit(child("session.thread_created", json!({})))?;
    stage.emit(child("session.thread_status_running", json!({})))?;
    stage.emit(child("session.thread_status_idle", json!({"stop_reason": {"type": "end_turn"}})))?;
    stage.shown().await?;
    assert_eq!(stage.view.header.row.state, SessionState::Running);
    assert!(stage.view.header.turn.as_ref().is_some_and(|turn| turn.ended_at.is_none()));
    assert_eq!(stage.view.header.threads[0].state, SessionState::Idle);
    stage.emit(said("The turn goes on"))?;
    stage.emit(idle("end_turn"))?;
    stage.view.until("the end", |view| view.header.row.state == SessionState::Idle).await?;
    assert_eq!(stage.said().await?.last().map(String::as_str), Some("The turn goes on"));
    stage.stop().await;
    Ok(())
}

#[tokio::test]
async fn managed_edge_16_an_idle_of_the_turn_before_does_not_end_the_new_one() -> Result<()> {
    let (frames, stream) = mpsc::unbounded_channel();
    let stream = Mutex::new(Some(stream));
    let wire = Wire::with_session(move |asked| match asked.path.as_str() {
        path if path.contains("/events/stream") => stream.lock().unwrap().take().map(Answer::Stream),
        path if asked.method == "POST" && path.ends_with("/events") => Some(Answer::Json(json!({"data": [{
            "id": "evt_new", "type": "user.message", "content": blocks("The new one"),
            "created_at": "2026-09-01T10:00:05Z", "processed_at": "2026-09-01T10:00:05Z"}]}))),
        _ => None,
    })
    .await?;
    let dir = tempfile::tempdir()?;
    let engine = tests::rig::engine(dir.path(), std::sync::Arc::new(MemoryCredentials::default())).await?;
    let options = ServerOptions { dialect: Some("qoder".into()), ..ServerOptions::default() };
    let draft = ServerDraft { protocol: Some("managed".into()), ..tests::rig::draft(&wire.base, "token", options) };
    let server = engine.add_server(draft).await?.id;
    let session = engine.session_by_remote(&server, "sess_1").await?;
    let mut view = View::open(&engine, "main", session).await?;
    engine.send_message(SendMessage { session, text: "The new one".into(), images: Vec::new() }).await?;
    let echo = view.until("the echo", |view| view.text() == "User Done: The new one").await;
    echo.with_context(|| format!("{:?} {:?} {:?}", view.header, view.log, wire.seen()))?;

    let event = |id: &str, mut event: Value, at: &str| {
        let fields = event.as_object_mut().unwrap();
        fields.insert("id".into(), id.into());
        fields.insert("processed_at".into(), format!("2026-09-01T{at}Z").into());
        let name = fields["type"].as_str().unwrap().to_owned();
        frame(id, &name, &event)
    };
    frames.send(event("evt_old", idle("cancelled"), "10:00:03"))?;
    frames.send(event("evt_run", running(), "10:00:06"))?;
    view.until("the new turn", |view| view.header.row.state == SessionState::Running).await?;
    let turn = view.header.turn.clone().unwrap();
    assert_eq!((turn.ended_at, turn.stop), (None, None), "it goes on");
    // A message now waits: the turn is not over.
    engine.send_message(SendMessage { session, text: "And another".into(), images: Vec::new() }).await?;
    view.until("the queue", |view| view.header.queued.len() == 1).await?;
    assert!(!view.header.queued[0].held, "a stop of the turn before holds nothing");
    frames.send(event("evt_say", said("Of the new turn"), "10:00:07"))?;
    frames.send(event("evt_end", idle("end_turn"), "10:00:08"))?;
    view.until("the next message", |view| view.header.queued.is_empty()).await?;
    wire.until(|seen| seen.iter().filter(|asked| asked.method == "POST").count() == 2).await?;
    view.until("its text", |view| view.text().matches("Of the new turn").count() == 1).await?;
    engine.shutdown().await;
    Ok(())
}

#[tokio::test]
async fn managed_edge_17_a_reschedule_and_an_error_that_is_retried_are_only_told() -> Result<()> {
    let mut stage = Stage::idle(&[]).await?;
    let posts = stage.rig.control.counters().posts.len();
    stage.emit(running())?;
    stage.emit(said("Before"))?;
    stage.emit(json!({"type": "session.status_rescheduled"}))?;
    stage.view.until("the wait", |view| view.header.row.state == SessionState::Rescheduling).await?;
    assert!(stage.view.header.turn.as_ref().is_some_and(|turn| turn.ended_at.is_none()));
    stage.emit(running())?;
    stage.emit(json!({"type": "session.error", "error": {"type": "model_overloaded_error", "message": "Busy",
        "retry_status": {"type": "retrying"}}}))?;
    stage.emit(said("Behind"))?;
    stage.emit(idle("end_turn"))?;
    stage.view.until("the end", |view| view.header.row.state == SessionState::Idle).await?;
    let text = stage.text().await?;
    let end = "Agent Done: Before\nMarker Rescheduled\nNotice Warning ErrorRetrying: Busy\nAgent Done: Behind";
    assert!(text.ends_with(end), "{text}");
    assert_eq!(stage.rig.control.counters().posts.len(), posts, "nothing was sent again");
    stage.stop().await;
    Ok(())
}
