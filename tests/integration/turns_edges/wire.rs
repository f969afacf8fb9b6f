//! What comes over the wire.

use anyhow::Result;
use contract::{command::SetSessionSetup, item::ItemBody, session::SessionState};
use practice::{RequestAct, TurnsFaults, TurnsManner};
use pretty_assertions::assert_eq;
use serde_json::json;
use tests::view::View;

use crate::turns::{Stage, has_line, is_over, says, setup};

fn with(faults: TurnsFaults) -> TurnsManner {
    TurnsManner { faults, ..TurnsManner::default() }
}

fn runs(view: &View) -> bool {
    view.header.row.state == SessionState::Running
}

fn tools(view: &View) -> usize {
    view.ordered().into_iter().filter(|item| matches!(item.body, ItemBody::Tool(_))).count()
}

#[tokio::test]
async fn turns_edge_09_text_that_the_history_puts_before_its_thought_is_no_second_text() -> Result<()> {
    let faults = TurnsFaults { text_before_thinking: true, ..TurnsFaults::default() };
    let mut stage = Stage::start(with(faults)).await?;
    stage.run("THINK").await?;
    let text = stage.view.text();
    stage.restart().await?;
    stage.run("Hello").await?;
    assert!(stage.view.text().starts_with(&text), "{}\n---\n{text}", stage.view.text());
    Ok(())
}

#[tokio::test]
async fn turns_edge_11_unknown_events_and_broken_json_are_passed_over() -> Result<()> {
    let mut stage = Stage::start(TurnsManner::default()).await?;
    stage.say("HANG").await?;
    stage.view.until("a running turn", runs).await?;
    let turns = stage.control.turns();
    turns.raw(&stage.remote, "event: text_delta\ndata: {\"delta\":\n\n")?;
    turns.emit(&stage.remote, "surprise", &json!({"a": 1}))?;
    turns.emit(&stage.remote, "text", &json!({"text": "whole"}))?;
    turns.emit(&stage.remote, "turn_start", &json!({}))?;
    stage.control.open_gate(&stage.remote, "hang")?;
    stage.view.until("the end", is_over).await?;
    stage.run("Hello").await?;
    assert!(has_line(&stage.view, "Agent Done: You said: Hello"), "{}", stage.view.text());
    Ok(())
}

#[tokio::test]
async fn turns_edge_12_a_result_without_its_call_is_shown_and_a_call_announced_twice_is_one() -> Result<()> {
    let mut stage = Stage::start(TurnsManner::default()).await?;
    stage.say("HANG").await?;
    stage.view.until("a running turn", runs).await?;
    let turns = stage.control.turns();
    turns.emit(&stage.remote, "tool_result", &json!({"toolCallId": "never-seen", "content": "out of nothing"}))?;
    let call = json!({"toolCallId": "twice", "name": "clock", "input": {}});
    turns.emit(&stage.remote, "tool_call", &call)?;
    turns.emit(&stage.remote, "tool_call", &call)?;
    turns.emit(&stage.remote, "tool_result", &json!({"toolCallId": "twice", "content": "12:00"}))?;
    stage.view.until("both", |view| says(view, "out of nothing") && says(view, "12:00")).await?;
    assert_eq!(tools(&stage.view), 2, "{}", stage.view.text());
    stage.control.open_gate(&stage.remote, "hang")?;
    stage.view.until("the end", is_over).await?;
    Ok(())
}

#[tokio::test]
async fn turns_edge_13_results_that_are_json_texts_are_shown_as_what_they_say() -> Result<()> {
    let faults = TurnsFaults { json_results: true, ..TurnsFaults::default() };
    let mut stage = Stage::start(with(faults)).await?;
    stage.run("CALL:clock {}").await?;
    assert!(says(&stage.view, "Tool clock Done"), "{}", stage.view.text());
    assert_eq!(tools(&stage.view), 1);
    Ok(())
}

#[tokio::test]
async fn turns_edge_15_a_setup_that_may_not_have_been_stored_goes_again_with_the_next_turn() -> Result<()> {
    let mut stage = Stage::start(TurnsManner::default()).await?;
    stage.run("Hello").await?;
    let new = setup(&["!clock", "!write_note"], &["ask_user"]);
    let set = SetSessionSetup { session: stage.view.session(), setup: new.clone(), secrets: Vec::new() };
    stage.engine.set_session_setup(set).await?;
    stage.control.fail_next("POST", "/turns", RequestAct::LoseAnswer);
    stage.say("Twice").await?;
    stage.view.until("its answer", |view| has_line(view, "Agent Done: You said: Twice") && is_over(view)).await?;
    assert_eq!(stage.view.header.setup.as_ref(), Some(&new));
    stage.run("Thrice").await?;
    let tools = stage.control.turns().glimpse(&stage.remote)?["agent"]["tools"].clone();
    assert_eq!(tools.as_array().map(Vec::len), Some(2), "{tools}");
    Ok(())
}
