//! Streams: how they begin, how their bytes are cut, and what they carry that is no event (numbers 1, 2, 6 to 11).

use std::{collections::BTreeSet, time::Duration};

use anyhow::Result;
use contract::{
    connection::{ConnectionCause, ConnectionLogKind},
    item::ItemBody,
    server::ServerOptions,
    session::SessionState,
};
use practice::StreamAct;
use pretty_assertions::assert_eq;
use serde_json::json;
use tests::rig::{Dialect, Rig};

use super::stage::{Stage, blocks, frame, said, whole_transcript, without_marks};

/// A long session, opened by a server that begins its streams in this way: the whole transcript, line by line.
async fn long_session(start: &str) -> Result<String> {
    let rig = Rig::start(Dialect::Qoder).await?;
    let remote = Stage::finished(&rig, "plain", &[("practice.start", start)]).await?;
    for number in 0..700 {
        rig.control.emit(&remote, json!({"type": "session.status_running"}))?;
        rig.control.emit(&remote, said(&format!("answer {number}")))?;
        rig.control.emit(&remote, json!({"type": "session.status_idle", "stop_reason": {"type": "end_turn"}}))?;
    }
    let view = rig.open(&remote).await?;
    let mut stage = Stage::over(rig, remote, view);
    stage.settle().await?;
    let items = whole_transcript(&stage.rig.engine, stage.view.session(), &stage.view).await?;
    let ids: BTreeSet<&str> = items.iter().map(|item| item.id.as_str()).collect();
    assert_eq!(ids.len(), items.len(), "an item stands twice");
    stage.stop().await;
    Ok(without_marks(&items.iter().map(tests::view::line).collect::<Vec<_>>().join("\n")))
}

#[tokio::test]
async fn managed_edge_01_a_full_replay_and_none_at_all_give_the_same_transcript() -> Result<()> {
    let (replay, tail) = tokio::try_join!(long_session("replay"), long_session("tail"))?;
    assert!(replay.ends_with("Agent Done: answer 699"), "{}", &replay[replay.len() - 200..]);
    assert_eq!(replay.lines().count(), 702);
    assert_eq!(replay, tail);
    Ok(())
}

#[tokio::test]
async fn managed_edge_02_an_event_that_comes_twice_is_shown_once() -> Result<()> {
    let once = Stage::idle(&[]).await?.text().await?;
    let rig = Rig::start(Dialect::Qoder).await?;
    rig.control.bend_next_stream(StreamAct::Duplicate);
    let mut stage = Stage::on(rig, "plain", &[]).await?;
    stage.settle().await?;
    assert_eq!(stage.text().await?, once, "every frame twice");
    stage.reconnect().await?;
    let id = stage.emit(json!({"type": "agent.message", "content": blocks("At the boundary")}))?;
    let again = json!({"id": id, "type": "agent.message", "content": blocks("At the boundary")});
    stage.raw(frame(&id, "agent.message", &again))?;
    stage.shown().await?;
    stage.reconnect().await?;
    stage.raw(frame(&id, "agent.message", &again))?;
    assert_eq!(stage.said().await?, ["Hello. This is a plain answer in a few words.", "At the boundary"]);
    let resumed = stage.resumed();
    assert!(resumed.len() == 2 && resumed.iter().all(|(new, known)| *new == 0 && *known > 5), "{resumed:?}");
    stage.stop().await;
    Ok(())
}

#[tokio::test]
async fn managed_edge_02_the_same_message_with_its_time_filled_in_stays_one() -> Result<()> {
    let mut stage = Stage::idle(&[]).await?;
    stage.emit(json!({"type": "session.status_running"}))?;
    let queued = json!({"id": "evt_q", "type": "user.message", "content": blocks("Later"), "processed_at": null});
    stage.emit(queued)?;
    assert!(stage.text().await?.ends_with("User Queued: Later"), "{}", stage.view.text());
    let taken = json!({"id": "evt_q", "type": "user.message", "content": blocks("Later"),
        "processed_at": "2026-09-01T08:00:00Z"});
    stage.emit(taken)?;
    let text = stage.text().await?;
    assert_eq!(text.matches("Later").count(), 1, "{text}");
    assert!(text.ends_with("User Done: Later"), "{text}");
    stage.stop().await;
    Ok(())
}

