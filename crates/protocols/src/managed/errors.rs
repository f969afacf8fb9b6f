//! Answers that say no: status and body to what it means for the app (Qoder page, section 2; Claude page, section 8).

use bytes::Bytes;
use contract::error::ErrorCode;
use http::{HeaderMap, StatusCode, header::CONTENT_TYPE};
use serde_json::Value;

use crate::Refusal;

/// Whether a body is the error envelope of this protocol.
pub(super) fn is_envelope(body: &Bytes) -> bool {
    serde_json::from_slice::<Value>(body)
        .is_ok_and(|body| matches!(body.get("error"), Some(Value::Object(_) | Value::String(_))))
}

/// The refusal in an answer that is no success.
pub(super) fn refusal(answer: &http::Response<Bytes>) -> Refusal {
    let status = answer.status();
    // Every part may be missing; `error` is an object or, in older servers, a plain string beside a `code`.
    let body = serde_json::from_slice::<Value>(answer.body()).unwrap_or_default();
    let error = body.get("error").unwrap_or(&Value::Null);
    let kind = word(error.get("type")).or_else(|| word(body.get("code")));
    let details = word(error.get("details").and_then(|details| details.get("error_code")))
        .or_else(|| word(error.get("error_code")));
    let param = word(error.get("param"));
    let words = word(error.get("message"))
        .or_else(|| word(Some(error)))
        .or_else(|| word(body.get("message")))
        .or_else(|| word(body.get("detail")));
    let more: Vec<String> =
        [kind.clone(), details.clone(), param.map(|param| format!("param {param}")), retry_after(answer.headers())]
            .into_iter()
            .flatten()
            .collect();
    Refusal {
        code: code(status, kind.as_deref(), details.as_deref()),
        status: status.as_u16(),
        message: words.unwrap_or_else(|| sentence(status)),
        request_id: word(body.get("request_id")).or_else(|| request_id(answer.headers())),
        detail: (!more.is_empty()).then(|| more.join(" · ")),
    }
}

/// The message and the details of an error that came as a frame of a stream, in the same envelope.
pub(super) fn in_stream(data: &str) -> (String, Option<String>) {
    let body = serde_json::from_str::<Value>(data).unwrap_or_default();
    let error = body.get("error").unwrap_or(&Value::Null);
    let message = word(error.get("message")).or_else(|| word(Some(error))).or_else(|| word(body.get("message")));
    let details: Vec<String> = [
        word(error.get("type")).or_else(|| word(body.get("code"))),
        word(body.get("request_id")).map(|id| format!("request {id}")),
    ]
    .into_iter()
    .flatten()
    .collect();
    (message.unwrap_or_else(|| data.to_owned()), (!details.is_empty()).then(|| details.join(" · ")))
}

/// A string that says something, or a number as text.
fn word(value: Option<&Value>) -> Option<String> {
    match value? {
        Value::String(text) if !text.trim().is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// An answer that is a success but not the protocol's.
pub(super) fn wrong(answer: &http::Response<Bytes>, why: impl Into<String>) -> Refusal {
    Refusal {
        code: ErrorCode::WrongProtocol,
        status: answer.status().as_u16(),
        message: why.into(),
        request_id: request_id(answer.headers()),
        detail: media_type(answer.headers()).map(|media_type| format!("answered as {media_type}")),
    }
}

/// The body of a successful JSON answer; everything else is a refusal. A list path that answers as a stream is said
/// to do so (Qoder page, section 5, "content negotiation trap").
pub(super) fn success(answer: &http::Response<Bytes>) -> Result<&Bytes, Refusal> {
    if !answer.status().is_success() {
        return Err(refusal(answer));
    }
    if media_type(answer.headers()).is_some_and(|media_type| media_type == "text/event-stream") {
        return Err(wrong(
            answer,
            "The server answered a plain request with an event stream; a proxy may have changed the Accept header.",
        ));
    }
    Ok(answer.body())
}

/// The server's id for the request, from the headers.
pub(super) fn request_id(headers: &HeaderMap) -> Option<String> {
    ["x-request-id", "request-id"].iter().find_map(|name| Some(headers.get(*name)?.to_str().ok()?.to_owned()))
}

fn media_type(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(CONTENT_TYPE)?.to_str().ok()?;
    Some(value.split(';').next().unwrap_or(value).trim().to_ascii_lowercase())
}

fn retry_after(headers: &HeaderMap) -> Option<String> {
    let text = |name: &str| headers.get(name)?.to_str().ok();
    text("retry-after-ms")
        .map(|ms| format!("retry after {ms} ms"))
        .or_else(|| text("retry-after").map(|after| format!("retry after {after}")))
}

fn code(status: StatusCode, kind: Option<&str>, details: Option<&str>) -> ErrorCode {
    match (status.as_u16(), kind) {
        (503, Some("feature_not_available")) => ErrorCode::Unsupported,
        (401, _) => ErrorCode::Unauthorized,
        (403, _) => ErrorCode::Forbidden,
        (404, _) => ErrorCode::GoneAtServer,
        (409, _) if details == Some("session_archived") => ErrorCode::SessionEnded,
        (409, _) => ErrorCode::Conflict,
        (429 | 529, _) => ErrorCode::RateLimited,
        (408 | 500..=599, _) => ErrorCode::ServerFailed,
        (400..=499, _) => ErrorCode::ServerRefused,
        _ => ErrorCode::WrongProtocol,
    }
}

fn sentence(status: StatusCode) -> String {
    match status.as_u16() {
        401 => "The server wants a (different) token.".to_owned(),
        403 => "The server refuses this.".to_owned(),
        404 => "The server does not have this.".to_owned(),
        409 => "The server refuses this in the state it is in.".to_owned(),
        429 | 503 | 529 => "The server is overloaded; try again later.".to_owned(),
        other => format!("The server answered with status {other} and said nothing."),
    }
}
