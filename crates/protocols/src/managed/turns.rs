//! Which turn an event belongs to: `turn_id` where the wire has it, else the brackets from running to idle (Qoder page,
//! section 9; Claude page, section 6).

use contract::{Millis, session::StopReason};

use super::said::Stop;

/// The turn that is open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Turn {
    /// The wire's id, or one made from the event that opened it.
    pub id: String,
    /// The event that opened it.
    pub opened_by: String,
    /// The wire named it.
    pub is_named: bool,
    /// Something of it ran.
    pub has_started: bool,
    /// Its message was seen.
    pub has_message: bool,
    /// Its usage was told as a whole: single calls do not add to it.
    pub usage_told: bool,
}

/// A message posted from here, until the server takes it up.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Posted {
    message: String,
    at: Option<Millis>,
}

/// The turns of one reading direction.
#[derive(Debug, Default)]
pub(super) struct Turns {
    open: Option<Turn>,
    last: Option<Turn>,
    posted: Option<Posted>,
    /// The posted message's turn while a server replays what was before it.
    parked: Option<Turn>,
    /// A stop was seen in the open turn.
    pub is_interrupted: bool,
    /// The newest error's words, for a turn that ends by it.
    pub error: Option<String>,
}

/// What an idle event ends.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Ends {
    /// The open turn.
    Open,
    /// A turn before the open one: the open one goes on (Qoder page, section 14.16).
    Earlier(Option<String>),
    /// None that is known.
    Nothing,
}

impl Turns {
    /// The open turn's id, else the last one's: what comes late still belongs to it.
    pub(super) fn current(&self) -> Option<&str> {
        self.open.as_ref().or(self.last.as_ref()).map(|turn| turn.id.as_str())
    }

    /// Whether a turn runs.
    pub(super) fn runs(&self) -> bool {
        self.open.as_ref().is_some_and(|turn| turn.has_started)
    }

    /// A message of the person. `posted`: it was sent from here, this is the server's answer to that.
    pub(super) fn message(&mut self, id: &str, named: Option<&str>, at: Option<Millis>, posted: bool) -> String {
        if posted {
            self.posted = Some(Posted { message: id.to_owned(), at });
        } else if self.posted.as_ref().is_some_and(|posted| posted.message == id) {
            self.posted = None;
        } else if self.posted.is_some() && !self.runs() {
            // Another message while ours was not taken up yet: a server that replays its history from the start.
            let before = self.open.take();
            self.parked = before.filter(|turn| self.posted_is(turn)).or(self.parked.take());
        }
        match (&mut self.open, named) {
            (Some(turn), Some(named)) if turn.id == named => {
                turn.has_message = true;
                turn.id.clone()
            }
            (Some(turn), None) => {
                turn.has_message = true;
                turn.id.clone()
            }
            // A message that waits for its own turn must not end the running one.
            (Some(turn), Some(named)) if turn.has_started => named.to_owned(),
            (_, named) => {
                let turn = Turn::new(named, id);
                let turn = Turn { has_message: true, ..turn };
                let id = turn.id.clone();
                self.open = Some(turn);
                id
            }
        }
    }

    /// The stream echoes a message that is known: if it was posted from here, it is taken up.
    pub(super) fn message_came(&mut self, id: &str) {
        if self.posted.as_ref().is_some_and(|posted| posted.message == id) {
            self.posted = None;
        }
        if self.open.is_none() && self.parked.as_ref().is_some_and(|parked| parked.opened_by == id) {
            self.open = self.parked.take();
        }
    }

    /// A run begins, or goes on after a pause. True where a turn starts by it.
    pub(super) fn run(&mut self, id: &str, named: Option<&str>, at: Option<Millis>) -> bool {
        let is_older = self.is_before_posted(at);
        if !is_older {
            self.posted = None;
        }
        let continues = self.open.as_ref().is_some_and(|turn| {
            (!is_older || turn.has_started)
                && named.is_none_or(|named| turn.id == named || (!turn.is_named && !turn.has_started))
        });
        if !continues {
            if let Some(before) = self.open.take() {
                self.last = Some(before);
            }
            // The posted message's echo may have been told as known: then its turn is the one that runs now.
            let parked = self.parked.take_if(|_| !is_older && named.is_none());
            self.open = Some(parked.unwrap_or_else(|| Turn::new(named, id)));
            self.is_interrupted = false;
            self.error = None;
        }
        let Some(turn) = &mut self.open else { return false };
        if let (Some(named), false) = (named, turn.is_named) {
            turn.id = named.to_owned();
            turn.is_named = true;
        }
        let starts = !turn.has_started;
        turn.has_started = true;
        starts
    }

