//! Items: what an event shows, whether it comes now or is read back.

use contract::{
    event::{EventBody, Permission},
    item::{Marker, MessageState, Part, Role},
    request::{ChoiceKind, RequestKind},
    wire::Origin,
};

use super::{
    super::{
        calls::Announced,
        parts::text_part,
        said::{Judged, What},
    },
    Asked, Fold,
    told::{Told, message},
};
use crate::Seen;

impl Fold {
    /// Events that make the same items in both directions.
    pub(super) fn item(&mut self, id: String, what: What, told: &mut Told<'_>) {
        match what {
            What::Confirmed { call, choice, reason } => {
                let mut bodies = Vec::new();
                self.calls.settle(call, choice, reason, &id, Vec::new(), &mut bodies);
                told.extend(bodies);
            }
            What::ClientResult { call, output, is_error } => {
                let choice = if is_error { ChoiceKind::ReportError } else { ChoiceKind::Answer };
                let mut bodies = Vec::new();
                self.calls.settle(call, Some(choice), None, &id, output, &mut bodies);
                told.extend(bodies);
            }
            What::ToolResult { call, name, output, is_error } => {
                let mut bodies = Vec::new();
                let call = self.calls.result(&id, &call, name.as_deref(), told.turn.as_deref(), &mut bodies);
                told.extend(bodies);
                told.push_last(EventBody::ToolResult { id, call, name, output, is_error });
            }
            What::GoalSet { goal, description, rubric } => told.push(EventBody::Goal {
                id,
                goal,
                description,
                rubric,
                iteration: None,
                verdict: None,
                explanation: None,
                evaluating: false,
            }),
            What::Judged(judged) => self.judged(id, judged, told),
            What::SystemMessage { parts } => told.push(message(id, Role::System, parts, MessageState::Done)),
            What::Artifact(artifact) => told.push(EventBody::Artifact { id, artifact }),
            What::ThreadMessage { with, role, parts } => {
                told.thread = Some(with).filter(|with| !with.is_empty() && self.own_thread.as_ref() != Some(with));
                told.push(message(id, role, parts, MessageState::Done));
            }
            What::Compacted => told.push(EventBody::Marker {
                id,
                marker: Marker::Compacted { summary: None, active: false, unchanged: false },
            }),
            What::Progress { key, notice } => told.push(EventBody::Notice { id: key, notice }),
            What::Unknown { what, raw } => told.push(EventBody::Unknown { id, what, raw }),
            _ => {}
        }
    }

    pub(super) fn user_message(
        &mut self,
        id: String,
        parts: Vec<Part>,
        unprocessed: bool,
        named: Option<&str>,
        seen: Seen,
        told: &mut Told<'_>,
    ) {
        let asked = match self.messages.get(&id) {
            Some(known) => {
                let known = known.clone();
                if seen.origin == Origin::Stream {
                    self.now.turns.message_came(&id);
                }
                Asked { is_queued: known.is_queued && unprocessed, ..known }
            }
            None => {
                // Not taken up yet, and something else runs: it waits at the server. Clones never fill the time in.
                let is_queued = unprocessed && self.now.turns.runs();
                let turn = self.now.turns.message(&id, named, told.at, seen.origin == Origin::Answer);
                Asked { turn, is_queued }
            }
        };
        told.turn = named.map(str::to_owned).or_else(|| Some(asked.turn.clone()));
        let state = if asked.is_queued { MessageState::Queued } else { MessageState::Done };
        self.messages.insert(id.clone(), asked);
        told.push(message(id, Role::User, parts, state));
    }

