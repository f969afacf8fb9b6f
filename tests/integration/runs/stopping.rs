//! Steering and stopping runs.

use anyhow::Result;
use contract::{
    error::ErrorCode,
    request::{DecidedBy, RequestState},
    session::{StopReason, StopState},
};
use practice::{Generation, RunsManner};
use pretty_assertions::assert_eq;
use tests::rig::decision;

use super::{Stage, is_over, runs, says, stop_of};

#[tokio::test]
async fn a_message_to_a_run_is_a_chip_until_the_run_takes_it_in() -> Result<()> {
    let mut stage = Stage::playing("runs-steer").await?;
    stage.say("Describe the code").await?;
    stage.rig.control.runs().wait(Some(&stage.remote), Some(true), None, Some(true)).await?;
    stage.view.until("a running turn", runs).await?;
    stage.say("And the tests?").await?;
    stage.view.until("the chip", |view| says(view, "User Queued: And the tests?")).await?;
    stage.rig.control.open_gate(&stage.remote, "middle")?;
    stage.view.until("the message, taken in", |view| says(view, "User Done: And the tests?") && is_over(view)).await?;
    assert!(!says(&stage.view, "Queued"), "{}", stage.view.text());
    assert_eq!((stage.posted("/prompts"), stage.posted("/runs/steer")), (1, 1));
    Ok(())
}

#[tokio::test]
async fn p23_a_stop_while_text_streams_ends_the_turn_as_stopped_whatever_its_last_frame() -> Result<()> {
    for generation in [Generation::First, Generation::Second, Generation::Seed] {
        let mut stage = Stage::start(RunsManner::of(generation)).await?;
        stage.rig.control.hold_session(Some(&stage.remote))?;
        stage.say("SLOW").await?;
        stage.view.until("a running turn", runs).await?;
        stage.rig.engine.stop_session(stage.which()).await?;
        stage
            .view
            .until("a confirmed stop", |view| matches!(view.header.stop, StopState::Confirmed { .. }) && is_over(view))
            .await?;
        assert_eq!(stop_of(&stage.view), Some(StopReason::Stopped), "{generation:?}");
        assert_eq!(stage.posted("/runs/cancel"), 1);
    }
    Ok(())
}

#[tokio::test]
async fn p23_a_stop_while_something_waits_refuses_it_and_a_late_yes_starts_nothing() -> Result<()> {
    for (text, path) in [("RUN:echo never", "/runs/approvals"), ("ASK:Sure?", "/runs/questions")] {
        let mut stage = Stage::start(RunsManner::default()).await?;
        stage.say(text).await?;
        let request = stage.card().await?;
        stage.rig.engine.stop_session(stage.which()).await?;
        stage
            .view
            .until("a confirmed stop", |view| matches!(view.header.stop, StopState::Confirmed { .. }) && is_over(view))
            .await?;
        assert_eq!(stop_of(&stage.view), Some(StopReason::Stopped));
        stage
            .view
            .until("the ledger's row", |view| view.decisions.values().any(|row| row.by == DecidedBy::Stop))
            .await?;
        assert!(stage.view.requests[&request.id].state != RequestState::Open);
        let late = stage.rig.engine.decide(decision(&request, &request.choices[0].id)).await.unwrap_err();
        assert_eq!(late.code, ErrorCode::RequestSettled);
        assert_eq!(stage.posted(path), 1);
        assert!(!says(&stage.view, "The tool said: never"));
        // The next turn is a new one.
        stage.run("Go on").await?;
        assert_eq!(stop_of(&stage.view), Some(StopReason::EndTurn));
    }
    Ok(())
}

#[tokio::test]
async fn a_queue_that_a_stop_held_goes_on_at_the_persons_word_alone() -> Result<()> {
    let mut stage = Stage::start(RunsManner::default()).await?;
    stage.say("RUN:echo one").await?;
    stage.card().await?;
    stage.say("Then this").await?;
    stage.view.until("the chip", |view| says(view, "User Queued: Then this")).await?;
    stage.rig.engine.stop_session(stage.which()).await?;
    stage
        .view
        .until("what was never taken in, held", |view| {
            view.header.queued.iter().map(|message| (message.text.as_str(), message.held)).eq([("Then this", true)])
                && is_over(view)
        })
        .await?;
    assert_eq!(stage.posted("/prompts"), 1);
    Ok(())
}
