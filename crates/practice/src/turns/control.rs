//! Control of the `turns` side: how tests set it up, hold it, put things into it, and see what it does.

mod order;

use std::{collections::VecDeque, sync::Arc};

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    TurnsManner,
    desk::{Answer, Desk, Session},
    http,
    log::Event,
    player, script,
    shape::{Content, Entry, Input, frame},
};
use crate::{PracticeError, control, scenario, world::World};
pub use order::{TurnsOrder, TurnsWait};

/// One POST or PATCH.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnsPost {
    /// `POST` or `PATCH`.
    pub method: String,
    /// Its path.
    pub path: String,
    /// Its body, byte for byte.
    pub body: String,
    /// The status it was answered with; `None` = not answered yet.
    pub status: Option<u16>,
}

/// One request that came to the other origin ([`crate::TurnsLocation::OtherOrigin`]).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnsVisit {
    /// Its method.
    pub method: String,
    /// Its path.
    pub path: String,
    /// It had an `Authorization`, right or wrong.
    pub with_key: bool,
}

/// The way to the `turns` side of a running server.
#[derive(Clone)]
pub struct TurnsControl {
    world: Arc<World>,
}

impl std::fmt::Debug for TurnsControl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TurnsControl").finish_non_exhaustive()
    }
}

impl TurnsControl {
    pub(crate) fn new(world: Arc<World>) -> Self {
        Self { world }
    }

    fn with<T>(&self, session: &str, change: impl FnOnce(&mut Session) -> T) -> Result<T, PracticeError> {
        self.world.turns.change(|desk| {
            desk.session_mut(session).map(change).ok_or_else(|| PracticeError::NoSession(session.to_owned()))
        })
    }

    fn see<T>(&self, session: &str, look: impl FnOnce(&Session) -> T) -> Result<T, PracticeError> {
        self.world
            .turns
            .look(|desk| desk.session(session).map(look).ok_or_else(|| PracticeError::NoSession(session.to_owned())))
    }

    /// It behaves like this from now on. Sessions stay.
    pub fn set_manner(&self, manner: TurnsManner) {
        self.world.turns.change(|desk| desk.manner = manner);
    }

    /// How it behaves.
    #[must_use]
    pub fn manner(&self) -> TurnsManner {
        self.world.turns.look(|desk| desk.manner.clone())
    }

    /// A new session that plays a scenario: what it calls is declared, enabled and trusted as its steps say, and each
    /// message, whatever its text, plays the part up to the next message of the script. Gives the session's id.
    ///
    /// # Errors
    /// When there is no such scenario.
    pub fn start_scenario(&self, id: &str) -> Result<String, PracticeError> {
        let steps: VecDeque<_> = scenario::find(id)?.steps.into();
        Ok(self.world.turns.create(script::setup(&steps), Vec::new(), steps))
    }

    /// An existing session plays a scenario with its next messages; how it is set up stays.
    ///
    /// # Errors
    /// When there is no such session or scenario.
    pub fn arm(&self, session: &str, scenario: &str) -> Result<(), PracticeError> {
        let steps: VecDeque<_> = scenario::find(scenario)?.steps.into();
        self.with(session, |session| {
            session.script = steps;
            // A script of the same length is another one all the same.
            session.setup.revision += 1;
        })
    }

    /// The ids of all sessions, oldest first.
    #[must_use]
    pub fn sessions(&self) -> Vec<String> {
        self.world.turns.look(|desk| desk.sessions.iter().map(|session| session.id.clone()).collect())
    }

    /// An agent vanishes from `/meta`, or comes back.
    pub fn hide_agent(&self, name: &str, hidden: bool) {
        self.world.turns.change(|desk| {
            desk.manner.hidden_agents.retain(|known| known != name);
            if hidden {
                desk.manner.hidden_agents.push(name.to_owned());
            }
        });
    }

