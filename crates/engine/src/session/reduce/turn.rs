//! The current turn: times, bars of the timeline, usage.

use contract::{
    Millis,
    event::UsageScope,
    session::{Span, SpanKind, StopReason, Turn, Usage},
};

/// The turn being followed, and the session's usage.
#[derive(Debug, Default)]
pub struct TurnTrack {
    /// The current or last turn.
    pub turn: Option<Turn>,
    /// Usage of the whole session.
    pub session_usage: Usage,
    counted: u64,
    models: Vec<(String, usize)>,
    tools: Vec<(String, usize)>,
    waiting: Option<usize>,
}

/// The timeline keeps this many bars, the first of the turn: more could not be told apart on it.
const MAX_SPANS: usize = 400;

impl TurnTrack {
    /// A turn begins.
    pub fn start(&mut self, id: Option<String>, at: Millis) {
        let running = self.turn.as_ref().is_some_and(|turn| turn.ended_at.is_none());
        // The same turn going on after a pause is no new turn.
        if running && (id.is_none() || self.turn.as_ref().map(|turn| Some(&turn.id)) == Some(id.as_ref())) {
            return;
        }
        self.counted += 1;
        self.models.clear();
        self.tools.clear();
        self.waiting = None;
        self.turn = Some(Turn {
            id: id.unwrap_or_else(|| format!("turn {}", self.counted)),
            started_at: Some(at),
            ended_at: None,
            stop: None,
            usage: Usage::default(),
            spans: Vec::new(),
        });
    }

