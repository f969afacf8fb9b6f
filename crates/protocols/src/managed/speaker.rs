//! One server's protocol: every request the engine can ask for, and how its answer is read.

use bytes::Bytes;
use contract::{error::ErrorCode, server::Capabilities, session::NewSessionOptions, wire::Cursor};
use http::Method;
use serde_json::{Value, json, value::RawValue};

use super::{
    codec::Codec,
    dialect::{DELTA_FLUSH_MS, Dialect},
    errors, list, paths, requests,
    requests::{EVENT_STREAM, JSON},
    session_object,
};
use crate::{
    Ask, Endpoint, EventPage, Liveness, NewSession, Outgoing, Page, Protocol, Refusal, RemoteSession, Repeat, Sent,
    SessionCodec,
};

/// The protocol for one server.
pub(super) struct Speaker {
    endpoint: Endpoint,
    dialect: &'static Dialect,
}

impl Speaker {
    pub(super) fn new(endpoint: Endpoint) -> Self {
        let dialect = Dialect::of(&endpoint.base, &endpoint.options);
        Self { endpoint, dialect }
    }

    fn read(&self, segments: &[&str], query: &[(&str, &str)]) -> Option<http::Request<Bytes>> {
        self.build(Method::GET, segments, query, JSON, None)
    }

    /// A request that writes, with its key where the server knows keys.
    fn write(
        &self,
        method: Method,
        segments: &[&str],
        body: Option<&Value>,
        key: Option<&str>,
    ) -> Option<http::Request<Bytes>> {
        let mut request = self.build(method, segments, &[], JSON, body)?;
        if let (true, Some(key)) = (self.dialect.idempotency_keys, key) {
            requests::add_key(&mut request, key);
        }
        Some(request)
    }

    fn build(
        &self,
        method: Method,
        segments: &[&str],
        query: &[(&str, &str)],
        accept: &'static str,
        body: Option<&Value>,
    ) -> Option<http::Request<Bytes>> {
        let address = paths::address(&self.endpoint.base, segments, query);
        requests::request(self.dialect, &self.endpoint.options, method, &address, accept, body)
    }

    fn repeat_with_key(&self, otherwise: Repeat) -> Repeat {
        if self.dialect.idempotency_keys { Repeat::SameKey } else { otherwise }
    }
}

impl Protocol for Speaker {
    fn capabilities(&self) -> Capabilities {
        self.dialect.capabilities()
    }

    fn liveness(&self) -> Liveness {
        self.dialect.liveness()
    }

    fn authorize(&self, request: &mut http::Request<Bytes>, token: &str) {
        requests::add_token(request, token, self.endpoint.options.auth.unwrap_or(self.dialect.auth));
    }

    fn list_sessions(&self, page: Option<&str>) -> Option<Ask<Page<RemoteSession>>> {
        let limit = self.dialect.rows_per_page.to_string();
        let mut query = vec![("limit", limit.as_str()), ("order", "desc")];
        query.extend(page.map(list::Turned::from_text).map(|turned| (turned.parameter, turned.cursor)));
        let request = self.read(&["sessions"], &query)?;
        let asked = page.map(str::to_owned);
        Some(Ask {
            request,
            read: Box::new(move |answer| list::rows(answer, asked.as_deref(), session_object::session)),
            repeat: Repeat::Freely,
        })
    }

    fn read_session(&self, session: &str) -> Option<Ask<RemoteSession>> {
        let request = self.read(&["sessions", session], &[])?;
        Some(Ask { request, read: Box::new(read_session), repeat: Repeat::Freely })
    }

    fn new_session_options(&self) -> Vec<Ask<NewSessionOptions>> {
        let limit = self.dialect.rows_per_page.to_string();
        let query = [("limit", limit.as_str())];
        let agents = self.read(&["agents"], &query).map(|request| Ask::<NewSessionOptions> {
            request,
            read: Box::new(|answer| {
                let page = list::rows(answer, None, session_object::agent_choice)?;
                Ok(NewSessionOptions { agents: page.rows, environments: Vec::new() })
            }),
            repeat: Repeat::Freely,
        });
        let environments = self.read(&["environments"], &query).map(|request| Ask::<NewSessionOptions> {
            request,
            read: Box::new(|answer| {
                let page = list::rows(answer, None, session_object::environment_choice)?;
                Ok(NewSessionOptions { agents: Vec::new(), environments: page.rows })
            }),
            repeat: Repeat::Freely,
        });
        agents.into_iter().chain(environments).collect()
    }

    fn create_environment(&self, name: &str) -> Option<Ask<()>> {
        let body = json!({"name": name, "config": {"type": "cloud"}});
        let request = self.write(Method::POST, &["environments"], Some(&body), None)?;
        Some(Ask { request, read: Box::new(read_done), repeat: Repeat::Never })
    }

    fn create_session(&self, new: &NewSession, key: &str) -> Option<Ask<RemoteSession>> {
        let request = self.write(Method::POST, &["sessions"], Some(&requests::new_session(new)), Some(key))?;
        Some(Ask { request, read: Box::new(read_session), repeat: self.repeat_with_key(Repeat::Never) })
    }

