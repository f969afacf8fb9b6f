//! From logged frames to domain events to the reducer: the one path for live frames and for the log.

use contract::{
    event::{Event, EventBody},
    wire::{LoggedFrame, Origin},
};
use protocols::{Parsed, Seen, SessionCodec};
use store::{FrameReader, StoreError};

use super::{
    local::LocalRecord,
    reduce::{Place, Reducer},
};

/// A session's codec and reducer: everything its frames make.
pub struct Fold {
    /// The protocol's running state.
    pub codec: Box<dyn SessionCodec>,
    /// The items and requests.
    pub reducer: Reducer,
    /// A turn of ours began whose stream is the answer to what began it, and neither its end nor a drop came since.
    pub open_turn: bool,
    events: Vec<Event>,
}

impl Fold {
    /// An empty fold.
    #[must_use]
    pub fn new(codec: Box<dyn SessionCodec>, reducer: Reducer) -> Self {
        Self { codec, reducer, open_turn: false, events: Vec::new() }
    }

    /// Takes one committed frame in.
    pub fn take(&mut self, logged: &LoggedFrame, parsed: Option<Parsed>) {
        self.events.clear();
        let seen = Seen { origin: logged.origin, received_at: logged.received_at, position: logged.position };
        if logged.origin == Origin::Local {
            if let Some(record) = LocalRecord::read(&logged.frame) {
                match record {
                    LocalRecord::StopRequested { ends_turn } => {
                        self.reducer.stop_requested(logged.received_at, ends_turn);
                    }
                    LocalRecord::StopRefused => self.reducer.stop_refused(),
                    LocalRecord::StopConfirmed => self.reducer.stop_confirmed(logged.received_at, logged.position),
                    LocalRecord::TurnOpened { .. } => self.open_turn = true,
                    LocalRecord::Dropped { .. } => self.open_turn = false,
                    LocalRecord::Resumed { .. } | LocalRecord::Gap { .. } | LocalRecord::FallbackCards { .. } => {}
                }
                record.fold(self.codec.as_mut(), seen, &mut self.events);
            }
        } else {
            let parsed = parsed.unwrap_or_else(|| self.codec.parse(&logged.frame));
            self.codec.fold(parsed, seen, &mut self.events);
        }
        let place = Place { received_at: logged.received_at, position: logged.position };
        for event in self.events.drain(..) {
            self.open_turn &= !matches!(event.body, EventBody::TurnEnded { .. });
            self.reducer.apply(event, place);
        }
    }

    /// Takes the whole log in. Gives the log mark it stands at.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub async fn replay(&mut self, mut frames: FrameReader) -> Result<i64, StoreError> {
        while let Some(page) = frames.next().await? {
            for logged in &page {
                self.take(logged, None);
            }
            // A long log must not hold up the other sessions' tasks.
            tokio::task::yield_now().await;
        }
        Ok(frames.log_seq())
    }
}
