//! Calls of v4, and what is asked about them: each answer goes alone (page §4).

use contract::{
    event::{EventBody, Permission},
    item::ToolState,
    request::ChoiceKind,
    session::SessionState,
};

use super::{Fold, To};
use crate::turns::{
    agents::Agent,
    asked::{self, Way, seed},
    session_object::SessionObject,
    wire::{Called, Output},
};

/// One call.
#[derive(Debug)]
pub(super) struct Call {
    called: Called,
    /// What came of it is known.
    is_told: bool,
    /// It is answered, or nobody waits for an answer.
    is_answered: bool,
}

/// The one part before the colon that every request of this dialect has: calls' ids are the session's here.
const OF_SESSION: &str = "session";

impl Fold {
    /// A call. One that the stream tells may wait; one of the history waits only where the session says so.
    pub(super) fn called(&mut self, called: &Called, may_wait: bool, to: &mut To<'_>) {
        let known = self.calls.get(&called.call);
        let (is_told, is_answered) = known.map_or((false, !may_wait), |known| (known.is_told, known.is_answered));
        self.close_draft(to);
        let way = self.session.as_deref().and_then(|session| asked::way(&called.name, session));
        let is_client = self.session.as_deref().is_some_and(|session| session.declares(&called.name));
        to.push(EventBody::ToolCall {
            id: item(&called.call),
            name: called.name.clone(),
            source: is_client.then(|| "client".to_owned()),
            input: called.input.clone(),
            permission: if may_wait && matches!(way, Some(Way::Permission | Way::Result)) && !is_answered {
                Permission::Ask
            } else {
                Permission::Unsaid
            },
        });
        self.calls.insert(called.call.clone(), Call { called: called.clone(), is_told, is_answered });
        if may_wait {
            self.ask(&called.call, false, to);
        }
    }

    /// Asks about a call, where somebody here must answer it. `is_named`: the session itself says that it waits.
    fn ask(&mut self, call: &str, is_named: bool, to: &mut To<'_>) {
        let (Some(session), Some(known)) = (self.session.as_deref(), self.calls.get(call)) else { return };
        let way = match asked::way(&known.called.name, session) {
            // A tool that nobody knows may be one of the server's own: only the session's word counts.
            Some(Way::Nobody) if !is_named => return,
            Some(way) => way,
            None => return,
        };
        if known.is_told || known.is_answered || self.asked.iter().any(|(_, asked)| asked == call) {
            return;
        }
        let seed = seed(OF_SESSION, way, &known.called, item(call), None);
        self.asked.push((seed.id.clone(), call.to_owned()));
        to.push(EventBody::Request(Box::new(seed)));
        self.tell_waiting(to);
    }

    fn tell_waiting(&mut self, to: &mut To<'_>) {
        self.status(SessionState::Waiting, to);
        to.push(EventBody::Waiting { requests: self.asked.iter().map(|(request, _)| request.clone()).collect() });
    }

    /// An answer was taken, ours or another client's: what was asked is settled.
    pub(super) fn answered(
        &mut self,
        call: &str,
        granted: Option<bool>,
        reason: Option<String>,
        output: Option<Output>,
        to: &mut To<'_>,
    ) {
        self.busy(to);
        if let Some(known) = self.calls.get_mut(call) {
            known.is_answered = true;
        }
        let choice = match granted {
            Some(true) => Some(ChoiceKind::AllowOnce),
            Some(false) => Some(ChoiceKind::Deny),
            None => None,
        };
        // Whether it was for once or for good, or how a result came about, the echo does not say.
        let told_choice = choice.filter(|choice| *choice == ChoiceKind::Deny);
        self.settle(call, told_choice, reason.clone(), to);
        match (choice, output) {
            (Some(ChoiceKind::Deny), _) => {
                to.push(EventBody::ToolEnded { call: item(call), state: ToolState::Denied { reason } });
            }
            (_, Some(output)) => self.result(call, output, to),
            _ => {}
        }
    }

    fn settle(&mut self, call: &str, choice: Option<ChoiceKind>, reason: Option<String>, to: &mut To<'_>) {
        let settled: Vec<(String, String)> = self.asked.extract_if(.., |(_, asked)| asked == call).collect();
        let any = !settled.is_empty();
        for (request, _) in settled {
            to.push(EventBody::Settled {
                request,
                choice,
                reason: reason.clone(),
                event_id: format!("{call}.answer"),
                output: Vec::new(),
            });
        }
        if any && self.asked.is_empty() && self.turn.is_some() {
            self.status(SessionState::Running, to);
        }
    }

    /// What came of a call: the first word on it counts.
    pub(super) fn result(&mut self, call: &str, output: Output, to: &mut To<'_>) {
        if !self.calls.contains_key(call) {
            let unseen = Called { call: call.to_owned(), name: "tool".to_owned(), input: "{}".to_owned() };
            self.called(&unseen, false, to);
        }
        self.settle(call, None, None, to);
        let Some(known) = self.calls.get_mut(call) else { return };
        known.is_answered = true;
        if std::mem::replace(&mut known.is_told, true) {
            return;
        }
        to.push(EventBody::ToolResult {
            id: format!("{call}.result"),
            call: item(call),
            name: None,
            output: output.parts,
            is_error: false,
        });
    }

    /// The session, as it stands: which calls wait.
    pub(super) fn session_read(&mut self, session: Box<SessionObject>, to: &mut To<'_>) {
        let pending = session.pending.clone();
        let before = self.session.replace(session);
        self.tell_setup(before.as_deref().is_none_or(|before| Some(before) != self.session.as_deref()), to);
        let Some(pending) = pending else {
            // What came before the session was known is asked now.
            let open: Vec<String> = self.calls.keys().cloned().collect();
            open.iter().for_each(|call| self.ask(call, false, to));
            return;
        };
        let gone: Vec<String> = self
            .asked
            .iter()
            .filter(|(_, call)| pending.iter().all(|called| called.call != *call))
            .map(|(_, call)| call.clone())
            .collect();
        for call in gone {
            if let Some(known) = self.calls.get_mut(&call) {
                known.is_answered = true;
            }
            self.settle(&call, None, None, to);
        }
        if !pending.is_empty() {
            self.busy(to);
        }
        for called in pending {
            match self.calls.get_mut(&called.call) {
                Some(known) if !known.is_told => known.is_answered = false,
                Some(_) => continue,
                None => self.called(&called, false, to),
            }
            if let Some(known) = self.calls.get_mut(&called.call) {
                known.is_answered = false;
            }
            self.ask(&called.call, true, to);
        }
    }

    pub(super) fn tell_setup(&self, is_new: bool, to: &mut To<'_>) {
        let Some(session) = self.session.as_deref().filter(|_| is_new) else { return };
        to.push(EventBody::Facts { title: None, agent: session.agent.clone(), archived: None });
        let agent: Option<&Agent> = self.agent.as_deref();
        let offer = agent.map(|agent| agent.offer.clone());
        to.push(EventBody::Setup { setup: session.setup(agent), offer });
    }
}

fn item(call: &str) -> String {
    format!("call.{call}")
}
