//! What both versions ask alike: lists, sessions, agents (page §§1, 2 and 4).

use bytes::Bytes;
use contract::{
    server::{AuthStyle, Capabilities},
    session::NewSessionOptions,
    setup::SessionSetup,
};
use http::Method;
use url::Url;

use super::{agents, agents::Agent, answers, bodies, errors, known::Known};
use crate::{
    Ask, Checked, Endpoint, FactsPart, NewSession, Page, RemoteSession, Repeat, SetupChange, ask::Reader,
    headers::add_token,
};

/// The part of a server's protocol that both versions share.
pub(super) struct Speaker {
    pub endpoint: Endpoint,
    pub known: Known,
}

impl Speaker {
    pub fn new(endpoint: Endpoint) -> Self {
        Self { endpoint, known: Known::default() }
    }

    /// A request below the server's base.
    pub fn build(
        &self,
        method: Method,
        segments: &[&str],
        query: &[(&str, &str)],
        body: Option<Vec<u8>>,
    ) -> Option<http::Request<Bytes>> {
        bodies::request(&self.endpoint.base, &self.endpoint.options, method, segments, query, body)
    }

    /// A request of one session. A session that lies elsewhere is named by its whole address; where the token may not
    /// go there, nothing goes.
    pub fn of_session(
        &self,
        session: &str,
        method: Method,
        segments: &[&str],
        query: &[(&str, &str)],
        body: Option<Vec<u8>>,
    ) -> Option<http::Request<Bytes>> {
        match elsewhere(session) {
            Some(address) if !answers::may_be_told(&self.endpoint, &address) => None,
            Some(address) => bodies::request(&address, &self.endpoint.options, method, segments, query, body),
            None => {
                let segments: Vec<&str> = ["sessions", session].iter().chain(segments).copied().collect();
                self.build(method, &segments, query, body)
            }
        }
    }

    pub fn read<T>(&self, session: &str, segments: &[&str], query: &[(&str, &str)], read: Reader<T>) -> Option<Ask<T>> {
        let request = self.of_session(session, Method::GET, segments, query, None)?;
        Some(Ask { request, read, repeat: Repeat::Freely })
    }

    /// Adds the token where it may go: a request to another origin that nobody agreed to goes without.
    pub fn authorize(&self, request: &mut http::Request<Bytes>, token: &str) {
        let is_ours =
            Url::parse(&request.uri().to_string()).is_ok_and(|address| answers::may_be_told(&self.endpoint, &address));
        if is_ours {
            add_token(request, token, self.endpoint.options.auth.unwrap_or(AuthStyle::Bearer));
        }
    }

    /// What both versions can do.
    pub fn capabilities(&self) -> Capabilities {
        Capabilities {
            list_sessions: true,
            create_session: true,
            agents: true,
            rename: true,
            delete: true,
            stop: true,
            deny_reason: true,
            images: self.known.any_agent(|agent| agent.offer.image_data),
            image_links: self.known.any_agent(|agent| agent.offer.image_links),
            client_tools: true,
            reattach: true,
            setup: true,
            titles_here: true,
            ..Capabilities::default()
        }
    }

    pub fn list_sessions(&self, page: Option<&str>) -> Option<Ask<Page<RemoteSession>>> {
        let trail = answers::trail(page);
        let query: Vec<(&str, &str)> = trail.last().map(|cursor| ("after", cursor.as_str())).into_iter().collect();
        let request = self.build(Method::GET, &["sessions"], &query, None)?;
        let known = self.known.clone();
        let read: Reader<Page<RemoteSession>> = Box::new(move |answer| answers::sessions(answer, &known, &trail));
        Some(Ask { request, read, repeat: Repeat::Freely })
    }

    pub fn read_session(&self, session: &str) -> Option<Ask<RemoteSession>> {
        let (known, id) = (self.known.clone(), session.to_owned());
        self.read(session, &[], &[], Box::new(move |answer| answers::session(answer, &known, &id)))
    }

