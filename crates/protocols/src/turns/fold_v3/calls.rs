//! The calls of a session. A server's ids are its model's and can repeat, so items are named by turn and call.

use contract::event::{EventBody, Permission};

use super::{
    Fold,
    shown::{Fate, Shown},
};
use crate::{
    reconcile::{Known, Piece},
    told::Told,
    turns::{
        asked::{self, Way},
        session_object::SessionObject,
        wire::{Called, Output},
    },
};

impl Fold {
    /// A call is announced, or announced again: then it is known better.
    pub(super) fn called(&mut self, called: &Called, told: &mut Told<'_>) -> String {
        let known =
            self.shown.call(&called.call).filter(|known| known.turn == told.turn()).map(|known| known.id.clone());
        let is_new = known.is_none();
        let turn = told.turn().unwrap_or_default();
        let item = known.unwrap_or_else(|| format!("{turn}.c.{}", called.call));
        let output =
            self.shown.known.iter().rev().find(|known| known.id == item).and_then(|known| match &known.piece {
                Piece::Call { output, .. } => output.clone(),
                _ => None,
            });
        let piece = Piece::Call {
            call: called.call.clone(),
            name: called.name.clone(),
            arguments: called.input.clone(),
            output,
        };
        if is_new {
            self.shown.add(&item, told.turn(), piece, true);
            self.shown.calls.insert(item.clone(), Fate::Open);
        } else {
            self.shown.change(&item, piece, true);
        }
        told.push(announced(item.clone(), called, self.session.as_deref()));
        item
    }

    /// What came of a call. The first word on it counts: some servers say it twice (page §7.5).
    pub(super) fn result(&mut self, call: &str, output: Output, told: &mut Told<'_>) {
        let item = match self.shown.call(call) {
            Some(known) => known.id.clone(),
            // Told in a turn that nobody here saw, or of a tool that is not shown (page §7.12).
            None => {
                let unseen = Called { call: call.to_owned(), name: "tool".to_owned(), input: "{}".to_owned() };
                self.called(&unseen, told)
            }
        };
        self.settle_call(call, told);
        tell_result(&item, output, &mut self.shown, told);
    }

    /// What was asked about this call is settled.
    pub(super) fn settle_call(&mut self, call: &str, told: &mut Told<'_>) {
        let Some(turn) = self.turn.as_mut() else { return };
        let settled: Vec<(String, String)> = turn.asked.extract_if(.., |(_, asked)| asked == call).collect();
        for (request, _) in settled {
            told.push(EventBody::Settled {
                request,
                choice: None,
                reason: None,
                event_id: format!("{call}.result"),
                output: Vec::new(),
            });
        }
    }

    /// Calls of the turn that somebody here must answer: nothing came of them, and the server does not run them unasked.
    pub(super) fn unanswered(&self, turn: &str) -> Vec<(Known, Way)> {
        let Some(session) = self.session.as_deref() else { return Vec::new() };
        let of_turn = self.shown.known.iter().filter(|known| known.turn.as_deref() == Some(turn));
        of_turn
            .filter(|known| self.shown.fate(&known.id) == Fate::Open)
            .filter_map(|known| {
                let Piece::Call { name, .. } = &known.piece else { return None };
                Some((known.clone(), asked::way(name, session)?))
            })
            .collect()
    }
}

/// A call as it is shown: whether it waits for somebody here is known by its tool.
pub(super) fn announced(item: String, called: &Called, session: Option<&SessionObject>) -> EventBody {
    let permission = match session.map(|session| asked::way(&called.name, session)) {
        Some(Some(Way::Permission | Way::Result)) => Permission::Ask,
        Some(None) => Permission::Allowed,
        Some(Some(Way::Nobody)) | None => Permission::Unsaid,
    };
    let is_client = session.is_some_and(|session| session.declares(&called.name));
    EventBody::ToolCall {
        id: item,
        name: called.name.clone(),
        source: is_client.then(|| "client".to_owned()),
        input: called.input.clone(),
        permission,
    }
}

/// What came of a call, where it was not told already.
pub(super) fn tell_result(item: &str, output: Output, shown: &mut Shown, told: &mut Told<'_>) {
    if shown.calls.get(item) == Some(&Fate::Told) {
        return;
    }
    shown.answered(item, &output.raw);
    told.push(EventBody::ToolResult {
        id: format!("{item}.result"),
        call: item.to_owned(),
        name: None,
        output: output.parts,
        is_error: false,
    });
}
