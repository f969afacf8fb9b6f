//! Frame to what it says. Reads only; never fails (page §§2.1 and 2.2).
//!
//! Frames have no identity: nothing is ever sent twice. Only a whole history has one, made from its content.

use contract::wire::{Frame, FrameKind, Identity, TooLarge};
use sha2::{Digest, Sha256};

use crate::{
    Parsed,
    json::Fields,
    turns::{
        agents::{self, Agent},
        session_object::SessionObject,
        wire::{self, Called, Output, Said},
    },
};

/// A frame in this protocol's own form.
#[derive(Debug)]
pub(in crate::turns) struct Read {
    /// Some bytes were not UTF-8.
    pub repaired: bool,
    pub form: Form,
    /// The frame's name and data, for what turns out to be unknown.
    pub name: String,
    pub raw: String,
}

/// What a frame is.
#[derive(Debug)]
pub(in crate::turns) enum Form {
    Start,
    Text(String),
    Thinking(String),
    /// The whole text of a message.
    WholeText(String),
    /// The whole thinking of a message.
    WholeThinking(String),
    Call(Called),
    Result {
        call: String,
        output: Output,
    },
    Stop(String),
    /// A turn that came whole.
    Turn {
        stop: String,
        messages: Vec<Said>,
        pending: Option<Vec<Called>>,
    },
    /// The stream ended, cleanly, without a last word.
    Closed,
    /// The session, as it stands.
    Session(Box<SessionObject>),
    /// The session's agent; `None` = the server has it no more.
    Agent(Option<Box<Agent>>),
    History,
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
    let name = frame.name.as_deref().unwrap_or("message");
    let form = form(frame, name);
    let identity = matches!(form, Form::History).then(|| Identity { event_id: content_id(&frame.data), thread: None });
    let kind = if identity.is_some() { FrameKind::Buffered } else { FrameKind::Control };
    let terminal = matches!(name, "turn_stop" | "turn");
    let read = Read { repaired: frame.repaired, form, name: name.to_owned(), raw: frame.data.clone() };
    Parsed { kind, identity, terminal, body: Box::new(read) }
}

fn content_id(data: &str) -> String {
    let digest = Sha256::digest(data.as_bytes());
    digest.iter().fold("history:".to_owned(), |mut id, byte| {
        use std::fmt::Write;
        // Writing to a string cannot fail.
        let _ = write!(id, "{byte:02x}");
        id
    })
}

fn form(frame: &Frame, name: &str) -> Form {
    if let Some(size) = frame.too_large {
        return Form::Cut { size };
    }
    if name == "closed" {
        return Form::Closed;
    }
    let data = frame.data.trim_matches(|c: char| c.is_ascii_whitespace());
    if data.is_empty() {
        return if name == "turn_start" { Form::Start } else { Form::Nothing };
    }
    let fields = match Fields::read(data) {
        Ok(fields) => fields,
        Err(cause) => return Form::Unreadable { cause: cause.to_string() },
    };
    let text = |name: &str| fields.text(name).map(std::borrow::Cow::into_owned).unwrap_or_default();
    match name {
        "turn_start" => Form::Start,
        "text_delta" => Form::Text(text("delta")),
        "thinking_delta" => Form::Thinking(text("delta")),
        "text" => Form::WholeText(text("text")),
        "thinking" => Form::WholeThinking(text("thinking")),
        "tool_call" => wire::called(&fields).map_or(Form::Unknown, Form::Call),
        "tool_result" => fields
            .number_or_text("toolCallId")
            .map_or(Form::Unknown, |call| Form::Result { call, output: wire::output(fields.raw("content")) }),
        "turn_stop" => Form::Stop(text("stopReason")),
        "turn" => whole(&fields),
        "session" => SessionObject::read(data).map_or(Form::Unknown, |session| Form::Session(Box::new(session))),
        "meta" => Form::Agent(fields.raw("agent").and_then(|raw| agents::agent(raw, false)).map(Box::new)),
        "history" => Form::History,
        _ => Form::Unknown,
    }
}

/// A turn that came as one answer.
fn whole(fields: &Fields<'_>) -> Form {
    let list = |name: &str| fields.raw(name).map(crate::json::elements);
    Form::Turn {
        stop: fields.word("stopReason").unwrap_or_default(),
        messages: list("messages").unwrap_or_default().into_iter().filter_map(wire::said).collect(),
        pending: list("pending")
            .map(|all| all.into_iter().filter_map(|raw| wire::called(&Fields::read(raw).ok()?)).collect()),
    }
}
