//! Tool calls: those the server runs inline, those that wait for the client, and what follows the answers (§2.3, §4).

use serde_json::json;

use super::{Broken, Player, pace, tell::Voice};
use crate::{
    runs::output_of,
    scenario::{Call, Step},
    turns::{
        agents,
        config::Party,
        desk::{Answer, Held, HeldCall},
        shape::{Content, Message, ResultOut},
    },
};

/// What a model gets where a tool was cancelled.
const CANCELLED: &str = "Cancelled by the user.";

/// What a model gets for a tool nobody has.
const UNKNOWN: &str = "Unknown tool.";

/// In which order calls end: those named first, then the others.
fn order(count: usize, finish: &[usize]) -> Vec<usize> {
    let mut order: Vec<usize> = finish.iter().copied().filter(|at| *at < count).collect();
    order.extend((0..count).filter(|at| !finish.contains(at)));
    order
}

impl Player {
    /// Calls of one step. The second part of each: by the script it is not the server's alone.
    pub(super) async fn calls(&mut self, calls: Vec<(Call, bool)>, finish: &[usize]) -> Result<(), Broken> {
        let calls = self.announced(calls).await;
        self.outputs.clear();
        for at in order(calls.len(), finish) {
            if let Some(call) = calls.get(at).filter(|call| call.party == Party::Server) {
                self.run_inline(call).await;
            }
        }
        self.commit();
        let waiting: Vec<HeldCall> = calls.iter().filter(|call| call.party != Party::Server).cloned().collect();
        let inline = calls.iter().filter(|call| call.party == Party::Server);
        let follows: Vec<Step> = inline.flat_map(|call| call.call.allow.clone()).collect();
        for step in follows.into_iter().rev() {
            self.steps.push_front(step);
        }
        if waiting.is_empty() {
            // The model is shown what was recorded (§7.5), but for calls it waits for as well: so it was measured.
            if self.manner.faults.duplicate_results {
                self.outputs = self.outputs.iter().flat_map(|output| [output.clone(), output.clone()]).collect();
            }
            return Ok(());
        }
        let held = Held {
            calls: waiting,
            rest: std::mem::take(&mut self.steps),
            message: self.message.clone(),
            outputs: self.outputs.clone(),
        };
        self.with(|session| session.held = Some(held));
        match self.voice {
            Voice::Turn(_) => Err(Broken::Waits),
            Voice::Session => {
                self.answered_one_by_one().await;
                Ok(())
            }
        }
    }

    /// Tells the calls and puts them behind the message they belong to.
    async fn announced(&mut self, calls: Vec<(Call, bool)>) -> Vec<HeldCall> {
        self.end_message();
        let (mut known, mut first) = (Vec::new(), None);
        for (call, gated) in calls {
            pace::pause(&self.world, &self.session, 30).await;
            let id = self.world.turns.change(super::super::desk::Desk::next_call);
            let party = self.with(|session| Some(session.setup.party(&call, gated)));
            let input = if call.input.is_null() { json!({}) } else { call.input.clone() };
            let call = Call { input, ..call };
            let held = HeldCall { id, party: party.unwrap_or(Party::Nobody), call, answer: None, done: false };
            let event = self.tell_call(&held.shown());
            first = first.or(event);
            known.push(held);
        }
        let shown: Vec<_> = known.iter().map(HeldCall::shown).collect();
        self.close_with(&shown, first);
        known
    }

    /// What a tool of the server gives back.
    fn content(&self, call: &Call) -> Content {
        let content = match call.content.clone().map(serde_json::from_value) {
            Some(Ok(content)) => content,
            _ if call.result.is_empty() && call.result_bytes == 0 => {
                Content::Text(agents::outcome(&call.name, &call.input))
            }
            _ => Content::Text(output_of(call)),
        };
        match serde_json::to_string(&content) {
            Ok(text) if self.manner.faults.json_results => Content::Text(text),
            _ => content,
        }
    }

