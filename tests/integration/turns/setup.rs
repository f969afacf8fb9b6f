//! How sessions are set up, what they are called, and what is kept secret.

use anyhow::{Context as _, Result};
use contract::{
    command::{RenameSession, SetSessionSetup},
    server::ServerOptions,
    setup::{OptionSetting, SecretSetting, SessionStart},
};
use practice::TurnsManner;
use pretty_assertions::assert_eq;
use serde_json::Value;
use tests::view::View;

use super::{Stage, create, setup, usual};

const CANARY: &str = "sk-canary-4711";

fn secret() -> Vec<SecretSetting> {
    vec![SecretSetting { name: "api_key".to_owned(), value: CANARY.to_owned() }]
}

fn with_key(mut start: SessionStart) -> SessionStart {
    if let Some(setup) = &mut start.setup {
        setup.options.push(OptionSetting { name: "api_key".to_owned(), value: None });
    }
    start
}

fn holds_canary(folder: &std::path::Path) -> Result<bool> {
    for entry in std::fs::read_dir(folder)? {
        let bytes = std::fs::read(entry?.path())?;
        if bytes.windows(CANARY.len()).any(|part| part == CANARY.as_bytes()) {
            return Ok(true);
        }
    }
    Ok(false)
}

#[tokio::test]
async fn a_secret_reaches_the_server_and_the_keyring_and_nothing_else() -> Result<()> {
    let start = SessionStart { secrets: secret(), ..with_key(usual()) };
    let mut stage = Stage::with(TurnsManner::default(), ServerOptions::default(), start).await?;
    assert_eq!(stage.control.turns().option(&stage.remote, "api_key")?.as_deref(), Some(CANARY));
    stage.run("Hello").await?;
    let shown = format!("{:?} {}", stage.view.header, stage.view.text());
    assert!(!shown.contains(CANARY));
    // The next session is given it without anybody pasting it again.
    let again = stage.engine.create_session(create(&stage.server, with_key(usual()))).await?;
    let view = View::open(&stage.engine, "second", again.session).await?;
    assert_ne!(view.session(), stage.view.session());
    let remote = stage.control.turns().sessions().last().cloned().context("no session")?;
    assert_eq!(stage.control.turns().option(&remote, "api_key")?.as_deref(), Some(CANARY));
    stage.engine.shutdown().await;
    assert!(!holds_canary(stage.dir.path())?);
    Ok(())
}

#[tokio::test]
async fn a_changed_setup_goes_with_the_next_turn_even_after_a_restart() -> Result<()> {
    let mut stage = Stage::start(TurnsManner::default()).await?;
    stage.run("Hello").await?;
    let mut setup = setup(&["!clock", "!write_note"], &["ask_user"]);
    setup.options.push(OptionSetting { name: "api_key".to_owned(), value: None });
    let set = SetSessionSetup { session: stage.view.session(), setup: setup.clone(), secrets: secret() };
    stage.engine.set_session_setup(set).await?;
    stage.view.until("the header", |view| view.header.setup.as_ref() == Some(&setup)).await?;
    assert_eq!(stage.asked().len(), 1);
    stage.restart().await?;
    assert_eq!(stage.view.header.setup.as_ref(), Some(&setup));
    stage.run("Again").await?;
    let sent: Value = serde_json::from_str(&stage.asked()[1].body)?;
    assert_eq!(sent["agent"]["tools"].as_array().map(Vec::len), Some(2), "{sent}");
    assert_eq!(stage.control.turns().option(&stage.remote, "api_key")?.as_deref(), Some(CANARY));
    stage.run("Once more").await?;
    let sent: Value = serde_json::from_str(&stage.asked()[2].body)?;
    assert_eq!(sent.get("agent"), None, "what did not change is left out");
    stage.engine.shutdown().await;
    assert!(!holds_canary(stage.dir.path())?);
    Ok(())
}

#[tokio::test]
async fn a_session_is_called_by_its_first_words_until_it_is_renamed_here() -> Result<()> {
    let mut stage = Stage::start(TurnsManner::default()).await?;
    assert_eq!(stage.view.header.row.title, None);
    assert!(stage.view.header.row.created_at.is_some());
    let long = format!("\n {}\nsecond line", "word ".repeat(20));
    stage.run(&long).await?;
    let title: String = "word ".repeat(20).chars().take(60).collect();
    assert_eq!(stage.view.header.row.title, Some(format!("{title}…")));
    let rename = RenameSession { session: stage.view.session(), title: "Mine".to_owned() };
    stage.engine.rename_session(rename).await?;
    stage.view.until("the new title", |view| view.header.row.title.as_deref() == Some("Mine")).await?;
    stage.restart().await?;
    assert_eq!(stage.view.header.row.title.as_deref(), Some("Mine"));
    Ok(())
}
