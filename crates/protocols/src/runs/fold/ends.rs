//! How a run ends: its last frame, or the lack of one (runs-server page, §§5 and 8).

use contract::{
    event::{Event, EventBody, UsageScope},
    item::{MessageState, NoticeCode, NoticeLevel},
    session::{SessionState, StopReason},
};

use super::{
    Fold, asked,
    told::{Told, notice},
};
use crate::{
    Seen,
    runs::{
        errors,
        parse::{End, Outcome},
    },
};

impl Fold {
    /// The last frame of a run.
    pub(super) fn end(&mut self, end: End, seen: Seen, out: &mut Vec<Event>) {
        if !self.is_running() {
            // A second last frame, or the end of what was never seen to begin.
            if self.run.is_some() {
                return;
            }
            self.begin(None, out);
        }
        let stop = match end {
            End::Result(outcome) => self.result(*outcome, seen, out),
            End::Cancelled => {
                self.close(MessageState::Incomplete, out);
                StopReason::Stopped
            }
            End::Failed { word, message } => match self.failed(&word, message, out) {
                Some(stop) => stop,
                None => return,
            },
        };
        self.over(stop, out);
    }

    /// A frame that ends the run, of which nothing else could be read.
    pub(super) fn end_unread(&mut self, name: &str, raw: &str, seen: Seen, out: &mut Vec<Event>) {
        match name {
            "result" => self.end(End::Result(Box::default()), seen, out),
            "error" => self.end(End::Failed { word: String::new(), message: raw.to_owned() }, seen, out),
            _ => {}
        }
    }

    fn close(&mut self, state: MessageState, out: &mut Vec<Event>) {
        let Some(run) = self.run.as_mut() else { return };
        let mut told = Told::new(Some(run.id.clone()), out);
        run.tell_start(&mut told);
        run.close_texts(state, &mut self.shown, &mut told);
    }

    fn result(&mut self, outcome: Outcome, seen: Seen, out: &mut Vec<Event>) -> StopReason {
        // A stopped run ends with a frame like any other, around a text that was cut off (§8).
        let cut = self.run.as_ref().is_some_and(|run| run.is_stopping && !run.is_finished);
        let state = if cut { MessageState::Incomplete } else { MessageState::Done };
        self.close(state.clone(), out);
        let Some(run) = self.run.as_mut() else { return StopReason::EndTurn };
        let mut told = Told::new(Some(run.id.clone()), out);
        let event_id = format!("frame:{}", seen.position);
        run.repair(outcome.tools, &event_id, &mut self.shown, &mut told);
        // The text is that of the last step alone: it never replaces what was said.
        if !run.has_spoken {
            run.write(&outcome.text, &mut self.shown, &mut told);
            run.close_texts(state, &mut self.shown, &mut told);
        }
        if let Some(usage) = outcome.usage {
            told.usage(usage, UsageScope::Turn);
        }
        let said_last = run.stopped.take();
        let reason = match outcome.stop {
            Some(stop) => stop,
            None => said_last.as_ref().map(|(reason, _)| reason.clone()),
        };
        let words = outcome.stop_message.or_else(|| said_last.and_then(|(_, message)| message));
        reason.map_or(StopReason::EndTurn, |reason| stop_reason(reason, words))
    }

    /// `None` where there was nothing to do: then no turn is shown.
    fn failed(&mut self, word: &str, message: String, out: &mut Vec<Event>) -> Option<StopReason> {
        let run = self.run.as_mut()?;
        let id = run.line();
        if word == "nothing_to_do" && !run.is_told() {
            run.is_open = false;
            let mut told = Told::new(None, out);
            let words = if message.is_empty() { "There is nothing to take up again." } else { &message };
            told.push(notice(id, NoticeLevel::Info, NoticeCode::Server, words, None));
            told.push(EventBody::Resumable(None));
            told.status(&mut self.state, SessionState::Idle);
            return None;
        }
        self.close(MessageState::Incomplete, out);
        let turn = self.run.as_ref().map(|run| run.id.clone());
        let words = errors::advised(word, &message);
        let detail = (!word.is_empty()).then_some(word);
        Told::new(turn, out).push(notice(id, NoticeLevel::Error, NoticeCode::ErrorFatal, &words, detail));
        Some(match word {
            "timeout" => StopReason::TimedOut,
            _ => StopReason::Error { message: (!message.is_empty()).then_some(message) },
        })
    }

    /// The run is over.
    pub(super) fn over(&mut self, stop: StopReason, out: &mut Vec<Event>) {
        let Some(run) = self.run.as_mut() else { return };
        let mut told = Told::new(Some(run.id.clone()), out);
        run.tell_start(&mut told);
        run.drop_compaction(&mut self.shown, &mut told);
        run.abandon_calls(&mut self.shown);
        // What still was asked is void by the turn's end.
        for asking in &mut run.asked {
            asking.is_open = false;
        }
        run.is_open = false;
        told.push(EventBody::TurnEnded { stop });
        told.status(&mut self.state, SessionState::Idle);
        if let Some(raw) = self.later.take() {
            self.merge(&raw, out);
        }
    }

    /// A request of which only the beginning came. It is asked about all the same, and can only be refused.
    pub(super) fn cut_request(&mut self, kind: &str, call: Option<String>, beginning: &str, out: &mut Vec<Event>) {
        let is_question = kind == "question_asked";
        if kind != "approval_requested" && !is_question {
            return;
        }
        let (Some(run), Some(call)) = (self.run.as_mut().filter(|run| run.is_open), call) else { return };
        let mut told = Told::new(Some(run.id.clone()), out);
        let seed = asked::cut_seed(format!("{}:{call}", run.id), is_question, beginning);
        run.ask(&call, seed, &mut self.state, &mut told);
    }
}

/// The server's word for why the model stopped.
fn stop_reason(reason: String, words: Option<String>) -> StopReason {
    match reason.as_str() {
        "refusal" => StopReason::Refusal { explanation: words },
        "max_output" => StopReason::MaxTokens,
        "context_full" => StopReason::ContextFull,
        "paused" => StopReason::Paused,
        "interrupted" => StopReason::Interrupted,
        _ => StopReason::Other { word: reason },
    }
}
