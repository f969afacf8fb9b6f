//! From logged frames to domain events to the reducer: the one path for live frames and for the log.

use contract::{
    event::Event,
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
    events: Vec<Event>,
}

impl Fold {
    /// An empty fold.
    #[must_use]
    pub fn new(codec: Box<dyn SessionCodec>, reducer: Reducer) -> Self {
        Self { codec, reducer, events: Vec::new() }
    }

    /// Takes one committed frame in.
    pub fn take(&mut self, logged: &LoggedFrame, parsed: Option<Parsed>) {
        self.events.clear();
        if logged.origin == Origin::Local {
            if let Some(record) = LocalRecord::read(&logged.frame) {
                match record {
                    LocalRecord::StopRequested => self.reducer.stop_requested(logged.received_at),
                    LocalRecord::StopRefused => self.reducer.stop_refused(),
                    LocalRecord::StopConfirmed => self.reducer.stop_confirmed(logged.received_at),
                    LocalRecord::Dropped { .. }
                    | LocalRecord::Resumed { .. }
                    | LocalRecord::Gap { .. }
                    | LocalRecord::FallbackCards { .. } => {}
                }
                record.fold(self.codec.as_mut(), logged.position, &mut self.events);
            }
        } else {
            let parsed = parsed.unwrap_or_else(|| self.codec.parse(&logged.frame));
            let seen = Seen { origin: logged.origin, received_at: logged.received_at, position: logged.position };
            self.codec.fold(parsed, seen, &mut self.events);
        }
        let place = Place { received_at: logged.received_at, position: logged.position };
        for event in self.events.drain(..) {
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
