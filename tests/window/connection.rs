//! Servers that break off, refuse, or are not there.

use anyhow::Result;
use pretty_assertions::assert_eq;
use serde_json::json;
use tests::window::{
    desk::{Desk, Keyring},
    practice::PracticeServer,
};

use crate::steps::{connect, enter, open_session, times};

#[tokio::test(flavor = "multi_thread")]
async fn p19_a_stream_cut_in_the_middle_resumes_with_no_gap_and_no_duplicate() -> Result<()> {
    let desk = Desk::set_up("p19_a_stream_cut_in_the_middle", Keyring::Unlocked)?;
    let server = PracticeServer::start(&desk, &["gated"])?;
    let session = server.sessions[0].clone();
    let page = desk.open_app().await?;
    connect(&page, &server).await?;
    open_session(&page, "Gated").await?;
    page.until_text("First part.").await?;
    server.wait(json!({ "open_streams": 1 })).await?;
    let opened = server.control(json!({ "do": "counters" })).await?["opened"].as_array().map_or(0, Vec::len);

    // While the line is down the agent goes on: what it says must not be missed.
    server.control(json!({ "do": "cut_streams", "session": session })).await?;
    server.control(json!({ "do": "open_gate", "session": session, "name": "middle" })).await?;
    server.wait(json!({ "opened": opened + 1 })).await?;
    page.until_text("Second part.").await?;
    page.decide("Allow once").await?;
    server.control(json!({ "do": "open_gate", "session": session, "name": "end" })).await?;
    page.until_text("The end.").await?;

    for text in ["First part.", "Second part.", "The end."] {
        assert_eq!(times(&page, text).await?, 1, "{text}");
    }
    assert!(!page.text().await?.contains("Events are missing here"));
    page.close().await;
    desk.pass()
}

#[tokio::test(flavor = "multi_thread")]
async fn p46_a_wrong_token_is_named_as_such_and_is_written_nowhere() -> Result<()> {
    let desk = Desk::set_up("p46_a_wrong_token", Keyring::Unlocked)?;
    let server = PracticeServer::start(&desk, &[])?;
    let page = desk.open_app().await?;
    let canary = "canary-7f3a-wrong-token";
    enter(&page, &server.base_url, canary).await?;
    page.until_text("the server answers 401: it does not take this token").await?;
    assert!(!page.text().await?.contains("is connected"));

    // The right one, entered after it, is taken.
    enter(&page, &server.base_url, &server.token).await?;
    page.until_text("is connected").await?;
    let found = desk.files_with(canary)?;
    assert!(found.is_empty(), "{found:?}");
    let found = desk.files_with(&server.token)?;
    assert!(found.iter().all(|file| file.ends_with("logs/practice.log")), "{found:?}");
    page.close().await;
    desk.pass()
}

#[tokio::test(flavor = "multi_thread")]
async fn p25_a_server_that_is_not_there_is_named_by_its_layer() -> Result<()> {
    let desk = Desk::set_up("p25_a_server_that_is_not_there", Keyring::Unlocked)?;
    let page = desk.open_app().await?;
    // A port that was free a moment ago.
    let port = std::net::TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
    enter(&page, &format!("http://127.0.0.1:{port}"), "").await?;
    page.until_text("no connection could be made").await?;
    page.close().await;
    desk.pass()
}

#[tokio::test(flavor = "multi_thread")]
async fn p22_a_server_that_died_leaves_its_sessions_readable_and_says_so() -> Result<()> {
    let desk = Desk::set_up("p22_a_server_that_died", Keyring::Unlocked)?;
    let mut server = PracticeServer::start(&desk, &["gated"])?;
    let page = desk.open_app().await?;
    connect(&page, &server).await?;
    open_session(&page, "Gated").await?;
    page.until_text("First part.").await?;
    server.kill();
    page.until_text("Retry now").await?;
    assert_eq!(times(&page, "First part.").await?, 1);
    page.close().await;
    desk.pass()
}
