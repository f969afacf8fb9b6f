//! Frames in: parsed, committed with the cursor they move, and only then folded and shown.

use contract::{
    Millis,
    request::{ChoiceKind, DecidedBy, Fate, RequestKind},
    session::{StopReason, StopState},
    wire::{Cursor, Frame, FrameKind, LoggedFrame, Origin},
};
use protocols::{Parsed, SessionCodec};
use store::{Appended, CursorMove, NewDecision, Outcome, StoreError};
use tokio::{
    task::JoinHandle,
    time::{Duration, Instant},
};

use super::{
    local::LocalRecord,
    reduce::{Effects, requests::SettledElsewhere},
    task::SessionTask,
};

/// How long a waiting session may stand without a card (P-18).
const FALLBACK_AFTER: Duration = Duration::from_secs(2);

/// How a batch of frames was taken in.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Taken {
    /// Buffered events that were new.
    pub new: u32,
    /// Buffered events known before.
    pub known: u32,
    /// After one of them the stream says nothing more.
    pub terminal: bool,
}

/// Frames that were read and not committed.
pub(super) struct Prepared {
    logged: Vec<LoggedFrame>,
    parsed: Vec<Option<Parsed>>,
    cursor: CursorMove,
    terminal: bool,
}

impl Prepared {
    /// Nothing yet, in the memory of a batch that is done with.
    pub(super) fn within(Room { logged, parsed }: Room) -> Self {
        Self { logged, parsed, cursor: CursorMove::Keep, terminal: false }
    }

    pub(super) fn len(&self) -> usize {
        self.logged.len()
    }

    pub(super) fn add(&mut self, codec: &dyn SessionCodec, frame: Frame, origin: Origin, position: i64, at: Millis) {
        let mut read = codec.parse(&frame);
        self.terminal |= read.terminal;
        // Only what the stream itself sent, and only what it will not send again, moves the cursor.
        if origin == Origin::Stream && read.kind == FrameKind::Buffered {
            match frame.id.as_deref() {
                Some("") => self.cursor = CursorMove::Clear,
                Some(id) => match &mut self.cursor {
                    CursorMove::To(to) => id.clone_into(&mut to.0),
                    CursorMove::Keep | CursorMove::Clear => self.cursor = CursorMove::To(Cursor(id.to_owned())),
                },
                None => {}
            }
        }
        self.logged.push(LoggedFrame {
            frame,
            origin,
            kind: read.kind,
            identity: read.identity.take(),
            position,
            received_at: at,
        });
        self.parsed.push(Some(read));
    }
}

/// The memory of a batch, to be used for another: under a flood each is some hundred kilobytes.
#[derive(Default)]
pub(super) struct Room {
    logged: Vec<LoggedFrame>,
    parsed: Vec<Option<Parsed>>,
}

/// Frames on their way into the log: nothing of them is shown before `appended` says that they are there.
pub(super) struct Committing {
    pub appended: JoinHandle<Result<Appended, StoreError>>,
    pub parsed: Vec<Option<Parsed>>,
    pub cursor: CursorMove,
    pub terminal: bool,
}

impl SessionTask {
    /// Takes live frames in, in the order of their arrival.
    pub(super) async fn take_frames(
        &mut self,
        frames: Vec<Frame>,
        origin: Origin,
        at: Millis,
    ) -> Result<Taken, StoreError> {
        let first = self.position;
        self.position += i64::try_from(frames.len()).unwrap_or(i64::MAX);
        self.take_at(frames, origin, at, first).await
    }

    /// Takes frames in at positions that count up from `first`.
    pub(super) async fn take_at(
        &mut self,
        frames: Vec<Frame>,
        origin: Origin,
        at: Millis,
        first: i64,
    ) -> Result<Taken, StoreError> {
        let mut prepared = Prepared::within(Room::default());
        for (frame, position) in frames.into_iter().zip(first..) {
            prepared.add(self.fold.codec.as_ref(), frame, origin, position, at);
        }
        self.commit(prepared).await
    }

