//! Frame to what it says. Reads only; never fails: what cannot be read is kept and shown, and the session is read
//! again (runs-server page, §5).
//!
//! Frames have no identity: nothing is ever sent twice, so nothing is de-duplicated. Only a whole history answer has
//! one, made from its content, so that an answer equal to an earlier one is not kept again.

use contract::{
    session::{ContextMeter, Resumable, Usage},
    wire::{Frame, FrameKind, Identity, TooLarge},
};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::answers;
use crate::{
    Parsed,
    json::{Fields, leading_string},
};

/// A frame in this protocol's own form.
#[derive(Debug)]
pub(super) struct Read {
    /// Some bytes were not UTF-8.
    pub repaired: bool,
    /// What it is.
    pub form: Form,
    /// The frame's name and data, for what turns out to be unknown.
    pub name: String,
    pub raw: String,
}

/// What a frame is.
#[derive(Debug)]
pub(super) enum Form {
    /// Something of a run.
    Said(Said),
    /// The end of a run.
    End(End),
    /// An answer beside the stream.
    Check(Check),
    /// A whole history.
    History,
    /// Nothing to show.
    Nothing,
    /// Not JSON, or no object.
    Unreadable { cause: String },
    /// Over the cap: only its beginning is here.
    Cut { size: TooLarge, kind: String, call: Option<String> },
}

/// Something that happened in a run.
#[derive(Debug, PartialEq)]
pub(super) enum Said {
    Text(String),
    ThinkingStarted,
    Thinking(String),
    ThinkingFinished,
    ToolStarted {
        call: String,
        name: String,
        arguments: String,
        at_server: bool,
    },
    ToolFinished {
        call: String,
        name: Option<String>,
        ended: Ended,
    },
    Approval {
        call: String,
        command: String,
        work_dir: Option<String>,
        approved: Option<bool>,
    },
    Question {
        asked: Asked,
        is_answered: bool,
    },
    Used {
        usage: Usage,
        context: Option<u64>,
    },
    CompactionStarted,
    Compacting(String),
    Compacted {
        applied: bool,
        summary: Option<String>,
    },
    Stopped {
        reason: String,
        message: Option<String>,
    },
    Steered(String),
    SteeringFinished,
    SteeringInterrupted(String),
    Notice {
        text: String,
        level: Option<String>,
    },
    /// The last event before the end: says nothing new.
    Finished,
    /// What the server itself, or this reader, could not map.
    Unknown {
        what: String,
    },
}

/// A question.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Asked {
    pub call: String,
    pub question: String,
    pub options: Vec<String>,
    pub multiple: bool,
    /// What the person will see, as JSON from the wire's own bytes: the digest is over this.
    pub payload: String,
}

/// How a call ended.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Ended {
    pub output: String,
    pub ok: bool,
    pub skipped: bool,
}

/// How a run ended.
#[derive(Debug)]
pub(super) enum End {
    Result(Box<Outcome>),
    Failed { word: String, message: String },
    Cancelled,
}

/// What a run came to.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    pub text: String,
    pub usage: Option<Usage>,
    pub tools: Vec<Tool>,
    /// `None` where the frame says nothing of it; the inner `None` where it says that nothing was amiss.
    pub stop: Option<Option<String>>,
    pub stop_message: Option<String>,
}

/// A call as the end of its run tells it.
#[derive(Debug)]
pub(super) struct Tool {
    pub call: String,
    pub name: String,
    pub arguments: String,
    pub ended: Ended,
}

/// An answer beside the stream.
#[derive(Debug)]
pub(super) enum Check {
    Current { running: bool, pending: Option<Pending> },
    Resumable(Option<Resumable>),
    Context(Option<ContextMeter>),
}

/// What a run waits for.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Pending {
    Approval { call: String, command: String, work_dir: Option<String>, can_remember: bool },
    Question(Asked),
}

impl Pending {
    pub(super) fn call(&self) -> &str {
        match self {
            Self::Approval { call, .. } => call,
            Self::Question(asked) => &asked.call,
        }
    }
}

/// Reads a frame.
pub(super) fn parse(frame: &Frame) -> Parsed {
    // A block without a name is an event like the others (§10.20).
    let name = frame.name.as_deref().unwrap_or("event");
    let terminal = matches!(name, "result" | "error" | "cancelled");
    let identity = (name == "history").then(|| Identity { event_id: content_id(&frame.data), thread: None });
    let kind = if identity.is_some() { FrameKind::Buffered } else { FrameKind::Control };
    let form = form(frame, name);
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
        let kind = if name == "event" { leading_string(&frame.data, "type") } else { None };
        let call = leading_string(&frame.data, "call_id");
        return Form::Cut { size, kind: kind.unwrap_or_else(|| name.to_owned()), call };
    }
    let data = frame.data.trim_matches(|c: char| c.is_ascii_whitespace());
    if name == "cancelled" {
        return Form::End(End::Cancelled);
    }
    if data.is_empty() {
        return Form::Nothing;
    }
    if name == "history" {
        return Form::History;
    }
    // The current session has no report of its context: a bare `null`.
    if name == "context" && data == "null" {
        return Form::Check(Check::Context(None));
    }
    let fields = match Fields::read(data) {
        Ok(fields) => fields,
        Err(cause) => return Form::Unreadable { cause: cause.to_string() },
    };
    match name {
        "event" => Form::Said(said(&fields)),
        "result" => Form::End(End::Result(Box::new(outcome(&fields)))),
        "error" => Form::End(End::Failed {
            word: fields.word("error").unwrap_or_default(),
            message: fields.word("message").unwrap_or_default(),
        }),
        "current" => Form::Check(Check::Current {
            running: fields.flag("running") == Some(true),
            pending: fields.object("pending").and_then(|pending| read_pending(&pending)),
        }),
        "resumable" => Form::Check(Check::Resumable((fields.flag("resumable") == Some(true)).then(|| Resumable {
            kind: fields.word("kind").unwrap_or_default(),
            description: fields.word("description"),
        }))),
        "context" => {
            Form::Check(Check::Context(serde_json::from_str::<Value>(data).ok().as_ref().and_then(answers::meter)))
        }
        other => Form::Said(Said::Unknown { what: other.to_owned() }),
    }
}

