//! From a request to a decision and back.

use anyhow::Result;
use pretty_assertions::assert_eq;
use serde_json::json;
use tests::window::{
    desk::{Desk, Keyring},
    practice::PracticeServer,
    process::{descendants, kill_now, wait_for_file},
};

use crate::steps::{connect, open_session, times};

#[tokio::test(flavor = "multi_thread")]
async fn first_run_practice_stream_approve_done() -> Result<()> {
    let desk = Desk::set_up("first_run_practice_stream_approve_done", Keyring::Unlocked)?;
    let page = desk.open_app().await?;
    page.find("heading", "Watch your agents. Decide what they may do.").await?;
    page.click_on("button", "Start practising").await?;
    page.click_on("button", "Start Add pagination to users API").await?;
    page.until_text("cursor pagination and make sure the tests still pass").await?;
    page.until_text("Running the test suite now.").await?;
    page.until_text("Run this command?").await?;
    page.until_text("pytest -q tests/users").await?;
    page.decide("Allow once").await?;
    page.until_text("All 22 tests pass.").await?;
    page.until_no_button("Allow once").await?;
    assert_eq!(times(&page, "All 22 tests pass.").await?, 1);
    page.close().await;
    desk.pass()
}

#[tokio::test(flavor = "multi_thread")]
async fn deny_with_a_reason_arrives_at_the_server() -> Result<()> {
    let desk = Desk::set_up("deny_with_a_reason_arrives_at_the_server", Keyring::Unlocked)?;
    let server = PracticeServer::start(&desk, &["approval"])?;
    let page = desk.open_app().await?;
    connect(&page, &server).await?;
    open_session(&page, "Approval").await?;
    page.until_text("ls -la").await?;
    page.decide("Deny with a reason…").await?;
    page.fill("Reason (may be empty)", "not on this machine").await?;
    page.decide("Deny").await?;
    server.wait(json!({ "decisions": 1 })).await?;
    page.until_text("Not done: not on this machine").await?;

    let decisions = server.decisions().await?;
    assert_eq!(decisions.len(), 1);
    assert_eq!(decisions[0]["event"]["type"], "user.tool_confirmation");
    assert_eq!(decisions[0]["event"]["result"], "deny");
    assert_eq!(decisions[0]["event"]["deny_message"], "not on this machine");
    page.close().await;
    desk.pass()
}

#[tokio::test(flavor = "multi_thread")]
async fn p03_pending_approval_survives_a_killed_app() -> Result<()> {
    let desk = Desk::set_up("p03_pending_approval_survives_a_killed_app", Keyring::Unlocked)?;
    let server = PracticeServer::start(&desk, &["approval"])?;
    let page = desk.open_app().await?;
    connect(&page, &server).await?;
    open_session(&page, "Approval").await?;
    page.find("button", "Allow once").await?;
    page.until_text("One command.").await?;
    page.kill_app()?;
    assert!(server.decisions().await?.is_empty());

    let page = desk.open_app().await?;
    open_session(&page, "Approval").await?;
    page.find("button", "Allow once").await?;
    page.until_text("One command.").await?;
    assert_eq!(page.look_for("button", "Allow once").await?.len(), 1, "the card is back once");
    assert_eq!(times(&page, "One command.").await?, 1, "nothing is shown twice");
    page.decide("Allow once").await?;
    server.wait(json!({ "decisions": 1 })).await?;
    page.until_text("Done after the approval.").await?;

    let decisions = server.decisions().await?;
    assert_eq!(decisions.len(), 1, "the answer arrived once: {decisions:?}");
    assert_eq!(decisions[0]["event"]["result"], "allow");
    page.close().await;
    desk.pass()
}