    /// Somebody else deletes the session.
    ///
    /// # Errors
    /// When there is no such session.
    pub fn remove(&self, session: &str) -> Result<(), PracticeError> {
        self.world.turns.change(|desk| {
            let known = desk.sessions.len();
            desk.sessions.retain(|one| one.id != session);
            if desk.sessions.len() < known { Ok(()) } else { Err(PracticeError::NoSession(session.to_owned())) }
        })
    }

    /// Sends a frame of any name on the streams of a session: of its running turns (v3), of its followers (v4).
    ///
    /// # Errors
    /// When there is no such session, or nobody reads (v3).
    pub fn emit(&self, session: &str, name: &str, payload: &Value) -> Result<(), PracticeError> {
        self.raw(session, frame(name, payload))
    }

    /// Sends bytes as they are on the streams of a session.
    ///
    /// # Errors
    /// When there is no such session, or nobody reads (v3).
    pub fn raw(&self, session: &str, bytes: impl Into<Bytes>) -> Result<(), PracticeError> {
        let bytes = bytes.into();
        let v4 = self.manner().is_v4();
        let readers = self.with(session, |session| {
            if v4 {
                session.log.push(Event::Raw(bytes));
                return 1;
            }
            session.interject(&bytes)
        })?;
        if readers > 0 { Ok(()) } else { Err(PracticeError::BadCommand("nothing runs in this session".into())) }
    }

    /// v4: an input of somebody else.
    ///
    /// # Errors
    /// When it is no input, there is no such session, or it answers what does not wait.
    pub fn input(&self, session: &str, input: Value) -> Result<(), PracticeError> {
        let input: Input =
            serde_json::from_value(input).map_err(|error| PracticeError::BadCommand(error.to_string()))?;
        http::accept(&self.world, session, input).map_err(|refused| PracticeError::BadCommand(format!("{refused:?}")))
    }

    /// v4: `idle` now, after which the session's streams end.
    ///
    /// # Errors
    /// When there is no such session.
    pub fn idle(&self, session: &str) -> Result<(), PracticeError> {
        let event = player::idle(&self.world.turns);
        self.with(session, |session| session.log.push(event))
    }

    /// Writes a message into the history, as if another client had made it.
    ///
    /// # Errors
    /// When there is no such session or it is no message.
    pub fn add_history(&self, session: &str, message: Value) -> Result<(), PracticeError> {
        let message = serde_json::from_value(message).map_err(|error| PracticeError::BadCommand(error.to_string()))?;
        let entry = self.world.turns.entry(message);
        self.with(session, |session| session.history.push(entry))
    }

    /// The calls that wait get no answer in time: each gets a result that says so. Gives how many there were. In v4 the
    /// agent goes on; in v3 a message is taken again.
    ///
    /// # Errors
    /// When there is no such session.
    pub fn expire(&self, session: &str) -> Result<usize, PracticeError> {
        let v4 = self.manner().is_v4();
        let ids: Vec<String> = self.see(session, Session::pending)?.into_iter().map(|call| call.tool_call_id).collect();
        let text = || Content::Text("Nobody answered in time.".to_owned());
        let entries: Vec<Entry> =
            ids.iter().map(|id| self.world.turns.entry(super::shape::Message::tool(id, text()))).collect();
        self.with(session, |session| {
            if v4 {
                let calls = session.held.iter_mut().flat_map(|held| &mut held.calls);
                for call in calls.filter(|call| call.answer.is_none()) {
                    call.answer = Some(Answer::Result(text(), None));
                }
            } else {
                session.history.extend(entries);
                session.held = None;
            }
            ids.len()
        })
    }

    /// The calls of a session that wait: `toolCallId`, `name`, `input`.
    ///
    /// # Errors
    /// When there is no such session.
    pub fn pending(&self, session: &str) -> Result<Vec<Value>, PracticeError> {
        self.see(session, |session| session.pending().iter().map(|call| json!(call)).collect())
    }