    fn meta<T>(&self, read: Reader<T>) -> Option<Ask<T>> {
        Some(Ask { request: self.build(Method::GET, &["meta"], &[], None)?, read, repeat: Repeat::Freely })
    }

    pub fn new_session_options(&self) -> Vec<Ask<NewSessionOptions>> {
        let known = self.known.clone();
        self.meta(Box::new(move |answer| answers::options(answer, &known))).into_iter().collect()
    }

    pub fn server_facts(&self) -> Vec<Ask<FactsPart>> {
        let known = self.known.clone();
        let read: Reader<FactsPart> = Box::new(move |answer| {
            answers::meta(answer, &known)?;
            let version = errors::json(answer)?.get("version").map(ToString::to_string);
            Ok(Box::new(move |facts| facts.version = version))
        });
        self.meta(read).into_iter().collect()
    }

    /// The session and its agent, for the codec. The session comes first: it names the agent.
    pub fn checks(&self, session: &str) -> Vec<Ask<Checked>> {
        let (known, id) = (self.known.clone(), session.to_owned());
        let of_session: Reader<Checked> =
            Box::new(move |answer| Ok(Checked { name: "session", body: answers::raw_session(answer, &known, &id)? }));
        let (known, id) = (self.known.clone(), session.to_owned());
        let of_agent: Reader<Checked> =
            Box::new(move |answer| Ok(Checked { name: "meta", body: answers::raw_agent(answer, &known, &id)? }));
        self.read(session, &[], &[], of_session).into_iter().chain(self.meta(of_agent)).collect()
    }

    pub fn create_session(&self, new: &NewSession, is_v4: bool) -> Option<Ask<RemoteSession>> {
        let agent = new.agent.as_deref().and_then(|name| self.known.agent(name));
        let body = bodies::create(new, agent.as_ref())?;
        let request = self.build(Method::POST, &["sessions"], &[], Some(body))?;
        let (endpoint, name) = (self.endpoint.clone(), new.agent.clone());
        let read: Reader<RemoteSession> = Box::new(move |answer| {
            Ok(RemoteSession { agent: name.clone(), ..answers::created(answer, &endpoint, is_v4)? })
        });
        // In v4 a second one is a light record that nobody uses; in v3 it stands in the list.
        Some(Ask { request, read, repeat: if is_v4 { Repeat::Freely } else { Repeat::Never } })
    }

    pub fn delete_session(&self, session: &str) -> Option<Ask<()>> {
        let request = self.of_session(session, Method::DELETE, &[], &[], None)?;
        let (known, id) = (self.known.clone(), session.to_owned());
        let read: Reader<()> = Box::new(move |answer| answers::deleted(answer, &known, &id));
        Some(Ask { request, read, repeat: Repeat::Freely })
    }

    /// Changes the setup at once, by `PATCH`.
    pub fn patch(&self, session: &str, change: &SetupChange) -> Option<Ask<()>> {
        let agent = self.known.agent_of(session);
        let body = bodies::change(change, agent.as_ref(), &self.foreign(session))?;
        let request = self.of_session(session, Method::PATCH, &[], &[], Some(body))?;
        Some(Ask { request, read: Box::new(answers::done), repeat: Repeat::Freely })
    }

    /// Tools that another client declared in this session.
    pub fn foreign(&self, session: &str) -> Vec<String> {
        self.known.session(session).map(|session| session.foreign()).unwrap_or_default()
    }

    pub fn amiss(&self, agent: &str, setup: &SessionSetup) -> Option<String> {
        let agent: Option<Agent> = self.known.agent(agent);
        agents::amiss(agent.as_ref(), setup)
    }
}

/// The address of a session that does not lie below its server's base.
fn elsewhere(session: &str) -> Option<Url> {
    let is_address = session.starts_with("https://") || session.starts_with("http://");
    is_address.then(|| Url::parse(session).ok()).flatten()
}
