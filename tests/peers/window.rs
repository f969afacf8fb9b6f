//! The real window takes approvals of real servers once, denies and steers.

use anyhow::{Result, ensure};
use serde_json::json;
use tests::window::{
    desk::{Desk, Keyring},
    page::Page,
    steps::{enter, open_session, times},
    target,
};

use crate::{
    open_managed_agents::{KEY, Peer, asking_tools},
    zettcode,
};

/// Keeps a picture of the page.
async fn keep_picture(page: &Page, name: &str) -> Result<()> {
    let pictures = target().join("window-artifacts");
    std::fs::create_dir_all(&pictures)?;
    Ok(std::fs::write(pictures.join(name), page.picture().await?)?)
}

#[tokio::test(flavor = "multi_thread")]
async fn open_managed_agents_gets_an_approval_from_the_real_window() -> Result<()> {
    let peer = Peer::start().await?;
    let (agent, environment) = peer.agent(asking_tools()).await?;
    let session = json!({"agent": agent, "environment_id": environment, "title": "Peer run"});
    let session = peer.post("/sessions", &session).await?;
    let message = json!({"events": [{"type": "user.message", "content": [{"type": "text", "text": "do it"}]}]});

    let desk = Desk::set_up("open_managed_agents_gets_an_approval_from_the_real_window", Keyring::Unlocked)?;
    let page = desk.open_app().await?;
    enter(&page, peer.base(), KEY).await?;
    open_session(&page, "Peer run").await?;
    peer.send(&format!("/sessions/{session}/events"), &message).await?;
    page.find("button", "Allow once").await?;
    let before = peer.events(&session).await?;
    ensure!(!before.contains("user.tool_confirmation"), "nothing was decided yet: {before}");
    page.decide("Allow once").await?;
    page.until_text("Open Managed Agents local runtime").await?;
    page.until_no_button("Allow once").await?;
    let after = peer.events(&session).await?;
    ensure!(after.matches("user.tool_confirmation").count() == 1, "decided once: {after}");
    keep_picture(&page, "open-managed-agents.png").await?;
    page.close().await;
    peer.stop().await?;
    desk.pass()
}

/// Writes a message and sends it, once the last card has gone: a settled one stays readable for a while, and a new one
/// waits behind it.
async fn send(page: &Page, text: &str) -> Result<()> {
    let look = "return !document.body.innerText.includes(args)";
    page.until("no settled card", look, json!("Accepted by the server")).await?;
    page.fill("Message", text).await?;
    page.click_on("button", "Send").await
}

#[tokio::test(flavor = "multi_thread")]
async fn zettcode_is_approved_denied_and_steered_from_the_real_window() -> Result<()> {
    let peer = zettcode::Peer::start(zettcode::Level::Ask)?;
    peer.post("/sessions", &json!({"title": "Peer run"})).await?;
    let desk = Desk::set_up("zettcode_is_approved_denied_and_steered_from_the_real_window", Keyring::Unlocked)?;
    let page = desk.open_app().await?;
    enter(&page, &peer.base(), zettcode::TOKEN).await?;
    open_session(&page, "Peer run").await?;

    send(&page, "run: echo here > approved.txt").await?;
    page.find("button", "Allow once").await?;
    ensure!(!peer.left("approved.txt"), "nothing was allowed yet");
    keep_picture(&page, "zettcode-approval.png").await?;
    page.decide("Allow once").await?;
    page.until_text("The tool said").await?;
    page.until_no_button("Allow once").await?;
    ensure!(peer.left("approved.txt"));

    send(&page, "run: echo here > denied.txt").await?;
    page.find("button", "Deny").await?;
    page.decide("Deny").await?;
    page.until_text("Shell command aborted by user").await?;
    page.until_no_button("Deny").await?;
    ensure!(!peer.left("denied.txt"));
    keep_picture(&page, "zettcode-denied.png").await?;

    send(&page, "hold: first words").await?;
    // Once in the person's own message, once from the agent.
    let look = "return document.body.innerText.split(args).length > 2";
    page.until("the first words of the answer", look, json!("first words")).await?;
    send(&page, "also update the docs").await?;
    page.until_text("accepted, not taken up yet").await?;
    keep_picture(&page, "zettcode-steering.png").await?;
    peer.let_go().await?;
    page.until_text("You said: also update the docs").await?;
    ensure!(times(&page, "You said: also update the docs").await? == 1, "{}", page.text().await?);
    keep_picture(&page, "zettcode-steered.png").await?;
    page.close().await;
    desk.pass()
}
