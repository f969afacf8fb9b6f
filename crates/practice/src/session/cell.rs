//! A session as everybody holds it: its state behind a lock that is never held across an await, and the pulse that
//! tells everybody who waits that something changed.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::sync::watch;

use super::{Gate, Profile, Program, State};
use crate::{
    Manner, Pace,
    ids::Ids,
    journal::Journal,
    keep::{Keep, Record},
};

/// A session as everybody holds it.
pub(crate) struct Cell {
    pub(crate) id: String,
    pub(crate) pace: Pace,
    state: Mutex<State>,
    pulse: watch::Sender<u64>,
    world: watch::Sender<u64>,
    keep: Keep,
}

impl Cell {
    /// A session of this profile with nothing in it.
    pub(crate) fn new(
        id: String,
        manner: Manner,
        profile: Profile,
        pace: Pace,
        ids: Arc<Ids>,
        world: watch::Sender<u64>,
        keep: Keep,
    ) -> Self {
        let state = State {
            session: id.clone(),
            manner,
            profile,
            program: Program::default(),
            answers: HashMap::new(),
            turn: None,
            main: Journal::default(),
            threads: Vec::new(),
            gate: Gate::default(),
            deleted: false,
            stop_next: false,
            next_turn: None,
            ids,
            records: Vec::new(),
            touched: false,
        };
        Self { id, pace, state: Mutex::new(state), pulse: watch::Sender::new(0), world, keep }
    }

    /// Looks at the state.
    pub(crate) fn look<T>(&self, look: impl FnOnce(&State) -> T) -> T {
        look(&self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Changes the state, keeps what must survive a restart, and tells everybody who waits.
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let result = {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            let result = change(&mut state);
            let records = std::mem::take(&mut state.records);
            let touched = std::mem::take(&mut state.touched);
            if self.keep.is_on() {
                for record in records {
                    self.keep.write(&record);
                }
                if touched && !state.deleted {
                    self.keep.write(&Record::of(&state));
                }
            }
            result
        };
        self.pulse.send_modify(|count| *count += 1);
        self.world.send_modify(|count| *count += 1);
        result
    }

    /// Puts back what a restart found, without telling or keeping anything.
    pub(crate) fn restore(&self, restore: impl FnOnce(&mut State)) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        restore(&mut state);
        state.records.clear();
        state.touched = false;
    }

    /// Something that changes whenever the state does. Subscribe before looking.
    pub(crate) fn pulse(&self) -> watch::Receiver<u64> {
        self.pulse.subscribe()
    }

    /// Waits until the state is as wanted.
    pub(crate) async fn until(&self, wanted: impl Fn(&State) -> bool) {
        let mut pulse = self.pulse();
        while !self.look(&wanted) {
            if pulse.changed().await.is_err() {
                return;
            }
        }
    }
}
