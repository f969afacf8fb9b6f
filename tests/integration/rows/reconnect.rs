//! P-19 to P-22: a connection that breaks, falls silent or is refused loses nothing, doubles nothing and says so.

use std::time::Duration;

use anyhow::Result;
use contract::{
    command::SessionRef,
    connection::{ConnectionCause, ConnectionLogKind, ConnectionState},
    item::{ItemBody, Marker},
    server::ServerState,
    session::SessionState,
};
use practice::{Command, StreamAct, StreamFault, WaitFor};
use pretty_assertions::assert_eq;
use serde_json::json;
use tests::{
    rig::{Dialect, Rig},
    view::View,
};

use super::{connects, is_live, pass, waiting_rig};

/// The transcript without the lines that only tell of the connection.
fn said(text: &str) -> Vec<&str> {
    let of_the_connection = |line: &&str| line.starts_with("Marker Resumed") || line.starts_with("Marker Gap");
    text.lines().filter(|line| !of_the_connection(line)).collect()
}

/// Has the agent say something.
fn say(rig: &Rig, remote: &str, text: &str) -> Result<()> {
    let content = json!([{"type": "text", "text": text}]);
    rig.control.emit(remote, json!({"type": "agent.message", "content": content}))?;
    Ok(())
}

/// A stream fault of the next streams.
async fn bend(rig: &Rig, times: u32, act: StreamAct) -> Result<()> {
    rig.control.run(Command::StreamFault(StreamFault { session: None, times, act })).await?;
    Ok(())
}

