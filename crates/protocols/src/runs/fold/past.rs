//! A whole history, laid beside what is shown (runs-server page, §7): what is missing is put in, what was cut off is
//! made whole, and the order is the history's.

use std::collections::{HashMap, HashSet};

use contract::{
    event::{Event, EventBody, Permission},
    item::{Marker, MessageState, Part, Role, ToolState},
};

use super::{
    Fold,
    shown::Fate,
    text_parts,
    told::{self, Told, whole},
};
use crate::{
    Seen,
    json::{Fields, elements},
    reconcile::{Known, Piece, Placed, reconcile, reordered},
};

/// One thing of a history.
#[derive(Debug)]
struct Past {
    piece: Piece,
    /// Pictures that go with it.
    pictures: Vec<Part>,
    /// What came of a call.
    result: Option<Answered>,
}

/// What came of a call.
#[derive(Debug)]
struct Answered {
    output: Vec<Part>,
    text: String,
    ok: bool,
}

impl Fold {
    pub(super) fn history(&mut self, raw: &str, seen: Seen, out: &mut Vec<Event>) {
        match read(raw) {
            Some(past) => self.merge_read(past, out),
            None => {
                let id = format!("frame:{}", seen.position);
                Told::new(None, out).push(EventBody::Unknown { id, what: "history".to_owned(), raw: raw.to_owned() });
            }
        }
    }

    /// A history that waited for the end of a run.
    pub(super) fn merge(&mut self, raw: &str, out: &mut Vec<Event>) {
        if let Some(past) = read(raw) {
            self.merge_read(past, out);
        }
    }

    fn merge_read(&mut self, past: Vec<Past>, out: &mut Vec<Event>) {
        let pieces: Vec<Piece> = past.iter().map(|past| past.piece.clone()).collect();
        // Texts of ours that are one in the history, by the first of them.
        let mut parts: HashMap<usize, Vec<usize>> = HashMap::new();
        let placed = if self.shown.at_server.is_empty() {
            reconcile(&self.shown.known, &pieces)
        } else {
            let (told, places): (Vec<Known>, Vec<Vec<usize>>) = self.shown.as_told().into_iter().unzip();
            let mut placed = reconcile(&told, &pieces);
            for placed in &mut placed {
                if let Placed::Known { known, .. } = placed
                    && let Some([first, rest @ ..]) = places.get(*known).map(Vec::as_slice)
                {
                    *known = *first;
                    parts.insert(*first, rest.to_vec());
                }
            }
            placed
        };
        let mut past: Vec<Option<Past>> = past.into_iter().map(Some).collect();
        let mut ids: Vec<String> = Vec::with_capacity(placed.len());
        let mut inserted: Vec<Known> = Vec::new();
        let mut turn: Option<String> = None;
        for placed in placed {
            match placed {
                Placed::Known { known, past: of, text } => {
                    let more = parts.remove(&known).unwrap_or_default();
                    let Some(item) = self.shown.known.get_mut(known) else { continue };
                    turn.clone_from(&item.turn);
                    let mut told = Told::new(turn.clone(), out);
                    if !more.is_empty() {
                        ids.push(item.id.clone());
                        ids.extend(self.mend_last(known, more, text, &mut told));
                        continue;
                    }
                    if let Some(text) = text {
                        mend(item, text, &self.shown.cut, &mut told);
                    }
                    let id = item.id.clone();
                    ids.push(id.clone());
                    let Some(Past { piece, result, .. }) = past.get_mut(of).and_then(Option::take) else { continue };
                    adopt(item, piece);
                    if let Some(result) = result {
                        self.answered(&id, result, &mut told);
                    }
                }
                Placed::New { past: of } => {
                    let Some(new) = past.get_mut(of).and_then(Option::take) else { continue };
                    self.shown.inserted += 1;
                    let id = format!("h{}", self.shown.inserted);
                    if matches!(new.piece, Piece::User(_)) || turn.is_none() {
                        turn = Some(format!("turn:{id}"));
                    }
                    let known = Known { id: id.clone(), turn: turn.clone(), piece: new.piece.clone(), is_whole: true };
                    inserted.push(known);
                    ids.push(id.clone());
                    self.insert(&id, new, &mut Told::new(turn.clone(), out));
                }
            }
        }
        let is_changed = !inserted.is_empty();
        self.shown.known = reordered(std::mem::take(&mut self.shown.known), inserted, &ids);
        if is_changed || ids.len() > 1 {
            Told::new(None, out).push(EventBody::Arranged { items: ids });
        }
    }

    /// A text of the history that is several of ours: where it was cut off, the last of them gets the rest. Gives the
    /// items behind the first.
    fn mend_last(&mut self, first: usize, more: Vec<usize>, text: Option<String>, told: &mut Told<'_>) -> Vec<String> {
        let mut rest = text;
        let places = std::iter::once(first).chain(more);
        let mut ids = Vec::new();
        let count = places.clone().count();
        for (number, place) in places.enumerate() {
            let Some(item) = self.shown.known.get_mut(place) else { continue };
            if number > 0 {
                ids.push(item.id.clone());
            }
            let Piece::Agent(own) = &item.piece else { continue };
            rest = rest.and_then(|text| text.strip_prefix(own.as_str()).map(str::to_owned));
            if number + 1 == count
                && let Some(rest) = rest.take()
            {
                let whole = format!("{own}{rest}");
                mend(item, whole, &self.shown.cut, told);
            }
        }
        ids
    }

