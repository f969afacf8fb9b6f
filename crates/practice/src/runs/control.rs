//! Control of the `runs` side: how tests set it up, hold it, let it die, and see what it does.

use std::{collections::VecDeque, sync::Arc};

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    RunsManner,
    desk::{Desk, Session, Settled},
    event::frame,
};
use crate::{PracticeError, control, scenario, world::World};

/// One order to the `runs` side, as `POST /practice/control` takes it: `{"do":"runs","order":{"what":"restart"}}`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum RunsOrder {
    /// It behaves like this from now on; level, model and readiness are set anew.
    Manner {
        /// How.
        manner: RunsManner,
    },
    /// A new session that plays a scenario becomes the current one: each prompt plays the part up to the next message.
    Scenario {
        /// Its id.
        scenario: String,
    },
    /// The server dies and starts again.
    Restart,
    /// The answer time of what waits in a session is over now.
    Expire {
        /// Which session; `None` = the current one.
        #[serde(default)]
        session: Option<String>,
    },
    /// Another process opens or leaves a session.
    Lock {
        /// Which session; `None` = the current one.
        #[serde(default)]
        session: Option<String>,
        /// Opens it.
        locked: bool,
    },
    /// Sends a frame on the running stream of a session.
    Frame {
        /// Which session; `None` = the current one.
        #[serde(default)]
        session: Option<String>,
        /// Its name.
        name: String,
        /// What it carries.
        payload: Value,
    },
    /// What a session does now.
    Look {
        /// Which session; `None` = the current one.
        #[serde(default)]
        session: Option<String>,
    },
    /// Waits until a session runs or not, and waits for an answer or not; gives what it does then.
    Wait {
        /// Which session; `None` = the current one.
        #[serde(default)]
        session: Option<String>,
        /// It runs, or does not.
        #[serde(default)]
        running: Option<bool>,
        /// It waits for an answer, or does not.
        #[serde(default)]
        pending: Option<bool>,
        /// It stands at a gate or is held, or does not.
        #[serde(default)]
        at_gate: Option<bool>,
    },
}

/// The way to the `runs` side of a running server.
#[derive(Clone)]
pub struct RunsControl {
    world: Arc<World>,
}

impl std::fmt::Debug for RunsControl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RunsControl").finish_non_exhaustive()
    }
}

impl RunsControl {
    pub(crate) fn new(world: Arc<World>) -> Self {
        Self { world }
    }

    /// Carries one order out and gives its answer.
    ///
    /// # Errors
    /// Unknown sessions and scenarios, and waiting in vain.
    pub async fn run(&self, order: RunsOrder) -> Result<Value, PracticeError> {
        match order {
            RunsOrder::Manner { manner } => self.set_manner(manner),
            RunsOrder::Scenario { scenario } => return Ok(json!({"session": self.start_scenario(&scenario)?})),
            RunsOrder::Restart => self.restart(),
            RunsOrder::Expire { session } => {
                return Ok(json!({"expired": self.expire(session.as_deref())?}));
            }
            RunsOrder::Lock { session, locked } => self.lock(session.as_deref(), locked)?,
            RunsOrder::Frame { session, name, payload } => self.frame(session.as_deref(), &name, &payload)?,
            RunsOrder::Look { session } => return self.glimpse(session.as_deref()),
            RunsOrder::Wait { session, running, pending, at_gate } => {
                return self.wait(session.as_deref(), running, pending, at_gate).await;
            }
        }
        Ok(json!({"ok": true}))
    }

    fn with<T>(&self, session: Option<&str>, change: impl FnOnce(&mut Session) -> T) -> Result<T, PracticeError> {
        self.world.runs.change(|desk| {
            let id = session.map_or_else(|| desk.current.clone(), str::to_owned);
            desk.session_mut(&id).map(change).ok_or(PracticeError::NoSession(id))
        })
    }

    /// It behaves like this from now on; level, model and readiness are set anew.
    pub fn set_manner(&self, manner: RunsManner) {
        self.world.runs.change(|desk| desk.behave(manner));
    }

    /// How it behaves.
    #[must_use]
    pub fn manner(&self) -> RunsManner {
        self.world.runs.look(|desk| desk.manner.clone())
    }

    /// A new session that plays a scenario becomes the current one: each prompt, whatever its text, plays the part up
    /// to the next message of the script. Gives the session's id.
    ///
    /// # Errors
    /// When there is no such scenario.
    pub fn start_scenario(&self, id: &str) -> Result<String, PracticeError> {
        let scenario = scenario::find(id)?;
        let session = self.world.runs.new_session(Some(scenario.title));
        let steps: VecDeque<_> = scenario.steps.into();
        self.with(Some(&session), |session| {
            session.script = steps;
            session.touch();
        })?;
        Ok(session)
    }

