//! What the stream brings, taken in read by read.

use contract::{Millis, wire::Origin};
use sse::{connection::Link, frame::Piece};
use store::StoreError;
use tokio::time::Instant;

use super::super::{
    held::Held,
    intake::{Committing, Prepared, Room},
    task::SessionTask,
};
use crate::feed::TEXT_INTERVAL;

/// Reads taken in before commands and timers have their turn.
const READS_AT_ONCE: u32 = 8;

/// Reads that came while the last were being committed are committed together up to these bounds (frames, bytes):
/// a decision may have to wait for one such transaction.
const TOGETHER_FRAMES: usize = 2_048;
const TOGETHER_BYTES: usize = 2 * 1024 * 1024;

/// From so many frames in one transaction on, what can wait makes room.
const MANY: usize = 100;

impl SessionTask {
    /// Takes a read in.
    pub(in crate::session) async fn take_reads(&mut self, pieces: Vec<Piece>, at: Millis) -> Result<(), StoreError> {
        if self.flows(&pieces) { self.take_batches(pieces, at).await } else { self.take_batch(pieces, at).await }
    }

    /// Whether a read is nothing but frames, and nothing holds them back or may move them.
    fn flows(&self, pieces: &[Piece]) -> bool {
        self.stream.held.is_empty()
            && !self.stream.awaits_page
            && !self.history.is_reading()
            && pieces.iter().all(|piece| !matches!(piece, Piece::Cursor(_)))
    }

    /// Takes a read in, and those that are there behind it: while some are folded, the next are being committed.
    async fn take_batches(&mut self, pieces: Vec<Piece>, at: Millis) -> Result<(), StoreError> {
        self.stream.hold_until = None;
        let mut next = Some(self.begin_reads(pieces, at, Room::default()));
        let mut room = Room::default();
        let mut shown = Instant::now();
        for turn in 1.. {
            let Some(Committing { appended, parsed, cursor, terminal }) = next.take() else { break };
            let appended = appended.await.map_err(|_| StoreError::Closed)??;
            if appended.frames.len() >= MANY {
                self.hub.frames_came();
            }
            if turn < READS_AT_ONCE && !self.is_full() {
                next = self.ready_read().map(|(pieces, at)| self.begin_reads(pieces, at, std::mem::take(&mut room)));
            }
            let taken;
            (taken, room) = self.committed(appended, parsed, cursor, terminal).await?;
            if taken.terminal {
                self.stream.terminal();
            }
            if next.is_some() && (self.fold.reducer.cannot_wait() || shown.elapsed() >= TEXT_INTERVAL) {
                self.publish(false).await?;
                shown = Instant::now();
            }
        }
        Ok(())
    }

    /// Begins the commit of a read together with all that came behind it meanwhile, up to a bound: under a flood one
    /// transaction then takes what came during the one before it, and a lone event still goes alone and at once.
    fn begin_reads(&mut self, pieces: Vec<Piece>, at: Millis, room: Room) -> Committing {
        let mut prepared = Prepared::within(room);
        let mut bytes = 0;
        let mut next = Some((pieces, at));
        while let Some((pieces, at)) = next {
            for piece in pieces {
                // Retry and comments: the connection obeyed them, and any byte was life. The others do not flow.
                let Piece::Frame(frame) = piece else { continue };
                bytes += frame.data.len();
                prepared.add(self.fold.codec.as_ref(), frame, Origin::Stream, self.position, at);
                self.position += 1;
            }
            next = if prepared.len() < TOGETHER_FRAMES && bytes < TOGETHER_BYTES { self.ready_read() } else { None };
        }
        self.begin(prepared)
    }

    /// The next read, if it is there already and flows.
    fn ready_read(&mut self) -> Option<(Vec<Piece>, Millis)> {
        if self.stream.ahead.is_some() {
            return None;
        }
        match self.stream.ready() {
            Some(Link::Batch { pieces, received_at }) if self.flows(&pieces) => Some((pieces, received_at)),
            other => {
                self.stream.ahead = other;
                None
            }
        }
    }

    async fn take_batch(&mut self, pieces: Vec<Piece>, at: Millis) -> Result<(), StoreError> {
        let mut frames = Vec::with_capacity(pieces.len());
        let mut moves = Vec::new();
        for piece in pieces {
            match piece {
                Piece::Frame(frame) => frames.push(frame),
                Piece::Cursor(id) => moves.push((frames.len(), id)),
                // The connection obeyed it, and any byte was life.
                Piece::Retry(_) | Piece::Comment => {}
            }
        }
        let held = &mut self.stream.held;
        let mut start = 0;
        let mut frames = frames.into_iter();
        for (index, id) in moves {
            held.hold(Held::Frames(frames.by_ref().take(index - start).collect(), at));
            held.hold(Held::Cursor(id));
            start = index;
        }
        held.hold(Held::Frames(frames.collect(), at));
        let waits = self.stream.awaits_page && self.history.is_reading() && self.stream.hold_until.is_some();
        if waits && !self.stream.held.is_full() {
            return Ok(());
        }
        self.drain_held().await
    }

    /// Takes in what was held back.
    pub(in crate::session) async fn drain_held(&mut self) -> Result<(), StoreError> {
        self.stream.hold_until = None;
        for held in self.stream.held.take() {
            // What finds no room comes again after the cursor, once there is some.
            if self.is_full() && self.can_wait() {
                break;
            }
            match held {
                Held::Frames(frames, at) if !frames.is_empty() => {
                    self.stream.overtaken |= self.stream.awaits_page;
                    if self.take_frames(frames, Origin::Stream, at).await?.terminal {
                        self.stream.terminal();
                    }
                }
                Held::Frames(..) => {}
                Held::Cursor(id) => self.move_cursor(id).await?,
            }
        }
        Ok(())
    }
}
