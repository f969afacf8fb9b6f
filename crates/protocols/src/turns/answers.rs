//! Reading what comes back (page §§2 to 4).

use bytes::Bytes;
use contract::{
    error::ErrorCode,
    session::{NewSessionOptions, SessionState},
};
use http::header::LOCATION;
use url::Url;

use super::{agents, errors, known::Known, session_object::SessionObject};
use crate::{
    Endpoint, EventPage, Page, Refusal, RemoteSession, Sent,
    json::{Fields, elements},
};

type Answer = http::Response<Bytes>;

/// The agents of `GET /meta`, remembered.
pub(super) fn meta(answer: &Answer, known: &Known) -> Result<Vec<agents::Agent>, Refusal> {
    let agents =
        agents::agents(errors::text(answer)?).ok_or_else(|| errors::wrong(answer, "The answer has no `agents`."))?;
    known.take_agents(agents.clone());
    Ok(agents)
}

/// What a new session can be given.
pub(super) fn options(answer: &Answer, known: &Known) -> Result<NewSessionOptions, Refusal> {
    let agents = meta(answer, known)?;
    Ok(NewSessionOptions { agents: agents.iter().map(agents::Agent::choice).collect(), environments: Vec::new() })
}

/// A page of sessions. `trail` are the cursors that led here: one that comes again would go in circles, and ends the
/// list.
pub(super) fn sessions(answer: &Answer, known: &Known, trail: &[String]) -> Result<Page<RemoteSession>, Refusal> {
    let text = errors::text(answer)?;
    let fields =
        Fields::read(text).map_err(|cause| errors::wrong(answer, format!("The list is not JSON: {cause}.")))?;
    let rows = fields.raw("sessions").ok_or_else(|| errors::wrong(answer, "The list has no `sessions`."))?;
    let rows = elements(rows)
        .into_iter()
        .filter_map(SessionObject::read)
        .map(|session| {
            let row = session.row(session.id.clone());
            known.take_session(&row.id, session);
            row
        })
        .collect();
    let next = fields.number_or_text("next").filter(|next| !trail.contains(next)).and_then(|next| {
        let trail: Vec<&String> = trail.iter().chain([&next]).collect();
        serde_json::to_string(&trail).ok()
    });
    Ok(Page { rows, next })
}

/// The cursors that a page's token holds, the newest last.
pub(super) fn trail(page: Option<&str>) -> Vec<String> {
    page.and_then(|page| serde_json::from_str(page).ok()).unwrap_or_default()
}

/// One session, remembered under the id it is asked for by.
pub(super) fn session(answer: &Answer, known: &Known, id: &str) -> Result<RemoteSession, Refusal> {
    let object = SessionObject::read(errors::text(answer)?)
        .ok_or_else(|| errors::wrong(answer, "The answer is not a session."))?;
    let row = object.row(id.to_owned());
    known.take_session(id, object);
    Ok(row)
}

/// The same kept as it is, for the codec.
pub(super) fn raw_session(answer: &Answer, known: &Known, id: &str) -> Result<String, Refusal> {
    session(answer, known, id)?;
    errors::text(answer).map(str::to_owned)
}

