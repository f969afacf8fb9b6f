//! What a run asks: silence while it waits, other answers than ours, and what needs none (numbers 1 and 6 to 10).

use std::time::Duration;

use anyhow::{Context as _, Result};
use contract::{
    command::{QueuedAction, QueuedMessageAction},
    error::ErrorCode,
    item::{ItemBody, ToolState},
    request::{Answer, Decision, Fate, RequestKind, RequestState},
    session::{QuestionMode, RunOptions, SessionState, StopReason},
};
use practice::{FaultBody, Generation, Permission, RequestAct, RunsManner};
use pretty_assertions::assert_eq;
use serde_json::json;
use tests::rig::decision;

use super::hand::{anew, elsewhere, emit, held, lines, over, ran, said, shown, tools};
use crate::{
    rows::pass,
    runs::{Stage, is_over, runs, says, stop_of},
};

#[tokio::test]
async fn runs_edge_01_an_hour_without_a_byte_cuts_nothing() -> Result<()> {
    let mut stage = Stage::start(RunsManner::default()).await?;
    stage.say("ASK:Which db?|sqlite|postgres").await?;
    let request = stage.card().await?;
    for _ in 0..4 {
        let before = stage.rig.control.counters().requests;
        pass(Duration::from_secs(15 * 60)).await;
        // What the server says beside the stream is read meanwhile.
        stage.rig.control.until(|seen| seen.requests > before).await?;
    }
    let seen = stage.rig.control.counters();
    assert_eq!((seen.open_streams, seen.opened.len(), stage.posted("/prompts")), (1, 1, 1));
    assert!(runs(&stage.view), "{:?}", stage.view.header);
    assert_eq!(stage.view.requests[&request.id].state, RequestState::Open);
    let answers = vec![Answer { question: request.questions[0].id.clone(), labels: vec!["sqlite".into()], text: None }];
    stage.rig.engine.decide(Decision { answers, ..decision(&request, "answer") }).await?;
    stage.view.until("the end", |view| says(view, "sqlite") && is_over(view)).await?;
    assert_eq!(stop_of(&stage.view), Some(StopReason::EndTurn));
    Ok(())
}

