//! What is done to a session and to the server around its runs.

use anyhow::{Context as _, Result, ensure};
use contract::{
    command::{AskAside, ChangeServerSetting, CompleteMention, RenameSession, ServerSetting, SessionRef},
    item::ToolState,
    request::RequestKind,
    server::ServerWarning,
    session::StopReason,
};
use tests::view::View;

use super::{
    Level,
    joined::{Joined, agent, agent_says, asked, calls, ended, person, said},
};

#[tokio::test(flavor = "multi_thread")]
async fn a_session_is_renamed_copied_measured_and_asked_beside_its_transcript() -> Result<()> {
    let joined = Joined::start(Level::Ask).await?;
    let mut view = joined.session("First title", "hello").await?;
    ended(&mut view, StopReason::EndTurn).await?;
    let session = SessionRef { session: view.session() };
    joined.engine.rename_session(RenameSession { session: view.session(), title: "Second title".to_owned() }).await?;
    view.until("the new title", |view| view.header.row.title.as_deref() == Some("Second title")).await?;
    let listed = joined.peer.get("/sessions").await?;
    ensure!(listed["sessions"][0]["title"] == "Second title", "{listed}");

    let meter = joined.engine.session_context(session).await?.context("no meter")?;
    ensure!(meter.used > 0 && meter.window == Some(100_000) && !meter.shares.is_empty(), "{meter:?}");
    let asking = AskAside { session: view.session(), question: "and what of that?".to_owned() };
    let answer = joined.engine.ask_aside(asking).await?.answer;
    ensure!(answer.contains("and what of that?"), "{answer}");
    ensure!(person(&view).len() == 1 && agent(&view).len() == 1, "{}", view.text());
    joined.engine.compact_session(session).await?;
    let exported = joined.engine.export_session(session, joined.dir()).await?;
    let page = std::fs::read_to_string(&exported.path)?;
    ensure!(page.len() as u64 == exported.bytes && page.contains("Second title"), "{exported:?}");

    let copy = joined.engine.fork_session(session).await?;
    ensure!(copy.session != view.session());
    let mut copied = View::open(&joined.engine, "copy", copy.session).await?;
    copied.until("the copy's transcript", |view| agent_says(view, "hello")).await?;
    copied.until("the copy's title", |view| view.header.row.title.as_deref() == Some("Second title (fork)")).await?;
    joined.say(&copied, "only here").await?;
    said(&mut copied, "only here").await?;
    joined.say(&view, "only there").await?;
    said(&mut view, "only there").await?;
    ensure!(!agent_says(&view, "only here") && !agent_says(&copied, "only there"), "{}", view.text());
    joined.end().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_model_names_a_session_and_files_complete_a_mention() -> Result<()> {
    let joined = Joined::start(Level::Ask).await?;
    std::fs::write(joined.peer.workspace().join("notes.md"), "# Notes\n")?;
    // The form's title is what a person gave; only one without can be named.
    let new = contract::command::CreateSession {
        server: joined.server.clone(),
        agent: None,
        environment: None,
        title: None,
        message: "look at @notes.md".to_owned(),
        start: contract::setup::SessionStart::default(),
    };
    let made = joined.engine.create_session(new).await?;
    let mut view = View::open(&joined.engine, "main", made.session).await?;
    ended(&mut view, StopReason::EndTurn).await?;
    joined.engine.name_session(made).await?;
    view.until("a title", |view| view.header.row.title.as_deref().is_some_and(|title| title.starts_with("In short")))
        .await?;
    let asking = CompleteMention { session: made.session, query: "not".to_owned() };
    let found = joined.engine.complete_mention(asking).await?;
    ensure!(found.iter().any(|mention| mention.token.contains("notes.md")), "{found:?}");
    joined.end().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_level_that_refuses_commands_is_said_and_can_be_changed() -> Result<()> {
    let joined = Joined::start(Level::Deny).await?;
    let shown = joined.until_shown("a level", |server| server.facts.permission.is_some()).await?;
    ensure!(shown.warnings.contains(&ServerWarning::CommandsRefused), "{shown:?}");
    ensure!(shown.facts.version.as_deref() == Some("0.2.0"), "{shown:?}");
    ensure!(shown.facts.permission.as_deref() == Some("deny"), "{shown:?}");
    let workspace = shown.facts.workspace.clone().context("no workspace")?;
    ensure!(std::path::Path::new(&workspace) == joined.peer.workspace().canonicalize()?, "{workspace}");
    let mut view = joined.session("Refused", "run: echo here > left.txt").await?;
    ended(&mut view, StopReason::EndTurn).await?;
    let states: Vec<ToolState> = calls(&view).into_iter().map(|call| call.state).collect();
    ensure!(view.requests.is_empty() && states.iter().all(|state| *state != ToolState::Done), "{states:?}");

    let asking = shown.facts.asking_permission.context("no level that asks")?;
    let setting = ServerSetting::Permission(asking);
    joined.engine.change_server_setting(ChangeServerSetting { server: joined.server.clone(), setting }).await?;
    let shown = joined.shown().await?;
    ensure!(!shown.warnings.contains(&ServerWarning::CommandsRefused), "{shown:?}");
    joined.say(&view, "run: echo here > left.txt").await?;
    let request = asked(&mut view, RequestKind::Approval).await?;
    joined.decide(&request, "allow_once").await?;
    view.until("the file", |view| calls(view).last().is_some_and(|call| call.state == ToolState::Done)).await?;
    ended(&mut view, StopReason::EndTurn).await?;
    ensure!(joined.peer.left("left.txt"));
    joined.end().await;
    Ok(())
}
