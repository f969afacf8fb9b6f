//! Open drafts: text that is being written, in whichever of the dialects' forms (Qoder page, section 8).
//!
//! The texts are kept here too, because closing one draft without its whole form can only be said by closing all and
//! telling the others again.

mod raw;

use std::collections::{HashMap, HashSet, VecDeque};

use contract::{
    event::{AppendTo, EventBody},
    item::Part,
};

use super::{ids::Ids, parts::joined};

/// One draft, shown as one item.
#[derive(Debug)]
struct Draft {
    /// The item's id.
    id: String,
    to: AppendTo,
    /// The text of each part.
    texts: Vec<String>,
    origin: Origin,
}

/// Where a draft comes from.
#[derive(Debug, PartialEq, Eq)]
enum Origin {
    /// `event_start` / `event_delta`: rebuilt by the server after a reconnect.
    Preview,
    /// `delta: true`.
    Flagged,
    /// The text blocks of a raw message; the wire's index of each part. Its frames are kept by the log.
    Text { message: String, indexes: Vec<u32> },
    /// Another block of a raw message.
    Block { message: String, index: u32, tool: Option<String> },
}

/// How a whole message fits the open drafts.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fit {
    /// The draft it replaces, when that has another id.
    pub replaces: Option<String>,
    /// It is the last chunk of that draft: this text stands before it.
    pub before: Option<String>,
    /// It had a draft at all.
    pub had_draft: bool,
}

/// All open drafts of a session.
#[derive(Debug, Default)]
pub(super) struct Drafts {
    open: Vec<Draft>,
    /// Ids whose previews broke off: what follows without a new start begins in the middle.
    lost: Vec<String>,
    /// Ids of messages that are whole, newest last: a replayed preview must not touch them.
    whole: VecDeque<String>,
    /// Frames of raw messages that were taken in, by message: a frame that comes again appends nothing.
    chunks: HashMap<String, Ids>,
    /// Raw messages that are over.
    over: HashSet<String>,
    /// Raw messages that showed a thought.
    thoughts: HashSet<String>,
    /// Thoughts that raw messages have shown whole and whose own events have not come, oldest first.
    due: Vec<ShownThought>,
}

/// A thought as a raw message showed it.
#[derive(Debug)]
struct ShownThought {
    message: String,
    text: String,
}

/// Whole messages remembered; a replay reaches back further only behind a connection's start, when nothing is open.
const WHOLE_KEPT: usize = 64;

impl Drafts {
    /// A preview begins, or begins again from nothing.
    pub(super) fn preview_start(&mut self, id: String, thought: bool, out: &mut Vec<EventBody>) {
        if self.whole.contains(&id) {
            return;
        }
        self.lost.retain(|lost| *lost != id);
        self.open.retain(|draft| draft.id != id);
        let to = if thought { AppendTo::Thought } else { AppendTo::Message };
        out.push(EventBody::DraftStarted { id: id.clone(), to: to.clone() });
        self.open.push(Draft { id, to, texts: Vec::new(), origin: Origin::Preview });
    }

    /// Text of a preview. A gap in the indexes waits for the whole message.
    /// Returns what to append, and whether the draft begins with it.
    pub(super) fn preview_delta(&mut self, id: String, index: u32, text: String) -> Option<(EventBody, bool)> {
        let known = self.open.iter().rposition(|draft| draft.id == id);
        let begins = known.is_none();
        let position = match known {
            Some(position) => position,
            None if index > 0 || self.whole.contains(&id) || self.lost.contains(&id) => return None,
            None => {
                let draft = Draft { id: id.clone(), to: AppendTo::Message, texts: Vec::new(), origin: Origin::Preview };
                self.open.push(draft);
                self.open.len() - 1
            }
        };
        let draft = self.open.get_mut(position)?;
        append(&mut draft.texts, index, &text)
            .then(|| (EventBody::Append { id, to: draft.to.clone(), part: index, text }, begins))
    }

    /// A flagged chunk: appended to the turn's open draft.
    pub(super) fn flagged(&mut self, id: &str, parts: &[Part], out: &mut Vec<EventBody>) {
        let position = match self.open.iter().rposition(|draft| draft.origin == Origin::Flagged) {
            Some(position) => position,
            None => {
                let draft =
                    Draft { id: id.to_owned(), to: AppendTo::Message, texts: Vec::new(), origin: Origin::Flagged };
                out.push(EventBody::DraftStarted { id: draft.id.clone(), to: AppendTo::Message });
                self.open.push(draft);
                self.open.len() - 1
            }
        };
        let Some(draft) = self.open.get_mut(position) else { return };
        let text = joined(parts);
        if !text.is_empty() && append(&mut draft.texts, 0, &text) {
            out.push(EventBody::Append { id: draft.id.clone(), to: AppendTo::Message, part: 0, text });
        }
    }

