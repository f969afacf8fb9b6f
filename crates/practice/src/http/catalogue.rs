//! Agents, environments, models and files: what the "new session" form and the download chip need (wire page §3.2, §3.3).

use std::sync::Arc;

use axum::{
    Extension, Json,
    extract::{Path, Query, State},
    response::IntoResponse,
};
use bytes::Bytes;
use http::{HeaderMap, header};
use serde_json::{Value, json};

use super::{Pairs, Refusal, Reply, first, page};
use crate::{
    manner::Dialect,
    session::{Artifact, now},
    world::World,
};

fn agent(id: &str, name: &str, description: &str, archived: bool) -> Value {
    json!({
        "id": id, "type": "agent", "version": 1, "name": name, "description": description, "system": null,
        "model": {"id": "practice-1"}, "mcp_servers": [], "skills": [], "metadata": {},
        "tools": [{"type": "agent_toolset_20260401",
                   "default_config": {"enabled": true, "permission_policy": {"type": "always_allow"}},
                   "configs": [{"name": "Bash", "enabled": true, "permission_policy": {"type": "always_ask"}}]},
                  {"type": "custom", "name": "lookup_order", "description": "Looks up an order in your system",
                   "input_schema": {"type": "object", "properties": {"order_id": {"type": "string"}},
                                    "required": ["order_id"]}}],
        "archived_at": if archived { Some("2026-06-01T00:00:00Z") } else { None },
        "created_at": "2026-05-01T08:00:00Z", "updated_at": "2026-05-01T08:00:00Z",
    })
}

/// The agents a fresh server has. The archived one must not be offered (§3.2).
pub(crate) fn agents() -> Vec<Value> {
    vec![
        agent("agent_practice", "Practice agent", "Answers by simple rules; asks before it runs a command", false),
        agent("agent_coder", "Coder", "Edits files and runs tests", false),
        agent("agent_weather", "天气台", "查询天气并写简报", false),
        agent("agent_retired", "Retired agent", "Archived: not for new sessions", true),
    ]
}

/// The agent of sessions that scenarios start.
pub(crate) fn default_agent() -> Value {
    agents().into_iter().next().unwrap_or_default()
}

/// The environments a fresh server has.
pub(crate) fn environments() -> Vec<Value> {
    vec![environment("env_practice", "Practice", "Nothing really runs here")]
}

fn environment(id: &str, name: &str, description: &str) -> Value {
    json!({
        "id": id, "type": "environment", "name": name, "description": description, "metadata": {},
        "config": {"type": "cloud", "networking": {"type": "unrestricted"}},
        "archived_at": null, "created_at": "2026-05-01T08:00:00Z", "updated_at": "2026-05-01T08:00:00Z",
    })
}

fn id_of(value: &Value) -> &str {
    value.get("id").and_then(Value::as_str).unwrap_or_default()
}

fn is_archived(value: &Value) -> bool {
    value.get("archived_at").is_some_and(|at| !at.is_null())
}

/// The agent a create body names: an id, `{"id"}`, or one with overrides.
pub(crate) fn agent_of(world: &World, named: Option<&Value>) -> Result<Value, Refusal> {
    let id = match named {
        Some(Value::String(id)) => id.as_str(),
        Some(named @ Value::Object(_)) => id_of(named),
        _ => return Err(Refusal::invalid("agent: is required", "agent")),
    };
    let known = world.inner().agents.iter().find(|agent| id_of(agent) == id).cloned();
    let mut agent = known.ok_or_else(|| Refusal::invalid("agent: no such agent", "agent"))?;
    if is_archived(&agent) {
        return Err(Refusal::invalid("agent: it is archived", "agent"));
    }
    if let (Some(Value::Object(named)), Some(fields)) = (named, agent.as_object_mut()) {
        for key in ["system", "model", "tools", "mcp_servers", "skills"] {
            if let Some(value) = named.get(key) {
                fields.insert(key.to_owned(), value.clone());
            }
        }
    }
    Ok(agent)
}

/// Whether the environment exists and is not archived.
pub(crate) fn has_environment(world: &World, id: &str) -> bool {
    world.inner().environments.iter().any(|environment| id_of(environment) == id && !is_archived(environment))
}

fn listed(dialect: Dialect, pairs: &Pairs, rows: &[Value]) -> Reply {
    let archived = first(pairs, "include_archived") == Some("true");
    let rows: Vec<&Value> = rows.iter().filter(|row| archived || !is_archived(row)).collect();
    let ids: Vec<&str> = rows.iter().map(|row| id_of(row)).collect();
    let chosen = page::choose(pairs, dialect, false, &ids)?;
    let data = chosen.rows.iter().filter_map(|row| rows.get(*row)).map(|row| (*row).clone()).collect();
    Ok(Json(chosen.envelope(dialect, false, data)).into_response())
}

/// `GET /agents`.
pub(crate) async fn list_agents(
    State(world): State<Arc<World>>,
    Extension(dialect): Extension<Dialect>,
    Query(pairs): Query<Pairs>,
) -> Reply {
    let rows = world.inner().agents.clone();
    listed(dialect, &pairs, &rows)
}

