//! The body of one run's answer: the frames as the run writes them, bent as faults want, and the end of the run when
//! the connection closes (§5 and §8). No heartbeats.

use std::{collections::VecDeque, io, sync::Arc};

use axum::{
    body::Body,
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use futures_util::Stream;
use http::{HeaderName, HeaderValue, header};
use tokio::sync::{mpsc, watch};
use tokio_util::sync::DropGuard;

use super::desk::Ends;
use crate::{
    counters::Opened,
    fault::StreamAct,
    feed::bend::Bend,
    world::{Cut, CutHow, World},
};

/// What a stream sends.
#[derive(Debug)]
pub(crate) enum Item {
    Frame(Bytes),
    /// The connection breaks off here.
    Break,
}

struct Line {
    world: Arc<World>,
    session: String,
    frames: mpsc::UnboundedReceiver<Item>,
    out: VecDeque<Bytes>,
    bend: Bend,
    cut: watch::Receiver<Cut>,
    over: bool,
    /// What ends with this stream, where something does.
    _ends: Option<DropGuard>,
}

impl Drop for Line {
    fn drop(&mut self) {
        self.world.count(|counters| counters.open_streams = counters.open_streams.saturating_sub(1));
    }
}

fn oversized(text: &str) -> String {
    format!("event: event\ndata: {{\"type\":\"notice\",\"text\":\"{text}\",\"level\":\"info\"}}\n\n")
}

/// The answer to a request that began a run.
pub(super) fn answer(
    world: &Arc<World>,
    session: &str,
    frames: mpsc::UnboundedReceiver<Item>,
    ends: &Ends,
) -> Response {
    let ends = ends.gone.clone().drop_guard();
    let mut response = open(world, session, frames, Opening { ends: Some(ends), mode: None, oversized });
    response.headers_mut().insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    response
}

/// What streams of the sides differ in.
pub(crate) struct Opening {
    /// What ends with the stream, where something does.
    pub(crate) ends: Option<DropGuard>,
    /// How it tells text, where it was asked for that.
    pub(crate) mode: Option<String>,
    /// An event of any size.
    pub(crate) oversized: fn(&str) -> String,
}

/// A stream of these frames, bent as the armed faults want.
pub(crate) fn open(
    world: &Arc<World>,
    session: &str,
    frames: mpsc::UnboundedReceiver<Item>,
    opening: Opening,
) -> Response {
    let Opening { ends, mode, oversized } = opening;
    let acts = world.inner().faults.take_stream(session, false);
    let content_type = acts.iter().find_map(|act| match act {
        StreamAct::ContentType { value } => HeaderValue::from_str(value).ok(),
        _ => None,
    });
    world.count(|counters| {
        counters.open_streams += 1;
        counters.opened.push(Opened {
            session: session.to_owned(),
            thread: None,
            last_event_id: None,
            after_id: None,
            previews: mode.into_iter().collect(),
            delta_flush_interval_ms: None,
        });
    });
    let line = Line {
        world: Arc::clone(world),
        session: session.to_owned(),
        frames,
        out: VecDeque::new(),
        bend: Bend::with_oversized(acts, oversized),
        cut: world.cut.subscribe(),
        over: false,
        _ends: ends,
    };
    let mut response = Body::from_stream(line.into_stream()).into_response();
    let headers = response.headers_mut();
    let usual = HeaderValue::from_static("text/event-stream; charset=utf-8");
    headers.insert(header::CONTENT_TYPE, content_type.unwrap_or(usual));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}

impl Line {
    fn into_stream(self) -> impl Stream<Item = io::Result<Bytes>> + Send {
        futures_util::stream::unfold(self, |mut line| async move { line.next().await.map(|bytes| (bytes, line)) })
    }

    async fn next(&mut self) -> Option<io::Result<Bytes>> {
        loop {
            if self.bend.is_cut() {
                return self.break_off().await;
            }
            if let Some(bytes) = self.out.pop_front() {
                let Some((now, later)) = self.bend.limit(bytes) else { continue };
                if let Some(later) = later {
                    self.out.push_front(later);
                }
                self.bend.wait().await;
                return Some(Ok(now));
            }
            if self.over || self.bend.is_ended() {
                return None;
            }
            if self.bend.is_cut() {
                continue;
            }
            match self.wake().await {
                Woken::Frame(Item::Frame(bytes)) => self.bend.frame(bytes, &mut self.out),
                Woken::Frame(Item::Break) => return self.break_off().await,
                Woken::Over => {
                    self.bend.finish(&mut self.out);
                    self.over = true;
                }
                Woken::Stopped => return None,
                Woken::Ordered => {
                    let order = self.cut.borrow_and_update().clone();
                    if order.session.as_deref().is_none_or(|session| session == self.session) {
                        match order.how {
                            CutHow::Break => return self.break_off().await,
                            CutHow::End => return None,
                            CutHow::Silence => self.bend.silence(),
                        }
                    }
                }
            }
        }
    }

    /// A silent stream hears only orders: its run goes on without a reader that notices.
    async fn wake(&mut self) -> Woken {
        let silent = self.bend.is_silent();
        tokio::select! {
            biased;
            () = self.world.stop.cancelled() => Woken::Stopped,
            changed = self.cut.changed() => if changed.is_ok() { Woken::Ordered } else { Woken::Stopped },
            item = self.frames.recv(), if !silent => item.map_or(Woken::Over, Woken::Frame),
        }
    }

    async fn break_off(&mut self) -> Option<io::Result<Bytes>> {
        // Pending once: what was written before goes out before the server sees the error.
        tokio::task::yield_now().await;
        self.over = true;
        Some(Err(io::ErrorKind::ConnectionAborted.into()))
    }
}

enum Woken {
    Frame(Item),
    Over,
    Stopped,
    Ordered,
}