/// The part of `/meta` that is about one session's agent, for the codec.
pub(super) fn raw_agent(answer: &Answer, known: &Known, id: &str) -> Result<String, Refusal> {
    let version = Fields::read(errors::text(answer)?).ok().and_then(|fields| fields.raw("version").map(str::to_owned));
    meta(answer, known)?;
    let agent = known.agent_of(id).map_or_else(|| "null".to_owned(), |agent| agent.raw);
    Ok(format!(r#"{{"version":{},"agent":{agent}}}"#, version.as_deref().unwrap_or("null")))
}

/// A history, for the codec. One that the server does not have is an empty answer: whether the session is gone is for
/// the session's own address to say (page §7.16).
pub(super) fn history(answer: &Answer) -> Result<String, Refusal> {
    if answer.status() == http::StatusCode::NOT_FOUND {
        return Ok(r#"{"history":{}}"#.to_owned());
    }
    errors::text(answer).map(str::to_owned)
}

/// A page of the history of v4, newest first. `has_none`: the agent has no history, and that it is not found means so.
pub(super) fn entries(answer: &Answer, page: Option<&str>, has_none: bool) -> Result<EventPage, Refusal> {
    if has_none && answer.status() == http::StatusCode::NOT_FOUND {
        return Ok(EventPage { events: Vec::new(), next: None });
    }
    let text = errors::text(answer)?;
    let fields =
        Fields::read(text).map_err(|cause| errors::wrong(answer, format!("The page is not JSON: {cause}.")))?;
    let entries = fields.raw("history").ok_or_else(|| errors::wrong(answer, "The page has no `history`."))?;
    let next = fields.number_or_text("before").filter(|next| page != Some(next.as_str()));
    Ok(EventPage { events: elements(entries).into_iter().map(str::to_owned).collect(), next })
}

/// A new session: its id in the body, or in the last segment of `Location` (page §3). In v4 that address is the
/// session's own, and where it is another than expected it is the session's id here.
pub(super) fn created(answer: &Answer, endpoint: &Endpoint, is_v4: bool) -> Result<RemoteSession, Refusal> {
    let body = errors::success(answer)?;
    let in_body = std::str::from_utf8(body).ok().and_then(|text| Fields::read(text).ok()?.number_or_text("sessionId"));
    let location = answer.headers().get(LOCATION).and_then(|value| value.to_str().ok());
    let asked = Url::parse(&crate::paths::address(&endpoint.base, &["sessions"], &[])).ok();
    let address = location.and_then(|location| asked?.join(location).ok());
    let id = match (in_body, address) {
        (_, Some(address)) if is_v4 => located(answer, endpoint, &address)?,
        (Some(id), _) => id,
        (None, Some(address)) => last_segment(&address)
            .ok_or_else(|| errors::wrong(answer, "The server did not say the new session's id."))?,
        (None, None) => return Err(errors::wrong(answer, "The server did not say the new session's id.")),
    };
    Ok(RemoteSession { id, state: SessionState::Idle, ..RemoteSession::default() })
}

/// The id of a session at this address: the last segment where it stands where sessions of this server stand.
fn located(answer: &Answer, endpoint: &Endpoint, address: &Url) -> Result<String, Refusal> {
    let refused = |code, message: String| Refusal {
        code,
        status: answer.status().as_u16(),
        message,
        request_id: None,
        detail: Some(address.to_string()),
    };
    let origin = address.origin().ascii_serialization();
    if endpoint.base.scheme() == "https" && address.scheme() != "https" {
        return Err(refused(
            ErrorCode::InsecureUrl,
            format!("The server put the session at {origin}, which is not encrypted. Nothing was sent there."),
        ));
    }
    if !matches!(address.scheme(), "http" | "https") {
        return Err(errors::wrong(answer, "The server put the session at an address that is none."));
    }
    if !may_be_told(endpoint, address) {
        return Err(refused(
            ErrorCode::OtherOrigin,
            format!("The server put the session at {origin}. Nothing was sent there, and no token."),
        ));
    }
    let usual = last_segment(address).filter(|id| {
        crate::paths::address(&endpoint.base, &["sessions", id], &[]) == address.as_str().trim_end_matches('/')
    });
    Ok(usual.unwrap_or_else(|| address.as_str().trim_end_matches('/').to_owned()))
}

/// Whether the token may go to this address: the server's own origin, or one the person agreed to.
pub(super) fn may_be_told(endpoint: &Endpoint, address: &Url) -> bool {
    let origin = address.origin();
    origin == endpoint.base.origin()
        || endpoint
            .options
            .trusted_origins
            .iter()
            .any(|trusted| Url::parse(trusted).is_ok_and(|trusted| trusted.origin() == origin))
}

fn last_segment(address: &Url) -> Option<String> {
    let last = address.path_segments()?.rfind(|segment| !segment.is_empty())?;
    percent_encoding::percent_decode_str(last).decode_utf8().ok().map(std::borrow::Cow::into_owned)
}

/// Anything that succeeded.
pub(super) fn done(answer: &Answer) -> Result<(), Refusal> {
    errors::success(answer).map(|_| ())
}

/// A deletion: what is gone already is gone.
pub(super) fn deleted(answer: &Answer, known: &Known, id: &str) -> Result<(), Refusal> {
    done(answer)?;
    known.forget_session(id);
    Ok(())
}

/// An input of v4. A call that is unknown or answered already is settled quietly.
pub(super) fn sent(answer: &Answer, is_answer: bool) -> Result<Sent, Refusal> {
    if is_answer && answer.status() == http::StatusCode::BAD_REQUEST {
        return Ok(Sent { too_late: true, ..Sent::default() });
    }
    done(answer).map(|()| Sent::default())
}
