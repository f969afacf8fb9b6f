//! Version 3, with its revised draft (page §§2 and 3): a turn is a request, and its answer tells it.

use std::time::Duration;

use bytes::Bytes;
use contract::{
    server::{Capabilities, WhileRunning},
    session::NewSessionOptions,
    setup::SessionSetup,
    wire::Cursor,
};
use http::Method;

use super::{
    answers,
    asked::given,
    bodies::{self, Begins},
    errors,
    fold_v3::Codec,
    speaker::Speaker,
};
use crate::{
    Ask, Checked, EventPage, FactsPart, Liveness, NewSession, Outgoing, Page, Protocol, Refusal, RemoteSession, Sent,
    SessionCodec, SetupChange,
};

/// The protocol for one server of version 3.
pub(super) struct SpeakerV3(pub Speaker);

/// After so long a silence of a running turn the session is looked at beside it; nothing is cut (page §7.8).
const SILENCE: Duration = Duration::from_secs(90);

impl SpeakerV3 {
    /// How a turn of this session is told: as the person chose, else the best its agent can. Before the agent is known
    /// the way that nearly every agent can.
    fn stream_mode(&self, session: &str) -> &str {
        let chosen = self.0.endpoint.options.stream_mode.as_deref();
        if let Some(chosen) = chosen.filter(|mode| matches!(*mode, "delta" | "message" | "none")) {
            return chosen;
        }
        self.0.known.agent_of(session).map_or("delta", |agent| agent.stream_mode())
    }
}

impl Protocol for SpeakerV3 {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            while_running: WhileRunning::QueueHere,
            answers_together: true,
            stop_lets_go: true,
            ..self.0.capabilities()
        }
    }

    fn liveness(&self) -> Liveness {
        Liveness { running: Some(SILENCE), idle: None }
    }

    fn authorize(&self, request: &mut http::Request<Bytes>, token: &str) {
        self.0.authorize(request, token);
    }

    fn list_sessions(&self, page: Option<&str>) -> Option<Ask<Page<RemoteSession>>> {
        self.0.list_sessions(page)
    }

    fn read_session(&self, session: &str) -> Option<Ask<RemoteSession>> {
        self.0.read_session(session)
    }

    fn new_session_options(&self) -> Vec<Ask<NewSessionOptions>> {
        self.0.new_session_options()
    }

    fn create_environment(&self, _name: &str) -> Option<Ask<()>> {
        None
    }

    fn create_session(&self, new: &NewSession, _key: &str) -> Option<Ask<RemoteSession>> {
        self.0.create_session(new, false)
    }

    fn rename_session(&self, _session: &str, _title: &str) -> Option<Ask<()>> {
        None
    }

    fn archive_session(&self, _session: &str) -> Option<Ask<()>> {
        None
    }

    fn delete_session(&self, session: &str) -> Option<Ask<()>> {
        self.0.delete_session(session)
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

    fn send(&self, _session: &str, _what: &Outgoing, _key: &str) -> Option<Ask<Sent>> {
        None
    }

    fn open_turn(&self, session: &str, what: &Outgoing) -> Option<http::Request<Bytes>> {
        // A session whose agent the server no longer has can be read, and takes nothing (page §7.17).
        if self.0.known.has_vanished(session) {
            return None;
        }
        let all;
        let (begins, change) = match what {
            Outgoing::Message { text, images, setup, .. } => (Begins::Message { text, images }, setup),
            Outgoing::Answers { answers, setup } => {
                all = answers
                    .iter()
                    .map(|answer| {
                        let (reason, result) = (answer.reason.as_deref(), answer.result.as_deref());
                        given(&answer.request, answer.choice, reason, &answer.answers, result)
                    })
                    .collect::<Option<Vec<_>>>()?;
                (Begins::Answers(&all), setup)
            }
            Outgoing::Resume { .. } | Outgoing::Decision { .. } | Outgoing::Stop | Outgoing::Outcome { .. } => {
                return None;
            }
        };
        let mode = self.stream_mode(session);
        let (agent, foreign) = (self.0.known.agent_of(session), self.0.foreign(session));
        // The revised draft takes a change by itself alone.
        let overrides = change
            .as_ref()
            .filter(|_| !self.0.known.is_revised(session))
            .map(|change| (change, agent.as_ref(), foreign.as_slice()));
        let body = bodies::turn(&begins, mode, overrides)?;
        let request = self.0.of_session(session, Method::POST, &["turns"], &[], Some(body))?;
        Some(if mode == "none" { request } else { bodies::as_stream(request) })
    }

    fn turn_refused(&self, answer: &http::Response<Bytes>) -> Refusal {
        if answer.status().is_success() {
            return errors::wrong(answer, "The server answered with something that is no turn.");
        }
        errors::refusal(answer)
    }

    fn checks(&self, session: &str) -> Vec<Ask<Checked>> {
        self.0.checks(session)
    }

    /// The exact history where there is one, else as the server shortened it (page §2.4).
    fn whole_history(&self, session: &str) -> Option<Ask<String>> {
        let agent = self.0.known.agent_of(session);
        let kind = if agent.is_some_and(|agent| !agent.full && agent.compacted) { "compacted" } else { "full" };
        let whole = self.0.known.is_revised(session).then_some(("start", "0"));
        let query: Vec<(&str, &str)> = [("type", kind)].into_iter().chain(whole).collect();
        self.0.read(session, &["history"], &query, Box::new(answers::history))
    }

    fn whole_answer(&self) -> Option<&'static str> {
        Some("turn")
    }

    fn history_tells_the_end(&self) -> bool {
        true
    }

    fn may_end_unsaid(&self) -> bool {
        true
    }

    fn amiss(&self, agent: &str, setup: &SessionSetup) -> Option<String> {
        self.0.amiss(agent, setup)
    }

    fn change_setup(&self, session: &str, change: &SetupChange) -> Option<Ask<()>> {
        self.0.known.is_revised(session).then(|| self.0.patch(session, change))?
    }

    fn server_facts(&self) -> Vec<Ask<FactsPart>> {
        self.0.server_facts()
    }

    fn codec(&self) -> Box<dyn SessionCodec> {
        Box::new(Codec::default())
    }
}
