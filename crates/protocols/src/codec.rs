//! Frames to domain events, in two steps.

use std::any::Any;

use contract::{
    Millis,
    command::SentImage,
    event::Event,
    request::{ChoiceKind, RequestId},
    session::RunOptions,
    wire::{Frame, FrameKind, Identity, Origin},
};

/// A frame as its protocol reads it, before it touches any state.
pub struct Parsed {
    /// What it is to the log.
    pub kind: FrameKind,
    /// Its identity, where it has one.
    pub identity: Option<Identity>,
    /// After this frame the stream will say nothing more, ever.
    pub terminal: bool,
    /// The protocol's own form of it, given back to [`SessionCodec::fold`].
    pub body: Body,
}

/// A protocol's own form of a frame.
pub type Body = Box<dyn Any + Send>;

/// How a frame was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    /// Where it came from.
    pub origin: Origin,
    /// When it was received.
    pub received_at: Millis,
    /// Its place in the transcript: items made from it are ordered by it.
    pub position: i64,
}

/// What started a turn whose stream is the answer to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Opened {
    /// A message of the person.
    Message {
        /// Its id here: unique for ever.
        id: String,
        /// Its text.
        text: String,
        /// Images that went with it.
        images: Vec<SentImage>,
        /// How the run was asked for.
        options: RunOptions,
    },
    /// A run is taken up again.
    Resume {
        /// How it was asked for.
        options: RunOptions,
    },
    /// The answers to all that the turn had asked: the same turn goes on.
    Answers {
        /// Each request with what was chosen and the reason given. The requests themselves are settled by the app.
        answers: Vec<(RequestId, ChoiceKind, Option<String>)>,
    },
}

/// Turns the frames of one session into domain events. Holds the fold's state: open drafts, the current turn, open calls.
pub trait SessionCodec: Send + Sync {
    /// Reads a frame. Changes nothing and never fails: what cannot be read becomes a body that folds to a notice
    /// (and, where the frame should have been an event, to `EventBody::Reread`).
    fn parse(&self, frame: &Frame) -> Parsed;

    /// Takes a parsed frame into the running state and appends what it means. An event that is folded again (the
    /// same id with new content) must upsert, not repeat.
    fn fold(&mut self, parsed: Parsed, seen: Seen, out: &mut Vec<Event>);

    /// We start a turn whose stream begins now, with this; the server will not echo it. Protocols that echo ignore it.
    fn turn_opened(&mut self, opened: &Opened, seen: Seen, out: &mut Vec<Event>) {
        let _ = (opened, seen, out);
    }

    /// The person asked to stop the turn that runs, or (`false`) the server did not take that. A text that is being
    /// written when a turn ends that was asked to stop was cut off, whatever its last frame says.
    fn stopping(&mut self, is_asked_for: bool) {
        let _ = is_asked_for;
    }

    /// The stream broke: drafts are dropped, since a replay will rebuild them or the whole message will come.
    fn connection_lost(&mut self, out: &mut Vec<Event>);
}
