//! What of a session survives its server's process: its messages, and where its run stood (§8, edge 19).

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::{
    desk::{Desk, Left, Runs, Session},
    restart,
    shape::{Message, Usage},
};
use crate::{keep::Record, scenario::Step};

/// A session as the state file has it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Kept {
    pub(crate) id: String,
    title: Option<String>,
    created_at: String,
    updated_at: Option<String>,
    messages: Vec<Message>,
    seen_from: usize,
    usage: Usage,
    left: Option<Left>,
    script: VecDeque<Step>,
    /// What a run that went on still had to play.
    rest: Option<VecDeque<Step>>,
    /// The counters of the whole server: call ids never come again.
    calls: u64,
    runs: u64,
}

impl Kept {
    fn of(desk: &Desk, session: &Session) -> Self {
        Self {
            id: session.id.clone(),
            title: session.title.clone(),
            created_at: session.created_at.clone(),
            updated_at: session.updated_at.clone(),
            messages: session.messages.clone(),
            seen_from: session.seen_from,
            usage: session.usage,
            left: session.left.clone(),
            script: session.script.clone(),
            rest: session.run.as_ref().map(|run| run.rest.clone()),
            calls: desk.calls,
            runs: desk.runs,
        }
    }

    fn session(self) -> Session {
        Session {
            id: self.id,
            title: self.title,
            created_at: self.created_at,
            updated_at: self.updated_at,
            messages: self.messages,
            seen_from: self.seen_from,
            usage: self.usage,
            left: self.left,
            script: self.script,
            ..Session::default()
        }
    }
}

/// The lines for what changed since the last call.
pub(super) fn changed(desk: &mut Desk) -> Vec<Record> {
    let mut records = Vec::new();
    for session in &desk.sessions {
        if session.changed {
            records.push(Record::Runs { kept: Box::new(Kept::of(desk, session)) });
        }
    }
    for session in &mut desk.sessions {
        session.changed = false;
    }
    records
}

impl Runs {
    /// Puts back what the state file held. A run that went on when its process died can be resumed.
    pub(crate) fn restore(&self, kept: Vec<Kept>) {
        self.change(|desk| {
            let recover = desk.manner.recover;
            for one in kept {
                desk.calls = desk.calls.max(one.calls);
                desk.runs = desk.runs.max(one.runs);
                let rest = one.rest.clone();
                let mut session = one.session();
                if let Some(rest) = rest {
                    restart::die(&mut session, rest, recover);
                }
                desk.sessions.push(session);
            }
        });
    }
}
