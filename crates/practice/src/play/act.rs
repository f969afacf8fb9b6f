//! Tool calls, approvals, errors, sub-agents and the other things an agent does (wire page §7 and §9).

use serde_json::{Value, json};

use super::{pause, say};
use crate::{
    Form, Text,
    scenario::{Call, Retry, Step},
    session::{Answer, Cell, Held, Item, Pending, Phase, State, Thread, now},
    voice,
};

fn use_kind(call: &Call) -> &'static str {
    if call.custom {
        "agent.custom_tool_use"
    } else if call.mcp_server.is_some() {
        "agent.mcp_tool_use"
    } else {
        "agent.tool_use"
    }
}

/// Announces a call and gives its event's id.
fn announce(state: &mut State, thread: Option<&str>, call: &Call, asks: bool) -> String {
    let form = state.manner.form;
    if state.manner.text == Text::Incremental && !call.custom {
        let block = json!({"type": "tool_use", "id": state.id("toolu"), "name": call.name, "input": {}});
        let message = say::open_message(state, thread, &block);
        for piece in say::pieces(&call.input.to_string()) {
            say::block_delta(state, thread, &message, &json!({"type": "input_json_delta", "partial_json": piece}));
        }
        say::close_message(state, thread, &message, "tool_use");
    }
    let payload = if call.custom {
        json!({"name": call.name, "input": call.input})
    } else {
        voice::tool_use(form, &call.name, &call.input, asks, call.mcp_server.as_deref())
    };
    let id = state.emit(thread, use_kind(call), payload.clone());
    if let Some(thread) = thread.filter(|_| asks || call.custom) {
        // Cross-posted: the session's own stream shows what a sub-agent asks (§9).
        let mut copy = payload;
        if let Some(fields) = copy.as_object_mut() {
            fields.insert("session_thread_id".into(), thread.into());
        }
        state.emit_as(None, &id, use_kind(call), copy, None);
    }
    id
}

/// The result a call gives, filled up to its size.
fn result_text(call: &Call) -> String {
    let mut text = call.result.clone();
    let mut line = 0_u64;
    while text.len() < call.result_bytes {
        line += 1;
        text.push_str(&format!("{line:08} the quick brown fox jumps over the lazy dog\n"));
    }
    if call.result_bytes > 0 && text.is_ascii() {
        text.truncate(call.result_bytes);
    }
    text
}

fn give_result(state: &mut State, thread: Option<&str>, id: &str, call: &Call, text: &str, failed: bool) {
    let mcp = call.mcp_server.is_some();
    let payload = voice::tool_result(state.manner.form, &call.name, id, text, failed, mcp);
    state.emit(thread, if mcp { "agent.mcp_tool_result" } else { "agent.tool_result" }, payload);
}

/// A call that needs nobody's word.
pub(crate) async fn tool(cell: &Cell, thread: Option<&str>, call: &Call) {
    let id = cell.change(|state| {
        state.open_span(thread);
        let id = announce(state, thread, call, false);
        state.close_span(thread, false);
        id
    });
    pause(cell, call.ms).await;
    let text = result_text(call);
    cell.change(|state| give_result(state, thread, &id, call, &text, call.error));
}

/// Calls that wait for the person, together.
pub(crate) async fn ask(cell: &Cell, thread: Option<&str>, calls: Vec<Call>) {
    let mut ids = Vec::new();
    for call in &calls {
        pause(cell, 30).await;
        let id = cell.change(|state| {
            state.open_span(thread);
            let id = announce(state, thread, call, !call.custom);
            let pending = Pending { id: id.clone(), custom: call.custom, thread: thread.map(str::to_owned) };
            state.program.pending.push(pending);
            id
        });
        ids.push(id);
    }
    let held = cell.change(|state| {
        state.close_span(thread, false);
        let held = Held { thread: thread.map(str::to_owned), calls, ids };
        // Claude lets a client answer before the idle event (Claude page §5): then there is nothing to wait for.
        if !state.open_ids().is_empty() {
            if let Some(thread) = thread {
                thread_idle(state, thread, "requires_action", &held.ids);
            }
            state.idle("requires_action");
            state.profile.phase = Phase::Waiting;
        }
        state.program.held = Some(held.clone());
        state.touch();
        held
    });
    answered(cell, held).await;
}