#[tokio::test]
async fn p19_what_was_seen_already_changes_nothing_when_it_comes_again() -> Result<()> {
    for text in ["preview", "plain", "incremental"] {
        for start in ["tail", "replay"] {
            let rig = Rig::start(Dialect::Qoder).await?;
            let metadata = [("practice.text", text), ("practice.start", start)];
            let (remote, mut view) = rig.play("research-run", &metadata).await?;
            view.until("the end of the run", |view| view.header.row.state == SessionState::Idle && is_live(view))
                .await?;
            for round in ["doubled", "cut between frames", "cut inside a frame", "from the start, shuffled"] {
                match round {
                    "doubled" => bend(&rig, 1, StreamAct::Duplicate).await?,
                    // Retry now cuts a stream that is back already: then the next one must be cut all the same.
                    "cut between frames" => bend(&rig, 9, StreamAct::CutAfter { frames: 3 }).await?,
                    "cut inside a frame" => bend(&rig, 9, StreamAct::CutAtByte { bytes: 1_000 }).await?,
                    // A refused cursor: the next stream begins anew, where it replays with the history.
                    _ => {
                        bend(&rig, 1, StreamAct::ExpiredCursor { status: 400 }).await?;
                        if start == "replay" {
                            bend(&rig, 2, StreamAct::Reverse { after: 0, count: 6 }).await?;
                            bend(&rig, 2, StreamAct::Duplicate).await?;
                        }
                    }
                }
                let before = connects(&view);
                rig.control.cut_streams();
                view.until("a lost stream", |view| !is_live(view)).await?;
                rig.engine.retry_now(SessionRef { session: view.session() }).await?;
                view.until("the stream again", |view| connects(view) > before && is_live(view)).await?;
                let last = format!("Part 5 after {round}.");
                for part in 0..=5 {
                    say(&rig, &remote, &format!("{} Part {part} after {round}.", "x".repeat(100)))?;
                }
                if round.starts_with("cut") {
                    view.until("the stream cut again", |view| !is_live(view)).await?;
                    rig.control.run(Command::ClearFaults).await?;
                    rig.engine.retry_now(SessionRef { session: view.session() }).await?;
                }
                view.until("what came after it", |view| view.text().contains(&last)).await?;
            }
            view.until("a live stream", is_live).await?;
            let followed = view.text();
            let fresh = Rig::start(Dialect::Qoder).await?;
            fresh.engine.attach_practice(rig.practice.base_url(), rig.practice.token().to_owned()).await?;
            let mut read = fresh.open(&remote).await?;
            read.until("the whole history", |view| {
                view.text().contains("Compare storage") && view.text().contains("Part 5 after from the start")
            })
            .await?;
            assert_eq!(said(&followed), said(&read.text()), "text {text}, start {start}");
            let usage = |view: &View| view.header.turn.as_ref().map(|turn| turn.usage.clone());
            assert_eq!(usage(&view), usage(&read), "text {text}, start {start}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn p20_an_expired_cursor_is_filled_from_history_and_a_gap_is_shown() -> Result<()> {
    for status in [400, 404] {
        let (rig, remote, mut view, request) = waiting_rig(Dialect::Qoder).await?;
        say(&rig, &remote, "Moves the cursor.")?;
        view.until("the new cursor", |view| view.text().contains("Moves the cursor.")).await?;
        rig.control.bend_next_stream(StreamAct::ExpiredCursor { status });
        rig.control.cut_streams();
        say(&rig, &remote, "Said meanwhile.")?;
        view.until("a refused cursor", |view| view.log.iter().any(|row| row.what == ConnectionLogKind::CursorExpired))
            .await?;
        view.until("a gap that history filled", |view| {
            view.items.values().any(|item| matches!(&item.body, ItemBody::Marker(Marker::Gap { recovered: true, .. })))
        })
        .await?;
        view.until("the live stream", is_live).await?;
        assert_eq!(view.text().matches("Said meanwhile.").count(), 1, "{}", view.text());
        assert_eq!(view.text().matches("List the files").count(), 1, "{}", view.text());
        assert_eq!(view.open_requests(), [&request], "what waits is what waited");
        let last = rig.control.counters().opened.last().cloned();
        assert_eq!(last.and_then(|opened| opened.last_event_id), None, "the refused cursor is not sent again");
    }
    Ok(())
}

#[tokio::test]
async fn p21_silence_on_a_stream_that_can_be_taken_up_again_reconnects() -> Result<()> {
    let (rig, _, mut view, request) = waiting_rig(Dialect::Qoder).await?;
    let before = connects(&view);
    rig.control.silence_streams();
    rig.control.run(Command::Heartbeat { ms: None }).await?;
    pass(Duration::from_secs(600)).await;
    view.until("the cause in the log", |view| {
        view.log.iter().any(|row| row.what == ConnectionLogKind::Dropped { cause: ConnectionCause::Silent })
    })
    .await?;
    view.until("the stream again", |view| connects(view) > before).await?;
    assert_eq!(view.open_requests(), [&request]);
    Ok(())
}

#[tokio::test]
async fn p21_a_wake_checks_every_stream_at_once() -> Result<()> {
    let (rig, _, mut view, _) = waiting_rig(Dialect::Qoder).await?;
    let before = connects(&view);
    rig.control.silence_streams();
    rig.engine.wake();
    view.until("the stream again", |view| connects(view) > before && is_live(view)).await?;
    let causes: Vec<_> = view.log.iter().filter(|row| matches!(row.what, ConnectionLogKind::Dropped { .. })).collect();
    assert_eq!(causes.len(), 1);
    assert_eq!(causes[0].what, ConnectionLogKind::Dropped { cause: ConnectionCause::Wake });
    Ok(())
}

/// The state of the rig's server, as every window shows it.
async fn server_state(rig: &Rig) -> Result<ServerState> {
    let overview = rig.engine.overview("main", contract::command::NoArgs {}).await?;
    Ok(overview
        .servers
        .into_iter()
        .find(|server| server.id == rig.server)
        .map(|server| server.state)
        .unwrap_or(ServerState::Unknown))
}

#[tokio::test]
async fn p21_a_refused_token_and_a_lost_network_are_different_states() -> Result<()> {
    let (rig, _, mut view, _) = waiting_rig(Dialect::Qoder).await?;
    rig.control.rotate_token("another");
    rig.control.cut_streams();
    view.until("a stream that waits for a token", |view| view.header.connection == ConnectionState::Unauthorized)
        .await?;
    assert_eq!(server_state(&rig).await?, ServerState::Unauthorized);
    assert_eq!(view.open_requests().len(), 1, "the card stays while the token is asked for");

    let (rig, _, mut view, _) = waiting_rig(Dialect::Qoder).await?;
    rig.practice.stop().await;
    view.until("a stream that will be tried again", |view| {
        let unreachable = |cause: &ConnectionCause| matches!(cause, ConnectionCause::Unreachable { .. });
        matches!(&view.header.connection, ConnectionState::Waiting { cause, .. } if unreachable(cause))
    })
    .await?;
    Ok(())
}

#[tokio::test]
async fn p21_a_new_token_takes_the_refused_stream_up_again() -> Result<()> {
    let (rig, _, mut view, request) = waiting_rig(Dialect::Claude).await?;
    rig.control.rotate_token("another");
    rig.control.cut_streams();
    view.until("a stream that waits for a token", |view| view.header.connection == ConnectionState::Unauthorized)
        .await?;
    let replace = contract::command::ReplaceToken {
        server: rig.server.clone(),
        token: " another\n".to_owned(),
        session_only: false,
        stop_runs: false,
    };
    rig.engine.replace_token(replace).await?;
    view.until("the live stream", is_live).await?;
    super::allow(&rig, &mut view, &request).await
}

#[tokio::test]
async fn p22_a_turn_that_ended_while_nobody_looked_does_not_stay_running() -> Result<()> {
    let mut rig = Rig::start(Dialect::Qoder).await?;
    let (remote, mut view) = rig.play("gated", &[]).await?;
    view.until("a running turn", |view| view.header.row.state == SessionState::Running && is_live(view)).await?;
    rig.control.wait(&WaitFor { session: Some(remote.clone()), at_gate: Some(true), ..WaitFor::default() }).await?;
    drop(view);
    rig.engine.shutdown().await;
    rig.control.run(Command::Terminate { session: remote.clone(), reason: "out of memory".to_owned() }).await?;
    rig.restart().await?;
    let mut view = rig.open(&remote).await?;
    view.until("the server's truth", |view| {
        let over = view.header.turn.as_ref().is_none_or(|turn| turn.ended_at.is_some());
        view.header.row.state == SessionState::Ended && over
    })
    .await?;
    Ok(())
}

#[tokio::test]
async fn p22_a_session_whose_events_never_say_that_it_stopped_is_idle_once_the_server_says_so() -> Result<()> {
    let rig = Rig::start(Dialect::Qoder).await?;
    let (remote, mut view) = rig.play("plain", &[]).await?;
    view.until("the end of the turn", |view| view.header.row.state == SessionState::Idle && is_live(view)).await?;
    // A server that crashed in a turn: its events end with "running", the session itself is idle.
    rig.control.emit(&remote, json!({"type": "session.status_running"}))?;
    view.until("a running turn", |view| view.header.row.state == SessionState::Running).await?;
    let before = connects(&view);
    rig.control.cut_streams();
    view.until("the stream again", |view| connects(view) > before).await?;
    view.until("the server's truth", |view| view.header.row.state == SessionState::Idle).await
}
