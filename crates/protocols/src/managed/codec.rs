//! Frames of one session to domain events.

use contract::event::{Event, EventBody};
use contract::wire::{Frame, FrameKind};

use super::dialect::Dialect;
use crate::{Parsed, Seen, SessionCodec};

/// The codec of one session.
pub(super) struct Codec;

impl Codec {
    pub(super) fn new(_dialect: &'static Dialect) -> Self {
        Self
    }
}

impl SessionCodec for Codec {
    fn parse(&self, frame: &Frame) -> Parsed {
        Parsed { kind: FrameKind::Control, identity: None, terminal: false, body: Box::new(frame.data.clone()) }
    }

    fn fold(&mut self, parsed: Parsed, seen: Seen, out: &mut Vec<Event>) {
        if let Ok(raw) = parsed.body.downcast::<String>() {
            let id = format!("frame:{}", seen.position);
            out.push(Event {
                at: None,
                turn: None,
                thread: None,
                body: EventBody::Unknown { id, what: String::new(), raw: *raw },
            });
        }
    }

    fn connection_lost(&mut self, _out: &mut Vec<Event>) {}
}