    /// The agent does something. `opens`: without a turn this means that one runs. True where a turn starts by it.
    pub(super) fn act(&mut self, id: &str, named: Option<&str>, at: Option<Millis>, opens: bool) -> bool {
        let fits = match (&self.open, named) {
            (Some(turn), Some(named)) => turn.id == named || (!turn.is_named && !turn.has_started),
            (Some(_), None) => true,
            (None, Some(named)) if self.last.as_ref().is_some_and(|last| last.id == named) => return false,
            (None, Some(_)) => false,
            (None, None) if opens => false,
            (None, None) => return false,
        };
        match (&self.open, fits) {
            (Some(turn), true) if turn.has_started => false,
            (Some(_), true) if self.is_before_posted(at) => false,
            (Some(turn), false) if turn.has_started => false,
            _ => self.run(id, named, at),
        }
    }

    /// What an idle event ends.
    pub(super) fn idle(&self, named: Option<&str>, at: Option<Millis>) -> Ends {
        let last = || self.last.as_ref().map(|turn| turn.id.clone());
        match (&self.open, named) {
            (None, _) => Ends::Nothing,
            (Some(turn), Some(named)) if turn.is_named && turn.id != named => Ends::Earlier(Some(named.to_owned())),
            (Some(turn), named) if !turn.has_started => Ends::Earlier(named.map(str::to_owned).or_else(last)),
            (Some(turn), named) if self.is_before_posted(at) && self.posted_is(turn) => {
                Ends::Earlier(named.map(str::to_owned).or_else(last))
            }
            (Some(_), _) => Ends::Open,
        }
    }

    /// The open turn is over; returns it.
    pub(super) fn end(&mut self) -> Option<Turn> {
        let turn = self.open.take();
        if turn.is_some() {
            self.last.clone_from(&turn);
        }
        self.is_interrupted = false;
        self.error = None;
        turn
    }

    /// The turn whose usage single calls add to; false where it was told as a whole already.
    pub(super) fn counts_calls(&self) -> bool {
        !self.open.as_ref().or(self.last.as_ref()).is_some_and(|turn| turn.usage_told)
    }

    /// The open turn's usage was told as a whole.
    pub(super) fn usage_told(&mut self) {
        if let Some(turn) = self.open.as_mut().or(self.last.as_mut()) {
            turn.usage_told = true;
        }
    }

    fn posted_is(&self, turn: &Turn) -> bool {
        self.posted.as_ref().is_some_and(|posted| turn.opened_by == posted.message)
    }

    /// The server itself dates this before the message that was posted: both times are its own.
    fn is_before_posted(&self, at: Option<Millis>) -> bool {
        matches!((at, self.posted.as_ref().and_then(|posted| posted.at)), (Some(at), Some(posted)) if at < posted)
    }
}

impl Turn {
    fn new(named: Option<&str>, opened_by: &str) -> Self {
        Self {
            id: named.map_or_else(|| made_id(opened_by), str::to_owned),
            opened_by: opened_by.to_owned(),
            is_named: named.is_some(),
            has_started: false,
            has_message: false,
            usage_told: false,
        }
    }
}

fn made_id(opened_by: &str) -> String {
    format!("turn:{opened_by}")
}

