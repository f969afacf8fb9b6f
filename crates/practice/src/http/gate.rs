//! What every request passes: faults, the token, the headers a sibling demands, idempotency keys, and the counters.

use std::sync::Arc;

use axum::{
    body::{Body, to_bytes},
    extract::{ConnectInfo, Request, State},
    middleware::Next,
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use serde_json::Value;

use super::Refusal;
use crate::{
    counters::{DecisionSeen, Posted},
    fault::{FaultBody, RequestAct},
    manner::Dialect,
    runs, turns,
    wire::Wire,
    world::{Remembered, World},
};

/// The wire page's limit (§2): 4 MB.
const BODY_LIMIT: usize = 4 * 1024 * 1024;

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// The middleware.
pub(crate) async fn pass(
    State(world): State<Arc<World>>,
    ConnectInfo(wire): ConnectInfo<Wire>,
    request: Request,
    next: Next,
) -> Response {
    let id = world.ids.next("req");
    let path = request.uri().path().to_owned();
    if runs::http::is_mine(&path) {
        world.count(|counters| counters.requests += 1);
        let act = world.inner().faults.take_request(request.method().as_str(), &path);
        return runs::http::dressed(faulty(&world, &wire, act, request, next).await);
    }
    if turns::http::is_mine(&path) {
        world.count(|counters| counters.requests += 1);
        let act = world.inner().faults.take_request(request.method().as_str(), &path);
        return turns::http::dressed(faulty(&world, &wire, act, request, next).await);
    }
    let mut response = if path.starts_with("/practice/") {
        let open = path.starts_with("/practice/blobs/");
        if open || authorized(&world, request.headers(), &[bearer]) {
            next.run(request).await
        } else {
            Refusal::new(401, "authentication_error", "control needs the token").into_response()
        }
    } else {
        world.count(|counters| counters.requests += 1);
        let act = world.inner().faults.take_request(request.method().as_str(), &path);
        faulty(&world, &wire, act, request, next).await
    };
    if let Some(refusal) = response.extensions_mut().remove::<Refusal>() {
        let json = HeaderValue::from_static("application/json");
        response.headers_mut().insert(header::CONTENT_TYPE, json);
        *response.body_mut() = Body::from(refusal.body(&id).to_string());
    }
    if let Ok(id) = HeaderValue::from_str(&id) {
        for name in ["request-id", "x-request-id"] {
            response.headers_mut().insert(HeaderName::from_static(name), id.clone());
        }
    }
    response
}

async fn faulty(world: &Arc<World>, wire: &Wire, act: Option<RequestAct>, request: Request, next: Next) -> Response {
    match act {
        None => serve(world, request, next).await,
        Some(RequestAct::Status { status, body, retry_after }) => refused(status, body, retry_after.as_deref()),
        Some(RequestAct::LoseAnswer) => {
            let response = serve(world, request, next).await;
            wire.cut();
            response
        }
        Some(RequestAct::Reset) => {
            wire.cut();
            StatusCode::NO_CONTENT.into_response()
        }
        Some(RequestAct::Delay { ms }) => {
            tokio::time::sleep(std::time::Duration::from_millis(ms)).await;
            serve(world, request, next).await
        }
        Some(RequestAct::Hold { name }) => {
            held(world, name).await;
            serve(world, request, next).await
        }
        Some(RequestAct::HoldAnswer { name }) => {
            let response = serve(world, request, next).await;
            held(world, name).await;
            response
        }
        Some(RequestAct::HalfOpen) => {
            world.stop.cancelled().await;
            wire.cut();
            StatusCode::NO_CONTENT.into_response()
        }
        Some(RequestAct::ContentType { value }) => {
            let mut response = serve(world, request, next).await;
            if let Ok(value) = HeaderValue::from_str(&value) {
                response.headers_mut().insert(header::CONTENT_TYPE, value);
            }
            response
        }
        Some(RequestAct::Reply { status, content_type, body }) => {
            let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            (status, [(header::CONTENT_TYPE, content_type)], body).into_response()
        }
        Some(RequestAct::Redirect { location }) => {
            let mut response = StatusCode::TEMPORARY_REDIRECT.into_response();
            if let Ok(location) = HeaderValue::from_str(&location) {
                response.headers_mut().insert(header::LOCATION, location);
            }
            response
        }
    }
}

/// Until a test lets this name through.
async fn held(world: &World, name: String) {
    let mut pulse = world.pulse.subscribe();
    world.count(|counters| counters.held.push(name.clone()));
    let through = async { while !world.inner().let_through.contains(&name) && pulse.changed().await.is_ok() {} };
    tokio::select! {
        () = world.stop.cancelled() => {}
        () = through => {}
    }
}

fn refused(status: u16, body: FaultBody, retry_after: Option<&str>) -> Response {
    let code = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = match body {
        FaultBody::Json => Refusal::new(status, Refusal::kind_of(status), "refused on request").into_response(),
        FaultBody::Empty => code.into_response(),
        FaultBody::Html => {
            let page = "<html><body><h1>Bad gateway</h1></body></html>";
            (code, [(header::CONTENT_TYPE, "text/html")], page).into_response()
        }
    };
    if let Some(value) = retry_after.and_then(|value| HeaderValue::from_str(value).ok()) {
        response.headers_mut().insert(header::RETRY_AFTER, value);
    }
    response
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    text(headers, "authorization")?.strip_prefix("Bearer ")
}

fn api_key(headers: &HeaderMap) -> Option<&str> {
    text(headers, "x-api-key")
}

/// Control takes the first token as well, so that it works after a rotation.
fn authorized(world: &World, headers: &HeaderMap, ways: &[fn(&HeaderMap) -> Option<&str>]) -> bool {
    let token = world.inner().token.clone();
    if token.is_empty() {
        return true;
    }
    ways.iter().filter_map(|way| way(headers)).any(|given| given == token || given == world.control_token)
}

fn admitted(world: &World, dialect: Dialect, headers: &HeaderMap) -> Result<(), Refusal> {
    let token = world.inner().token.clone();
    let mut given = bearer(headers);
    if dialect == Dialect::Claude {
        given = given.or_else(|| api_key(headers));
    }
    // An empty token is a server that asks for none.
    if !token.is_empty() && given != Some(token.as_str()) {
        return Err(Refusal::new(401, "authentication_error", "the token is missing or wrong"));
    }
    if dialect == Dialect::Claude {
        if text(headers, "anthropic-version").is_none() {
            return Err(Refusal::invalid("anthropic-version: header is required", "anthropic-version"));
        }
        let betas = text(headers, "anthropic-beta").unwrap_or_default();
        if !betas.split(',').any(|beta| beta.trim() == "managed-agents-2026-04-01") {
            return Err(Refusal::invalid(
                "this API is in beta: send anthropic-beta: managed-agents-2026-04-01",
                "anthropic-beta",
            ));
        }
    }
    Ok(())
}

async fn serve(world: &Arc<World>, request: Request, next: Next) -> Response {
    let path = request.uri().path();
    if runs::http::is_mine(path) {
        return runs::http::serve(world, request, next).await;
    }
    if turns::http::is_mine(path) {
        return turns::http::serve(world, request, next).await;
    }
    let dialect = if path.starts_with("/v1/") {
        Dialect::Claude
    } else if path.starts_with("/api/v1/cloud/") {
        Dialect::Qoder
    } else {
        // Nothing is there, with or without a token.
        return next.run(request).await;
    };
    if let Err(refusal) = admitted(world, dialect, request.headers()) {
        return refusal.into_response();
    }
    if request.method() == Method::GET {
        return next.run(request).await;
    }
    let (head, body) = request.into_parts();
    let Ok(body) = to_bytes(body, BODY_LIMIT).await else {
        return Refusal::invalid("the body is larger than 4 MB", "body").into_response();
    };
    // The second name is the oldest pages' (§1).
    let key = text(&head.headers, "idempotency-key").or_else(|| text(&head.headers, "x-idempotency-key"));
    let key = key.map(str::to_owned);
    let what = format!("{} {}", head.method, head.uri.path());
    let (response, repeated) = match key.as_deref().map(|key| recall(world, key, &what, &body)) {
        Some(Recalled::Answer(response)) => (response, true),
        Some(Recalled::Refused(refusal)) => (refusal.into_response(), false),
        Some(Recalled::New) | None => {
            let request = Request::from_parts(head.clone(), Body::from(body.clone()));
            (remember(world, key.as_deref(), next.run(request).await).await, false)
        }
    };
    if head.method == Method::POST {
        note(world, head.uri.path(), key, &body, response.status().as_u16(), repeated);
    }
    response
}

enum Recalled {
    New,
    Answer(Response),
    Refused(Refusal),
}

/// Same key and same body: the first answer again. Same key, anything else: a conflict (§1).
fn recall(world: &World, key: &str, what: &str, body: &Bytes) -> Recalled {
    let mut inner = world.inner();
    match inner.remembered.get(key) {
        None => {
            let first = Remembered { what: what.to_owned(), body: body.clone(), answer: None };
            inner.remembered.insert(key.to_owned(), first);
            Recalled::New
        }
        Some(known) if known.what != what || known.body != body => {
            Recalled::Refused(Refusal::conflict("this idempotency key was used for another request"))
        }
        Some(Remembered { answer: Some((status, body)), .. }) => {
            let status = StatusCode::from_u16(*status).unwrap_or(StatusCode::OK);
            Recalled::Answer((status, [(header::CONTENT_TYPE, "application/json")], body.clone()).into_response())
        }
        Some(_) => Recalled::Refused(Refusal::conflict("the first request with this key is still running")),
    }
}

/// Only what was carried out is remembered: a refused request may be sent again.
async fn remember(world: &World, key: Option<&str>, response: Response) -> Response {
    let Some(key) = key else { return response };
    if !response.status().is_success() {
        world.inner().remembered.remove(key);
        return response;
    }
    let (head, body) = response.into_parts();
    let body = to_bytes(body, usize::MAX).await.unwrap_or_default();
    if let Some(known) = world.inner().remembered.get_mut(key) {
        known.answer = Some((head.status.as_u16(), body.clone()));
    }
    Response::from_parts(head, Body::from(body))
}

fn note(world: &World, path: &str, key: Option<String>, body: &Bytes, status: u16, repeated: bool) {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    let events = body.get("events").and_then(Value::as_array).cloned().unwrap_or_default();
    let decisions = events.into_iter().filter_map(|event| {
        let id = event.get("tool_use_id").or_else(|| event.get("custom_tool_use_id"))?.as_str()?.to_owned();
        Some(DecisionSeen { request: id, event, idempotency_key: key.clone(), status, repeated })
    });
    let decisions: Vec<DecisionSeen> = decisions.collect();
    world.count(|counters| {
        counters.decisions.extend(decisions);
        counters.posts.push(Posted { path: path.to_owned(), idempotency_key: key, body, status, repeated });
    });
}
