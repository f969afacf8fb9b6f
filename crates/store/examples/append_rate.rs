//! How fast the log takes frames: 200,000 buffered frames of 200 bytes, in batches of 1,000, committed.
//!
//! `cargo run --release -p store --example append_rate [frames]` prints one line per batch size; the last line repeats everything, so that
//! known frames are measured too.

use std::time::Instant;

use contract::{
    server::ServerId,
    session::{SessionId, SessionState},
    wire::{Cursor, Frame, FrameKind, Identity, LoggedFrame, Origin},
};
use store::{CursorMove, SessionRecord, Store, StoreError};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let frames = std::env::args().nth(1).map_or(Ok(200_000), |argument| argument.parse())?;
    let folder = tempfile::tempdir()?;
    let store = Store::open(&folder.path().join("rate.db"), 0)?.store;
    for (remote_id, batch) in [("warm", 1_000), ("a", 1_000), ("b", 250), ("c", 4_000)] {
        let session = store.put_session(record(remote_id)).await?;
        let new = measure(&store, session, frames, batch).await?;
        let same = measure(&store, session, frames, batch).await?;
        println!("batch {batch:>5}: {new:>9.0} new frames/s, {same:>9.0} known frames/s ({remote_id})");
    }
    let started = Instant::now();
    store.close().await?;
    println!("close: {} ms", started.elapsed().as_millis());
    Ok(())
}

async fn measure(store: &Store, session: SessionId, frames: i64, batch: i64) -> Result<f64, StoreError> {
    let mut batches = Vec::new();
    let mut from = 0;
    while from < frames {
        let to = (from + batch).min(frames);
        batches.push((from..to).map(frame).collect::<Vec<_>>());
        from = to;
    }
    let started = Instant::now();
    for batch in batches {
        let cursor = batch.last().and_then(|last| last.frame.id.clone()).map(Cursor);
        store.append(session, batch, cursor.map_or(CursorMove::Keep, CursorMove::To)).await?;
    }
    #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
    Ok(frames as f64 / started.elapsed().as_secs_f64())
}

fn frame(number: i64) -> LoggedFrame {
    let id = format!("evt_{number:020}");
    let text = "x".repeat(80);
    let data = format!(
        r#"{{"id":"{id}","type":"agent.message","processed_at":"2026-01-01T00:00:00Z","content":[{{"type":"text","text":"{text}"}}]}}"#
    );
    LoggedFrame {
        frame: Frame {
            id: Some(id.clone()),
            name: Some("agent.message".into()),
            data,
            repaired: false,
            too_large: None,
        },
        origin: Origin::Stream,
        kind: FrameKind::Buffered,
        identity: Some(Identity { event_id: id, thread: None }),
        position: number,
        received_at: 1_764_500_000_000 + number,
    }
}

fn record(remote_id: &str) -> SessionRecord {
    SessionRecord {
        server: ServerId("rate".into()),
        remote_id: remote_id.into(),
        title: None,
        agent: None,
        state: SessionState::Running,
        waiting: 0,
        waiting_kind: None,
        activity: None,
        created_at: None,
        updated_at: None,
        last_event_at: None,
        synced_updated_at: None,
        archived: false,
        ended: None,
        run_options: None,
    }
}