    /// Begins the commit of live frames that were read.
    pub(super) fn begin(&mut self, prepared: Prepared) -> Committing {
        let Prepared { logged, parsed, cursor, terminal } = prepared;
        let (store, id, to) = (self.hub.store.clone(), self.id, cursor.clone());
        let appended = tokio::spawn(async move { store.append(id, logged, to).await });
        Committing { appended, parsed, cursor, terminal }
    }

    /// Writes down something of our own, and shows it.
    pub(super) async fn take_local(&mut self, record: &LocalRecord, position: Option<i64>) -> Result<(), StoreError> {
        let position = position.unwrap_or_else(|| {
            self.position += 1;
            self.position - 1
        });
        let frame = record.frame(position, self.now());
        let prepared = Prepared { logged: vec![frame], parsed: vec![None], cursor: CursorMove::Keep, terminal: false };
        self.commit(prepared).await.map(|_| ())
    }

    /// Writes down something of our own that began at this time, and shows it.
    pub(super) async fn take_local_of(&mut self, record: &LocalRecord, at: Millis) -> Result<(), StoreError> {
        let frame = record.frame(self.position, at);
        self.position += 1;
        let prepared = Prepared { logged: vec![frame], parsed: vec![None], cursor: CursorMove::Keep, terminal: false };
        self.commit(prepared).await.map(|_| ())
    }

    /// Writes down something of our own that shows nothing; the next reading of the log finds it.
    pub(super) async fn note(&mut self, record: &LocalRecord) -> Result<(), StoreError> {
        let frame = record.frame(self.position, self.now());
        self.position += 1;
        let appended = self.hub.store.append(self.id, vec![frame], CursorMove::Keep).await?;
        self.log_seq = self.log_seq.max(appended.log_seq);
        Ok(())
    }

    /// The server's echoes of what we sent. The stream will bring the same ids.
    pub(super) async fn take_echoes(&mut self, echoes: Vec<String>) -> Result<(), StoreError> {
        if echoes.is_empty() {
            return Ok(());
        }
        let frames = echoes.into_iter().map(|data| Frame { data, ..Frame::default() }).collect();
        let now = self.now();
        self.take_frames(frames, Origin::Answer, now).await.map(|_| ())
    }

    /// Moves the cursor without a frame (an `id:` of its own).
    pub(super) async fn move_cursor(&mut self, id: String) -> Result<(), StoreError> {
        let to = if id.is_empty() { CursorMove::Clear } else { CursorMove::To(Cursor(id)) };
        let prepared = Prepared { logged: Vec::new(), parsed: Vec::new(), cursor: to, terminal: false };
        self.commit(prepared).await.map(|_| ())
    }

    async fn commit(&mut self, prepared: Prepared) -> Result<Taken, StoreError> {
        let Prepared { logged, parsed, cursor, terminal } = prepared;
        let appended = self.hub.store.append(self.id, logged, cursor.clone()).await?;
        self.committed(appended, parsed, cursor, terminal).await.map(|(taken, _)| taken)
    }

    /// Takes in what was committed; gives its memory back.
    pub(super) async fn committed(
        &mut self,
        appended: Appended,
        mut parsed: Vec<Option<Parsed>>,
        cursor: CursorMove,
        terminal: bool,
    ) -> Result<(Taken, Room), StoreError> {
        let mut taken = Taken { terminal, ..Taken::default() };
        let mut bytes = 0;
        self.log_seq = self.log_seq.max(appended.log_seq);
        let cursor = match cursor {
            CursorMove::Keep => None,
            CursorMove::To(to) => Some(Some(to)),
            CursorMove::Clear => Some(None),
        };
        if let Some(to) = cursor.filter(|to| *to != self.cursor) {
            self.cursor = to;
            self.fold.reducer.touch_header_soon();
        }
        self.stream.committed(self.cursor.clone());
        let Appended { frames: mut logged, outcomes, .. } = appended;
        for ((frame, parsed), outcome) in logged.iter().zip(parsed.drain(..)).zip(outcomes) {
            let buffered = frame.kind == FrameKind::Buffered;
            match outcome {
                Outcome::Same => {
                    taken.known += u32::from(buffered);
                    continue;
                }
                Outcome::Changed => taken.known += u32::from(buffered),
                Outcome::New => taken.new += u32::from(buffered),
            }
            bytes += frame.frame.data.len() as u64;
            self.fold.take(frame, parsed);
        }
        logged.clear();
        self.kept.add(bytes);
        self.take_effects().await?;
        Ok((taken, Room { logged, parsed }))
    }