/// Waits for the answers, gives the results, and puts what follows in front of the program.
pub(crate) async fn answered(cell: &Cell, held: Held) {
    let thread = held.thread.as_deref();
    cell.until(|state| held.ids.iter().all(|id| state.answers.contains_key(id))).await;
    let answers = cell.change(|state| {
        state.profile.phase = Phase::Running;
        state.program.pending.retain(|pending| !held.ids.contains(&pending.id));
        state.emit(None, "session.status_running", voice::running(state.manner.form));
        if let Some(thread) = thread {
            thread_running(state, thread);
        }
        held.ids.iter().filter_map(|id| state.answers.get(id).cloned()).collect::<Vec<_>>()
    });
    let mut follows = Vec::new();
    for ((call, id), answer) in held.calls.iter().zip(&held.ids).zip(answers) {
        match answer {
            Answer::Allow => {
                pause(cell, call.ms).await;
                let text = result_text(call);
                cell.change(|state| give_result(state, thread, id, call, &text, call.error));
                follows.extend(call.allow.clone());
            }
            Answer::Deny(message) => {
                let message = message.unwrap_or_default();
                let text = format!("The person denied this call. {message}");
                cell.change(|state| {
                    give_result(state, thread, id, call, text.trim_end(), true);
                    state.program.answer = message;
                });
                follows.extend(call.deny.clone());
            }
            Answer::Result { text, failed } => {
                cell.change(|state| state.program.answer = text);
                follows.extend(if failed { call.deny.clone() } else { call.allow.clone() });
            }
        }
    }
    cell.change(|state| {
        for step in follows.into_iter().rev() {
            state.program.items.push_front(Item { thread: held.thread.clone(), step });
        }
        state.program.held = None;
        state.program.current = None;
        state.touch();
    });
}

/// Something fails.
pub(crate) async fn error(cell: &Cell, thread: Option<&str>, kind: &str, message: &str, retry: Retry) {
    cell.change(|state| {
        state.open_span(thread);
        let payload = voice::error(state.manner.form, kind, message, retry);
        state.emit(thread, "session.error", payload);
    });
    match retry {
        Retry::Retrying => pause(cell, 1_500).await,
        Retry::Exhausted => cell.change(|state| {
            state.program.items.clear();
            state.end_turn("retries_exhausted", true);
        }),
        Retry::Terminal => cell.change(|state| {
            state.close_span(thread, true);
            state.terminate("error");
        }),
    }
}

/// A sub-agent begins: its steps go in front of the program.
pub(crate) fn open_thread(cell: &Cell, agent: String, task: &str, report: String, steps: Vec<Step>) {
    cell.change(|state| {
        let id = state.id("sthr");
        state.threads.push(Thread {
            id: id.clone(),
            agent: agent.clone(),
            status: "running",
            created_at: now(),
            archived_at: None,
            journal: crate::journal::Journal::default(),
        });
        state.close_span(None, false);
        state.emit(None, "session.thread_created", json!({"session_thread_id": id, "agent_name": agent}));
        thread_running(state, &id);
        let sent = json!({"content": voice::blocks(task), "to_session_thread_id": id, "to_agent_name": agent});
        state.emit(None, "agent.thread_message_sent", sent);
        let own = Some(id.as_str());
        state.emit(own, "session.status_running", voice::running(state.manner.form));
        state.emit(own, "user.message", json!({"content": voice::blocks(task)}));
        state.program.items.push_front(Item { thread: Some(id.clone()), step: Step::ThreadClose { agent, report } });
        for step in steps.into_iter().rev() {
            state.program.items.push_front(Item { thread: Some(id.clone()), step });
        }
        state.touch();
    });
}

