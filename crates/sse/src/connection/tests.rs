use std::{sync::atomic::Ordering, time::Duration};

use bytes::Bytes;
use contract::{Millis, connection::ConnectionState, probe::ProbeLayer, wire::Cursor};
use pretty_assertions::assert_eq;

use super::*;
use crate::client::BodyError;

mod rig;

use self::rig::{Rig, WALL, bytes, message, with_id};

#[tokio::test(start_paused = true)]
async fn a_stream_is_opened_read_and_resumed_from_the_committed_cursor() {
    let mut rig = Rig::new();
    let first = rig.body();
    rig.start();
    assert_eq!(rig.asked().await.0, None);
    assert_eq!(rig.state().await, ConnectionState::Connecting { attempt: 0 });
    assert!(matches!(rig.link().await, Link::Opened));
    assert_eq!(rig.state().await, ConnectionState::Live { since: WALL });

    first.send(bytes("id: 1\ndata: a\n\n")).unwrap();
    assert_eq!(rig.pieces().await, vec![with_id("1", "a")]);
    rig.cursor.set(Some(Cursor("1".into())));
    first.send(bytes("id: 2\ndata: b\n\nid: 3\ndata: cut")).unwrap();
    assert_eq!(rig.pieces().await, vec![with_id("2", "b")]);

    let _second = rig.body();
    let broke_at = Instant::now();
    first.send(Err(BodyError::new("reset"))).unwrap();
    assert_eq!(rig.closed().await, (Some(ConnectionCause::Broken), 15));
    let expected = ConnectionState::Waiting {
        attempt: 1,
        retry_at: WALL + 500,
        cause: ConnectionCause::Broken,
        detail: "reset".into(),
    };
    assert_eq!(rig.state().await, expected);
    // 2 was read but not committed, so it is asked for again.
    let (cursor, at) = rig.asked().await;
    assert_eq!((cursor.as_deref(), at - broke_at), (Some("1"), Duration::from_millis(500)));
}

#[tokio::test(start_paused = true)]
async fn every_transition_is_logged_with_the_cursor_of_that_moment() {
    let mut rig = Rig::new();
    rig.cursor.set(Some(Cursor("7".into())));
    let first = rig.body();
    rig.refuses(404, &[], "no such\n session");
    rig.start();
    first.send(Err(BodyError::new("reset"))).unwrap();
    let mut rows = Vec::new();
    while rows.len() < 6 {
        if let Link::Log(row) = rig.links.recv().await.unwrap() {
            rows.push(row);
        }
    }
    let row = |after: Millis, what, detail: Option<&str>| ConnectionLogRow {
        at: WALL + after,
        what,
        cursor: Some("7".into()),
        detail: detail.map(Into::into),
    };
    let expected = vec![
        row(0, ConnectionLogKind::Connecting { attempt: 0 }, None),
        row(0, ConnectionLogKind::Connected, None),
        row(0, ConnectionLogKind::Dropped { cause: ConnectionCause::Broken }, Some("reset")),
        row(0, ConnectionLogKind::WaitingUntil { retry_at: WALL + 500 }, None),
        row(500, ConnectionLogKind::Connecting { attempt: 1 }, None),
        row(
            500,
            ConnectionLogKind::Dropped { cause: ConnectionCause::Status { status: 404 } },
            Some("no such session"),
        ),
    ];
    assert_eq!(rows, expected);
}

#[tokio::test(start_paused = true)]
async fn chunks_that_are_there_together_are_one_batch() {
    let mut rig = Rig::new();
    let body = rig.body();
    for chunk in ["data: a\n", "\ndata: b\n\n", ": beat\n", "data: c"] {
        body.send(bytes(chunk)).unwrap();
    }
    rig.start();
    rig.until_live().await;
    assert_eq!(rig.pieces().await, vec![message("a"), message("b"), Piece::Comment]);
    body.send(bytes("\n\n")).unwrap();
    assert_eq!(rig.pieces().await, vec![message("c")]);
}

#[tokio::test(start_paused = true)]
async fn a_batch_is_bounded() {
    let mut rig = Rig::new();
    let body = rig.body();
    let chunk = Bytes::from([b"data: ".as_slice(), &[b'x'; 100_000], b"\n\n"].concat());
    for _ in 0..5 {
        body.send(Ok(chunk.clone())).unwrap();
    }
    rig.start();
    rig.until_live().await;
    assert_eq!((rig.pieces().await.len(), rig.pieces().await.len()), (3, 2));
}

#[tokio::test(start_paused = true)]
async fn p_21_silence_reconnects_and_any_byte_is_life() {
    let mut rig = Rig::new();
    rig.limits.silence = Some(Duration::from_secs(45));
    let first = rig.body();
    rig.start();
    rig.until_live().await;
    let _second = rig.body();
    for _ in 0..4 {
        assert!(rig.quiet_for(40).await);
        first.send(bytes(":")).unwrap();
    }
    let last_byte = Instant::now();
    assert_eq!(rig.closed().await, (Some(ConnectionCause::Silent), 0));
    assert_eq!(last_byte.elapsed(), Duration::from_secs(45));
    assert_eq!(rig.state().await, ConnectionState::Connecting { attempt: 0 });
}

