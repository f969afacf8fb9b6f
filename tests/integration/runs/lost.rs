//! Answers that are lost on the way: whether one arrived is told by what became of its call, and by nothing else.

use anyhow::Result;
use contract::{
    item::{ItemBody, ToolState},
    request::{ChoiceKind, Fate, Request, RequestState},
};
use practice::{RequestAct, RunsManner};
use pretty_assertions::assert_eq;
use tests::{
    rig::{Rig, decision},
    view::View,
};

use super::{Stage, is_over, says};

/// A run that waits, whose next answer meets this.
async fn waiting(act: Option<RequestAct>) -> Result<(Stage, Request)> {
    let mut stage = Stage::start(RunsManner::default()).await?;
    stage.say("RUN:echo one").await?;
    let request = stage.card().await?;
    if let Some(act) = act {
        stage.rig.control.fail_next("POST", "/runs/approvals", act);
    }
    Ok((stage, request))
}

fn state<'a>(view: &'a View, request: &Request) -> &'a RequestState {
    &view.requests[&request.id].state
}

fn fates(view: &View) -> Vec<Fate> {
    view.decisions.values().map(|row| row.fate.clone()).collect()
}

/// How many answers the server took.
fn taken(rig: &Rig) -> usize {
    rig.control.counters().decisions.iter().filter(|seen| !seen.repeated).count()
}

#[tokio::test]
async fn an_allowance_whose_answer_was_lost_is_accepted_because_its_command_ran() -> Result<()> {
    // Lost behind its arrival, and before it.
    for act in [RequestAct::LoseAnswer, RequestAct::Reset] {
        let (mut stage, request) = waiting(Some(act.clone())).await?;
        stage.rig.engine.decide(decision(&request, "allow_once")).await?;
        stage
            .view
            .until("the fate", |view| {
                fates(view) == [Fate::Accepted]
                    && matches!(state(view, &request), RequestState::Accepted { choice: ChoiceKind::AllowOnce, .. })
                    && says(view, "The tool said: one")
                    && is_over(view)
            })
            .await?;
        assert_eq!(taken(&stage.rig), 1, "{act:?}");
    }
    Ok(())
}

#[tokio::test]
async fn a_denial_whose_answer_was_lost_is_accepted_because_its_command_did_not_run_in_time() -> Result<()> {
    let (mut stage, request) = waiting(Some(RequestAct::LoseAnswer)).await?;
    stage.rig.engine.decide(decision(&request, "deny")).await?;
    stage
        .view
        .until("the fate", |view| {
            fates(view) == [Fate::Accepted]
                && matches!(state(view, &request), RequestState::Accepted { choice: ChoiceKind::Deny, .. })
                && is_over(view)
        })
        .await?;
    let denied =
        |body: &ItemBody| matches!(body, ItemBody::Tool(tool) if matches!(tool.state, ToolState::Denied { .. }));
    assert!(stage.view.ordered().iter().any(|item| denied(&item.body)), "{}", stage.view.text());
    assert_eq!(taken(&stage.rig), 1);
    Ok(())
}

#[tokio::test]
async fn an_allowance_that_was_lost_while_the_servers_time_ran_out_is_not_said_to_have_arrived() -> Result<()> {
    let (mut stage, request) = waiting(Some(RequestAct::Reset)).await?;
    stage.rig.engine.decide(decision(&request, "allow_once")).await?;
    // It is lost, and before it is sent again the time runs out.
    stage
        .view
        .until("an answer on its way", |view| matches!(state(view, &request), RequestState::Sending { .. }))
        .await?;
    assert!(stage.rig.control.runs().expire(None)?);
    stage
        .view
        .until("a card that nobody is sure of", |view| {
            fates(view) == [Fate::Unknown]
                && matches!(state(view, &request), RequestState::Unsure { choice: ChoiceKind::AllowOnce, .. })
                && is_over(view)
        })
        .await?;
    assert!(!says(&stage.view, "The tool said: one"), "{}", stage.view.text());
    // So it stays, and nothing of it is sent again.
    let Stage { mut rig, remote, view } = stage;
    let posted = super::posted(&rig, "/runs/approvals");
    drop(view);
    rig.restart().await?;
    let mut view = rig.open(&remote).await?;
    view.until("the turn's end", |view| is_over(view) && says(view, "aborted by user")).await?;
    assert_eq!(super::posted(&rig, "/runs/approvals"), posted);
    assert_eq!(taken(&rig), 0);
    Ok(())
}

#[tokio::test]
async fn an_allowance_that_was_lost_is_unsure_while_its_command_runs_and_accepted_when_it_ended() -> Result<()> {
    let (mut stage, request) = waiting(Some(RequestAct::LoseAnswer)).await?;
    stage.rig.control.hold_session(Some(&stage.remote))?;
    stage.rig.engine.decide(decision(&request, "allow_once")).await?;
    stage
        .view
        .until("a card that nobody is sure of", |view| {
            matches!(state(view, &request), RequestState::Unsure { choice: ChoiceKind::AllowOnce, .. })
        })
        .await?;
    stage.rig.control.release(None)?;
    stage
        .view
        .until("the fate", |view| {
            fates(view) == [Fate::Accepted]
                && matches!(state(view, &request), RequestState::Accepted { .. })
                && is_over(view)
        })
        .await?;
    assert_eq!(taken(&stage.rig), 1);
    Ok(())
}
