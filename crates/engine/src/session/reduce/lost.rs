//! What the end of a call tells of an answer to its request that nothing else tells of.

use contract::{
    item::{ItemBody, ToolState},
    request::ChoiceKind,
};

use super::Reducer;

/// What became of a call, seen from what was chosen for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Told {
    /// It goes on, and so does its turn.
    NotYet,
    /// What was chosen is what happened.
    AsChosen,
    /// Something else happened: another answer came first.
    Otherwise,
    /// It is over, and that fits more than one answer.
    Nothing,
}

impl Reducer {
    /// What the end of its call tells of this answer to a request.
    #[must_use]
    pub fn told_by_the_call(&self, request: &str, choice: ChoiceKind) -> Told {
        let Some(request) = self.requests.get(request) else { return Told::Nothing };
        let tool = match request.item.as_ref().and_then(|id| self.transcript.get(id)).map(|item| &item.body) {
            Some(ItemBody::Tool(tool)) => tool,
            _ => return if self.turn.is_running() { Told::NotYet } else { Told::Nothing },
        };
        let Some(ended_at) = tool.ended_at else {
            return if self.turn.is_running() { Told::NotYet } else { Told::Nothing };
        };
        // A call that did not run in time was refused by somebody; later, the server's time may have run out.
        let in_time = request.deadline.is_none_or(|deadline| ended_at < deadline);
        match (choice, &tool.state) {
            (ChoiceKind::AllowOnce | ChoiceKind::AllowAlways | ChoiceKind::Answer, ToolState::Done) => Told::AsChosen,
            (ChoiceKind::Deny, ToolState::Done) => Told::Otherwise,
            (ChoiceKind::Deny, ToolState::Failed | ToolState::Denied { .. }) if in_time => Told::AsChosen,
            _ => Told::Nothing,
        }
    }
}