/// How a turn ended, from the server's word. A stop asked for by a person counts as one even where the server says
/// `end_turn` (Claude page, section 6).
pub(super) fn reason(stop: &Stop, is_interrupted: bool, error: Option<String>) -> StopReason {
    match stop.word.as_deref() {
        Some("cancel" | "cancelled" | "canceled" | "interrupted" | "interrupt" | "stopped") => StopReason::Stopped,
        Some("end_turn") | None if is_interrupted => StopReason::Stopped,
        Some("end_turn") | None => StopReason::EndTurn,
        Some("requires_action") => StopReason::RequiresAction,
        Some("max_turns") => StopReason::MaxTurns,
        Some("max_tokens") => StopReason::MaxTokens,
        Some("budget_reached" | "budget_exceeded") => StopReason::Budget,
        Some("refusal") => StopReason::Refusal { explanation: stop.explanation.clone() },
        Some("error" | "retries_exhausted") => StopReason::Error { message: stop.explanation.clone().or(error) },
        Some(word) => StopReason::Other { word: word.to_owned() },
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn stop(word: &str) -> Stop {
        Stop { word: (!word.is_empty()).then(|| word.to_owned()), ..Stop::default() }
    }

    #[test]
    fn every_word_for_an_end_has_its_meaning_and_unknown_ones_stay_verbatim() {
        for (word, expected) in [
            ("end_turn", StopReason::EndTurn),
            ("", StopReason::EndTurn),
            ("cancel", StopReason::Stopped),
            ("cancelled", StopReason::Stopped),
            ("interrupted", StopReason::Stopped),
            ("max_turns", StopReason::MaxTurns),
            ("budget_reached", StopReason::Budget),
            ("error", StopReason::Error { message: Some("boom".into()) }),
            ("retries_exhausted", StopReason::Error { message: Some("boom".into()) }),
            ("sunset", StopReason::Other { word: "sunset".into() }),
        ] {
            assert_eq!(reason(&stop(word), false, Some("boom".into())), expected, "{word}");
        }
    }

    #[test]
    fn an_end_turn_after_an_interrupt_is_a_stop() {
        assert_eq!(reason(&stop("end_turn"), true, None), StopReason::Stopped);
        assert_eq!(reason(&stop("max_turns"), true, None), StopReason::MaxTurns);
    }

    #[test]
    fn running_before_or_after_the_message_is_one_turn() {
        let mut turns = Turns::default();
        let before = turns.message("m1", None, None, false);
        assert!(turns.run("r1", None, None));
        assert_eq!(turns.current(), Some(before.as_str()));
        assert!(turns.end().is_some());

        assert!(turns.run("r2", None, None));
        assert_eq!(turns.message("m2", None, None, false), "turn:r2");
        assert!(!turns.run("r3", None, None), "going on after a pause starts nothing");
    }

    #[test]
    fn an_idle_before_the_posted_message_ran_ends_an_earlier_turn() {
        let mut turns = Turns::default();
        turns.message("m1", None, Some(100), true);
        assert_eq!(turns.idle(None, Some(50)), Ends::Earlier(None));
        turns.run("r1", None, Some(110));
        assert_eq!(turns.idle(None, Some(120)), Ends::Open);
    }

    #[test]
    fn a_replayed_earlier_turn_does_not_end_the_posted_one() {
        let mut turns = Turns::default();
        turns.message("m2", None, None, true);
        turns.message("m1", None, None, false);
        turns.run("r1", None, None);
        assert_eq!(turns.idle(None, None), Ends::Open);
        assert_eq!(turns.end().unwrap().id, "turn:m1");
    }

    #[test]
    fn the_posted_turn_outlives_a_replay_of_several_messages_and_of_its_own_unseen_echo() {
        let mut turns = Turns::default();
        turns.message("m3", None, None, true);
        turns.message("m1", None, None, false);
        turns.message("m2", None, None, false);
        turns.run("r2", None, None);
        assert_eq!(turns.end().unwrap().id, "turn:m2");
        turns.run("r3", None, None);
        assert_eq!(turns.current(), Some("turn:m3"));
    }

    #[test]
    fn an_idle_that_names_another_turn_ends_that_one() {
        let mut turns = Turns::default();
        turns.run("r2", Some("turn_2"), None);
        assert_eq!(turns.idle(Some("turn_1"), None), Ends::Earlier(Some("turn_1".into())));
        assert_eq!(turns.idle(Some("turn_2"), None), Ends::Open);
    }
}
