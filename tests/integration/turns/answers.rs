//! Answers that leave together.

use anyhow::{Context as _, Result};
use contract::{
    command::{QueuedAction, ReplaceToken},
    error::ErrorCode,
    request::{Decision, Fate, Request, RequestState},
};
use engine::desktop::Wish;
use practice::{FaultBody, RequestAct, TurnsManner};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use tests::rig::decision;

use super::{MIX, Stage, answered, has_line, is_over, says};

fn gathered(stage: &Stage) -> usize {
    stage.view.requests.values().filter(|known| matches!(known.state, RequestState::Gathered { .. })).count()
}

/// The server's id of the call, which alone goes back to it.
fn call(request: &Request) -> String {
    request.id.splitn(3, ':').last().unwrap_or_default().to_owned()
}

fn body(post: &practice::TurnsPost) -> Value {
    serde_json::from_str(&post.body).unwrap()
}

/// A stage whose agent asks for a note, for the clipboard and a question.
async fn asked() -> Result<(Stage, Request, Request, Request)> {
    let mut stage = Stage::start(TurnsManner::default()).await?;
    stage.say(MIX).await?;
    stage.cards(3).await?;
    let (ask, read, note) =
        (stage.card("ask_user").await?, stage.card("read_clipboard").await?, stage.card("write_note").await?);
    Ok((stage, ask, read, note))
}

#[tokio::test]
async fn nothing_leaves_before_all_is_decided_and_then_one_request_carries_all() -> Result<()> {
    let (mut stage, ask, read, note) = asked().await?;
    assert_eq!(ask.group, note.group);
    assert!(ask.group.is_some());
    stage.decide(&note, "allow_once").await?;
    stage.decide(&read, "allow_once").await?;
    stage.view.until("two gathered", |view| view.header.row.waiting == 1).await?;
    assert_eq!((gathered(&stage), stage.asked().len()), (2, 1));
    stage.engine.decide(answered(&ask, "blue")).await?;
    stage.view.until("the turn's end", |view| says(view, "Tools said") && is_over(view)).await?;
    let asked = stage.asked();
    assert_eq!(asked.len(), 2);
    let messages = body(&asked[1])["messages"].clone();
    let wanted = json!([
        {"role": "tool", "toolCallId": call(&ask), "content": messages[0]["content"]},
        {"role": "tool", "toolCallId": call(&read), "content": "from the clipboard"},
        {"role": "tool_permission", "toolCallId": call(&note), "granted": true}
    ]);
    assert_eq!(messages, wanted);
    assert!(messages[0]["content"].as_str().context("no text")?.contains("blue"));
    stage
        .view
        .until("all accepted", |view| {
            let rows = view.decisions.values();
            view.decisions.len() == 3 && rows.filter(|row| row.fate == Fate::Accepted).count() == 3
        })
        .await?;
    assert_eq!(stage.desktop.wishes(), [Wish::ReadClipboard]);
    assert!(says(&stage.view, "from the clipboard"), "{}", stage.view.text());
    Ok(())
}

#[tokio::test]
async fn a_denied_call_of_an_own_tool_is_never_carried_out_and_is_told_in_words() -> Result<()> {
    let (mut stage, ask, read, note) = asked().await?;
    let no = |request: &Request, choice: &str| Decision { reason: Some("not now".into()), ..decision(request, choice) };
    stage.engine.decide(no(&read, "deny")).await?;
    stage.engine.decide(no(&note, "deny")).await?;
    stage.decide(&ask, "decline").await?;
    stage.view.until("the turn's end", |view| says(view, "Tools said") && is_over(view)).await?;
    let messages = body(&stage.asked()[1])["messages"].clone();
    assert_eq!(messages[1]["content"], json!("The user declined. not now"));
    assert_eq!(
        messages[2],
        json!({"role": "tool_permission", "toolCallId": call(&note), "granted": false, "reason": "not now"})
    );
    assert_eq!(stage.desktop.wishes(), []);
    Ok(())
}

#[tokio::test]
async fn allowed_for_good_the_tool_is_trusted_from_that_request_on() -> Result<()> {
    let mut stage = Stage::start(TurnsManner::default()).await?;
    stage.say("CALL:write_note {\"text\":\"hi\"}").await?;
    let note = stage.card("write_note").await?;
    stage.decide(&note, "allow_always").await?;
    stage.view.until("the turn's end", |view| says(view, "Tools said") && is_over(view)).await?;
    let sent = body(&stage.asked()[1]);
    let tools = sent["agent"]["tools"].as_array().context("no tools")?;
    assert!(tools.contains(&json!({"name": "write_note", "trust": true})), "{sent}");
    assert_eq!(tools.len(), 3, "the others stay on: {sent}");
    stage.run("CALL:write_note {\"text\":\"again\"}").await?;
    assert_eq!(stage.asked().len(), 3, "nobody was asked");
    let setup = stage.view.header.setup.clone().context("no setup")?;
    assert!(setup.tools.iter().any(|tool| tool.name == "write_note" && tool.trusted));
    Ok(())
}