    pub(super) fn agent_message(
        &mut self,
        id: String,
        parts: Vec<Part>,
        raw_message: Option<String>,
        chunk_of: Option<String>,
        live: bool,
        told: &mut Told<'_>,
    ) {
        let fit = self.drafts.take(&id, raw_message.as_deref(), &parts);
        let chunk_of = chunk_of.filter(|_| {
            !fit.had_draft && raw_message.is_none() && told.thread.is_none() && !self.tails.contains_key(&id)
        });
        let lane = if live { &mut self.now } else { &mut self.past };
        let mut bodies = Vec::new();
        if let Some(turn) = chunk_of {
            lane.replies.take(id, turn, parts, live, &mut bodies);
            let last = bodies.pop();
            told.extend(bodies);
            if let Some(last) = last {
                told.push_last(last);
            }
            return;
        }
        if told.thread.is_none() {
            lane.replies.end(&mut bodies);
            told.extend(bodies);
        }
        let before = fit.before.or_else(|| self.tails.get(&id).cloned());
        let parts = match before {
            Some(before) => {
                let parts = joined_behind(&before, parts);
                self.tails.insert(id.clone(), before);
                parts
            }
            None => parts,
        };
        told.push_last(EventBody::Message {
            id,
            replaces: fit.replaces,
            role: Role::Agent,
            parts,
            state: MessageState::Done,
        });
    }

    pub(super) fn thinking(
        &mut self,
        id: String,
        text: String,
        message: Option<String>,
        live: bool,
        told: &mut Told<'_>,
    ) {
        let had_draft = self.drafts.take_thought(&id);
        if self.drafts.has_shown_thought(message.as_deref(), &text) {
            // A raw message showed it already, block by block.
            return;
        }
        // Without a preview this event is the beginning: the agent thinks until something else comes.
        told.push(EventBody::Thought { id, text, active: live && !had_draft });
    }

    pub(super) fn tool_use(&mut self, id: String, call: Use, in_past: bool, told: &mut Told<'_>) {
        let mut bodies = Vec::new();
        let is_client = call.kind == RequestKind::ClientTool;
        self.calls.announced(
            &Announced {
                id: &id,
                kind: call.kind,
                name: &call.name,
                source: call.source.as_deref(),
                input: &call.input,
                turn: told.turn.as_deref(),
                thread: told.thread.as_deref(),
                asks: call.permission == Permission::Ask || is_client,
                at_once: is_client && self.dialect.client_tools_at_once,
                in_past,
            },
            &mut bodies,
        );
        let Use { name, source, input, permission, .. } = call;
        let body = EventBody::ToolCall { id, name, source, input, permission };
        if bodies.is_empty() {
            return told.push_last(body);
        }
        told.push(body);
        told.extend(bodies);
    }

    pub(super) fn judged(&mut self, id: String, judged: Judged, told: &mut Told<'_>) {
        let key = (judged.goal.clone(), judged.iteration);
        let begun = judged.start.clone().or_else(|| self.evaluations.get(&key).cloned()).unwrap_or(id);
        self.evaluations.insert(key, begun.clone());
        told.push(EventBody::Goal {
            id: begun,
            goal: judged.goal,
            description: None,
            rubric: None,
            iteration: judged.iteration,
            verdict: judged.verdict,
            explanation: judged.explanation,
            evaluating: judged.evaluating,
        });
    }
}

/// The turn whose reply a message may be a chunk of; `None` where it can be none.
pub(super) fn chunk_key(named: Option<String>, is_bare: bool) -> Option<String> {
    named.or_else(|| is_bare.then(String::new))
}

/// A tool call as its event has it.
pub(super) struct Use {
    pub(super) name: String,
    pub(super) source: Option<String>,
    pub(super) input: String,
    pub(super) permission: Permission,
    pub(super) kind: RequestKind,
}

/// Parts behind a text that was shown before them.
pub(super) fn joined_behind(before: &str, mut parts: Vec<Part>) -> Vec<Part> {
    match parts.first_mut() {
        Some(Part::Text(first)) => {
            first.text.insert_str(0, before);
            first.chars += before.chars().count() as u64;
        }
        _ => parts.insert(0, text_part(before)),
    }
    parts
}
