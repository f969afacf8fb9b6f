//! A turn stops for answers: all that somebody here must answer is asked together, since it leaves together (page §2.3).

use contract::{
    event::{Event, EventBody},
    item::ToolState,
    request::{ChoiceKind, RequestId},
    session::{SessionState, StopReason},
};

use super::{Fold, shown::Fate, turn::Sent};
use crate::{
    reconcile::Piece,
    told::Told,
    turns::{
        asked::{Way, read_id, request_id, seed},
        wire::Called,
    },
};

impl Fold {
    /// Asks what the turn waits for. Nothing is asked before the session was read: only that tells whose a call is.
    /// Gives whether anything is asked, or will be.
    pub(super) fn ask(&mut self, out: &mut Vec<Event>) -> bool {
        let Some(turn) = self.turn.as_mut() else { return false };
        let id = turn.id.clone();
        let mut told = Told::new(Some(id.clone()), out);
        if self.session.is_none() {
            turn.wants_session = true;
            told.status(&mut self.state, SessionState::Waiting);
            return true;
        }
        turn.wants_session = false;
        let unanswered = self.unanswered(&id);
        if unanswered.is_empty() {
            return false;
        }
        let mut calls: Vec<&str> = unanswered.iter().filter_map(|(known, _)| call_of(&known.piece)).collect();
        calls.sort_unstable();
        let group = format!("{id}/{}", calls.join(","));
        let mut asked: Vec<(String, String)> = Vec::with_capacity(unanswered.len());
        for (known, way) in &unanswered {
            let Piece::Call { call, name, arguments, .. } = &known.piece else { continue };
            let called = Called { call: call.clone(), name: name.clone(), input: arguments.clone() };
            let seed = seed(&id, *way, &called, known.id.clone(), Some(group.clone()));
            asked.push((seed.id.clone(), call.clone()));
            told.push(EventBody::Request(Box::new(seed)));
        }
        told.status(&mut self.state, SessionState::Waiting);
        told.push(EventBody::Waiting { requests: asked.iter().map(|(request, _)| request.clone()).collect() });
        if let Some(turn) = self.turn.as_mut() {
            turn.asked = asked;
        }
        true
    }

    /// The server says which calls wait (v3-revised): what it does not name is settled, what was not known is asked.
    pub(super) fn pending(&mut self, pending: &[Called], out: &mut Vec<Event>) {
        if self.turn.as_ref().is_some_and(|turn| turn.is_open && turn.is_told) {
            return;
        }
        if pending.is_empty() {
            return self.none_pending(out);
        }
        if self.turn.as_ref().is_none_or(|turn| !turn.is_open) {
            let known = pending.iter().find_map(|called| self.shown.call(&called.call));
            let id =
                known.filter(|known| self.shown.fate(&known.id) != Fate::Told).and_then(|known| known.turn.clone());
            self.take_up(id, out);
        }
        let Some(turn) = self.turn.as_ref() else { return };
        let mut told = Told::new(Some(turn.id.clone()), out);
        let is_pending = |call: &str| pending.iter().any(|called| called.call == call);
        let gone: Vec<String> =
            turn.asked.iter().filter(|(_, call)| !is_pending(call)).map(|(_, call)| call.clone()).collect();
        for call in gone {
            self.settle_call(&call, &mut told);
            if let Some(item) = self.shown.call(&call).map(|known| known.id.clone()) {
                self.shown.calls.insert(item, Fate::Silent);
            }
        }
        for called in pending {
            match self.shown.call(&called.call).map(|known| known.id.clone()) {
                Some(item) if self.shown.fate(&item) != Fate::Told => {
                    self.shown.calls.insert(item, Fate::Open);
                }
                Some(_) => {}
                None => {
                    self.called(called, &mut told);
                }
            }
        }
        if self.is_asked(pending) {
            return;
        }
        self.ask(out);
    }

    /// Whether exactly these are asked, in the way they are to be answered now.
    fn is_asked(&self, pending: &[Called]) -> bool {
        let (Some(turn), Some(session)) = (self.turn.as_ref(), self.session.as_deref()) else { return false };
        let wanted = pending.iter().filter_map(|called| {
            let way = crate::turns::asked::way(&called.name, session)?;
            Some(request_id(&turn.id, way, &called.call))
        });
        let mut wanted: Vec<String> = wanted.collect();
        let mut asked: Vec<String> = turn.asked.iter().map(|(request, _)| request.clone()).collect();
        wanted.sort_unstable();
        asked.sort_unstable();
        wanted == asked
    }

