//! History that is read backwards: it makes items and changes no state.

use contract::{
    event::{Event, EventBody},
    item::{Marker, MessageState, Role},
    session::StopReason,
};

use super::{
    super::{
        said::{Said, What},
        turns::reason,
    },
    Fold, ends_reply,
    items::{Use, chunk_key},
    told::{Told, end_marker, message},
};
use crate::Seen;

impl Fold {
    /// History read backwards: items, and what now waits or was settled since. The session's state is known better.
    pub(super) fn past_event(&mut self, said: Said, seen: Seen, out: &mut Vec<Event>) {
        let Said { at, turn: named, thread, id, is_bare, what } = said;
        let is_own = thread.is_none();
        let turns = &mut self.past.turns;
        match &what {
            What::UserMessage { .. } | What::PreviewStart { .. } | What::PreviewDelta { .. } => {}
            What::Running => {
                turns.run(&id, named.as_deref(), at);
            }
            _ if is_own => {
                turns.act(&id, named.as_deref(), at, !matches!(what, What::Idle { .. } | What::ModelEnded { .. }));
            }
            _ => {}
        }
        if is_own && ends_reply(&what) {
            let mut bodies = Vec::new();
            self.past.replies.end(&mut bodies);
        }
        let turn = named.clone().or_else(|| self.past.turns.current().map(str::to_owned));
        let mut told = Told { at, turn, thread, out };
        match what {
            What::UserMessage { parts, unprocessed } => match self.messages.get(&id) {
                Some(_) => self.user_message(id, parts, unprocessed, named.as_deref(), seen, &mut told),
                None => {
                    told.turn = Some(self.past.turns.message(&id, named.as_deref(), at, false));
                    told.push(message(id, Role::User, parts, MessageState::Done));
                }
            },
            What::Interrupt => {
                self.past.turns.is_interrupted = is_own;
                told.push(EventBody::Marker { id, marker: Marker::Interrupted });
            }
            What::AgentMessage { parts, is_delta: false, message } => {
                let chunk_of = chunk_key(named, is_bare);
                self.agent_message(id, parts, message, chunk_of, false, &mut told);
            }
            What::Thinking { text, message } => self.thinking(id, text, message, false, &mut told),
            What::Idle { stop, .. } => {
                let why = reason(&stop, self.past.turns.is_interrupted, self.past.turns.error.clone());
                if why != StopReason::RequiresAction {
                    self.past.turns.end();
                    end_marker(why, seen, &mut told);
                }
            }
            What::Failed { notice, .. } => {
                self.past.turns.error = Some(notice.text.clone());
                told.push(EventBody::Notice { id, notice });
            }
            What::Rescheduled => told.push(EventBody::Marker { id, marker: Marker::Rescheduled }),
            What::Thread { thread, name, state, is_new } => {
                if is_new && self.children.insert(thread.clone()) {
                    self.own_thread = self.own_thread.take().filter(|own| *own != thread);
                    told.push(EventBody::Thread { id: thread, name, state, created: true });
                }
            }
            What::ToolUse { name, source, input, permission, kind } => {
                self.tool_use(id, Use { name, source, input, permission, kind }, true, &mut told);
            }
            // Text that was being written is whole by now; the rest is about a state that has passed.
            What::PreviewStart { .. }
            | What::PreviewDelta { .. }
            | What::AgentMessage { is_delta: true, .. }
            | What::Chunk { .. }
            | What::Running
            | What::Ended { .. }
            | What::Facts { .. }
            | What::SessionUsage(_)
            | What::ModelStarted { .. }
            | What::ModelEnded { .. } => {}
            other => self.item(id, other, &mut told),
        }
    }
}
