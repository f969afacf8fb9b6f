//! After the server was killed, or the app was: what is found out, and what can be taken up again.

use anyhow::{Context as _, Result, ensure};
use contract::{
    command::SessionRef,
    item::{ItemBody, Marker},
    request::{RequestKind, RequestState},
    session::{SessionState, StopReason},
};
use tests::view::View;

use super::{
    Level,
    bytes::Run,
    joined::{Joined, agent, agent_says, asked, calls, ended, person, said},
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

#[tokio::test(flavor = "multi_thread")]
async fn a_long_session_reads_the_same_after_a_restart_of_the_app() -> Result<()> {
    let mut joined = Joined::start(Level::Ask).await?;
    let mut view = joined.session("Long", "run: echo one\nrun: echo two").await?;
    for choice in ["allow_once", "deny"] {
        let request = asked(&mut view, RequestKind::Approval).await?;
        joined.decide(&request, choice).await?;
        view.until("the answer's arrival", |view| !view.open_requests().iter().any(|open| open.id == request.id))
            .await?;
    }
    said(&mut view, "The tool said").await?;
    joined.say(&view, "hold: first words").await?;
    view.until("the first words", |view| agent_says(view, "first words")).await?;
    for steer in ["also docs", "and tests"] {
        joined.say(&view, steer).await?;
        let is_queued = |view: &View| person(view).contains(&format!("User Queued: {steer}"));
        view.until("the message, accepted and not taken up", is_queued).await?;
    }
    joined.peer.let_go().await?;
    said(&mut view, "You said: and tests").await?;
    joined.say(&view, "hold: cut off").await?;
    view.until("the words that are cut off", |view| agent_says(view, "cut off")).await?;
    joined.stop(&view).await?;
    ended(&mut view, StopReason::Stopped).await?;
    joined.say(&view, "go on").await?;
    said(&mut view, "You said: go on").await?;
    let (session, before) = (view.session(), view.text());

    joined.restart_app().await?;
    let mut view = View::open(&joined.engine, "again", session).await?;
    // The history is read before the run begins.
    joined.say(&view, "once more").await?;
    said(&mut view, "You said: once more").await?;
    let after = view.text();
    ensure!(after.starts_with(&before), "before:\n{before}\n\nafter:\n{after}");
    ensure!(after.lines().count() == before.lines().count() + 2, "before:\n{before}\n\nafter:\n{after}");

    // Another app that has seen nothing of it reads the same from the history, but for what the server keeps nowhere.
    let (other, server, _dir) = joined.another_app().await?;
    let fresh = other.session_by_remote(&server, &view.header.row.remote_id).await?;
    let mut fresh = View::open(&other, "main", fresh).await?;
    fresh.until("the last answer", |view| agent_says(view, "You said: once more")).await?;
    ensure!(person(&fresh) == person(&view), "{}\n\n{}", fresh.text(), view.text());
    let kept: Vec<String> = agent(&view).into_iter().filter(|said| !said.contains("cut off")).collect();
    ensure!(agent(&fresh) == kept, "{}\n\n{}", fresh.text(), view.text());
    ensure!(calls(&fresh).len() == calls(&view).len(), "{}\n\n{}", fresh.text(), view.text());
    other.shutdown().await;
    joined.end().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_compaction_is_told_once_also_after_a_restart_of_the_app() -> Result<()> {
    let mut joined = Joined::start(Level::Ask).await?;
    let mut view = joined.session("Compacted", "one").await?;
    said(&mut view, "You said: one").await?;
    for words in ["two", "three", "four", "five", "six"] {
        joined.say(&view, words).await?;
        said(&mut view, &format!("You said: {words}")).await?;
    }
    joined.say(&view, &format!("big {}", "word ".repeat(66_000))).await?;
    view.until("the compaction", |view| summaries(view) == 1).await?;
    said(&mut view, "word word").await?;
    let (session, before) = (view.session(), (person(&view), agent(&view)));
    joined.restart_app().await?;
    let mut view = View::open(&joined.engine, "again", session).await?;
    joined.say(&view, "once more").await?;
    said(&mut view, "You said: once more").await?;
    ensure!(summaries(&view) == 1, "{} of them", summaries(&view));
    ensure!(person(&view).len() == before.0.len() + 1 && agent(&view).len() == before.1.len() + 1, "{before:?}");
    joined.end().await;
    Ok(())
}

fn summaries(view: &View) -> usize {
    let is_done = |body: &ItemBody| {
        matches!(body, ItemBody::Marker(Marker::Compacted { summary: Some(_), active: false, unchanged: false }))
    };
    view.items.values().filter(|item| is_done(&item.body)).count()
}
