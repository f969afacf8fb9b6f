//! A session and its threads as the two siblings show them (wire page §3.1, Claude page §4).

use serde_json::{Map, Value, json};

use super::{State, Thread};
use crate::{Form, manner::Dialect, voice::hundredths};

fn seconds_between(from: &str, to: &str) -> f64 {
    match (from.parse::<jiff::Timestamp>(), to.parse::<jiff::Timestamp>()) {
        (Ok(from), Ok(to)) => to.duration_since(from).as_secs_f64().max(0.0),
        _ => 0.0,
    }
}

fn usage(state: &State, dialect: Dialect) -> Value {
    let tokens = state.profile.tokens;
    match dialect {
        Dialect::Qoder => json!({"total_credits": hundredths(tokens.centicredits())}),
        Dialect::Claude => json!({
            "input_tokens": tokens.input, "output_tokens": tokens.output, "cache_read_input_tokens": tokens.cached,
            "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0},
            "list_cost": {"amount": tokens.centicredits().to_string(), "currency": "USD"},
        }),
    }
}

/// The session object.
pub(crate) fn session(state: &State, dialect: Dialect) -> Value {
    let profile = &state.profile;
    let duration = seconds_between(&profile.created_at, &profile.updated_at);
    let mut shown = Map::new();
    let mut put = |key: &str, value: Value| shown.insert(key.to_owned(), value);
    put("id", state.session.clone().into());
    put("type", "session".into());
    put("status", profile.phase.status().into());
    put("title", profile.title.clone().into());
    put("agent", profile.agent.clone());
    put("environment_id", profile.environment_id.clone().into());
    put("metadata", json!(profile.metadata));
    put("resources", profile.resources.clone().into());
    put("vault_ids", profile.vault_ids.clone().into());
    put("budget", profile.budget.clone());
    put("outcome_evaluations", profile.outcomes.clone().into());
    put("deployment_id", Value::Null);
    put("stats", json!({"active_seconds": duration, "duration_seconds": duration}));
    put("usage", usage(state, dialect));
    put("archived_at", profile.archived_at.clone().into());
    put("created_at", profile.created_at.clone().into());
    put("updated_at", profile.updated_at.clone().into());
    if dialect == Dialect::Qoder {
        put("environment_variables", json!(profile.environment_variables));
        if state.manner.form == Form::Seed {
            put("turn_status", if state.turn.is_some() { "running" } else { "idle" }.into());
        }
    }
    Value::Object(shown)
}

/// A sub-agent's object.
pub(crate) fn thread(state: &State, thread: &Thread) -> Value {
    json!({
        "id": thread.id, "type": "session_thread", "session_id": state.session, "status": thread.status,
        "agent": {"id": format!("agent_{}", thread.agent), "type": "agent", "version": 1, "name": thread.agent,
                  "model": {"id": "practice-1"}, "tools": [], "mcp_servers": [], "skills": []},
        "parent_thread_id": null, "created_at": thread.created_at, "updated_at": thread.created_at,
        "archived_at": thread.archived_at,
    })
}
