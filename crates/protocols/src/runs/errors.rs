//! Answers that say no: `{"error": "<code>", "message": "<sentence>"}` at every status (runs-server page, §2).

use bytes::Bytes;
use contract::error::ErrorCode;
use http::{StatusCode, header::CONTENT_TYPE};
use serde_json::Value;

use crate::Refusal;

/// The server's own word for an error.
pub(super) fn word(answer: &http::Response<Bytes>) -> Option<String> {
    let body = serde_json::from_slice::<Value>(answer.body()).ok()?;
    text(&body, "error")
}

/// The refusal in an answer that is no success.
pub(super) fn refusal(answer: &http::Response<Bytes>) -> Refusal {
    let status = answer.status();
    let body = serde_json::from_slice::<Value>(answer.body()).unwrap_or_default();
    let word = text(&body, "error");
    Refusal {
        code: code(status, word.as_deref()),
        status: status.as_u16(),
        message: text(&body, "message").or_else(|| word.clone()).unwrap_or_else(|| sentence(status)),
        request_id: None,
        detail: word,
    }
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

fn text(body: &Value, name: &str) -> Option<String> {
    body.get(name).and_then(Value::as_str).filter(|text| !text.trim().is_empty()).map(str::to_owned)
}

/// What an error means to the app. The word counts before the status: a proxy may change that.
fn code(status: StatusCode, word: Option<&str>) -> ErrorCode {
    match (status.as_u16(), word) {
        (_, Some("unauthorized")) => ErrorCode::Unauthorized,
        (_, Some("busy")) => ErrorCode::Busy,
        // Waiting for a run's end would not help.
        (_, Some("locked" | "no_model")) => ErrorCode::ServerRefused,
        (_, Some("nothing_to_do")) => ErrorCode::Conflict,
        (_, Some("unreachable")) => ErrorCode::GoneAtServer,
        (401, _) => ErrorCode::Unauthorized,
        (403, _) => ErrorCode::Forbidden,
        (404, _) => ErrorCode::GoneAtServer,
        (405, _) => ErrorCode::Unsupported,
        (429, _) => ErrorCode::RateLimited,
        (408 | 500..=599, _) => ErrorCode::ServerFailed,
        // A 409 without a word, too: only the word says that there is nothing to do.
        (400..=499, _) => ErrorCode::ServerRefused,
        _ => ErrorCode::WrongProtocol,
    }
}

/// The server's words, and what can be done.
pub(super) fn advised(word: &str, message: &str) -> String {
    let advice = match word {
        "locked" => "This session is open in another program: close it there, or use another session.",
        "no_model" => "No model is set up at this server: add one there.",
        "busy" => "Another run goes on in this session: wait for its end, or steer it.",
        "unauthorized" => "Give this server its new token.",
        "timeout" => "The run may take longer with a higher limit in its options.",
        "invalid" if message.to_ascii_lowercase().contains("image") => {
            "The model takes no images: send the message without them, or choose another model."
        }
        _ => "",
    };
    let message = message.trim();
    match (message, advice) {
        ("", _) => advice.to_owned(),
        (_, "") => message.to_owned(),
        _ if message.ends_with(['.', '!', '?', '。']) => format!("{message} {advice}"),
        _ => format!("{message}. {advice}"),
    }
}

fn sentence(status: StatusCode) -> String {
    match status.as_u16() {
        401 => "The server wants a (different) token.".to_owned(),
        403 => "The server refuses this.".to_owned(),
        404 => "The server does not have this.".to_owned(),
        409 => "The server refuses this in the state it is in.".to_owned(),
        other => format!("The server answered with status {other} and said nothing."),
    }
}
