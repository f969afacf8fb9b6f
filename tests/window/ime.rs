//! Input methods in WebKitGTK. WebDriver types no compositions, so their events are dispatched as the engine sends
//! them; everything around them is real.

use anyhow::Result;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use tests::window::{
    desk::{Desk, Keyring},
    page::Page,
    practice::PracticeServer,
};

use crate::steps::{connect, open_session};

/// Every order in which engines tell of an Enter that ends a composition, at the field that has the focus. Answers how
/// many of these Enters the page let pass as the field's own.
const COMPOSED_ENTERS: &str = r"
const field = document.activeElement;
const enter = (more) => field.dispatchEvent(
  new KeyboardEvent('keydown', { key: 'Enter', code: 'Enter', bubbles: true, cancelable: true, ...more }));
const composition = (kind) => field.dispatchEvent(new CompositionEvent(kind, { bubbles: true, data: '东京' }));
composition('compositionstart');
composition('compositionupdate');
enter({ isComposing: true, keyCode: 229 });
enter({ isComposing: true, keyCode: 13 });
composition('compositionend');
enter({ keyCode: 13 });
enter({ keyCode: 229 });
composition('compositionstart');
enter({ keyCode: 13 });
composition('compositionend');
return field.value;
";

async fn posts(server: &PracticeServer) -> Result<Vec<Value>> {
    let counters = server.control(json!({ "do": "counters" })).await?;
    Ok(counters["posts"].as_array().cloned().unwrap_or_default())
}

async fn compose_and_enter(page: &Page) -> Result<Value> {
    page.run(COMPOSED_ENTERS, Value::Null).await
}

#[tokio::test(flavor = "multi_thread")]
async fn p35_the_enter_that_ends_a_composition_sends_nothing_in_the_real_window() -> Result<()> {
    let desk = Desk::set_up("p35_composition_sends_nothing", Keyring::Unlocked)?;
    let server = PracticeServer::start(&desk, &["plain"])?;
    let page = desk.open_app().await?;
    connect(&page, &server).await?;
    open_session(&page, "Plain").await?;
    let before = posts(&server).await?.len();
    page.fill("Message", "帮我查一下东京").await?;
    assert_eq!(compose_and_enter(&page).await?, json!("帮我查一下东京"), "what was written stays in the field");

    // The next Enter is the person's. It goes the same way to the server, so whatever went before it has arrived.
    let field = page.find("textbox", "Message").await?;
    page.keys(&field, "\u{e007}").await?;
    server.wait(json!({ "posts": before + 1 })).await?;
    let sent = posts(&server).await?;
    assert_eq!(sent.len(), before + 1, "{sent:?}");
    assert_eq!(sent[before]["body"]["events"][0]["content"][0]["text"], "帮我查一下东京");
    assert_eq!(page.run("return document.activeElement.value", Value::Null).await?, json!(""));
    page.close().await;
    desk.pass()
}

#[tokio::test(flavor = "multi_thread")]
async fn p35_the_enter_that_ends_a_composition_decides_nothing_in_the_real_window() -> Result<()> {
    let desk = Desk::set_up("p35_composition_decides_nothing", Keyring::Unlocked)?;
    let server = PracticeServer::start(&desk, &["approval"])?;
    let page = desk.open_app().await?;
    connect(&page, &server).await?;
    open_session(&page, "Approval").await?;
    page.decide("Deny with a reason…").await?;
    page.fill("Reason (may be empty)", "不要在这台机器上").await?;
    assert_eq!(compose_and_enter(&page).await?, json!("不要在这台机器上"));
    assert!(server.decisions().await?.is_empty());

    let field = page.find("textbox", "Reason (may be empty)").await?;
    page.keys(&field, "\u{e007}").await?;
    server.wait(json!({ "decisions": 1 })).await?;
    page.until_text("Not done: 不要在这台机器上").await?;
    let decisions = server.decisions().await?;
    assert_eq!(decisions.len(), 1);
    assert_eq!(decisions[0]["event"]["deny_message"], "不要在这台机器上");
    page.close().await;
    desk.pass()
}
