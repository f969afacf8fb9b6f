//! A whole history, laid beside what is shown (page §§2.4 and 5): what is missing is put in, what was cut off is made
//! whole, the order is the history's, and it tells how a turn stands that nobody here listens to.

use std::collections::HashMap;

use contract::{
    event::{Event, EventBody},
    item::{Marker, MessageState, NoticeCode, NoticeLevel, Role, ToolState},
    session::{SessionState, StopReason},
};

use super::{
    Fold, UNSAID,
    calls::{announced, tell_result},
    read_past::{History, Past, read},
    shown::Fate,
    turn::Sent,
};
use crate::{
    Seen,
    json::Fields,
    reconcile::{Known, Piece, Placed, reconcile, reordered},
    told::{Told, notice, text_part},
    turns::{
        asked,
        wire::{self, Called, Said, Who},
    },
};

impl Fold {
    pub(super) fn history(&mut self, raw: &str, seen: Seen, out: &mut Vec<Event>) {
        if Fields::read(raw).ok().and_then(|fields| fields.object("history").map(|_| ())).is_none() {
            let id = format!("frame:{}", seen.position);
            Told::new(None, out).push(EventBody::Unknown { id, what: "history".to_owned(), raw: raw.to_owned() });
            return;
        }
        self.merge(raw, out);
    }

    pub(super) fn merge(&mut self, raw: &str, out: &mut Vec<Event>) {
        match read(raw) {
            Some(history) => self.merge_read(history, out),
            None => self.no_history(out),
        }
    }

    /// The server keeps no history that could be read: what a broken stream swallowed is lost.
    fn no_history(&mut self, out: &mut Vec<Event>) {
        let Some(turn) = self.turn.as_ref().filter(|turn| turn.is_open && turn.asked.is_empty() && !turn.wants_session)
        else {
            return;
        };
        let (is_closed, id) = (turn.is_closed, turn.id.clone());
        let words = if is_closed {
            "The stream ended early, and this server has no history that could be read."
        } else {
            "The connection broke, and this server has no history that could be read: the rest of this turn is lost."
        };
        let (level, code) = (NoticeLevel::Warning, NoticeCode::Server);
        Told::new(Some(id.clone()), out).push(notice(format!("{id}.lost"), level, code, words, None));
        self.over(StopReason::Interrupted, out);
    }

    fn merge_read(&mut self, history: History, out: &mut Vec<Event>) {
        let History { past, is_incomplete, last_calls, before_last } = history;
        if is_incomplete {
            Told::new(None, out).push(EventBody::IncompleteHistory);
        }
        let pieces: Vec<Piece> = past.iter().map(|past| past.piece.clone()).collect();
        let (told_known, places) = self.shown.as_told();
        let placed = reconcile(&told_known, &pieces);
        // A shortened history tells old things in other words: what stands before the last thing known is not put in.
        let last_known = placed.iter().rposition(|placed| matches!(placed, Placed::Known { .. }));
        let mut past: Vec<Option<Past>> = past.into_iter().map(Some).collect();
        let mut ids: Vec<String> = Vec::with_capacity(placed.len());
        let mut inserted: Vec<Known> = Vec::new();
        let mut turn: Option<String> = None;
        let mut found: HashMap<String, usize> = HashMap::new();
        for (number, placed) in placed.into_iter().enumerate() {
            match placed {
                Placed::Known { known, past: of, text } => {
                    let all = places.get(known).map(Vec::as_slice).unwrap_or_default();
                    let Some(first) = all.first().and_then(|place| self.shown.known.get(*place)) else { continue };
                    turn.clone_from(&first.turn);
                    let mut told = Told::new(turn.clone(), out);
                    for place in all {
                        let id = self.shown.known.get(*place).map(|known| known.id.clone());
                        ids.extend(id.iter().cloned());
                        found.extend(id.map(|id| (id, of)));
                    }
                    if let Some(text) = text {
                        self.mend(all, &text, &mut told);
                    }
                    let Some(Past { piece, output, .. }) = past.get_mut(of).and_then(Option::take) else { continue };
                    if let Some(item) = all.first().and_then(|place| self.shown.known.get_mut(*place)) {
                        adopt(item, piece);
                        let id = item.id.clone();
                        if let Some(output) = output {
                            tell_result(&id, output, &mut self.shown, &mut told);
                        }
                    }
                }
                Placed::New { past: of } => {
                    let Some(new) = past.get_mut(of).and_then(Option::take) else { continue };
                    if is_incomplete && last_known.is_some_and(|last| number < last) {
                        continue;
                    }
                    self.shown.inserted += 1;
                    let id = format!("h{}", self.shown.inserted);
                    if matches!(new.piece, Piece::User(_)) || turn.is_none() {
                        turn = Some(format!("past{}", self.shown.inserted));
                    }
                    let known = Known { id: id.clone(), turn: turn.clone(), piece: new.piece.clone(), is_whole: true };
                    inserted.push(known);
                    found.insert(id.clone(), of);
                    self.insert(&id, new, &mut ids, &mut Told::new(turn.clone(), out));
                }
            }
        }
        let is_changed = !inserted.is_empty();
        self.shown.known = reordered(std::mem::take(&mut self.shown.known), inserted, &ids);
        if is_changed || ids.len() > 1 {
            Told::new(None, out).push(EventBody::Arranged { items: ids });
        }
        self.settle_told(out);
        self.judge(last_calls, before_last, &found, out);
    }

