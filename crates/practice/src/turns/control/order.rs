//! Orders to the `turns` side as data, for tests in other processes: `{"do":"turns","order":{"what":"look",…}}`.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Session, TurnsControl};
use crate::{PracticeError, TurnsManner};

/// What to wait for in a session. Everything that is named must hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct TurnsWait {
    /// Something is being done (a turn that hangs for ever does not count), or nothing is.
    pub active: Option<bool>,
    /// Calls wait for answers, or none do.
    pub pending: Option<bool>,
    /// It stands at a gate or is held, or does not.
    pub at_gate: Option<bool>,
    /// Its history has at least so many messages.
    pub messages: Option<usize>,
    /// So many turns run, those that hang included.
    pub running: Option<usize>,
}

impl TurnsWait {
    pub(super) fn holds(&self, session: &Session) -> bool {
        self.active.is_none_or(|active| session.is_active() == active)
            && self.pending.is_none_or(|pending| session.pending().is_empty() != pending)
            && self.at_gate.is_none_or(|at| session.gate.waiting == at)
            && self.messages.is_none_or(|least| session.history.len() >= least)
            && self.running.is_none_or(|count| session.running.len() == count)
    }
}

/// One order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum TurnsOrder {
    /// It behaves like this from now on.
    Manner {
        /// How.
        manner: TurnsManner,
    },
    /// A new session that plays a scenario.
    Scenario {
        /// Its id.
        scenario: String,
    },
    /// An existing session plays a scenario with its next messages.
    Arm {
        /// Which session.
        session: String,
        /// The scenario's id.
        scenario: String,
    },
    /// An agent vanishes from `/meta`, or comes back.
    HideAgent {
        /// Its name.
        name: String,
        /// It vanishes.
        hidden: bool,
    },
    /// Somebody else deletes a session.
    Remove {
        /// Which session.
        session: String,
    },
    /// Sends a frame on the streams of a session.
    Emit {
        /// Which session.
        session: String,
        /// Its name.
        name: String,
        /// What it carries.
        payload: Value,
    },
    /// Sends text as it is on the streams of a session.
    Raw {
        /// Which session.
        session: String,
        /// The text.
        text: String,
    },
    /// v4: an input of somebody else.
    Input {
        /// Which session.
        session: String,
        /// The input.
        input: Value,
    },
    /// v4: `idle` now.
    Idle {
        /// Which session.
        session: String,
    },
    /// The calls that wait get no answer in time.
    Expire {
        /// Which session.
        session: String,
    },
    /// The history of a session.
    History {
        /// Which session.
        session: String,
    },
    /// Every POST and PATCH so far.
    Posts,
    /// The ids of all sessions.
    Sessions,
    /// What a session does now.
    Look {
        /// Which session.
        session: String,
    },
    /// Waits until a session is as wanted.
    Wait {
        /// Which session.
        session: String,
        /// How.
        #[serde(default)]
        until: TurnsWait,
    },
}

impl TurnsControl {
    /// Carries one order out and gives its answer.
    ///
    /// # Errors
    /// Unknown sessions and scenarios, bad inputs, and waiting in vain.
    pub async fn run(&self, order: TurnsOrder) -> Result<Value, PracticeError> {
        match order {
            TurnsOrder::Manner { manner } => self.set_manner(manner),
            TurnsOrder::Scenario { scenario } => return Ok(json!({"session": self.start_scenario(&scenario)?})),
            TurnsOrder::Arm { session, scenario } => self.arm(&session, &scenario)?,
            TurnsOrder::HideAgent { name, hidden } => self.hide_agent(&name, hidden),
            TurnsOrder::Remove { session } => self.remove(&session)?,
            TurnsOrder::Emit { session, name, payload } => self.emit(&session, &name, &payload)?,
            TurnsOrder::Raw { session, text } => self.raw(&session, text)?,
            TurnsOrder::Input { session, input } => self.input(&session, input)?,
            TurnsOrder::Idle { session } => self.idle(&session)?,
            TurnsOrder::Expire { session } => return Ok(json!({"expired": self.expire(&session)?})),
            TurnsOrder::History { session } => return Ok(json!({"history": self.history(&session)?})),
            TurnsOrder::Posts => return Ok(json!({"posts": self.posts()})),
            TurnsOrder::Sessions => return Ok(json!({"sessions": self.sessions()})),
            TurnsOrder::Look { session } => return self.glimpse(&session),
            TurnsOrder::Wait { session, until } => return self.wait(&session, until).await,
        }
        Ok(json!({"ok": true}))
    }
}
