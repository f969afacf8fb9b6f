//! What is sent, and what comes back instead of an answer (numbers 12, 13 and 21).

use anyhow::Result;
use contract::{
    command::{ReplaceToken, SessionRef},
    connection::ConnectionState,
    error::ErrorCode,
    item::ItemBody,
    request::{ChoiceKind, Fate, RequestState},
    server::ServerOptions,
    session::{ClosedReason, SessionState},
};
use practice::{FaultBody, RequestAct};
use pretty_assertions::assert_eq;
use reqwest::Method;
use serde_json::{Value, json};
use tests::rig::{Dialect, Rig, decision};

use super::stage::{Stage, blocks};

/// A message of another client.
async fn message_elsewhere(stage: &Stage, text: &str) -> Result<u16> {
    let event = json!({"type": "user.message", "content": blocks(text)});
    stage.elsewhere(Method::POST, "/events", &json!({"events": [event]})).await
}

fn user_lines(stage: &Stage) -> Vec<String> {
    let mut lines = stage.lines(|body| matches!(body, ItemBody::Message(_)));
    lines.retain(|line| line.starts_with("User"));
    lines
}

#[tokio::test]
async fn managed_edge_12_a_message_while_a_turn_runs_waits_here_and_is_sent_once() -> Result<()> {
    let mut stage = Stage::idle(&[]).await?;
    let opened = stage.rig.control.counters().opened.len();
    // Another client begins a turn that this stream does not tell of.
    stage.rig.control.silence_streams();
    stage.rig.control.hold_session(Some(&stage.remote))?;
    assert_eq!(message_elsewhere(&stage, "Theirs").await?, 200);
    stage.send("Ours").await?;
    stage.view.until("the queue", |view| view.header.queued.len() == 1).await?;
    stage.rig.control.cut_streams();
    stage.back(opened).await?;
    stage.rig.control.release(Some(&stage.remote))?;
    stage.view.until("the answer", |view| view.text().contains("Ours") && view.header.queued.is_empty()).await?;
    stage.settle().await?;
    assert_eq!(user_lines(&stage), ["User Done: Hello", "User Done: Theirs", "User Done: Ours"]);
    assert_eq!(stage.messages_at_server("Ours")?, 1);
    let statuses: Vec<u16> = stage.rig.control.counters().posts.iter().map(|post| post.status).collect();
    assert_eq!(statuses, [200, 409, 200]);
    stage.stop().await;
    Ok(())
}

#[tokio::test]
async fn managed_edge_12_a_decision_that_came_too_late_shows_what_was_decided() -> Result<()> {
    let mut stage = Stage::play("approval", &[]).await?;
    stage.view.until("the card", |view| view.open_requests().len() == 1).await?;
    // A stream that opens later, or a reading that still goes on, would bring what the other decides.
    stage.live().await?;
    stage.shown().await?;
    let card = stage.view.open_requests()[0].clone();
    stage.rig.control.silence_streams();
    assert_eq!(stage.confirm_elsewhere(&card.id, "deny").await?, 200);
    stage.rig.engine.decide(decision(&card, "allow_once")).await?;
    stage.view.until("the fate", |view| view.decisions.values().any(|row| row.fate != Fate::Sending)).await?;
    let fates: Vec<Fate> = stage.view.decisions.values().map(|row| row.fate.clone()).collect();
    assert_eq!(fates, [Fate::Superseded]);
    stage
        .view
        .until("what the other decided", |view| {
            matches!(view.requests[&card.id].state, RequestState::Elsewhere { choice: Some(ChoiceKind::Deny), .. })
        })
        .await?;
    let seen = stage.rig.control.counters();
    assert_eq!(seen.decisions.iter().map(|decision| decision.status).collect::<Vec<_>>(), [200, 409]);
    stage.stop().await;
    Ok(())
}

#[tokio::test]
async fn managed_edge_12_a_session_deleted_elsewhere_is_closed_and_its_history_stays() -> Result<()> {
    let mut stage = Stage::idle(&[]).await?;
    let before = stage.text().await?;
    stage.rig.control.silence_streams();
    assert!(stage.elsewhere(Method::DELETE, "", &Value::Null).await? < 300);
    stage.send("Too late").await?;
    stage.view.until("the end", |view| view.header.closed == Some(ClosedReason::Deleted)).await?;
    assert_eq!(stage.view.header.connection, ConnectionState::Gone);
    assert!(stage.view.text().starts_with(&before.replace("\nSystem", "")), "{}", stage.view.text());
    assert_eq!(stage.send("Never").await.unwrap_err().code, ErrorCode::SessionEnded);
    stage.stop().await;
    Ok(())
}

#[tokio::test]
async fn managed_edge_12_a_token_that_is_refused_midway_stops_everything_until_there_is_another() -> Result<()> {
    let options = ServerOptions { dialect: Some("qoder".into()), ..ServerOptions::default() };
    let rig = Rig::start_with(Dialect::Qoder, options).await?;
    let mut stage = Stage::on(rig, "plain", &[]).await?;
    stage.settle().await?;
    let opened = stage.rig.control.counters().opened.len();
    stage.rig.control.rotate_token("another-token-of-the-same-server");
    stage.rig.control.cut_streams();
    stage.view.until("the refusal", |view| view.header.connection == ConnectionState::Unauthorized).await?;
    stage.emit(json!({"type": "agent.message", "content": blocks("Meanwhile")}))?;
    let asked = stage.rig.control.counters().requests;
    let server = stage.rig.server.clone();
    let token = "another-token-of-the-same-server".to_owned();
    stage.rig.engine.replace_token(ReplaceToken { server, token, session_only: true, stop_runs: false }).await?;
    stage.rig.control.until(|seen| seen.opened.len() > opened && seen.requests > asked).await?;
    stage.view.until("what was missed", |view| view.text().contains("Meanwhile")).await?;
    assert_eq!(stage.said().await?[1..], ["Meanwhile"]);
    stage.stop().await;
    Ok(())
}

