//! What of a session survives its server's process: how it is set up, its history, its script, and the calls that wait.
//! A turn that went on is lost with its process, as one of the real server is.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};

use serde::{Deserialize, Serialize};

use super::{
    config::Setup,
    desk::{Desk, Held, Letter, Session},
    player,
    shape::Entry,
};
use crate::{keep::Record, scenario::Step, world::World};

/// A session as the state file has it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Kept {
    pub(crate) id: String,
    setup: Setup,
    history: Vec<Entry>,
    unfolded: Vec<Entry>,
    script: VecDeque<Step>,
    held: Option<Held>,
    inbox: VecDeque<Letter>,
    /// The counter of the whole server: call ids never come again.
    calls: u64,
}

/// What tells whether a session changed in what is kept of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mark {
    history: usize,
    unfolded: usize,
    script: usize,
    inbox: usize,
    /// How many calls were answered, and how many of the answers carried out.
    held: Option<(usize, usize)>,
    setup: u64,
}

impl Mark {
    fn of(session: &Session) -> Self {
        let held = session.held.as_ref().map(|held| {
            let answered = held.calls.iter().filter(|call| call.answer.is_some()).count();
            (answered, held.calls.iter().filter(|call| call.done).count())
        });
        Self {
            history: session.history.len(),
            unfolded: session.unfolded.len(),
            script: session.script.len(),
            inbox: session.inbox.len(),
            held,
            setup: session.setup.revision,
        }
    }
}

impl Kept {
    fn of(session: &Session, calls: u64) -> Self {
        Self {
            id: session.id.clone(),
            setup: session.setup.clone(),
            history: session.history.clone(),
            unfolded: session.unfolded.clone(),
            script: session.script.clone(),
            held: session.held.clone(),
            inbox: session.inbox.clone(),
            calls,
        }
    }

    fn session(self) -> Session {
        Session {
            id: self.id,
            setup: self.setup,
            history: self.history,
            unfolded: self.unfolded,
            script: self.script,
            held: self.held,
            inbox: self.inbox,
            ..Session::default()
        }
    }
}

/// The lines for what changed since the last call.
pub(super) fn changed(desk: &mut Desk) -> Vec<Record> {
    let marks: BTreeMap<String, Mark> =
        desk.sessions.iter().map(|session| (session.id.clone(), Mark::of(session))).collect();
    let fresh = desk.sessions.iter().filter(|session| desk.marks.get(&session.id) != marks.get(&session.id));
    let mut records: Vec<Record> =
        fresh.map(|session| Record::Turns { kept: Box::new(Kept::of(session, desk.calls)) }).collect();
    let gone = desk.marks.keys().filter(|id| !marks.contains_key(*id));
    records.extend(gone.map(|id| Record::Deleted { session: id.clone() }));
    desk.marks = marks;
    records
}

/// Puts back what the state file held. v4 goes on where calls wait or messages lie unread; in v3 the client's next
/// request does that.
pub(crate) fn restore(world: &Arc<World>, kept: Vec<Kept>) {
    let begun: Vec<_> = world.turns.change(|desk| {
        for one in kept {
            desk.calls = desk.calls.max(one.calls);
            desk.sessions.push(one.session());
        }
        let v4 = desk.manner.is_v4();
        let open = |session: &&Session| v4 && (session.held.is_some() || !session.inbox.is_empty());
        let open: Vec<String> = desk.sessions.iter().filter(open).map(|session| session.id.clone()).collect();
        open.into_iter().map(|id| (player::enter(desk, &id, None), id)).collect()
    });
    for (place, id) in begun {
        player::go_on(world, &id, place);
    }
}
