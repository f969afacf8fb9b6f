//! Where the events of one frame go, and the small events.

use contract::{
    event::{Event, EventBody, UsageScope},
    item::{Marker, MessageState, Notice, NoticeCode, NoticeLevel, Part, Role, Text},
    session::{SessionState, Usage},
    wire::Origin,
};

use crate::Seen;

/// Where the events of one frame go.
pub(crate) struct Told<'a> {
    turn: Option<String>,
    out: &'a mut Vec<Event>,
}

impl<'a> Told<'a> {
    pub(crate) fn new(turn: Option<String>, out: &'a mut Vec<Event>) -> Self {
        Self { turn, out }
    }

    pub(crate) fn turn(&self) -> Option<String> {
        self.turn.clone()
    }

    pub(crate) fn push(&mut self, body: EventBody) {
        self.out.push(Event { at: None, turn: self.turn.clone(), thread: None, body });
    }

    /// Says a state where it is another than before.
    pub(crate) fn status(&mut self, known: &mut SessionState, state: SessionState) {
        if *known != state {
            known.clone_from(&state);
            self.push(EventBody::Status(state));
        }
    }

    /// Says a state, known or not: others may have changed it meanwhile.
    pub(crate) fn status_again(&mut self, known: &mut SessionState, state: SessionState) {
        known.clone_from(&state);
        self.push(EventBody::Status(state));
    }

    pub(crate) fn message(&mut self, id: &str, role: Role, parts: Vec<Part>, state: MessageState) {
        self.push(EventBody::Message { id: id.to_owned(), replaces: None, role, parts, state });
    }

    pub(crate) fn marker(&mut self, id: String, marker: Marker) {
        self.push(EventBody::Marker { id, marker });
    }

    pub(crate) fn usage(&mut self, usage: Usage, scope: UsageScope) {
        if usage != Usage::default() {
            self.push(EventBody::Usage { usage, scope });
        }
    }
}

/// Asks for the session to be read again; what came from reading it would only come again.
pub(crate) fn reread(seen: Seen, cause: String, out: &mut Vec<Event>) {
    if seen.origin == Origin::Stream {
        Told::new(None, out).push(EventBody::Reread { cause });
    }
}

pub(crate) fn named(name: &str) -> String {
    if name.is_empty() { String::new() } else { format!(" ({name})") }
}

pub(crate) fn notice(id: String, level: NoticeLevel, code: NoticeCode, text: &str, detail: Option<&str>) -> EventBody {
    EventBody::Notice { id, notice: Notice { level, code, text: text.to_owned(), detail: detail.map(whole) } }
}

/// Text that is all there.
pub(crate) fn whole(text: &str) -> Text {
    Text { text: text.to_owned(), chars: text.chars().count() as u64, handle: None }
}

pub(crate) fn text_part(text: &str) -> Part {
    Part::Text(whole(text))
}

/// A picture: its base64 stands in the handle until the reducer keeps it.
pub(crate) fn image(media_type: &str, data: &str) -> Part {
    let padding = data.bytes().rev().take_while(|byte| *byte == b'=').count();
    // The decoded size, without decoding: four characters hold three bytes.
    let bytes = (data.len() / 4 * 3).saturating_sub(padding) as u64;
    Part::Image { media_type: media_type.to_owned(), handle: data.to_owned(), bytes }
}