    fn rename_session(&self, session: &str, title: &str) -> Option<Ask<()>> {
        let request = self.write(Method::POST, &["sessions", session], Some(&json!({"title": title})), None)?;
        Some(Ask { request, read: Box::new(read_done), repeat: Repeat::Freely })
    }

    fn archive_session(&self, session: &str) -> Option<Ask<()>> {
        let request = self.write(Method::POST, &["sessions", session, "archive"], None, None)?;
        Some(Ask { request, read: Box::new(read_done), repeat: Repeat::Freely })
    }

    fn delete_session(&self, session: &str) -> Option<Ask<()>> {
        let request = self.write(Method::DELETE, &["sessions", session], None, None)?;
        Some(Ask { request, read: Box::new(read_deleted), repeat: Repeat::Freely })
    }

    fn history(&self, session: &str, page: Option<&str>) -> Option<Ask<EventPage>> {
        let limit = self.dialect.events_per_page.to_string();
        let mut query = vec![("limit", limit.as_str()), ("order", "desc")];
        query.extend(page.map(list::Turned::from_text).map(|turned| (turned.parameter, turned.cursor)));
        let request = self.read(&["sessions", session, "events"], &query)?;
        let asked = page.map(str::to_owned);
        Some(Ask {
            request,
            read: Box::new(move |answer| list::events(answer, asked.as_deref())),
            repeat: Repeat::Freely,
        })
    }

    fn stream(&self, session: &str, cursor: Option<&Cursor>) -> Option<http::Request<Bytes>> {
        let options = &self.endpoint.options;
        let flush = options.delta_flush_interval_ms.unwrap_or(DELTA_FLUSH_MS).to_string();
        let cursor = cursor.filter(|cursor| self.dialect.resumes && !cursor.0.is_empty());
        let mut query = vec![("event_deltas[]", "agent.message"), ("event_deltas[]", "agent.thinking")];
        if options.seed_compat {
            query.extend(cursor.map(|cursor| ("after_id", cursor.0.as_str())));
            query.push(("delta_flush_interval_ms", flush.as_str()));
        }
        let mut request =
            self.build(Method::GET, &["sessions", session, "events", "stream"], &query, EVENT_STREAM, None)?;
        // Bytes, not characters: an id may be any UTF-8 and still goes back verbatim.
        if let Some(value) = cursor.and_then(|cursor| http::HeaderValue::from_bytes(cursor.0.as_bytes()).ok()) {
            request.headers_mut().insert("last-event-id", value);
        }
        Some(request)
    }

    fn resumes(&self) -> bool {
        self.dialect.resumes
    }

    fn send(&self, session: &str, what: &Outgoing, key: &str) -> Option<Ask<Sent>> {
        // The oldest servers stop a turn by the interrupt event alone (Claude page, section 1, "stop the turn").
        let cancels = *what == Outgoing::Stop && self.dialect.cancel && !self.endpoint.options.seed_compat;
        let request = if cancels {
            self.write(Method::POST, &["sessions", session, "cancel"], None, Some(key))?
        } else {
            let body = json!({"events": [requests::event(what)?]});
            self.write(Method::POST, &["sessions", session, "events"], Some(&body), Some(key))?
        };
        let repeat = self.repeat_with_key(Repeat::AfterLookingForEcho);
        let is_message = matches!(what, Outgoing::Message { .. });
        Some(Ask { request, read: Box::new(move |answer| read_sent(answer, is_message)), repeat })
    }

    fn codec(&self) -> Box<dyn SessionCodec> {
        Box::new(Codec::new(self.dialect))
    }
}

fn read_session(answer: &http::Response<Bytes>) -> Result<RemoteSession, Refusal> {
    let body = errors::success(answer)?;
    serde_json::from_slice::<Value>(body)
        .ok()
        .as_ref()
        .and_then(session_object::session)
        .ok_or_else(|| errors::wrong(answer, "The answer is not a session."))
}

fn read_done(answer: &http::Response<Bytes>) -> Result<(), Refusal> {
    errors::success(answer).map(|_| ())
}

/// Deleting what is gone already has done what was wanted.
fn read_deleted(answer: &http::Response<Bytes>) -> Result<(), Refusal> {
    if answer.status() == http::StatusCode::NOT_FOUND { Ok(()) } else { read_done(answer) }
}

fn read_sent(answer: &http::Response<Bytes>, is_message: bool) -> Result<Sent, Refusal> {
    let body = match errors::success(answer) {
        Ok(body) => body,
        Err(mut refusal) => {
            // A message while a turn runs (Qoder page, section 4).
            if is_message && refusal.code == ErrorCode::Conflict {
                refusal.code = ErrorCode::Busy;
            }
            return Err(refusal);
        }
    };
    #[derive(serde::Deserialize)]
    struct Accepted<'a> {
        #[serde(borrow, default)]
        data: Vec<&'a RawValue>,
    }
    // The server has taken it: an answer without echoes (or without a body) must not look like a failure.
    let accepted = serde_json::from_slice::<Accepted<'_>>(body).unwrap_or(Accepted { data: Vec::new() });
    Ok(Sent { echoes: accepted.data.into_iter().map(|raw| raw.get().to_owned()).collect(), ..Sent::default() })
}
