//! What the server's own answers showed: its agents, and of each session its agent, what is declared in it and which
//! draft it speaks. Kept in memory only; never a token, never a secret.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::{agents::Agent, session_object::SessionObject};

/// Shared with the readers of answers.
#[derive(Debug, Clone, Default)]
pub(super) struct Known(Arc<Mutex<Shown>>);

#[derive(Debug, Default)]
struct Shown {
    agents: Option<Vec<Agent>>,
    sessions: HashMap<String, SessionObject>,
}

impl Known {
    fn lock(&self) -> MutexGuard<'_, Shown> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The agents, as the server names them now.
    pub fn take_agents(&self, agents: Vec<Agent>) {
        self.lock().agents = Some(agents);
    }

    /// A session as it was shown.
    pub fn take_session(&self, id: &str, session: SessionObject) {
        self.lock().sessions.insert(id.to_owned(), session);
    }

    /// A session is no more.
    pub fn forget_session(&self, id: &str) {
        self.lock().sessions.remove(id);
    }

    /// Whether any agent can do this; `false` before the agents are known.
    pub fn any_agent(&self, can: impl Fn(&Agent) -> bool) -> bool {
        self.lock().agents.as_ref().is_some_and(|agents| agents.iter().any(can))
    }

    /// An agent by name.
    pub fn agent(&self, name: &str) -> Option<Agent> {
        self.lock().agents.as_ref()?.iter().find(|agent| agent.name == name).cloned()
    }

    /// A session.
    pub fn session(&self, id: &str) -> Option<SessionObject> {
        self.lock().sessions.get(id).cloned()
    }

    /// The agent of a session, where both are known.
    pub fn agent_of(&self, session: &str) -> Option<Agent> {
        let name = self.session(session)?.agent?;
        self.agent(&name)
    }

    /// The server no longer offers the agent of this session.
    pub fn has_vanished(&self, session: &str) -> bool {
        let name = self.session(session).and_then(|session| session.agent);
        name.is_some_and(|name| {
            self.lock().agents.as_ref().is_some_and(|agents| agents.iter().all(|agent| agent.name != name))
        })
    }

    /// It showed that it speaks the revised draft.
    pub fn is_revised(&self, session: &str) -> bool {
        self.session(session).is_some_and(|session| session.is_revised())
    }
}
