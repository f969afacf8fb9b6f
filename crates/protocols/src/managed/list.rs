//! Lists: the envelope of a page and the cursor to the next one (Qoder page, section 2 "Pagination"; Claude page, section 3).

use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Value, value::RawValue};

use super::errors;
use crate::{EventPage, Page, Refusal};

/// The parameter that a cursor goes into, and the cursor. As text, the form in which the engine keeps it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Turned<'a> {
    /// `page`, or `after_id` at servers older than that.
    pub parameter: &'static str,
    /// The cursor, opaque.
    pub cursor: &'a str,
}

impl<'a> Turned<'a> {
    /// From the text that [`next`] made.
    pub(super) fn from_text(text: &'a str) -> Self {
        match text.split_once(':') {
            Some(("after_id", cursor)) => Self { parameter: "after_id", cursor },
            Some(("page", cursor)) => Self { parameter: "page", cursor },
            _ => Self { parameter: "page", cursor: text },
        }
    }
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow)]
    data: Option<Vec<&'a RawValue>>,
    #[serde(default)]
    next_page: Value,
    #[serde(default)]
    last_id: Value,
    #[serde(default)]
    has_more: Value,
}

/// Reads a page; `asked` is the cursor it was asked with.
pub(super) fn events(answer: &http::Response<Bytes>, asked: Option<&str>) -> Result<EventPage, Refusal> {
    let envelope = envelope(answer)?;
    let next = next(&envelope, asked);
    let events = envelope.data.unwrap_or_default().into_iter().map(|raw| raw.get().to_owned()).collect();
    Ok(EventPage { events, next })
}

/// Reads a page of rows; a row that `read` cannot use is left out.
pub(super) fn rows<T>(
    answer: &http::Response<Bytes>,
    asked: Option<&str>,
    read: impl Fn(&Value) -> Option<T>,
) -> Result<Page<T>, Refusal> {
    let envelope = envelope(answer)?;
    let next = next(&envelope, asked);
    let rows = envelope
        .data
        .unwrap_or_default()
        .into_iter()
        .filter_map(|raw| read(&serde_json::from_str::<Value>(raw.get()).ok()?))
        .collect();
    Ok(Page { rows, next })
}

fn envelope(answer: &http::Response<Bytes>) -> Result<Envelope<'_>, Refusal> {
    let body = errors::success(answer)?;
    let envelope: Envelope<'_> = serde_json::from_slice(body)
        .map_err(|cause| errors::wrong(answer, format!("The list is not what this protocol says: {cause}.")))?;
    if envelope.data.is_none() {
        return Err(errors::wrong(answer, "The list has no `data`."));
    }
    Ok(envelope)
}

/// The cursor to the next page. None when the server says that there is no more, has no cursor, or names the one just
/// used: a cursor that never advances would be followed for ever.
fn next(envelope: &Envelope<'_>, asked: Option<&str>) -> Option<String> {
    if envelope.has_more == Value::Bool(false) || envelope.data.as_ref().is_none_or(Vec::is_empty) {
        return None;
    }
    let next = match (text(&envelope.next_page), text(&envelope.last_id)) {
        (Some(page), _) => format!("page:{page}"),
        // Newer servers say `next_page: null` on the last page; only one that has no such field pages by id. Then
        // `has_more` must say so, or the last page would be asked for twice.
        (None, Some(last)) if envelope.has_more == Value::Bool(true) => format!("after_id:{last}"),
        _ => return None,
    };
    (asked.map(|asked| Turned::from_text(asked).cursor) != Some(Turned::from_text(&next).cursor)).then_some(next)
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}
