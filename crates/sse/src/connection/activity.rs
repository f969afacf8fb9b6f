//! What a connection does at the moment, and what can come of it.

use std::time::Duration;

use futures_util::{FutureExt, StreamExt, future::BoxFuture};
use tokio::time::{Instant, sleep_until};

use super::{BATCH, Command};
use crate::{
    client::{BodyError, ByteStream, OpenError},
    frame::{Piece, Splitter},
    reconnect::Input,
};

/// Room for so many pieces is made beforehand at most: reads wait in a queue with the room they have.
const USUAL_MOST: usize = 256;

pub(super) enum Activity {
    Opening(BoxFuture<'static, Result<ByteStream, OpenError>>),
    Reading(Box<Reading>),
    Waiting(Instant),
    Holding,
}

pub(super) enum Happened {
    Command(Command),
    NoMoreCommands,
    Tick,
    Due,
    Answer(Result<ByteStream, OpenError>),
    Read(Read),
    Silent(Duration),
}

/// What one read gave.
pub(super) struct Read {
    pub(super) pieces: Vec<Piece>,
    /// How the stream ended, where it did.
    pub(super) end: Option<Input>,
}

impl Activity {
    /// Waits for what comes of it. Nothing is lost when the wait is given up.
    pub(super) async fn next(&mut self, silence: Option<Duration>) -> Happened {
        match self {
            Self::Opening(answer) => Happened::Answer(answer.await),
            Self::Reading(reading) => reading.next(silence).await,
            Self::Waiting(until) => {
                sleep_until(*until).await;
                Happened::Due
            }
            Self::Holding => std::future::pending().await,
        }
    }
}

pub(super) struct Reading {
    body: ByteStream,
    splitter: Splitter,
    last_byte: Instant,
    /// How many pieces the last read gave: the next is likely to give as many.
    usual: usize,
    /// How many limits of silence since the last byte were told already.
    told: u32,
}

impl Reading {
    pub(super) fn new(body: ByteStream, event_cap: usize) -> Self {
        Self { body, splitter: Splitter::new(event_cap), last_byte: Instant::now(), usual: 0, told: 0 }
    }

    /// Counts silence from now on.
    pub(super) fn alive(&mut self) {
        self.last_byte = Instant::now();
        self.told = 0;
    }

    /// Ends the stream; the answer is how many bytes of an unfinished block were dropped.
    pub(super) fn finish(self) -> u64 {
        self.splitter.finish()
    }

    async fn next(&mut self, silence: Option<Duration>) -> Happened {
        let (last_byte, told) = (self.last_byte, self.told);
        let silent = async {
            match silence {
                Some(limit) => sleep_until(last_byte + limit * (told + 1)).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            chunk = self.body.next() => self.read(chunk),
            () = silent => {
                self.told += 1;
                Happened::Silent(last_byte.elapsed())
            }
        }
    }

    /// Takes a chunk and whatever else is there already, up to one batch.
    fn read(&mut self, first: Option<Result<bytes::Bytes, BodyError>>) -> Happened {
        self.alive();
        let mut pieces = Vec::with_capacity(self.usual.min(USUAL_MOST));
        let mut size = 0;
        let mut next = Some(first);
        let end = loop {
            match next {
                None => break None,
                Some(None) => break Some(Input::Closed),
                Some(Some(Err(error))) => break Some(Input::Broken { detail: error.detail().to_owned() }),
                Some(Some(Ok(chunk))) => {
                    size += chunk.len();
                    if let Err(error) = self.splitter.push(&chunk, &mut pieces) {
                        break Some(Input::Broken { detail: error.to_string() });
                    }
                }
            }
            next = if size < BATCH { self.body.next().now_or_never() } else { None };
        };
        self.usual = pieces.len();
        Happened::Read(Read { pieces, end })
    }
}
