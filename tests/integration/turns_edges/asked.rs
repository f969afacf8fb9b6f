//! What is asked, and what is answered.

use anyhow::{Context as _, Result};
use contract::{
    command::QueuedAction,
    item::{ItemBody, ToolState},
    request::{ChoiceKind, RequestKind},
    server::ServerOptions,
};
use practice::{TurnsFaults, TurnsManner, TurnsVersion};
use pretty_assertions::assert_eq;
use tests::view::View;

use crate::turns::{MIX, Stage, answered, has_line, is_over, says, usual};

fn whole() -> ServerOptions {
    ServerOptions { stream_mode: Some("none".to_owned()), ..ServerOptions::default() }
}

fn with(faults: TurnsFaults) -> TurnsManner {
    TurnsManner { faults, ..TurnsManner::default() }
}

fn tools(view: &View) -> Vec<(String, ToolState)> {
    let tool = |body: &ItemBody| {
        if let ItemBody::Tool(tool) = body { Some((tool.name.clone(), tool.state.clone())) } else { None }
    };
    view.ordered().into_iter().filter_map(|item| tool(&item.body)).collect()
}

async fn mix(manner: TurnsManner, options: ServerOptions) -> Result<Stage> {
    let mut stage = Stage::with(manner, options, usual()).await?;
    stage.say(MIX).await?;
    stage.cards(3).await?;
    let (ask, read, note) =
        (stage.card("ask_user").await?, stage.card("read_clipboard").await?, stage.card("write_note").await?);
    let ids = |tool: &str| -> Result<String> {
        let pending = stage.control.turns().pending(&stage.remote)?;
        let call = pending.iter().find(|call| call["name"] == tool).context("not pending")?;
        Ok(call["toolCallId"].as_str().context("no id")?.to_owned())
    };
    let (ask_id, read_id, note_id) = (ids("ask_user")?, ids("read_clipboard")?, ids("write_note")?);
    stage.decide(&read, "allow_once").await?;
    stage.decide(&note, "allow_once").await?;
    stage.engine.decide(answered(&ask, "blue")).await?;
    stage.view.until("the turn's end", |view| says(view, "Tools said") && is_over(view)).await?;

    let stream = if stage.asked()[0].body.contains("\"none\"") { "none" } else { "delta" };
    // The trusted call is not in it.
    let wanted = format!(
        "{{\"messages\":[{{\"role\":\"tool\",\"toolCallId\":\"{ask_id}\",\"content\":\"blue\"}},\
         {{\"role\":\"tool\",\"toolCallId\":\"{read_id}\",\"content\":\"from the clipboard\"}},\
         {{\"role\":\"tool_permission\",\"toolCallId\":\"{note_id}\",\"granted\":true}}],\"stream\":\"{stream}\"}}"
    );
    let asked = stage.asked();
    assert_eq!((asked.len(), asked[1].body.as_str()), (2, wanted.as_str()));
    assert_eq!(tools(&stage.view).len(), 4, "{}", stage.view.text());
    Ok(stage)
}

#[tokio::test]
async fn turns_edge_01_a_parallel_mix_leaves_as_one_request_without_the_trusted_call() -> Result<()> {
    mix(TurnsManner::default(), ServerOptions::default()).await?;
    Ok(())
}

#[tokio::test]
async fn turns_edge_02_a_turn_that_is_one_answer_asks_the_same() -> Result<()> {
    mix(TurnsManner::default(), whole()).await?;
    Ok(())
}

#[tokio::test]
async fn turns_edge_04_a_granted_call_whose_result_is_not_sent_has_it_from_the_history() -> Result<()> {
    for options in [ServerOptions::default(), whole()] {
        let faults = TurnsFaults { no_granted_result: true, ..TurnsFaults::default() };
        let mut stage = Stage::with(with(faults), options, usual()).await?;
        stage.say("CALL:write_note {\"text\":\"hi\"}").await?;
        let note = stage.card("write_note").await?;
        stage.decide(&note, "allow_once").await?;
        stage
            .view
            .until("its result", |view| {
                says(view, "Done") && tools(view) == [("write_note".to_owned(), ToolState::Done)] && is_over(view)
            })
            .await?;
        stage.run("Hello").await?;
    }
    Ok(())
}

#[tokio::test]
async fn turns_edge_05_a_result_that_the_history_holds_twice_is_one() -> Result<()> {
    let faults = TurnsFaults { duplicate_results: true, ..TurnsFaults::default() };
    let mut stage = Stage::start(with(faults)).await?;
    stage.run("CALL:clock {}").await?;
    stage.restart().await?;
    stage.engine.retry_now(stage.which()).await?;
    stage.run("Hello").await?;
    assert_eq!(tools(&stage.view).len(), 1, "{}", stage.view.text());
    Ok(())
}

#[tokio::test]
async fn turns_edge_06_a_tool_that_nobody_has_is_answered_as_unknown_and_the_session_goes_on() -> Result<()> {
    let mut stage = Stage::start(TurnsManner::measured()).await?;
    stage.say("CALL:ghost {\"a\":1}").await?;
    let ghost = stage.card("ghost").await?;
    assert_eq!((ghost.kind, ghost.choices[0].id.as_str()), (RequestKind::ClientTool, "unknown_tool"));
    assert_eq!(ghost.choices[0].kind, ChoiceKind::ReportError);
    stage.decide(&ghost, "unknown_tool").await?;
    stage.view.until("the turn's end", |view| says(view, "unknown tool") && is_over(view)).await?;
    stage.run("Hello").await
}

#[tokio::test]
async fn turns_edge_07_what_is_typed_while_calls_wait_is_never_sent_before_they_are_answered() -> Result<()> {
    for manner in [TurnsManner::default(), TurnsManner::of(TurnsVersion::V3Revised)] {
        let mut stage = Stage::start(manner).await?;
        stage.say(MIX).await?;
        stage.cards(3).await?;
        stage.say("Never mind").await?;
        stage.view.until("a queued message", |view| view.header.queued.len() == 1).await?;
        assert_eq!(stage.asked().len(), 1);
        stage.queued(QueuedAction::DeclineAndSend).await?;
        let said = "Agent Done: You said: Never mind";
        stage.view.until("its answer", |view| has_line(view, said) && is_over(view)).await?;
        let asked = stage.asked();
        assert_eq!(asked.len(), 3);
        assert_eq!(asked[1].body.matches("cancelled by user").count(), 2, "{}", asked[1].body);
        assert!(asked[1].body.contains("\"granted\":false"), "{}", asked[1].body);
        assert!(asked.iter().all(|post| post.status == Some(200)), "{asked:?}");
    }
    Ok(())
}
