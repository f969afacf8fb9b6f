//! The event catalogue: every row of the Qoder page's section 7 and the Claude page's section 6, newest forms and the
//! seed page's, to [`What`].

use std::borrow::Cow;

use contract::{
    event::Permission,
    item::{Artifact, Notice, NoticeCode, NoticeLevel, Role},
    request::{ChoiceKind, RequestKind},
    session::SessionState,
};
use serde_json::Value;

use super::{
    parts::{parts, whole},
    said::{BlockKind, Chunk, Judged, Stop, What},
    session_object, usage,
    wire::{Fields, string},
};

/// What an event of type `kind` says. Every type has an answer; the unknown ones are kept as they are.
pub(super) fn what(kind: &str, id: &str, fields: &Fields<'_>, raw: &str) -> What {
    match kind {
        "user.message" => What::UserMessage {
            parts: parts(fields.raw("content")),
            unprocessed: fields.has("processed_at") && fields.raw("processed_at").is_none(),
        },
        "user.interrupt" => What::Interrupt,
        "user.tool_confirmation" => confirmation(fields),
        "user.custom_tool_result" => What::ClientResult {
            call: fields.word("custom_tool_use_id").or_else(|| fields.word("tool_use_id")).unwrap_or_default(),
            output: parts(fields.raw("content")),
            is_error: fields.flag("is_error") == Some(true),
        },
        "user.define_outcome" => What::GoalSet {
            goal: fields.word("outcome_id").unwrap_or_default(),
            description: fields.word("description").or_else(|| fields.word("outcome")),
            rubric: fields
                .raw("rubric")
                .and_then(|raw| session_object::rubric(&serde_json::from_str::<Value>(raw).unwrap_or_default())),
        },
        "system.message" => What::SystemMessage { parts: parts(fields.raw("content")) },
        "agent.message" => What::AgentMessage {
            parts: parts(fields.raw("content")),
            is_delta: fields.flag("delta") == Some(true),
            message: fields.word("message_id"),
        },
        "agent.thinking" => What::Thinking { text: thought(fields), message: fields.word("message_id") },
        "agent.tool_use" | "agent.mcp_tool_use" | "agent.custom_tool_use" => tool_use(kind, fields),
        "agent.tool_result" | "agent.mcp_tool_result" | "user.tool_result" => What::ToolResult {
            call: ["tool_use_id", "mcp_tool_use_id", "custom_tool_use_id"]
                .iter()
                .find_map(|name| fields.word(name))
                .unwrap_or_default(),
            name: fields.word("name"),
            output: parts(fields.raw("content")),
            is_error: fields.flag("is_error") == Some(true),
        },
        "agent.artifact_delivered" => match fields.word("file_id") {
            Some(file_id) => What::Artifact(Artifact {
                name: fields
                    .word("original_filename")
                    .or_else(|| fields.word("filename"))
                    .unwrap_or_else(|| file_id.clone()),
                bytes: fields.number("size"),
                media_type: fields.word("content_type"),
                file_id,
            }),
            None => unknown(kind, raw),
        },
        "agent.thread_message_sent" => thread_message(fields, "to_session_thread_id", Role::User),
        "agent.thread_message_received" => thread_message(fields, "from_session_thread_id", Role::Agent),
        "agent.thread_context_compacted" => What::Compacted,
        "session.status_running" => What::Running,
        "session.status_idle" => What::Idle {
            stop: stop(fields),
            usage: fields
                .raw("usage")
                .map(usage::from_text)
                .filter(|usage| *usage != contract::session::Usage::default()),
        },
        "session.status_rescheduled" => What::Rescheduled,
        "terminated" | "session.status_terminated" => What::Ended { deleted: false, reason: fields.word("reason") },
        "session.deleted" => What::Ended { deleted: true, reason: fields.word("reason") },
        "session.error" => failed(fields),
        "session.updated" => What::Facts {
            title: fields.word("title"),
            agent: fields.object("agent").and_then(|agent| agent.word("name")),
            archived: fields.has("archived_at").then(|| fields.raw("archived_at").is_some()),
        },
        "session.usage" => What::SessionUsage(usage::from_text(fields.raw("usage").unwrap_or(raw))),
        "session.thread_created" => thread(fields, SessionState::Idle, true),
        "session.thread_status_running" => thread(fields, SessionState::Running, false),
        "session.thread_status_idle" => {
            let waits = stop(fields).word.as_deref() == Some("requires_action");
            thread(fields, if waits { SessionState::Waiting } else { SessionState::Idle }, false)
        }
        "session.thread_status_rescheduled" => thread(fields, SessionState::Rescheduling, false),
        "session.thread_status_terminated" => thread(fields, SessionState::Ended, false),
        "span.model_request_start" => {
            What::ModelStarted { span: fields.word("span_id").unwrap_or_else(|| id.to_owned()) }
        }
        "span.model_request_end" => What::ModelEnded {
            span: ["span_id", "model_request_start_id"]
                .iter()
                .find_map(|name| fields.word(name))
                .unwrap_or_else(|| id.to_owned()),
            is_error: fields.flag("is_error") == Some(true),
            usage: fields.raw("model_usage").or_else(|| fields.raw("usage")).map(usage::from_text),
        },
        "span.outcome_evaluation_start" | "span.outcome_evaluation_ongoing" | "span.outcome_evaluation_end" => {
            What::Judged(Judged {
                goal: fields.word("outcome_id").unwrap_or_default(),
                start: fields.word("outcome_evaluation_start_id"),
                iteration: fields.number("iteration"),
                verdict: fields.word("result"),
                explanation: fields.word("explanation"),
                evaluating: kind != "span.outcome_evaluation_end",
            })
        }
        "event_start" | "event_delta" => preview(kind, fields, id),
        "agent.message_start"
        | "agent.content_block_start"
        | "agent.content_block_delta"
        | "agent.content_block_stop"
        | "agent.message_delta"
        | "agent.message_stop" => chunk(kind, fields).unwrap_or_else(|| unknown(kind, raw)),
        _ if kind.starts_with("workflow_run.") => workflow(kind, fields),
        _ => unknown(kind, raw),
    }
}