    /// What was cut off is whole: of several texts that are one there, the last gets the rest.
    fn mend(&mut self, all: &[usize], whole: &str, told: &mut Told<'_>) {
        let mut rest = Some(whole.to_owned());
        for (number, place) in all.iter().enumerate() {
            let Some(item) = self.shown.known.get_mut(*place) else { continue };
            let Piece::Agent(own) = &item.piece else { continue };
            rest = rest.and_then(|text| text.strip_prefix(own.as_str()).map(str::to_owned));
            if number + 1 < all.len() {
                continue;
            }
            let text = match rest.take() {
                Some(rest) => format!("{own}{rest}"),
                // Told with other white space: one text can be replaced by the other, several cannot.
                None if all.len() == 1 => whole.to_owned(),
                None => continue,
            };
            item.is_whole = true;
            told.message(&item.id, Role::Agent, vec![text_part(&text)], MessageState::Done);
            item.piece = Piece::Agent(text);
        }
    }

    fn insert(&mut self, id: &str, new: Past, ids: &mut Vec<String>, told: &mut Told<'_>) {
        for (number, text) in new.thinking.into_iter().enumerate() {
            let id = format!("{id}.t{}", number + 1);
            told.push(EventBody::Thought { id: id.clone(), text, active: false });
            ids.push(id);
        }
        ids.push(id.to_owned());
        match new.piece {
            Piece::User(_) => told.message(id, Role::User, new.parts, MessageState::Done),
            Piece::Agent(_) => told.message(id, Role::Agent, new.parts, MessageState::Done),
            Piece::Call { call, name, arguments, .. } => {
                let called = Called { call, name, input: arguments };
                self.shown.calls.insert(id.to_owned(), Fate::Open);
                told.push(announced(id.to_owned(), &called, self.session.as_deref()));
                if let Some(output) = new.output {
                    tell_result(id, output, &mut self.shown, told);
                }
            }
            Piece::Other(raw) => match wire::said(&raw) {
                Some(Said { who: Who::System, .. }) => told.message(id, Role::System, new.parts, MessageState::Done),
                Some(Said { who: Who::Agent, .. }) => {
                    // A message of thinking alone: the thought stands for it.
                    ids.pop();
                }
                said => {
                    let what = said.and_then(|said| if let Who::Other(what) = said.who { Some(what) } else { None });
                    told.push(EventBody::Unknown { id: id.to_owned(), what: what.unwrap_or_default(), raw });
                }
            },
            Piece::Summary(text) => {
                let summary = Some(crate::told::whole(&text));
                told.marker(id.to_owned(), Marker::Compacted { summary, active: false, unchanged: false });
            }
        }
    }

    /// What was asked and has its result in the history is settled.
    fn settle_told(&mut self, out: &mut Vec<Event>) {
        let Some(turn) = self.turn.as_ref() else { return };
        let mut told = Told::new(Some(turn.id.clone()), out);
        let is_told = |call: &str| self.shown.call(call).is_some_and(|known| self.shown.fate(&known.id) == Fate::Told);
        let settled: Vec<String> =
            turn.asked.iter().filter(|(_, call)| is_told(call)).map(|(_, call)| call.clone()).collect();
        for call in settled {
            self.settle_call(&call, &mut told);
        }
    }

