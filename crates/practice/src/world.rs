//! Everything one running server knows: its sessions, agents and environments, what it was asked, how it misbehaves.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    Form, Manner, Pace, PracticeError,
    counters::Counters,
    fault::Faults,
    ids::Ids,
    keep::{Found, Keep},
    manner::Dialect,
    play,
    runs::{Runs, kept::Kept},
    scenario::{self, Scenario},
    session::{Cell, Item, Phase, Profile, Thread, Turn, now},
    turns::{self, Turns},
    voice,
};

/// An answer that is remembered under its idempotency key.
#[derive(Debug, Clone)]
pub(crate) struct Remembered {
    /// Method and path.
    pub(crate) what: String,
    pub(crate) body: Bytes,
    /// `None` while the first request is still being carried out.
    pub(crate) answer: Option<(u16, Bytes)>,
}

/// The parts behind the lock.
pub(crate) struct Inner {
    pub(crate) token: String,
    pub(crate) sessions: Vec<Arc<Cell>>,
    pub(crate) agents: Vec<Value>,
    pub(crate) environments: Vec<Value>,
    pub(crate) faults: Faults,
    /// The names of held requests that may go on.
    pub(crate) let_through: HashSet<String>,
    pub(crate) counters: Counters,
    pub(crate) remembered: HashMap<String, Remembered>,
    pub(crate) manner: Manner,
    pub(crate) heartbeat: Option<Duration>,
    /// Sessions created from now on are held.
    pub(crate) hold_new: bool,
    /// Keys of the addresses under which files can be fetched without a token.
    pub(crate) blobs: HashMap<String, String>,
}

/// The running server's knowledge.
pub(crate) struct World {
    pub(crate) control_token: String,
    pub(crate) port: u16,
    pub(crate) ids: Arc<Ids>,
    pub(crate) pace: Pace,
    pub(crate) pulse: watch::Sender<u64>,
    /// Streams that were open when this changes are cut (odd reasons) or ended.
    pub(crate) cut: watch::Sender<Cut>,
    pub(crate) stop: CancellationToken,
    pub(crate) players: TaskTracker,
    /// The other protocol of the same listener.
    pub(crate) runs: Runs,
    /// The third protocol of the same listener.
    pub(crate) turns: Turns,
    keep: Keep,
    inner: Mutex<Inner>,
}

/// The order to all open streams.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Cut {
    /// Counts the orders.
    pub(crate) number: u64,
    /// Only streams of this session.
    pub(crate) session: Option<String>,
    /// What happens to them.
    pub(crate) how: CutHow,
}

/// What happens to the streams that are open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum CutHow {
    /// They break off.
    #[default]
    Break,
    /// They end cleanly.
    End,
    /// They stay open and silent for ever.
    Silence,
}

/// What a new session is made of.
#[derive(Default)]
pub(crate) struct Birth {
    pub(crate) title: Option<String>,
    pub(crate) metadata: BTreeMap<String, String>,
    pub(crate) agent: Option<Value>,
    pub(crate) environment_id: String,
    pub(crate) environment_variables: BTreeMap<String, String>,
    pub(crate) resources: Vec<Value>,
    pub(crate) vault_ids: Vec<String>,
    pub(crate) budget: Value,
    pub(crate) incremental: bool,
    pub(crate) scenario: Option<Scenario>,
}

impl World {
    pub(crate) fn new(config: &crate::Config, token: String, port: u16, generation: u64, keep: Keep) -> Arc<Self> {
        let ids = Arc::new(Ids::new(config.seed, generation));
        // Ids of its own: what happens on one side must not change the ids of the other.
        let runs_ids = Ids::new(config.seed ^ 0x5255_4E53, generation);
        let turns_ids = Ids::new(config.seed ^ 0x5455_524E, generation);
        let pulse = watch::Sender::new(0);
        Arc::new(Self {
            runs: Runs::new(config.runs.clone(), runs_ids, pulse.clone(), keep.clone()),
            turns: Turns::new(config.turns.clone(), turns_ids, pulse.clone(), keep.clone()),
            control_token: token.clone(),
            port,
            ids,
            pace: config.pace,
            pulse,
            cut: watch::Sender::new(Cut::default()),
            stop: CancellationToken::new(),
            players: TaskTracker::new(),
            keep,
            inner: Mutex::new(Inner {
                token,
                sessions: Vec::new(),
                agents: crate::http::catalogue::agents(),
                environments: crate::http::catalogue::environments(),
                faults: Faults::default(),
                let_through: HashSet::new(),
                counters: Counters::default(),
                remembered: HashMap::new(),
                manner: config.manner,
                heartbeat: config.heartbeat,
                hold_new: false,
                blobs: HashMap::new(),
            }),
        })
    }

    /// The parts behind the lock. Never held across an await.
    pub(crate) fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the counters and tells everybody who waits for them.
    pub(crate) fn count(&self, change: impl FnOnce(&mut Counters)) {
        change(&mut self.inner().counters);
        self.pulse.send_modify(|count| *count += 1);
    }

    /// The session of this id.
    pub(crate) fn session(&self, id: &str) -> Option<Arc<Cell>> {
        self.inner().sessions.iter().find(|cell| cell.id == id).cloned()
    }

