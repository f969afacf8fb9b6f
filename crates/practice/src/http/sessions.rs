//! Sessions and their sub-agents (wire page §3.1; Claude page §3 and §4).

use std::{collections::BTreeMap, sync::Arc};

use axum::{
    Extension, Json,
    extract::{Path, Query, State},
    response::IntoResponse,
};
use bytes::Bytes;
use http::StatusCode;
use serde_json::{Map, Value, json};

use super::{Pairs, Refusal, Reply, all, catalogue, events::Within, first, page};
use crate::{
    manner::Dialect,
    scenario,
    session::{Cell, now, post, show},
    world::{Birth, World},
};

/// The session, or 404.
pub(crate) fn find(world: &World, id: &str) -> Result<Arc<Cell>, Refusal> {
    world.session(id).ok_or_else(|| Refusal::not_found("no such session"))
}

fn shown(cell: &Cell, dialect: Dialect) -> Value {
    cell.look(|state| show::session(state, dialect))
}

fn object(body: &Bytes) -> Result<Map<String, Value>, Refusal> {
    match serde_json::from_slice(body) {
        Ok(Value::Object(fields)) => Ok(fields),
        Ok(_) => Err(Refusal::invalid("the body must be an object", "body")),
        Err(error) => Err(Refusal::invalid(format!("the body is not JSON: {error}"), "body")),
    }
}

/// `GET /sessions`.
pub(crate) async fn list(
    State(world): State<Arc<World>>,
    Extension(dialect): Extension<Dialect>,
    Query(pairs): Query<Pairs>,
) -> Reply {
    let within = Within::read(&pairs)?;
    let statuses = all(&pairs, "statuses");
    let archived = first(&pairs, "include_archived") == Some("true");
    let agent = first(&pairs, "agent_id");
    let cells: Vec<Arc<Cell>> = world.inner().sessions.clone();
    let cells: Vec<_> = cells
        .into_iter()
        .filter(|cell| {
            cell.look(|state| {
                let profile = &state.profile;
                (archived || profile.archived_at.is_none())
                    && (statuses.is_empty() || statuses.iter().any(|status| status == profile.phase.status()))
                    && agent.is_none_or(|id| profile.agent.get("id").and_then(Value::as_str) == Some(id))
                    && within.holds(&profile.created_at)
            })
        })
        .collect();
    let ids: Vec<&str> = cells.iter().map(|cell| cell.id.as_str()).collect();
    let chosen = page::choose(&pairs, dialect, true, &ids)?;
    let data = chosen.rows.iter().filter_map(|row| cells.get(*row)).map(|cell| shown(cell, dialect)).collect();
    Ok(Json(chosen.envelope(dialect, true, data)).into_response())
}

fn metadata(fields: &Map<String, Value>) -> Result<BTreeMap<String, String>, Refusal> {
    let mut known = BTreeMap::new();
    patch_metadata(&mut known, fields)?;
    Ok(known)
}

/// A patch: `null` deletes a key (§2).
fn patch_metadata(known: &mut BTreeMap<String, String>, fields: &Map<String, Value>) -> Result<(), Refusal> {
    let patch = match fields.get("metadata") {
        None | Some(Value::Null) => return Ok(()),
        Some(Value::Object(patch)) => patch,
        Some(_) => return Err(Refusal::invalid("metadata: must be an object", "metadata")),
    };
    let mut next = known.clone();
    for (key, value) in patch {
        match value {
            Value::Null => {
                next.remove(key);
            }
            Value::String(value) if key.len() <= 64 && value.chars().count() <= 512 => {
                next.insert(key.clone(), value.clone());
            }
            _ => return Err(Refusal::invalid("metadata: strings of at most 512 characters", "metadata")),
        }
    }
    if next.len() > 16 {
        return Err(Refusal::invalid("metadata: at most 16 keys", "metadata"));
    }
    *known = next;
    Ok(())
}

/// One string `K=V;K=V` (or lines), as the pages have it, or a map, as the SDK has it.
fn variables(fields: &Map<String, Value>) -> BTreeMap<String, String> {
    match fields.get("environment_variables") {
        Some(Value::String(text)) => text
            .split([';', '\n'])
            .filter_map(|pair| pair.split_once('='))
            .map(|(key, value)| (key.trim().to_owned(), value.to_owned()))
            .collect(),
        Some(Value::Object(map)) => {
            map.iter().filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect()
        }
        _ => BTreeMap::new(),
    }
}

fn strings(value: Option<&Value>) -> Vec<String> {
    let values = value.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    values.iter().filter_map(|value| value.as_str().map(str::to_owned)).collect()
}

/// `POST /sessions`.
pub(crate) async fn create(
    State(world): State<Arc<World>>,
    Extension(dialect): Extension<Dialect>,
    body: Bytes,
) -> Reply {
    let fields = object(&body)?;
    let agent = catalogue::agent_of(&world, fields.get("agent"))?;
    let environment_id = fields.get("environment_id").and_then(Value::as_str).unwrap_or_default().to_owned();
    if !catalogue::has_environment(&world, &environment_id) {
        return Err(Refusal::invalid("environment_id: no such environment", "environment_id"));
    }
    let metadata = metadata(&fields)?;
    let scenario = match metadata.get("practice.scenario") {
        Some(id) => Some(scenario::find(id).map_err(|error| Refusal::invalid(error.to_string(), "metadata"))?),
        None => None,
    };
    let cell = world.create(
        dialect,
        Birth {
            title: fields.get("title").and_then(Value::as_str).map(str::to_owned),
            metadata,
            agent: Some(agent),
            environment_id,
            environment_variables: variables(&fields),
            resources: fields.get("resources").and_then(Value::as_array).cloned().unwrap_or_default(),
            vault_ids: strings(fields.get("vault_ids")),
            budget: fields.get("budget").cloned().unwrap_or_default(),
            incremental: dialect == Dialect::Qoder
                && fields.get("incremental_streaming_enabled").and_then(Value::as_bool) == Some(true),
            scenario,
        },
    );
    let initial = fields.get("initial_events").and_then(Value::as_array).filter(|events| !events.is_empty());
    if let Some(events) = initial
        && let Err(refusal) = cell.change(|state| post::take(state, events))
    {
        cell.change(crate::session::State::delete);
        world.inner().sessions.retain(|known| known.id != cell.id);
        return Err(refusal);
    }
    Ok(Json(shown(&cell, dialect)).into_response())
}

