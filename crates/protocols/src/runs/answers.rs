//! Reading what comes back (runs-server page, §3).

use bytes::Bytes;
use contract::{
    error::ErrorCode,
    server::ModelChoice,
    session::{Compaction, ContextMeter, ContextShare, Mention, SessionState, Usage},
};
use serde_json::Value;

use super::errors;
use crate::{Acted, FactsPart, Page, Refusal, RemoteSession, Sent, times};

type Answer = http::Response<Bytes>;

/// The list of sessions, newest first. It has one page.
pub(super) fn sessions(answer: &Answer) -> Result<Page<RemoteSession>, Refusal> {
    if has_no_model(answer) {
        // Before there is a model there is no session (§3).
        return Ok(Page { rows: Vec::new(), next: None });
    }
    let body = errors::json(answer)?;
    let rows = body
        .get("sessions")
        .and_then(Value::as_array)
        .ok_or_else(|| errors::wrong(answer, "The list has no `sessions`."))?;
    Ok(Page { rows: rows.iter().filter_map(row).collect(), next: None })
}

/// A session, from a list or alone. A row without an id is left out.
fn row(row: &Value) -> Option<RemoteSession> {
    let moment = |name: &str| row.get(name)?.as_str().and_then(times::millis);
    let state = match (flag(row, "running"), flag(row, "current")) {
        (Some(true), _) => SessionState::Running,
        (Some(false), _) => SessionState::Idle,
        // The first generation does not say it, and lets nothing run in a session that is not current.
        (None, Some(false)) => SessionState::Idle,
        (None, _) => SessionState::Unknown,
    };
    Some(RemoteSession {
        id: word(row, "id")?,
        title: word(row, "title"),
        state,
        created_at: moment("created_at"),
        updated_at: moment("updated_at"),
        usage: row.get("usage").map(usage).unwrap_or_default(),
        ..RemoteSession::default()
    })
}

/// One session as its own answer.
pub(super) fn session(answer: &Answer) -> Result<RemoteSession, Refusal> {
    row(&errors::json(answer)?).ok_or_else(|| errors::wrong(answer, "The answer is not a session."))
}

/// The id of the session that is current now.
pub(super) fn approached(answer: &Answer) -> Result<String, Refusal> {
    session(answer).map(|session| session.id)
}

/// The current session's id. Before there is a model there is no session.
pub(super) fn current(answer: &Answer) -> Result<Option<String>, Refusal> {
    if answer.status() == http::StatusCode::NOT_FOUND || has_no_model(answer) {
        return Ok(None);
    }
    session(answer).map(|session| Some(session.id))
}

/// Anything that succeeded.
pub(super) fn done(answer: &Answer) -> Result<(), Refusal> {
    errors::success(answer).map(|_| ())
}

/// What was sent into a run: the server says whether anything still took it in.
pub(super) fn sent(answer: &Answer, taken: &str) -> Result<Sent, Refusal> {
    let body = errors::json(answer)?;
    Ok(Sent { too_late: flag(&body, taken) == Some(false), ..Sent::default() })
}

/// A body kept as it is, for the codec.
pub(super) fn raw(answer: &Answer) -> Result<String, Refusal> {
    let body = errors::success(answer)?;
    std::str::from_utf8(body).map(str::to_owned).map_err(|_| errors::wrong(answer, "The answer is not text."))
}

/// The same where a server without a model has nothing to say: `otherwise` then.
pub(super) fn raw_or(answer: &Answer, otherwise: &str) -> Result<String, Refusal> {
    if has_no_model(answer) { Ok(otherwise.to_owned()) } else { raw(answer) }
}

/// The history. A session without messages has none (§7).
pub(super) fn history(answer: &Answer) -> Result<String, Refusal> {
    if answer.status() == http::StatusCode::NOT_FOUND {
        return match errors::word(answer).as_deref() {
            Some("not_found") => Ok(NO_HISTORY.to_owned()),
            _ => Err(errors::refusal(answer)),
        };
    }
    raw_or(answer, NO_HISTORY)
}

const NO_HISTORY: &str = r#"{"messages":[]}"#;

fn has_no_model(answer: &Answer) -> bool {
    answer.status() == http::StatusCode::CONFLICT && errors::word(answer).as_deref() == Some("no_model")
}

/// `/health`.
pub(super) fn health(answer: &Answer) -> Result<FactsPart, Refusal> {
    let body = errors::json(answer)?;
    Ok(Box::new(move |facts| {
        facts.version = word(&body, "version").or(facts.version.take());
        facts.workspace = word(&body, "workspace").or(facts.workspace.take());
        if let Some(ready) = flag(&body, "ready") {
            facts.no_model = !ready;
        }
    }))
}

/// The permission levels under which the server asks, and under which it refuses (§4).
const ASKS: &str = "ask";
const REFUSES: &str = "deny";

/// `/settings`.
pub(super) fn settings(answer: &Answer) -> Result<FactsPart, Refusal> {
    if has_no_model(answer) {
        return Ok(Box::new(|facts| facts.no_model = true));
    }
    let body = errors::json(answer)?;
    Ok(Box::new(move |facts| {
        facts.permission = word(&body, "permission");
        facts.permissions = words(&body, "permissions");
        let level =
            |wanted: &str| facts.permissions.iter().chain(&facts.permission).find(|word| *word == wanted).cloned();
        (facts.asking_permission, facts.refusing_permission) = (level(ASKS), level(REFUSES));
        facts.model = body.get("model").and_then(named).or(facts.model.take());
        facts.effort = word(&body, "effort");
        facts.efforts = words(&body, "efforts");
    }))
}