    /// Creates a session and starts its player.
    pub(crate) fn create(self: &Arc<Self>, dialect: Dialect, birth: Birth) -> Arc<Cell> {
        let (mut manner, hold) = {
            let inner = self.inner();
            (inner.manner, inner.hold_new)
        };
        if dialect == Dialect::Claude {
            // Previews or nothing: that dialect has no other way to stream text (Claude page §6).
            manner = Manner { form: Form::Claude, ..manner };
        }
        if let Some(scenario) = &birth.scenario
            && dialect == Dialect::Qoder
        {
            manner.form = scenario.form.unwrap_or(manner.form);
            manner.text = scenario.text.unwrap_or(manner.text);
            manner.start = scenario.start.unwrap_or(manner.start);
            manner.ids = scenario.ids.unwrap_or(manner.ids);
        }
        if birth.incremental {
            manner.text = crate::Text::Incremental;
        }
        let manner = manner.asked(&birth.metadata);
        let pace = match birth.metadata.get("practice.pace").map(String::as_str) {
            Some("fast") => Pace::Fast,
            Some("real") => Pace::Real,
            _ => self.pace,
        };
        let at = now();
        let id = self.ids.next(if dialect == Dialect::Claude { "sesn" } else { "sess" });
        let profile = Profile {
            title: birth.title.or_else(|| birth.scenario.as_ref().map(|scenario| scenario.title.clone())),
            metadata: birth.metadata,
            agent: birth.agent.unwrap_or_else(crate::http::catalogue::default_agent),
            environment_id: birth.environment_id,
            environment_variables: birth.environment_variables,
            resources: birth.resources,
            vault_ids: birth.vault_ids,
            budget: birth.budget,
            created_at: at.clone(),
            updated_at: at,
            ..Profile::default()
        };
        let cell = self.cell(id, manner, profile, pace);
        cell.change(|state| {
            state.gate.held = hold;
            if let Some(scenario) = birth.scenario {
                state.program.items = scenario.steps.into_iter().map(|step| Item { thread: None, step }).collect();
            }
            state.touch();
        });
        self.inner().sessions.push(Arc::clone(&cell));
        self.play(&cell);
        cell
    }

    fn cell(&self, id: String, manner: Manner, profile: Profile, pace: Pace) -> Arc<Cell> {
        let (ids, pulse) = (Arc::clone(&self.ids), self.pulse.clone());
        Arc::new(Cell::new(id, manner, profile, pace, ids, pulse, self.keep.clone()))
    }

    fn play(&self, cell: &Arc<Cell>) {
        self.players.spawn(play::run(Arc::clone(cell), self.stop.clone()));
    }

    /// Creates a session that plays a scenario.
    pub(crate) fn start_scenario(
        self: &Arc<Self>,
        id: &str,
        metadata: BTreeMap<String, String>,
    ) -> Result<Arc<Cell>, PracticeError> {
        let scenario = scenario::find(id)?;
        let birth = Birth {
            metadata,
            environment_id: "env_practice".into(),
            budget: Value::Null,
            scenario: Some(scenario),
            ..Birth::default()
        };
        Ok(self.create(Dialect::Qoder, birth))
    }

    /// Puts back what the state file held, and goes on where it stopped.
    pub(crate) fn restore(self: &Arc<Self>, found: Vec<Found>, runs: Vec<Kept>, turns: Vec<turns::kept::Kept>) {
        self.runs.restore(runs);
        turns::kept::restore(self, turns);
        for one in found {
            let cell = self.cell(one.session, one.manner, one.profile, self.pace);
            cell.restore(|state| {
                for line in one.threads {
                    state.threads.push(Thread {
                        id: line.id,
                        agent: line.agent,
                        status: "idle",
                        created_at: line.created_at,
                        archived_at: line.archived_at,
                        journal: crate::journal::Journal::default(),
                    });
                }
                for (thread, at, event) in one.events {
                    state.journal(thread.as_deref()).append(event, &at, None);
                }
                state.program = one.program;
                state.answers = one.answers.into_iter().collect();
                if let Some(id) = state.program.turn.clone() {
                    let (cancel, tokens) = (CancellationToken::new(), voice::Tokens::default());
                    state.turn = Some(Turn { id, cancel, tokens, span: None, span_output: 0 });
                }
                if state.profile.phase == Phase::Terminated {
                    state.main.end();
                }
            });
            cell.change(resume);
            self.inner().sessions.push(Arc::clone(&cell));
            self.play(&cell);
        }
    }
}

/// A turn that was cut off by the restart begins its step again, and says so as a real runtime would.
fn resume(state: &mut crate::session::State) {
    if let Some(item) = state.program.current.take_if(|_| state.program.held.is_none()) {
        state.program.pending.clear();
        state.program.items.push_front(item);
    }
    if state.turn.is_some() && state.program.held.is_none() {
        state.emit(None, "session.status_rescheduled", json!({}));
        state.emit(None, "session.status_running", voice::running(state.manner.form));
        state.profile.phase = Phase::Running;
    }
    state.touch();
}
