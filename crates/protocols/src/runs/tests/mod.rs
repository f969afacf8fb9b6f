//! Tests of the protocol through its traits: what is sent, and what frames become. A small view takes the events in the
//! way the session reducer does.

mod asks;
mod captures;
mod checks;
mod ends;
mod history;
mod streaming;
mod view;

use std::sync::Arc;

use contract::{
    event::{Event, EventBody},
    server::ServerOptions,
    session::{QuestionMode, RunOptions},
    wire::{Frame, FrameKind, Origin, TooLarge},
};

use self::view::View;
use crate::{Endpoint, Opened, Protocol, Seen, SessionCodec, family};

const BASE: &str = "http://127.0.0.1:3290";

fn server() -> Arc<dyn Protocol> {
    family("runs").unwrap().speak(Endpoint { base: BASE.parse().unwrap(), options: ServerOptions::default() })
}

/// A session that is being followed.
struct Session {
    codec: Box<dyn SessionCodec>,
    view: View,
    position: i64,
    /// All events in order.
    events: Vec<Event>,
}

impl Session {
    fn new() -> Self {
        Self { codec: server().codec(), view: View::default(), position: 0, events: Vec::new() }
    }

    /// One whose first run goes on, asked for with what the app asks by default.
    fn running() -> Self {
        let mut session = Self::new();
        session.open("do it", RunOptions::default());
        session
    }

    fn open(&mut self, text: &str, options: RunOptions) -> &mut Self {
        let id = format!("ours{}", self.position);
        self.opened(&Opened::Message { id, text: text.to_owned(), images: Vec::new(), options })
    }

    fn open_declining(&mut self) -> &mut Self {
        self.open("do it", RunOptions { questions: QuestionMode::Decline, ..RunOptions::default() })
    }

    fn resume(&mut self) -> &mut Self {
        self.opened(&Opened::Resume { options: RunOptions::default() })
    }

    fn opened(&mut self, opened: &Opened) -> &mut Self {
        let seen = self.seen(Origin::Local);
        let mut out = Vec::new();
        self.codec.turn_opened(opened, seen, &mut out);
        self.keep(out)
    }

    fn seen(&mut self, origin: Origin) -> Seen {
        self.position += 1;
        Seen { origin, received_at: self.position * 1000, position: self.position }
    }

    fn keep(&mut self, out: Vec<Event>) -> &mut Self {
        for event in out {
            self.view.apply(&event);
            self.events.push(event);
        }
        self
    }

    fn frame(&mut self, frame: &Frame, origin: Origin) -> &mut Self {
        let seen = self.seen(origin);
        let parsed = self.codec.parse(frame);
        assert_eq!(parsed.kind == FrameKind::Buffered, parsed.identity.is_some(), "{frame:?}");
        let mut out = Vec::new();
        self.codec.fold(parsed, seen, &mut out);
        self.keep(out)
    }

    /// An `event` frame of the stream.
    fn say(&mut self, data: &str) -> &mut Self {
        self.named("event", data)
    }

    /// A frame of the stream with this name.
    fn named(&mut self, name: &str, data: &str) -> &mut Self {
        self.frame(&framed(name, data), Origin::Stream)
    }

    /// An answer to a check.
    fn check(&mut self, name: &str, body: &str) -> &mut Self {
        self.frame(&framed(name, body), Origin::Answer)
    }

    fn history(&mut self, body: &str) -> &mut Self {
        self.frame(&framed("history", body), Origin::History)
    }

    fn cut(&mut self, name: &str, beginning: &str) -> &mut Self {
        let frame = Frame { too_large: Some(TooLarge { bytes: 9_000_000 }), ..framed(name, beginning) };
        self.frame(&frame, Origin::Stream)
    }

    fn stopping(&mut self, is_asked_for: bool) -> &mut Self {
        self.codec.stopping(is_asked_for);
        self
    }

    fn lose_connection(&mut self) -> &mut Self {
        let mut out = Vec::new();
        self.codec.connection_lost(&mut out);
        self.keep(out)
    }

    /// What happened since the session had this many events.
    fn bodies_since(&self, count: usize) -> Vec<&EventBody> {
        self.events[count..].iter().map(|event| &event.body).collect()
    }
}

fn framed(name: &str, data: &str) -> Frame {
    Frame { name: Some(name.to_owned()), data: data.to_owned(), ..Frame::default() }
}

const TOOL: &str = r#"{"type":"tool_started","call_id":"call_1","name":"bash","arguments":{"command":"ls"}}"#;
const ASK: &str = r#"{"type":"approval_requested","call_id":"call_1","command":"ls","approved":null}"#;
const DONE: &str =
    r#"{"type":"tool_finished","call_id":"call_1","name":"bash","output":"a\n","ok":true,"skipped":false}"#;
const RESULT: &str =
    r#"{"text":"","session_id":"s","usage":{},"tools":[],"stop":null,"stop_message":null,"questions":[]}"#;

fn text(words: &str) -> String {
    serde_json::json!({"type": "text_delta", "text": words}).to_string()
}