/// `GET /sessions/{id}`.
pub(crate) async fn read(
    State(world): State<Arc<World>>,
    Extension(dialect): Extension<Dialect>,
    Path(id): Path<String>,
) -> Reply {
    Ok(Json(shown(&*find(&world, &id)?, dialect)).into_response())
}

/// `POST /sessions/{id}`: title and metadata. Streams hear what changed.
pub(crate) async fn update(
    State(world): State<Arc<World>>,
    Extension(dialect): Extension<Dialect>,
    Path(id): Path<String>,
    body: Bytes,
) -> Reply {
    let cell = find(&world, &id)?;
    let fields = object(&body)?;
    cell.change(|state| -> Result<(), Refusal> {
        let mut changed = Map::new();
        if fields.contains_key("metadata") {
            patch_metadata(&mut state.profile.metadata, &fields)?;
            changed.insert("metadata".into(), json!(state.profile.metadata));
        }
        if let Some(title) = fields.get("title") {
            state.profile.title = title.as_str().map(str::to_owned);
            changed.insert("title".into(), title.clone());
        }
        if let Some(budget) = fields.get("budget") {
            state.profile.budget = budget.clone();
            changed.insert("budget".into(), budget.clone());
        }
        if fields.contains_key("environment_variables") {
            state.profile.environment_variables = variables(&fields);
        }
        if !changed.is_empty() {
            state.emit(None, "session.updated", Value::Object(changed));
        }
        state.touch();
        Ok(())
    })?;
    Ok(Json(shown(&cell, dialect)).into_response())
}

/// `POST /sessions/{id}/archive`: there is no way back.
pub(crate) async fn archive(
    State(world): State<Arc<World>>,
    Extension(dialect): Extension<Dialect>,
    Path(id): Path<String>,
) -> Reply {
    let cell = find(&world, &id)?;
    cell.change(|state| {
        state.profile.archived_at.get_or_insert_with(now);
        state.touch();
    });
    Ok(Json(shown(&cell, dialect)).into_response())
}

/// `DELETE /sessions/{id}`: live streams end with `session.deleted`.
pub(crate) async fn delete(State(world): State<Arc<World>>, Path(id): Path<String>) -> Reply {
    let cell = find(&world, &id)?;
    world.inner().sessions.retain(|known| known.id != id);
    cell.change(crate::session::State::delete);
    Ok(Json(json!({"id": id, "type": "session_deleted"})).into_response())
}

/// `POST /sessions/{id}/cancel`: 202 while a turn runs, 200 and nothing done when none does.
pub(crate) async fn cancel(State(world): State<Arc<World>>, Path(id): Path<String>) -> Reply {
    let cell = find(&world, &id)?;
    let stopped = cell.change(post::interrupt);
    let status = if stopped { StatusCode::ACCEPTED } else { StatusCode::OK };
    Ok((status, Json(json!({"id": id, "type": "session", "status": "canceling"}))).into_response())
}

/// `GET /sessions/{id}/threads`.
pub(crate) async fn threads(
    State(world): State<Arc<World>>,
    Extension(dialect): Extension<Dialect>,
    Path(id): Path<String>,
    Query(pairs): Query<Pairs>,
) -> Reply {
    let cell = find(&world, &id)?;
    let body = cell.look(|state| {
        let ids: Vec<&str> = state.threads.iter().map(|thread| thread.id.as_str()).collect();
        let chosen = page::choose(&pairs, dialect, false, &ids)?;
        let rows = chosen.rows.iter().filter_map(|row| state.threads.get(*row));
        let data = rows.map(|thread| show::thread(state, thread)).collect();
        Ok::<Value, Refusal>(chosen.envelope(dialect, false, data))
    })?;
    Ok(Json(body).into_response())
}

/// `GET /sessions/{id}/threads/{tid}`.
pub(crate) async fn thread(State(world): State<Arc<World>>, Path((id, thread)): Path<(String, String)>) -> Reply {
    let cell = find(&world, &id)?;
    let body = cell.look(|state| {
        let found = state.threads.iter().find(|known| known.id == thread);
        found.map(|found| show::thread(state, found))
    });
    Ok(Json(body.ok_or_else(|| Refusal::not_found("no such thread"))?).into_response())
}

/// `POST /sessions/{id}/threads/{tid}/archive`.
pub(crate) async fn archive_thread(
    State(world): State<Arc<World>>,
    Path((id, thread)): Path<(String, String)>,
) -> Reply {
    let cell = find(&world, &id)?;
    let body = cell.change(|state| {
        let place = state.threads.iter().position(|known| known.id == thread)?;
        state.threads.get_mut(place)?.archived_at.get_or_insert_with(now);
        state.touch();
        state.threads.get(place).map(|found| show::thread(state, found))
    });
    Ok(Json(body.ok_or_else(|| Refusal::not_found("no such thread"))?).into_response())
}
