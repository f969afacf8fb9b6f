//! Opening streams (wire page §6; Claude page §7).

use std::sync::Arc;

use axum::{
    Extension,
    body::Body,
    extract::{ConnectInfo, Path, Query, State},
    response::{IntoResponse, Response},
};
use http::{HeaderMap, HeaderValue, header};

use super::{Pairs, Refusal, Reply, all, first, sessions::find};
use crate::{
    Start,
    counters::Opened,
    fault::StreamAct,
    feed::{Asked, Feed},
    manner::{Dialect, FLUSH_MS},
    wire::Wire,
    world::World,
};

/// `GET …/events/stream`.
pub(crate) async fn session(
    State(world): State<Arc<World>>,
    Extension(dialect): Extension<Dialect>,
    _: ConnectInfo<Wire>,
    Path(id): Path<String>,
    Query(pairs): Query<Pairs>,
    headers: HeaderMap,
) -> Reply {
    open(&world, dialect, &id, None, &pairs, &headers)
}

/// `GET …/threads/{tid}/stream`. Previews only in the Claude dialect.
pub(crate) async fn thread(
    State(world): State<Arc<World>>,
    Extension(dialect): Extension<Dialect>,
    Path((id, thread)): Path<(String, String)>,
    Query(pairs): Query<Pairs>,
    headers: HeaderMap,
) -> Reply {
    open(&world, dialect, &id, Some(thread), &pairs, &headers)
}

fn open(
    world: &Arc<World>,
    dialect: Dialect,
    id: &str,
    thread: Option<String>,
    pairs: &Pairs,
    headers: &HeaderMap,
) -> Reply {
    let cell = find(world, id)?;
    if let Some(thread) = &thread
        && cell.look(|state| !state.threads.iter().any(|known| known.id == *thread))
    {
        return Err(Refusal::not_found("no such thread"));
    }
    let previews = all(pairs, "event_deltas");
    if previews.len() > 100 || previews.iter().any(|word| word != "agent.message" && word != "agent.thinking") {
        return Err(Refusal::invalid("event_deltas: agent.message or agent.thinking", "event_deltas"));
    }
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).filter(|text| !text.is_empty());
    let last_event_id = header("last-event-id").map(str::to_owned);
    let after_id = first(pairs, "after_id").filter(|id| !id.is_empty()).map(str::to_owned);
    // Claude documents no resume: both are passed over there.
    let cursor = match dialect {
        Dialect::Qoder => last_event_id.clone().or_else(|| after_id.clone()),
        Dialect::Claude => None,
    };
    let flush = first(pairs, "delta_flush_interval_ms").map(str::parse::<u64>).transpose();
    let flush = flush.map_err(|_| Refusal::invalid("delta_flush_interval_ms: a number", "delta_flush_interval_ms"))?;
    let acts = world.inner().faults.take_stream(id, cursor.is_some());
    for act in &acts {
        if let StreamAct::ExpiredCursor { status } = act {
            let kind = Refusal::kind_of(*status);
            return Err(Refusal::new(*status, kind, "the cursor is expired"));
        }
    }
    let place =
        cell.look(|state| state.read(thread.as_deref()).place(cursor.as_deref(), state.manner.start == Start::Replay));
    let place = place.ok_or_else(|| Refusal::invalid("unknown or expired cursor", "after_id"))?;
    let on_thread = thread.is_some() && dialect == Dialect::Qoder;
    let asked = Asked {
        messages: !on_thread && previews.iter().any(|word| word == "agent.message"),
        thinking: !on_thread && previews.iter().any(|word| word == "agent.thinking"),
        flush_ms: flush.unwrap_or(FLUSH_MS),
        thread: thread.clone(),
    };
    let opened =
        Opened { session: id.to_owned(), thread, last_event_id, after_id, previews, delta_flush_interval_ms: flush };
    let feed = Feed::open(Arc::clone(world), cell, asked, place, acts.clone());
    world.count(|counters| {
        counters.open_streams += 1;
        counters.opened.push(opened);
    });
    Ok(response(feed, &acts))
}

fn response(feed: Feed, acts: &[StreamAct]) -> Response {
    let content_type = acts.iter().find_map(|act| match act {
        StreamAct::ContentType { value } => HeaderValue::from_str(value).ok(),
        _ => None,
    });
    let mut response = Body::from_stream(feed.into_stream()).into_response();
    let headers = response.headers_mut();
    let usual = HeaderValue::from_static("text/event-stream; charset=utf-8");
    headers.insert(header::CONTENT_TYPE, content_type.unwrap_or(usual));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}
