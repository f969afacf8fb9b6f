//! Control: how tests (and benches, from other processes) steer the server, make it misbehave, and see what arrived.

mod command;

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use serde_json::{Value, json};

pub use command::{Command, WaitFor};

use crate::{
    PracticeError,
    counters::Counters,
    fault::{RequestAct, RequestFault, StreamAct, StreamFault},
    manner::Dialect,
    play,
    runs::RunsControl,
    session::{Cell, Gate, State, show},
    turns::TurnsControl,
    world::{Cut, CutHow, World},
};

/// The way to a running server.
#[derive(Clone)]
pub struct Control {
    world: Arc<World>,
}

impl std::fmt::Debug for Control {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Control").finish_non_exhaustive()
    }
}

/// How long to wait for something that must happen. Generous: a busy machine must not fail a test.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

impl Control {
    pub(crate) fn new(world: Arc<World>) -> Self {
        Self { world }
    }

    fn cell(&self, id: &str) -> Result<Arc<Cell>, PracticeError> {
        self.world.session(id).ok_or_else(|| PracticeError::NoSession(id.to_owned()))
    }

    /// Carries one command out and gives its answer.
    ///
    /// # Errors
    /// Unknown sessions and scenarios, bad hex, and waiting in vain.
    pub async fn run(&self, command: Command) -> Result<Value, PracticeError> {
        let done = Ok(json!({"ok": true}));
        match command {
            Command::RequestFault(fault) => self.world.inner().faults.requests.push(fault),
            Command::StreamFault(fault) => self.world.inner().faults.streams.push(fault),
            Command::LetThrough { name } => self.let_through(&name),
            Command::ClearFaults => self.world.inner().faults = crate::fault::Faults::default(),
            Command::Hold { session } => self.hold(session.as_deref(), true)?,
            Command::Release { session } => self.hold(session.as_deref(), false)?,
            Command::Step { session, count } => self.gate(&session, |gate| gate.permits += count)?,
            Command::OpenGate { session, name } => self.open_gate(&session, &name)?,
            Command::Emit { session, thread, event } => {
                let cell = self.cell(&session)?;
                let id = cell.change(|state| play::emit_as_is(state, thread.as_deref(), event));
                return Ok(json!({"id": id}));
            }
            Command::Flood { session, events, bytes } => self.flood(&session, events, bytes).await?,
            Command::Raw { session, text, hex } => {
                let mut bytes = text.into_bytes();
                bytes.extend(unhex(&hex)?);
                self.cell(&session)?.change(|state| state.main.raw(Bytes::from(bytes)));
            }
            Command::CutStreams { session } => self.order(session, CutHow::Break),
            Command::EndStreams { session } => self.order(session, CutHow::End),
            Command::SilenceStreams { session } => self.order(session, CutHow::Silence),
            Command::RotateToken { token } => {
                let token = match token {
                    Some(token) => token,
                    None => crate::ids::random_token()?,
                };
                self.world.inner().token.clone_from(&token);
                return Ok(json!({"token": token}));
            }
            Command::Heartbeat { ms } => self.world.inner().heartbeat = ms.map(Duration::from_millis),
            Command::SetManner { manner } => self.world.inner().manner = manner,
            Command::EmptyAccount => {
                let mut inner = self.world.inner();
                inner.agents.clear();
                inner.environments.clear();
            }
            Command::StartScenario { scenario, metadata } => {
                let cell = self.world.start_scenario(&scenario, metadata)?;
                return Ok(json!({"session": cell.id}));
            }
            Command::Terminate { session, reason } => {
                self.cell(&session)?.change(|state| state.terminate(&reason));
            }
            Command::Session { session } => return Ok(self.cell(&session)?.look(glimpse)),
            Command::Runs { order } => return self.runs().run(order).await,
            Command::Turns { order } => return self.turns().run(order).await,
            Command::Counters => return json_of(&self.counters()),
            Command::Wait(wanted) => return json_of(&self.wait(&wanted).await?),
        }
        done
    }

    /// Control of the `runs` side.
    #[must_use]
    pub fn runs(&self) -> RunsControl {
        RunsControl::new(Arc::clone(&self.world))
    }

    /// Control of the `turns` side.
    #[must_use]
    pub fn turns(&self) -> TurnsControl {
        TurnsControl::new(Arc::clone(&self.world))
    }

