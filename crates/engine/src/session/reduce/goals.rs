//! Goals and sub-agents.

use contract::{
    item::{ItemBody, ItemId, Marker},
    session::{Goal, SessionState, Thread},
};

use super::{Reducer, Stamp};

impl Reducer {
    pub(super) fn goal(&mut self, stamp: Stamp, id: ItemId, change: Goal) {
        // A goal set here gets its id only from the server's echo: until then it is the one without id.
        let known = self
            .goals
            .iter_mut()
            .find(|goal| goal.id == change.id || (goal.id.is_empty() && goal.description == change.description));
        match known {
            Some(goal) => {
                goal.id.clone_from(&change.id);
                if !change.description.is_empty() {
                    goal.description.clone_from(&change.description);
                }
                goal.rubric = change.rubric.clone().or(goal.rubric.take());
                goal.iteration = change.iteration.or(goal.iteration);
                goal.verdict = change.verdict.clone().or(goal.verdict.take());
                goal.explanation = change.explanation.clone().or(goal.explanation.take());
                goal.evaluating = change.evaluating;
            }
            None => self.goals.push(change.clone()),
        }
        self.changes.header = true;
        if !change.description.is_empty() || change.verdict.is_some() {
            let marker = Marker::Goal {
                id: change.id,
                description: Some(change.description).filter(|text| !text.is_empty()),
                verdict: change.verdict,
                iteration: change.iteration,
                explanation: change.explanation,
            };
            self.put(stamp, id, ItemBody::Marker(marker));
        }
    }

    pub(super) fn thread(
        &mut self,
        stamp: Stamp,
        id: String,
        name: Option<String>,
        state: SessionState,
        created: bool,
    ) {
        match self.threads.iter_mut().find(|thread| thread.id == id) {
            Some(thread) => {
                thread.name = name.clone().or(thread.name.take());
                thread.state = state;
            }
            None => self.threads.push(Thread { id: id.clone(), name: name.clone(), state }),
        }
        if created {
            self.put(stamp, format!("thread:{id}"), ItemBody::Marker(Marker::ThreadStarted { name }));
        }
        self.changes.header = true;
    }
}
