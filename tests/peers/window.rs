//! The real window takes an approval of a real server once.

use anyhow::{Result, ensure};
use serde_json::json;
use tests::window::{
    desk::{Desk, Keyring},
    steps::{enter, open_session},
    target,
};

use crate::open_managed_agents::{KEY, Peer, asking_tools};

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
    let pictures = target().join("window-artifacts");
    std::fs::create_dir_all(&pictures)?;
    std::fs::write(pictures.join("open-managed-agents.png"), page.picture().await?)?;
    page.close().await;
    peer.stop().await?;
    desk.pass()
}
