//! What every request to the `turns` side passes: the token, and the counters.

use std::sync::Arc;

use axum::{
    body::{Body, to_bytes},
    extract::Request,
    middleware::Next,
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use http::{HeaderMap, Method, header};
use serde_json::Value;

use super::Refused;
use crate::{
    counters::{DecisionSeen, Posted},
    http::Refusal,
    turns::{TurnsPost, TurnsVisit},
    world::World,
};

/// Base64 images make large bodies; upstream names no limit.
const BODY_LIMIT: usize = 64 * 1024 * 1024;

/// Where the `turns` side is mounted.
const MOUNT: &str = "/turns";

/// The path belongs to the `turns` side.
pub(crate) fn is_mine(path: &str) -> bool {
    path.strip_prefix(MOUNT).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// A fault's refusal, in this side's two forms.
pub(crate) fn dressed(mut response: Response) -> Response {
    let Some(refusal) = response.extensions_mut().remove::<Refusal>() else { return response };
    let refused = match refusal.status {
        401 => Refused::Plain { status: 401, text: "Unauthorized" },
        status @ 500.. => Refused::Plain { status, text: "Internal Server Error" },
        status => Refused::new(status, refusal.message),
    };
    let mut dressed = refused.into_response();
    if let Some(after) = response.headers_mut().remove(header::RETRY_AFTER) {
        dressed.headers_mut().insert(header::RETRY_AFTER, after);
    }
    dressed
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
}

/// Asks for the token, lets the request through, and notes what arrived.
pub(crate) async fn serve(world: &Arc<World>, request: Request, next: Next) -> Response {
    let path = request.uri().path().to_owned();
    visited(world, &request);
    let token = world.inner().token.clone();
    let open = path.strip_prefix(MOUNT) == Some("/meta") && !world.turns.look(|desk| desk.manner.meta_auth);
    // An empty token is a server that asks for none.
    if !token.is_empty() && !open && bearer(request.headers()) != Some(token.as_str()) {
        return Refused::Plain { status: 401, text: "Unauthorized" }.into_response();
    }
    if !matches!(*request.method(), Method::POST | Method::PATCH) {
        return next.run(request).await;
    }
    let (head, body) = request.into_parts();
    let Ok(body) = to_bytes(body, BODY_LIMIT).await else {
        return Refused::new(400, "the body cannot be read").into_response();
    };
    let number = arrived(world, &head.method, &path, &body);
    let waiting = waiting(world, &path);
    let response = next.run(Request::from_parts(head.clone(), Body::from(body.clone()))).await;
    let status = response.status().as_u16();
    world.turns.change(|desk| {
        if let Some(post) = desk.posts.get_mut(number) {
            post.status = Some(status);
        }
    });
    if head.method == Method::POST {
        note(world, path, &body, status, &waiting);
    }
    response
}

/// Notes what came to the other origin, before it is let in: a key must not even be tried there unasked.
fn visited(world: &World, request: &Request) {
    let Some(port) = world.turns.look(|desk| desk.other_port) else { return };
    let host = request.headers().get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    if host.rsplit(':').next() != Some(port.to_string().as_str()) {
        return;
    }
    let visit = TurnsVisit {
        method: request.method().to_string(),
        path: request.uri().path().to_owned(),
        with_key: request.headers().contains_key(header::AUTHORIZATION),
    };
    world.turns.change(|desk| desk.visits.push(visit));
}

/// Keeps a body byte for byte, before anything is done with it.
fn arrived(world: &World, method: &Method, path: &str, body: &Bytes) -> usize {
    let post = TurnsPost {
        method: method.to_string(),
        path: path.to_owned(),
        body: String::from_utf8_lossy(body).into_owned(),
        status: None,
    };
    world.turns.change(|desk| {
        desk.posts.push(post);
        desk.posts.len() - 1
    })
}

/// The calls that wait in the session a path is about.
fn waiting(world: &World, path: &str) -> Vec<String> {
    let id = path.strip_prefix(MOUNT).and_then(|rest| rest.strip_prefix("/sessions/")?.split('/').next());
    world.turns.look(|desk| {
        let session = id.and_then(|id| desk.session(id));
        session.map_or_else(Vec::new, |session| session.pending().into_iter().map(|call| call.tool_call_id).collect())
    })
}

/// Every POST counts; results and permissions count as decisions, with `repeated` where nothing waited for them.
fn note(world: &World, path: String, body: &Bytes, status: u16, waiting: &[String]) {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    let messages = match body.get("messages").and_then(Value::as_array) {
        Some(messages) if path.ends_with("/turns") => messages.clone(),
        _ if path.ends_with("/input") => vec![body.clone()],
        _ => Vec::new(),
    };
    let decisions: Vec<DecisionSeen> = messages
        .into_iter()
        .filter_map(|event| {
            let request = event.get("toolCallId")?.as_str()?.to_owned();
            let repeated = !waiting.contains(&request);
            Some(DecisionSeen { request, event, idempotency_key: None, status, repeated })
        })
        .collect();
    world.count(|counters| {
        counters.decisions.extend(decisions);
        counters.posts.push(Posted { path, idempotency_key: None, body, status, repeated: false });
    });
}
