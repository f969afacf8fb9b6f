//! Approvals and questions of runs.

use anyhow::{Context as _, Result};
use contract::{
    error::ErrorCode,
    request::{Answer, DecidedBy, Decision, Fate, RequestState, Scope},
    session::{ApprovalMode, QuestionMode, RunOptions},
};
use practice::{Generation, RunsManner};
use pretty_assertions::assert_eq;
use tests::rig::decision;

use super::{Stage, is_over, says};

#[tokio::test]
async fn an_answer_is_streamed_and_stands_in_the_transcript_once() -> Result<()> {
    let mut stage = Stage::start(RunsManner::default()).await?;
    stage.run("Tell me").await?;
    stage.view.until("the answer", |view| says(view, "Agent Done: Hello! You said: Tell me")).await?;
    stage.run("Once more").await?;
    stage.view.until("the second answer", |view| says(view, "Agent Done: Hello! You said: Once more")).await?;
    assert_eq!((stage.posted("/prompts"), stage.posted("/runs/steer")), (2, 0));
    assert_eq!(stage.view.text().lines().count(), 4, "{}", stage.view.text());
    Ok(())
}

#[tokio::test]
async fn allow_runs_the_command_deny_does_not_and_always_is_not_asked_again() -> Result<()> {
    let mut stage = Stage::start(RunsManner::of(Generation::Seed)).await?;
    stage.say("RUN:echo one @in web").await?;
    let request = stage.card().await?;
    assert_eq!(request.command.as_ref().map(|command| command.text.as_str()), Some("echo one"));
    assert_eq!(request.work_dir.as_deref(), Some("web"));
    assert!(request.deadline.is_some_and(|deadline| deadline == request.asked_at + 300_000), "{request:?}");
    let always = request.choices.iter().find(|choice| choice.id == "allow_always");
    assert_eq!(always.and_then(|choice| choice.scope.clone()), Some(Scope::CommandTextUntilServerEnds));
    stage.rig.engine.decide(decision(&request, "allow_once")).await?;
    stage.view.until("the output", |view| says(view, "The tool said: one") && is_over(view)).await?;

    stage.say("RUN:echo two").await?;
    let request = stage.card().await?;
    stage.rig.engine.decide(decision(&request, "deny")).await?;
    stage.view.until("a denied command", |view| says(view, "aborted") && is_over(view)).await?;
    assert!(!says(&stage.view, "The tool said: two"));

    stage.say("RUN:echo three").await?;
    let request = stage.card().await?;
    stage.rig.engine.decide(decision(&request, "allow_always")).await?;
    stage.view.until("the third output", |view| says(view, "The tool said: three") && is_over(view)).await?;
    stage.run("RUN:echo three").await?;
    assert_eq!(stage.posted("/runs/approvals"), 3);
    stage
        .view
        .until("every decision's fate", |view| {
            view.decisions.values().filter(|row| row.fate == Fate::Accepted && row.by == DecidedBy::You).count() == 3
        })
        .await
}

#[tokio::test]
async fn always_is_offered_only_where_the_server_remembers() -> Result<()> {
    let mut stage = Stage::start(RunsManner { remember_supported: false, ..RunsManner::default() }).await?;
    stage.say("RUN:echo one").await?;
    let request = stage.card().await?;
    stage
        .view
        .until("a card without always", |view| {
            view.requests[&request.id].choices.iter().all(|choice| choice.id != "allow_always")
        })
        .await?;
    Ok(())
}

#[tokio::test]
async fn what_nobody_answered_in_time_is_expired_and_not_the_persons_denial() -> Result<()> {
    let mut stage = Stage::start(RunsManner::default()).await?;
    stage.options(RunOptions { answer_timeout_s: 1, ..RunOptions::default() }).await?;
    stage.say("RUN:echo one").await?;
    let request = stage.card().await?;
    stage.view.until("an expired card", |view| view.requests[&request.id].state == RequestState::Expired).await?;
    stage.view.until("the ledger's row", |view| view.decisions.values().any(|row| row.by == DecidedBy::Expiry)).await?;
    let late = stage.rig.engine.decide(decision(&request, "allow_once")).await.unwrap_err();
    assert_eq!((late.code, stage.posted("/runs/approvals")), (ErrorCode::RequestSettled, 0));
    Ok(())
}