    /// The session that is current.
    #[must_use]
    pub fn current(&self) -> String {
        self.world.runs.look(|desk| desk.current.clone())
    }

    /// The server dies and starts again: streams break off without a terminal frame, remembered commands and settings
    /// are gone, a new empty session is current, and what was interrupted can be resumed once its session is opened.
    pub fn restart(&self) {
        self.world.runs.restart();
    }

    /// The answer time of what waits is over now. Gives whether something waited.
    ///
    /// # Errors
    /// When there is no such session.
    pub fn expire(&self, session: Option<&str>) -> Result<bool, PracticeError> {
        self.with(session, |session| {
            let pending = session.run.as_mut().and_then(|run| run.pending.as_mut());
            match pending.filter(|pending| pending.settled.is_none()) {
                Some(pending) => {
                    pending.settled = Some(Settled::Expired);
                    true
                }
                None => false,
            }
        })
    }

    /// Another process opens or leaves a session: here it is read-only meanwhile.
    ///
    /// # Errors
    /// When there is no such session.
    pub fn lock(&self, session: Option<&str>, locked: bool) -> Result<(), PracticeError> {
        self.with(session, |session| session.locked = locked)
    }

    /// Sends a frame of any name on the running stream of a session.
    ///
    /// # Errors
    /// When there is no such session, or nothing runs in it.
    pub fn frame(&self, session: Option<&str>, name: &str, payload: &Value) -> Result<(), PracticeError> {
        self.raw(session, frame(name, payload))
    }

    /// Sends bytes as they are on the running stream of a session.
    ///
    /// # Errors
    /// When there is no such session, or nothing runs in it.
    pub fn raw(&self, session: Option<&str>, bytes: impl Into<Bytes>) -> Result<(), PracticeError> {
        let bytes = bytes.into();
        let sent = self.with(session, |session| session.run.as_ref().map(|run| run.interject(bytes)))?;
        sent.ok_or_else(|| PracticeError::BadCommand("nothing runs in this session".into()))
    }

    /// The id of the request a session waits with.
    ///
    /// # Errors
    /// When there is no such session.
    pub fn pending(&self, session: Option<&str>) -> Result<Option<String>, PracticeError> {
        self.with(session, |session| {
            let pending = session.run.as_ref()?.pending.as_ref()?;
            pending.settled.is_none().then(|| pending.shown.call_id.clone())
        })
    }

    /// What a session does now: `session, current, running, stopping, pending, steers, at_gate, messages, resumable`.
    ///
    /// # Errors
    /// When there is no such session.
    pub fn glimpse(&self, session: Option<&str>) -> Result<Value, PracticeError> {
        self.world.runs.look(|desk| {
            let id = session.unwrap_or(&desk.current);
            desk.session(id).map(|session| shown(desk, session)).ok_or_else(|| PracticeError::NoSession(id.to_owned()))
        })
    }

    /// Waits until a session is as wanted, and gives what it does then.
    ///
    /// # Errors
    /// [`PracticeError::TimedOut`] after 60 s, or an unknown session.
    pub async fn wait(
        &self,
        session: Option<&str>,
        running: Option<bool>,
        pending: Option<bool>,
        at_gate: Option<bool>,
    ) -> Result<Value, PracticeError> {
        self.glimpse(session)?;
        let wanted = |desk: &Desk| {
            let session = desk.session(session.unwrap_or(&desk.current))?;
            let waits = session
                .run
                .as_ref()
                .is_some_and(|run| run.pending.as_ref().is_some_and(|pending| pending.settled.is_none()));
            let holds = running.is_none_or(|wanted| session.run.is_some() == wanted)
                && pending.is_none_or(|wanted| waits == wanted)
                && at_gate.is_none_or(|wanted| session.gate.waiting == wanted);
            holds.then(|| shown(desk, session))
        };
        let found = tokio::time::timeout(control::PATIENCE, self.world.runs.until(wanted)).await;
        found.map_err(|_| PracticeError::TimedOut)
    }
}

fn shown(desk: &Desk, session: &Session) -> Value {
    let run = session.run.as_ref();
    let pending = run.and_then(|run| run.pending.as_ref()).filter(|pending| pending.settled.is_none());
    json!({
        "session": session.id, "current": session.id == desk.current, "running": run.is_some(),
        "stopping": run.is_some_and(|run| run.stopping), "pending": pending.map(|pending| &pending.shown),
        "steers": run.map_or(0, |run| run.steers.len()), "at_gate": session.gate.waiting,
        "messages": session.messages.len(), "resumable": session.left.as_ref().map(|left| &left.kind),
    })
}