#[tokio::test]
async fn managed_edge_06_any_cut_of_the_bytes_gives_the_same_text() -> Result<()> {
    let mut texts = Vec::new();
    for acts in [
        vec![],
        vec![StreamAct::Drip { bytes: 1, every_ms: 0 }],
        vec![StreamAct::CrLf, StreamAct::Drip { bytes: 7, every_ms: 0 }],
    ] {
        let rig = Rig::start(Dialect::Qoder).await?;
        for act in acts {
            rig.control.bend_next_stream(act);
        }
        let mut stage = Stage::on(rig, "plain", &[]).await?;
        stage.settle().await?;
        stage.emit(said("简报写好了，🦀 € ok"))?;
        texts.push(stage.text().await?);
        stage.stop().await;
    }
    assert!(texts[0].contains("简报写好了，🦀 € ok"));
    assert!(!texts[1].contains('\u{FFFD}'));
    assert_eq!(texts[0], texts[1]);
    assert_eq!(texts[0], texts[2]);
    Ok(())
}

#[tokio::test]
async fn managed_edge_06_a_byte_order_mark_comments_and_data_over_several_lines_are_read() -> Result<()> {
    let rig = Rig::start(Dialect::Qoder).await?;
    let remote = Stage::finished(&rig, "plain", &[]).await?;
    let view = rig.open(&remote).await?;
    rig.control.until(|seen| seen.open_streams > 0).await?;
    let mut stage = Stage::over(rig, remote, view);
    // The very first bytes of the stream: it began at its end, where nothing happens.
    stage.raw(format!("\u{FEFF}{}", frame("evt_bom", "agent.message", &said("Behind the mark"))))?;
    stage.view.until("the first frame", |view| view.text().contains("Behind the mark")).await?;
    stage.raw(": only a comment\n\n:\n\n")?;
    stage.raw("\r\nid: evt_m\r\nevent: agent.message\r\ndata: {\"id\":\"evt_m\",\r\ndata: \"type\":\"agent.message\",\r\ndata: \"content\":\"Three lines\"}\r\n\r\n")?;
    assert_eq!(stage.said().await?.last().map(String::as_str), Some("Three lines"));
    assert_eq!(stage.notices().await?, [""; 0]);
    stage.stop().await;
    Ok(())
}

#[tokio::test]
async fn managed_edge_06_an_unfinished_block_at_the_end_is_dropped_and_moves_nothing() -> Result<()> {
    let mut stage = Stage::idle(&[]).await?;
    let before = stage.text().await?;
    let cursor = stage.cursor().await?;
    let opened = stage.rig.control.counters().opened.len();
    stage.raw("id: evt_half\nevent: agent.message\ndata: {\"id\":\"evt_half\",\"type\":\"agent.message\",\"content\":\"Half\"}\n")?;
    stage.rig.control.end_streams();
    stage.back(opened).await?;
    let again = stage.rig.control.counters().opened[opened].last_event_id.clone();
    assert_eq!(again, cursor, "resumed after the last whole block");
    assert_eq!(stage.text().await?, before);
    stage.stop().await;
    Ok(())
}

#[tokio::test]
async fn managed_edge_07_a_result_of_megabytes_is_whole_behind_its_handle() -> Result<()> {
    let mut stage = Stage::play("long-output", &[]).await?;
    stage.settle().await?;
    let (handle, chars) = stage
        .view
        .items
        .values()
        .find_map(|item| match &item.body {
            ItemBody::Tool(tool) => tool.output.iter().find_map(|part| match part {
                contract::item::Part::Text(text) => text.handle.clone().map(|handle| (handle, text.chars)),
                _ => None,
            }),
            _ => None,
        })
        .unwrap();
    assert_eq!(chars, 3_000_000);
    let session = stage.view.session();
    let read = contract::command::ReadPayload { session, handle, from: 2_999_900, limit: 200 };
    let end = stage.rig.engine.read_payload(read).await?;
    assert_eq!((end.text.len(), end.chars), (100, 3_000_000));
    assert_eq!(stage.said().await?, ["That was a lot."]);
    stage.stop().await;
    Ok(())
}

