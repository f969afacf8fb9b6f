//! Answers that say no. The protocol fixes statuses and no body: JSON with a text `error` or `message`, or plain text
//! (page §1).

use bytes::Bytes;
use contract::error::ErrorCode;
use http::{
    StatusCode,
    header::{CONTENT_TYPE, WWW_AUTHENTICATE},
};
use serde_json::Value;

use crate::Refusal;

/// Characters of an answer that is plain text which are shown.
const SHOWN: usize = 500;

/// The refusal in an answer that is no success.
pub(super) fn refusal(answer: &http::Response<Bytes>) -> Refusal {
    let status = answer.status();
    let scheme = answer.headers().get(WWW_AUTHENTICATE).and_then(|value| value.to_str().ok());
    Refusal {
        code: code(status),
        status: status.as_u16(),
        message: words(answer).unwrap_or_else(|| sentence(status)),
        request_id: None,
        detail: scheme.map(|scheme| format!("wants {scheme}")),
    }
}

/// The server's own words.
fn words(answer: &http::Response<Bytes>) -> Option<String> {
    let text = String::from_utf8_lossy(answer.body());
    if let Ok(body) = serde_json::from_str::<Value>(&text) {
        let said = |value: &Value, name: &str| {
            value.get(name).and_then(Value::as_str).filter(|text| !text.trim().is_empty()).map(str::to_owned)
        };
        // Some servers put the sentence one level deeper.
        let deeper = || body.get("error").and_then(|error| said(error, "message"));
        if let Some(words) = said(&body, "error").or_else(|| said(&body, "message")).or_else(deeper) {
            return Some(words);
        }
    }
    let text = text.trim();
    // A gateway's page is no sentence.
    let is_page = text.starts_with('<');
    (!text.is_empty() && !is_page).then(|| text.chars().take(SHOWN).collect())
}

/// An answer that is a success but not the protocol's.
pub(super) fn wrong(answer: &http::Response<Bytes>, why: impl Into<String>) -> Refusal {
    let media_type = answer.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    Refusal {
        code: ErrorCode::WrongProtocol,
        status: answer.status().as_u16(),
        message: why.into(),
        request_id: None,
        detail: media_type.map(|media_type| format!("answered as {media_type}")),
    }
}

/// The body of a success; everything else is a refusal.
pub(super) fn success(answer: &http::Response<Bytes>) -> Result<&Bytes, Refusal> {
    if answer.status().is_success() { Ok(answer.body()) } else { Err(refusal(answer)) }
}

/// The body of a success, as JSON.
pub(super) fn json(answer: &http::Response<Bytes>) -> Result<Value, Refusal> {
    serde_json::from_slice(success(answer)?)
        .map_err(|cause| wrong(answer, format!("The answer is not what this protocol says: {cause}.")))
}

/// The body of a success, as text.
pub(super) fn text(answer: &http::Response<Bytes>) -> Result<&str, Refusal> {
    std::str::from_utf8(success(answer)?).map_err(|_| wrong(answer, "The answer is not text."))
}

fn code(status: StatusCode) -> ErrorCode {
    match status.as_u16() {
        401 => ErrorCode::Unauthorized,
        403 => ErrorCode::Forbidden,
        404 => ErrorCode::GoneAtServer,
        405 => ErrorCode::Unsupported,
        409 => ErrorCode::Busy,
        429 => ErrorCode::RateLimited,
        408 | 500..=599 => ErrorCode::ServerFailed,
        400..=499 => ErrorCode::ServerRefused,
        _ => ErrorCode::WrongProtocol,
    }
}

fn sentence(status: StatusCode) -> String {
    match status.as_u16() {
        401 => "The server wants a (different) token.".to_owned(),
        403 => "The server refuses this.".to_owned(),
        404 => "The server does not have this.".to_owned(),
        409 => "A turn goes on in this session.".to_owned(),
        other => format!("The server answered with status {other} and said nothing."),
    }
}
