//! The codec of one session: [`parse`](super::parse) reads, [`Fold`] takes in.

use contract::{event::Event, wire::Frame};

use super::{
    dialect::Dialect,
    fold::Fold,
    parse::{self, Read},
};
use crate::{Parsed, Seen, SessionCodec};

/// The codec of one session.
#[derive(Debug)]
pub(super) struct Codec {
    fold: Fold,
}

impl Codec {
    pub(super) fn new(dialect: &'static Dialect) -> Self {
        Self { fold: Fold::new(dialect) }
    }
}

impl SessionCodec for Codec {
    fn parse(&self, frame: &Frame) -> Parsed {
        parse::parse(frame)
    }

    fn fold(&mut self, parsed: Parsed, seen: Seen, out: &mut Vec<Event>) {
        // A body of another protocol's codec cannot get here: the engine keeps one codec per session.
        if let Ok(read) = parsed.body.downcast::<Read>() {
            self.fold.take(*read, seen, out);
        }
    }

    fn connection_lost(&mut self, out: &mut Vec<Event>) {
        self.fold.connection_lost(out);
    }
}