#[tokio::test]
async fn managed_edge_07_an_event_over_the_cap_is_said_and_the_stream_goes_on() -> Result<()> {
    let options = ServerOptions { event_cap_bytes: Some(1 << 20), ..ServerOptions::default() };
    let rig = Rig::start_with(Dialect::Qoder, options).await?;
    rig.control.bend_next_stream(StreamAct::Oversized { after: 3, bytes: 3 << 20 });
    let mut stage = Stage::on(rig, "plain", &[]).await?;
    stage.settle().await?;
    stage.emit(said("After it"))?;
    stage.emit(said("More"))?;
    stage.emit(said("And more"))?;
    let said = stage.said().await?;
    assert_eq!(said[said.len() - 3..], ["After it", "More", "And more"]);
    let notices = stage.notices().await?;
    assert_eq!(notices.len(), 1, "{notices:?}");
    assert!(notices[0].contains("is over this server's cap"), "{notices:?}");
    assert_eq!(stage.rig.control.counters().opened.len(), 1, "the connection stayed");
    stage.stop().await;
    Ok(())
}

#[tokio::test]
async fn managed_edge_08_a_frame_that_is_no_json_is_said_and_moves_no_cursor() -> Result<()> {
    let mut stage = Stage::idle(&[]).await?;
    let cursor = stage.cursor().await?;
    stage.raw("id: evt_bad\nevent: agent.message\ndata: {\"id\":\"evt_bad\",\"content\":[{\n\n")?;
    stage.view.until("the notice", |view| view.text().contains("could not be read")).await?;
    assert_eq!(stage.cursor().await?, cursor);
    let id = stage.emit(said("Fine again"))?;
    assert_eq!(stage.said().await?.last().map(String::as_str), Some("Fine again"));
    assert_ne!(stage.cursor().await?, cursor);
    assert_ne!(stage.cursor().await?.as_deref(), Some("evt_bad"));
    let notices = stage.notices().await?;
    assert_eq!(notices.len(), 1, "{notices:?}");
    stage.reconnect().await?;
    assert_eq!(stage.view.text().matches("could not be read").count(), 1);
    assert_eq!(stage.view.items.values().filter(|item| item.id == id).count(), 1);
    stage.stop().await;
    Ok(())
}

#[tokio::test]
async fn managed_edge_09_ids_and_names_may_be_missing_empty_or_different() -> Result<()> {
    let mut stage = Stage::idle(&[]).await?;
    let event = |id: &str, text: &str| json!({"id": id, "type": "agent.message", "content": blocks(text)});
    stage.raw(frame("sse-1", "agent.message", &event("evt_a", "Different id")))?;
    stage.view.until("the first", |view| view.text().contains("Different id")).await?;
    assert_eq!(stage.cursor().await?.as_deref(), Some("sse-1"));
    stage.raw(format!("event: agent.message\ndata: {}\n\n", event("evt_b", "No id line")))?;
    stage.raw(format!("id: sse-2\ndata: {}\n\n", event("evt_c", "No name")))?;
    stage.view.until("the third", |view| view.text().contains("No name")).await?;
    assert_eq!(stage.cursor().await?.as_deref(), Some("sse-2"));
    stage.raw("id: sse-3\nevent: agent.message\ndata: {\"content\":\"Neither id nor type\"}\n\n")?;
    stage.view.until("the bare one", |view| view.text().contains("Neither id nor type")).await?;
    // The same again: another cursor for an event that is known.
    stage.raw(frame("sse-9", "agent.message", &event("evt_a", "Different id")))?;
    stage.raw(format!("id:\nevent: agent.message\ndata: {}\n\n", event("evt_d", "Empty id line")))?;
    stage.view.until("the empty one", |view| view.text().contains("Empty id line")).await?;
    assert_eq!(stage.cursor().await?, None);
    let said = stage.said().await?;
    assert_eq!(said[1..], ["Different id", "No id line", "No name", "Neither id nor type", "Empty id line"]);
    stage.stop().await;
    Ok(())
}

