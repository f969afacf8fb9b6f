//! Sessions: the list in pages, and one of them made, shown, changed and deleted (§2 to §4).

use std::{collections::VecDeque, sync::Arc};

use axum::{
    extract::{Path, Query, State},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Refused, Reply, json_answer, read as read_body};
use crate::{
    http::{Pairs, first},
    turns::{
        TurnsLocation, TurnsManner, agents,
        config::{AgentShown, Change, Setup},
        desk::{Desk, Session},
        shape::{CallOut, Message},
    },
    world::World,
};

/// A session as answers show it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Shown {
    session_id: String,
    agent: AgentShown,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    active: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pending: Option<Vec<CallOut>>,
}

fn shown(manner: &TurnsManner, session: &Session) -> Shown {
    Shown {
        session_id: session.id.clone(),
        agent: session.setup.shown(manner),
        tools: session.setup.tools.clone(),
        active: manner.is_revised().then(|| session.is_active()),
        pending: (!manner.is_plain_v3()).then(|| session.pending()),
    }
}

/// The session of this id.
pub(super) fn found<'a>(desk: &'a Desk, id: &str) -> Result<&'a Session, Refused> {
    desk.session(id).ok_or_else(Refused::no_session)
}

#[derive(Serialize)]
struct Listed {
    sessions: Vec<Shown>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// `GET /sessions`: newest first, a page at a time.
pub(super) async fn list(State(world): State<Arc<World>>, Query(pairs): Query<Pairs>) -> Reply {
    world.count(|counters| counters.lists += 1);
    world.turns.look(|desk| {
        let after = first(&pairs, "after").filter(|cursor| !cursor.is_empty());
        let sessions = || desk.sessions.iter().rev();
        let from = match after {
            None => 0,
            Some(cursor) => {
                let id = cursor.strip_prefix("after_").unwrap_or_default();
                let at = sessions().position(|session| session.id == id);
                at.map(|at| at + 1).ok_or_else(|| Refused::new(400, "Unknown cursor"))?
            }
        };
        let size = desk.manner.page.max(1);
        let page: Vec<Shown> = sessions().skip(from).take(size).map(|session| shown(&desk.manner, session)).collect();
        let more = from + page.len() < desk.sessions.len();
        let last = page.last().map(|session| format!("after_{}", session.session_id));
        let next =
            if desk.manner.faults.repeated_cursor { after.map(str::to_owned).or(last) } else { last.filter(|_| more) };
        Ok(json_answer(&Listed { sessions: page, next }))
    })
}

/// The body of a creation.
#[derive(Deserialize)]
struct Create {
    #[serde(default)]
    messages: Vec<Message>,
    #[serde(flatten)]
    change: Change,
}

fn checked(manner: &TurnsManner, setup: &Setup, change: &Change) -> Result<(), Refused> {
    // The reference server of v3 looks at nothing.
    if manner.is_plain_v3() {
        return Ok(());
    }
    if !agents::is_offered(manner, &setup.agent) {
        return Err(Refused::new(404, format!("Agent not found: {}", setup.agent)));
    }
    setup.objection(change).map_or(Ok(()), |objection| Err(Refused::new(400, objection)))
}

/// `POST /sessions`: runs nothing.
pub(super) async fn create(State(world): State<Arc<World>>, headers: HeaderMap, body: Bytes) -> Reply {
    let Create { messages, change } = read_body(&world, &body)?;
    let name = change.agent.as_ref().and_then(|agent| agent.name.clone());
    let agent = name.filter(|name| !name.is_empty()).ok_or_else(|| Refused::new(400, "agent.name is required"))?;
    let mut setup = Setup { agent, ..Setup::default() };
    let manner = world.turns.look(|desk| desk.manner.clone());
    checked(&manner, &setup, &change)?;
    setup.apply(change);
    let id = world.turns.create(setup, messages, VecDeque::new());
    if manner.is_plain_v3() {
        let mut response = json_answer(&json!({"sessionId": id}));
        *response.status_mut() = StatusCode::CREATED;
        return Ok(response);
    }
    let mut response = StatusCode::CREATED.into_response();
    if let Ok(value) = HeaderValue::from_str(&location(&world, &manner, &headers, &id)) {
        response.headers_mut().insert(header::LOCATION, value);
    }
    Ok(response)
}

fn location(world: &World, manner: &TurnsManner, headers: &HeaderMap, id: &str) -> String {
    let path = format!("/turns/sessions/{id}");
    let usual = if manner.is_v4() { TurnsLocation::Absolute } else { TurnsLocation::Relative };
    let wanted = if manner.location == TurnsLocation::Usual { usual } else { manner.location.clone() };
    let here = || {
        let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).map(str::to_owned);
        host.unwrap_or_else(|| format!("127.0.0.1:{}", world.port))
    };
    match wanted {
        TurnsLocation::Usual | TurnsLocation::Relative => path,
        TurnsLocation::Absolute => format!("http://{}{path}", here()),
        TurnsLocation::OtherOrigin => match world.turns.look(|desk| desk.other_port) {
            Some(port) => format!("http://127.0.0.1:{port}{path}"),
            None => format!("http://{}{path}", here()),
        },
        TurnsLocation::Prefix { text } => format!("{text}/sessions/{id}"),
    }
}

/// `GET /sessions/{id}`.
pub(super) async fn read(State(world): State<Arc<World>>, Path(id): Path<String>) -> Reply {
    world.turns.look(|desk| Ok(json_answer(&shown(&desk.manner, found(desk, &id)?))))
}

/// `PATCH /sessions/{id}`: not in v3.
pub(super) async fn change(State(world): State<Arc<World>>, Path(id): Path<String>, body: Bytes) -> Reply {
    if world.turns.look(|desk| desk.manner.is_plain_v3()) {
        return Err(Refused::NO_ROUTE);
    }
    let change: Change = read_body(&world, &body)?;
    world.turns.change(|desk| {
        let manner = desk.manner.clone();
        let session = desk.session_mut(&id).ok_or_else(Refused::no_session)?;
        if manner.is_revised() && session.is_active() {
            return Err(Refused::new(409, "A turn is active"));
        }
        if let Some(objection) = session.setup.objection(&change) {
            return Err(Refused::new(400, objection));
        }
        session.setup.apply(change);
        Ok(json_answer(&shown(&manner, session)))
    })
}

/// `DELETE /sessions/{id}`.
pub(super) async fn delete(State(world): State<Arc<World>>, Path(id): Path<String>) -> Reply {
    only_known(world.turns.change(|desk| {
        let known = desk.sessions.len();
        desk.sessions.retain(|session| session.id != id);
        desk.sessions.len() < known
    }))
}

fn only_known(deleted: bool) -> Reply {
    if deleted { Ok(no_content()) } else { Err(Refused::no_session()) }
}

fn no_content() -> Response {
    StatusCode::NO_CONTENT.into_response()
}
