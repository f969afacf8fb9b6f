//! Version 4 (page §4): inputs are posted one by one, and one stream of the session tells everything.

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
    bodies::{self, Input},
    errors,
    fold_v4::Codec,
    speaker::Speaker,
};
use crate::{
    Ask, Checked, EventPage, FactsPart, Liveness, NewSession, Outgoing, Page, Protocol, RemoteSession, Repeat, Sent,
    SessionCodec, SetupChange, ask::Reader,
};

/// The protocol for one server of version 4.
pub(super) struct SpeakerV4(pub Speaker);

/// A running session that says nothing for so long is connected to anew: its stream can be left and taken up again.
const SILENCE: Duration = Duration::from_secs(90);

impl SpeakerV4 {
    /// How the stream tells texts: as the person chose, else the best the agent can.
    fn stream_mode(&self, session: &str) -> &str {
        let chosen = self.0.endpoint.options.stream_mode.as_deref();
        if let Some(chosen) = chosen.filter(|mode| matches!(*mode, "delta" | "message")) {
            return chosen;
        }
        let only_whole = self.0.known.agent_of(session).is_some_and(|agent| !agent.delta && agent.message);
        if only_whole { "message" } else { "delta" }
    }
}

impl Protocol for SpeakerV4 {
    fn capabilities(&self) -> Capabilities {
        Capabilities { while_running: WhileRunning::QueueAtServer, ..self.0.capabilities() }
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
        self.0.create_session(new, true)
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

    fn history(&self, session: &str, page: Option<&str>) -> Option<Ask<EventPage>> {
        let before: Vec<(&str, &str)> = page.map(|page| ("before", page)).into_iter().collect();
        let page = page.map(str::to_owned);
        let has_none = self.0.known.agent_of(session).is_some_and(|agent| !agent.tail);
        let read: Reader<EventPage> = Box::new(move |answer| answers::entries(answer, page.as_deref(), has_none));
        self.0.read(session, &["history"], &before, read)
    }

    fn stream(&self, session: &str, _cursor: Option<&Cursor>) -> Option<http::Request<Bytes>> {
        let query = [("stream", self.stream_mode(session))];
        self.0.of_session(session, Method::GET, &["events", "stream"], &query, None).map(bodies::as_stream)
    }

    fn resumes(&self) -> bool {
        false
    }

    fn send(&self, session: &str, what: &Outgoing, _key: &str) -> Option<Ask<Sent>> {
        if self.0.known.has_vanished(session) {
            return None;
        }
        let answer;
        let (input, repeat, is_answer) = match what {
            // Sent twice, it would be said twice.
            Outgoing::Message { text, images, .. } => {
                (Input::Message { text, images }, Repeat::AfterLookingForEcho, false)
            }
            Outgoing::Decision { request, choice, reason, answers, result, .. } => {
                answer = given(request, *choice, reason.as_deref(), answers, result.as_deref())?;
                // Answered already is refused, so a second one does nothing.
                (Input::Answer(&answer), Repeat::Freely, true)
            }
            Outgoing::Stop => (Input::Cancel, Repeat::Freely, false),
            Outgoing::Answers { .. } | Outgoing::Resume { .. } | Outgoing::Outcome { .. } => return None,
        };
        let request = self.0.of_session(session, Method::POST, &["input"], &[], Some(bodies::input(&input)?))?;
        Some(Ask { request, read: Box::new(move |answer| answers::sent(answer, is_answer)), repeat })
    }

    fn turn_refused(&self, answer: &http::Response<Bytes>) -> crate::Refusal {
        errors::refusal(answer)
    }

    fn checks(&self, session: &str) -> Vec<Ask<Checked>> {
        self.0.checks(session)
    }

    fn amiss(&self, agent: &str, setup: &SessionSetup) -> Option<String> {
        self.0.amiss(agent, setup)
    }

    fn change_setup(&self, session: &str, change: &SetupChange) -> Option<Ask<()>> {
        self.0.patch(session, change)
    }

    fn server_facts(&self) -> Vec<Ask<FactsPart>> {
        self.0.server_facts()
    }

    fn codec(&self) -> Box<dyn SessionCodec> {
        Box::new(Codec::default())
    }
}