#[tokio::test]
async fn managed_edge_09_numbers_as_ids_go_back_verbatim() -> Result<()> {
    let mut stage = Stage::idle(&[("practice.ids", "integer")]).await?;
    let cursor = stage.cursor().await?.unwrap();
    assert!(cursor.parse::<u64>().is_ok(), "{cursor}");
    let opened = stage.rig.control.counters().opened.len();
    let before = stage.text().await?;
    let cursor = stage.cursor().await?;
    stage.reconnect().await?;
    assert_eq!(stage.rig.control.counters().opened[opened].last_event_id, cursor);
    assert_eq!(stage.text().await?, before);
    stage.stop().await;
    Ok(())
}

#[tokio::test]
async fn managed_edge_10_done_ping_and_error_frames_are_no_events() -> Result<()> {
    let mut stage = Stage::idle(&[]).await?;
    let (before, cursor) = (stage.text().await?, stage.cursor().await?);
    stage.raw("data: [DONE]\n\nevent: ping\ndata: {}\n\nid: x\nevent: ping\n\ndata: {\"type\":\"ping\"}\n\n")?;
    assert_eq!(stage.text().await?, before);
    assert_ne!(stage.cursor().await?, cursor, "only the stage's mark moved it");
    stage.raw(
        "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"api_error\",\"message\":\"Out of order\"}}\n\n",
    )?;
    assert_eq!(stage.notices().await?, ["Notice Error Server: Out of order"]);
    assert_eq!(stage.view.header.row.state, SessionState::Idle);
    stage.emit(said("Still here"))?;
    assert_eq!(stage.said().await?.last().map(String::as_str), Some("Still here"));
    stage.stop().await;
    Ok(())
}

#[tokio::test]
async fn managed_edge_11_a_line_that_is_silent_while_a_turn_runs_is_left_after_30_s() -> Result<()> {
    let mut stage = Stage::play("gated", &[]).await?;
    stage.view.until("the first part", |view| view.text().contains("Agent Done: First part.")).await?;
    stage.live().await?;
    let opened = stage.rig.control.counters().opened.len();
    stage.rig.control.silence_streams();
    stage.rig.control.open_gate(&stage.remote, "middle")?;
    // Nothing of this arrives: the line is half open.
    // A step of the clock before the connection has heard that a turn runs does not count; five of them stay below the
    // limit of an idle line, 300 s.
    for _ in 0..8 {
        tokio::time::pause();
        tokio::time::advance(Duration::from_secs(31)).await;
        tokio::time::resume();
        let again = stage.rig.control.until(|seen| seen.opened.len() > opened);
        if tokio::time::timeout(Duration::from_secs(5), again).await.is_ok() {
            break;
        }
    }
    assert!(stage.rig.control.counters().opened.len() > opened, "still on the silent line after 248 s");
    stage.view.until("what was missed", |view| view.text().contains("Second part.")).await?;
    stage.view.until("the card", |view| !view.open_requests().is_empty()).await?;
    assert!(
        stage.view.log.iter().any(|row| row.what == ConnectionLogKind::Dropped { cause: ConnectionCause::Silent }),
        "{:?}",
        stage.view.log
    );
    assert_eq!(stage.said().await?, ["First part.", "Second part."]);
    stage.stop().await;
    Ok(())
}

#[tokio::test]
async fn managed_edge_11_a_computer_that_woke_up_connects_at_once_and_misses_nothing() -> Result<()> {
    let mut stage = Stage::idle(&[]).await?;
    let opened = stage.rig.control.counters().opened.len();
    stage.rig.control.silence_streams();
    stage.emit(said("While it slept"))?;
    stage.rig.engine.wake();
    stage.rig.control.until(|seen| seen.opened.len() > opened).await?;
    stage.view.until("what was missed", |view| view.text().contains("While it slept")).await?;
    stage.view.until("its row", |view| !super::stage::resumed(view).is_empty()).await?;
    assert!(stage.view.log.iter().any(|row| row.what == ConnectionLogKind::Dropped { cause: ConnectionCause::Wake }));
    assert_eq!(stage.said().await?.iter().filter(|text| *text == "While it slept").count(), 1);
    stage.stop().await;
    Ok(())
}
