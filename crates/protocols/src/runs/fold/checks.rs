//! Answers beside the stream: whether a run goes on, what it waits for, what can be taken up again (runs-server page,
//! §§6 and 8).

use contract::{
    event::{Event, EventBody},
    item::ToolState,
    session::SessionState,
};

use super::{
    Fold,
    asked::{Of, numbered, pending_seed, settled},
    shown::Fate,
    told::Told,
};
use crate::{
    reconcile::Piece,
    runs::parse::{Check, Pending},
};

/// What is known of a run that is not ours.
#[derive(Debug, Default)]
pub(super) struct Beside {
    /// One goes on.
    pub is_running: bool,
    /// What it waits for.
    asked: Option<Foreign>,
    /// The server's ids of what it waited for before.
    settled: Vec<String>,
}

#[derive(Debug)]
struct Foreign {
    request: String,
    pending: Pending,
}

impl Fold {
    pub(super) fn check(&mut self, check: Check, out: &mut Vec<Event>) {
        match check {
            Check::Resumable(resumable) => Told::new(None, out).push(EventBody::Resumable(resumable)),
            Check::Context(Some(meter)) => {
                self.window = meter.window.or(self.window);
                Told::new(None, out).push(EventBody::Context(meter));
            }
            Check::Context(None) => {}
            Check::Current { running, pending } => self.current(running, pending.filter(|_| running), out),
        }
    }

    fn current(&mut self, is_running: bool, pending: Option<Pending>, out: &mut Vec<Event>) {
        if let Some(run) = self.run.as_mut().filter(|run| run.is_open) {
            // Our own stream says everything else, and first: an answer may be older than what it told.
            let mut told = Told::new(Some(run.id.clone()), out);
            if let Some(Pending::Approval { call, can_remember, .. }) = &pending {
                run.remembers(call, *can_remember, &mut told);
            }
            return;
        }
        let mut told = Told::new(None, out);
        if self.beside.is_running != is_running {
            self.beside.is_running = is_running;
            told.push(EventBody::ForeignRun(is_running));
        }
        self.settle_foreign(pending.as_ref().map(Pending::call), &mut told);
        match pending {
            Some(pending) => {
                told.status_again(&mut self.state, SessionState::Waiting);
                self.ask_foreign(pending, &mut told);
            }
            None if is_running => told.status_again(&mut self.state, SessionState::Running),
            None => {
                // Nothing runs: what the history left open has no end.
                for item in self.shown.open_calls() {
                    self.shown.calls.insert(item.clone(), Fate::Silent);
                    told.push(EventBody::ToolEnded { call: item, state: ToolState::Cancelled });
                }
                told.status_again(&mut self.state, SessionState::Idle);
            }
        }
    }

    fn ask_foreign(&mut self, pending: Pending, told: &mut Told<'_>) {
        if self.beside.asked.as_ref().is_some_and(|asked| asked.pending == pending) {
            return;
        }
        let call = pending.call().to_owned();
        let before = self.beside.settled.iter().filter(|settled| **settled == call).count();
        let request = numbered("foreign", before, &call);
        let known = self.shown.open_call(&call).or_else(|| {
            // A run of ours whose stream broke off may still go on.
            let item = self.run.as_ref()?.call(&call)?.item.clone();
            self.shown.known.iter().rev().find(|known| known.id == item)
        });
        // The history may have been read just before its run was seen: then nothing seemed to run.
        let known = known.or_else(|| self.shown.silent_call(&call));
        let (tool, arguments) = match known.map(|known| &known.piece) {
            Some(Piece::Call { name, arguments, .. }) => (Some(name.clone()), Some(arguments.as_str())),
            _ => (None, None),
        };
        let item = known.map(|known| known.id.clone());
        let of = Of { item: item.clone(), tool, arguments };
        let seed = pending_seed(request.clone(), of, &pending);
        if let Some(item) = item {
            self.shown.calls.insert(item, Fate::Open);
        }
        told.push(EventBody::Request(Box::new(seed)));
        told.push(EventBody::Waiting { requests: vec![request.clone()] });
        self.beside.asked = Some(Foreign { request, pending });
    }

    /// What a run that is not ours waited for is settled, unless it still waits for it.
    fn settle_foreign(&mut self, still: Option<&str>, told: &mut Told<'_>) {
        let Some(asked) = self.beside.asked.take_if(|asked| Some(asked.pending.call()) != still) else { return };
        told.push(settled(&asked.request, "current"));
        self.beside.settled.push(asked.pending.call().to_owned());
    }

    /// A run of ours begins: nothing else goes on in this session.
    pub(super) fn ours_begins(&mut self, out: &mut Vec<Event>) {
        let mut told = Told::new(None, out);
        self.settle_foreign(None, &mut told);
        if std::mem::take(&mut self.beside.is_running) {
            told.push(EventBody::ForeignRun(false));
        }
    }
}