    /// The history of a session, oldest first, with `id` and `timestamp`.
    ///
    /// # Errors
    /// When there is no such session.
    pub fn history(&self, session: &str) -> Result<Vec<Value>, PracticeError> {
        self.see(session, |session| session.history.iter().map(|entry| json!(entry)).collect())
    }

    /// v4: what the session told, as `{event, data}` in message mode.
    ///
    /// # Errors
    /// When there is no such session.
    pub fn told(&self, session: &str) -> Result<Vec<Value>, PracticeError> {
        self.see(session, |session| session.log.told())
    }

    /// The value of an option as the server holds it, a secret included.
    ///
    /// # Errors
    /// When there is no such session.
    pub fn option(&self, session: &str, name: &str) -> Result<Option<String>, PracticeError> {
        self.see(session, |session| session.setup.options.get(name).cloned())
    }

    /// Every POST and PATCH so far, byte for byte, from its arrival on.
    #[must_use]
    pub fn posts(&self) -> Vec<TurnsPost> {
        self.world.turns.look(|desk| desk.posts.clone())
    }

    /// Every request that came to the other origin so far.
    #[must_use]
    pub fn visits(&self) -> Vec<TurnsVisit> {
        self.world.turns.look(|desk| desk.visits.clone())
    }

    /// Waits until so many POSTs and PATCHes arrived, answered or not, and gives them all.
    ///
    /// # Errors
    /// [`PracticeError::TimedOut`] after 10 s.
    pub async fn posted(&self, count: usize) -> Result<Vec<TurnsPost>, PracticeError> {
        self.until(|desk| Ok((desk.posts.len() >= count).then(|| desk.posts.clone()))).await
    }

    /// What a session does now: `session, agent, tools, active, running, pending, at_gate, messages, inbox`.
    ///
    /// # Errors
    /// When there is no such session.
    pub fn glimpse(&self, session: &str) -> Result<Value, PracticeError> {
        self.see(session, shown)
    }

    /// Waits until a session is as wanted, and gives what it does then.
    ///
    /// # Errors
    /// [`PracticeError::TimedOut`] after 10 s, or an unknown session.
    pub async fn wait(&self, session: &str, wanted: TurnsWait) -> Result<Value, PracticeError> {
        self.until(|desk| {
            let found = desk.session(session).ok_or_else(|| PracticeError::NoSession(session.to_owned()))?;
            Ok(wanted.holds(found).then(|| shown(found)))
        })
        .await
    }

    /// Waits until calls wait for answers, and gives them.
    ///
    /// # Errors
    /// [`PracticeError::TimedOut`] after 10 s, or an unknown session.
    pub async fn waiting(&self, session: &str) -> Result<Vec<Value>, PracticeError> {
        self.wait(session, TurnsWait { pending: Some(true), active: Some(false), ..TurnsWait::default() }).await?;
        self.pending(session)
    }

    /// Waits until nothing runs or waits any more, and gives the history: all is in it.
    ///
    /// # Errors
    /// [`PracticeError::TimedOut`] after 10 s, or an unknown session.
    pub async fn settled(&self, session: &str) -> Result<Vec<Value>, PracticeError> {
        self.wait(session, TurnsWait { pending: Some(false), active: Some(false), ..TurnsWait::default() }).await?;
        self.history(session)
    }

    async fn until<T>(
        &self,
        mut wanted: impl FnMut(&Desk) -> Result<Option<T>, PracticeError>,
    ) -> Result<T, PracticeError> {
        let found = self.world.turns.until(|desk| wanted(desk).transpose());
        tokio::time::timeout(control::PATIENCE, found).await.map_err(|_| PracticeError::TimedOut)?
    }
}

fn shown(session: &Session) -> Value {
    json!({
        "session": session.id, "agent": session.setup.agent, "enabled": session.setup.enabled,
        "tools": session.setup.client_tools(), "active": session.is_active(), "running": session.running.len(),
        "pending": session.pending(), "at_gate": session.gate.waiting, "messages": session.history.len(),
        "inbox": session.inbox.len(),
    })
}
