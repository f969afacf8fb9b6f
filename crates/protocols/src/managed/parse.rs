//! Frame to what it says. Reads only; never fails: a frame that cannot be read becomes a notice, and the session is
//! read again, so that no frame can hide a request.
//!
//! `data.type` wins over `event:`; ids come from the JSON, else from the SSE id, which stays the cursor verbatim (Qoder
//! page, section 6). A person's event happened when it was created, the agent's when it was processed: clones give
//! `created_at` in whole seconds only.

use std::borrow::Cow;

use contract::{
    item::{Part, Text},
    request::RequestKind,
    wire::{Frame, FrameKind, Identity, TooLarge},
};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{
    errors, events,
    said::{Said, What},
    times,
    wire::{self, Fields, text_of},
};
use crate::Parsed;

/// A frame in this protocol's own form.
#[derive(Debug)]
pub(super) struct Read {
    /// Some bytes were not UTF-8.
    pub repaired: bool,
    /// What it is.
    pub form: Form,
}

/// What a frame is.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "nearly every frame is an event, and each stands in a box of its own")]
pub(super) enum Form {
    /// An event.
    Event(Said),
    /// Heartbeats, `[DONE]`, blocks without data: nothing to show.
    Nothing,
    /// `event: error`: the stream's own error.
    StreamError { message: String, detail: Option<String> },
    /// Not JSON, or no object.
    Unreadable { name: String, cause: String, raw: String },
    /// Over the cap: only its beginning is here.
    Cut { id: String, name: String, tool: Option<String>, size: TooLarge, beginning: String },
}

/// Reads a frame.
pub(super) fn parse(frame: &Frame) -> Parsed {
    if let Some(size) = frame.too_large {
        return cut(frame, size);
    }
    if let Some(said) = quick(frame) {
        return event(frame, said);
    }
    let data = frame.data.trim_matches(|c: char| c.is_ascii_whitespace());
    let name = frame.name.as_deref().unwrap_or_default();
    if data.is_empty() || data == "[DONE]" || matches!(name, "ping" | "heartbeat" | "keepalive" | "keep-alive") {
        return control(frame, Form::Nothing);
    }
    let fields = match Fields::read(data) {
        Ok(fields) => fields,
        Err(_) if name == "error" => {
            return control(frame, Form::StreamError { message: data.to_owned(), detail: None });
        }
        Err(cause) => {
            let form = Form::Unreadable { name: name.to_owned(), cause: cause.to_string(), raw: frame.data.clone() };
            return control(frame, form);
        }
    };
    let kind = fields.text("type").filter(|kind| !kind.is_empty()).unwrap_or(Cow::Borrowed(name));
    match &*kind {
        "ping" | "heartbeat" => return control(frame, Form::Nothing),
        "error" => {
            let (message, detail) = errors::in_stream(data);
            return control(frame, Form::StreamError { message, detail });
        }
        _ => {}
    }
    let id = fields.number_or_text("id").or_else(|| frame.id.clone().filter(|id| !id.is_empty())).unwrap_or_default();
    let what = events::what(&kind, &id, &fields, data);
    let at = if kind.starts_with("user.") { ["created_at", "processed_at"] } else { ["processed_at", "created_at"] }
        .iter()
        .find_map(|name| times::millis(&fields.text(name)?));
    let turn = fields.word("turn_id");
    let is_bare = at.is_none() && turn.is_none() && !fields.has("id");
    let said = Said { at, turn, thread: fields.word("session_thread_id"), id, is_bare, what };
    event(frame, said)
}

/// What an event is to the log.
fn event(frame: &Frame, said: Said) -> Parsed {
    let is_preview = matches!(
        said.what,
        What::PreviewStart { .. } | What::PreviewDelta { .. } | What::AgentMessage { is_delta: true, .. }
    );
    let event_id = match &said.what {
        What::PreviewStart { of, .. } | What::PreviewDelta { of, .. } => of,
        _ => &said.id,
    };
    // A person's event gets its thread only from the server, so the echo and the answer would differ by it; for
    // news about a thread it is the subject. Neither is a copy.
    let is_copy = !matches!(
        said.what,
        What::UserMessage { .. }
            | What::Interrupt
            | What::Confirmed { .. }
            | What::ClientResult { .. }
            | What::GoalSet { .. }
            | What::Thread { .. }
            | What::ThreadMessage { .. }
    );
    // An id with control characters could never be resumed after: such an event is kept, but it has no identity (S-17).
    let identity = (!event_id.is_empty() && !event_id.chars().any(char::is_control))
        .then(|| Identity { event_id: event_id.clone(), thread: if is_copy { said.thread.clone() } else { None } });
    let kind = match (is_preview, &identity) {
        (true, _) => FrameKind::Preview,
        (false, Some(_)) => FrameKind::Buffered,
        (false, None) => FrameKind::Control,
    };
    let terminal = matches!(said.what, What::Ended { .. });
    Parsed { kind, identity, terminal, body: Box::new(Read { repaired: frame.repaired, form: Form::Event(said) }) }
}

