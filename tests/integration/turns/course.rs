//! Turns: answers that come whole, turns that are let go, streams that break, ends that are not said.

use std::time::Duration;

use anyhow::{Context as _, Result};
use contract::{
    command::QueuedAction,
    error::ErrorCode,
    server::ServerOptions,
    session::{ClosedReason, SessionState, StopState},
};
use practice::{RequestAct, TurnsManner};
use pretty_assertions::assert_eq;

use super::{MIX, Stage, has_line, is_over, says, usual};
use crate::rows::pass;

fn whole() -> ServerOptions {
    ServerOptions { stream_mode: Some("none".to_owned()), ..ServerOptions::default() }
}

fn runs(view: &tests::view::View) -> bool {
    view.header.row.state == SessionState::Running
}

#[tokio::test]
async fn a_turn_that_is_one_answer_shows_that_it_runs_and_since_when() -> Result<()> {
    let mut stage = Stage::with(TurnsManner::default(), whole(), usual()).await?;
    stage.say("HANG").await?;
    stage.view.until("a running turn", runs).await?;
    let turn = stage.view.header.turn.clone().context("no turn")?;
    assert!(turn.started_at.is_some() && turn.ended_at.is_none(), "{turn:?}");
    stage.control.turns().posted(2).await?;
    pass(Duration::from_secs(300)).await;
    assert_eq!(stage.view.header.row.state, SessionState::Running);
    stage.control.open_gate(&stage.remote, "hang")?;
    stage.view.until("its end", |view| has_line(view, "User Done: HANG") && is_over(view)).await?;
    let after = stage.view.header.turn.clone().context("no turn")?;
    assert_eq!(after.started_at, turn.started_at);
    assert_eq!(stage.asked().len(), 1);
    stage.run("Hello").await?;
    assert!(has_line(&stage.view, "Agent Done: You said: Hello"), "{}", stage.view.text());
    Ok(())
}

#[tokio::test]
async fn a_turn_that_is_one_answer_asks_as_any_other() -> Result<()> {
    let mut stage = Stage::with(TurnsManner::default(), whole(), usual()).await?;
    stage.say(MIX).await?;
    let cards = stage.cards(3).await?;
    for card in &cards {
        let no = card.choices.iter().find(|choice| matches!(choice.id.as_str(), "deny" | "decline"));
        stage.decide(card, &no.context("no denial")?.id).await?;
    }
    stage.view.until("the turn's end", |view| says(view, "Tools said") && is_over(view)).await?;
    assert_eq!(stage.asked().len(), 2);
    Ok(())
}

#[tokio::test]
async fn a_turn_that_is_let_go_goes_on_at_the_server_and_the_next_message_waits_for_its_end() -> Result<()> {
    let mut stage = Stage::start(TurnsManner::default()).await?;
    stage.say("HANG").await?;
    stage.view.until("a running turn", runs).await?;
    stage.engine.stop_session(stage.which()).await?;
    stage.view.until("a turn that is let go", |view| matches!(view.header.stop, StopState::LetGo { .. })).await?;
    stage.say("Next").await?;
    stage.view.until("a queued message", |view| view.header.queued.iter().any(|queued| !queued.held)).await?;
    assert_eq!(stage.asked().len(), 1);
    stage.control.open_gate(&stage.remote, "hang")?;
    stage.view.until("the next turn", |view| has_line(view, "Agent Done: You said: Next") && is_over(view)).await?;
    assert_eq!(stage.asked().len(), 2);
    assert_eq!(stage.view.header.stop, StopState::None);
    let history = stage.control.turns().settled(&stage.remote).await?;
    assert_eq!(history.iter().filter(|message| message["role"] == "user").count(), 2);
    Ok(())
}

#[tokio::test]
async fn what_is_no_longer_waited_for_is_found_when_it_is_there() -> Result<()> {
    let mut stage = Stage::with(TurnsManner::default(), whole(), usual()).await?;
    stage.say("HANG").await?;
    stage.view.until("a running turn", runs).await?;
    stage.control.turns().posted(2).await?;
    stage.engine.stop_session(stage.which()).await?;
    stage.view.until("a turn that is let go", |view| matches!(view.header.stop, StopState::LetGo { .. })).await?;
    stage.control.open_gate(&stage.remote, "hang")?;
    stage.view.until("the message", |view| has_line(view, "User Done: HANG") && is_over(view)).await?;
    assert_eq!(stage.asked().len(), 1);
    Ok(())
}

#[tokio::test]
async fn a_message_that_never_arrived_is_held_and_sent_only_on_the_persons_word() -> Result<()> {
    let mut stage = Stage::start(TurnsManner::default()).await?;
    stage.control.fail_next("POST", "/turns", RequestAct::Reset);
    stage.say("Hello").await?;
    stage.view.until("a message on its way", |view| says(view, "Hello")).await?;
    for _ in 0..8 {
        pass(Duration::from_secs(31)).await;
        if !stage.view.header.queued.is_empty() {
            break;
        }
        let _ = tokio::time::timeout(Duration::from_millis(300), stage.view.step()).await;
    }
    stage.view.until("a held message", |view| view.header.queued.iter().any(|queued| queued.held)).await?;
    stage.queued(QueuedAction::Release).await?;
    stage.view.until("its answer", |view| has_line(view, "Agent Done: You said: Hello") && is_over(view)).await?;
    Ok(())
}

#[tokio::test]
async fn a_message_whose_answer_was_lost_is_found_in_the_history_and_never_sent_again() -> Result<()> {
    let mut stage = Stage::start(TurnsManner::default()).await?;
    stage.control.fail_next("POST", "/turns", RequestAct::LoseAnswer);
    stage.say("Hello").await?;
    stage.view.until("its answer", |view| has_line(view, "Agent Done: You said: Hello") && is_over(view)).await?;
    assert_eq!(stage.asked().len(), 1);
    stage.run("Again").await?;
    assert_eq!(stage.asked().len(), 2);
    Ok(())
}

#[tokio::test]
async fn a_turn_that_a_crash_left_is_followed_to_its_end() -> Result<()> {
    let mut stage = Stage::start(TurnsManner::default()).await?;
    stage.say("HANG").await?;
    stage.view.until("a running turn", runs).await?;
    stage.crash().await?;
    stage.say("Next").await?;
    stage.control.open_gate(&stage.remote, "hang")?;
    stage.view.until("the next turn", |view| has_line(view, "Agent Done: You said: Next") && is_over(view)).await?;
    assert_eq!(stage.asked().len(), 2);
    Ok(())
}

#[tokio::test]
async fn nothing_can_be_stopped_while_the_agent_waits_and_nothing_is_refused_by_that() -> Result<()> {
    let mut stage = Stage::start(TurnsManner::default()).await?;
    stage.say(MIX).await?;
    stage.cards(3).await?;
    assert_eq!(stage.engine.stop_session(stage.which()).await.unwrap_err().code, ErrorCode::Unsupported);
    assert_eq!((stage.view.open_requests().len(), stage.asked().len()), (3, 1));
    Ok(())
}

#[tokio::test]
async fn a_session_that_was_deleted_elsewhere_is_kept_to_read() -> Result<()> {
    let mut stage = Stage::start(TurnsManner::default()).await?;
    stage.run("Hello").await?;
    stage.control.turns().remove(&stage.remote)?;
    stage.say("Anyone?").await?;
    stage.view.until("a session that is gone", |view| view.header.closed == Some(ClosedReason::Deleted)).await?;
    assert!(has_line(&stage.view, "Agent Done: You said: Hello"), "{}", stage.view.text());
    Ok(())
}