    /// How the turn stands, as the history tells it. `last_calls`: the last message is the agent's, with these calls.
    fn judge(
        &mut self,
        last_calls: Option<Vec<String>>,
        before_last: usize,
        found: &HashMap<String, usize>,
        out: &mut Vec<Event>,
    ) {
        let open = self.turn.as_ref().filter(|turn| turn.is_open);
        let is_active = self.session.as_ref().and_then(|session| session.active);
        let ended = match open {
            Some(turn) if turn.wants_session || !turn.asked.is_empty() => return,
            // The server has nothing more to say of it, or says itself that nothing runs.
            Some(turn) if turn.is_closed || is_active == Some(false) => true,
            Some(turn) => {
                let arrived = turn.sent.iter().all(|sent| match sent {
                    Sent::Message(item) => found.get(item).is_some_and(|at| *at < before_last),
                    Sent::Answer(item) => self.shown.fate(item) == Fate::Told,
                });
                arrived && last_calls.is_some()
            }
            None => true,
        };
        if !ended {
            Told::new(open.map(|turn| turn.id.clone()), out).status(&mut self.state, SessionState::Running);
            return;
        }
        let waits = self.waiting_calls(last_calls.as_deref().unwrap_or_default());
        self.forget_older(last_calls.as_deref().unwrap_or_default(), out);
        match waits {
            Waits::Ours(turn) if is_active != Some(true) => {
                let is_other = self.turn.as_ref().is_none_or(|known| !known.is_open || known.id != turn);
                if is_other {
                    let had = self.turn.as_ref().is_some_and(|known| known.is_open);
                    if had && turn.starts_with("past") {
                        // What came after the drop goes on in the same turn.
                        self.move_calls(&turn);
                    } else {
                        self.take_up(Some(turn), out);
                    }
                }
                self.ask(out);
            }
            // The server runs these by itself.
            Waits::Server if open_turn(self).is_some_and(|turn| !turn.is_closed) => {
                let id = open_turn(self).map(|turn| turn.id.clone());
                Told::new(id, out).status(&mut self.state, SessionState::Running);
            }
            Waits::Ours(_) | Waits::Server | Waits::Nobody => {
                self.over(StopReason::Other { word: UNSAID.to_owned() }, out);
                self.abandon_open(out);
                let state = if is_active == Some(true) { SessionState::Running } else { SessionState::Idle };
                Told::new(None, out).status(&mut self.state, state);
            }
        }
    }

    /// Calls that the history put in as a turn of its own belong to the turn that goes on.
    fn move_calls(&mut self, from: &str) {
        let Some(id) = self.turn.as_ref().map(|turn| turn.id.clone()) else { return };
        for known in self.shown.known.iter_mut().filter(|known| known.turn.as_deref() == Some(from)) {
            known.turn = Some(id.clone());
        }
    }

    /// Who the open calls of the last message wait for.
    fn waiting_calls(&self, last: &[String]) -> Waits {
        let open: Vec<&Known> = last
            .iter()
            .filter_map(|call| self.shown.call(call))
            .filter(|known| self.shown.fate(&known.id) == Fate::Open)
            .collect();
        let Some(session) = self.session.as_deref() else {
            return open.first().map_or(Waits::Nobody, |known| Waits::Ours(known.turn.clone().unwrap_or_default()));
        };
        let ours = open.iter().find(|known| match &known.piece {
            Piece::Call { name, .. } => asked::way(name, session).is_some(),
            _ => false,
        });
        match ours {
            Some(known) => Waits::Ours(known.turn.clone().unwrap_or_default()),
            None if open.is_empty() => Waits::Nobody,
            None => Waits::Server,
        }
    }

    /// Calls of older messages without a result: nobody is asked about them (page §5.4).
    fn forget_older(&mut self, last: &[String], out: &mut Vec<Event>) {
        for item in self.shown.open_calls() {
            let known = self.shown.known.iter().rev().find(|known| known.id == item);
            let is_last = known.is_some_and(|known| match &known.piece {
                Piece::Call { call, .. } => {
                    last.contains(call) && self.shown.call(call).is_some_and(|newest| newest.id == known.id)
                }
                _ => false,
            });
            if !is_last {
                self.no_result(item, out);
            }
        }
    }

    fn abandon_open(&mut self, out: &mut Vec<Event>) {
        for item in self.shown.open_calls() {
            self.no_result(item, out);
        }
    }

    fn no_result(&mut self, item: String, out: &mut Vec<Event>) {
        self.shown.calls.insert(item.clone(), Fate::Silent);
        Told::new(None, out).push(EventBody::ToolEnded { call: item, state: ToolState::Cancelled });
    }
}

/// Who the history's open calls wait for.
enum Waits {
    /// Somebody here, in this turn.
    Ours(String),
    /// The server runs them.
    Server,
    Nobody,
}

fn open_turn(fold: &Fold) -> Option<&super::turn::Turn> {
    fold.turn.as_ref().filter(|turn| turn.is_open)
}

/// The next history will say it so again: then it is the same at once.
fn adopt(item: &mut Known, theirs: Piece) {
    match (&item.piece, theirs) {
        (Piece::User(_), theirs @ Piece::User(_)) => item.piece = theirs,
        (Piece::Call { output: ours, .. }, Piece::Call { call, name, arguments, output }) => {
            let output = output.or_else(|| ours.clone());
            item.piece = Piece::Call { call, name, arguments, output };
        }
        _ => {}
    }
}