    /// How a whole message fits the drafts; its draft is closed by it.
    pub(super) fn take(&mut self, id: &str, message: Option<&str>, parts: &[Part]) -> Fit {
        if !id.is_empty() {
            if self.whole.len() == WHOLE_KEPT {
                self.whole.pop_front();
            }
            self.whole.push_back(id.to_owned());
        }
        let mut had_draft = false;
        if !self.open.is_empty() {
            let before = self.open.len();
            self.open.retain(|draft| draft.id != id || draft.origin != Origin::Preview);
            had_draft = self.open.len() != before;
        }
        if let Some(message) = message
            && (self.over.contains(message) || self.chunks.contains_key(message))
        {
            if let Some(position) = self.text_draft(message) {
                self.open.remove(position);
            }
            return Fit { replaces: Some(message.to_owned()), before: None, had_draft: true };
        }
        if had_draft || self.open.is_empty() {
            return Fit { replaces: None, before: None, had_draft };
        }
        let text = joined(parts);
        let extended = self.open.iter().position(|draft| {
            let shown = draft.texts.concat();
            matches!(draft.origin, Origin::Flagged | Origin::Text { .. })
                && !shown.is_empty()
                && text.starts_with(&shown)
        });
        let flagged = || self.open.iter().position(|draft| draft.origin == Origin::Flagged);
        let (position, before) = match (extended, flagged()) {
            (Some(position), _) => (position, false),
            // A chunk's end may come without the flag.
            (None, Some(position)) => (position, true),
            (None, None) => return Fit { replaces: None, before: None, had_draft: false },
        };
        let draft = self.open.remove(position);
        let before = before.then(|| draft.texts.concat());
        Fit { replaces: Some(draft.id).filter(|draft| draft != id), before, had_draft: true }
    }

    /// A whole thought: whether it was announced.
    pub(super) fn take_thought(&mut self, id: &str) -> bool {
        let before = self.open.len();
        self.open.retain(|draft| draft.id != id || draft.to != AppendTo::Thought);
        self.open.len() != before
    }

    /// Whether a raw message has shown this thought. The event names its message, or nothing: then it is the next one
    /// whose own event is due, with the same text or none.
    pub(super) fn has_shown_thought(&mut self, message: Option<&str>, text: &str) -> bool {
        let due = match message {
            Some(message) => self.due.iter().position(|thought| thought.message == message),
            None => self.due.iter().position(|thought| text.is_empty() || thought.text == text),
        };
        if let Some(due) = due {
            self.due.remove(due);
            return true;
        }
        message.is_some_and(|message| self.thoughts.contains(message))
    }

    /// A whole call closes the draft in which it was written, by its id, else by its name.
    pub(super) fn take_tool(&mut self, id: &str, name: &str, out: &mut Vec<EventBody>) {
        let named = |draft: &Draft, by_id: bool| match (&draft.origin, &draft.to) {
            (Origin::Block { tool, .. }, AppendTo::ToolInput { name: of }) => {
                if by_id {
                    tool.as_deref() == Some(id)
                } else {
                    of == name
                }
            }
            _ => false,
        };
        let position = self
            .open
            .iter()
            .position(|draft| named(draft, true))
            .or_else(|| self.open.iter().position(|draft| named(draft, false)));
        if let Some(position) = position {
            self.open.remove(position);
            self.tell_again(out);
        }
    }

    /// Drops everything shown and tells what is still open from its beginning.
    fn tell_again(&self, out: &mut Vec<EventBody>) {
        out.push(EventBody::DraftsClosed { keep: false });
        for draft in self.open.iter().filter(|draft| !self.is_shown_whole(draft)) {
            tell(draft, out);
        }
    }

    /// Nothing more will come for what is open: what was shown stays, marked incomplete.
    pub(super) fn close(&mut self, out: &mut Vec<EventBody>) {
        if self.open.iter().any(|draft| !self.is_shown_whole(draft)) {
            out.push(EventBody::DraftsClosed { keep: true });
        }
        self.over.extend(self.chunks.drain().map(|(message, _)| message));
        self.due.clear();
        self.lost = self.open.drain(..).filter(|draft| draft.origin == Origin::Preview).map(|draft| draft.id).collect();
    }

    /// A raw message that has stopped is shown whole already.
    fn is_shown_whole(&self, draft: &Draft) -> bool {
        matches!(&draft.origin, Origin::Text { message, .. } if self.over.contains(message) && !self.chunks.contains_key(message))
    }

    /// The stream broke: previews are dropped, the server tells them again. Raw messages are in the log and go on.
    /// True where drafts were dropped, so that whatever else was being written must be told again.
    pub(super) fn connection_lost(&mut self, out: &mut Vec<EventBody>) -> bool {
        let lost: Vec<String> = self
            .open
            .iter()
            .filter(|draft| matches!(draft.origin, Origin::Preview | Origin::Flagged))
            .map(|draft| draft.id.clone())
            .collect();
        if lost.is_empty() {
            return false;
        }
        self.open.retain(|draft| !lost.contains(&draft.id));
        self.lost = lost;
        self.tell_again(out);
        true
    }
}

impl Draft {
    fn message(&self) -> Option<&str> {
        match &self.origin {
            Origin::Text { message, .. } | Origin::Block { message, .. } => Some(message),
            Origin::Preview | Origin::Flagged => None,
        }
    }
}

fn tell(draft: &Draft, out: &mut Vec<EventBody>) {
    out.push(EventBody::DraftStarted { id: draft.id.clone(), to: draft.to.clone() });
    for (part, text) in draft.texts.iter().enumerate() {
        if let (false, Ok(part)) = (text.is_empty(), u32::try_from(part)) {
            out.push(EventBody::Append { id: draft.id.clone(), to: draft.to.clone(), part, text: text.clone() });
        }
    }
}

/// Appends to the block at `index`, or opens the next one. A gap is ignored.
fn append(texts: &mut Vec<String>, index: u32, text: &str) -> bool {
    let index = index as usize;
    if index == texts.len() {
        texts.push(text.to_owned());
        return true;
    }
    match texts.get_mut(index) {
        Some(known) => {
            known.push_str(text);
            true
        }
        None => false,
    }
}