fn thread_running(state: &mut State, id: &str) {
    let agent = set_thread(state, id, "running");
    state.emit(None, "session.thread_status_running", json!({"session_thread_id": id, "agent_name": agent}));
}

fn thread_idle(state: &mut State, id: &str, reason: &str, waiting: &[String]) {
    let agent = set_thread(state, id, "idle");
    let mut stop = json!({"type": reason});
    if let Some(fields) = stop.as_object_mut().filter(|_| !waiting.is_empty()) {
        fields.insert("event_ids".into(), waiting.into());
    }
    let payload = json!({"session_thread_id": id, "agent_name": agent, "stop_reason": stop});
    state.emit(None, "session.thread_status_idle", payload);
}

fn set_thread(state: &mut State, id: &str, status: &'static str) -> String {
    match state.threads.iter_mut().find(|thread| thread.id == id) {
        Some(thread) => {
            thread.status = status;
            thread.agent.clone()
        }
        None => String::new(),
    }
}

/// A sub-agent ends, and reports.
pub(crate) fn close_thread(cell: &Cell, thread: Option<&str>, agent: &str, report: &str) {
    let Some(id) = thread else { return };
    cell.change(|state| {
        state.close_span(thread, false);
        state.emit(thread, "agent.message", json!({"content": voice::blocks(report)}));
        let tokens = voice::Tokens::default();
        let payload = voice::idle(state.manner.form, "end_turn", &[], tokens);
        state.emit(thread, "session.status_idle", payload);
        thread_idle(state, id, "end_turn", &[]);
        let received =
            json!({"content": voice::blocks(report), "from_session_thread_id": id, "from_agent_name": agent});
        state.emit(None, "agent.thread_message_received", received);
    });
}

/// The runtime restarts in the middle of the turn.
pub(crate) async fn rescheduled(cell: &Cell, ms: u64) {
    cell.change(|state| {
        state.emit(None, "session.status_rescheduled", json!({}));
        state.profile.phase = Phase::Rescheduling;
    });
    pause(cell, ms).await;
    cell.change(|state| {
        state.profile.phase = Phase::Running;
        state.emit(None, "session.status_running", voice::running(state.manner.form));
    });
}

/// A file for the person; its bytes are really there to fetch.
pub(crate) fn artifact(cell: &Cell, thread: Option<&str>, name: &str, content_type: &str, text: &str) {
    cell.change(|state| {
        let file = state.id("file");
        state.profile.files.push(crate::session::Artifact {
            id: file.clone(),
            name: name.to_owned(),
            content_type: content_type.to_owned(),
            text: text.to_owned(),
        });
        let payload =
            json!({"file_id": file, "original_filename": name, "size": text.len(), "content_type": content_type});
        state.emit(thread, "agent.artifact_delivered", payload);
        state.touch();
    });
}

/// An event of any type. Its `id` and `type` count; without an `id` it gets one.
pub(crate) fn event(cell: &Cell, thread: Option<&str>, event: Value) {
    cell.change(|state| {
        emit_as_is(state, thread, event);
    });
}

/// Persists an event exactly as given, and gives its id.
pub(crate) fn emit_as_is(state: &mut State, thread: Option<&str>, event: Value) -> String {
    let id = event.get("id").and_then(Value::as_str).map_or_else(|| state.event_id(), str::to_owned);
    let mut event = event;
    if let Some(fields) = event.as_object_mut() {
        fields.insert("id".into(), id.clone().into());
        fields.entry("processed_at").or_insert_with(|| now().into());
        if state.manner.form == Form::Seed {
            fields.entry("session_id").or_insert_with(|| state.session.clone().into());
        }
    }
    state.store(thread, event, &now(), None);
    id
}
