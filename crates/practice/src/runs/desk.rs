//! Everything the `runs` side knows: its sessions, which one is current, what runs, what it was told to remember.
//!
//! One lock over all of it, never held across an await; a pulse tells everybody who waits that something changed.

use std::{
    collections::{BTreeSet, VecDeque},
    sync::{Mutex, PoisonError},
};

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use super::{
    Permission, RunsManner, kept,
    shape::{Message, Model, NewerModel, PendingOut, Usage},
    stream::Item,
};
use crate::{
    ids::Ids,
    keep::Keep,
    scenario::Step,
    session::{Gate, now},
};

/// The efforts of the one model there is at first.
pub(crate) const EFFORTS: [&str; 4] = ["off", "low", "medium", "high"];

/// The `runs` side of a practice server.
pub(crate) struct Runs {
    desk: Mutex<Desk>,
    pulse: watch::Sender<u64>,
    world: watch::Sender<u64>,
    ids: Ids,
    keep: Keep,
}

/// What is known.
pub(crate) struct Desk {
    pub(crate) manner: RunsManner,
    pub(crate) permission: Permission,
    pub(crate) effort: String,
    pub(crate) harness: bool,
    pub(crate) models: Vec<Model>,
    /// The name of the model a run would use.
    pub(crate) model: Option<String>,
    /// Command texts that are allowed until the server ends (§6).
    pub(crate) remembered: BTreeSet<String>,
    pub(crate) sessions: Vec<Session>,
    pub(crate) current: String,
    /// Model requests that called tools, over all restarts: call ids are the provider's.
    pub(crate) calls: u64,
    /// Runs so far, over all restarts.
    pub(crate) runs: u64,
    /// Sessions made from now on are held.
    pub(crate) hold_new: bool,
}

/// A session.
#[derive(Default)]
pub(crate) struct Session {
    pub(crate) id: String,
    pub(crate) title: Option<String>,
    pub(crate) created_at: String,
    /// `None` = nothing was stored yet: lists do not show it, and it is gone with the server's process.
    pub(crate) updated_at: Option<String>,
    pub(crate) messages: Vec<Message>,
    /// The first message the model still sees.
    pub(crate) seen_from: usize,
    pub(crate) usage: Usage,
    /// Where the last request was interrupted.
    pub(crate) left: Option<Left>,
    /// What the next prompts play.
    pub(crate) script: VecDeque<Step>,
    pub(crate) run: Option<Run>,
    pub(crate) gate: Gate,
    /// Another process has it open.
    pub(crate) locked: bool,
    pub(crate) self_compaction: Option<bool>,
    /// Something changed that must survive a restart.
    pub(crate) changed: bool,
}

/// A request that was interrupted, and what would go on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Left {
    pub(crate) kind: String,
    pub(crate) description: String,
    pub(crate) steps: VecDeque<Step>,
}

/// A run that goes on.
pub(crate) struct Run {
    pub(crate) number: u64,
    /// `POST /runs/cancel` came; it takes effect once nothing waits for an answer.
    pub(crate) stopping: bool,
    pub(crate) ends: Ends,
    pub(crate) pending: Option<Pending>,
    pub(crate) steers: VecDeque<String>,
    /// The step that is played and those behind it: what a server that dies here leaves undone.
    pub(crate) rest: VecDeque<Step>,
    pub(crate) out: mpsc::UnboundedSender<Item>,
}

impl Run {
    /// Puts bytes among the run's frames.
    pub(crate) fn interject(&self, bytes: Bytes) {
        // The stream ends with the run at the latest; nobody reads what comes after.
        let _ = self.out.send(Item::Frame(bytes));
    }
}

/// The ways a run ends from outside.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ends {
    /// It was stopped.
    pub(crate) cancel: CancellationToken,
    /// Its connection is closed.
    pub(crate) gone: CancellationToken,
    /// Its server died.
    pub(crate) killed: CancellationToken,
}

/// What a run waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pending {
    pub(crate) shown: PendingOut,
    pub(crate) settled: Option<Settled>,
}

/// How a request was settled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Settled {
    Approved,
    Denied,
    Answered(String),
    Declined,
    /// Its time is over.
    Expired,
}

impl Runs {
    pub(crate) fn new(manner: RunsManner, ids: Ids, world: watch::Sender<u64>, keep: Keep) -> Self {
        let mut desk = Desk {
            permission: manner.permission,
            effort: String::new(),
            harness: false,
            models: Vec::new(),
            model: None,
            manner: RunsManner::default(),
            remembered: BTreeSet::new(),
            sessions: Vec::new(),
            current: String::new(),
            calls: 0,
            runs: 0,
            hold_new: false,
        };
        desk.behave(manner);
        let runs = Self { desk: Mutex::new(desk), pulse: watch::Sender::new(0), world, ids, keep };
        runs.new_session(None);
        runs
    }