/// The timer of the connections to this port, as the system lists them: 2 = its own probes of a silent line.
#[cfg(target_os = "linux")]
fn probed(table: &str, port: u16) -> bool {
    let to = format!(":{port:04X}");
    table.lines().skip(1).map(|row| row.split_whitespace().collect::<Vec<_>>()).any(|row| {
        row.get(2).is_some_and(|remote| remote.ends_with(&to))
            && row.get(3) == Some(&"01")
            && row.get(5).is_some_and(|timer| timer.starts_with("02:"))
    })
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn runs_edge_01_a_dead_line_is_found_by_the_systems_own_probes() -> Result<()> {
    let mut stage = held(RunsManner::default()).await?;
    shown(&mut stage).await?;
    let address: url::Url = stage.rig.practice.runs_base_url().parse()?;
    let port = address.port().context("no port")?;
    let table = async {
        while !probed(&tokio::fs::read_to_string("/proc/net/tcp").await?, port) {
            tokio::task::yield_now().await;
        }
        anyhow::Ok(())
    };
    tokio::time::timeout(Duration::from_secs(60), table).await.context("nothing probes the silent line")??;
    Ok(())
}

#[tokio::test]
async fn runs_edge_06_a_message_that_meets_somebody_elses_run_waits_for_the_persons_word() -> Result<()> {
    let mut stage = Stage::start(RunsManner::default()).await?;
    ran(&mut stage, "Hello").await?;
    let before = stage.rig.control.counters().posts.len();
    let busy = RequestAct::Status { status: 409, body: FaultBody::Json, retry_after: None };
    stage.rig.control.fail_next("POST", "/runs/prompts", busy);
    stage.say("Ours").await?;
    stage.view.until("a held message", |view| view.header.queued.first().is_some_and(|kept| kept.held)).await?;
    stage.view.until("its words", |view| says(view, "Notice Error") && !says(view, "User Sending")).await?;
    let text = stage.view.text();
    assert!(text.contains("steer it") && !text.contains("User Done: Ours"), "{text}");
    assert_eq!(stage.rig.control.counters().posts.len(), before, "it is not sent again by itself");
    release(&stage).await?;
    stage.view.until("its answer", |view| says(view, "Hello! You said: Ours") && is_over(view)).await?;
    assert_eq!(stage.view.text().matches("User Done: Ours").count(), 1, "{}", stage.view.text());
    Ok(())
}

async fn release(stage: &Stage) -> Result<()> {
    let id = stage.view.header.queued[0].id.clone();
    let release = QueuedMessageAction { session: stage.view.session(), id, action: QueuedAction::Release };
    Ok(stage.rig.engine.queued_message(release).await?)
}

#[tokio::test]
async fn runs_edge_06_somebody_elses_run_is_shown_with_what_it_waits_for_and_can_be_steered() -> Result<()> {
    let mut stage = Stage::start(RunsManner::default()).await?;
    ran(&mut stage, "Hello").await?;
    let body = json!({"text": "RUN:echo theirs", "approvals": {"mode": "ask"}});
    let theirs = elsewhere(&stage.rig, "/prompts", &body).await?;
    stage.rig.control.runs().wait(None, Some(true), Some(true), None).await?;
    stage.rig.engine.retry_now(stage.which()).await?;
    stage.view.until("their run", |view| view.header.foreign_run && view.open_requests().len() == 1).await?;
    stage.say("Ours").await?;
    stage.view.until("the chip", |view| says(view, "User Queued: Ours")).await?;
    let request = stage.card().await?;
    assert_eq!(request.deadline, None, "how long it may still wait is told to nobody");
    stage.rig.engine.decide(decision(&request, "allow_once")).await?;
    assert!(theirs.text().await?.contains("event: result"));
    stage.view.until("both", |view| says(view, "Hello! You said: Ours") && is_over(view)).await?;
    assert_eq!((stage.posted("/prompts"), stage.posted("/runs/steer")), (2, 1), "ours and theirs, and one steer");
    for words in ["User Done: RUN:echo theirs", "User Done: Ours"] {
        assert_eq!(stage.view.text().matches(words).count(), 1, "{}", stage.view.text());
    }
    let left = |view: &tests::view::View| !view.header.queued.is_empty() || says(view, "User Queued");
    stage.view.until("nothing left in the queue", |view| !left(view)).await
}

#[tokio::test]
async fn runs_edge_06_somebody_elses_run_is_shown_that_began_while_an_older_look_went_on() -> Result<()> {
    let mut stage = Stage::start(RunsManner::default()).await?;
    ran(&mut stage, "Hello").await?;
    // The first check has said that nothing runs when the last one is held.
    let control = stage.rig.control.clone();
    control.fail_next("GET", "/runs/resumable", RequestAct::Hold { name: "the last check".into() });
    anew(&mut stage).await?;
    control.until(|seen| !seen.held.is_empty()).await?;
    let body = json!({"text": "RUN:echo theirs", "approvals": {"mode": "ask"}});
    let theirs = elsewhere(&stage.rig, "/prompts", &body).await?;
    control.runs().wait(None, Some(true), Some(true), None).await?;
    stage.rig.engine.retry_now(stage.which()).await?;
    control.let_through("the last check");
    stage.view.until("their run", |view| view.header.foreign_run && view.open_requests().len() == 1).await?;
    // The history is read between the two looks, or behind them: what seemed dropped is what waits.
    let bound = |view: &tests::view::View| view.open_requests().first().is_some_and(|request| request.item.is_some());
    stage.view.until("a card that is about its call", bound).await?;
    let request = stage.card().await?;
    let item = request.item.clone().context("a card that is about no call")?;
    stage.view.until("its call", |view| says(view, "Tool bash Waiting echo theirs")).await?;
    assert!(matches!(&stage.view.items[&item].body, ItemBody::Tool(tool) if tool.state == ToolState::Waiting));
    stage.rig.engine.decide(decision(&request, "allow_once")).await?;
    assert!(theirs.text().await?.contains("event: result"));
    stage.view.until("its end", |view| says(view, "The tool said: theirs") && is_over(view)).await?;
    assert_eq!(tools(&stage.view)[0].state, ToolState::Done);
    Ok(())
}

#[tokio::test]
async fn runs_edge_06_what_is_owed_while_the_history_is_read_is_read_after_it() -> Result<()> {
    let mut stage = Stage::start(RunsManner::default()).await?;
    ran(&mut stage, "Hello").await?;
    let control = stage.rig.control.clone();
    control.fail_next("GET", "/sessions/current/history", RequestAct::HoldAnswer { name: "the history".into() });
    anew(&mut stage).await?;
    control.until(|seen| !seen.held.is_empty()).await?;
    let theirs = elsewhere(&stage.rig, "/prompts", &json!({"text": "Theirs"})).await?;
    assert!(theirs.text().await?.contains("event: result"));
    control.runs().wait(None, Some(false), None, None).await?;
    anew(&mut stage).await?;
    control.let_through("the history");
    stage.view.until("what they said", |view| says(view, "Hello! You said: Theirs")).await
}

#[tokio::test]
async fn runs_edge_07_a_double_click_is_one_answer() -> Result<()> {
    let mut stage = Stage::start(RunsManner::default()).await?;
    stage.say("RUN:echo one").await?;
    let request = stage.card().await?;
    let (engine, click) = (&stage.rig.engine, || decision(&request, "allow_once"));
    let (first, second) = tokio::join!(engine.decide(click()), engine.decide(click()));
    let refused: Vec<ErrorCode> = [first, second].into_iter().filter_map(Result::err).map(|error| error.code).collect();
    assert_eq!(refused, [ErrorCode::RequestSettled]);
    stage.view.until("the end", |view| says(view, "The tool said: one") && is_over(view)).await?;
    assert_eq!((stage.posted("/runs/approvals"), stage.view.decisions.len()), (1, 1));
    assert!(!says(&stage.view, "Notice"), "{}", stage.view.text());
    Ok(())
}

#[tokio::test]
async fn runs_edge_07_an_answer_that_comes_after_the_servers_time_closes_the_card_quietly() -> Result<()> {
    let mut stage = Stage::start(RunsManner::default()).await?;
    stage.say("RUN:echo one").await?;
    let request = stage.card().await?;
    stage.rig.control.fail_next("POST", "/runs/approvals", RequestAct::Delay { ms: 300 });
    stage.rig.engine.decide(decision(&request, "allow_once")).await?;
    assert!(stage.rig.control.runs().expire(None)?);
    stage.view.until("the end", |view| says(view, "aborted by user") && is_over(view)).await?;
    stage
        .view
        .until("the fate", |view| view.decisions.values().map(|row| row.fate.clone()).eq([Fate::Superseded]))
        .await?;
    let state = &stage.view.requests[&request.id].state;
    assert!(matches!(state, RequestState::Elsewhere { .. } | RequestState::Expired), "{state:?}");
    assert!(!says(&stage.view, "Notice Error"), "{}", stage.view.text());
    assert!(!matches!(tools(&stage.view)[0].state, ToolState::Denied { .. }), "the person did not deny it");
    Ok(())
}

#[tokio::test]
async fn runs_edge_08_what_a_rule_decided_is_a_row_without_buttons() -> Result<()> {
    let mut stage = Stage::playing("runs-ruled").await?;
    ran(&mut stage, "Look around").await?;
    assert_eq!(stage.view.requests.len(), 0);
    assert_eq!(stage.view.decisions.len(), 0, "nobody decided anything here");
    let text = stage.view.text();
    let ruled: Vec<&str> = text.lines().filter(|line| line.starts_with("Marker Ruled")).collect();
    assert_eq!(ruled.len(), 2, "{text}");
    assert!(ruled[0].contains("allowed: true") && ruled[0].contains("git status -s"), "{text}");
    assert!(ruled[1].contains("allowed: false") && ruled[1].contains("git push"), "{text}");
    let states: Vec<ToolState> = tools(&stage.view).into_iter().map(|tool| tool.state.clone()).collect();
    assert_eq!(states, [ToolState::Done, ToolState::Denied { reason: None }]);
    Ok(())
}

#[tokio::test]
async fn runs_edge_09_a_question_that_the_server_declines_opens_no_card() -> Result<()> {
    let mut stage = Stage::start(RunsManner::default()).await?;
    stage.options(RunOptions { questions: QuestionMode::Decline, ..RunOptions::default() }).await?;
    ran(&mut stage, "ASK:Which db?|sqlite|postgres").await?;
    assert_eq!(stage.view.requests.len(), 0);
    assert_eq!((stage.posted("/runs/questions"), stop_of(&stage.view)), (0, Some(StopReason::EndTurn)));
    let text = stage.view.text();
    assert!(text.contains("Marker Ruled { on: Question, allowed: false") && text.contains("Which db?"), "{text}");
    Ok(())
}

#[tokio::test]
async fn runs_edge_10_a_question_comes_before_its_call_and_an_approval_behind_it() -> Result<()> {
    let mut stage = held(RunsManner::default()).await?;
    let arguments = json!({"question": "Which?", "options": ["a"]});
    emit(
        &stage,
        &[
            json!({"type": "question_asked", "call_id": "q", "question": "Which?", "options": ["a"], "allow_multiple": false,
            "answered": false}),
            json!({"type": "tool_started", "call_id": "q", "name": "ask_user", "arguments": arguments}),
        ],
    )?;
    shown(&mut stage).await?;
    let question = stage.card().await?;
    let item = question.item.clone().context("a card that is about no call")?;
    assert_eq!((question.kind, stage.view.header.row.state.clone()), (RequestKind::Question, SessionState::Waiting));
    assert_eq!(tools(&stage.view).len(), 1);
    assert!(matches!(&stage.view.items[&item].body, ItemBody::Tool(tool) if tool.name == "ask_user"));
    assert_eq!(tools(&stage.view)[0].state, ToolState::Waiting);
    emit(
        &stage,
        &[
            json!({"type": "tool_finished", "call_id": "q", "name": "ask_user", "output": "{}", "ok": true, "skipped": false}),
            json!({"type": "tool_started", "call_id": "b", "name": "bash", "arguments": {"command": "ls"}}),
            json!({"type": "approval_requested", "call_id": "b", "command": "ls", "approved": null}),
        ],
    )?;
    shown(&mut stage).await?;
    let approval = stage.card().await?;
    assert_eq!((approval.kind, tools(&stage.view).len()), (RequestKind::Approval, 2));
    let item = approval.item.clone().context("no call")?;
    assert!(matches!(&stage.view.items[&item].body, ItemBody::Tool(tool) if tool.name == "bash"));
    assert!(!matches!(stage.view.requests[&question.id].state, RequestState::Open));
    Ok(())
}

#[tokio::test]
async fn runs_edge_10_a_command_that_nobody_was_asked_about_ends_without_a_card() -> Result<()> {
    for permission in [Permission::Deny, Permission::Safe, Permission::Full] {
        let mut stage = Stage::start(RunsManner { permission, ..RunsManner::default() }).await?;
        ran(&mut stage, "RUN:echo one").await?;
        assert_eq!(stage.view.requests.len(), 0, "{permission:?}");
        let wanted = if permission == Permission::Deny { ToolState::Failed } else { ToolState::Done };
        assert_eq!(tools(&stage.view)[0].state, wanted, "{permission:?}");
    }
    // One that the server was told to remember.
    let mut stage = Stage::start(RunsManner::default()).await?;
    stage.say("RUN:echo one").await?;
    let request = stage.card().await?;
    stage.rig.engine.decide(decision(&request, "allow_always")).await?;
    over(&mut stage).await?;
    ran(&mut stage, "RUN:echo one").await?;
    assert_eq!((stage.view.requests.len(), tools(&stage.view).len()), (1, 2));
    assert!(tools(&stage.view).iter().all(|tool| tool.state == ToolState::Done), "{}", stage.view.text());
    Ok(())
}

#[tokio::test]
async fn runs_edge_10_a_command_that_was_denied_here_is_denied_and_not_failed() -> Result<()> {
    for generation in [Generation::First, Generation::Second, Generation::Seed] {
        let mut stage = Stage::start(RunsManner::of(generation)).await?;
        stage.say("RUN:echo one").await?;
        let request = stage.card().await?;
        stage.rig.engine.decide(decision(&request, "deny")).await?;
        over(&mut stage).await?;
        let denied = |view: &tests::view::View| matches!(tools(view)[0].state, ToolState::Denied { .. });
        stage.view.until("a denied call", denied).await?;
        assert_eq!(said(&stage.view).len(), 2, "the agent goes on: {:?}", lines(&stage.view));
        let before = stage.view.text();
        let Stage { mut rig, remote, view } = stage;
        drop(view);
        rig.restart().await?;
        let mut view = rig.open(&remote).await?;
        view.until("the same after a restart", |view| view.text() == before).await?;
    }
    Ok(())
}

#[tokio::test]
async fn runs_edge_10_a_command_that_was_allowed_runs_and_waits_no_longer() -> Result<()> {
    let mut stage = Stage::start(RunsManner::default()).await?;
    stage.say("RUN:sleep 600").await?;
    let request = stage.card().await?;
    stage.rig.control.hold_session(Some(&stage.remote))?;
    stage.rig.engine.decide(decision(&request, "allow_once")).await?;
    stage.rig.control.runs().wait(Some(&stage.remote), Some(true), Some(false), Some(true)).await?;
    stage
        .view
        .until("a command that runs", |view| {
            !tools(view).is_empty()
                && tools(view)[0].state == ToolState::Running
                && view.header.row.state == SessionState::Running
        })
        .await?;
    stage.rig.control.release(None)?;
    stage
        .view
        .until("the end", |view| tools(view).iter().any(|tool| tool.state == ToolState::Done) && is_over(view))
        .await
}

#[tokio::test]
async fn runs_edge_09_an_answer_without_a_word_is_refused_here_in_words() -> Result<()> {
    let mut stage = Stage::start(RunsManner::default()).await?;
    stage.say("ASK:What is it called?").await?;
    let request = stage.card().await?;
    let answers =
        vec![Answer { question: request.questions[0].id.clone(), labels: Vec::new(), text: Some("  ".into()) }];
    let refused = stage.rig.engine.decide(Decision { answers, ..decision(&request, "answer") }).await.unwrap_err();
    assert_eq!((refused.code, stage.posted("/runs/questions")), (ErrorCode::InvalidInput, 0));
    assert_eq!(stage.view.requests[&request.id].state, RequestState::Open);
    stage.rig.engine.decide(decision(&request, "decline")).await?;
    over(&mut stage).await
}