    fn none_pending(&mut self, out: &mut Vec<Event>) {
        let Some(turn) = self.turn.as_ref().filter(|turn| turn.is_open) else { return };
        let mut told = Told::new(Some(turn.id.clone()), out);
        let asked = turn.asked.clone();
        let had = !asked.is_empty();
        for (_, call) in asked {
            self.settle_call(&call, &mut told);
            if let Some(item) = self.shown.call(&call).map(|known| known.id.clone()) {
                self.shown.calls.insert(item, Fate::Silent);
            }
        }
        if had {
            // Answered elsewhere: how that went on is in the history.
            told.status(&mut self.state, SessionState::Running);
        }
    }

    /// The answers are on their way, and the same turn goes on.
    pub(super) fn answers_sent(&mut self, answers: &[(RequestId, ChoiceKind, Option<String>)], out: &mut Vec<Event>) {
        let of_open = self.turn.as_ref().filter(|turn| turn.is_open).map(|turn| turn.id.clone());
        let of_request = answers.first().and_then(|(request, ..)| request.split(':').next()).map(str::to_owned);
        if of_open.is_none() || of_request.is_some() && of_open != of_request {
            self.take_up(of_request, out);
        }
        let Some(turn) = self.turn.as_mut() else { return };
        turn.asked.clear();
        turn.sent.clear();
        turn.is_told = true;
        turn.is_closed = false;
        turn.wants_session = false;
        let mut told = Told::new(Some(turn.id.clone()), out);
        for (request, choice, reason) in answers {
            let Some((way, call)) = read_id(request) else { continue };
            let Some(item) = self.shown.call(call).map(|known| known.id.clone()) else { continue };
            turn.sent.push(Sent::Answer(item.clone()));
            if self.shown.fate(&item) != Fate::Told {
                self.shown.calls.insert(item.clone(), Fate::Silent);
            }
            match (way, choice) {
                (Way::Permission, _) => told.push(EventBody::Settled {
                    request: request.clone(),
                    choice: Some(*choice),
                    reason: reason.clone(),
                    event_id: format!("{request}.sent"),
                    output: Vec::new(),
                }),
                (_, ChoiceKind::Deny | ChoiceKind::Decline) => {
                    told.push(EventBody::ToolEnded { call: item, state: ToolState::Denied { reason: reason.clone() } })
                }
                (_, ChoiceKind::ReportError) => {
                    told.push(EventBody::ToolEnded { call: item, state: ToolState::Failed });
                }
                (_, ChoiceKind::AllowOnce | ChoiceKind::AllowAlways | ChoiceKind::Answer) => {
                    told.push(EventBody::ToolEnded { call: item, state: ToolState::Done });
                }
            }
        }
        told.status(&mut self.state, SessionState::Running);
    }

    /// A turn that is known from elsewhere is taken up: a new one, or the one with this id.
    pub(super) fn take_up(&mut self, id: Option<String>, out: &mut Vec<Event>) {
        self.begin(out);
        if let (Some(turn), Some(id)) = (self.turn.as_mut(), id) {
            turn.id = id;
        }
        let turn = self.turn.as_ref().map(|turn| turn.id.clone());
        Told::new(turn, out).push(EventBody::TurnStarted);
    }

    /// The turn stops. Where it stops for answers, they are asked.
    pub(super) fn stop(&mut self, reason: &str, out: &mut Vec<Event>) {
        if let Some(turn) = self.turn.as_mut() {
            turn.is_told = false;
        }
        if reason == "tool_use" && self.ask(out) {
            return;
        }
        self.over(stop_reason(reason), out);
    }
}

fn call_of(piece: &Piece) -> Option<&str> {
    if let Piece::Call { call, .. } = piece { Some(call) } else { None }
}

/// The server's word for how the turn ended (page §2.2).
fn stop_reason(reason: &str) -> StopReason {
    match reason {
        "end_turn" | "" => StopReason::EndTurn,
        "max_tokens" => StopReason::MaxTokens,
        "refusal" => StopReason::Refusal { explanation: None },
        "error" => StopReason::Error { message: None },
        other => StopReason::Other { word: other.to_owned() },
    }
}
