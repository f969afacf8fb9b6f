//! The HTTP face of the `runs` side: its routes, its token, its refusals (§2 and §3).

mod answers;
mod catalogue;
mod gate;
mod models;
mod page;
mod prompts;
pub(crate) mod schema;
mod sessions;

use std::sync::Arc;

use axum::{
    Router,
    response::{IntoResponse, Response},
    routing::{get, patch, post},
};
use http::{HeaderValue, StatusCode, header};
use serde::Serialize;

use crate::world::World;
pub(crate) use gate::{dressed, is_mine, serve};
pub(crate) use page::index;

/// What every endpoint gives.
pub(crate) type Reply = Result<Response, Refused>;

/// A refused request (§2).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refused {
    pub(crate) status: u16,
    pub(crate) error: &'static str,
    pub(crate) message: String,
}

impl Refused {
    pub(crate) fn new(status: u16, error: &'static str, message: impl Into<String>) -> Self {
        Self { status, error, message: message.into() }
    }

    /// A semantic refusal.
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(400, "invalid", message)
    }

    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self::new(404, "not_found", message)
    }

    pub(crate) fn busy(message: &str) -> Self {
        Self::new(409, "busy", message)
    }

    pub(crate) fn no_model() -> Self {
        Self::new(409, "no_model", "No model is configured; add one with POST /models")
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let failure = super::shape::Failure { error: self.error.to_owned(), message: self.message };
        let mut response = json(&failure);
        *response.status_mut() = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        if self.status == 401 {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

/// An answer with its keys in the order of its shape.
pub(crate) fn json(body: &impl Serialize) -> Response {
    match serde_json::to_string(body) {
        Ok(text) => ([(header::CONTENT_TYPE, "application/json")], text).into_response(),
        Err(error) => {
            tracing::error!(%error, "an answer could not be written");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}

/// Everything below `/runs`.
pub(crate) fn router() -> Router<Arc<World>> {
    Router::new()
        .route("/", get(page::index))
        .route("/docs", get(page::docs))
        .route("/openapi.json", get(page::openapi))
        .route("/health", get(catalogue::health))
        .route("/prompts", post(prompts::prompt))
        .route("/runs/resume", post(prompts::resume))
        .route("/runs/current", get(answers::current))
        .route("/runs/resumable", get(answers::resumable))
        .route("/runs/approvals", post(answers::approval))
        .route("/runs/questions", post(answers::question))
        .route("/runs/steer", post(answers::steer))
        .route("/runs/cancel", post(answers::cancel))
        .route("/sessions", get(sessions::list).post(sessions::create))
        .route("/sessions/stats", get(sessions::stats_of))
        .route("/sessions/current", get(sessions::current))
        .route("/sessions/current/rename", post(sessions::rename))
        .route("/sessions/current/name", post(sessions::name))
        .route("/sessions/current/fork", post(sessions::fork))
        .route("/sessions/current/compact", post(sessions::compact))
        .route("/sessions/current/context", get(sessions::context))
        .route("/sessions/current/history", get(sessions::history))
        .route("/sessions/current/stats", get(sessions::stats))
        .route("/sessions/current/self-compaction", get(catalogue::self_compaction).put(catalogue::set_self_compaction))
        .route("/sessions/current/export", get(page::export))
        .route("/sessions/current/ask", post(prompts::ask))
        .route("/sessions/current/ask/stream", post(prompts::ask_stream))
        .route("/sessions/current/send", post(catalogue::send))
        .route("/sessions/{id}/open", post(sessions::open))
        .route("/messages", get(catalogue::messages))
        .route("/messages/{id}", post(catalogue::answer_message))
        .route("/models", get(models::list).post(models::add))
        .route("/models/{name}", patch(models::change).delete(models::remove))
        .route("/settings", get(catalogue::settings).patch(catalogue::change_settings))
        .route("/usage", get(catalogue::usage))
        .route("/usage/ledger", get(catalogue::ledger))
        .route("/mentions", get(catalogue::mentions))
        .route("/plugins", get(catalogue::plugins))
        .route("/doctor", post(catalogue::doctor))
        .fallback(|| async { Refused::not_found("Not Found") })
        .method_not_allowed_fallback(|| async { Refused::new(405, "invalid", "Method Not Allowed") })
}
