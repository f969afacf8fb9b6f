//! Computers without a keyring.

use anyhow::Result;
use tests::window::{
    desk::{Desk, Keyring},
    practice::PracticeServer,
};

use crate::steps::{enter, open_session};

/// The offer is made, taken on purpose, shown, and gone with the app.
async fn keeps_the_token_for_this_session_only(name: &str, keyring: Keyring) -> Result<()> {
    let desk = Desk::set_up(name, keyring)?;
    let server = PracticeServer::start(&desk, &["approval"])?;
    let page = desk.open_app().await?;
    enter(&page, &server.base_url, &server.token).await?;
    page.until_text("The token cannot be stored").await?;
    page.click_on("button", "Keep for this session only").await?;
    page.until_text("is connected").await?;
    open_session(&page, "Approval").await?;
    page.click_on("button", "Servers").await?;
    page.until_text("token kept for this session only").await?;
    let found = desk.files_with(&server.token)?;
    assert!(found.iter().all(|file| file.ends_with("logs/practice.log")), "{found:?}");
    page.kill_app()?;

    let page = desk.open_app().await?;
    page.click_on("button", "Servers").await?;
    page.until_text("token not readable now: give it again").await?;
    page.close().await;
    desk.pass()
}

#[tokio::test(flavor = "multi_thread")]
async fn p44_without_a_keyring_the_token_is_kept_for_this_session_only_by_choice() -> Result<()> {
    keeps_the_token_for_this_session_only("p44_without_a_keyring", Keyring::None).await
}

#[tokio::test(flavor = "multi_thread")]
async fn p44_without_a_bus_the_token_is_kept_for_this_session_only_by_choice() -> Result<()> {
    keeps_the_token_for_this_session_only("p44_without_a_bus", Keyring::NoBus).await
}
