//! One server's protocol: every request the engine can ask for, and how its answer is read.
//!
//! The server has one current session; whatever is about a session goes to that one, so it is approached first
//! (runs-server page, §2).

use std::time::Duration;

use bytes::Bytes;
use contract::{
    command::ServerSetting,
    server::{AuthStyle, Capabilities, WhileRunning},
    session::NewSessionOptions,
    wire::Cursor,
};
use http::{HeaderValue, Method, header::ACCEPT};
use serde_json::{Value, json};

use super::{answers, bodies, errors, fold::Codec};
use crate::{
    Act, Acted, Ask, Checked, Endpoint, EventPage, FactsPart, Liveness, NewSession, Outgoing, Page, Protocol, Refusal,
    RemoteSession, Repeat, Sent, SessionCodec, ask::Reader, headers::add_token,
};

/// The protocol for one server.
pub(super) struct Speaker {
    endpoint: Endpoint,
}

/// Rows of the one page a list has: the most the server gives.
const ROWS: &str = "200";
/// Completions wanted of a mention.
const COMPLETIONS: &str = "30";
/// How long the end of a stopped run is waited for when what it waited on was refused (§8).
const SETTLE: Duration = Duration::from_secs(2);

impl Speaker {
    pub(super) fn new(endpoint: Endpoint) -> Self {
        Self { endpoint }
    }

    fn build(
        &self,
        method: Method,
        segments: &[&str],
        query: &[(&str, &str)],
        body: Option<&Value>,
    ) -> Option<http::Request<Bytes>> {
        bodies::request(&self.endpoint.base, &self.endpoint.options, method, segments, query, body)
    }

    fn read<T>(&self, segments: &[&str], query: &[(&str, &str)], read: Reader<T>) -> Option<Ask<T>> {
        Some(Ask { request: self.build(Method::GET, segments, query, None)?, read, repeat: Repeat::Freely })
    }

    fn post<T>(&self, segments: &[&str], body: Option<&Value>, repeat: Repeat, read: Reader<T>) -> Option<Ask<T>> {
        Some(Ask { request: self.build(Method::POST, segments, &[], body)?, read, repeat })
    }
}