    /// Changes the gate of a session of any side.
    fn gate(&self, session: &str, change: impl FnOnce(&mut Gate)) -> Result<(), PracticeError> {
        if self.world.runs.look(|desk| desk.session(session).is_some()) {
            self.world.runs.change(|desk| desk.session_mut(session).map(|session| change(&mut session.gate)));
            return Ok(());
        }
        if self.world.turns.look(|desk| desk.session(session).is_some()) {
            self.world.turns.change(|desk| desk.session_mut(session).map(|session| change(&mut session.gate)));
            return Ok(());
        }
        self.cell(session)?.change(|state| change(&mut state.gate));
        Ok(())
    }

    fn hold(&self, session: Option<&str>, held: bool) -> Result<(), PracticeError> {
        let turn = |gate: &mut Gate| {
            gate.held = held;
            gate.permits = 0;
        };
        if let Some(session) = session {
            return self.gate(session, turn);
        }
        self.world.inner().hold_new = held;
        self.world.runs.change(|desk| {
            desk.hold_new = held;
            desk.sessions.iter_mut().for_each(|session| turn(&mut session.gate));
        });
        self.world.turns.change(|desk| {
            desk.hold_new = held;
            desk.sessions.iter_mut().for_each(|session| turn(&mut session.gate));
        });
        let cells = self.world.inner().sessions.clone();
        for cell in cells {
            cell.change(|state| turn(&mut state.gate));
        }
        Ok(())
    }

    async fn flood(&self, session: &str, events: u64, bytes: usize) -> Result<(), PracticeError> {
        let cell = self.cell(session)?;
        // What a frame has besides its text.
        let text = "x".repeat(bytes.saturating_sub(190).max(1));
        let mut left = events;
        while left > 0 {
            let now = left.min(1_000);
            cell.change(|state| {
                for _ in 0..now {
                    let event = json!({"type": "agent.message", "content": [{"type": "text", "text": text}]});
                    play::emit_as_is(state, None, event);
                }
            });
            left -= now;
            tokio::task::yield_now().await;
        }
        Ok(())
    }

    fn order(&self, session: Option<String>, how: CutHow) {
        self.world.cut.send_modify(|cut| *cut = Cut { number: cut.number + 1, session, how });
    }

    /// Arms one fault of the next request that matches.
    pub fn fail_next(&self, method: &str, path: &str, act: RequestAct) {
        let fault = RequestFault { method: Some(method.to_owned()), path: Some(path.to_owned()), times: 1, act };
        self.world.inner().faults.requests.push(fault);
    }

    /// Requests that are held by this name go on, now and from now on. See [`RequestAct::Hold`].
    pub fn let_through(&self, name: &str) {
        self.world.inner().let_through.insert(name.to_owned());
        self.world.pulse.send_modify(|count| *count += 1);
    }

    /// Arms one fault of the next stream.
    pub fn bend_next_stream(&self, act: StreamAct) {
        self.world.inner().faults.streams.push(StreamFault { session: None, times: 1, act });
    }

    /// The agent stops at every pause from now on. See [`Command::Hold`].
    ///
    /// # Errors
    /// When there is no such session.
    pub fn hold_session(&self, session: Option<&str>) -> Result<(), PracticeError> {
        self.hold(session, true)
    }

    /// Ends a hold. See [`Command::Release`].
    ///
    /// # Errors
    /// When there is no such session.
    pub fn release(&self, session: Option<&str>) -> Result<(), PracticeError> {
        self.hold(session, false)
    }

    /// Lets a held session go one pause further.
    ///
    /// # Errors
    /// When there is no such session.
    pub fn step(&self, session: &str) -> Result<(), PracticeError> {
        self.gate(session, |gate| gate.permits += 1)
    }

    /// Opens a gate of a scenario.
    ///
    /// # Errors
    /// When there is no such session.
    pub fn open_gate(&self, session: &str, name: &str) -> Result<(), PracticeError> {
        self.gate(session, |gate| {
            gate.open.insert(name.to_owned());
        })
    }

    /// Writes any event into a session and gives its id.
    ///
    /// # Errors
    /// When there is no such session.
    pub fn emit(&self, session: &str, event: Value) -> Result<String, PracticeError> {
        Ok(self.cell(session)?.change(|state| play::emit_as_is(state, None, event)))
    }

