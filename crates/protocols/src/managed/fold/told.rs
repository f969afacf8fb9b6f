//! Where the events of one frame go, and the events that need no state.

use contract::{
    event::{Event, EventBody},
    item::{Marker, MessageState, Notice, NoticeCode, NoticeLevel, Part, Role},
    session::StopReason,
    wire::{Origin, TooLarge},
};

use super::super::{calls::cut_seed, parts::whole};
use crate::Seen;

/// Where the events of one frame go.
pub(super) struct Told<'a> {
    pub(super) at: Option<i64>,
    pub(super) turn: Option<String>,
    pub(super) thread: Option<String>,
    pub(super) out: &'a mut Vec<Event>,
}

impl Told<'_> {
    pub(super) fn push(&mut self, body: EventBody) {
        self.out.push(Event { at: self.at, turn: self.turn.clone(), thread: self.thread.clone(), body });
    }

    /// The frame's last event: takes its turn along instead of copying it.
    pub(super) fn push_last(&mut self, body: EventBody) {
        let (turn, thread) = (self.turn.take(), self.thread.take());
        self.out.push(Event { at: self.at, turn, thread, body });
    }

    pub(super) fn extend(&mut self, bodies: Vec<EventBody>) {
        for body in bodies {
            self.push(body);
        }
    }
}

/// The end of a turn that is not the running one: only its line, and only where it says something.
pub(super) fn end_marker(stop: StopReason, seen: Seen, told: &mut Told<'_>) {
    if !matches!(stop, StopReason::EndTurn | StopReason::RequiresAction) {
        let id = format!("end@{}", seen.position);
        told.push(EventBody::Marker { id, marker: Marker::TurnEnd { stop } });
    }
}

pub(super) fn cut(
    id: String,
    name: &str,
    tool: Option<String>,
    size: TooLarge,
    beginning: &str,
    seen: Seen,
    out: &mut Vec<Event>,
) {
    let text = format!(
        "An event{} of {} bytes is over this server's cap; only its beginning is kept.",
        named(name),
        size.bytes
    );
    let level = NoticeLevel::Warning;
    out.push(plain(notice(format!("cut:{id}"), level, NoticeCode::TooLarge, &text, Some(beginning))));
    let is_client = name == "agent.custom_tool_use";
    if is_client || matches!(name, "agent.tool_use" | "agent.mcp_tool_use") {
        out.push(plain(EventBody::Request(Box::new(cut_seed(&id, tool, is_client, beginning)))));
    }
    reread(seen, text, out);
}

/// Asks for the session to be read again; what came from reading it would only come again.
pub(super) fn reread(seen: Seen, cause: String, out: &mut Vec<Event>) {
    if seen.origin == Origin::Stream {
        out.push(plain(EventBody::Reread { cause }));
    }
}

pub(super) fn named(name: &str) -> String {
    if name.is_empty() { String::new() } else { format!(" ({name})") }
}

pub(super) fn plain(body: EventBody) -> Event {
    Event { at: None, turn: None, thread: None, body }
}

pub(super) fn notice(id: String, level: NoticeLevel, code: NoticeCode, text: &str, detail: Option<&str>) -> EventBody {
    EventBody::Notice { id, notice: Notice { level, code, text: text.to_owned(), detail: detail.map(whole) } }
}

pub(super) fn message(id: String, role: Role, parts: Vec<Part>, state: MessageState) -> EventBody {
    EventBody::Message { id, replaces: None, role, parts, state }
}
