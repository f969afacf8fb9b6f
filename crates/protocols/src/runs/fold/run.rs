//! One run: its texts, thoughts and lines. Calls and requests of it are in `calls` and `asked`.

use contract::{
    event::{AppendTo, EventBody},
    item::{Marker, MessageState, NoticeCode, NoticeLevel, Role, SteeringPhase},
    session::{QuestionMode, RunOptions, SessionState},
};

use super::{
    asked::Asking,
    calls::Call,
    shown::Shown,
    text_parts,
    told::{Told, notice, whole},
};
use crate::reconcile::Piece;

/// One run.
#[derive(Debug)]
pub(super) struct Run {
    /// `run3`: the turn's id, and the beginning of its items' ids.
    pub id: String,
    /// Its stream goes on.
    pub is_open: bool,
    is_told: bool,
    /// How its questions are answered.
    pub questions: QuestionMode,
    /// How long an approval may wait; `None` where nobody here asked for the run.
    pub answer_timeout_ms: Option<u64>,
    messages: u32,
    thoughts: u32,
    steered: u32,
    lines: u32,
    message: Option<Draft>,
    thought: Option<Draft>,
    compaction: Option<Draft>,
    pub calls: Vec<Call>,
    pub asked: Vec<Asking>,
    /// Why the model stopped, where it said so last.
    pub stopped: Option<(String, Option<String>)>,
    /// The agent said something.
    pub has_spoken: bool,
    /// The person asked to stop it.
    pub is_stopping: bool,
    /// The agent said its last word of its own accord.
    pub is_finished: bool,
}

/// A text being written.
#[derive(Debug)]
struct Draft {
    id: String,
    text: String,
    is_shown: bool,
}

impl Run {
    pub(super) fn new(number: u64, options: Option<&RunOptions>) -> Self {
        Self {
            id: format!("run{number}"),
            is_open: true,
            is_told: false,
            questions: options.map(|options| options.questions).unwrap_or_default(),
            answer_timeout_ms: options.map(|options| u64::from(options.answer_timeout_s) * 1000),
            messages: 0,
            thoughts: 0,
            steered: 0,
            lines: 0,
            message: None,
            thought: None,
            compaction: None,
            calls: Vec::new(),
            asked: Vec::new(),
            stopped: None,
            has_spoken: false,
            is_stopping: false,
            is_finished: false,
        }
    }

    /// Tells that the turn began, once. True where this was the time.
    pub(super) fn tell_start(&mut self, told: &mut Told<'_>) -> bool {
        if std::mem::replace(&mut self.is_told, true) {
            return false;
        }
        told.push(EventBody::TurnStarted);
        true
    }

    /// Whether a turn is shown for it.
    pub(super) fn is_told(&self) -> bool {
        self.is_told
    }

    /// An id for a line of this run.
    pub(super) fn line(&mut self) -> String {
        self.lines += 1;
        format!("{}.n{}", self.id, self.lines)
    }

    /// Text of the agent. White space alone shows no message.
    pub(super) fn write(&mut self, text: &str, shown: &mut Shown, told: &mut Told<'_>) {
        if text.is_empty() {
            return;
        }
        self.end_thought(told);
        let draft = match &mut self.message {
            Some(draft) => draft,
            None => {
                self.messages += 1;
                let id = format!("{}.m{}", self.id, self.messages);
                self.message.insert(Draft { id, text: String::new(), is_shown: false })
            }
        };
        draft.text.push_str(text);
        let append = if draft.is_shown {
            text.to_owned()
        } else if draft.text.trim().is_empty() {
            return;
        } else {
            draft.is_shown = true;
            self.has_spoken = true;
            shown.add(&draft.id, told.turn(), Piece::Agent(String::new()), false);
            told.push(EventBody::DraftStarted { id: draft.id.clone(), to: AppendTo::Message });
            draft.text.clone()
        };
        told.push(EventBody::Append { id: draft.id.clone(), to: AppendTo::Message, part: 0, text: append });
    }

    /// Nothing more is added to what is being written.
    pub(super) fn close_texts(&mut self, state: MessageState, shown: &mut Shown, told: &mut Told<'_>) {
        self.end_thought(told);
        let Some(draft) = self.message.take() else { return };
        if draft.is_shown {
            shown.change(&draft.id, Piece::Agent(draft.text.clone()), state == MessageState::Done);
            if self.is_stopping && state == MessageState::Incomplete {
                shown.cut.insert(draft.id.clone());
            }
            told.message(&draft.id, Role::Agent, text_parts(&draft.text), state);
        }
    }

    pub(super) fn begin_thought(&mut self, told: &mut Told<'_>) {
        self.end_thought(told);
        self.thoughts += 1;
        let id = format!("{}.t{}", self.id, self.thoughts);
        told.push(EventBody::DraftStarted { id: id.clone(), to: AppendTo::Thought });
        self.thought = Some(Draft { id, text: String::new(), is_shown: true });
    }

