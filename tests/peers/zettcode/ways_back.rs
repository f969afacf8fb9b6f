//! After the server was killed, or the app was: what is found out, and what can be taken up again.

use anyhow::{Context as _, Result, ensure};
use contract::{
    command::SessionRef,
    request::{RequestKind, RequestState},
    session::{SessionState, StopReason},
};
use tests::view::View;

use super::{
    Level,
    bytes::Run,
    joined::{Joined, agent_says, asked, calls, ended, person, said},
};

fn can_resume(view: &View) -> bool {
    view.header.resumable.is_some() && view.header.row.state == SessionState::Idle
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_is_taken_up_again_after_the_server_was_killed() -> Result<()> {
    let mut joined = Joined::start(Level::Ask).await?;
    let mut view = joined.session("Killed", "run: echo here > left.txt").await?;
    let request = asked(&mut view, RequestKind::Approval).await?;
    joined.peer.kill();
    view.until("the end of the run", |view| view.open_requests().is_empty()).await?;
    let stop = view.header.turn.as_ref().and_then(|turn| turn.stop.clone());
    ensure!(stop == Some(StopReason::Interrupted), "{stop:?}");
    joined.peer.start_again()?;
    let session = SessionRef { session: view.session() };
    joined.engine.retry_now(session).await?;
    view.until("an offer to go on", can_resume).await?;
    let offer = view.header.resumable.clone().context("no offer")?;
    ensure!(offer.description.is_some(), "{offer:?}");
    joined.engine.resume_run(session).await?;
    let again = asked(&mut view, RequestKind::Approval).await?;
    ensure!(again.id != request.id && again.command == request.command, "{again:?}");
    ensure!(!joined.peer.left("left.txt"), "nothing was allowed yet");
    joined.decide(&again, "allow_once").await?;
    said(&mut view, "The tool said").await?;
    ensure!(joined.peer.left("left.txt"), "{}", view.text());
    ensure!(person(&view).len() == 1, "{}", view.text());
    view.until("no offer", |view| view.header.resumable.is_none()).await?;
    joined.end().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_end_of_the_app_stops_the_run_and_the_next_start_finds_that_out() -> Result<()> {
    let mut joined = Joined::start(Level::Ask).await?;
    let mut view = joined.session("Left", "run: echo here > left.txt").await?;
    let request = asked(&mut view, RequestKind::Approval).await?;
    let session = view.session();
    joined.restart_app().await?;
    let mut view = View::open(&joined.engine, "again", session).await?;
    view.until("an offer to go on", can_resume).await?;
    let state = view.requests.get(&request.id).map(|request| request.state.clone());
    ensure!(state.is_none() || state == Some(RequestState::Void), "{state:?}");
    ensure!(!joined.peer.left("left.txt"));
    ensure!(person(&view).len() == 1 && calls(&view).len() == 1, "{}", view.text());
    joined.engine.resume_run(SessionRef { session }).await?;
    said(&mut view, "The tool said").await?;
    ensure!(person(&view).len() == 1 && calls(&view).len() == 1, "{}", view.text());
    joined.end().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_aside_goes_on_and_its_approval_is_found_and_answered() -> Result<()> {
    let joined = Joined::start(Level::Ask).await?;
    let mut first = joined.session("First", "run: echo here > left.txt").await?;
    let request = asked(&mut first, RequestKind::Approval).await?;
    let mut second = joined.session("Second", "hello").await?;
    ended(&mut second, StopReason::EndTurn).await?;
    joined.say(&second, "hold: still here").await?;
    second.until("the first words", |view| agent_says(view, "still here")).await?;
    ensure!(!first.open_requests().is_empty(), "it waits aside");
    joined.decide(&request, "allow_once").await?;
    said(&mut first, "The tool said").await?;
    ensure!(joined.peer.left("left.txt"), "{}", first.text());
    joined.peer.let_go().await?;
    said(&mut second, "And that was all").await?;
    ensure!(!agent_says(&first, "still here") && !agent_says(&second, "The tool said"));
    joined.end().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_another_clients_run_waits_for_is_found_and_answered() -> Result<()> {
    let joined = Joined::start(Level::Ask).await?;
    let mut run = Run::asking(&joined.peer, "run: echo here > left.txt").await?;
    run.until("approval_requested").await?;
    let remote = joined.peer.get("/health").await?["session"].as_str().context("no session")?.to_owned();
    // The other client looks at another session meanwhile.
    joined.peer.post("/sessions", &serde_json::json!({"title": "Beside"})).await?;
    let server = contract::command::ServerRef { server: joined.server.clone() };
    joined.engine.refresh_server(server).await?;
    let session = joined.engine.session_by_remote(&joined.server, &remote).await?;
    let mut view = View::open(&joined.engine, "main", session).await?;
    let request = asked(&mut view, RequestKind::Approval).await?;
    ensure!(view.header.foreign_run, "{:?}", view.header);
    let command = request.command.as_ref().map(|command| command.text.as_str());
    ensure!(command == Some("echo here > left.txt") && request.deadline.is_none(), "{request:?}");
    joined.decide(&request, "allow_once").await?;
    let (name, _) = run.end().await?;
    ensure!(name == "result" && joined.peer.left("left.txt"), "{}", run.text());
    view.until("the whole history", |view| agent_says(view, "The tool said") && !view.header.foreign_run).await?;
    ensure!(person(&view).len() == 1 && calls(&view).len() == 1, "{}", view.text());
    joined.end().await;
    Ok(())
}