    /// Sends bytes as they are on the session's open streams.
    ///
    /// # Errors
    /// When there is no such session.
    pub fn raw(&self, session: &str, bytes: impl Into<Bytes>) -> Result<(), PracticeError> {
        self.cell(session)?.change(|state| state.main.raw(bytes.into()));
        Ok(())
    }

    /// Breaks all open streams off.
    pub fn cut_streams(&self) {
        self.order(None, CutHow::Break);
    }

    /// Ends all open streams cleanly.
    pub fn end_streams(&self) {
        self.order(None, CutHow::End);
    }

    /// Leaves all open streams open and silent for ever.
    pub fn silence_streams(&self) {
        self.order(None, CutHow::Silence);
    }

    /// From now on only this token is taken (control goes on with the first one as well).
    pub fn rotate_token(&self, token: &str) {
        token.clone_into(&mut self.world.inner().token);
    }

    /// What the server was asked so far.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.world.inner().counters.clone()
    }

    /// The persisted events of a session, oldest first.
    ///
    /// # Errors
    /// When there is no such session.
    pub fn events(&self, session: &str) -> Result<Vec<Value>, PracticeError> {
        let listed = |state: &State| state.main.listed().iter().map(|listed| listed.value.clone()).collect();
        Ok(self.cell(session)?.look(listed))
    }

    /// The ids of the requests of a session that wait for an answer.
    ///
    /// # Errors
    /// When there is no such session.
    pub fn waiting(&self, session: &str) -> Result<Vec<String>, PracticeError> {
        Ok(self.cell(session)?.look(State::open_ids))
    }

    /// The ids of all sessions, oldest first.
    #[must_use]
    pub fn sessions(&self) -> Vec<String> {
        self.world.inner().sessions.iter().map(|cell| cell.id.clone()).collect()
    }

    /// Waits until the counters are as wanted.
    ///
    /// # Errors
    /// [`PracticeError::TimedOut`] after 60 s.
    pub async fn until(&self, wanted: impl Fn(&Counters) -> bool) -> Result<Counters, PracticeError> {
        self.until_all(PATIENCE, || wanted(&self.world.inner().counters)).await
    }

    /// Waits until all that is named holds.
    ///
    /// # Errors
    /// [`PracticeError::TimedOut`], or an unknown session.
    pub async fn wait(&self, wanted: &WaitFor) -> Result<Counters, PracticeError> {
        let cell = wanted.session.as_deref().map(|id| self.cell(id)).transpose()?;
        let patience = wanted.timeout_ms.map_or(PATIENCE, Duration::from_millis);
        self.until_all(patience, || {
            let session = cell.as_deref().is_none_or(|cell| cell.look(|state| wanted.holds_for(state)));
            session && wanted.holds(&self.world.inner().counters)
        })
        .await
    }

    async fn until_all(&self, patience: Duration, wanted: impl Fn() -> bool) -> Result<Counters, PracticeError> {
        let mut pulse = self.world.pulse.subscribe();
        let wait = async {
            while !wanted() {
                if pulse.changed().await.is_err() {
                    return;
                }
            }
        };
        tokio::time::timeout(patience, wait).await.map_err(|_| PracticeError::TimedOut)?;
        Ok(self.counters())
    }
}

fn glimpse(state: &State) -> Value {
    json!({
        "session": show::session(state, Dialect::Qoder), "phase": state.profile.phase,
        "waiting": state.open_ids(), "events": state.main.listed().len(), "at_gate": state.gate.waiting,
        "last_event_id": state.main.listed().last().map(|listed| listed.id.clone()),
    })
}

fn json_of(counters: &Counters) -> Result<Value, PracticeError> {
    serde_json::to_value(counters).map_err(|error| PracticeError::BadCommand(error.to_string()))
}

fn unhex(hex: &str) -> Result<Vec<u8>, PracticeError> {
    let bad = || PracticeError::BadCommand("hex: pairs of hex digits".into());
    let pair = |pair: &[u8]| {
        let text = std::str::from_utf8(pair).ok().filter(|text| text.len() == 2)?;
        u8::from_str_radix(text, 16).ok()
    };
    hex.as_bytes().chunks(2).map(|two| pair(two).ok_or_else(bad)).collect()
}
