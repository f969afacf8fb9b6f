//! Building requests: the headers every one carries, where the token goes, and the bodies that are sent.

use bytes::Bytes;
use contract::{
    request::{ChoiceKind, RequestKind},
    server::ServerOptions,
};
use http::{
    HeaderName, HeaderValue, Method,
    header::{ACCEPT, CONTENT_TYPE},
};
use serde_json::{Value, json};

use super::dialect::Dialect;
// On the list path a wish for anything but JSON turns the answer into a stream (Qoder page, section 5).
pub(super) use crate::headers::{EVENT_STREAM, JSON, add_token};
use crate::{NewSession, Outgoing, headers::add_extra};

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// A request with everything but the token. `None` where the address cannot be sent over HTTP.
pub(super) fn request(
    dialect: &Dialect,
    options: &ServerOptions,
    method: Method,
    address: &str,
    accept: &'static str,
    body: Option<&Value>,
) -> Option<http::Request<Bytes>> {
    let bytes = body.map(|body| Bytes::from(body.to_string())).unwrap_or_default();
    let mut request = http::Request::builder().method(method).uri(address).body(bytes).ok()?;
    let headers = request.headers_mut();
    headers.insert(ACCEPT, HeaderValue::from_static(accept));
    if body.is_some() {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
    }
    for (name, value) in dialect.headers {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    add_extra(headers, options);
    Some(request)
}

/// Adds the key under which the server remembers this request (Qoder page, section 1).
pub(super) fn add_key(request: &mut http::Request<Bytes>, key: &str) {
    if let Ok(value) = HeaderValue::from_str(key) {
        request.headers_mut().insert(IDEMPOTENCY_KEY, value);
    }
}

/// The body that creates a session.
pub(super) fn new_session(new: &NewSession) -> Value {
    let mut body = serde_json::Map::new();
    for (name, value) in [("agent", &new.agent), ("environment_id", &new.environment), ("title", &new.title)] {
        if let Some(value) = value {
            body.insert(name.to_owned(), json!(value));
        }
    }
    Value::Object(body)
}

/// The event for something to send, in the newest form only (Qoder page, section 4). `None` where the protocol has
/// no such answer.
pub(super) fn event(what: &Outgoing) -> Option<Value> {
    Some(match what {
        Outgoing::Message { text, .. } => json!({"type": "user.message", "content": [{"type": "text", "text": text}]}),
        Outgoing::Resume { .. } | Outgoing::Answers { .. } => return None,
        Outgoing::Stop => json!({"type": "user.interrupt"}),
        Outgoing::Outcome { description, rubric, max_iterations } => {
            let mut event = json!({
                "type": "user.define_outcome",
                "description": description,
                "rubric": {"type": "text", "content": rubric},
            });
            if let (Some(object), Some(max)) = (event.as_object_mut(), max_iterations) {
                object.insert("max_iterations".to_owned(), json!(max));
            }
            event
        }
        Outgoing::Decision { request, choice, reason, answers, result, kind } => match choice {
            ChoiceKind::AllowOnce => {
                json!({"type": "user.tool_confirmation", "tool_use_id": request, "result": "allow"})
            }
            ChoiceKind::Deny => {
                let mut event = json!({"type": "user.tool_confirmation", "tool_use_id": request, "result": "deny"});
                if let (Some(object), Some(reason)) = (event.as_object_mut(), spoken(reason.as_deref())) {
                    object.insert("deny_message".to_owned(), json!(reason));
                }
                event
            }
            ChoiceKind::Answer | ChoiceKind::ReportError => {
                let joined: Vec<&str> = answers
                    .iter()
                    .flat_map(|answer| answer.labels.iter().map(String::as_str).chain(answer.text.as_deref()))
                    .collect();
                let text = result.clone().unwrap_or_else(|| joined.join("\n"));
                let text = if text.is_empty() { reason.clone().unwrap_or_default() } else { text };
                client_result(request, &text, *choice == ChoiceKind::ReportError)
            }
            ChoiceKind::Decline if *kind == RequestKind::ClientTool => {
                client_result(request, reason.as_deref().unwrap_or_default(), true)
            }
            ChoiceKind::AllowAlways | ChoiceKind::Decline => return None,
        },
    })
}

fn client_result(call: &str, text: &str, is_error: bool) -> Value {
    let mut event = json!({"type": "user.custom_tool_result", "custom_tool_use_id": call});
    if let Some(object) = event.as_object_mut() {
        // An empty text block is refused by some servers, a result without content by none.
        if !text.is_empty() {
            object.insert("content".to_owned(), json!([{"type": "text", "text": text}]));
        }
        if is_error {
            object.insert("is_error".to_owned(), json!(true));
        }
    }
    event
}

fn spoken(words: Option<&str>) -> Option<&str> {
    words.map(str::trim).filter(|words| !words.is_empty())
}
