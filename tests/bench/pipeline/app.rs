//! This app's two ways through the stream: to events on one thread, and to committed rows and patches.

use std::{sync::Arc, time::Instant};

use anyhow::{Context as _, Result, bail, ensure};
use bytes::Bytes;
use contract::{
    command::SessionRef,
    patch::{Patch, SessionChange},
    server::ServerOptions,
    session::SessionState,
    wire::Origin,
};
use engine::MemoryCredentials;
use futures_util::StreamExt as _;
use protocols::{Endpoint, Seen};
use sse::{
    client::{Client, ClientOptions},
    frame::{Piece, Splitter},
};
use tests::rig;

use crate::server;

/// Bytes of a chunk that are taken at once.
const PART: usize = 4096;

fn claude() -> ServerOptions {
    ServerOptions { dialect: Some("claude".to_owned()), ..ServerOptions::default() }
}

/// Reads, splits, parses and folds every event; gives the seconds.
///
/// # Errors
/// When the stream is not whole.
pub async fn decode(base: &str, events: usize) -> Result<f64> {
    let family = protocols::family("managed").context("the protocol is missing")?;
    let protocol = family.speak(Endpoint { base: base.parse()?, options: claude() });
    let request = protocol.stream(&server::session(events), None).context("no stream")?;
    let client = Client::new(ClientOptions::default());
    let mut codec = protocol.codec();
    let (mut splitter, mut pieces, mut out) = (Splitter::default(), Vec::new(), Vec::new());
    let (mut frames, mut made) = (0, 0);
    let start = Instant::now();
    let mut body = client.open(request, None).await?;
    while let Some(chunk) = body.next().await {
        let chunk: Bytes = chunk?;
        // A few frames at a time: their memory is used again while the processor still holds it.
        for part in chunk.chunks(PART) {
            splitter.push(part, &mut pieces)?;
            for piece in pieces.drain(..) {
                let Piece::Frame(frame) = piece else { continue };
                let parsed = codec.parse(&frame);
                codec.fold(parsed, Seen { origin: Origin::Stream, received_at: 0, position: frames }, &mut out);
                frames += 1;
                made += out.len();
                out.clear();
            }
        }
    }
    let seconds = start.elapsed().as_secs_f64();
    ensure!(usize::try_from(frames)? == events && made >= events, "{frames} frames, {made} events");
    Ok(seconds)
}

/// Engine, store, reducer and one window that serializes its patches; gives the seconds from the opening of the
/// session to the patch that shows its last event. Every event is committed before that patch.
///
/// # Errors
/// When an event is missing from the log.
pub async fn whole_path(base: &str, events: usize) -> Result<f64> {
    let dir = tempfile::tempdir()?;
    let engine = rig::engine(dir.path(), Arc::new(MemoryCredentials::default())).await?;
    let server = engine.add_server(rig::draft(base, "bench", claude())).await?.id;
    let feed = engine.attach_window("main");
    let session = engine.session_by_remote(&server, &server::session(events)).await?;
    let start = Instant::now();
    let snapshot = engine.open_session("main", SessionRef { session }).await?;
    let mut over = snapshot.header.row.state == SessionState::Ended;
    let mut bytes = 0;
    while !over {
        let Some(patches) = feed.next().await else { bail!("the feed ended") };
        bytes += serde_json::to_vec(&patches)?.len();
        for patch in patches {
            let Patch::Session { change, .. } = patch else { continue };
            match change {
                SessionChange::Header { header } => over |= header.row.state == SessionState::Ended,
                SessionChange::Reset => {
                    let again = engine.open_session("main", SessionRef { session }).await?;
                    bytes += serde_json::to_vec(&again)?.len();
                    over |= again.header.row.state == SessionState::Ended;
                }
                _ => {}
            }
        }
    }
    let seconds = start.elapsed().as_secs_f64();
    ensure!(bytes > 0, "no patch came");
    engine.shutdown().await;
    let store = store::Store::open(&dir.path().join("countersign.db"), 0)?.store;
    let mut frames = store.frames(session);
    let mut rows = 0;
    while let Some(page) = frames.next().await? {
        rows += page.iter().filter(|row| row.kind == contract::wire::FrameKind::Buffered).count();
    }
    ensure!(rows == events, "{rows} of {events} events are in the log");
    store.close().await?;
    Ok(seconds)
}