fn said(fields: &Fields<'_>) -> Said {
    let text = |name: &str| fields.text(name).map(std::borrow::Cow::into_owned).unwrap_or_default();
    let call = || fields.number_or_text("call_id").unwrap_or_default();
    let kind = fields.text("type").unwrap_or_default();
    match &*kind {
        "text_delta" => Said::Text(text("text")),
        "reasoning_started" => Said::ThinkingStarted,
        "reasoning_delta" => Said::Thinking(text("text")),
        "reasoning_finished" => Said::ThinkingFinished,
        "tool_started" | "server_tool_started" => Said::ToolStarted {
            call: call(),
            name: text("name"),
            arguments: fields.raw("arguments").unwrap_or("{}").to_owned(),
            at_server: kind.starts_with("server"),
        },
        "tool_finished" | "server_tool_finished" => {
            Said::ToolFinished { call: call(), name: fields.word("name"), ended: ended(fields) }
        }
        "approval_requested" => Said::Approval {
            call: call(),
            command: text("command"),
            work_dir: fields.word("work_dir"),
            approved: fields.flag("approved"),
        },
        "question_asked" => Said::Question { asked: asked(fields), is_answered: fields.flag("answered") == Some(true) },
        "usage_updated" => {
            let usage = fields.raw("usage").and_then(|raw| serde_json::from_str::<Value>(raw).ok()).unwrap_or_default();
            let context = usage.get("context_tokens").and_then(Value::as_u64).filter(|tokens| *tokens > 0);
            Said::Used { usage: answers::usage(&usage), context }
        }
        "compaction_started" => Said::CompactionStarted,
        "compaction_delta" => Said::Compacting(text("text")),
        "compaction_finished" => {
            Said::Compacted { applied: fields.flag("applied") != Some(false), summary: fields.word("summary") }
        }
        "model_stopped" => Said::Stopped { reason: text("reason"), message: fields.word("message") },
        "steered" => Said::Steered(text("text")),
        "steering_finished" => Said::SteeringFinished,
        "steering_interrupted" => Said::SteeringInterrupted(text("text")),
        "notice" => Said::Notice { text: text("text"), level: fields.word("level") },
        "finished" | "raw" => Said::Finished,
        // The server's own word for what it could not map says more than `event`.
        "event" => Said::Unknown { what: fields.word("name").unwrap_or_else(|| "event".to_owned()) },
        other => Said::Unknown { what: other.to_owned() },
    }
}

fn ended(fields: &Fields<'_>) -> Ended {
    let output = match (fields.text("output"), fields.raw("output")) {
        (Some(text), _) => text.into_owned(),
        (None, raw) => raw.unwrap_or_default().to_owned(),
    };
    Ended { output, ok: fields.flag("ok") != Some(false), skipped: fields.flag("skipped") == Some(true) }
}

/// A question, in the stream or in what a run waits for.
fn asked(fields: &Fields<'_>) -> Asked {
    let parts: Vec<String> = ["question", "options", "allow_multiple"]
        .iter()
        .filter_map(|name| Some(format!("\"{name}\":{}", fields.raw(name)?)))
        .collect();
    Asked {
        call: fields.number_or_text("call_id").unwrap_or_default(),
        question: fields.text("question").map(std::borrow::Cow::into_owned).unwrap_or_default(),
        options: fields.texts("options"),
        multiple: fields.flag("allow_multiple") == Some(true),
        payload: format!("{{{}}}", parts.join(",")),
    }
}

fn read_pending(fields: &Fields<'_>) -> Option<Pending> {
    let call = fields.number_or_text("call_id")?;
    if fields.text("kind").is_some_and(|kind| kind == "question") {
        return Some(Pending::Question(asked(fields)));
    }
    Some(Pending::Approval {
        call,
        command: fields.word("command").unwrap_or_default(),
        work_dir: fields.word("work_dir"),
        can_remember: fields.flag("remember_supported") != Some(false),
    })
}

fn outcome(fields: &Fields<'_>) -> Outcome {
    let usage = fields.raw("usage").and_then(|raw| serde_json::from_str::<Value>(raw).ok());
    let tools = fields.raw("tools").map(crate::json::elements).unwrap_or_default();
    Outcome {
        text: fields.text("text").map(std::borrow::Cow::into_owned).unwrap_or_default(),
        usage: usage.as_ref().map(answers::usage),
        tools: tools.into_iter().filter_map(tool).collect(),
        stop: fields.has("stop").then(|| fields.word("stop")),
        stop_message: fields.word("stop_message"),
    }
}

fn tool(raw: &str) -> Option<Tool> {
    let fields = Fields::read(raw).ok()?;
    Some(Tool {
        call: fields.number_or_text("call_id").unwrap_or_default(),
        name: fields.word("name").unwrap_or_default(),
        arguments: fields.raw("arguments").unwrap_or("{}").to_owned(),
        ended: ended(&fields),
    })
}