impl Protocol for Speaker {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            list_sessions: true,
            create_session: true,
            rename: true,
            stop: true,
            while_running: WhileRunning::Steer,
            images: true,
            resume: true,
            fork: true,
            compact: true,
            context: true,
            name_itself: true,
            ask_aside: true,
            export_page: true,
            mentions: true,
            run_options: true,
            settings: true,
            one_current: true,
            ..Capabilities::default()
        }
    }

    /// While a run waits for a person, or the model thinks, not one byte is sent (§2).
    fn liveness(&self) -> Liveness {
        Liveness { running: None, idle: None }
    }

    fn authorize(&self, request: &mut http::Request<Bytes>, token: &str) {
        add_token(request, token, self.endpoint.options.auth.unwrap_or(AuthStyle::Bearer));
    }

    fn list_sessions(&self, _page: Option<&str>) -> Option<Ask<Page<RemoteSession>>> {
        self.read(&["sessions"], &[("limit", ROWS)], Box::new(answers::sessions))
    }

    fn read_session(&self, _session: &str) -> Option<Ask<RemoteSession>> {
        None
    }

    fn new_session_options(&self) -> Vec<Ask<NewSessionOptions>> {
        Vec::new()
    }

    fn create_environment(&self, _name: &str) -> Option<Ask<()>> {
        None
    }

    fn create_session(&self, new: &NewSession, _key: &str) -> Option<Ask<RemoteSession>> {
        let title = new.title.as_deref().map(str::trim).filter(|title| !title.is_empty());
        let body = title.map_or_else(|| json!({}), |title| json!({"title": title}));
        self.post(&["sessions"], Some(&body), Repeat::Never, Box::new(answers::session))
    }

    fn rename_session(&self, _session: &str, title: &str) -> Option<Ask<()>> {
        let body = json!({"title": title});
        self.post(&["sessions", "current", "rename"], Some(&body), Repeat::Freely, Box::new(answers::done))
    }

    fn archive_session(&self, _session: &str) -> Option<Ask<()>> {
        None
    }

    fn delete_session(&self, _session: &str) -> Option<Ask<()>> {
        None
    }

    fn history(&self, _session: &str, _page: Option<&str>) -> Option<Ask<EventPage>> {
        None
    }

    fn stream(&self, _session: &str, _cursor: Option<&Cursor>) -> Option<http::Request<Bytes>> {
        None
    }

    fn resumes(&self) -> bool {
        false
    }

    fn send(&self, _session: &str, what: &Outgoing, _key: &str) -> Option<Ask<Sent>> {
        match what {
            // Sent twice, it would be said twice.
            Outgoing::Message { text, images, options, .. } => self.post(
                &["runs", "steer"],
                Some(&bodies::steer(text, images, options)),
                Repeat::Never,
                Box::new(|answer| answers::sent(answer, "steered")),
            ),
            Outgoing::Decision { request, kind, choice, answers: given, .. } => {
                let (path, body) = bodies::decision(request, *kind, *choice, given)?;
                let read: Reader<Sent> = Box::new(|answer| answers::sent(answer, "resolved"));
                self.post(&["runs", path], Some(&body), Repeat::Freely, read)
            }
            Outgoing::Stop => self.post(
                &["runs", "cancel"],
                None,
                Repeat::Freely,
                Box::new(|answer| answers::sent(answer, "cancelled")),
            ),
            Outgoing::Resume { .. } | Outgoing::Outcome { .. } | Outgoing::Answers { .. } => None,
        }
    }

    fn open_turn(&self, _session: &str, what: &Outgoing) -> Option<http::Request<Bytes>> {
        let (path, body): (&[&str], Value) = match what {
            Outgoing::Message { text, images, options, .. } => (&["prompts"], bodies::prompt(text, images, options)),
            Outgoing::Resume { options } => (&["runs", "resume"], bodies::resume(options)),
            Outgoing::Decision { .. } | Outgoing::Answers { .. } | Outgoing::Stop | Outgoing::Outcome { .. } => {
                return None;
            }
        };
        self.build(Method::POST, path, &[], Some(&body)).map(bodies::as_stream)
    }

    fn turn_refused(&self, answer: &http::Response<Bytes>) -> Refusal {
        if answer.status().is_success() {
            return errors::wrong(answer, "The server answered with something that is no event stream.");
        }
        let mut refusal = errors::refusal(answer);
        refusal.message = errors::advised(refusal.detail.as_deref().unwrap_or_default(), &refusal.message);
        refusal
    }

    fn approach(&self, session: &str) -> Option<Ask<String>> {
        self.post(&["sessions", session, "open"], None, Repeat::Freely, Box::new(answers::opened))
    }

    fn current(&self) -> Option<Ask<Option<String>>> {
        self.read(&["sessions", "current"], &[], Box::new(answers::current))
    }

    fn checks(&self, _session: &str) -> Vec<Ask<Checked>> {
        let check = |name: &'static str, otherwise: &'static str| {
            let read: Reader<Checked> =
                Box::new(move |answer| Ok(Checked { name, body: answers::raw_or(answer, otherwise)? }));
            self.read(&["runs", name], &[], read)
        };
        check("current", r#"{"running":false,"pending":null}"#)
            .into_iter()
            .chain(check("resumable", r#"{"resumable":false}"#))
            .collect()
    }

    fn measure(&self, _session: &str) -> Option<Ask<Checked>> {
        let read: Reader<Checked> = Box::new(|answer| Ok(Checked { name: "context", body: answers::raw(answer)? }));
        self.read(&["sessions", "current", "context"], &[], read)
    }

    fn whole_history(&self, _session: &str) -> Option<Ask<String>> {
        self.read(&["sessions", "current", "history"], &[("full", "true")], Box::new(answers::history))
    }

    fn server_facts(&self) -> Vec<Ask<FactsPart>> {
        let health: Reader<FactsPart> = Box::new(answers::health);
        [("health", health), ("settings", Box::new(answers::settings)), ("models", Box::new(answers::models))]
            .into_iter()
            .filter_map(|(path, read)| self.read(&[path], &[], read))
            .collect()
    }

    fn change_setting(&self, setting: &ServerSetting) -> Option<Ask<()>> {
        let body = bodies::setting(setting);
        let request = self.build(Method::PATCH, &["settings"], &[], Some(&body))?;
        Some(Ask { request, read: Box::new(answers::done), repeat: Repeat::Freely })
    }

    fn act(&self, _session: &str, act: &Act) -> Option<Ask<Acted>> {
        match act {
            Act::Fork => self.post(&["sessions", "current", "fork"], None, Repeat::Never, Box::new(answers::forked)),
            Act::Compact => {
                self.post(&["sessions", "current", "compact"], None, Repeat::Never, Box::new(answers::compacted))
            }
            Act::Context => self.read(&["sessions", "current", "context"], &[], Box::new(answers::context)),
            Act::Name => self.post(&["sessions", "current", "name"], None, Repeat::Never, Box::new(answers::renamed)),
            Act::AskAside { question } => self.post(
                &["sessions", "current", "ask"],
                Some(&json!({"question": question})),
                Repeat::Never,
                Box::new(answers::aside),
            ),
            Act::Mentions { query } => {
                let query = [("query", query.as_str()), ("limit", COMPLETIONS)];
                self.read(&["mentions"], &query, Box::new(answers::mentions))
            }
            Act::ExportPage => {
                let mut ask: Ask<Acted> =
                    self.read(&["sessions", "current", "export"], &[], Box::new(answers::page))?;
                ask.request.headers_mut().insert(ACCEPT, HeaderValue::from_static("text/html"));
                Some(ask)
            }
        }
    }

    fn settle_on_stop(&self) -> Option<Duration> {
        Some(SETTLE)
    }

    fn codec(&self) -> Box<dyn SessionCodec> {
        Box::new(Codec::default())
    }
}
