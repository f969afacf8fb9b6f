//! P-03: a request that waits is there again, once, after everything that can break in between.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    process::{Command, Stdio},
    sync::Arc,
};

use anyhow::{Context as _, Result, bail, ensure};
use contract::{
    connection::ConnectionLogKind,
    server::{PRACTICE_SERVER, ServerId},
};
use engine::MemoryCredentials;
use pretty_assertions::assert_eq;
use tests::{
    rig::{Dialect, Rig, engine},
    view::View,
};

use super::{allow, connects, is_live, waiting_rig};

#[tokio::test]
async fn p03_pending_approval_survives_a_killed_socket() -> Result<()> {
    for dialect in [Dialect::Qoder, Dialect::Claude] {
        let (rig, _, mut view, request) = waiting_rig(dialect).await?;
        let (before, lists) = (connects(&view), rig.control.counters().lists);
        rig.control.cut_streams();
        view.until("the stream again", |view| connects(view) > before).await?;
        // What is read again after the connect changes nothing: the card was never gone and is not doubled.
        rig.control.until(|seen| seen.lists > lists).await?;
        let resumed =
            |view: &View| view.log.iter().filter(|row| matches!(row.what, ConnectionLogKind::Resumed { .. })).count();
        view.until("the history merged", |view| resumed(view) > 0).await?;
        assert_eq!(view.open_requests(), [&request]);
        allow(&rig, &mut view, &request).await?;
    }
    Ok(())
}

#[tokio::test]
async fn p03_pending_approval_survives_a_server_that_was_away() -> Result<()> {
    let dir = tempfile::tempdir()?;
    let state_file = Some(dir.path().join("sessions"));
    let config = practice::Config { pace: practice::Pace::Fast, state_file, ..practice::Config::default() };
    let first = practice::Practice::start(config.clone()).await?;
    let engine = engine(&dir.path().join("app"), Arc::new(MemoryCredentials::default())).await?;
    engine.attach_practice(first.base_url(), first.token().to_owned()).await?;
    let remote = first.start_scenario("approval").await?;
    let server = ServerId(PRACTICE_SERVER.to_owned());
    let session = engine.session_by_remote(&server, &remote).await?;
    let mut view = View::open(&engine, "main", session).await?;
    view.until("an open request", |view| view.open_requests().len() == 1).await?;
    let request = view.open_requests()[0].clone();
    first.stop().await;
    view.until("a lost stream", |view| !is_live(view)).await?;
    assert_eq!(view.open_requests(), [&request], "what waits stays on the screen while the server is away");

    let second = practice::Practice::start(config).await?;
    engine.attach_practice(second.base_url(), second.token().to_owned()).await?;
    view.until("the stream again", is_live).await?;
    view.until("the card again", |view| view.open_requests().len() == 1).await?;
    let again = view.open_requests()[0].clone();
    assert_eq!((&again.id, &again.digest), (&request.id, &request.digest));
    engine.decide(tests::rig::decision(&again, "allow_once")).await?;
    second.control().until(|seen| seen.accepted(&request.id) == 1).await?;
    Ok(())
}

#[tokio::test]
async fn p03_pending_approval_survives_an_engine_restart() -> Result<()> {
    for dialect in [Dialect::Qoder, Dialect::Claude] {
        let (mut rig, remote, view, request) = waiting_rig(dialect).await?;
        drop(view);
        rig.restart().await?;
        let mut view = rig.open(&remote).await?;
        view.until("the stream again", is_live).await?;
        view.until("the card again", |view| view.open_requests().len() == 1).await?;
        let again = view.open_requests()[0].clone();
        assert_eq!((&again.id, &again.digest, again.asked_at), (&request.id, &request.digest, request.asked_at));
        allow(&rig, &mut view, &again).await?;
    }
    Ok(())
}

/// Where the killed process finds its folder and its server.
const DIR: &str = "COUNTERSIGN_TEST_P03_DIR";
const URL: &str = "COUNTERSIGN_TEST_P03_URL";
const TOKEN: &str = "COUNTERSIGN_TEST_P03_TOKEN";
const REMOTE: &str = "COUNTERSIGN_TEST_P03_REMOTE";

#[tokio::test]
async fn p03_pending_approval_survives_kill_9() -> Result<()> {
    if let Ok(dir) = std::env::var(DIR) {
        return wait_to_be_killed(&dir).await;
    }
    let mut rig = Rig::start(Dialect::Qoder).await?;
    let remote = rig.practice.start_scenario("approval").await?;
    let dir = tempfile::tempdir()?;
    let mut child = Command::new(std::env::current_exe()?)
        .args(["--exact", "rows::pending::p03_pending_approval_survives_kill_9", "--nocapture"])
        .env(DIR, dir.path())
        .env(URL, rig.practice.base_url())
        .env(TOKEN, rig.practice.token())
        .env(REMOTE, &remote)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let lines = BufReader::new(child.stdout.take().context("no output")?);
    let card = tokio::task::spawn_blocking(move || {
        lines.lines().find_map(|line| line.ok()?.split_once("card ").map(|(_, card)| card.to_owned()))
    })
    .await?
    .context("the process ended without a card")?;
    // SIGKILL on Unix: nothing in the process has a say in it.
    child.kill()?;
    child.wait()?;

    rig.engine.shutdown().await;
    rig.engine = engine(dir.path(), Arc::new(MemoryCredentials::default())).await?;
    rig.engine.attach_practice(rig.practice.base_url(), rig.practice.token().to_owned()).await?;
    let mut view = rig.open(&remote).await?;
    view.until("the stream again", is_live).await?;
    view.until("the card again", |view| view.open_requests().len() == 1).await?;
    let again = view.open_requests()[0].clone();
    assert_eq!(format!("{} {}", again.id, again.digest), card);
    let messages = view.text().matches("List the files").count();
    assert_eq!(messages, 1, "{}", view.text());
    allow(&rig, &mut view, &again).await
}

/// The process that is killed: an engine with a card on its screen.
async fn wait_to_be_killed(dir: &str) -> Result<()> {
    let engine = engine(std::path::Path::new(dir), Arc::new(MemoryCredentials::default())).await?;
    engine.attach_practice(std::env::var(URL)?, std::env::var(TOKEN)?).await?;
    let server = ServerId(PRACTICE_SERVER.to_owned());
    let session = engine.session_by_remote(&server, &std::env::var(REMOTE)?).await?;
    let mut view = View::open(&engine, "main", session).await?;
    view.until("an open request", |view| view.open_requests().len() == 1).await?;
    let request = view.open_requests()[0].clone();
    writeln!(std::io::stdout(), "card {} {}", request.id, request.digest)?;
    std::io::stdout().flush()?;
    // Should the test that started this process end first, its end of the pipe closes.
    let read = tokio::task::spawn_blocking(|| std::io::stdin().lines().next().is_none()).await?;
    ensure!(read, "nobody writes here");
    bail!("this process was to be killed")
}
