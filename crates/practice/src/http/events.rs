//! Listing and sending events (wire page §4 and §5).

use std::sync::Arc;

use axum::{
    Extension, Json,
    extract::{ConnectInfo, Path, Query, State},
    response::IntoResponse,
};
use bytes::Bytes;
use http::HeaderMap;
use serde_json::{Value, json};

use super::{Pairs, Refusal, Reply, all, first, page, sessions::find, stream};
use crate::{
    journal::Journal,
    manner::Dialect,
    session::{Cell, post},
    wire::Wire,
    world::World,
};

/// `GET …/events`. The trap of §5: with `Accept: text/event-stream` this path is a stream.
pub(crate) async fn list(
    State(world): State<Arc<World>>,
    Extension(dialect): Extension<Dialect>,
    wire: ConnectInfo<Wire>,
    Path(id): Path<String>,
    Query(pairs): Query<Pairs>,
    headers: HeaderMap,
) -> Reply {
    let accept = headers.get("accept").and_then(|value| value.to_str().ok()).unwrap_or_default();
    if dialect == Dialect::Qoder && accept.contains("text/event-stream") {
        return stream::session(State(world), Extension(dialect), wire, Path(id), Query(pairs), headers).await;
    }
    let cell = find(&world, &id)?;
    world.count(|counters| counters.lists += 1);
    answer(&cell, None, dialect, &pairs)
}

/// `GET …/threads/{tid}/events`.
pub(crate) async fn list_thread(
    State(world): State<Arc<World>>,
    Extension(dialect): Extension<Dialect>,
    Path((id, thread)): Path<(String, String)>,
    Query(pairs): Query<Pairs>,
) -> Reply {
    let cell = find(&world, &id)?;
    if cell.look(|state| !state.threads.iter().any(|known| known.id == thread)) {
        return Err(Refusal::not_found("no such thread"));
    }
    answer(&cell, Some(&thread), dialect, &pairs)
}

fn answer(cell: &Cell, thread: Option<&str>, dialect: Dialect, pairs: &Pairs) -> Reply {
    let within = Within::read(pairs)?;
    let types = all(pairs, "types");
    let body = cell.look(|state| rows(state.read(thread), dialect, pairs, &types, &within))?;
    Ok(Json(body).into_response())
}

fn rows(
    journal: &Journal,
    dialect: Dialect,
    pairs: &Pairs,
    types: &[String],
    within: &Within,
) -> Result<Value, Refusal> {
    let wanted: Vec<_> = journal
        .listed()
        .iter()
        .filter(|listed| types.is_empty() || types.contains(&listed.name))
        .filter(|listed| within.holds(&listed.at))
        .collect();
    let ids: Vec<&str> = wanted.iter().map(|listed| listed.id.as_str()).collect();
    let chosen = page::choose(pairs, dialect, false, &ids)?;
    let data = chosen.rows.iter().filter_map(|row| wanted.get(*row)).map(|listed| listed.value.clone()).collect();
    Ok(chosen.envelope(dialect, false, data))
}

/// `created_at[gt|gte|lt|lte]`.
#[derive(Debug, Default)]
pub(crate) struct Within {
    bounds: Vec<(&'static str, jiff::Timestamp)>,
}

impl Within {
    pub(crate) fn read(pairs: &Pairs) -> Result<Self, Refusal> {
        let mut bounds = Vec::new();
        for word in ["gt", "gte", "lt", "lte"] {
            let name = format!("created_at[{word}]");
            if let Some(text) = first(pairs, &name) {
                let at = text.parse().map_err(|_| Refusal::invalid(format!("{name}: not a time"), &name))?;
                bounds.push((word, at));
            }
        }
        Ok(Self { bounds })
    }

    pub(crate) fn holds(&self, at: &str) -> bool {
        let Ok(at) = at.parse::<jiff::Timestamp>() else { return self.bounds.is_empty() };
        self.bounds.iter().all(|(word, bound)| match *word {
            "gt" => at > *bound,
            "gte" => at >= *bound,
            "lt" => at < *bound,
            _ => at <= *bound,
        })
    }
}

/// `POST …/events`.
pub(crate) async fn send(State(world): State<Arc<World>>, Path(id): Path<String>, body: Bytes) -> Reply {
    let cell = find(&world, &id)?;
    let body: Value = serde_json::from_slice(&body)
        .map_err(|error| Refusal::invalid(format!("the body is not JSON: {error}"), "body"))?;
    let events = body.get("events").and_then(Value::as_array);
    let events = events.ok_or_else(|| Refusal::invalid("events: must be a non-empty array", "events"))?;
    let accepted = cell.change(|state| post::take(state, events))?;
    Ok(Json(json!({"data": accepted})).into_response())
}