#[tokio::test(start_paused = true)]
async fn the_limit_on_silence_changes_while_the_stream_is_open() {
    let mut rig = Rig::new();
    let _first = rig.body();
    rig.start();
    rig.until_live().await;
    assert!(rig.quiet_for(3600).await, "idle: no limit");
    let _second = rig.body();
    rig.tell(Command::Activity { running: true, silence: Some(Duration::from_secs(4000)) }).await;
    let from = Instant::now();
    assert_eq!(rig.closed().await.0, Some(ConnectionCause::Silent));
    assert_eq!(from.elapsed(), Duration::from_secs(400), "counted from the last byte");
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_cannot_be_taken_up_again_is_never_cut_but_its_silence_is_told() {
    let mut rig = Rig::new();
    rig.reattach = false;
    rig.limits.silence = Some(Duration::from_secs(20));
    let body = rig.body();
    let task = rig.start();
    rig.until_live().await;
    for told in [20, 40, 60] {
        let Link::Quiet { silent_for } = rig.link().await else { panic!("not quiet") };
        assert_eq!(silent_for, Duration::from_secs(told));
    }
    for command in [Command::RetryNow, Command::Wake, Command::Pause, Command::NewToken] {
        rig.tell(command).await;
    }
    rig.clock.slept_ms.fetch_add(600_000, Ordering::Relaxed);
    assert!(rig.quiet_for(10).await);
    body.send(bytes("data: still here\n\n")).unwrap();
    assert_eq!(rig.pieces().await, vec![message("still here")]);
    drop(body);
    assert_eq!(rig.closed().await, (Some(ConnectionCause::Closed), 0));
    assert_eq!(rig.state().await, ConnectionState::Closed);
    assert_eq!(task.await.unwrap(), Stop::NotReattachable(ConnectionCause::Closed));
}

#[tokio::test(start_paused = true)]
async fn cancel_while_waiting_ends_at_once() {
    let mut rig = Rig::new();
    rig.unreachable();
    let task = rig.start();
    rig.state().await;
    let layer = ProbeLayer::Answer;
    let state = rig.state().await;
    assert!(
        matches!(&state, ConnectionState::Waiting { cause: ConnectionCause::Unreachable { layer: l }, .. } if *l == layer)
    );
    let from = Instant::now();
    rig.cancel.cancel();
    assert_eq!((task.await.unwrap(), from.elapsed()), (Stop::ClosedHere, Duration::ZERO));
    assert_eq!(rig.state().await, ConnectionState::Closed);
}

#[tokio::test(start_paused = true)]
async fn cancel_while_connecting_and_while_the_queue_is_full_ends_at_once() {
    let mut rig = Rig::new();
    rig.never_answers();
    let task = rig.start();
    rig.asked().await;
    rig.cancel.cancel();
    assert_eq!(task.await.unwrap(), Stop::ClosedHere);

    let mut rig = Rig::new();
    let body = rig.body();
    (rig.links_in, rig.links) = {
        let (links_in, links) = mpsc::channel(1);
        (Some(links_in), links)
    };
    let task = rig.start();
    body.send(bytes("data: a\n\n")).unwrap();
    // The task waits with its second message.
    while rig.links.is_empty() {
        tokio::task::yield_now().await;
    }
    let from = Instant::now();
    rig.cancel.cancel();
    assert_eq!((task.await.unwrap(), from.elapsed()), (Stop::ClosedHere, Duration::ZERO));
}

#[tokio::test(start_paused = true)]
async fn a_receiver_that_is_gone_ends_the_task() {
    let mut rig = Rig::new();
    let _body = rig.body();
    let task = rig.start();
    let (_, nobody) = mpsc::channel(1);
    rig.links = nobody;
    assert_eq!(task.await.unwrap(), Stop::ClosedHere);
}

#[tokio::test(start_paused = true)]
async fn commands_that_end_leave_the_stream_open() {
    let mut rig = Rig::new();
    let body = rig.body();
    rig.start();
    let (nowhere, _) = mpsc::channel(1);
    rig.commands = nowhere;
    rig.until_live().await;
    body.send(bytes("data: a\n\n")).unwrap();
    assert_eq!(rig.pieces().await, vec![message("a")]);
}

#[tokio::test(start_paused = true)]
async fn p_21_waking_from_sleep_reconnects_within_two_seconds() {
    let mut rig = Rig::new();
    let _first = rig.body();
    rig.start();
    rig.until_live().await;
    let _second = rig.body();
    assert!(rig.quiet_for(10).await);
    rig.clock.slept_ms.fetch_add(3_600_000, Ordering::Relaxed);
    let woke = Instant::now();
    assert_eq!(rig.closed().await, (Some(ConnectionCause::Wake), 0));
    assert!(woke.elapsed() <= Duration::from_secs(2));
    rig.until_live().await;
}

#[tokio::test(start_paused = true)]
async fn a_reported_wake_ends_a_wait_at_once() {
    let mut rig = Rig::new();
    rig.refuses(503, &[("retry-after", "600")], "");
    rig.start();
    rig.asked().await;
    while !matches!(rig.link().await, Link::State(ConnectionState::Waiting { .. })) {}
    let _body = rig.body();
    let from = Instant::now();
    rig.tell(Command::Wake).await;
    assert_eq!(rig.asked().await.1, from);
}

#[tokio::test(start_paused = true)]
async fn retry_now_ends_a_wait_and_reopens_a_live_stream() {
    let mut rig = Rig::new();
    rig.unreachable();
    rig.start();
    rig.asked().await;
    while !matches!(rig.link().await, Link::State(ConnectionState::Waiting { .. })) {}
    let first = rig.body();
    let from = Instant::now();
    rig.tell(Command::RetryNow).await;
    rig.until_live().await;
    let _second = rig.body();
    rig.tell(Command::RetryNow).await;
    assert_eq!(rig.closed().await, (Some(ConnectionCause::RetryNow), 0));
    rig.until_live().await;
    assert_eq!(from.elapsed(), Duration::ZERO);
    assert!(first.is_closed(), "the old stream was dropped");
}

#[tokio::test(start_paused = true)]
async fn unauthorized_gives_the_answer_and_waits_for_a_token() {
    let mut rig = Rig::new();
    rig.refuses(401, &[], "bad token");
    rig.start();
    rig.state().await;
    let Link::Refused(response) = rig.link().await else { panic!("not refused") };
    assert_eq!((response.status().as_u16(), response.body().as_ref()), (401, b"bad token".as_slice()));
    assert_eq!(rig.state().await, ConnectionState::Unauthorized);
    assert!(rig.quiet_for(50_000).await);
    let _body = rig.body();
    rig.tell(Command::NewToken).await;
    rig.until_live().await;
}

#[tokio::test(start_paused = true)]
async fn forbidden_shows_the_servers_words() {
    let mut rig = Rig::new();
    rig.refuses(403, &[], "  not\nyours ");
    rig.start();
    rig.state().await;
    rig.link().await;
    assert_eq!(rig.state().await, ConnectionState::Forbidden { message: "not yours".into() });
}

#[tokio::test(start_paused = true)]
async fn the_servers_retry_is_honoured() {
    let mut rig = Rig::new();
    let first = rig.body();
    rig.start();
    rig.until_live().await;
    first.send(bytes("retry: 7000\n\n")).unwrap();
    assert_eq!(rig.pieces().await, vec![Piece::Retry(Duration::from_secs(7))]);
    rig.asked().await;
    let _second = rig.body();
    let from = Instant::now();
    drop(first);
    assert_eq!(rig.asked().await.1 - from, Duration::from_secs(7));
}

#[tokio::test(start_paused = true)]
async fn a_terminal_event_ends_the_task() {
    let mut rig = Rig::new();
    let _body = rig.body();
    let task = rig.start();
    rig.until_live().await;
    rig.tell(Command::Terminal).await;
    assert_eq!(rig.closed().await, (None, 0));
    assert_eq!(rig.state().await, ConnectionState::Ended);
    assert_eq!(task.await.unwrap(), Stop::Ended);
}

#[tokio::test(start_paused = true)]
async fn pause_drops_the_stream_and_resume_opens_it() {
    let mut rig = Rig::new();
    let first = rig.body();
    rig.start();
    rig.until_live().await;
    rig.tell(Command::Pause).await;
    assert_eq!(rig.closed().await, (None, 0));
    assert_eq!(rig.state().await, ConnectionState::Paused);
    assert!(first.is_closed());
    let _second = rig.body();
    rig.tell(Command::Resume).await;
    rig.until_live().await;
}

#[tokio::test(start_paused = true)]
async fn a_slow_receiver_is_no_silence_and_no_sleep() {
    let mut rig = Rig::new();
    rig.limits.silence = Some(Duration::from_secs(45));
    (rig.links_in, rig.links) = {
        let (links_in, links) = mpsc::channel(1);
        (Some(links_in), links)
    };
    let body = rig.body();
    rig.start();
    rig.until_live().await;
    body.send(bytes("data: a\n\n")).unwrap();
    tokio::task::yield_now().await;
    body.send(bytes("data: b\n\n")).unwrap();
    // The queue of one is full and the task waits with the second batch.
    tokio::time::sleep(Duration::from_secs(600)).await;
    let mut pieces = rig.pieces().await;
    if pieces.len() < 2 {
        pieces.extend(rig.pieces().await);
    }
    assert_eq!(pieces, vec![message("a"), message("b")]);
    assert!(rig.quiet_for(44).await);
}

#[test]
fn plain_words_are_one_short_line() {
    let response = http::Response::new(Bytes::from(format!(" a\r\n b {}", "x".repeat(1000))));
    let words = plain_words(&response);
    assert!(words.starts_with("a b xxx"));
    assert_eq!(words.chars().count(), 500);
}
