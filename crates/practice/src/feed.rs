//! The body of one stream: follows a journal from its place on, shows what its connection asked for, and misbehaves
//! as it was told (wire page §6 and §8).

pub(crate) mod bend;

use std::{collections::VecDeque, io, sync::Arc, time::Duration};

use bytes::{Bytes, BytesMut};
use futures_util::Stream;
use tokio::sync::watch;

use crate::{
    SseIds,
    fault::StreamAct,
    journal::{Entry, Kind, Place, Previewed},
    session::Cell,
    world::{Cut, CutHow, World},
};
use bend::Bend;

/// What a connection asked for.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) thread: Option<String>,
    pub(crate) messages: bool,
    pub(crate) thinking: bool,
    /// Pieces of one window are merged (§6, `delta_flush_interval_ms`).
    pub(crate) flush_ms: u64,
}

/// D1 pieces that are waiting to be merged with the next ones.
struct Merging {
    window: u64,
    entry: Arc<Entry>,
    text: String,
}

/// The stream.
pub(crate) struct Feed {
    world: Arc<World>,
    cell: Arc<Cell>,
    asked: Asked,
    place: Place,
    ids: SseIds,
    merging: Option<Merging>,
    out: VecDeque<Bytes>,
    bend: Bend,
    cut: watch::Receiver<Cut>,
    heartbeat: Option<Duration>,
    over: bool,
}

impl Drop for Feed {
    fn drop(&mut self) {
        self.world.count(|counters| counters.open_streams = counters.open_streams.saturating_sub(1));
    }
}

/// What woke the feed.
enum Woken {
    Changed,
    Heartbeat,
    Flush,
    Ordered,
    Stopped,
}

impl Feed {
    /// Begins at `place`. The stream counts as open from here on.
    pub(crate) fn open(world: Arc<World>, cell: Arc<Cell>, asked: Asked, place: Place, acts: Vec<StreamAct>) -> Self {
        let ids = cell.look(|state| state.manner.ids);
        let heartbeat = world.inner().heartbeat;
        let cut = world.cut.subscribe();
        Self {
            world,
            cell,
            asked,
            place,
            ids,
            merging: None,
            out: VecDeque::new(),
            bend: Bend::new(acts),
            cut,
            heartbeat,
            over: false,
        }
    }

    /// The body.
    pub(crate) fn into_stream(self) -> impl Stream<Item = io::Result<Bytes>> + Send {
        futures_util::stream::unfold(self, |mut feed| async move { feed.next().await.map(|bytes| (bytes, feed)) })
    }

