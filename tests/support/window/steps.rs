//! What several journeys have in common: those of the window tests and of the tour.

use super::{page::Page, practice::PracticeServer};
use anyhow::Result;
use serde_json::json;

/// Connects a server by the first screen's form and waits until it is saved.
///
/// # Errors
/// Where it is not.
pub async fn connect(page: &Page, server: &PracticeServer) -> Result<()> {
    enter(page, &server.base_url, &server.token).await?;
    page.until_text("is connected").await
}

/// Fills the form and presses Connect.
///
/// # Errors
/// Where there is no such form.
pub async fn enter(page: &Page, address: &str, token: &str) -> Result<()> {
    page.fill("Server address", address).await?;
    page.fill("Token", token).await?;
    page.click_on("button", "Connect").await
}

/// Opens the session with this title from the sidebar.
///
/// # Errors
/// Where it is not there.
pub async fn open_session(page: &Page, title: &str) -> Result<()> {
    let look = "const b = [...document.querySelectorAll('button[title]')].find((b) => b.title === args); return b !== undefined";
    page.until(&format!("the session {title:?} in the sidebar"), look, json!(title)).await?;
    // Its accessible name goes on with the server and what it does.
    let click = "[...document.querySelectorAll('button[title]')].find((b) => b.title === arguments[0]).click()";
    page.run(click, json!(title)).await?;
    page.find("heading", title).await.map(drop)
}

/// How often the page shows a text.
///
/// # Errors
/// Where the page is gone.
pub async fn times(page: &Page, text: &str) -> Result<usize> {
    Ok(page.text().await?.matches(text).count())
}
