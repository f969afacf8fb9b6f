//! How a run ends, and what it leaves behind (§5 and §8).

use super::Player;
use crate::runs::{
    event::Event,
    restart,
    shape::{Failure, RunResult},
    stream::Item,
};

/// The ways a run ends.
pub(super) enum End {
    Played,
    Failed(Failure),
    Cancelled,
    /// Its connection is closed.
    Gone,
    /// Its server died.
    Killed,
    /// Its server stopped in order.
    Closed,
}

impl Player {
    /// Ends the run: what it leaves is in order before its client hears of it.
    pub(super) fn finish(mut self, end: End) {
        match end {
            End::Played => {
                if let Some((reason, message)) = self.stop.clone() {
                    self.emit(&Event::ModelStopped { reason, message });
                }
                self.emit(&Event::Finished { text: self.said.clone() });
                let text = self.said.clone();
                self.leave();
                self.result(text);
            }
            End::Failed(failure) => {
                self.interrupted();
                self.leave();
                self.send("error", &failure);
            }
            End::Cancelled => {
                let text = self.open.clone().unwrap_or_else(|| self.said.clone());
                self.interrupted();
                self.leave();
                if self.manner.ends_with_cancelled() {
                    self.send("cancelled", &serde_json::json!({"type": "cancelled"}));
                } else {
                    self.result(text);
                }
            }
            End::Gone | End::Closed => {
                self.interrupted();
                self.leave();
            }
            // A server that died writes nothing: the restart itself put the sessions in order.
            End::Killed => self.put_item(Item::Break),
        }
    }

    fn result(&mut self, text: String) {
        let usage = self.world.runs.look(|desk| desk.session(&self.session).map(|session| session.usage));
        let (stop, stop_message) = match self.stop.take() {
            Some((reason, message)) => (Some(reason), message),
            None => (None, None),
        };
        let result = RunResult {
            text,
            session_id: self.session.clone(),
            usage: usage.unwrap_or_default().since(&self.before),
            tools: std::mem::take(&mut self.tools),
            stop,
            stop_message,
            questions: std::mem::take(&mut self.questions),
        };
        self.send("result", &result);
    }

    /// Notes where the request stopped, so that a resume can go on (§8).
    fn interrupted(&mut self) {
        self.store(|desk, session| {
            if let Some(session) = desk.session_mut(session) {
                let rest = session.run.as_mut().map(|run| std::mem::take(&mut run.rest)).unwrap_or_default();
                restart::leave_off(session, rest);
            }
        });
    }

    /// The session is free again.
    fn leave(&self) {
        self.world.runs.change(|desk| {
            let number = self.number;
            if let Some(session) = desk.session_mut(&self.session) {
                session.run.take_if(|run| run.number == number);
            }
        });
    }
}