    /// Whether a turn goes on.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.turn.as_ref().is_some_and(|turn| turn.ended_at.is_none())
    }

    /// The turn ends.
    pub fn end(&mut self, stop: StopReason, at: Millis) {
        if let Some(turn) = &mut self.turn {
            turn.ended_at = Some(at);
            turn.stop = Some(stop);
            for span in &mut turn.spans {
                span.ended_at.get_or_insert(at);
            }
        }
        self.models.clear();
        self.tools.clear();
        self.waiting = None;
    }

    fn open(&mut self, kind: SpanKind, name: &str, at: Millis) -> Option<usize> {
        let turn = self.turn.as_mut()?;
        if turn.spans.len() >= MAX_SPANS {
            return None;
        }
        turn.spans.push(Span { kind, name: name.to_owned(), started_at: at, ended_at: None });
        Some(turn.spans.len() - 1)
    }

    fn close(&mut self, index: usize, at: Millis) {
        if let Some(span) = self.turn.as_mut().and_then(|turn| turn.spans.get_mut(index)) {
            span.ended_at = Some(at.max(span.started_at));
        }
    }

    /// A request to the model begins.
    pub fn model_started(&mut self, id: &str, at: Millis) {
        if !self.models.iter().any(|(known, _)| known == id)
            && let Some(index) = self.open(SpanKind::Model, "", at)
        {
            self.models.push((id.to_owned(), index));
        }
    }

    /// A request to the model ends.
    pub fn model_ended(&mut self, id: &str, at: Millis) {
        let found = self.models.iter().position(|(known, _)| known == id).or_else(|| self.models.len().checked_sub(1));
        if let Some(at_index) = found {
            let (_, index) = self.models.remove(at_index);
            self.close(index, at);
        }
    }

    /// A tool call begins.
    pub fn tool_started(&mut self, id: &str, name: &str, at: Millis) {
        if !self.tools.iter().any(|(known, _)| known == id)
            && let Some(index) = self.open(SpanKind::Tool, name, at)
        {
            self.tools.push((id.to_owned(), index));
        }
    }

    /// A tool call runs from now on: what was shown of it before was a wait.
    pub fn tool_begins(&mut self, id: &str, at: Millis) {
        let index = self.tools.iter().find(|(known, _)| known == id).map(|(_, index)| *index);
        if let Some(span) = index.and_then(|index| self.turn.as_mut()?.spans.get_mut(index)) {
            span.started_at = at;
        }
    }

    /// A tool call waits for the person: it does not run, and has no bar.
    pub fn tool_waits(&mut self, id: &str) {
        let Some(found) = self.tools.iter().position(|(known, _)| known == id) else { return };
        let (_, index) = self.tools.remove(found);
        let Some(turn) = &mut self.turn else { return };
        if index + 1 == turn.spans.len() {
            turn.spans.pop();
        } else if let Some(span) = turn.spans.get_mut(index) {
            span.ended_at = Some(span.started_at);
        }
    }

    /// A tool call ends.
    pub fn tool_ended(&mut self, id: &str, at: Millis) {
        if let Some(found) = self.tools.iter().position(|(known, _)| known == id) {
            let (_, index) = self.tools.remove(found);
            self.close(index, at);
        }
    }

    /// The turn waits for the person, or no longer.
    pub fn waits(&mut self, waits: bool, at: Millis) {
        match (waits, self.waiting) {
            (true, None) => self.waiting = self.open(SpanKind::You, "", at),
            (false, Some(index)) => {
                self.close(index, at);
                self.waiting = None;
            }
            (true, Some(_)) | (false, None) => {}
        }
    }

    /// Usage of the whole session as it is shown. The server tells it now and then, that of a turn call by call: the
    /// whole is never less than its last turn.
    #[must_use]
    pub fn whole_usage(&self) -> Usage {
        let mut whole = self.session_usage.clone();
        let Some(turn) = self.turn.as_ref().map(|turn| &turn.usage) else { return whole };
        whole.input_tokens = at_least(whole.input_tokens, turn.input_tokens);
        whole.output_tokens = at_least(whole.output_tokens, turn.output_tokens);
        whole.cache_read_tokens = at_least(whole.cache_read_tokens, turn.cache_read_tokens);
        whole.cache_write_tokens = at_least(whole.cache_write_tokens, turn.cache_write_tokens);
        let amount = |text: &Option<String>| text.as_deref().and_then(billionths);
        if amount(&whole.credits).is_some_and(|known| amount(&turn.credits).is_some_and(|spent| spent > known)) {
            whole.credits.clone_from(&turn.credits);
        }
        whole
    }

    /// When the request to the model that runs now began.
    #[must_use]
    pub fn model_since(&self) -> Option<Millis> {
        let (_, index) = self.models.last()?;
        self.turn.as_ref()?.spans.get(*index).map(|span| span.started_at)
    }

    /// Usage numbers.
    pub fn usage(&mut self, usage: Usage, scope: UsageScope) {
        match scope {
            UsageScope::Session => self.session_usage = overwritten(&self.session_usage, usage),
            UsageScope::Turn => {
                if let Some(turn) = &mut self.turn {
                    turn.usage = overwritten(&turn.usage, usage);
                }
            }
            UsageScope::Call => {
                if let Some(turn) = &mut self.turn {
                    turn.usage = added(&turn.usage, &usage);
                }
            }
        }
    }
}

/// The larger of two counts, where the first is known at all.
fn at_least<T: PartialOrd>(known: Option<T>, other: Option<T>) -> Option<T> {
    match (known, other) {
        (Some(known), Some(other)) if other > known => Some(other),
        (known, _) => known,
    }
}

/// Snapshots overwrite; what a snapshot does not say stays.
fn overwritten(old: &Usage, new: Usage) -> Usage {
    Usage {
        input_tokens: new.input_tokens.or(old.input_tokens),
        output_tokens: new.output_tokens.or(old.output_tokens),
        cache_read_tokens: new.cache_read_tokens.or(old.cache_read_tokens),
        cache_write_tokens: new.cache_write_tokens.or(old.cache_write_tokens),
        credits: new.credits.or_else(|| old.credits.clone()),
        cost: new.cost.or_else(|| old.cost.clone()),
        reasoning_tokens: new.reasoning_tokens.or(old.reasoning_tokens),
        requests: new.requests.or(old.requests),
        model_ms: new.model_ms.or(old.model_ms),
    }
}