#[tokio::test]
async fn managed_edge_12_refusals_without_a_body_are_tried_again_with_the_same_key() -> Result<()> {
    let status = |status| RequestAct::Status { status, body: FaultBody::Empty, retry_after: None };
    let acts = [status(429), status(503), RequestAct::Reset];
    let mut tries = Vec::new();
    for (number, act) in acts.into_iter().enumerate() {
        let mut stage = Stage::idle(&[]).await?;
        stage.rig.control.fail_next("POST", "/events", act);
        let text = format!("Message {number}");
        stage.send(&text).await?;
        stage.view.until("the message", |view| view.text().contains(&format!("User Done: {text}"))).await?;
        stage.settle().await?;
        assert_eq!(stage.messages_at_server(&text)?, 1);
        assert_eq!(user_lines(&stage).len(), 2);
        tries.push(stage.rig.control.counters().posts.iter().map(|post| post.status).collect::<Vec<_>>());
        stage.stop().await;
    }
    assert!(tries.iter().all(|statuses| statuses.last() == Some(&200)), "{tries:?}");
    Ok(())
}

#[tokio::test]
async fn managed_edge_13_a_message_whose_answer_was_lost_is_there_once() -> Result<()> {
    for dialect in [Dialect::Qoder, Dialect::Claude] {
        let rig = Rig::start(dialect).await?;
        let form = if dialect == Dialect::Claude { "claude" } else { "newest" };
        let mut stage = Stage::on(rig, "plain", &[("practice.form", form)]).await?;
        stage.settle().await?;
        stage.rig.control.fail_next("POST", "/events", RequestAct::LoseAnswer);
        stage.send("Only once").await?;
        stage.view.until("the message", |view| view.text().contains("User Done: Only once")).await?;
        stage.settle().await?;
        assert_eq!(user_lines(&stage), ["User Done: Hello", "User Done: Only once"], "{dialect:?}");
        assert_eq!(stage.messages_at_server("Only once")?, 1, "{dialect:?}");
        stage.stop().await;
    }
    Ok(())
}

#[tokio::test]
async fn managed_edge_13_a_decision_whose_answer_was_lost_is_made_once() -> Result<()> {
    for dialect in [Dialect::Qoder, Dialect::Claude] {
        let rig = Rig::start(dialect).await?;
        let mut stage = Stage::on(rig, "approval", &[]).await?;
        stage.view.until("the card", |view| view.open_requests().len() == 1).await?;
        let card = stage.view.open_requests()[0].clone();
        // The echo on the stream must not help: only the answer, or the history, tells.
        stage.rig.control.silence_streams();
        stage.rig.control.fail_next("POST", "/events", RequestAct::LoseAnswer);
        stage.rig.engine.decide(decision(&card, "allow_once")).await?;
        stage.view.until("the fate", |view| view.decisions.values().any(|row| row.fate == Fate::Accepted)).await?;
        let seen = stage.rig.control.counters();
        let first_hand = seen.decisions.iter().filter(|decision| !decision.repeated).count();
        assert_eq!(first_hand, 1, "{dialect:?}: {:?}", seen.decisions);
        assert_eq!(stage.view.decisions.len(), 1);
        stage.stop().await;
    }
    Ok(())
}

#[tokio::test]
async fn managed_edge_21_an_archived_session_is_read_and_takes_nothing() -> Result<()> {
    let mut stage = Stage::idle(&[]).await?;
    let before = stage.text().await?;
    stage.rig.engine.archive_session(SessionRef { session: stage.view.session() }).await?;
    stage.view.until("the mark", |view| view.header.closed == Some(ClosedReason::Archived)).await?;
    assert_eq!(stage.send("Nothing").await.unwrap_err().code, ErrorCode::SessionEnded);
    stage.restart().await?;
    let lines: Vec<String> =
        stage.view.text().lines().filter(|line| !line.contains("mark ")).map(str::to_owned).collect();
    assert_eq!(lines.join("\n"), before);
    assert_eq!(stage.view.header.closed, Some(ClosedReason::Archived));
    assert_eq!(stage.send("Nothing").await.unwrap_err().code, ErrorCode::SessionEnded);
    assert_eq!(stage.messages_at_server("Nothing")?, 0);
    stage.stop().await;
    Ok(())
}

#[tokio::test]
async fn managed_edge_21_a_stream_that_says_deleted_is_over_for_good() -> Result<()> {
    let mut stage = Stage::idle(&[]).await?;
    let opened = stage.rig.control.counters().opened.len();
    stage.emit(json!({"type": "session.deleted"}))?;
    stage.view.until("the end", |view| view.header.closed == Some(ClosedReason::Deleted)).await?;
    stage
        .view
        .until("a closed link", |view| {
            matches!(view.header.connection, ConnectionState::Ended | ConnectionState::Gone | ConnectionState::Closed)
        })
        .await?;
    assert_eq!(stage.view.header.row.state, SessionState::Ended);
    stage.view.until("the line", |view| view.text().ends_with("Marker Ended { reason: None }")).await?;
    stage.rig.engine.retry_now(SessionRef { session: stage.view.session() }).await?;
    assert_eq!(stage.send("Nothing").await.unwrap_err().code, ErrorCode::SessionEnded);
    assert_eq!(stage.rig.control.counters().opened.len(), opened, "nothing connects again");
    stage.stop().await;
    Ok(())
}
