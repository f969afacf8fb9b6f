//! What the page's processes hold in memory.

use anyhow::{Context, Result};
use pretty_assertions::assert_eq;
use serde_json::json;
use tests::window::{
    desk::{Desk, Keyring},
    memory::regions_with,
    page::Page,
    practice::PracticeServer,
    process::descendants,
};

use crate::steps::{connect, enter, open_session};

const RIGHT: &str = "canary-51c0-right-token-8e2d";
const WRONG: &str = "canary-94ab-wrong-token-77f1";

/// The processes that draw the page and that would fetch for it.
fn page_processes(app: i32) -> Result<Vec<i32>> {
    ["WebKitWebProcess", "WebKitNetworkProcess"]
        .into_iter()
        .map(|program| {
            let found = descendants(app, |name| name == program);
            found.first().copied().with_context(|| format!("there is no {program}"))
        })
        .collect()
}

/// Everything of the app that the page can come by: itself, what it stores, and the answers of the commands that tell
/// of servers and sessions.
async fn page_facing(page: &Page) -> Result<String> {
    let script = "const done = arguments[arguments.length - 1]; const call = window.__TAURI_INTERNALS__.invoke; \
                  const session = { session: 1 }; \
                  Promise.allSettled([call('overview', {}), call('waiting_requests', {}), \
                  call('connection_log', { args: session }), call('decisions', { args: session }), \
                  call('search_history', { args: { query: 'canary' } })]).then((answers) => done(JSON.stringify([answers, \
                  document.documentElement.outerHTML, {...localStorage}, {...sessionStorage}, \
                  [...document.querySelectorAll('input')].map((field) => field.value)])));";
    let all = page.run_async(script, json!([])).await?;
    let all = all.as_str().context("no text")?.to_owned();
    assert!(all.contains("\\\"servers\\\"") || all.contains("\"servers\""), "the overview answered: {all}");
    Ok(all)
}

#[tokio::test(flavor = "multi_thread")]
async fn p46_no_process_of_the_page_holds_a_token_that_the_app_works_with() -> Result<()> {
    let desk = Desk::set_up("p46_no_process_of_the_page_holds_a_token", Keyring::Unlocked)?;
    let mut server = PracticeServer::start_with(&desk, &["approval"], &["--token", RIGHT])?;
    assert_eq!(server.token, RIGHT);
    // A person types a token into the page: both pass through this first one's process, which ends with the app.
    let page = desk.open_app().await?;
    enter(&page, &server.base_url, WRONG).await?;
    page.until_text("the server answers 401: it does not take this token").await?;
    connect(&page, &server).await?;
    page.kill_app()?;

    let page = desk.open_app().await?;
    open_session(&page, "Approval").await?;
    page.decide("Allow once").await?;
    server.wait(json!({ "decisions": 1 })).await?;
    page.until_no_button("Allow once").await?;
    // From here on the right one is a wrong one, and the app says so.
    server.rotate_token("another").await?;
    server.control(json!({ "do": "cut_streams" })).await?;
    page.click_on("button", "Servers").await?;
    let app = page.app_id()?;
    let facing = page_facing(&page).await?;
    for id in page_processes(app)? {
        assert_eq!(regions_with(id, &[RIGHT, WRONG])?, Vec::<String>::new(), "process {id}");
    }
    assert!(!facing.contains(RIGHT) && !facing.contains(WRONG));
    // The same look finds it where it must be: at the server, and in the app, which sends it.
    assert!(!regions_with(server.id(), &[RIGHT])?.is_empty());
    assert!(!regions_with(app, &[RIGHT])?.is_empty());
    page.close().await;
    desk.pass()
}
