//! Frame to what it says. Reads only; never fails (page §4).
//!
//! Whole things have an identity: an input and a history entry share their id, and what a stream replays after a connect
//! is known again by it. Texts as they come have none: a message that begins again is written anew.

use contract::{
    Millis,
    wire::{Frame, FrameKind, Identity, TooLarge},
};

use crate::{
    Parsed,
    json::Fields,
    times,
    turns::{
        agents::{self, Agent},
        session_object::SessionObject,
        wire::{self, Block, Called, Output, Said},
    },
};

/// A frame in this protocol's own form.
#[derive(Debug)]
pub(in crate::turns) struct Read {
    pub at: Option<Millis>,
    pub form: Form,
    pub name: String,
    pub raw: String,
    pub repaired: bool,
}

/// What a frame is.
#[derive(Debug)]
pub(in crate::turns) enum Form {
    /// The echo of an input, whoever sent it.
    Said {
        id: String,
        blocks: Vec<Block>,
    },
    /// The echo of an answer.
    Answered {
        call: String,
        granted: Option<bool>,
        reason: Option<String>,
        output: Option<Output>,
    },
    Cancelled,
    Began {
        id: String,
    },
    Text(String),
    Thinking(String),
    Ended {
        id: String,
    },
    WholeText {
        id: String,
        text: String,
    },
    WholeThinking {
        id: String,
        text: String,
    },
    Call(Called),
    Result {
        call: String,
        output: Output,
    },
    Error {
        code: Option<String>,
        message: String,
    },
    Idle,
    /// One entry of the history.
    Entry {
        id: String,
        said: Said,
    },
    Session(Box<SessionObject>),
    Agent(Option<Box<Agent>>),
    Nothing,
    Unknown,
    Unreadable {
        cause: String,
    },
    Cut {
        size: TooLarge,
    },
}

/// Reads a frame.
pub(in crate::turns) fn parse(frame: &Frame) -> Parsed {
    let name = frame.name.as_deref().unwrap_or("entry");
    let (form, at) = form(frame, name);
    let event_id = match &form {
        Form::Said { id, .. } | Form::Entry { id, .. } | Form::WholeText { id, .. } => Some(id.clone()),
        Form::WholeThinking { id, .. } => Some(format!("{id}.thinking")),
        Form::Call(called) => Some(format!("{}.call", called.call)),
        Form::Result { call, .. } => Some(format!("{call}.result")),
        _ => None,
    };
    let identity = event_id.map(|event_id| Identity { event_id, thread: None });
    let kind = if identity.is_some() { FrameKind::Buffered } else { FrameKind::Control };
    let read = Read { at, form, name: name.to_owned(), raw: frame.data.clone(), repaired: frame.repaired };
    Parsed { kind, identity, terminal: false, body: Box::new(read) }
}

fn form(frame: &Frame, name: &str) -> (Form, Option<Millis>) {
    if let Some(size) = frame.too_large {
        return (Form::Cut { size }, None);
    }
    let data = frame.data.trim_matches(|c: char| c.is_ascii_whitespace());
    if data.is_empty() {
        return (if name == "idle" { Form::Idle } else { Form::Nothing }, None);
    }
    let fields = match Fields::read(data) {
        Ok(fields) => fields,
        Err(cause) => return (Form::Unreadable { cause: cause.to_string() }, None),
    };
    let at = fields.text("timestamp").and_then(|text| times::millis(&text));
    (read(&fields, name, data), at)
}

fn read(fields: &Fields<'_>, name: &str, data: &str) -> Form {
    let text = |name: &str| fields.text(name).map(std::borrow::Cow::into_owned).unwrap_or_default();
    let id = fields.number_or_text("id");
    let with =
        |form: fn(String, String) -> Form, name: &str| id.clone().map_or(Form::Unknown, |id| form(id, text(name)));
    match name {
        "input" => input(fields, id),
        "message_start" => id.map_or(Form::Unknown, |id| Form::Began { id }),
        "text_delta" => Form::Text(text("delta")),
        "thinking_delta" => Form::Thinking(text("delta")),
        "message_end" => id.map_or(Form::Unknown, |id| Form::Ended { id }),
        "text" => with(|id, text| Form::WholeText { id, text }, "text"),
        "thinking" => with(|id, text| Form::WholeThinking { id, text }, "thinking"),
        "tool_call" => wire::called(fields).map_or(Form::Unknown, Form::Call),
        "tool_result" => fields
            .number_or_text("toolCallId")
            .map_or(Form::Unknown, |call| Form::Result { call, output: wire::output(fields.raw("content")) }),
        "error" => Form::Error { code: fields.number_or_text("code"), message: text("message") },
        "idle" => Form::Idle,
        "session" => SessionObject::read(data).map_or(Form::Unknown, |session| Form::Session(Box::new(session))),
        "meta" => Form::Agent(fields.raw("agent").and_then(|raw| agents::agent(raw, true)).map(Box::new)),
        "entry" => match (id, wire::said(data)) {
            (Some(id), Some(said)) => Form::Entry { id, said },
            _ => Form::Unknown,
        },
        _ => Form::Unknown,
    }
}

/// The echo of an input: flat, as the examples have it, or under `data`, as the schema has it.
fn input(fields: &Fields<'_>, id: Option<String>) -> Form {
    let nested = fields.object("data").or_else(|| fields.object("input"));
    let inner = nested.as_ref().filter(|inner| inner.raw("type").is_some()).unwrap_or(fields);
    let call = inner.number_or_text("toolCallId");
    match (inner.text("type").unwrap_or_default().as_ref(), call) {
        ("user", _) => match id.or_else(|| inner.number_or_text("id")) {
            Some(id) => Form::Said { id, blocks: wire::blocks(inner.raw("content")) },
            None => Form::Unknown,
        },
        ("tool" | "tool_result", Some(call)) => {
            Form::Answered { call, granted: None, reason: None, output: Some(wire::output(inner.raw("content"))) }
        }
        ("permission" | "tool_permission", Some(call)) => {
            Form::Answered { call, granted: inner.flag("granted"), reason: inner.word("reason"), output: None }
        }
        ("cancel", _) => Form::Cancelled,
        _ => Form::Unknown,
    }
}
