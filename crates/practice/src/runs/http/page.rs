//! Pages: the index, the OpenAPI document (its paths tell what a server can do), and the HTML export (§3).

use std::sync::Arc;

use axum::{
    extract::State,
    response::{Html, IntoResponse},
};
use http::header;
use serde_json::{Map, Value, json as object};

use super::{Reply, json, sessions::current_of};
use crate::world::World;

/// `GET /`.
pub(crate) async fn index(State(world): State<Arc<World>>) -> Reply {
    let version = world.runs.look(|desk| desk.manner.version());
    Ok(json(&object!({"name": "ZettCode server", "version": version, "docs": "/docs", "health": "/health"})))
}

/// `GET /docs`.
pub(super) async fn docs() -> Html<&'static str> {
    Html("<!doctype html><title>Practice</title><p>The paths are in <a href=\"openapi.json\">openapi.json</a>.</p>")
}

const PATHS: [(&str, &[&str]); 34] = [
    ("/health", &["get"]),
    ("/models", &["get", "post"]),
    ("/models/{name}", &["delete", "patch"]),
    ("/settings", &["get", "patch"]),
    ("/sessions", &["get", "post"]),
    ("/sessions/current", &["get"]),
    ("/sessions/{session_id}/open", &["post"]),
    ("/sessions/current/rename", &["post"]),
    ("/sessions/current/fork", &["post"]),
    ("/sessions/current/compact", &["post"]),
    ("/sessions/current/context", &["get"]),
    ("/sessions/current/history", &["get"]),
    ("/usage", &["get"]),
    ("/usage/ledger", &["get"]),
    ("/sessions/current/stats", &["get"]),
    ("/sessions/stats", &["get"]),
    ("/sessions/current/self-compaction", &["get", "put"]),
    ("/prompts", &["post"]),
    ("/runs/resume", &["post"]),
    ("/runs/current", &["get"]),
    ("/runs/resumable", &["get"]),
    ("/runs/approvals", &["post"]),
    ("/runs/questions", &["post"]),
    ("/runs/steer", &["post"]),
    ("/runs/cancel", &["post"]),
    ("/sessions/current/ask", &["post"]),
    ("/sessions/current/ask/stream", &["post"]),
    ("/sessions/current/name", &["post"]),
    ("/sessions/current/export", &["get"]),
    ("/plugins", &["get"]),
    ("/mentions", &["get"]),
    ("/doctor", &["post"]),
    ("/sessions/current/send", &["post"]),
    ("/messages", &["get"]),
];

/// Since 0.2.0.
const NEWER: [&str; 2] = ["/sessions/current/send", "/messages"];

/// `GET /openapi.json`: without a token.
pub(super) async fn openapi(State(world): State<Arc<World>>) -> Reply {
    let (version, newer) = world.runs.look(|desk| (desk.manner.version(), desk.manner.is_newer()));
    let known = PATHS.iter().filter(|(path, _)| newer || !NEWER.contains(path));
    let paths: Map<String, Value> = known
        .map(|(path, methods)| {
            let operations: Map<String, Value> = methods
                .iter()
                .map(|method| ((*method).to_owned(), object!({"responses": {"200": {"description": "OK"}}})))
                .collect();
            ((*path).to_owned(), operations.into())
        })
        .collect();
    Ok(json(&object!({"openapi": "3.1.0", "info": {"title": "ZettCode server", "version": version}, "paths": paths})))
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// `GET /sessions/current/export`: the conversation as a page of its own.
pub(super) async fn export(State(world): State<Arc<World>>) -> Reply {
    let (name, page) = world.runs.look(|desk| {
        let session = current_of(desk)?;
        let title = escaped(session.title.as_deref().unwrap_or("New session"));
        let said: String = session
            .messages
            .iter()
            .map(|message| format!("<h2>{}</h2>\n<pre>{}</pre>\n", escaped(&message.role), escaped(&message.text)))
            .collect();
        let page = format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>{title}</title>\n</head>\n\
             <body>\n<h1>{title}</h1>\n{said}</body>\n</html>\n"
        );
        let short: String = session.id.chars().take(8).collect();
        Ok((format!("attachment; filename=\"zettcode-{short}.html\""), page))
    })?;
    let kind = "text/html; charset=utf-8".to_owned();
    Ok(([(header::CONTENT_DISPOSITION, name), (header::CONTENT_TYPE, kind)], page).into_response())
}
