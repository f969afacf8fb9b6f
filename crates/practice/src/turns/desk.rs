//! Everything the `turns` side knows: its sessions, what runs in them, what waits for an answer.
//!
//! One lock over all of it, never held across an await; a pulse tells everybody who waits that something changed.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Mutex, PoisonError},
};

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use super::{
    TurnsManner, TurnsPost, TurnsVisit,
    config::{Party, Setup},
    kept::{self, Mark},
    log::Log,
    shape::{CallOut, Content, Entry, Message},
};
use crate::{
    ids::Ids,
    keep::Keep,
    runs::stream::Item,
    scenario::{Call, Step},
    session::{Gate, now},
};

/// The `turns` side of a practice server.
pub(crate) struct Turns {
    desk: Mutex<Desk>,
    pulse: watch::Sender<u64>,
    world: watch::Sender<u64>,
    ids: Ids,
    keep: Keep,
}

/// What is known.
pub(crate) struct Desk {
    pub(crate) manner: TurnsManner,
    /// Oldest first.
    pub(crate) sessions: Vec<Session>,
    /// Calls so far: their ids are the model's.
    pub(crate) calls: u64,
    /// Turns so far.
    pub(crate) turns: u64,
    /// Every POST and PATCH, byte for byte.
    pub(crate) posts: Vec<TurnsPost>,
    /// Every request to the other origin.
    pub(crate) visits: Vec<TurnsVisit>,
    /// The port of the other origin, where one was opened.
    pub(crate) other_port: Option<u16>,
    /// Sessions made from now on are held.
    pub(crate) hold_new: bool,
    /// The sessions as the state file has them.
    pub(crate) marks: BTreeMap<String, Mark>,
}

/// A session.
#[derive(Default)]
pub(crate) struct Session {
    pub(crate) id: String,
    pub(crate) setup: Setup,
    pub(crate) history: Vec<Entry>,
    /// What the next messages play.
    pub(crate) script: VecDeque<Step>,
    /// What runs, by its number: v3 refuses no second turn.
    pub(crate) running: BTreeMap<u64, Running>,
    /// The calls that wait.
    pub(crate) held: Option<Held>,
    pub(crate) gate: Gate,
    /// v4: what happened, for streams.
    pub(crate) log: Log,
    /// v4: messages that nobody looked at yet.
    pub(crate) inbox: VecDeque<Letter>,
    /// v4: what joins the history once nothing is left to do.
    pub(crate) unfolded: Vec<Entry>,
}

/// A turn that goes on.
pub(crate) struct Running {
    /// Where its frames go; `None` where it has no stream of its own.
    pub(crate) out: Option<mpsc::UnboundedSender<Item>>,
    /// v4: `cancel` came.
    pub(crate) cancel: CancellationToken,
    /// Nothing will ever come of it.
    pub(crate) hung: bool,
}

/// A message of the person in v4's inbox.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Letter {
    pub(crate) id: String,
    pub(crate) timestamp: String,
    pub(crate) content: Content,
}

/// Calls that wait for the client, and what follows their answers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Held {
    pub(crate) calls: Vec<HeldCall>,
    pub(crate) rest: VecDeque<Step>,
    pub(crate) message: String,
    /// What the calls of the same step gave back already.
    pub(crate) outputs: Vec<String>,
}

/// One of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct HeldCall {
    pub(crate) id: String,
    pub(crate) party: Party,
    pub(crate) call: Call,
    /// v4 takes answers one by one.
    pub(crate) answer: Option<Answer>,
    /// The answer was carried out.
    pub(crate) done: bool,
}

/// What the client said to a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Answer {
    /// What the client's tool gave back; in v4 with the id of its input.
    Result(Content, Option<String>),
    Granted,
    Denied(Option<String>),
}

impl HeldCall {
    pub(crate) fn shown(&self) -> CallOut {
        CallOut { tool_call_id: self.id.clone(), name: self.call.name.clone(), input: self.call.input.clone() }
    }
}

impl Session {
    /// The calls that wait for the client.
    pub(crate) fn pending(&self) -> Vec<CallOut> {
        let held = self.held.iter().flat_map(|held| &held.calls);
        held.filter(|call| call.answer.is_none()).map(HeldCall::shown).collect()
    }

    /// Something is being done: neither at its end nor waiting for answers.
    pub(crate) fn is_active(&self) -> bool {
        let waits = self.held.as_ref().is_some_and(|held| held.calls.iter().any(|call| call.answer.is_none()));
        // In v4 the work that waits is still there.
        self.running.values().any(|running| !running.hung) && !waits
    }

    /// What happened joined the history, but for messages nobody looked at yet.
    pub(crate) fn fold(&mut self) {
        let inbox = &self.inbox;
        self.log.fold(|id| inbox.iter().any(|letter| letter.id == id));
    }

    /// Puts bytes among the frames of what runs.
    pub(crate) fn interject(&self, bytes: &Bytes) -> usize {
        let outs = self.running.values().filter_map(|running| running.out.as_ref());
        outs.filter(|out| out.send(Item::Frame(bytes.clone())).is_ok()).count()
    }
}

impl Turns {
    pub(crate) fn new(manner: TurnsManner, ids: Ids, world: watch::Sender<u64>, keep: Keep) -> Self {
        let desk = Desk {
            manner,
            sessions: Vec::new(),
            calls: 0,
            turns: 0,
            posts: Vec::new(),
            visits: Vec::new(),
            other_port: None,
            hold_new: false,
            marks: BTreeMap::new(),
        };
        Self { desk: Mutex::new(desk), pulse: watch::Sender::new(0), world, ids, keep }
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

    /// An id that was never given.
    pub(crate) fn next_id(&self, prefix: &str) -> String {
        self.ids.next(prefix).chars().take(prefix.len() + 17).collect()
    }

    /// A message as history keeps it, written now.
    pub(crate) fn entry(&self, message: Message) -> Entry {
        Entry { id: self.next_id("msg"), timestamp: now(), message }
    }

    /// Makes a session and gives its id.
    pub(crate) fn create(&self, setup: Setup, messages: Vec<Message>, script: VecDeque<Step>) -> String {
        let id = self.next_id("sess");
        let history = messages.into_iter().map(|message| self.entry(message)).collect();
        self.change(|desk| {
            let gate = Gate { held: desk.hold_new, ..Gate::default() };
            desk.sessions.push(Session { id: id.clone(), setup, history, script, gate, ..Session::default() });
        });
        id
    }
}

impl Desk {
    pub(crate) fn session(&self, id: &str) -> Option<&Session> {
        self.sessions.iter().find(|session| session.id == id)
    }

    pub(crate) fn session_mut(&mut self, id: &str) -> Option<&mut Session> {
        self.sessions.iter_mut().find(|session| session.id == id)
    }

    /// The next call's id.
    pub(crate) fn next_call(&mut self) -> String {
        self.calls += 1;
        format!("call_{}", self.calls)
    }
}