/// `/models`.
pub(super) fn models(answer: &Answer) -> Result<FactsPart, Refusal> {
    let body = errors::json(answer)?;
    Ok(Box::new(move |facts| {
        let rows = body.get("models").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        facts.models = rows.iter().filter_map(model).collect();
        let active = || rows.iter().find(|row| flag(row, "active") == Some(true)).and_then(named);
        facts.model = body.get("current").and_then(named).or_else(active).or(facts.model.take());
    }))
}

fn model(row: &Value) -> Option<ModelChoice> {
    let name = word(row, "name")?;
    Some(ModelChoice {
        model: word(row, "model").filter(|model| *model != name),
        context_window: row.get("context_window").and_then(Value::as_u64).filter(|window| *window > 0),
        images: flag(row, "multimodal") == Some(true),
        name,
    })
}

/// A model's name: the object's, or the value itself.
fn named(value: &Value) -> Option<String> {
    value.as_str().filter(|name| !name.is_empty()).map(str::to_owned).or_else(|| word(value, "name"))
}

/// The copy of a session.
pub(super) fn forked(answer: &Answer) -> Result<Acted, Refusal> {
    session(answer).map(|session| Acted::Forked { id: session.id })
}

/// A session that the model has named.
pub(super) fn renamed(answer: &Answer) -> Result<Acted, Refusal> {
    session(answer).map(|session| Acted::Renamed { title: session.title })
}

/// What compacting did (§3). An older server may say nothing of it.
pub(super) fn compacted(answer: &Answer) -> Result<Acted, Refusal> {
    let body = errors::json(answer)?;
    Ok(Acted::Compacted(Compaction {
        applied: flag(&body, "applied") == Some(true),
        summary: word(&body, "summary"),
        compressed: body.get("compressed").and_then(Value::as_u64),
        kept: body.get("kept").and_then(Value::as_u64),
        ..Compaction::default()
    }))
}

/// How full the context is; `null` where the server cannot tell.
pub(super) fn context(answer: &Answer) -> Result<Acted, Refusal> {
    Ok(Acted::Context(meter(&errors::json(answer)?)))
}

/// A context report, also as the codec finds it in a check.
pub(super) fn meter(report: &Value) -> Option<ContextMeter> {
    let shares = report.get("shares").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    Some(ContextMeter {
        used: report.get("used").and_then(Value::as_u64)?,
        window: report.get("window").and_then(Value::as_u64).filter(|window| *window > 0),
        partial: flag(report, "partial") == Some(true),
        shares: shares
            .iter()
            .filter_map(|share| {
                Some(ContextShare {
                    name: word(share, "name")?,
                    tokens: share.get("tokens").and_then(Value::as_u64)?,
                    items: share.get("items").and_then(Value::as_u64),
                })
            })
            .collect(),
    })
}

/// The answer to a question beside the transcript.
pub(super) fn aside(answer: &Answer) -> Result<Acted, Refusal> {
    let body = errors::json(answer)?;
    let text = body.get("answer").and_then(Value::as_str);
    text.map(|text| Acted::Answer(text.to_owned())).ok_or_else(|| errors::wrong(answer, "The answer has no `answer`."))
}

/// Completions.
pub(super) fn mentions(answer: &Answer) -> Result<Acted, Refusal> {
    let body = errors::json(answer)?;
    let rows = body.get("mentions").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let mention = |row: &Value| {
        let token = word(row, "token")?;
        Some(Mention {
            name: word(row, "name").unwrap_or_else(|| token.clone()),
            token: token.strip_prefix('@').map_or_else(|| token.clone(), str::to_owned),
            kind: word(row, "kind").unwrap_or_default(),
            description: word(row, "description"),
        })
    };
    Ok(Acted::Mentions(rows.iter().filter_map(mention).collect()))
}

/// The session as a page of its own.
pub(super) fn page(answer: &Answer) -> Result<Acted, Refusal> {
    raw(answer).map(Acted::Page)
}

/// An approach that was refused: a run in the current session holds it (0.1.x, §8).
pub(super) fn opened(answer: &Answer) -> Result<String, Refusal> {
    approached(answer).map_err(|mut refusal| {
        if refusal.code == ErrorCode::Busy {
            refusal.message = format!(
                "{} This server runs one session at a time: wait for the run to end, or stop it.",
                refusal.message
            );
        }
        refusal
    })
}

/// Usage numbers (§5).
pub(super) fn usage(usage: &Value) -> Usage {
    let count = |name: &str| usage.get(name).and_then(Value::as_u64);
    let seconds = usage.get("seconds").and_then(Value::as_f64).filter(|seconds| seconds.is_finite() && *seconds >= 0.0);
    Usage {
        input_tokens: count("input_tokens"),
        output_tokens: count("output_tokens"),
        cache_read_tokens: count("cache_read_tokens"),
        cache_write_tokens: count("cache_write_tokens"),
        reasoning_tokens: count("reasoning_tokens"),
        requests: count("requests"),
        model_ms: seconds
            .map(|seconds| std::time::Duration::try_from_secs_f64(seconds).unwrap_or_default())
            .and_then(|took| u64::try_from(took.as_millis()).ok()),
        ..Usage::default()
    }
}

fn flag(value: &Value, name: &str) -> Option<bool> {
    value.get(name).and_then(Value::as_bool)
}

fn word(value: &Value, name: &str) -> Option<String> {
    value.get(name).and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned)
}

fn words(value: &Value, name: &str) -> Vec<String> {
    let all = value.get(name).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    all.iter().filter_map(|word| word.as_str().map(str::to_owned)).collect()
}