    async fn run_inline(&mut self, held: &HeldCall) {
        pace::pause(&self.world, &self.session, held.call.ms).await;
        let content = self.content(&held.call);
        self.outputs.push(content.quoted());
        let id = self.tell_result(&ResultOut { tool_call_id: held.id.clone(), content: content.clone() });
        self.produce(Message::tool(&held.id, content.clone()), id);
        if self.manner.faults.duplicate_results {
            self.stage(Message::tool(&held.id, content));
        }
    }

    /// Carries one answer out.
    pub(super) async fn settle(&mut self, held: &HeldCall, answer: Answer) {
        match answer {
            Answer::Result(content, id) => {
                self.outputs.push(content.quoted());
                let mut entry = self.world.turns.entry(Message::tool(&held.id, content));
                entry.id = id.unwrap_or(entry.id);
                self.staged.push(entry);
            }
            Answer::Granted => {
                pace::pause(&self.world, &self.session, held.call.ms).await;
                let known = held.party == Party::Person;
                let content = if known { self.content(&held.call) } else { Content::Text(UNKNOWN.to_owned()) };
                self.outputs.push(content.quoted());
                if self.manner.faults.no_granted_result {
                    self.stage(Message::tool(&held.id, content));
                } else {
                    let id = self.tell_result(&ResultOut { tool_call_id: held.id.clone(), content: content.clone() });
                    self.produce(Message::tool(&held.id, content), id);
                }
            }
            Answer::Denied(reason) => {
                let denial = &self.manner.denial;
                let text = match reason.filter(|reason| !reason.is_empty()) {
                    Some(reason) => format!("{denial}: {reason}"),
                    None => denial.clone(),
                };
                self.outputs.push(text.clone());
                self.stage(Message::tool(&held.id, Content::Text(text)));
            }
        }
    }

    /// Puts what follows the answers in front of what is left of the script.
    pub(super) fn follow(&mut self, answered: &[(HeldCall, Answer)], rest: impl IntoIterator<Item = Step>) {
        let branches = answered.iter().flat_map(|(held, answer)| {
            if matches!(answer, Answer::Denied(_)) { held.call.deny.clone() } else { held.call.allow.clone() }
        });
        self.steps = branches.collect();
        self.steps.extend(rest);
    }

    /// v4: answers come alone, and each is carried out as it comes.
    pub(super) async fn answered_one_by_one(&mut self) {
        let mut answered = Vec::new();
        loop {
            let session = self.session.clone();
            let next = self.world.turns.until(move |desk| {
                let calls = desk.session(&session).and_then(|session| session.held.as_ref());
                // Without a session or without calls nothing is left to wait for.
                let Some(held) = calls else { return Some(None) };
                let open = held.calls.iter().filter(|call| !call.done);
                let (mut left, mut ready) = (0, None);
                for call in open {
                    left += 1;
                    ready = ready.or_else(|| Some((call.clone(), call.answer.clone()?)));
                }
                if left == 0 { Some(None) } else { ready.map(Some) }
            });
            let Some((held, answer)) = next.await else { break };
            self.settle(&held, answer.clone()).await;
            self.with(|session| {
                let calls = session.held.iter_mut().flat_map(|held| &mut held.calls);
                calls.filter(|call| call.id == held.id).for_each(|call| call.done = true);
            });
            self.commit();
            answered.push((held, answer));
        }
        let rest = self.with(|session| session.held.take()).map(|held| held.rest).unwrap_or_default();
        self.follow(&answered, rest);
    }

    /// The work is cut off: calls that wait are answered for the client.
    pub(super) fn cancelled(&mut self) {
        self.close_with(&[], None);
        self.drop_calls(CANCELLED);
        self.commit();
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::order;

    #[test]
    fn calls_end_in_the_order_of_the_script_and_each_once() {
        assert_eq!(order(3, &[]), [0, 1, 2]);
        assert_eq!(order(3, &[2, 0, 9]), [2, 0, 1]);
    }
}
