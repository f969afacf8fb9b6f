//! S-17: what is kept of a server has a cap on disk. At the cap nothing more is read, that is said, and nothing is lost.

use anyhow::{Context as _, Result};
use contract::{
    command::{EditServer, NoArgs, SessionRef},
    connection::ConnectionState,
    server::{Server, ServerOptions, ServerWarning},
    session::SessionState,
};
use practice::{Command, Config, Pace, Practice};
use pretty_assertions::assert_eq;
use serde_json::json;
use tests::{
    rig::{Dialect, Rig, decision, draft},
    view::View,
};

use super::is_live;
use crate::edges::stage::whole_transcript;

/// The cap of the full server: a part of the flood.
const CAP: u64 = 100 * 1024;

/// Events of the flood and their bytes. What is on its way when the cap is reached, four megabytes at most, still gets in.
const FLOOD: u64 = 1_500;
const BYTES: usize = 8_000;

async fn server(rig: &Rig) -> Result<Server> {
    let servers = rig.engine.overview("main", NoArgs {}).await?.servers;
    servers.into_iter().find(|server| server.id == rig.server).context("no such server")
}

fn is_full(view: &View) -> bool {
    view.header.connection == ConnectionState::Full
}

/// A server at its cap, with a session whose flood did not find room.
async fn full_rig(dialect: Dialect) -> Result<(Rig, String, View)> {
    let named = if dialect == Dialect::Qoder { "qoder" } else { "claude" };
    let options = ServerOptions { dialect: Some(named.into()), disk_cap_bytes: Some(CAP), ..ServerOptions::default() };
    let rig = Rig::start_with(dialect, options).await?;
    let (remote, mut view) = rig.play("plain", &[]).await?;
    view.until("an idle live stream", |view| {
        view.header.row.state == SessionState::Idle && is_live(view) && !view.header.loading_history
    })
    .await?;
    rig.control.run(Command::Flood { session: remote.clone(), events: FLOOD, bytes: BYTES }).await?;
    rig.control.emit(
        &remote,
        json!({"id": "evt_last", "type": "agent.message", "content": [{"type": "text", "text": "The last."}]}),
    )?;
    view.until("a full server", is_full).await?;
    Ok((rig, remote, view))
}

/// Reading goes on once there is room, and what was left is all there, once, in order.
async fn goes_on(rig: &Rig, remote: &str, view: &mut View) -> Result<()> {
    let known = server(rig).await?;
    let options = ServerOptions { disk_cap_bytes: Some(CAP * 1_000), ..known.options };
    let edit = EditServer {
        server: known.id,
        name: known.name,
        base_url: known.base_url,
        protocol: known.protocol,
        options,
        stop_runs: false,
    };
    let edited = rig.engine.edit_server(edit).await?;
    assert!(!edited.warnings.contains(&ServerWarning::StorageFull), "{:?}", edited.warnings);
    view.until("the last event", |view| view.items.contains_key("evt_last")).await?;
    view.until("a live stream", |view| is_live(view) && !view.header.loading_history).await?;
    let wanted: Vec<String> = rig
        .control
        .events(remote)?
        .into_iter()
        .filter(|event| event["type"] == "agent.message")
        .filter_map(|event| event["id"].as_str().map(str::to_owned))
        .collect();
    let items = whole_transcript(&rig.engine, view.session(), view).await?;
    let shown: Vec<String> = items.into_iter().map(|item| item.id).filter(|id| wanted.contains(id)).collect();
    assert_eq!(shown.len(), wanted.len());
    assert!(shown == wanted, "in order");
    Ok(())
}

#[tokio::test]
async fn s17_a_server_at_its_cap_on_disk_is_read_no_further_says_so_and_goes_on_without_a_loss() -> Result<()> {
    for dialect in [Dialect::Qoder, Dialect::Claude] {
        let (rig, remote, mut view) = full_rig(dialect).await?;
        assert!(server(&rig).await?.warnings.contains(&ServerWarning::StorageFull));
        let record = rusqlite::Connection::open(rig.dir.path().join("countersign.db"))?;
        let kept: i64 = record.query_row("SELECT sum(octet_length(data)) FROM frames", [], |row| row.get(0))?;
        let kept = u64::try_from(kept)?;
        assert!((CAP..FLOOD * BYTES as u64 / 2).contains(&kept), "{kept}");
        assert!(!view.items.contains_key("evt_last"), "there was no room for it");
        rig.engine.retry_now(SessionRef { session: view.session() }).await?;
        view.until("a full server still", is_full).await?;
        goes_on(&rig, &remote, &mut view).await.with_context(|| format!("{dialect:?}"))?;
    }
    Ok(())
}

#[tokio::test]
async fn s17_a_full_server_is_full_after_a_restart_and_its_history_opens() -> Result<()> {
    let (mut rig, remote, view) = full_rig(Dialect::Qoder).await?;
    drop(view);
    rig.restart().await?;
    let opened = rig.control.counters().opened.len();
    let mut view = rig.open(&remote).await?;
    view.until("a full server again", is_full).await?;
    assert!(!view.items.is_empty(), "what is kept can be read");
    assert_eq!(rig.control.counters().opened.len(), opened, "no stream is opened for nothing");
    goes_on(&rig, &remote, &mut view).await
}

#[tokio::test]
async fn s17_a_full_server_leaves_other_servers_alone() -> Result<()> {
    let (rig, ..) = full_rig(Dialect::Qoder).await?;
    let other = Practice::start(Config { pace: Pace::Fast, ..Config::default() }).await?;
    let id = rig.engine.add_server(draft(&other.base_url(), other.token(), ServerOptions::default())).await?.id;
    let remote = other.start_scenario("approval").await?;
    let session = rig.engine.session_by_remote(&id, &remote).await?;
    let mut view = View::open(&rig.engine, "other", session).await?;
    view.until("the request", |view| view.open_requests().len() == 1).await?;
    let request = view.open_requests()[0].clone();
    rig.engine.decide(decision(&request, "allow_once")).await?;
    other.control().until(|seen| seen.accepted(&request.id) == 1).await?;
    view.until("its end", |view| view.text().contains("Done after the approval.")).await?;
    view.until("a live stream", is_live).await
}
