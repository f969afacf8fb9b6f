//! Tests of the protocol through its traits: what is sent, and what frames become. A small view takes the events in the
//! way the session reducer does.

mod asks;
mod captures;
mod history;
mod inbox;
mod stops;
mod streaming;
mod view;

use std::sync::Arc;

use contract::{
    event::Event,
    request::ChoiceKind,
    server::ServerOptions,
    session::RunOptions,
    wire::{Frame, FrameKind, Origin},
};

use self::view::View;
use crate::{Endpoint, Opened, Protocol, Seen, SessionCodec, family};

const BASE: &str = "https://agents.test/v1";

fn server(dialect: &str) -> Arc<dyn Protocol> {
    server_with(ServerOptions { dialect: Some(dialect.to_owned()), ..ServerOptions::default() })
}

fn server_with(options: ServerOptions) -> Arc<dyn Protocol> {
    family("turns").unwrap().speak(Endpoint { base: BASE.parse().unwrap(), options })
}

/// A session with two client tools, a trusted tool and one that is asked about.
const SESSION: &str = r#"{"sessionId":"s1","agent":{"name":"helper","tools":[{"name":"clock","trust":true},{"name":"write_note"}],"options":{"tone":"dry","key":"***"}},"tools":[{"name":"calc","description":"","parameters":{}},{"name":"pick","description":"","parameters":{}},{"name":"ask_user","description":"","parameters":{}},{"name":"open_link","description":"","parameters":{}}]}"#;

/// A session that is being followed.
struct Session {
    codec: Box<dyn SessionCodec>,
    view: View,
    position: i64,
    /// All events in order.
    events: Vec<Event>,
}

impl Session {
    fn speaking(dialect: &str) -> Self {
        Self { codec: server(dialect).codec(), view: View::default(), position: 0, events: Vec::new() }
    }

    /// One of v3 that was read.
    fn new() -> Self {
        let mut session = Self::speaking("v3");
        session.check("session", SESSION);
        session
    }

    /// One whose first turn goes on.
    fn running() -> Self {
        let mut session = Self::new();
        session.open("do it");
        session
    }

    fn open(&mut self, text: &str) -> &mut Self {
        let id = format!("ours{}", self.position);
        let (text, images, options) = (text.to_owned(), Vec::new(), RunOptions::default());
        self.opened(&Opened::Message { id, text, images, options })
    }

    fn answer(&mut self, answers: &[(&str, ChoiceKind, Option<&str>)]) -> &mut Self {
        let answers = answers
            .iter()
            .map(|(request, choice, reason)| ((*request).to_owned(), *choice, reason.map(str::to_owned)))
            .collect();
        self.opened(&Opened::Answers { answers })
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

    /// A frame of the stream with this name.
    fn say(&mut self, name: &str, data: &str) -> &mut Self {
        self.frame(&framed(name, data), Origin::Stream)
    }

    /// An answer to a check.
    fn check(&mut self, name: &str, body: &str) -> &mut Self {
        self.frame(&framed(name, body), Origin::Answer)
    }

    fn history(&mut self, messages: &str) -> &mut Self {
        self.frame(&framed("history", &format!(r#"{{"history":{{"full":{messages}}}}}"#)), Origin::History)
    }

    fn lose_connection(&mut self) -> &mut Self {
        let mut out = Vec::new();
        self.codec.connection_lost(&mut out);
        self.keep(out)
    }
}

fn framed(name: &str, data: &str) -> Frame {
    Frame { name: Some(name.to_owned()), data: data.to_owned(), ..Frame::default() }
}

fn stop(reason: &str) -> String {
    format!(r#"{{"stopReason":"{reason}"}}"#)
}

fn call(id: &str, name: &str, input: &str) -> String {
    format!(r#"{{"toolCallId":"{id}","name":"{name}","input":{input}}}"#)
}
