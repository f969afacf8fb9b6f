//! The sidebar's rows, and links that another one has replaced.

use std::time::Duration;

use anyhow::{Context as _, Result};
use contract::{
    command::{NoArgs, PauseServer, ReplaceToken, ServerRef, SessionRef},
    connection::ConnectionState,
    server::{ServerOptions, ServerState},
    session::ClosedReason,
};
use practice::{Command, FaultBody, RequestAct, RequestFault};
use pretty_assertions::assert_eq;
use serde_json::json;
use tests::{
    rig::{Dialect, Rig, decision},
    view::View,
};

use super::{is_live, waiting_session};

async fn has_row(rig: &Rig, view: &View) -> Result<bool> {
    let overview = rig.engine.overview("main", NoArgs {}).await?;
    Ok(overview.sessions.iter().any(|row| row.id == view.session()))
}

#[tokio::test]
async fn an_archived_session_stays_out_of_the_sidebar() -> Result<()> {
    for dialect in [Dialect::Qoder, Dialect::Claude] {
        let mut rig = Rig::start(dialect).await?;
        let (remote, mut view) = rig.play("plain", &[]).await?;
        view.until("the answer on a live stream", |view| view.text().contains("in a few words") && is_live(view))
            .await?;
        assert!(has_row(&rig, &view).await?);
        let which = SessionRef { session: view.session() };
        rig.engine.archive_session(which).await?;
        view.until("an archived session", |view| view.header.closed == Some(ClosedReason::Archived)).await?;
        assert!(!has_row(&rig, &view).await?, "{dialect:?}: at once");
        // Whatever moves in it later: its stream still says something, the list is read again, it is opened again.
        rig.control.emit(&remote, json!({"type": "session.updated", "title": "Renamed"}))?;
        let asked = rig.control.counters().requests;
        rig.engine.refresh_server(ServerRef { server: rig.server.clone() }).await?;
        rig.control.until(|seen| seen.requests > asked).await?;
        let view = View::open(&rig.engine, "main", which.session).await?;
        assert!(!has_row(&rig, &view).await?, "{dialect:?}: after news of it");
        drop(view);
        rig.restart().await?;
        let mut view = rig.open(&remote).await?;
        view.until("the archived session", |view| view.header.closed == Some(ClosedReason::Archived)).await?;
        view.until("its history", |view| !view.header.loading_history).await?;
        assert!(!has_row(&rig, &view).await?, "{dialect:?}: after a restart");
    }
    Ok(())
}

fn always(method: &str, path: &str) -> Command {
    let act = RequestAct::Status { status: 503, body: FaultBody::Empty, retry_after: None };
    Command::RequestFault(RequestFault { method: Some(method.into()), path: Some(path.into()), times: u32::MAX, act })
}

async fn left_alone_while_paused(dialect: Dialect) -> Result<()> {
    let named = if dialect == Dialect::Qoder { "qoder" } else { "claude" };
    let rig =
        Rig::start_with(dialect, ServerOptions { dialect: Some(named.into()), ..ServerOptions::default() }).await?;
    let (remote, mut view, request) = waiting_session(&rig).await?;
    // Readings, listings and a decision that all fail and are to be tried again.
    rig.control.run(always("GET", "/sessions")).await?;
    rig.control.run(always("POST", &format!("/sessions/{remote}"))).await?;
    let before = rig.control.counters().requests;
    rig.engine.decide(decision(&request, "allow_once")).await?;
    rig.engine.refresh_server(ServerRef { server: rig.server.clone() }).await?;
    rig.control.until(|seen| seen.requests >= before + 2).await?;
    rig.engine.pause_server(PauseServer { server: rig.server.clone(), paused: true, stop_runs: false }).await?;
    view.until("a paused stream", |view| view.header.connection == ConnectionState::Paused).await?;
    let asked = rig.control.counters().requests;
    // With nothing to do the clock runs ahead; a task that spins would hold it.
    let (late, watch) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        std::thread::park_timeout(Duration::from_secs(60));
        // The test is over when nobody waits.
        let _ = late.send(());
    });
    tokio::time::pause();
    tokio::select! {
        () = tokio::time::sleep(Duration::from_secs(300)) => {}
        _ = watch => anyhow::bail!("something is busy though its server is paused"),
    }
    tokio::time::resume();
    assert_eq!(rig.control.counters().requests, asked, "nothing more was sent");
    let servers = rig.engine.overview("main", NoArgs {}).await?.servers;
    let state = servers.into_iter().find(|server| server.id == rig.server).context("no server")?.state;
    assert_eq!(state, ServerState::Paused);

    rig.control.run(Command::ClearFaults).await?;
    rig.engine.pause_server(PauseServer { server: rig.server.clone(), paused: false, stop_runs: false }).await?;
    rig.control.until(|seen| seen.accepted(&request.id) == 1).await?;
    Ok(())
}

#[tokio::test]
async fn a_paused_servers_link_sends_nothing_more_and_says_nothing_of_it() -> Result<()> {
    for dialect in [Dialect::Qoder, Dialect::Claude] {
        left_alone_while_paused(dialect).await.with_context(|| format!("{dialect:?}"))?;
    }
    Ok(())
}

#[tokio::test]
async fn a_reading_of_the_link_before_neither_fails_the_new_one_nor_is_waited_for() -> Result<()> {
    let rig = Rig::start(Dialect::Claude).await?;
    let remote = rig.practice.start_scenario("plain").await?;
    let path = Some(format!("/sessions/{remote}/events"));
    let never = RequestFault { method: Some("GET".into()), path, times: 3, act: RequestAct::HalfOpen };
    rig.control.run(Command::RequestFault(never)).await?;
    let before = rig.control.counters().requests;
    let mut view = rig.open(&remote).await?;
    rig.control.until(|seen| seen.requests > before + 1).await?;
    rig.control.run(Command::ClearFaults).await?;
    let token = rig.practice.token().to_owned();
    rig.engine
        .replace_token(ReplaceToken { server: rig.server.clone(), token, session_only: true, stop_runs: false })
        .await?;
    view.until("the history on a live stream", |view| view.text().contains("in a few words") && is_live(view)).await?;
    view.until("the end of the reading", |view| !view.header.loading_history).await
}
