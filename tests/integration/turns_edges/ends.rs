//! How turns end, and how they do not.

use anyhow::Result;
use contract::{
    server::ServerOptions,
    session::{ClosedReason, SessionState, StopReason, StopState},
};
use practice::{RequestAct, TurnsFaults, TurnsManner};
use pretty_assertions::assert_eq;
use tests::view::View;

use crate::turns::{Stage, has_line, is_over, stop_of, usual};

const HELLO: &str = "Agent Done: You said: Hello";

fn mode(mode: &str) -> ServerOptions {
    ServerOptions { stream_mode: Some(mode.to_owned()), ..ServerOptions::default() }
}

fn with(faults: TurnsFaults) -> TurnsManner {
    TurnsManner { faults, ..TurnsManner::default() }
}

fn runs(view: &View) -> bool {
    view.header.row.state == SessionState::Running
}

#[tokio::test]
async fn turns_edge_03_a_turn_whose_last_events_are_lost_is_read_from_the_history() -> Result<()> {
    for (told, faults) in [
        ("delta", TurnsFaults { no_turn_stop: true, ..TurnsFaults::default() }),
        ("message", TurnsFaults { lose_after_start: true, ..TurnsFaults::default() }),
    ] {
        let mut stage = Stage::with(with(faults), mode(told), usual()).await?;
        stage.say("Hello").await?;
        stage.view.until("its answer", |view| has_line(view, HELLO) && is_over(view)).await?;
        stage.say("Hello").await?;
        let twice = |view: &View| view.text().lines().filter(|line| *line == HELLO).count() == 2;
        stage.view.until("the second", |view| twice(view) && is_over(view)).await?;
        assert_eq!(stage.asked().len(), 2);
    }
    Ok(())
}

#[tokio::test]
async fn turns_edge_10_each_stop_is_said_and_the_next_message_goes_out() -> Result<()> {
    for told in ["delta", "message", "none"] {
        let mut stage = Stage::with(TurnsManner::default(), mode(told), usual()).await?;
        stage.run("LEN").await?;
        assert_eq!(stop_of(&stage.view), Some(StopReason::MaxTokens), "{told}");
        stage.run("REFUSE").await?;
        assert!(matches!(stop_of(&stage.view), Some(StopReason::Refusal { .. })), "{told}");
        stage.run("ERR").await?;
        assert!(matches!(stop_of(&stage.view), Some(StopReason::Error { .. })), "{told}");
        stage.run("Hello").await?;
        assert!(has_line(&stage.view, HELLO), "{told}: {}", stage.view.text());
    }
    Ok(())
}

#[tokio::test]
async fn turns_edge_16_a_session_deleted_elsewhere_is_kept_to_read_and_an_unknown_route_is_no_deletion() -> Result<()> {
    let mut stage = Stage::start(TurnsManner::default()).await?;
    stage.run("Hello").await?;
    let plain =
        RequestAct::Reply { status: 404, content_type: "text/plain".to_owned(), body: "404 Not Found".to_owned() };
    stage.control.fail_next("POST", "/turns", plain);
    stage.say("Twice").await?;
    stage.view.until("a held message", |view| view.header.queued.iter().any(|queued| queued.held)).await?;
    assert_eq!(stage.view.header.closed, None);
    stage.control.turns().remove(&stage.remote)?;
    stage.queued(contract::command::QueuedAction::Release).await?;
    stage.view.until("a session that is gone", |view| view.header.closed == Some(ClosedReason::Deleted)).await?;
    assert!(has_line(&stage.view, HELLO), "{}", stage.view.text());
    Ok(())
}

#[tokio::test]
async fn turns_edge_17_a_session_whose_agent_vanished_is_read_and_takes_nothing() -> Result<()> {
    let mut stage = Stage::start(TurnsManner::default()).await?;
    stage.run("Hello").await?;
    stage.control.turns().hide_agent("practice", true);
    stage.restart().await?;
    stage.engine.retry_now(stage.which()).await?;
    assert!(has_line(&stage.view, HELLO), "{}", stage.view.text());
    let rows = stage.engine.overview("main", contract::command::NoArgs {}).await?.sessions;
    assert!(rows.iter().any(|row| row.id == stage.view.session()));
    Ok(())
}

#[tokio::test]
async fn turns_edge_19_a_cancelled_turn_goes_on_at_the_server_and_its_rest_is_read() -> Result<()> {
    let mut stage = Stage::start(TurnsManner::default()).await?;
    stage.say("HANG").await?;
    stage.view.until("a running turn", runs).await?;
    stage.engine.stop_session(stage.which()).await?;
    stage.view.until("let go", |view| matches!(view.header.stop, StopState::LetGo { .. })).await?;
    stage.say("Hello").await?;
    stage.control.open_gate(&stage.remote, "hang")?;
    stage.view.until("the next turn", |view| has_line(view, HELLO) && is_over(view)).await?;
    let history = stage.control.turns().settled(&stage.remote).await?;
    let agent = history.iter().filter(|message| message["role"] == "assistant").count();
    let shown = stage.view.text().lines().filter(|line| line.starts_with("Agent ")).count();
    assert_eq!((shown, stage.asked().len()), (agent, 2), "{}", stage.view.text());
    Ok(())
}