/// An event that is kept as it is.
pub(super) fn unknown(kind: &str, raw: &str) -> What {
    What::Unknown { what: kind.to_owned(), raw: raw.to_owned() }
}

/// Newest: `result: allow|deny`. Oldest: `decision: approve|deny`.
fn confirmation(fields: &Fields<'_>) -> What {
    let word = fields.word("result").or_else(|| fields.word("decision"));
    What::Confirmed {
        call: fields.word("tool_use_id").unwrap_or_default(),
        choice: match word.as_deref() {
            Some("allow" | "approve") => Some(ChoiceKind::AllowOnce),
            Some("deny") => Some(ChoiceKind::Deny),
            _ => None,
        },
        reason: fields.word("deny_message").or_else(|| fields.word("reason")),
    }
}

/// `thinking`, or `content` as a string or blocks; nothing in the newest form.
fn thought(fields: &Fields<'_>) -> String {
    fields.text("thinking").map(Cow::into_owned).unwrap_or_else(|| super::parts::joined(&parts(fields.raw("content"))))
}

fn tool_use(kind: &str, fields: &Fields<'_>) -> What {
    let is_client = kind == "agent.custom_tool_use";
    let evaluated = fields
        .word("evaluated_permission")
        .or_else(|| fields.object("evaluation")?.object("evaluated_permission")?.word("type"));
    What::ToolUse {
        name: fields.word("name").unwrap_or_default(),
        source: if is_client { Some("client".to_owned()) } else { fields.word("mcp_server_name") },
        input: fields.raw("input").unwrap_or("{}").to_owned(),
        permission: permission(evaluated.as_deref()),
        kind: if is_client { RequestKind::ClientTool } else { RequestKind::Approval },
    }
}

/// What the server's word for its rule means.
pub(super) fn permission(word: Option<&str>) -> Permission {
    match word {
        Some("allow") => Permission::Allowed,
        Some("ask") => Permission::Ask,
        Some("deny") => Permission::Denied,
        _ => Permission::Unsaid,
    }
}

fn thread_message(fields: &Fields<'_>, with: &str, role: Role) -> What {
    What::ThreadMessage { with: fields.word(with).unwrap_or_default(), role, parts: parts(fields.raw("content")) }
}

/// `stop_reason` is an object with a `type`, or (oldest) the bare word.
fn stop(fields: &Fields<'_>) -> Stop {
    let Some(raw) = fields.raw("stop_reason") else { return Stop::default() };
    if let Some(word) = string(raw) {
        return Stop { word: Some(word.into_owned()), ..Stop::default() };
    }
    let Ok(reason) = Fields::read(raw) else { return Stop::default() };
    let details = fields.object("stop_details");
    Stop {
        word: reason.word("type"),
        event_ids: reason.texts("event_ids"),
        explanation: details
            .and_then(|details| details.word("explanation"))
            .or_else(|| reason.word("explanation"))
            .or_else(|| reason.word("message")),
    }
}

/// Newest: `error{type,message,retry_status{type}}`. Seed: `error` is the message, `code` beside it.
fn failed(fields: &Fields<'_>) -> What {
    let error = fields.object("error");
    let message = match &error {
        Some(error) => error.word("message"),
        None => fields.word("error").or_else(|| fields.word("message")),
    };
    let kind = error.as_ref().and_then(|error| error.word("type")).or_else(|| fields.number_or_text("code"));
    let fate = error.as_ref().and_then(|error| {
        error.object("retry_status").and_then(|status| status.word("type")).or_else(|| error.word("retry_status"))
    });
    let (level, code, is_fatal) = match fate.as_deref() {
        Some("retrying") => (NoticeLevel::Warning, NoticeCode::ErrorRetrying, false),
        Some("exhausted" | "terminal") | None => (NoticeLevel::Error, NoticeCode::ErrorFatal, true),
        Some(_) => (NoticeLevel::Error, NoticeCode::Server, false),
    };
    let mut details: Vec<String> = kind.iter().cloned().collect();
    if let Some(error) = &error {
        for name in ["qoder_error_code", "mcp_server_name", "credential_id", "vault_id", "repository_url"] {
            details.extend(error.number_or_text(name).map(|value| format!("{name}: {value}")));
        }
    }
    details.extend(fate);
    let text = message.or(kind).unwrap_or_else(|| "The server reported an error without words.".to_owned());
    let detail = (!details.is_empty()).then(|| whole(&details.join(" · ")));
    What::Failed { notice: Notice { level, code, text, detail }, is_fatal }
}

