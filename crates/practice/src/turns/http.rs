//! The HTTP face of the `turns` side: its routes, its token, its refusals (§1 to §4).

mod events;
mod gate;
mod history;
mod sessions;
mod turns;

use std::sync::Arc;

use axum::{
    Router,
    extract::State,
    response::{IntoResponse, Response},
    routing::{get, post},
};
use bytes::Bytes;
use http::{HeaderValue, StatusCode, header};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::json;

use super::agents;
use crate::world::World;
pub(in crate::turns) use events::accept;
pub(crate) use gate::{dressed, is_mine, serve};

/// What every endpoint gives.
pub(crate) type Reply = Result<Response, Refused>;

/// A refused request: upstream fixes statuses and no body; these are the two forms of its reference server (§1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Refused {
    /// By a route: `{"error": …}`.
    Route { status: u16, error: String },
    /// By what the routes stand on: plain text.
    Plain { status: u16, text: &'static str },
}

impl Refused {
    pub(crate) fn new(status: u16, error: impl Into<String>) -> Self {
        Self::Route { status, error: error.into() }
    }

    /// There is no such route (in this version).
    pub(crate) const NO_ROUTE: Self = Self::Plain { status: 404, text: "404 Not Found" };

    /// The server fell over.
    pub(crate) const BROKEN: Self = Self::Plain { status: 500, text: "Internal Server Error" };

    pub(crate) fn no_session() -> Self {
        Self::new(404, "Session not found")
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let code = |status| StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        match self {
            Self::Route { status, error } => {
                let mut response = json_answer(&json!({"error": error}));
                *response.status_mut() = code(status);
                response
            }
            Self::Plain { status, text } => {
                let kind = [(header::CONTENT_TYPE, "text/plain; charset=UTF-8")];
                let mut response = (code(status), kind, text).into_response();
                if status == 401 {
                    let asked = HeaderValue::from_static("Bearer realm=\"\"");
                    response.headers_mut().insert(header::WWW_AUTHENTICATE, asked);
                }
                response
            }
        }
    }
}

/// An answer with its keys in the order of its shape.
pub(crate) fn json_answer(body: &impl Serialize) -> Response {
    match serde_json::to_string(body) {
        Ok(text) => ([(header::CONTENT_TYPE, "application/json")], text).into_response(),
        Err(error) => {
            tracing::error!(%error, "an answer could not be written");
            Refused::BROKEN.into_response()
        }
    }
}

/// Reads a body. v3's server falls over what is no JSON; the others refuse it.
pub(crate) fn read<T: DeserializeOwned>(world: &World, body: &Bytes) -> Result<T, Refused> {
    serde_json::from_slice(body).map_err(|error| {
        let falls = error.classify() != serde_json::error::Category::Data;
        if falls && world.turns.look(|desk| desk.manner.is_plain_v3()) {
            Refused::BROKEN
        } else {
            Refused::new(400, error.to_string())
        }
    })
}

/// Whether the version that is spoken has this route.
pub(crate) fn only(world: &World, v4: bool) -> Result<(), Refused> {
    if world.turns.look(|desk| desk.manner.is_v4()) == v4 { Ok(()) } else { Err(Refused::NO_ROUTE) }
}

/// `GET /meta`.
async fn meta(State(world): State<Arc<World>>) -> Reply {
    Ok(json_answer(&world.turns.look(|desk| agents::meta(&desk.manner))))
}

/// Everything below `/turns`.
pub(crate) fn router() -> Router<Arc<World>> {
    Router::new()
        .route("/meta", get(meta))
        .route("/sessions", get(sessions::list).post(sessions::create))
        .route("/sessions/{id}", get(sessions::read).patch(sessions::change).delete(sessions::delete))
        .route("/sessions/{id}/history", get(history::history))
        .route("/sessions/{id}/turns", post(turns::turn))
        .route("/sessions/{id}/input", post(events::input))
        .route("/sessions/{id}/events/stream", get(events::stream))
        .fallback(|| async { Refused::NO_ROUTE })
        .method_not_allowed_fallback(|| async { Refused::NO_ROUTE })
}