    async fn next(&mut self) -> Option<io::Result<Bytes>> {
        loop {
            if self.bend.is_cut() {
                return self.break_off().await;
            }
            if let Some(bytes) = self.chunk() {
                match self.bend.limit(bytes) {
                    Some((now, later)) => {
                        if let Some(later) = later {
                            self.out.push_front(later);
                        }
                        self.bend.wait().await;
                        return Some(Ok(now));
                    }
                    None => continue,
                }
            }
            if self.bend.is_ended() || self.over {
                return None;
            }
            if self.bend.is_cut() {
                continue;
            }
            if self.bend.is_silent() {
                match self.ordered_while_silent().await {
                    CutHow::Break => return self.break_off().await,
                    CutHow::End => return None,
                    CutHow::Silence => continue,
                }
            }
            let mut pulse = self.cell.pulse();
            if self.collect() {
                continue;
            }
            match self.wake(&mut pulse).await {
                Woken::Changed => {}
                Woken::Heartbeat => self.out.push_back(Bytes::from_static(b": heartbeat\n\n")),
                Woken::Flush => self.flush(),
                Woken::Stopped => return None,
                Woken::Ordered => {
                    let order = self.cut.borrow_and_update().clone();
                    if order.session.as_deref().is_none_or(|session| session == self.cell.id) {
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

    /// The next bytes: what is ready goes out together, unless a fault looks at every frame.
    fn chunk(&mut self) -> Option<Bytes> {
        let first = self.out.pop_front()?;
        if self.bend.is_busy() || self.out.is_empty() {
            return Some(first);
        }
        let mut together = BytesMut::from(first);
        while together.len() < 64 * 1024
            && let Some(more) = self.out.pop_front()
        {
            together.extend_from_slice(&more);
        }
        Some(together.freeze())
    }

    async fn ordered_while_silent(&mut self) -> CutHow {
        loop {
            tokio::select! {
                biased;
                () = self.world.stop.cancelled() => return CutHow::End,
                changed = self.cut.changed() => if changed.is_err() { return CutHow::End },
            }
            let order = self.cut.borrow_and_update().clone();
            if order.session.as_deref().is_none_or(|session| session == self.cell.id) {
                return order.how;
            }
        }
    }

    async fn break_off(&mut self) -> Option<io::Result<Bytes>> {
        // Pending once: the server flushes what it has before it sees the error, so byte N really arrives.
        tokio::task::yield_now().await;
        self.over = true;
        Some(Err(io::ErrorKind::ConnectionAborted.into()))
    }

    async fn wake(&mut self, pulse: &mut watch::Receiver<u64>) -> Woken {
        let heartbeat = self.heartbeat;
        let flush = self.merging.as_ref().map(|_| Duration::from_millis(self.asked.flush_ms));
        tokio::select! {
            biased;
            () = self.world.stop.cancelled() => Woken::Stopped,
            _ = self.cut.changed() => Woken::Ordered,
            _ = pulse.changed() => Woken::Changed,
            () = after(flush) => Woken::Flush,
            () = after(heartbeat) => Woken::Heartbeat,
        }
    }

    /// Takes what the journal has; gives whether there was anything.
    fn collect(&mut self) -> bool {
        let (mut entries, mut ended) = (Vec::new(), false);
        self.cell.look(|state| {
            let journal = state.read(self.asked.thread.as_deref());
            while let Some(entry) = journal.entry(self.place.from + entries.len()) {
                entries.push(entry);
                if entries.len() == 256 {
                    break;
                }
            }
            ended = journal.is_ended() && journal.entry(self.place.from + entries.len()).is_none();
        });
        for entry in &entries {
            let old = self.place.from < self.place.connected;
            self.place.from += 1;
            if self.shows(entry, old) {
                self.show(entry);
            }
        }
        if ended {
            self.flush();
            self.bend.finish(&mut self.out);
            self.over = true;
        }
        !entries.is_empty() || ended
    }

    fn shows(&self, entry: &Entry, old: bool) -> bool {
        let fresh = !old || self.place.open.as_deref() == Some(entry.id.as_str());
        match &entry.kind {
            Kind::Buffered => true,
            Kind::Preview(Previewed::Message) => fresh && self.asked.messages,
            Kind::Preview(Previewed::Thinking) => fresh && self.asked.thinking,
            Kind::Flag => fresh,
            Kind::Raw(_) => !old,
        }
    }

    fn show(&mut self, entry: &Arc<Entry>) {
        if let Some(piece) = &entry.piece {
            let window = piece.at_ms / self.asked.flush_ms.max(1);
            match &mut self.merging {
                Some(merging) if merging.window == window && piece.at_ms > 0 => {
                    merging.text.push_str(&piece.text);
                    merging.entry = Arc::clone(entry);
                }
                _ => {
                    self.flush();
                    let text = piece.text.clone();
                    self.merging = Some(Merging { window, entry: Arc::clone(entry), text });
                }
            }
            return;
        }
        self.flush();
        match &entry.kind {
            Kind::Raw(bytes) => self.out.push_back(bytes.clone()),
            _ => self.push(entry, &entry.json),
        }
    }

    fn flush(&mut self) {
        let Some(merging) = self.merging.take() else { return };
        let mut value: serde_json::Value = serde_json::from_str(&merging.entry.json).unwrap_or_default();
        if let Some(content) = value.get_mut("content") {
            *content = crate::voice::blocks(&merging.text);
        }
        self.push(&merging.entry, &value.to_string());
    }

    fn push(&mut self, entry: &Entry, json: &str) {
        let id = match (self.ids, entry.serial) {
            (SseIds::Event, _) => format!("id: {}\n", entry.id),
            (SseIds::Integer, 0) => String::new(),
            (SseIds::Integer, serial) => format!("id: {serial}\n"),
        };
        let frame = format!("{id}event: {}\ndata: {json}\n\n", entry.name);
        self.bend.frame(frame.into(), &mut self.out);
    }
}

async fn after(time: Option<Duration>) {
    match time {
        Some(time) => tokio::time::sleep(time).await,
        None => std::future::pending().await,
    }
}
