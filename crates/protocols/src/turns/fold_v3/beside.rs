//! Answers beside the stream: the session and its agent (page §§1.1, 1.2 and 3).

use contract::{
    event::{Event, EventBody},
    item::{NoticeCode, NoticeLevel},
    session::SessionState,
};

use super::Fold;
use crate::{
    Seen,
    told::{Told, notice},
    turns::{agents::Agent, asked::request_id, session_object::SessionObject},
};

impl Fold {
    pub(super) fn session_read(&mut self, session: Box<SessionObject>, out: &mut Vec<Event>) {
        let (active, pending) = (session.active, session.pending.clone());
        let before = self.session.replace(session);
        self.tell_setup(before.as_deref().is_none_or(|before| Some(before) != self.session.as_deref()), out);
        if self.is_told() {
            // Our own stream says everything else.
            return;
        }
        match pending {
            // While a turn runs, nothing waits.
            Some(_) if active == Some(true) => self.pending(&[], out),
            Some(pending) => self.pending(&pending, out),
            None => self.ask_again(out),
        }
        self.tell_active(active, out);
    }

    /// What waited for the session is asked now; what was asked in another way is asked anew.
    fn ask_again(&mut self, out: &mut Vec<Event>) {
        let Some(turn) = self.turn.as_ref().filter(|turn| turn.is_open) else { return };
        if turn.wants_session {
            if !self.ask(out) {
                self.stop("tool_use", out);
            }
            return;
        }
        if turn.asked.is_empty() {
            return;
        }
        let wanted: Vec<String> = self
            .unanswered(&turn.id)
            .iter()
            .filter_map(|(known, way)| match &known.piece {
                crate::reconcile::Piece::Call { call, .. } => Some(request_id(&turn.id, *way, call)),
                _ => None,
            })
            .collect();
        if !wanted.is_empty() && !turn.asked.iter().map(|(request, _)| request).eq(wanted.iter()) {
            self.ask(out);
        }
    }

    /// Whether a turn goes on (v3-revised).
    fn tell_active(&mut self, active: Option<bool>, out: &mut Vec<Event>) {
        let Some(is_active) = active else { return };
        let ours = self.turn.as_ref().filter(|turn| turn.is_open).map(|turn| turn.id.clone());
        let mut told = Told::new(ours.clone(), out);
        let foreign = is_active && ours.is_none();
        if self.foreign != foreign {
            self.foreign = foreign;
            told.push(EventBody::ForeignRun(foreign));
        }
        if is_active {
            told.status(&mut self.state, SessionState::Running);
        } else if ours.is_none() {
            told.status(&mut self.state, SessionState::Idle);
        }
    }

    pub(super) fn agent_read(&mut self, agent: Option<Box<Agent>>, seen: Seen, out: &mut Vec<Event>) {
        if agent.is_none() && self.session.as_ref().is_some_and(|session| session.agent.is_some()) {
            let name = self.session.as_ref().and_then(|session| session.agent.clone()).unwrap_or_default();
            let words = format!("This server has no agent called {name} any more: the session can be read only.");
            let id = format!("agent:{}", seen.position);
            Told::new(None, out).push(notice(id, NoticeLevel::Warning, NoticeCode::Server, &words, None));
        }
        let is_new = self.agent != agent;
        self.agent = agent;
        self.tell_setup(is_new, out);
    }

    fn tell_setup(&self, is_new: bool, out: &mut Vec<Event>) {
        let Some(session) = self.session.as_deref().filter(|_| is_new) else { return };
        let mut told = Told::new(None, out);
        told.push(EventBody::Facts { title: None, agent: session.agent.clone(), archived: None });
        let offer = self.agent.as_ref().map(|agent| agent.offer.clone());
        told.push(EventBody::Setup { setup: session.setup(self.agent.as_deref()), offer });
    }
}