/// `GET /environments`.
pub(crate) async fn list_environments(
    State(world): State<Arc<World>>,
    Extension(dialect): Extension<Dialect>,
    Query(pairs): Query<Pairs>,
) -> Reply {
    let rows = world.inner().environments.clone();
    listed(dialect, &pairs, &rows)
}

fn one(rows: &[Value], id: &str) -> Reply {
    let found = rows.iter().find(|row| id_of(row) == id).cloned();
    Ok(Json(found.ok_or_else(|| Refusal::not_found("no such resource"))?).into_response())
}

/// `GET /agents/{id}`.
pub(crate) async fn read_agent(State(world): State<Arc<World>>, Path(id): Path<String>) -> Reply {
    let rows = world.inner().agents.clone();
    one(&rows, &id)
}

/// `GET /environments/{id}`.
pub(crate) async fn read_environment(State(world): State<Arc<World>>, Path(id): Path<String>) -> Reply {
    let rows = world.inner().environments.clone();
    one(&rows, &id)
}

fn named(body: &Bytes) -> Result<(Value, String), Refusal> {
    let body: Value = serde_json::from_slice(body)
        .map_err(|error| Refusal::invalid(format!("the body is not JSON: {error}"), "body"))?;
    let name = body.get("name").and_then(Value::as_str).filter(|name| !name.is_empty()).map(str::to_owned);
    let name = name.ok_or_else(|| Refusal::invalid("name: is required", "name"))?;
    Ok((body, name))
}

fn adopt(mut fresh: Value, body: &Value, keys: &[&str]) -> Value {
    if let Some(fields) = fresh.as_object_mut() {
        for key in keys {
            if let Some(value) = body.get(*key).filter(|value| !value.is_null()) {
                fields.insert((*key).to_owned(), value.clone());
            }
        }
        for key in ["created_at", "updated_at"] {
            fields.insert(key.to_owned(), now().into());
        }
    }
    fresh
}

/// `POST /agents`.
pub(crate) async fn create_agent(State(world): State<Arc<World>>, body: Bytes) -> Reply {
    let (body, name) = named(&body)?;
    let fresh = agent(&world.ids.next("agent"), &name, "", false);
    let fresh = adopt(fresh, &body, &["description", "model", "tools", "mcp_servers", "skills", "system", "metadata"]);
    world.inner().agents.push(fresh.clone());
    Ok(Json(fresh).into_response())
}

/// `POST /environments`.
pub(crate) async fn create_environment(State(world): State<Arc<World>>, body: Bytes) -> Reply {
    let (body, name) = named(&body)?;
    let fresh = adopt(environment(&world.ids.next("env"), &name, ""), &body, &["description", "config", "metadata"]);
    world.inner().environments.push(fresh.clone());
    Ok(Json(fresh).into_response())
}

/// `GET /models`: not paginated.
pub(crate) async fn models() -> Reply {
    let model = json!({"id": "practice-1", "type": "model", "display_name": "Practice 1", "is_enabled": true,
                       "efforts": ["low", "high"], "default_effort": "low", "created_at": "2026-05-01T08:00:00Z"});
    Ok(Json(json!({"data": [model], "has_more": false, "first_id": "practice-1", "last_id": "practice-1"}))
        .into_response())
}

fn artifact(world: &World, id: &str) -> Option<Artifact> {
    let cells = world.inner().sessions.clone();
    cells.iter().find_map(|cell| cell.look(|state| state.profile.files.iter().find(|file| file.id == id).cloned()))
}

/// `GET /files/{id}/content`: an address of its own to fetch it from, or in the Claude dialect the bytes.
pub(crate) async fn file_content(
    State(world): State<Arc<World>>,
    Extension(dialect): Extension<Dialect>,
    Path(id): Path<String>,
) -> Reply {
    let file = artifact(&world, &id).ok_or_else(|| Refusal::not_found("no such file"))?;
    if dialect == Dialect::Claude {
        return Ok(([(header::CONTENT_TYPE, file.content_type)], file.text).into_response());
    }
    let key = world.ids.next("blob");
    world.inner().blobs.insert(key.clone(), id);
    let url = format!("http://127.0.0.1:{}/practice/blobs/{key}", world.port);
    let expires = jiff::Timestamp::now() + jiff::SignedDuration::from_mins(10);
    Ok(Json(json!({"url": url, "expires_at": expires.to_string()})).into_response())
}

/// The file's own address: without a token, as storage servers want it. A token that comes here has leaked.
pub(crate) async fn blob(State(world): State<Arc<World>>, Path(key): Path<String>, headers: HeaderMap) -> Reply {
    if headers.contains_key(header::AUTHORIZATION) || headers.contains_key("x-api-key") {
        world.count(|counters| counters.leaked_tokens += 1);
        return Err(Refusal::invalid("this address takes no token", "authorization"));
    }
    let id = world.inner().blobs.get(&key).cloned();
    let file = id.and_then(|id| artifact(&world, &id)).ok_or_else(|| Refusal::not_found("no such file"))?;
    let disposition = format!("attachment; filename=\"{}\"", file.name.replace(['"', '\\', '\r', '\n'], "_"));
    let headers = [(header::CONTENT_TYPE, file.content_type), (header::CONTENT_DISPOSITION, disposition)];
    Ok((headers, file.text).into_response())
}
