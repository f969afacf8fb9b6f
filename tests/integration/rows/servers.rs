//! Servers changed, paused, ordered and removed; sessions without their server; goals.

use std::sync::Arc;

use anyhow::{Context as _, Result};
use contract::{
    command::{DefineOutcome, EditServer, NoArgs, PauseServer, RemoveServer, ReorderServers, SendMessage, SessionRef},
    connection::ConnectionState,
    error::ErrorCode,
    search::HistoryQuery,
    server::{Server, ServerId, ServerOptions, ServerState, TokenState},
    session::{ClosedReason, SessionId, SessionState},
};
use engine::{Engine, MemoryCredentials};
use practice::{Config, Pace, Practice};
use pretty_assertions::assert_eq;
use tests::{
    rig::{Dialect, Rig, decision, draft, engine},
    view::View,
};

use super::{is_live, waiting_rig};

async fn servers(engine: &Engine) -> Result<Vec<Server>> {
    Ok(engine.overview("main", NoArgs {}).await?.servers)
}

async fn server(rig: &Rig) -> Result<Server> {
    servers(&rig.engine).await?.into_iter().find(|server| server.id == rig.server).context("no such server")
}

fn edit(server: &Server, base_url: &str) -> EditServer {
    EditServer {
        server: server.id.clone(),
        name: "Renamed".to_owned(),
        base_url: base_url.to_owned(),
        protocol: server.protocol.clone(),
        options: server.options.clone(),
        stop_runs: false,
    }
}

#[tokio::test]
async fn edit_server_with_a_new_origin_drops_the_token() -> Result<()> {
    let rig = Rig::start(Dialect::Claude).await?;
    let before = server(&rig).await?;
    let same_origin = rig.engine.edit_server(edit(&before, &rig.practice.claude_base_url())).await?;
    assert_eq!((same_origin.name.as_str(), same_origin.token), ("Renamed", TokenState::Keyring));

    let other = Practice::start(Config { token: Some(rig.practice.token().to_owned()), ..Config::default() }).await?;
    let moved = rig.engine.edit_server(edit(&before, &other.claude_base_url())).await?;
    assert_eq!(moved.token, TokenState::Missing);
    // Had the token been sent there, the other server would have let us in: it knows it.
    let feed = rig.engine.attach_window("main");
    while server(&rig).await?.state != ServerState::Unauthorized {
        feed.next().await.context("the feed ended")?;
    }
    Ok(())
}

#[tokio::test]
async fn edit_server_refuses_plain_http_to_another_computer_and_an_unknown_protocol() -> Result<()> {
    let rig = Rig::start(Dialect::Claude).await?;
    let before = server(&rig).await?;
    let refused = rig.engine.edit_server(edit(&before, "http://192.0.2.1:1")).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::InsecureUrl);
    let unknown = EditServer { protocol: "morse".to_owned(), ..edit(&before, &before.base_url) };
    assert_eq!(rig.engine.edit_server(unknown).await.unwrap_err().code, ErrorCode::Unsupported);
    assert_eq!(server(&rig).await?.token, TokenState::Keyring, "a refused change changes nothing");
    assert_eq!(server(&rig).await?.protocol, "managed");
    Ok(())
}

#[tokio::test]
async fn a_removed_servers_history_stays_searchable_and_opens() -> Result<()> {
    let mut rig = Rig::start(Dialect::Claude).await?;
    let (_, mut view) = rig.play("plain", &[]).await?;
    // Items follow behind states: the turn may be over before its last words are here.
    view.until("the answer", |view| view.text().contains("Agent Done: Hello. This is a plain answer") && is_live(view))
        .await?;
    view.until("the end of the turn", |view| view.header.row.state == SessionState::Idle).await?;
    let session = view.session();
    rig.engine.remove_server(RemoveServer { server: rig.server.clone(), stop_runs: false }).await?;
    view.until("a closed session", |view| view.header.closed == Some(ClosedReason::ServerRemoved)).await?;
    assert_eq!(servers(&rig.engine).await?, []);
    while !rig.engine.overview("main", NoArgs {}).await?.sessions.is_empty() {
        view.step().await?;
    }
    let text = view.text();
    drop(view);
    found(&rig.engine, "plain answer", session).await?;
    rig.restart().await?;
    found(&rig.engine, "plain answer", session).await?;
    let view = View::open(&rig.engine, "main", session).await?;
    assert_eq!(view.text(), text);
    assert_eq!(view.header.closed, Some(ClosedReason::ServerRemoved));
    let message = SendMessage { session, text: "Anybody there?".to_owned(), images: Vec::new() };
    assert_eq!(rig.engine.send_message(message).await.unwrap_err().code, ErrorCode::SessionEnded);
    Ok(())
}

