//! v4: inputs, and the event stream (§4).

use std::sync::Arc;

use axum::{
    extract::{Path, Query, State},
    response::IntoResponse,
};
use bytes::Bytes;
use http::StatusCode;

use super::{Refused, Reply, only, read};
use crate::{
    http::{Pairs, first},
    session::now,
    turns::{
        config::Party,
        desk::{Answer, Desk, Letter},
        log::{Event, Mode},
        player,
        shape::{Input, Stamped},
        stream,
    },
    world::World,
};

/// `GET /sessions/{id}/events/stream`.
pub(super) async fn stream(
    State(world): State<Arc<World>>,
    Path(id): Path<String>,
    Query(pairs): Query<Pairs>,
) -> Reply {
    only(&world, true)?;
    let known = world.turns.look(|desk| desk.session(&id).is_some());
    if !known {
        return Err(Refused::no_session());
    }
    let mode = first(&pairs, "stream").and_then(Mode::of);
    let offered = |mode: &Mode| {
        world.turns.look(|desk| {
            let manner = &desk.manner;
            manner.says_stream
                && match mode {
                    Mode::Delta => manner.delta,
                    Mode::Message => manner.message,
                    Mode::None => false,
                }
        })
    };
    let mode = mode.filter(offered).ok_or_else(|| Refused::new(400, "stream: delta or message"))?;
    stream::events(&world, &id, mode).ok_or_else(Refused::no_session)
}

/// `POST /sessions/{id}/input`.
pub(super) async fn input(State(world): State<Arc<World>>, Path(id): Path<String>, body: Bytes) -> Reply {
    only(&world, true)?;
    let known = world.turns.look(|desk| desk.session(&id).is_some());
    if !known {
        return Err(Refused::no_session());
    }
    let input: Input = read(&world, &body)?;
    accept(&world, &id, input)?;
    Ok(StatusCode::OK.into_response())
}

fn images_fit(desk: &Desk, input: &Input) -> bool {
    let Input::User { content } = input else { return true };
    let fits = |url: &&str| if url.starts_with("data:") { desk.manner.image_data } else { desk.manner.image_http };
    content.images().iter().all(fits)
}

/// Takes an input from anybody and tells everybody who follows.
pub(in crate::turns) fn accept(world: &Arc<World>, id: &str, input: Input) -> Result<(), Refused> {
    let stamp = Stamped { id: world.turns.next_id("evt"), timestamp: now(), payload: input.clone() };
    let place = world.turns.change(|desk| {
        if !images_fit(desk, &input) {
            return Err(Refused::new(400, "This agent takes no such images"));
        }
        let session = desk.session_mut(id).ok_or_else(Refused::no_session)?;
        let (call, answer) = match input {
            Input::User { content } => {
                let letter = Letter { id: stamp.id.clone(), timestamp: stamp.timestamp.clone(), content };
                session.log.push(Event::Input(stamp));
                return Ok(player::receive(desk, id, letter));
            }
            Input::Cancel {} => {
                session.log.push(Event::Input(stamp));
                session.running.values().for_each(|running| running.cancel.cancel());
                return Ok(None);
            }
            Input::Tool { tool_call_id, content } => (tool_call_id, Answer::Result(content, Some(stamp.id.clone()))),
            Input::Permission { tool_call_id, granted: true, .. } => (tool_call_id, Answer::Granted),
            Input::Permission { tool_call_id, reason, .. } => (tool_call_id, Answer::Denied(reason)),
        };
        let calls = session.held.iter_mut().flat_map(|held| &mut held.calls);
        let waiting = calls.filter(|waiting| waiting.answer.is_none()).find(|waiting| waiting.id == call);
        let waiting = waiting.ok_or_else(|| Refused::new(400, "Unknown or already resolved tool call"))?;
        if matches!(answer, Answer::Result(..)) == (waiting.party == Party::Person) {
            return Err(Refused::new(400, "An answer of the wrong kind"));
        }
        waiting.answer = Some(answer);
        session.log.push(Event::Input(stamp));
        Ok(None)
    })?;
    if let Some(place) = place {
        player::work_off(world, id, place);
    }
    Ok(())
}