#[tokio::test(flavor = "multi_thread")]
async fn p04_an_answer_lost_on_the_way_is_sent_again_and_counts_once() -> Result<()> {
    let desk = Desk::set_up("p04_an_answer_lost_on_the_way_is_sent_again_and_counts_once", Keyring::Unlocked)?;
    let server = PracticeServer::start(&desk, &["approval"])?;
    let page = desk.open_app().await?;
    connect(&page, &server).await?;
    open_session(&page, "Approval").await?;
    page.find("button", "Allow once").await?;
    server
        .control(
            json!({ "do": "request_fault", "method": "POST", "path": "/events", "times": 1, "act": "lose_answer" }),
        )
        .await?;
    page.decide("Allow once").await?;
    page.until_text("Done after the approval.").await?;
    let first_time = server.decisions().await?.into_iter().filter(|seen| seen["repeated"] == false).count();
    assert_eq!(first_time, 1);
    assert_eq!(times(&page, "Done after the approval.").await?, 1);
    page.close().await;
    desk.pass()
}

#[tokio::test(flavor = "multi_thread")]
async fn p07_enter_on_a_fresh_card_decides_nothing() -> Result<()> {
    let desk = Desk::set_up("p07_enter_on_a_fresh_card_decides_nothing", Keyring::Unlocked)?;
    let server = PracticeServer::start(&desk, &["approval"])?;
    let page = desk.open_app().await?;
    connect(&page, &server).await?;
    open_session(&page, "Approval").await?;
    page.find("button", "Allow once").await?;
    for key in ["Return", "space", "Return"] {
        desk.xdotool(&["key", key])?;
    }
    // A key that the page answers visibly comes last, so everything before it has been handled.
    page.fill("Message", "typed after the keys").await?;
    assert_eq!(page.look_for("button", "Allow once").await?.len(), 1, "the card still waits");
    assert!(server.decisions().await?.is_empty());
    page.close().await;
    desk.pass()
}

#[tokio::test(flavor = "multi_thread")]
async fn p05_a_request_that_was_answered_elsewhere_can_no_longer_be_answered_here() -> Result<()> {
    let desk = Desk::set_up("p05_answered_elsewhere", Keyring::Unlocked)?;
    let server = PracticeServer::start(&desk, &["approval"])?;
    let page = desk.open_app().await?;
    connect(&page, &server).await?;
    open_session(&page, "Approval").await?;
    page.find("button", "Allow once").await?;
    server.answer_elsewhere(&server.sessions[0]).await?;
    page.until_no_button("Allow once").await?;
    page.until_text("Done after the approval.").await?;
    assert_eq!(server.decisions().await?.len(), 1, "only the other client's answer is there");
    page.close().await;
    desk.pass()
}

#[tokio::test(flavor = "multi_thread")]
async fn p03_pending_approval_survives_a_killed_page_process() -> Result<()> {
    let desk = Desk::set_up("p03_killed_page_process", Keyring::Unlocked)?;
    let server = PracticeServer::start(&desk, &["approval"])?;
    let page = desk.open_app().await?;
    connect(&page, &server).await?;
    open_session(&page, "Approval").await?;
    page.find("button", "Allow once").await?;
    page.kill_app()?;

    // No driver survives its page's process, so a person's start is what dies here: the app loads the page anew.
    let mut app = desk.start_app("app")?;
    server.wait(json!({ "open_streams": 1 })).await?;
    let ready = desk.file("app.ready");
    std::fs::remove_file(&ready)?;
    let died = descendants(app.id(), |program| program == "WebKitWebProcess");
    assert_eq!(died.len(), 1);
    kill_now(died[0])?;
    wait_for_file(&ready)?;
    let lives = descendants(app.id(), |program| program == "WebKitWebProcess");
    assert!(lives.len() == 1 && lives != died, "{died:?}, then {lives:?}");
    assert!(server.decisions().await?.is_empty());
    app.end();

    let page = desk.open_app().await?;
    open_session(&page, "Approval").await?;
    page.decide("Allow once").await?;
    page.until_text("Done after the approval.").await?;
    assert_eq!(server.decisions().await?.len(), 1);
    page.close().await;
    desk.pass()
}
