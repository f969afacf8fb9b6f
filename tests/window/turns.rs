//! Sessions whose turns take all answers in one request.

use anyhow::{Context as _, Result};
use pretty_assertions::assert_eq;
use serde_json::json;
use tests::window::{
    desk::{Desk, Keyring},
    page::Page,
    practice::PracticeServer,
    target,
};

use crate::steps::{enter, open_session, times};

/// Goes to one call of the group by its name.
async fn go_to(page: &Page, tool: &str) -> Result<()> {
    let look = "return [...document.querySelectorAll('.group li button')].some((b) => b.textContent.includes(args))";
    page.until(&format!("{tool} in the group"), look, json!(tool)).await?;
    let click =
        "[...document.querySelectorAll('.group li button')].find((b) => b.textContent.includes(arguments[0])).click()";
    page.run(click, json!(tool)).await.map(drop)
}

/// The ids of the calls that wait, in the order in which they were made.
async fn waiting_calls(server: &PracticeServer, session: &str) -> Result<Vec<String>> {
    let order = json!({ "what": "wait", "session": session, "until": { "pending": true, "active": false } });
    let found = server.control(json!({ "do": "turns", "order": order })).await?;
    let calls = found["pending"].as_array().context("no calls wait")?;
    calls.iter().map(|call| Ok(call["toolCallId"].as_str().context("a call without an id")?.to_owned())).collect()
}

/// The bodies of all requests for a turn, byte for byte.
async fn turns_asked_for(server: &PracticeServer) -> Result<Vec<String>> {
    let told = server.control(json!({ "do": "turns", "order": { "what": "posts" } })).await?;
    let posts = told["posts"].as_array().context("no posts")?;
    let turns = posts.iter().filter(|post| post["path"].as_str().is_some_and(|path| path.ends_with("/turns")));
    Ok(turns.filter_map(|post| post["body"].as_str().map(str::to_owned)).collect())
}

#[tokio::test(flavor = "multi_thread")]
async fn turns_edge_01_a_parallel_mix_leaves_as_one_request_with_exactly_what_was_decided() -> Result<()> {
    let desk = Desk::set_up("turns_edge_01_a_parallel_mix_leaves_as_one_request", Keyring::Unlocked)?;
    let server = PracticeServer::start_with(&desk, &[], &["--turns", "v3", "--turns-scenario", "turns-mixed"])?;
    let session = server.turns_sessions.first().context("no session")?;
    let page = desk.open_app().await?;
    enter(&page, &server.turns_base_url, &server.token).await?;
    page.until_text("is connected").await?;
    open_session(&page, "Untitled session").await?;
    page.fill("Message", "Do all of it").await?;
    page.click_on("button", "Send").await?;

    page.until_text("0 of 3 decided, sent together").await?;
    let calls = waiting_calls(&server, session).await?;
    go_to(&page, "write_note").await?;
    page.find("heading", "Allow this tool?").await?;
    page.decide("Allow once").await?;
    page.until_text("1 of 3 decided, sent together").await?;
    go_to(&page, "read_clipboard").await?;
    page.find("heading", "Give the agent your clipboard’s text?").await?;
    page.decide("Deny").await?;
    page.until_text("2 of 3 decided, sent together").await?;
    page.settle().await?;
    let pictures = target().join("window-artifacts");
    std::fs::create_dir_all(&pictures)?;
    std::fs::write(pictures.join("turns-group.png"), page.picture().await?)?;
    assert_eq!(turns_asked_for(&server).await?.len(), 1, "nothing leaves before all is decided");
    go_to(&page, "ask_user").await?;
    page.click_on("radio", "blue").await?;
    page.decide("Answer").await?;
    page.until_text("Tools said:").await?;

    let asked = turns_asked_for(&server).await?;
    let [ask, clipboard, note] = calls.as_slice() else { anyhow::bail!("three calls wait: {calls:?}") };
    let expected = format!(
        r#"{{"messages":[{{"role":"tool","toolCallId":"{ask}","content":"blue"}},{{"role":"tool","toolCallId":"{clipboard}","content":"The user declined."}},{{"role":"tool_permission","toolCallId":"{note}","granted":true}}],"stream":"delta"}}"#
    );
    assert_eq!(asked.get(1..), Some([expected].as_slice()));
    assert_eq!(times(&page, "Let me check.").await?, 1);
    page.close().await;
    desk.pass()
}
