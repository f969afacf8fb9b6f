//! Runs of the real server, driven through the engine: what they leave in the workspace and in the transcript.

use anyhow::{Context as _, Result, ensure};
use contract::{
    command::{SendMessage, SentImage},
    item::{ItemBody, Marker, SteeringPhase, ToolState},
    request::{Answer, DecidedBy, RequestKind, RequestState},
    session::{ApprovalMode, RunOptions, SessionState, StopReason, StopState},
};
use tests::{rig::decision, view::View};

use super::{
    Level,
    joined::{Joined, agent, agent_says, asked, calls, ended, person, said},
};

/// A picture of one point.
const PICTURE: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

fn tool(view: &View) -> Option<ToolState> {
    calls(view).last().map(|call| call.state.clone())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plain_run_is_told_once_and_takes_thoughts_and_pictures() -> Result<()> {
    let joined = Joined::start(Level::Ask).await?;
    let mut view = joined.session("Plain", "think: let me see\nhello").await?;
    said(&mut view, "hello").await?;
    ensure!(person(&view).len() == 1 && agent(&view).len() == 1, "{}", view.text());
    ensure!(view.text().contains("Thought: let me see"), "{}", view.text());
    let used = view.header.turn.as_ref().map(|turn| turn.usage.clone()).context("no turn")?;
    ensure!(used.input_tokens == Some(100) && used.output_tokens == Some(10), "{used:?}");
    let picture = SentImage { media_type: "image/png".to_owned(), data: PICTURE.to_owned() };
    let message = SendMessage { session: view.session(), text: "look at this".to_owned(), images: vec![picture] };
    joined.engine.send_message(message).await?;
    said(&mut view, "look at this").await?;
    ensure!(person(&view).last().is_some_and(|said| said.contains("image/png")), "{}", view.text());
    let seen = joined.peer.seen().await?;
    ensure!(seen.iter().any(|asked| asked["images"] == 1), "{seen:?}");
    joined.end().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approved_command_leaves_its_file_and_a_denied_one_leaves_none() -> Result<()> {
    let joined = Joined::start(Level::Ask).await?;
    let mut view = joined.session("Commands", "run: echo here > approved.txt").await?;
    let request = asked(&mut view, RequestKind::Approval).await?;
    let command = request.command.as_ref().map(|command| command.text.as_str());
    ensure!(command == Some("echo here > approved.txt") && request.deadline.is_some(), "{request:?}");
    ensure!(!joined.peer.left("approved.txt"), "nothing was allowed yet");
    joined.decide(&request, "allow_once").await?;
    said(&mut view, "The tool said").await?;
    ensure!(joined.peer.left("approved.txt") && tool(&view) == Some(ToolState::Done), "{}", view.text());

    joined.say(&view, "run: echo here > denied.txt").await?;
    let request = asked(&mut view, RequestKind::Approval).await?;
    joined.decide(&request, "deny").await?;
    said(&mut view, "aborted by user").await?;
    ensure!(!joined.peer.left("denied.txt"));
    ensure!(matches!(tool(&view), Some(ToolState::Denied { .. })), "{}", view.text());
    ensure!(view.decisions.len() == 2 && view.open_requests().is_empty(), "{:?}", view.decisions);
    joined.end().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_remembered_command_is_not_asked_about_again() -> Result<()> {
    let joined = Joined::start(Level::Ask).await?;
    let mut view = joined.session("Remembered", "run: echo x >> count.txt").await?;
    let request = asked(&mut view, RequestKind::Approval).await?;
    joined.decide(&request, "allow_always").await?;
    ended(&mut view, StopReason::EndTurn).await?;
    joined.say(&view, "run: echo x >> count.txt").await?;
    view.until("the second run's tool", |view| calls(view).len() == 2).await?;
    view.until("its end", |view| calls(view).iter().all(|call| call.state == ToolState::Done)).await?;
    ended(&mut view, StopReason::EndTurn).await?;
    ensure!(view.requests.len() == 1 && view.decisions.len() == 1, "{:?}", view.requests);
    ensure!(std::fs::read_to_string(joined.peer.workspace().join("count.txt"))?.lines().count() == 2);
    joined.end().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approval_that_nobody_answers_expires_and_is_not_called_a_denial() -> Result<()> {
    let joined = Joined::start(Level::Ask).await?;
    let mut view = joined.session("Expired", "").await?;
    joined.set_options(&view, RunOptions { answer_timeout_s: 1, ..RunOptions::default() }).await?;
    joined.say(&view, "run: echo here > left.txt").await?;
    let request = asked(&mut view, RequestKind::Approval).await?;
    ended(&mut view, StopReason::EndTurn).await?;
    let state = view.requests.get(&request.id).map(|request| request.state.clone());
    ensure!(state == Some(RequestState::Expired), "{state:?}");
    ensure!(!joined.peer.left("left.txt"));
    ensure!(view.decisions.values().all(|row| row.by != DecidedBy::You), "{:?}", view.decisions);
    joined.end().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_takes_an_answer_or_is_declined() -> Result<()> {
    let joined = Joined::start(Level::Ask).await?;
    let mut view = joined.session("Questions", "ask many: Which colours? / red / blue").await?;
    let request = asked(&mut view, RequestKind::Question).await?;
    let question = request.questions.first().context("no question")?;
    ensure!(question.text == "Which colours?" && question.options == ["red", "blue"], "{question:?}");
    ensure!(question.multiple && question.free_text && request.deadline.is_none(), "{request:?}");
    let mut answer = decision(&request, "answer");
    answer.answers = vec![Answer {
        question: question.id.clone(),
        labels: vec!["red".to_owned(), "blue".to_owned()],
        text: Some("and some green".to_owned()),
    }];
    joined.give(answer).await?;
    said(&mut view, "red, blue, and some green").await?;

    joined.say(&view, "ask: Go on?").await?;
    let request = asked(&mut view, RequestKind::Question).await?;
    joined.decide(&request, "decline").await?;
    said(&mut view, "declined").await?;
    ensure!(view.decisions.len() == 2 && view.open_requests().is_empty(), "{:?}", view.decisions);
    joined.end().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_sent_into_a_run_steers_it() -> Result<()> {
    let joined = Joined::start(Level::Ask).await?;
    let mut view = joined.session("Steered", "hold: first words").await?;
    view.until("the first words", |view| agent_says(view, "first words")).await?;
    joined.say(&view, "also update the docs").await?;
    let is_queued = |view: &View| person(view).contains(&"User Queued: also update the docs".to_owned());
    view.until("the message, accepted and not taken up", is_queued).await?;
    joined.peer.let_go().await?;
    said(&mut view, "You said: also update the docs").await?;
    ensure!(person(&view).len() == 2 && agent(&view).len() == 2, "{}", view.text());
    let said: Vec<String> = view.ordered().into_iter().map(tests::view::line).collect();
    let place = |words: &str| said.iter().position(|line| line.contains(words));
    ensure!(
        place("And that was all") < place("User Done: also update the docs")
            && place("User Done: also update the docs") < place("You said: also update the docs"),
        "{}",
        view.text()
    );
    let requests = view.header.turn.as_ref().and_then(|turn| turn.usage.requests);
    ensure!(requests == Some(2) && view.header.queued.is_empty(), "one run took both in: {:?}", view.header);
    let is_taken =
        |body: &ItemBody| matches!(body, ItemBody::Marker(Marker::Steering { phase: SteeringPhase::Interrupted, .. }));
    ensure!(!view.items.values().any(|item| is_taken(&item.body)), "{}", view.text());
    joined.end().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_while_text_streams_keeps_what_was_said() -> Result<()> {
    let joined = Joined::start(Level::Ask).await?;
    let mut view = joined.session("Stopped", "hold: first words").await?;
    view.until("the first words", |view| agent_says(view, "first words")).await?;
    joined.stop(&view).await?;
    ended(&mut view, StopReason::Stopped).await?;
    ensure!(matches!(view.header.stop, StopState::Confirmed { .. }), "{:?}", view.header.stop);
    ensure!(agent_says(&view, "first words") && agent(&view).len() == 1, "{}", view.text());
    // The server keeps nothing of a step that was cut off; what was shown stays all the same.
    joined.engine.retry_now(contract::command::SessionRef { session: view.session() }).await?;
    joined.say(&view, "go on").await?;
    said(&mut view, "You said: go on").await?;
    ensure!(agent_says(&view, "first words") && agent(&view).len() == 2, "{}", view.text());
    joined.end().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_while_something_waits_ends_the_run_and_nothing_late_starts_it_again() -> Result<()> {
    let joined = Joined::start(Level::Ask).await?;
    let mut view = joined.session("Stopped", "run: echo here > left.txt").await?;
    let request = asked(&mut view, RequestKind::Approval).await?;
    joined.stop(&view).await?;
    ended(&mut view, StopReason::Stopped).await?;
    ensure!(matches!(view.header.stop, StopState::Confirmed { .. }), "{:?}", view.header.stop);
    ensure!(view.open_requests().is_empty(), "{:?}", view.requests);
    let late = joined.decide(&request, "allow_once").await;
    ensure!(late.is_err(), "what is over takes no decision");
    ensure!(joined.peer.get("/runs/current").await?["running"] == false && !joined.peer.left("left.txt"));

    joined.say(&view, "ask: Which way? / left / right").await?;
    asked(&mut view, RequestKind::Question).await?;
    joined.stop(&view).await?;
    view.until("no question", |view| view.open_requests().is_empty()).await?;
    ended(&mut view, StopReason::Stopped).await?;
    ensure!(joined.peer.get("/runs/current").await?["running"] == false);
    joined.end().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_mode_of_a_run_decides_whether_it_asks() -> Result<()> {
    let joined = Joined::start(Level::Ask).await?;
    let mut view = joined.session("Modes", "").await?;
    let commands = vec!["echo".to_owned()];
    for (number, (approvals, runs)) in
        [(ApprovalMode::Auto, true), (ApprovalMode::Deny, false), (ApprovalMode::Commands { commands }, true)]
            .into_iter()
            .enumerate()
    {
        joined.set_options(&view, RunOptions { approvals: approvals.clone(), ..RunOptions::default() }).await?;
        joined.say(&view, "run: echo hello-there").await?;
        view.until("the run's tool", |view| calls(view).len() == number + 1).await?;
        ended(&mut view, StopReason::EndTurn).await?;
        view.until("its end", |view| calls(view).last().is_some_and(|call| call.ended_at.is_some())).await?;
        let done = calls(&view).last().is_some_and(|call| call.state == ToolState::Done);
        ensure!(done == runs && view.requests.is_empty(), "{approvals:?}: {}", view.text());
    }
    joined.end().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_models_limit_and_the_models_failure_are_told_as_what_they_are() -> Result<()> {
    let joined = Joined::start(Level::Ask).await?;
    let mut view = joined.session("Ends", "out of room").await?;
    ended(&mut view, StopReason::MaxTokens).await?;
    joined.say(&view, "fall over").await?;
    let failed = |view: &View| {
        let stop = view.header.turn.as_ref().and_then(|turn| turn.stop.as_ref());
        view.header.row.state == SessionState::Idle && matches!(stop, Some(StopReason::Error { .. }))
    };
    view.until("an error", failed).await?;
    view.until("its words", |view| view.text().contains("the model fell over")).await?;
    joined.end().await;
    Ok(())
}