fn thread(fields: &Fields<'_>, state: SessionState, is_new: bool) -> What {
    What::Thread {
        thread: fields.word("session_thread_id").or_else(|| fields.word("thread_id")).unwrap_or_default(),
        name: fields.word("agent_name"),
        state,
        is_new,
    }
}

/// Live text. What is not known of it is passed over and waits for the whole event (section 8): its frame carries that
/// event's id, so it must never stand for it.
fn preview(kind: &str, fields: &Fields<'_>, id: &str) -> What {
    let known = if kind == "event_start" { preview_start(fields) } else { preview_delta(fields) };
    known.unwrap_or_else(|| What::PreviewDelta { of: id.to_owned(), index: 0, text: None })
}

fn preview_start(fields: &Fields<'_>) -> Option<What> {
    let event = fields.object("event")?;
    let kind = event.text("type")?;
    let thought = match &*kind {
        "agent.message" => false,
        "agent.thinking" => true,
        _ => return None,
    };
    Some(What::PreviewStart { of: event.number_or_text("id")?, thought })
}

fn preview_delta(fields: &Fields<'_>) -> Option<What> {
    let of = fields.number_or_text("event_id")?;
    let delta = fields.object("delta")?;
    let content = delta.object("content");
    let text = (delta.text("type").as_deref() == Some("content_delta"))
        .then_some(content)
        .flatten()
        .filter(|content| content.text("type").as_deref() == Some("text"))
        .and_then(|content| content.text("text").map(Cow::into_owned));
    Some(What::PreviewDelta { of, index: delta.number("index").unwrap_or(0), text })
}

fn chunk(kind: &str, fields: &Fields<'_>) -> Option<What> {
    let message =
        fields.word("message_id").or_else(|| fields.object("message").and_then(|message| message.word("id")))?;
    let index = fields.number("index").unwrap_or(0);
    let chunk = match kind {
        "agent.message_start" => Chunk::Start,
        "agent.content_block_start" => {
            let block = fields.object("content_block")?;
            let text = |name: &str| block.text(name).map(Cow::into_owned).unwrap_or_default();
            let kind = match block.text("type").as_deref() {
                Some("text") => BlockKind::Text(text("text")),
                Some("thinking") => BlockKind::Thinking(text("thinking")),
                Some("tool_use") => BlockKind::Tool { id: block.word("id"), name: text("name") },
                _ => BlockKind::Other,
            };
            Chunk::BlockStart { index, kind }
        }
        "agent.content_block_delta" => {
            let delta = fields.object("delta")?;
            let field = match delta.text("type").as_deref() {
                Some("text_delta") => "text",
                Some("thinking_delta") => "thinking",
                Some("input_json_delta") => "partial_json",
                _ => "",
            };
            delta.text(field).map_or(Chunk::Other, |text| Chunk::Delta { index, text: text.into_owned() })
        }
        "agent.content_block_stop" => Chunk::BlockStop { index },
        "agent.message_stop" => Chunk::Stop,
        _ => Chunk::Other,
    };
    Some(What::Chunk { message, own_thread: fields.raw("parent_tool_use_id").is_none(), chunk })
}

/// Generic progress rows, one per run: the newest word replaces the last.
fn workflow(kind: &str, fields: &Fields<'_>) -> What {
    let run = fields.word("workflow_run_id").unwrap_or_default();
    let step = kind.trim_start_matches("workflow_run.").replace('_', " ");
    let phase = fields
        .word("phase")
        .or_else(|| fields.word("phase_name"))
        .or_else(|| fields.object("phase").and_then(|phase| phase.word("name")));
    let error = fields.object("error").and_then(|error| error.word("message")).or_else(|| fields.word("error"));
    let is_error = kind == "workflow_run.error" || fields.text("result").as_deref() == Some("error");
    let words: Vec<String> =
        [fields.word("name"), Some(step), phase, fields.word("result"), error].into_iter().flatten().collect();
    What::Progress {
        key: format!("workflow:{run}"),
        notice: Notice {
            level: if is_error { NoticeLevel::Warning } else { NoticeLevel::Info },
            code: NoticeCode::Server,
            text: words.join(" · "),
            detail: (!run.is_empty()).then(|| whole(&run)),
        },
    }
}