fn control(frame: &Frame, form: Form) -> Parsed {
    let body = Box::new(Read { repaired: frame.repaired, form });
    Parsed { kind: FrameKind::Control, identity: None, terminal: false, body }
}

/// A frame over the cap. Its beginning usually still says which event it is; the cursor moves past it.
fn cut(frame: &Frame, size: TooLarge) -> Parsed {
    let found = |name: &str| wire::leading_string(&frame.data, name);
    let name = found("type").or_else(|| frame.name.clone()).unwrap_or_default();
    let sse_id = frame.id.clone().filter(|id| !id.is_empty());
    let id = found("id").or(sse_id).unwrap_or_default();
    let is_preview = matches!(name.as_str(), "event_delta" | "event_start");
    let identity = (!id.is_empty()).then(|| Identity { event_id: id.clone(), thread: None });
    let kind = match (is_preview, &identity) {
        (true, _) => FrameKind::Preview,
        (false, Some(_)) => FrameKind::Buffered,
        (false, None) => FrameKind::Control,
    };
    let form = Form::Cut { id, tool: found("name"), name, size, beginning: frame.data.clone() };
    Parsed { kind, identity, terminal: false, body: Box::new(Read { repaired: frame.repaired, form }) }
}

/// The frames of which there are many, read in one pass. Whatever is unusual about them is left to the general
/// reader, which knows every form.
fn quick(frame: &Frame) -> Option<Said> {
    match frame.name.as_deref()? {
        "event_delta" => quick_delta(&frame.data),
        "agent.message" => quick_message(frame),
        "agent.tool_use" => quick_tool_use(&frame.data),
        "agent.tool_result" => quick_tool_result(&frame.data),
        _ => None,
    }
}

#[derive(Deserialize)]
struct QuickDelta<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    event_id: &'a str,
    #[serde(borrow)]
    delta: QuickContentDelta<'a>,
}

#[derive(Deserialize)]
struct QuickContentDelta<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    #[serde(default)]
    index: u32,
    #[serde(borrow)]
    content: QuickBlock<'a>,
}

#[derive(Deserialize)]
struct QuickBlock<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    #[serde(borrow, deserialize_with = "text_of")]
    text: Cow<'a, str>,
}

fn quick_delta(data: &str) -> Option<Said> {
    let read: QuickDelta<'_> = serde_json::from_str(data).ok()?;
    if read.kind != "event_delta" || read.delta.kind != "content_delta" || read.delta.content.kind != "text" {
        return None;
    }
    let what = What::PreviewDelta {
        of: read.event_id.to_owned(),
        index: read.delta.index,
        text: Some(read.delta.content.text.into_owned()),
    };
    Some(Said { at: None, turn: None, thread: None, id: String::new(), is_bare: false, what })
}

#[derive(Deserialize)]
struct QuickMessage<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    id: &'a str,
    #[serde(borrow, default)]
    turn_id: Option<&'a str>,
    #[serde(borrow, default)]
    session_thread_id: Option<&'a str>,
    #[serde(borrow, default)]
    message_id: Option<&'a str>,
    #[serde(borrow, default)]
    created_at: Option<&'a str>,
    #[serde(borrow, default)]
    processed_at: Option<&'a str>,
    #[serde(default)]
    delta: Option<bool>,
    #[serde(borrow)]
    content: Vec<QuickBlock<'a>>,
}

/// A name that stands twice is refused by serde, so it is left to the general reader too.
#[derive(Deserialize)]
struct QuickToolUse<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    id: &'a str,
    name: &'a str,
    #[serde(borrow)]
    input: &'a RawValue,
    #[serde(borrow, default)]
    evaluated_permission: Option<&'a str>,
    #[serde(borrow, default)]
    evaluation: Option<&'a RawValue>,
    #[serde(borrow, default)]
    mcp_server_name: Option<&'a RawValue>,
    #[serde(borrow, default)]
    turn_id: Option<&'a str>,
    #[serde(borrow, default)]
    session_thread_id: Option<&'a str>,
    #[serde(borrow, default)]
    created_at: Option<&'a str>,
    #[serde(borrow, default)]
    processed_at: Option<&'a str>,
}

fn quick_tool_use(data: &str) -> Option<Said> {
    let read: QuickToolUse<'_> = serde_json::from_str(data).ok()?;
    let is_plain = read.kind == "agent.tool_use"
        && !read.id.is_empty()
        && read.evaluation.is_none()
        && read.mcp_server_name.is_none()
        && read.input.get() != "null";
    if !is_plain {
        return None;
    }
    let what = What::ToolUse {
        name: read.name.to_owned(),
        source: None,
        input: read.input.get().to_owned(),
        permission: events::permission(read.evaluated_permission),
        kind: RequestKind::Approval,
    };
    Some(Said {
        at: [read.processed_at, read.created_at].into_iter().flatten().find_map(times::millis),
        turn: word(read.turn_id),
        thread: word(read.session_thread_id),
        id: read.id.to_owned(),
        is_bare: false,
        what,
    })
}

