//! The control commands as data: what `POST /practice/control` takes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    Manner, RunsOrder, TurnsOrder,
    counters::Counters,
    fault::{RequestFault, StreamFault},
    session::State,
};

/// One control command, as `POST /practice/control` takes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum Command {
    /// Arms a fault of requests.
    RequestFault(RequestFault),
    /// Arms a fault of streams.
    StreamFault(StreamFault),
    /// Requests that are held by this name go on.
    LetThrough {
        /// The name.
        name: String,
    },
    /// Disarms all faults.
    ClearFaults,
    /// The agent stops at every pause from now on (of this session, or of all and of new ones).
    Hold {
        /// Which session; `None` = all.
        #[serde(default)]
        session: Option<String>,
    },
    /// Lets a held session go so many pauses further.
    Step {
        /// Which session.
        session: String,
        /// How many pauses.
        #[serde(default = "one")]
        count: u64,
    },
    /// Ends a hold.
    Release {
        /// Which session; `None` = all.
        #[serde(default)]
        session: Option<String>,
    },
    /// Opens the gate of this name in a scenario.
    OpenGate {
        /// Which session.
        session: String,
        /// The gate.
        name: String,
    },
    /// Writes any event into a session.
    Emit {
        /// Which session.
        session: String,
        /// The sub-agent thread; `None` = the session's own.
        #[serde(default)]
        thread: Option<String>,
        /// The event; without an `id` it gets one.
        event: Value,
    },
    /// Writes many small messages into a session, as fast as it can.
    Flood {
        /// Which session.
        session: String,
        /// How many.
        events: u64,
        /// About how many bytes each frame has.
        #[serde(default = "frame_bytes")]
        bytes: usize,
    },
    /// Sends bytes as they are on the session's open streams.
    Raw {
        /// Which session.
        session: String,
        /// The text.
        #[serde(default)]
        text: String,
        /// Bytes, as hex, behind the text.
        #[serde(default)]
        hex: String,
    },
    /// Breaks the open streams off.
    CutStreams {
        /// Only of this session.
        #[serde(default)]
        session: Option<String>,
    },
    /// Ends the open streams cleanly.
    EndStreams {
        /// Only of this session.
        #[serde(default)]
        session: Option<String>,
    },
    /// Leaves the open streams open and silent for ever (a half-open line).
    SilenceStreams {
        /// Only of this session.
        #[serde(default)]
        session: Option<String>,
    },
    /// From now on only a new token is taken.
    RotateToken {
        /// The new one; `None` = random.
        #[serde(default)]
        token: Option<String>,
    },
    /// How often silent streams opened from now on send a comment.
    Heartbeat {
        /// Milliseconds; `None` = never.
        ms: Option<u64>,
    },
    /// The manner of sessions created from now on.
    SetManner {
        /// The manner.
        manner: Manner,
    },
    /// The account has no agents and no environments, as new ones have none.
    EmptyAccount,
    /// Starts a scenario in a new session.
    StartScenario {
        /// Its id.
        scenario: String,
        /// The session's metadata (`practice.form`, `practice.text`, …).
        #[serde(default)]
        metadata: BTreeMap<String, String>,
    },
    /// Ends a session for good.
    Terminate {
        /// Which session.
        session: String,
        /// Why.
        #[serde(default)]
        reason: String,
    },
    /// What a session does now.
    Session {
        /// Which session.
        session: String,
    },
    /// An order to the `runs` side.
    Runs {
        /// Which.
        order: RunsOrder,
    },
    /// An order to the `turns` side.
    Turns {
        /// Which.
        order: TurnsOrder,
    },
    /// What the server was asked so far.
    Counters,
    /// Waits until all that is named here holds.
    Wait(WaitFor),
}

/// What to wait for. Everything that is named must hold.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct WaitFor {
    /// At least so many streams are open.
    pub open_streams: Option<u64>,
    /// At most so many streams are open.
    pub open_streams_at_most: Option<u64>,
    /// At least so many streams were opened.
    pub opened: Option<usize>,
    /// At least so many decisions arrived.
    pub decisions: Option<usize>,
    /// At least so many POSTs arrived.
    pub posts: Option<usize>,
    /// The session the next four are about.
    pub session: Option<String>,
    /// It stands at a gate, or is held.
    pub at_gate: Option<bool>,
    /// Its phase: `idle`, `running`, `waiting`, `rescheduling`, `terminated`.
    pub phase: Option<String>,
    /// It holds an event of this type.
    pub event_type: Option<String>,
    /// It holds so many of them.
    pub count: Option<usize>,
    /// How long to wait, in milliseconds (10,000).
    pub timeout_ms: Option<u64>,
}

fn frame_bytes() -> usize {
    200
}

fn one() -> u64 {
    1
}

impl WaitFor {
    pub(crate) fn holds(&self, counters: &Counters) -> bool {
        self.open_streams.is_none_or(|least| counters.open_streams >= least)
            && self.open_streams_at_most.is_none_or(|most| counters.open_streams <= most)
            && self.opened.is_none_or(|least| counters.opened.len() >= least)
            && self.decisions.is_none_or(|least| counters.decisions.len() >= least)
            && self.posts.is_none_or(|least| counters.posts.len() >= least)
    }

    pub(crate) fn holds_for(&self, state: &State) -> bool {
        let phase = || json!(state.profile.phase);
        let count = |kind: &str| state.main.listed().iter().filter(|listed| listed.name == kind).count();
        self.at_gate.is_none_or(|at| state.gate.waiting == at)
            && self.phase.as_deref().is_none_or(|wanted| phase() == wanted)
            && self.event_type.as_deref().is_none_or(|kind| count(kind) >= self.count.unwrap_or(1))
    }
}