    /// The first generation tells the text of a thought alone, without its beginning and end.
    pub(super) fn think(&mut self, text: &str, told: &mut Told<'_>) {
        if text.is_empty() {
            return;
        }
        if self.thought.is_none() {
            self.begin_thought(told);
        }
        let Some(draft) = &mut self.thought else { return };
        draft.text.push_str(text);
        told.push(EventBody::Append { id: draft.id.clone(), to: AppendTo::Thought, part: 0, text: text.to_owned() });
    }

    pub(super) fn end_thought(&mut self, told: &mut Told<'_>) {
        if let Some(draft) = self.thought.take() {
            told.push(EventBody::Thought { id: draft.id, text: draft.text, active: false });
        }
    }

    pub(super) fn begin_compaction(&mut self, shown: &mut Shown, told: &mut Told<'_>) {
        let id = self.line();
        shown.add(&id, told.turn(), Piece::Summary(String::new()), false);
        told.marker(id.clone(), compacted("", true, false));
        self.compaction = Some(Draft { id, text: String::new(), is_shown: true });
    }

    pub(super) fn compact(&mut self, text: &str, shown: &mut Shown, told: &mut Told<'_>) {
        if self.compaction.is_none() {
            self.begin_compaction(shown, told);
        }
        let Some(draft) = &mut self.compaction else { return };
        draft.text.push_str(text);
        told.marker(draft.id.clone(), compacted(&draft.text, true, false));
    }

    pub(super) fn end_compaction(
        &mut self,
        applied: bool,
        summary: Option<String>,
        shown: &mut Shown,
        told: &mut Told<'_>,
    ) {
        if self.compaction.is_none() {
            self.begin_compaction(shown, told);
        }
        let Some(draft) = self.compaction.take() else { return };
        let text = summary.unwrap_or(draft.text);
        // One that changed nothing has no place in the history.
        let piece = if applied { Piece::Summary(text.clone()) } else { Piece::Other(draft.id.clone()) };
        shown.change(&draft.id, piece, true);
        told.marker(draft.id, compacted(&text, false, !applied));
    }

    /// The run is over with a compaction in the middle: it is not known to have changed anything.
    pub(super) fn drop_compaction(&mut self, shown: &mut Shown, told: &mut Told<'_>) {
        if let Some(draft) = self.compaction.take() {
            shown.change(&draft.id, Piece::Summary(draft.text.clone()), false);
            told.marker(draft.id, compacted(&draft.text, false, true));
        }
    }

    /// The end of the turn says the reason; what the server says about it is a line of its own.
    pub(super) fn model_stopped(&mut self, reason: String, message: Option<String>, told: &mut Told<'_>) {
        if let Some(words) = &message {
            let id = self.line();
            told.push(notice(id, NoticeLevel::Warning, NoticeCode::Server, words, Some(&reason)));
        }
        self.stopped = Some((reason, message));
    }

    /// A message that was sent into the run was taken in.
    pub(super) fn steered(&mut self, text: &str, shown: &mut Shown, told: &mut Told<'_>) {
        self.steering(SteeringPhase::Taken, None, told);
        self.steered += 1;
        let id = format!("{}.s{}", self.id, self.steered);
        shown.add(&id, told.turn(), Piece::User(text.to_owned()), true);
        told.message(&id, Role::User, text_parts(text), MessageState::Done);
    }

    pub(super) fn steering(&mut self, phase: SteeringPhase, text: Option<String>, told: &mut Told<'_>) {
        let id = self.line();
        told.marker(id, Marker::Steering { phase, text: text.filter(|text| !text.is_empty()) });
    }

    /// A message of the server's. One without a level tells of progress.
    pub(super) fn notice(&mut self, text: &str, level: Option<&str>, told: &mut Told<'_>) {
        let (level, word) = match level {
            None | Some("info") => (NoticeLevel::Info, None),
            Some("warn" | "warning") => (NoticeLevel::Warning, None),
            Some("error") => (NoticeLevel::Error, None),
            Some(other) => (NoticeLevel::Info, Some(other)),
        };
        let id = self.line();
        told.push(notice(id, level, NoticeCode::Server, text, word));
    }

    /// The model does something: whatever was asked is answered.
    pub(super) fn goes_on(&mut self, state: &mut SessionState, told: &mut Told<'_>) {
        if *state == SessionState::Waiting {
            self.settle_all(told);
            told.status(state, SessionState::Running);
        }
    }
}

fn compacted(summary: &str, active: bool, unchanged: bool) -> Marker {
    Marker::Compacted { summary: (!summary.is_empty()).then(|| whole(summary)), active, unchanged }
}
