//! What every request to the `runs` side passes: the token, and the counters.

use std::sync::Arc;

use axum::{
    body::{Body, to_bytes},
    extract::Request,
    middleware::Next,
    response::{IntoResponse, Response},
};
use http::{HeaderMap, Method, header};
use serde_json::Value;

use super::Refused;
use crate::{
    counters::{DecisionSeen, Posted},
    http::Refusal,
    world::World,
};

/// Base64 images make large bodies; the real server has no limit.
const BODY_LIMIT: usize = 64 * 1024 * 1024;

/// Where the `runs` side is mounted.
const MOUNT: &str = "/runs";

/// The path belongs to the `runs` side.
pub(crate) fn is_mine(path: &str) -> bool {
    path.strip_prefix(MOUNT).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// A fault's refusal, in this side's shape.
pub(crate) fn dressed(mut response: Response) -> Response {
    let Some(refusal) = response.extensions_mut().remove::<Refusal>() else { return response };
    let error = match refusal.status {
        401 => "unauthorized",
        404 => "not_found",
        409 => "busy",
        502 => "run",
        504 => "timeout",
        500.. => "internal",
        _ => "invalid",
    };
    let mut dressed = Refused::new(refusal.status, error, refusal.message).into_response();
    if let Some(after) = response.headers_mut().remove(header::RETRY_AFTER) {
        dressed.headers_mut().insert(header::RETRY_AFTER, after);
    }
    dressed
}

fn is_open(path: &str) -> bool {
    matches!(path.strip_prefix(MOUNT), Some("" | "/" | "/health" | "/docs" | "/openapi.json"))
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
}

/// Asks for the token, lets the request through, and notes what arrived.
pub(crate) async fn serve(world: &Arc<World>, request: Request, next: Next) -> Response {
    let path = request.uri().path().to_owned();
    let token = world.inner().token.clone();
    // An empty token is a server that asks for none.
    let admitted = token.is_empty() || is_open(&path) || bearer(request.headers()) == Some(token.as_str());
    // The real server looks at the method before the token.
    let asks_nothing = *request.method() == Method::OPTIONS;
    if !admitted && !asks_nothing {
        return Refused::new(401, "unauthorized", "A bearer token is required").into_response();
    }
    if request.method() != Method::POST {
        return next.run(request).await;
    }
    let (head, body) = request.into_parts();
    let Ok(body) = to_bytes(body, BODY_LIMIT).await else {
        return Refused::invalid("the body cannot be read").into_response();
    };
    let sent: Value = serde_json::from_slice(&body).unwrap_or_default();
    let response = next.run(Request::from_parts(head, Body::from(body))).await;
    note(world, &path, sent, response).await
}

/// Every POST counts; answers to approvals and questions count as decisions, with `repeated` where nothing waited.
async fn note(world: &World, path: &str, body: Value, response: Response) -> Response {
    let status = response.status().as_u16();
    let decides = matches!(path.strip_prefix(MOUNT), Some("/runs/approvals" | "/runs/questions"));
    let (response, resolved) = if decides { peek(response).await } else { (response, None) };
    let call = body.get("call_id").and_then(Value::as_str).unwrap_or_default().to_owned();
    world.count(|counters| {
        if decides {
            counters.decisions.push(DecisionSeen {
                request: call,
                event: body.clone(),
                idempotency_key: None,
                status,
                repeated: resolved == Some(false),
            });
        }
        counters.posts.push(Posted { path: path.to_owned(), idempotency_key: None, body, status, repeated: false });
    });
    response
}

/// Looks whether an answer says `resolved`.
async fn peek(response: Response) -> (Response, Option<bool>) {
    let (head, body) = response.into_parts();
    let body = to_bytes(body, BODY_LIMIT).await.unwrap_or_default();
    let answer: Value = serde_json::from_slice(&body).unwrap_or_default();
    let resolved = answer.get("resolved").and_then(Value::as_bool);
    (Response::from_parts(head, Body::from(body)), resolved)
}