    /// Looks at it.
    pub(crate) fn look<T>(&self, look: impl FnOnce(&Desk) -> T) -> T {
        look(&self.desk.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Changes it, keeps what must survive a restart, and tells everybody who waits.
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut Desk) -> T) -> T {
        let result = {
            let mut desk = self.desk.lock().unwrap_or_else(PoisonError::into_inner);
            let result = change(&mut desk);
            if self.keep.is_on() {
                for record in kept::changed(&mut desk) {
                    self.keep.write(&record);
                }
            }
            result
        };
        self.pulse.send_modify(|count| *count += 1);
        self.world.send_modify(|count| *count += 1);
        result
    }

    /// Something that changes whenever this does. Subscribe before looking.
    pub(crate) fn pulse(&self) -> watch::Receiver<u64> {
        self.pulse.subscribe()
    }

    /// Waits until `wanted` gives something.
    pub(crate) async fn until<T>(&self, mut wanted: impl FnMut(&Desk) -> Option<T>) -> T {
        let mut pulse = self.pulse();
        loop {
            if let Some(found) = self.look(&mut wanted) {
                return found;
            }
            if pulse.changed().await.is_err() {
                // The sender is a part of this; it outlives whoever waits here.
                std::future::pending::<()>().await;
            }
        }
    }

    /// A new empty session becomes the current one. The one that was current can be opened again until the server ends,
    /// listed or not.
    pub(crate) fn new_session(&self, title: Option<String>) -> String {
        let id = self.next_id();
        self.change(|desk| {
            let at = now();
            let gate = Gate { held: desk.hold_new, ..Gate::default() };
            let mut session = Session { id: id.clone(), title, created_at: at, gate, ..Session::default() };
            if session.title.is_some() {
                session.touch();
            }
            desk.sessions.push(session);
            desk.make_current(&id);
        });
        id
    }

    /// An id in the form the real server gives (a version 7 UUID).
    pub(crate) fn next_id(&self) -> String {
        let hex = self.ids.next("s");
        let part = |from: usize, to: usize| hex.get(from + 2..to + 2).unwrap_or_default();
        format!("{}-{}-7{}-8{}-{}", part(0, 8), part(8, 12), part(12, 15), part(15, 18), part(18, 30))
    }
}

/// The model of a server that has one.
fn model(manner: &RunsManner) -> Model {
    Model {
        name: "Practice".into(),
        model: "practice-1".into(),
        context_window: 128_000,
        multimodal: manner.multimodal,
        efforts: EFFORTS.map(str::to_owned).to_vec(),
        active: true,
        compact_percent: 80.0,
        newer: manner.is_newer().then(|| NewerModel {
            web_search: false,
            web_search_name: None,
            display_model: Some("Practice".into()),
            base_url: None,
            api: "chat".into(),
            temperature: None,
            can_search: true,
            search_name: "web_search".into(),
        }),
    }
}

impl Desk {
    /// Behaves like this from now on, as a server started so would.
    pub(crate) fn behave(&mut self, manner: RunsManner) {
        self.permission = manner.permission;
        "medium".clone_into(&mut self.effort);
        self.harness = false;
        self.models = if manner.ready { vec![model(&manner)] } else { Vec::new() };
        self.model = self.models.first().map(|model| model.name.clone());
        self.manner = manner;
    }

    pub(crate) fn session(&self, id: &str) -> Option<&Session> {
        self.sessions.iter().find(|session| session.id == id)
    }

    pub(crate) fn session_mut(&mut self, id: &str) -> Option<&mut Session> {
        self.sessions.iter_mut().find(|session| session.id == id)
    }

    pub(crate) fn current(&self) -> Option<&Session> {
        self.session(&self.current)
    }

    pub(crate) fn current_mut(&mut self) -> Option<&mut Session> {
        let id = self.current.clone();
        self.session_mut(&id)
    }

    /// The run of the current session.
    pub(crate) fn run_mut(&mut self) -> Option<&mut Run> {
        self.current_mut()?.run.as_mut()
    }

    pub(crate) fn is_busy(&self) -> bool {
        self.current().is_some_and(|session| session.run.is_some())
    }

    /// This session becomes the current one.
    pub(crate) fn make_current(&mut self, id: &str) {
        id.clone_into(&mut self.current);
    }

    /// The run of this number, wherever it is.
    pub(crate) fn run_of(&mut self, session: &str, number: u64) -> Option<&mut Run> {
        self.session_mut(session)?.run.as_mut().filter(|run| run.number == number)
    }

    /// The model a run would use.
    pub(crate) fn active_model(&self) -> Option<&Model> {
        let name = self.model.as_deref()?;
        self.models.iter().find(|model| model.name == name)
    }
}

impl Session {
    /// Something was stored now.
    pub(crate) fn touch(&mut self) {
        self.updated_at = Some(now());
        self.changed = true;
    }

    /// Stores a message.
    pub(crate) fn push(&mut self, message: Message) {
        self.messages.push(message);
        self.touch();
    }
}
