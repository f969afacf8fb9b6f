//! What comes over the wire.

use anyhow::Result;
use contract::item::ItemBody;
use practice::{TurnsFaults, TurnsManner};
use pretty_assertions::assert_eq;
use tests::view::View;

use crate::turns::{Stage, says};

fn with(faults: TurnsFaults) -> TurnsManner {
    TurnsManner { faults, ..TurnsManner::default() }
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
async fn turns_edge_13_results_that_are_json_texts_are_shown_as_what_they_say() -> Result<()> {
    let faults = TurnsFaults { json_results: true, ..TurnsFaults::default() };
    let mut stage = Stage::start(with(faults)).await?;
    stage.run("CALL:clock {}").await?;
    assert!(says(&stage.view, "Tool clock Done"), "{}", stage.view.text());
    assert_eq!(tools(&stage.view), 1);
    Ok(())
}