#[tokio::test]
async fn a_message_typed_meanwhile_waits_and_goes_out_on_the_word_that_declines_the_rest() -> Result<()> {
    let (mut stage, _, read, note) = asked().await?;
    stage.decide(&note, "allow_once").await?;
    stage.say("Never mind").await?;
    stage.view.until("a queued message", |view| view.header.queued.len() == 1).await?;
    assert_eq!(stage.asked().len(), 1);
    stage.queued(QueuedAction::DeclineAndSend).await?;
    stage.view.until("its answer", |view| has_line(view, "Agent Done: You said: Never mind") && is_over(view)).await?;
    let asked = stage.asked();
    assert_eq!(asked.len(), 3);
    let messages = body(&asked[1])["messages"].clone();
    assert_eq!(messages[1], json!({"role": "tool", "toolCallId": call(&read), "content": "cancelled by user"}));
    assert_eq!(messages[2], json!({"role": "tool_permission", "toolCallId": call(&note), "granted": true}));
    assert_eq!(stage.desktop.wishes(), []);
    Ok(())
}

#[tokio::test]
async fn what_was_gathered_before_a_crash_is_gathered_after_it_and_carried_out_once() -> Result<()> {
    let (mut stage, ask, read, note) = asked().await?;
    stage.decide(&read, "allow_once").await?;
    stage.decide(&note, "deny").await?;
    stage.view.until("two gathered", |view| view.header.row.waiting == 1).await?;
    stage.crash().await?;
    stage.view.until("the group", |view| view.requests.len() == 3 && view.header.row.waiting == 1).await?;
    assert_eq!((gathered(&stage), stage.asked().len()), (2, 1));
    let ask = stage.view.requests[&ask.id].clone();
    stage.engine.decide(answered(&ask, "red")).await?;
    stage.view.until("the turn's end", |view| says(view, "Tools said") && is_over(view)).await?;
    let asked = stage.asked();
    assert_eq!(asked.len(), 2);
    let told = body(&asked[1])["messages"][1]["content"].clone();
    let not_known = "The app ended while this was carried out; whether it happened is not known.";
    assert!(told == json!("from the clipboard") || told == json!(not_known), "{told}");
    assert_eq!(stage.desktop.wishes(), [Wish::ReadClipboard]);
    Ok(())
}

#[tokio::test]
async fn answers_whose_answer_was_lost_are_found_in_the_history_and_never_sent_again() -> Result<()> {
    let (mut stage, ask, read, note) = asked().await?;
    stage.control.fail_next("POST", "/turns", RequestAct::LoseAnswer);
    stage.decide(&read, "allow_once").await?;
    stage.decide(&note, "allow_once").await?;
    stage.engine.decide(answered(&ask, "blue")).await?;
    stage.view.until("what the history says", |view| says(view, "Tools said") && is_over(view)).await?;
    stage.view.until("all accepted", |view| view.decisions.values().all(|row| row.fate == Fate::Accepted)).await?;
    assert_eq!(stage.asked().len(), 2);
    Ok(())
}

#[tokio::test]
async fn refused_answers_can_all_be_decided_again() -> Result<()> {
    let (mut stage, ask, read, note) = asked().await?;
    let refused = RequestAct::Status { status: 400, body: FaultBody::Json, retry_after: None };
    stage.control.fail_next("POST", "/turns", refused);
    stage.decide(&read, "deny").await?;
    stage.decide(&note, "allow_once").await?;
    stage.engine.decide(answered(&ask, "blue")).await?;
    stage
        .view
        .until("three refused", |view| {
            view.requests.values().filter(|known| matches!(known.state, RequestState::Refused { .. })).count() == 3
        })
        .await?;
    stage.decide(&read, "deny").await?;
    stage.decide(&note, "deny").await?;
    stage.engine.decide(answered(&ask, "red")).await?;
    stage.view.until("the turn's end", |view| says(view, "Tools said") && is_over(view)).await?;
    let last = body(stage.asked().last().context("nothing")?)["messages"].clone();
    assert_eq!(last[2]["granted"], json!(false));
    Ok(())
}

#[tokio::test]
async fn answers_that_were_refused_for_their_token_are_kept_and_sent_with_one_that_is_taken() -> Result<()> {
    let (mut stage, ask, read, note) = asked().await?;
    stage.control.fail_next(
        "POST",
        "/turns",
        RequestAct::Status { status: 401, body: FaultBody::Empty, retry_after: None },
    );
    stage.decide(&read, "deny").await?;
    stage.decide(&note, "allow_once").await?;
    stage.engine.decide(answered(&ask, "blue")).await?;
    stage.view.until("a token that is wanted", |view| view.header.row.waiting == 0).await?;
    let token = stage.practice.token().to_owned();
    let replace = ReplaceToken { server: stage.server.clone(), token, session_only: true, stop_runs: false };
    stage.engine.replace_token(replace).await?;
    stage.view.until("the turn's end", |view| says(view, "Tools said") && is_over(view)).await?;
    assert_eq!(stage.asked().iter().filter(|post| post.status == Some(200)).count(), 2);
    Ok(())
}

#[tokio::test]
async fn a_decision_on_other_bytes_than_were_shown_is_refused_and_gathers_nothing() -> Result<()> {
    let (stage, _, _, note) = asked().await?;
    let other = Decision { digest: "0".repeat(64), ..decision(&note, "allow_once") };
    assert_eq!(stage.engine.decide(other).await.unwrap_err().code, ErrorCode::RequestChanged);
    assert_eq!((gathered(&stage), stage.asked().len()), (0, 1));
    Ok(())
}