    fn insert(&mut self, id: &str, new: Past, told: &mut Told<'_>) {
        match new.piece {
            Piece::User(text) => {
                let mut parts = text_parts(&text);
                parts.extend(new.pictures);
                told.message(id, Role::User, parts, MessageState::Done);
            }
            Piece::Agent(text) => {
                let mut parts = text_parts(&text);
                parts.extend(new.pictures);
                told.message(id, Role::Agent, parts, MessageState::Done);
            }
            Piece::Call { name, arguments, .. } => {
                told.push(EventBody::ToolCall {
                    id: id.to_owned(),
                    name,
                    source: None,
                    input: arguments,
                    permission: Permission::Unsaid,
                });
                self.shown.calls.insert(id.to_owned(), Fate::Open);
                match new.result {
                    Some(result) => self.answered(id, result, told),
                    None if self.beside.is_running => {}
                    None => {
                        self.shown.calls.insert(id.to_owned(), Fate::Silent);
                        told.push(EventBody::ToolEnded { call: id.to_owned(), state: ToolState::Cancelled });
                    }
                }
            }
            Piece::Summary(text) => told.marker(id.to_owned(), compacted(&text)),
            Piece::Other(raw) => {
                let what = Fields::read(&raw).ok().and_then(|fields| fields.word("role")).unwrap_or_default();
                told.push(EventBody::Unknown { id: id.to_owned(), what, raw });
            }
        }
    }

    /// What came of a call, where it was not told already.
    fn answered(&mut self, item: &str, result: Answered, told: &mut Told<'_>) {
        if self.shown.calls.insert(item.to_owned(), Fate::Told) == Some(Fate::Told) {
            return;
        }
        self.shown.answered(item, &result.text);
        told.push(EventBody::ToolResult {
            id: format!("{item}.result"),
            call: item.to_owned(),
            name: None,
            output: result.output,
            is_error: !result.ok,
        });
    }
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

/// What was cut off is as the history has it: whole, save what a stop cut off there, too.
fn mend(item: &mut Known, text: String, cut: &HashSet<String>, told: &mut Told<'_>) {
    item.is_whole = !cut.contains(&item.id);
    match &item.piece {
        Piece::Agent(_) => {
            let state = if item.is_whole { MessageState::Done } else { MessageState::Incomplete };
            told.message(&item.id, Role::Agent, text_parts(&text), state);
            item.piece = Piece::Agent(text);
        }
        Piece::Summary(_) => {
            told.marker(item.id.clone(), compacted(&text));
            item.piece = Piece::Summary(text);
        }
        Piece::User(_) | Piece::Call { .. } | Piece::Other(_) => {}
    }
}

fn compacted(summary: &str) -> Marker {
    Marker::Compacted { summary: (!summary.is_empty()).then(|| whole(summary)), active: false, unchanged: false }
}

/// Reads a history; `None` where it is none.
fn read(raw: &str) -> Option<Vec<Past>> {
    let fields = Fields::read(raw).ok()?;
    let mut past: Vec<Past> = Vec::new();
    // The newest call of each id that has no result yet.
    let mut open: HashMap<String, usize> = HashMap::new();
    for raw in elements(fields.raw("messages")?) {
        let other = || Past { piece: Piece::Other(raw.to_owned()), pictures: Vec::new(), result: None };
        let Ok(message) = Fields::read(raw) else {
            past.push(other());
            continue;
        };
        let text = message.text("text").map(std::borrow::Cow::into_owned).unwrap_or_default();
        match message.text("role").as_deref() {
            Some("user") => {
                past.push(Past { piece: Piece::User(text), pictures: pictures(&message), result: None });
            }
            Some("assistant") => {
                let pictures = pictures(&message);
                if !text.trim().is_empty() || !pictures.is_empty() {
                    past.push(Past { piece: Piece::Agent(text), pictures, result: None });
                }
                for call in message.raw("tool_calls").map(elements).unwrap_or_default() {
                    let Ok(fields) = Fields::read(call) else { continue };
                    let call = fields.number_or_text("call_id").unwrap_or_default();
                    open.insert(call.clone(), past.len());
                    let name = fields.word("name").unwrap_or_default();
                    let arguments = fields.raw("arguments").unwrap_or("{}").to_owned();
                    past.push(Past {
                        piece: Piece::Call { call, name, arguments, output: None },
                        pictures: Vec::new(),
                        result: None,
                    });
                }
            }
            Some("tool") => {
                let mut output = text_parts(&text);
                output.extend(pictures(&message));
                let ok = message.flag("ok") != Some(false);
                let result = Some(Answered { output, text: text.clone(), ok });
                let call = message.number_or_text("tool_call_id").unwrap_or_default();
                match open.remove(&call).and_then(|index| past.get_mut(index)) {
                    Some(known) => {
                        if let Piece::Call { output, .. } = &mut known.piece {
                            *output = Some(text);
                        }
                        known.result = result;
                    }
                    None => {
                        let name = message.word("tool_name").unwrap_or_default();
                        let piece = Piece::Call { call, name, arguments: "{}".to_owned(), output: Some(text) };
                        past.push(Past { piece, pictures: Vec::new(), result });
                    }
                }
            }
            Some("summary") => past.push(Past { piece: Piece::Summary(text), pictures: Vec::new(), result: None }),
            _ => past.push(other()),
        }
    }
    Some(past)
}

fn pictures(message: &Fields<'_>) -> Vec<Part> {
    message
        .raw("pictures")
        .map(elements)
        .unwrap_or_default()
        .into_iter()
        .filter_map(|raw| {
            let picture = Fields::read(raw).ok()?;
            Some(told::image(&picture.word("media_type")?, &picture.text("data")?))
        })
        .collect()
}