fn added(old: &Usage, new: &Usage) -> Usage {
    let sum = |a: Option<u64>, b: Option<u64>| match (a, b) {
        (None, None) => None,
        (a, b) => Some(a.unwrap_or(0).saturating_add(b.unwrap_or(0))),
    };
    Usage {
        input_tokens: sum(old.input_tokens, new.input_tokens),
        output_tokens: sum(old.output_tokens, new.output_tokens),
        cache_read_tokens: sum(old.cache_read_tokens, new.cache_read_tokens),
        cache_write_tokens: sum(old.cache_write_tokens, new.cache_write_tokens),
        credits: add_decimals(old.credits.as_deref(), new.credits.as_deref()),
        cost: new.cost.clone().or_else(|| old.cost.clone()),
        reasoning_tokens: sum(old.reasoning_tokens, new.reasoning_tokens),
        requests: sum(old.requests, new.requests),
        model_ms: sum(old.model_ms, new.model_ms),
    }
}

/// Adds decimal texts exactly, up to nine places.
fn add_decimals(a: Option<&str>, b: Option<&str>) -> Option<String> {
    let (a, b) = match (a, b) {
        (Some(a), Some(b)) => (a, b),
        (one, other) => return one.or(other).map(str::to_owned),
    };
    let (Some(left), Some(right)) = (billionths(a), billionths(b)) else { return Some(b.to_owned()) };
    let sum = left + right;
    let text = format!("{}.{:09}", sum / 1_000_000_000, sum % 1_000_000_000);
    Some(text.trim_end_matches('0').trim_end_matches('.').to_owned())
}

fn billionths(text: &str) -> Option<u128> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let part = format!("{part:0<9}");
    whole.parse::<u128>().ok()?.checked_mul(1_000_000_000)?.checked_add(part.get(..9)?.parse().ok()?)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn a_turn_that_goes_on_after_a_pause_is_the_same_turn() {
        let mut track = TurnTrack::default();
        track.start(None, 1);
        track.waits(true, 5);
        track.start(None, 9);
        track.waits(false, 9);
        let turn = track.turn.as_ref().unwrap();
        assert_eq!((turn.started_at, turn.spans.len()), (Some(1), 1));
        assert_eq!(turn.spans[0].ended_at, Some(9));
    }

    #[test]
    fn the_end_of_a_turn_closes_every_bar() {
        let mut track = TurnTrack::default();
        track.start(Some("t".into()), 1);
        track.model_started("m", 2);
        track.tool_started("c", "Bash", 3);
        track.tool_ended("c", 4);
        track.end(StopReason::EndTurn, 10);
        let ends: Vec<_> = track.turn.unwrap().spans.iter().map(|span| span.ended_at).collect();
        assert_eq!(ends, [Some(10), Some(4)]);
    }

    #[test]
    fn snapshots_overwrite_and_calls_add() {
        let mut track = TurnTrack::default();
        track.start(None, 0);
        let call = Usage { input_tokens: Some(5), credits: Some("0.25".into()), ..Usage::default() };
        track.usage(call.clone(), UsageScope::Call);
        track.usage(call, UsageScope::Call);
        track.usage(Usage { credits: Some("4.63".into()), ..Usage::default() }, UsageScope::Session);
        track.usage(Usage { credits: Some("4.63".into()), ..Usage::default() }, UsageScope::Session);
        let turn = track.turn.unwrap();
        assert_eq!((turn.usage.input_tokens, turn.usage.credits.as_deref()), (Some(10), Some("0.5")));
        assert_eq!(track.session_usage.credits.as_deref(), Some("4.63"));
    }

    #[test]
    fn the_whole_session_never_shows_less_than_its_last_turn() {
        let mut track = TurnTrack::default();
        track.start(None, 0);
        let call = Usage { input_tokens: Some(70), credits: Some("9.5".into()), ..Usage::default() };
        track.usage(call, UsageScope::Call);
        assert_eq!(track.whole_usage(), Usage::default(), "what the server does not count is not made up");
        track.usage(Usage { credits: Some("3".into()), ..Usage::default() }, UsageScope::Session);
        assert_eq!(track.whole_usage(), Usage { credits: Some("9.5".into()), ..Usage::default() });
        track.usage(Usage { credits: Some("12".into()), ..Usage::default() }, UsageScope::Session);
        assert_eq!(track.whole_usage().credits.as_deref(), Some("12"));
    }
}