    /// Does what the reducer asks for.
    pub(super) async fn take_effects(&mut self) -> Result<(), StoreError> {
        let Effects { reread, elsewhere, turn_ended, look, unexplained, ended, arrived, rearranged } =
            self.fold.reducer.take_effects();
        self.save_all |= rearranged;
        self.record_elsewhere(elsewhere).await?;
        self.settle_seen().await?;
        self.look_at_new_requests();
        self.refuse_waiting().await?;
        for (local, _) in arrived {
            self.steered.remove(&local);
            self.uncertain.remove(&local);
            self.outbox.retain(|message| message.id != local);
            self.hub.store.remove_outbox(self.id, local).await?;
        }
        if unexplained {
            self.fallback_at.get_or_insert_with(|| Instant::now() + FALLBACK_AFTER);
        } else if self.fold.reducer.requests.unexplained().is_empty() {
            self.fallback_at = None;
        }
        if reread {
            self.read_history();
        }
        // What was read from the history was in the list long ago.
        if let Some(link) = self.link.as_ref().filter(|_| look && self.stream.is_live()) {
            link.look.notify_one();
        }
        if let Some(stop) = turn_ended {
            // What was written after a turn was let go waits for its end, whatever that is.
            let let_go = matches!(self.fold.reducer.stop, StopState::LetGo { .. });
            self.hold_queue_unless(let_go || stop == StopReason::EndTurn).await?;
        }
        if ended {
            self.record.ended = self.fold.reducer.closed;
        }
        self.flush_outbox().await
    }

    /// Writes down what others decided.
    pub(super) async fn record_elsewhere(&mut self, settled: Vec<SettledElsewhere>) -> Result<(), StoreError> {
        if settled.is_empty() {
            return Ok(());
        }
        let known = self.hub.store.decisions(Some(self.id), super::deliver::ALL_ROWS).await?;
        for done in settled {
            let Some(request) = self.fold.reducer.requests.get(&done.request) else { continue };
            if known.iter().any(|row| row.request == done.request) {
                continue;
            }
            let decision = NewDecision {
                session: self.id,
                request: done.request.clone(),
                at: done.at,
                by: if done.expired { DecidedBy::Expiry } else { DecidedBy::Elsewhere },
                choice: done.choice.unwrap_or_else(|| nobodys_choice(request.kind, done.expired)),
                tool: request.tool.clone(),
                subject: super::deliver::subject(request),
                reason: done.reason,
                digest: request.digest.clone(),
                waited_ms: u64::try_from(done.at - request.asked_at).unwrap_or(0),
                outgoing: None,
                key: String::new(),
                fate: Fate::Accepted,
            };
            let number = self.hub.store.record_decision(decision).await?;
            self.show_decision(number).await?;
        }
        Ok(())
    }
}

/// What the ledger says of an answer that was never told. A server whose time runs out refuses.
fn nobodys_choice(kind: RequestKind, expired: bool) -> ChoiceKind {
    match (kind, expired) {
        (RequestKind::Question, true) => ChoiceKind::Decline,
        (_, true) => ChoiceKind::Deny,
        (_, false) => ChoiceKind::Answer,
    }
}