#[tokio::test]
async fn what_was_settled_elsewhere_closes_the_card_quietly() -> Result<()> {
    let mut stage = Stage::start(RunsManner::default()).await?;
    stage.say("RUN:echo one").await?;
    let request = stage.card().await?;
    let call = stage.rig.control.runs().pending(None)?.unwrap_or_default();
    let other = reqwest::Client::new()
        .post(format!("{}/runs/approvals", stage.rig.practice.runs_base_url()))
        .bearer_auth(stage.rig.practice.token())
        .json(&serde_json::json!({"call_id": call, "approve": false}));
    // Ours comes after theirs, and before their word of it.
    let path = Some("/runs/runs/approvals".to_owned());
    let slow = practice::RequestFault {
        method: Some("POST".into()),
        path,
        times: 1,
        act: practice::RequestAct::Delay { ms: 50 },
    };
    other.send().await?.error_for_status()?;
    stage.rig.control.run(practice::Command::RequestFault(slow)).await?;
    // Either way: the card was closed already, or the server says that ours came too late.
    let ours = stage.rig.engine.decide(decision(&request, "allow_once")).await;
    stage
        .view
        .until("a card settled elsewhere", |view| {
            matches!(view.requests[&request.id].state, RequestState::Elsewhere { .. }) && is_over(view)
        })
        .await?;
    if ours.is_ok() {
        stage
            .view
            .until("ours, too late", |view| view.decisions.values().any(|row| row.fate == Fate::Superseded))
            .await?;
    }
    assert!(!says(&stage.view, "Notice Error"), "{}", stage.view.text());
    Ok(())
}

#[tokio::test]
async fn a_question_is_answered_with_its_options_or_declined() -> Result<()> {
    let mut stage = Stage::start(RunsManner::default()).await?;
    stage.say("ASK:Which db?|sqlite|postgres").await?;
    let request = stage.card().await?;
    assert_eq!(request.deadline, None, "a question waits for as long as it takes");
    let question = request.questions[0].clone();
    let choice = request.choices.iter().find(|choice| choice.id != "decline").map(|choice| choice.id.clone());
    let labels = vec!["postgres".to_owned()];
    let answers = vec![Answer { question: question.id, labels, text: None }];
    stage.rig.engine.decide(Decision { answers, ..decision(&request, &choice.unwrap_or_default()) }).await?;
    stage.view.until("the answer, taken", |view| says(view, "postgres") && is_over(view)).await?;
    stage.say("ASK:Go on?").await?;
    let request = stage.card().await?;
    stage.rig.engine.decide(decision(&request, "decline")).await?;
    stage.view.until("the end", is_over).await?;
    assert_eq!(stage.posted("/runs/questions"), 2);
    Ok(())
}

#[tokio::test]
async fn p50_a_mode_that_asks_nobody_is_told_for_as_long_as_its_run_goes_on() -> Result<()> {
    let mut stage = Stage::start(RunsManner::default()).await?;
    let auto = RunOptions { approvals: ApprovalMode::Auto, questions: QuestionMode::Decline, ..RunOptions::default() };
    stage.options(auto.clone()).await?;
    stage.rig.control.hold_session(Some(&stage.remote))?;
    stage.say("RUN:echo one").await?;
    stage
        .view
        .until("the mode, told", |view| {
            view.header.running_options.as_ref().is_some_and(|options| options.approvals == auto.approvals)
        })
        .await?;
    stage.rig.control.release(None)?;
    stage.view.until("the end", |view| says(view, "The tool said: one") && is_over(view)).await?;
    assert_eq!(stage.view.header.running_options, None);
    assert_eq!(stage.view.requests.len(), 0);
    let refused = RunOptions { answer_timeout_s: 0, ..RunOptions::default() };
    assert!(stage.options(refused).await.is_err());
    // What was chosen is kept for this session and for no other, and tells when it lapses.
    let Stage { mut rig, remote, view } = stage;
    drop(view);
    rig.restart().await?;
    let mut view = rig.open(&remote).await?;
    // Its server is found again behind the window.
    view.until("the options", |view| view.header.run_options.is_some()).await?;
    let kept = view.header.run_options.clone().context("no options")?;
    assert_eq!((&kept.approvals, kept.unasked_until.is_some()), (&auto.approvals, true));
    let another = rig.control.runs().start_scenario("runs-plain")?;
    let mut view = rig.open(&another).await?;
    view.until("the options", |view| view.header.run_options.is_some()).await?;
    assert_eq!(view.header.run_options, Some(RunOptions::default()));
    Ok(())
}
