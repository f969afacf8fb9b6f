//! The session object and the objects a new session is made of. All fields but `id` are optional (Qoder page, section
//! 3.1; Claude page, section 4).

use contract::session::{AgentChoice, EnvironmentChoice, Goal, SessionState};
use serde_json::Value;

use super::{times, usage};
use crate::RemoteSession;

/// Reads a session; `None` where it has no id.
pub(super) fn session(object: &Value) -> Option<RemoteSession> {
    let archived_at = object.get("archived_at").is_some_and(|at| !at.is_null());
    let status = text(object, "status");
    Some(RemoteSession {
        id: text(object, "id")?,
        title: text(object, "title").filter(|title| !title.trim().is_empty()),
        state: state(status.as_deref(), text(object, "turn_status").as_deref()),
        agent: agent_name(object.get("agent")).or_else(|| text(object, "agent_name")),
        created_at: text(object, "created_at").and_then(|at| times::millis(&at)),
        updated_at: text(object, "updated_at").and_then(|at| times::millis(&at)),
        archived: archived_at || status.as_deref() == Some("archived"),
        usage: object.get("usage").map(usage::from_value).unwrap_or_default(),
        goals: object.get("outcome_evaluations").and_then(Value::as_array).map(|all| goals(all)).unwrap_or_default(),
    })
}

/// What a status means. Unknown words that sound busy count as busy, others are kept verbatim.
pub(super) fn state(status: Option<&str>, turn_status: Option<&str>) -> SessionState {
    match status {
        Some("idle") if turn_status == Some("running") => SessionState::Running,
        Some("idle") if turn_status == Some("canceling") => SessionState::Stopping,
        Some("idle" | "archived" | "cancelled" | "canceled") => SessionState::Idle,
        Some("running" | "processing") => SessionState::Running,
        Some("rescheduling") => SessionState::Rescheduling,
        Some("canceling" | "cancelling") => SessionState::Stopping,
        Some("terminated" | "deleted") => SessionState::Ended,
        Some(word) if word.starts_with("resched") => SessionState::Rescheduling,
        Some(word) if word.starts_with("cancel") => SessionState::Stopping,
        Some(word) if word.starts_with("process") || word.starts_with("run") => SessionState::Running,
        Some(word) => SessionState::Other { word: word.to_owned() },
        None => SessionState::Unknown,
    }
}

/// The agent's name: of a snapshot object; an id alone is no name.
pub(super) fn agent_name(agent: Option<&Value>) -> Option<String> {
    text(agent?, "name").filter(|name| !name.is_empty())
}

/// An agent for the picker; archived ones must not be offered.
pub(super) fn agent_choice(object: &Value) -> Option<AgentChoice> {
    if is_archived(object) {
        return None;
    }
    let id = text(object, "id")?;
    let tools = object.get("tools").and_then(Value::as_array).map(|tools| tools.iter().filter_map(tool_name).collect());
    Some(AgentChoice {
        name: text(object, "name").unwrap_or_else(|| id.clone()),
        description: text(object, "description").filter(|words| !words.is_empty()),
        model: object.get("model").and_then(|model| model.as_str().map(str::to_owned).or_else(|| text(model, "id"))),
        tools: tools.unwrap_or_default(),
        offer: None,
        id,
    })
}

/// An environment for the picker.
pub(super) fn environment_choice(object: &Value) -> Option<EnvironmentChoice> {
    if is_archived(object) {
        return None;
    }
    let id = text(object, "id")?;
    Some(EnvironmentChoice {
        name: text(object, "name").unwrap_or_else(|| id.clone()),
        description: text(object, "description").filter(|words| !words.is_empty()),
        id,
    })
}

fn is_archived(object: &Value) -> bool {
    object.get("archived_at").is_some_and(|at| !at.is_null())
}

/// A tool's own name, an MCP server's, or the toolset's type.
fn tool_name(tool: &Value) -> Option<String> {
    tool.as_str()
        .map(str::to_owned)
        .or_else(|| text(tool, "name"))
        .or_else(|| text(tool, "mcp_server_name"))
        .or_else(|| text(tool, "type"))
}

fn goals(all: &[Value]) -> Vec<Goal> {
    all.iter()
        .map(|one| Goal {
            id: text(one, "outcome_id").or_else(|| text(one, "id")).unwrap_or_default(),
            description: text(one, "description").unwrap_or_default(),
            rubric: one.get("rubric").and_then(rubric),
            iteration: one.get("iteration").and_then(Value::as_u64).and_then(|number| u32::try_from(number).ok()),
            verdict: text(one, "result"),
            explanation: text(one, "explanation"),
            evaluating: false,
        })
        .collect()
}

/// A rubric in words: its text, or the file it lies in.
pub(super) fn rubric(rubric: &Value) -> Option<String> {
    rubric.as_str().map(str::to_owned).or_else(|| text(rubric, "content")).or_else(|| text(rubric, "file_id"))
}

fn text(object: &Value, name: &str) -> Option<String> {
    object.get(name)?.as_str().map(str::to_owned)
}
