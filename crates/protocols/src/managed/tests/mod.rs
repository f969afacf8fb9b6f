//! Tests of the protocol through its traits: what is sent, and what frames become. A small view takes the events in the
//! way the session reducer does.

mod asks;
mod captures;
mod catalogue;
mod edges;
mod properties;
mod requests;
mod seed;
mod streaming;
mod view;

use std::sync::Arc;

use contract::{
    event::{Event, EventBody},
    server::ServerOptions,
    wire::{Cursor, Frame, FrameKind, Origin},
};

use self::view::View;
use crate::{Endpoint, Parsed, Protocol, Seen, SessionCodec, family};

/// A server at `base` with these options.
fn server(base: &str, options: ServerOptions) -> Arc<dyn Protocol> {
    family("managed").unwrap().speak(Endpoint { base: base.parse().unwrap(), options })
}

fn options(dialect: &str) -> ServerOptions {
    ServerOptions { dialect: Some(dialect.into()), ..ServerOptions::default() }
}

/// A session that is being followed.
struct Session {
    codec: Box<dyn SessionCodec>,
    view: View,
    position: i64,
    /// All events in order.
    events: Vec<Event>,
    /// The last buffered SSE id: what the log would keep as cursor.
    cursor: Option<Cursor>,
    /// Every frame is folded twice.
    twice: bool,
}

impl Session {
    fn of(dialect: &str) -> Self {
        let codec = server("http://127.0.0.1/v1", options(dialect)).codec();
        Self { codec, view: View::default(), position: 0, events: Vec::new(), cursor: None, twice: false }
    }

    fn qoder() -> Self {
        Self::of("qoder")
    }

    fn claude() -> Self {
        Self::of("claude")
    }

    /// A frame of the stream.
    fn frame(&mut self, frame: &Frame) -> FrameKind {
        self.position += 1;
        self.seen(frame, Origin::Stream, self.position)
    }

    fn seen(&mut self, frame: &Frame, origin: Origin, position: i64) -> FrameKind {
        let Parsed { kind, identity, terminal, body } = self.codec.parse(frame);
        if kind == FrameKind::Buffered {
            assert!(identity.is_some(), "a buffered frame needs an identity: {frame:?}");
            self.cursor = frame.id.clone().map(Cursor).or(self.cursor.take());
        }
        let mut out = Vec::new();
        let seen = Seen { origin, received_at: 0, position };
        self.codec.fold(Parsed { kind, identity, terminal, body }, seen, &mut out);
        if self.twice && kind == FrameKind::Buffered {
            self.codec.fold(self.codec.parse(frame), seen, &mut out);
        }
        for event in out {
            self.view.apply(&event, position);
            self.events.push(event);
        }
        kind
    }

    /// A frame with this name, SSE id (if not empty) and data.
    fn sse(&mut self, id: &str, name: &str, data: &str) -> FrameKind {
        let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        self.frame(&Frame { id: text(id), name: text(name), data: data.to_owned(), ..Frame::default() })
    }

    /// A frame whose name and SSE id are those of its data.
    fn say(&mut self, data: &str) -> &mut Self {
        self.frame(&framed(data));
        self
    }

    /// An event of a list page, at a place of its own.
    fn listed(&mut self, data: &str, position: i64) -> &mut Self {
        let frame = Frame { data: data.to_owned(), ..Frame::default() };
        self.seen(&frame, Origin::List, position);
        self
    }

    /// The server's answer to what was posted.
    fn posted(&mut self, data: &str) -> &mut Self {
        self.position += 1;
        let frame = Frame { data: data.to_owned(), ..Frame::default() };
        self.seen(&frame, Origin::Answer, self.position);
        self
    }

    /// Events of the last call that match.
    fn bodies(&self) -> Vec<&EventBody> {
        self.events.iter().map(|event| &event.body).collect()
    }

    fn lose_connection(&mut self) {
        let mut out = Vec::new();
        self.codec.connection_lost(&mut out);
        for event in out {
            self.view.apply(&event, self.position);
            self.events.push(event);
        }
    }
}

/// The frame of an event as a server sends it.
fn framed(data: &str) -> Frame {
    let value: serde_json::Value = serde_json::from_str(data).unwrap();
    let text = |value: Option<&serde_json::Value>| value.and_then(|value| value.as_str()).map(str::to_owned);
    let id = text(value.get("id"))
        .or_else(|| text(value.get("event_id")))
        .or_else(|| text(value.get("event").and_then(|event| event.get("id"))));
    Frame { id, name: text(value.get("type")), data: data.to_owned(), ..Frame::default() }
}