#[derive(Deserialize)]
struct QuickToolResult<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    id: &'a str,
    tool_use_id: &'a str,
    #[serde(borrow, default)]
    name: Option<&'a str>,
    #[serde(borrow)]
    content: Vec<QuickBlock<'a>>,
    #[serde(default)]
    is_error: Option<bool>,
    #[serde(borrow, default)]
    turn_id: Option<&'a str>,
    #[serde(borrow, default)]
    session_thread_id: Option<&'a str>,
    #[serde(borrow, default)]
    created_at: Option<&'a str>,
    #[serde(borrow, default)]
    processed_at: Option<&'a str>,
}

fn quick_tool_result(data: &str) -> Option<Said> {
    let read: QuickToolResult<'_> = serde_json::from_str(data).ok()?;
    if read.kind != "agent.tool_result" || read.id.is_empty() || read.tool_use_id.is_empty() {
        return None;
    }
    let what = What::ToolResult {
        call: read.tool_use_id.to_owned(),
        name: word(read.name),
        output: plain_parts(read.content)?,
        is_error: read.is_error == Some(true),
    };
    Some(Said {
        at: [read.processed_at, read.created_at].into_iter().flatten().find_map(times::millis),
        turn: word(read.turn_id),
        thread: word(read.session_thread_id),
        id: read.id.to_owned(),
        is_bare: false,
        what,
    })
}

fn word(text: Option<&str>) -> Option<String> {
    text.filter(|text| !text.is_empty()).map(str::to_owned)
}

/// Blocks that are all text, as parts.
fn plain_parts(content: Vec<QuickBlock<'_>>) -> Option<Vec<Part>> {
    content
        .into_iter()
        .map(|block| {
            let chars = block.text.chars().count() as u64;
            let part = || Part::Text(Text { text: block.text.into_owned(), chars, handle: None });
            (block.kind == "text").then(part)
        })
        .collect()
}

fn quick_message(frame: &Frame) -> Option<Said> {
    let read: QuickMessage<'_> = serde_json::from_str(&frame.data).ok()?;
    if read.kind != "agent.message" || read.id.is_empty() {
        return None;
    }
    let parts = plain_parts(read.content)?;
    Some(Said {
        at: [read.processed_at, read.created_at].into_iter().flatten().find_map(times::millis),
        turn: word(read.turn_id),
        thread: word(read.session_thread_id),
        id: read.id.to_owned(),
        is_bare: false,
        what: What::AgentMessage { parts, is_delta: read.delta == Some(true), message: word(read.message_id) },
    })
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn said(name: Option<&str>, data: &str) -> String {
        let frame = Frame { name: name.map(str::to_owned), data: data.to_owned(), ..Frame::default() };
        let parsed = parse(&frame);
        let read = parsed.body.downcast::<Read>().unwrap();
        format!("{:?} {:?} {read:?}", parsed.kind, parsed.identity)
    }

    #[test]
    fn the_quick_reader_says_what_the_general_one_says() {
        for (name, data) in [
            ("agent.tool_use", r#"{"id":"a","type":"agent.tool_use","name":"Bash","input":{"n":1.50,"n":2}}"#),
            (
                "agent.tool_use",
                r#"{"id":"a","type":"agent.tool_use","name":"","input":[],"evaluated_permission":"ask","turn_id":"t","session_thread_id":"","created_at":"2026-09-01T08:00:01Z","processed_at":null}"#,
            ),
            ("agent.tool_use", r#"{"id":"a","type":"agent.tool_use","name":"x","input":null}"#),
            (
                "agent.tool_use",
                r#"{"id":"a","type":"agent.tool_use","name":"x","input":{},"evaluation":{"evaluated_permission":{"type":"deny"}}}"#,
            ),
            ("agent.tool_use", r#"{"id":"a","type":"agent.tool_use","name":"x","input":{},"mcp_server_name":"m"}"#),
            ("agent.tool_use", r#"{"id":7,"type":"agent.tool_use","name":"\u0041","input":{}}"#),
            ("agent.tool_use", r#"{"id":"a","id":"b","type":"agent.tool_use","name":"x","input":{}}"#),
            ("agent.tool_use", r#"{"id":"a","type":"agent.tool_result","tool_use_id":"u","content":"x"}"#),
            (
                "agent.tool_result",
                r#"{"id":"r","type":"agent.tool_result","tool_use_id":"u","name":"Bash","content":[{"type":"text","text":"东\n"}],"is_error":true,"turn_id":"t"}"#,
            ),
            ("agent.tool_result", r#"{"id":"r","type":"agent.tool_result","tool_use_id":"u","content":[]}"#),
            (
                "agent.tool_result",
                r#"{"id":"r","type":"agent.tool_result","tool_use_id":"u","content":[{"type":"redacted"}]}"#,
            ),
            ("agent.tool_result", r#"{"id":"r","type":"agent.tool_result","tool_use_id":null,"content":"x"}"#),
            (
                "agent.message",
                r#"{"id":"m","type":"agent.message","content":[{"type":"text","text":"a"}],"delta":false,"message_id":"w"}"#,
            ),
        ] {
            assert_eq!(said(Some(name), data), said(None, data), "{data}");
        }
    }
}
