//! What is sent: addresses, headers and bodies (runs-server page, §§3–4).

use bytes::Bytes;
use contract::{
    command::{SentImage, ServerSetting},
    request::{Answer, ChoiceKind, RequestKind},
    server::ServerOptions,
    session::{ApprovalMode, QuestionMode, RunOptions},
};
use http::{
    HeaderValue, Method,
    header::{ACCEPT, CONTENT_TYPE},
};
use serde_json::{Map, Value, json};
use url::Url;

use crate::{
    headers::{EVENT_STREAM, JSON, add_extra},
    paths,
};

/// A request with everything but the token. `None` where the address cannot be sent over HTTP.
pub(super) fn request(
    base: &Url,
    options: &ServerOptions,
    method: Method,
    segments: &[&str],
    query: &[(&str, &str)],
    body: Option<&Value>,
) -> Option<http::Request<Bytes>> {
    let bytes = body.map(|body| Bytes::from(body.to_string())).unwrap_or_default();
    let address = paths::address(base, segments, query);
    let mut request = http::Request::builder().method(method).uri(address).body(bytes).ok()?;
    let headers = request.headers_mut();
    headers.insert(ACCEPT, HeaderValue::from_static(JSON));
    if body.is_some() {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
    }
    add_extra(headers, options);
    Some(request)
}

/// Marks a request as one whose answer is a stream. Its errors are still JSON.
pub(super) fn as_stream(mut request: http::Request<Bytes>) -> http::Request<Bytes> {
    request.headers_mut().insert(ACCEPT, HeaderValue::from_static(EVENT_STREAM));
    request
}

/// The body of `POST /prompts`.
pub(super) fn prompt(text: &str, images: &[SentImage], options: &RunOptions) -> Value {
    let mut body = run_options(options);
    body.insert("text".to_owned(), json!(text));
    body.insert("mentions".to_owned(), json!(options.mentions));
    if !images.is_empty() {
        body.insert("images".to_owned(), sent_images(images));
    }
    Value::Object(body)
}

/// The body of `POST /runs/resume`: the same without what was asked.
pub(super) fn resume(options: &RunOptions) -> Value {
    Value::Object(run_options(options))
}

/// The body of `POST /runs/steer`. Servers of the first generation read `text` alone and ignore the rest.
pub(super) fn steer(text: &str, images: &[SentImage], options: &RunOptions) -> Value {
    let mut body = Map::new();
    body.insert("text".to_owned(), json!(text));
    body.insert("mentions".to_owned(), json!(options.mentions));
    if !images.is_empty() {
        body.insert("images".to_owned(), sent_images(images));
    }
    Value::Object(body)
}

fn sent_images(images: &[SentImage]) -> Value {
    images.iter().map(|image| json!({"data": image.data, "media_type": image.media_type})).collect()
}

fn run_options(options: &RunOptions) -> Map<String, Value> {
    let approvals = match &options.approvals {
        ApprovalMode::Ask => json!({"mode": "ask"}),
        ApprovalMode::Deny => json!({"mode": "deny"}),
        ApprovalMode::Auto => json!({"mode": "auto"}),
        ApprovalMode::Commands { commands } => json!({"mode": "commands", "commands": commands}),
    };
    let questions = match options.questions {
        QuestionMode::Ask => "ask",
        QuestionMode::Decline => "decline",
    };
    let mut body = Map::new();
    body.insert("approvals".to_owned(), approvals);
    body.insert("questions".to_owned(), json!(questions));
    body.insert("answer_timeout".to_owned(), json!(options.answer_timeout_s));
    if let Some(timeout) = options.run_timeout_s {
        body.insert("timeout".to_owned(), json!(timeout));
    }
    body
}

/// Where a decision goes and what it says. `None` where the protocol has no such answer, and for an answer without a
/// word in it, which the server refuses (§6).
pub(super) fn decision(
    request: &str,
    kind: RequestKind,
    choice: ChoiceKind,
    answers: &[Answer],
) -> Option<(&'static str, Value)> {
    // Ids of requests are made here: the run, a colon, the server's own id.
    let call = request.split_once(':').map_or(request, |(_, call)| call);
    Some(match (kind, choice) {
        (RequestKind::Approval | RequestKind::Fallback, ChoiceKind::AllowOnce) => {
            ("approvals", json!({"call_id": call, "approve": true}))
        }
        (RequestKind::Approval, ChoiceKind::AllowAlways) => {
            ("approvals", json!({"call_id": call, "approve": true, "remember": true}))
        }
        (RequestKind::Approval | RequestKind::Fallback, ChoiceKind::Deny) => {
            ("approvals", json!({"call_id": call, "approve": false}))
        }
        (RequestKind::Question, ChoiceKind::Answer) => {
            ("questions", json!({"call_id": call, "answer": answer_text(answers)?}))
        }
        (RequestKind::Question | RequestKind::Fallback, ChoiceKind::Decline) => {
            ("questions", json!({"call_id": call, "answer": null}))
        }
        _ => return None,
    })
}

/// The one text an answer is here: the labels and the free text, joined. `None` where nothing is left of it.
fn answer_text(answers: &[Answer]) -> Option<String> {
    let words: Vec<&str> = answers
        .iter()
        .flat_map(|answer| answer.labels.iter().map(String::as_str).chain(answer.text.as_deref()))
        .filter(|words| !words.trim().is_empty())
        .collect();
    (!words.is_empty()).then(|| words.join(", "))
}

/// The body of `PATCH /settings`.
pub(super) fn setting(setting: &ServerSetting) -> Value {
    match setting {
        ServerSetting::Permission(word) => json!({"permission": word}),
        ServerSetting::Model(name) => json!({"model": name}),
        ServerSetting::Effort(word) => json!({"effort": word}),
    }
}