/// The search finds the session by these words, as soon as its index has them.
async fn found(engine: &Engine, words: &str, session: SessionId) -> Result<()> {
    let query = HistoryQuery { text: words.to_owned(), limit: 10, ..HistoryQuery::default() };
    loop {
        let page = engine.search_history(query.clone()).await?;
        if let Some(hit) = page.hits.iter().find(|hit| hit.row.id == session) {
            assert_eq!(hit.server_name, "Test");
            return Ok(());
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_paused_server_is_left_alone_and_a_resumed_one_is_taken_up_again() -> Result<()> {
    let (rig, _, mut view, request) = waiting_rig(Dialect::Claude).await?;
    let pause = |paused| PauseServer { server: rig.server.clone(), paused, stop_runs: false };
    let paused = rig.engine.pause_server(pause(true)).await?;
    assert_eq!((paused.paused, paused.state), (true, ServerState::Paused));
    view.until("a paused stream", |view| view.header.connection == ConnectionState::Paused).await?;
    assert_eq!(view.open_requests(), [&request], "the card stays");
    let refused = rig.engine.decide(decision(&request, "allow_once")).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::ServerPaused);
    rig.control.wait(&practice::WaitFor { open_streams_at_most: Some(0), ..practice::WaitFor::default() }).await?;
    let resumed = rig.engine.pause_server(pause(false)).await?;
    assert_eq!((resumed.paused, resumed.token), (false, TokenState::Keyring));
    view.until("the live stream", is_live).await?;
    super::allow(&rig, &mut view, &request).await
}

#[tokio::test]
async fn a_token_for_this_session_only_is_missing_after_a_restart_and_stays_so_over_a_pause() -> Result<()> {
    let practice = Practice::start(Config { pace: Pace::Fast, ..Config::default() }).await?;
    let dir = tempfile::tempdir()?;
    let credentials = Arc::new(MemoryCredentials::default());
    let first = engine(dir.path(), Arc::clone(&credentials) as _).await?;
    let mut entered = draft(&practice.base_url(), practice.token(), ServerOptions::default());
    entered.session_only = true;
    let added = first.add_server(entered).await?;
    assert_eq!(added.token, TokenState::SessionOnly);
    first.shutdown().await;
    let second = engine(dir.path(), credentials).await?;
    let feed = second.attach_window("main");
    while servers(&second).await?.iter().any(|server| server.token != TokenState::Missing) {
        feed.next().await.context("the feed ended")?;
    }
    for paused in [true, false] {
        let server = second.pause_server(PauseServer { server: added.id.clone(), paused, stop_runs: false }).await?;
        assert_eq!(server.token, TokenState::Missing, "paused: {paused}");
    }
    Ok(())
}

#[tokio::test]
async fn the_order_of_servers_is_the_persons_and_survives_a_restart() -> Result<()> {
    let mut rig = Rig::start(Dialect::Claude).await?;
    let mut ids = vec![rig.server.clone()];
    for _ in 0..2 {
        let options = ServerOptions::default();
        ids.push(rig.engine.add_server(draft(&rig.practice.base_url(), rig.practice.token(), options)).await?.id);
    }
    let order: Vec<ServerId> = [2, 0, 1].map(|at: usize| ids[at].clone()).to_vec();
    let shown = async |engine: &Engine| -> Result<Vec<ServerId>> {
        Ok(servers(engine).await?.into_iter().map(|server| server.id).collect())
    };
    assert_eq!(shown(&rig.engine).await?, ids);
    rig.engine.reorder_servers(ReorderServers { order: order.clone() }).await?;
    assert_eq!(shown(&rig.engine).await?, order);
    rig.restart().await?;
    assert_eq!(shown(&rig.engine).await?, order);
    Ok(())
}

#[tokio::test]
async fn a_session_opens_offline_when_its_server_is_gone() -> Result<()> {
    let Rig { engine: first, practice, server, dir, .. } = {
        let rig = Rig::start(Dialect::Qoder).await?;
        let (_, mut view) = rig.play("plain", &[]).await?;
        view.until("the answer", |view| view.text().contains("a plain answer")).await?;
        view.until("the end of the turn", |view| view.header.row.state == SessionState::Idle).await?;
        rig
    };
    let rows = first.overview("main", NoArgs {}).await?.sessions;
    let session = rows.iter().find(|row| row.server == server).context("no session")?.id;
    first.shutdown().await;
    practice.stop().await;
    // The practice server is not attached: nothing can be reached, all can be read.
    let second = engine(dir.path(), Arc::new(MemoryCredentials::default())).await?;
    let snapshot = second.open_session("main", SessionRef { session }).await?;
    let text: Vec<String> = snapshot.items.iter().map(tests::view::line).collect();
    assert_eq!(text, ["User Done: Hello", "Agent Done: Hello. This is a plain answer in a few words."]);
    assert_eq!(snapshot.header.row.state, SessionState::Idle);
    let states: Vec<_> = servers(&second).await?.into_iter().map(|server| server.state).collect();
    assert_eq!(states, [ServerState::Off]);
    Ok(())
}

#[tokio::test]
async fn a_goal_goes_from_defined_to_satisfied() -> Result<()> {
    for dialect in [Dialect::Qoder, Dialect::Claude] {
        let rig = Rig::start(dialect).await?;
        let (remote, mut view) = rig.play("plain", &[]).await?;
        view.until("an idle live stream", |view| view.header.row.state == SessionState::Idle && is_live(view)).await?;
        let goal = DefineOutcome {
            session: view.session(),
            description: "Notes a customer understands".to_owned(),
            rubric: "- No internal names".to_owned(),
            max_iterations: Some(3),
        };
        let empty = DefineOutcome { rubric: " ".to_owned(), ..goal.clone() };
        assert_eq!(rig.engine.define_outcome(empty).await.unwrap_err().code, ErrorCode::InvalidInput);
        let endless = DefineOutcome { max_iterations: Some(21), ..goal.clone() };
        assert_eq!(rig.engine.define_outcome(endless).await.unwrap_err().code, ErrorCode::InvalidInput);
        rig.engine.define_outcome(goal).await?;
        view.until("a verdict", |view| {
            view.header.goals.iter().any(|goal| goal.verdict.as_deref() == Some("satisfied") && !goal.evaluating)
        })
        .await?;
        let goals = &view.header.goals;
        assert_eq!(goals.len(), 1, "{goals:?}");
        assert_eq!(goals[0].description, "Notes a customer understands");
        assert!(!goals[0].id.is_empty(), "{dialect:?} {remote}");
    }
    Ok(())
}

#[tokio::test]
async fn switching_the_practice_server_off_while_something_runs_in_it_asks_first() -> Result<()> {
    let (rig, _, mut view, _) = waiting_rig(Dialect::Qoder).await?;
    let refused = rig.engine.detach_practice(false).await.unwrap_err();
    assert_eq!((refused.code, refused.retryable), (ErrorCode::StopsRuns, false));
    assert!(is_live(&view), "nothing was changed");
    rig.engine.detach_practice(true).await?;
    view.until("a stream that is let go", |view| view.header.connection == ConnectionState::Paused).await?;
    assert_eq!(server(&rig).await?.state, ServerState::Off);
    // What is off already is off without a question.
    rig.engine.detach_practice(false).await?;
    Ok(())
}
