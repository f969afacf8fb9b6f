//! The toy's protocol: everything the app needs to speak it, made from outside the app.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use contract::{
    error::ErrorCode,
    request::ChoiceKind,
    server::{Capabilities, ServerOptions, WhileRunning},
    session::{NewSessionOptions, SessionState},
    wire::Cursor,
};
use http::Method;
use protocols::{
    Ask, Checked, Endpoint, EventPage, Family, Liveness, NewSession, Outgoing, Page, Probe, Protocol, Recognition,
    Refusal, RemoteSession, Repeat, Sent, SessionCodec,
};
use serde_json::{Value, json};
use url::Url;

use super::codec::Codec;

/// The family.
pub struct Toy;

impl Family for Toy {
    fn id(&self) -> &'static str {
        "toy"
    }

    fn probes(&self, base: &Url, _: &ServerOptions) -> Vec<Probe> {
        vec![Probe {
            dialect: None,
            base: base.clone(),
            request: request(base, &Method::GET, "toy", None),
            authorize: |_, _| {},
            read: |answer| match value(answer) {
                Ok(body) if body["toy"].is_string() => Recognition::Yes { version: None },
                _ => Recognition::No,
            },
        }]
    }

    fn speak(&self, endpoint: Endpoint) -> Arc<dyn Protocol> {
        Arc::new(Speaker(endpoint.base))
    }
}

fn request(base: &Url, method: &Method, path: &str, body: Option<&Value>) -> http::Request<Bytes> {
    http::Request::builder()
        .method(method)
        .uri(format!("{}/{path}", base.as_str().trim_end_matches('/')))
        .header("content-type", "application/json")
        .body(body.map(|body| Bytes::from(body.to_string())).unwrap_or_default())
        .unwrap()
}

fn refusal(answer: &http::Response<Bytes>) -> Refusal {
    let body: Value = serde_json::from_slice(answer.body()).unwrap_or_default();
    let status = answer.status().as_u16();
    let code = match status {
        401 => ErrorCode::Unauthorized,
        404 => ErrorCode::GoneAtServer,
        409 => ErrorCode::Busy,
        500..=599 => ErrorCode::ServerFailed,
        _ => ErrorCode::ServerRefused,
    };
    let message = body["words"].as_str().unwrap_or("refused").to_owned();
    Refusal { code, status, message, request_id: None, detail: None }
}

fn value(answer: &http::Response<Bytes>) -> Result<Value, Refusal> {
    if !answer.status().is_success() {
        return Err(refusal(answer));
    }
    serde_json::from_slice(answer.body()).map_err(|_| refusal(answer))
}

struct Speaker(Url);

impl Speaker {
    fn ask<T: 'static>(
        &self,
        method: Method,
        path: &str,
        body: Option<Value>,
        read: impl Fn(Value) -> T + Send + Sync + 'static,
    ) -> Ask<T> {
        let repeat = if method == Method::GET { Repeat::Freely } else { Repeat::Never };
        let request = request(&self.0, &method, path, body.as_ref());
        Ask { request, read: Box::new(move |answer| value(answer).map(&read)), repeat }
    }
}

fn session(row: &Value) -> RemoteSession {
    RemoteSession {
        id: row["id"].as_str().unwrap_or_default().to_owned(),
        state: if row["running"] == json!(true) { SessionState::Running } else { SessionState::Idle },
        ..RemoteSession::default()
    }
}

impl Protocol for Speaker {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            list_sessions: true,
            create_session: true,
            stop: true,
            while_running: WhileRunning::Steer,
            run_options: true,
            one_current: true,
            ..Capabilities::default()
        }
    }

    fn liveness(&self) -> Liveness {
        Liveness { running: None, idle: None }
    }

    fn authorize(&self, _: &mut http::Request<Bytes>, _: &str) {}

    fn list_sessions(&self, _: Option<&str>) -> Option<Ask<Page<RemoteSession>>> {
        Some(self.ask(Method::GET, "list", None, |rows| Page {
            rows: rows.as_array().into_iter().flatten().map(session).collect(),
            next: None,
        }))
    }

    fn read_session(&self, _: &str) -> Option<Ask<RemoteSession>> {
        None
    }

    fn new_session_options(&self) -> Vec<Ask<NewSessionOptions>> {
        Vec::new()
    }

    fn create_environment(&self, _: &str) -> Option<Ask<()>> {
        None
    }

    fn create_session(&self, _: &NewSession, _: &str) -> Option<Ask<RemoteSession>> {
        Some(self.ask(Method::POST, "new", None, |row| session(&row)))
    }

    fn rename_session(&self, _: &str, _: &str) -> Option<Ask<()>> {
        None
    }

    fn archive_session(&self, _: &str) -> Option<Ask<()>> {
        None
    }

    fn delete_session(&self, _: &str) -> Option<Ask<()>> {
        None
    }

    fn history(&self, _: &str, _: Option<&str>) -> Option<Ask<EventPage>> {
        None
    }

    fn stream(&self, _: &str, _: Option<&Cursor>) -> Option<http::Request<Bytes>> {
        None
    }

    fn resumes(&self) -> bool {
        false
    }

    fn send(&self, _: &str, what: &Outgoing, _: &str) -> Option<Ask<Sent>> {
        let (path, body) = match what {
            Outgoing::Message { text, .. } => ("steer", json!({"text": text})),
            Outgoing::Decision { request, choice, .. } => {
                ("answer", json!({"id": request, "yes": *choice == ChoiceKind::AllowOnce}))
            }
            Outgoing::Stop => ("stop", Value::Null),
            Outgoing::Resume { .. } | Outgoing::Outcome { .. } | Outgoing::Answers { .. } => return None,
        };
        let sent = |taken: Value| Sent { too_late: taken == json!(false), ..Sent::default() };
        let mut ask = self.ask(Method::POST, path, Some(body), sent);
        if matches!(what, Outgoing::Decision { .. }) {
            ask.repeat = Repeat::Freely;
        }
        Some(ask)
    }

    fn open_turn(&self, _: &str, what: &Outgoing) -> Option<http::Request<Bytes>> {
        let Outgoing::Message { text, .. } = what else { return None };
        Some(request(&self.0, &Method::POST, "say", Some(&json!({"text": text}))))
    }

    fn turn_refused(&self, answer: &http::Response<Bytes>) -> Refusal {
        refusal(answer)
    }

    fn approach(&self, session: &str) -> Option<Ask<String>> {
        let text = |at: Value| at.as_str().unwrap_or_default().to_owned();
        Some(self.ask(Method::POST, &format!("go/{session}"), Some(Value::Null), text))
    }

    fn current(&self) -> Option<Ask<Option<String>>> {
        Some(self.ask(Method::GET, "at", None, |at| at.as_str().map(str::to_owned)))
    }

    fn checks(&self, _: &str) -> Vec<Ask<Checked>> {
        vec![self.ask(Method::GET, "state", None, |body| Checked { name: "state", body: body.to_string() })]
    }

    fn whole_history(&self, _: &str) -> Option<Ask<String>> {
        Some(self.ask(Method::GET, "all", None, |body| body.to_string()))
    }

    fn settle_on_stop(&self) -> Option<Duration> {
        Some(Duration::from_secs(2))
    }

    fn codec(&self) -> Box<dyn SessionCodec> {
        Box::new(Codec::default())
    }
}
