//! The session reducer: domain events in, items, requests and changes out. Pure: time comes with the events.

pub mod changes;
mod goals;
mod lifecycle;
pub mod lost;
mod messages;
pub mod requests;
#[cfg(test)]
mod tests;
mod thoughts;
mod tools;
pub mod transcript;
pub mod turn;

use std::collections::HashMap;

use contract::{
    Millis,
    event::{Event, EventBody},
    item::{Item, ItemBody, ItemId, Marker, Notice, TEXT_INLINE_BYTES, Unknown},
    request::Fate,
    session::{
        Activity, ClosedReason, ContextMeter, Goal, Resumable, RunOptions, SessionState, StopReason, StopState, Thread,
        Turn,
    },
    setup::{AgentOffer, SessionSetup},
};

use self::{
    changes::{Changes, Taken},
    requests::{Ours, RequestBook, SettledElsewhere},
    transcript::Transcript,
    turn::TurnTrack,
};
use crate::request::card::Owner;

/// Where a frame stands when its events are reduced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// When it was received.
    pub received_at: Millis,
    /// Its place in the transcript.
    pub position: i64,
}

/// What the reducer asks of its session, apart from showing the changes.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Effects {
    /// The session must be read again.
    pub reread: bool,
    /// Items stand in another order than before.
    pub rearranged: bool,
    /// Requests that were settled by somebody else.
    pub elsewhere: Vec<SettledElsewhere>,
    /// A turn ended.
    pub turn_ended: Option<StopReason>,
    /// A turn ended or pauses: the server's list says by now what it used.
    pub look: bool,
    /// The server waits for ids that nothing here explains.
    pub unexplained: bool,
    /// The session has ended for good.
    pub ended: bool,
    /// Texts of our own messages that the server has now.
    pub arrived: Vec<(ItemId, String)>,
}

/// What is known of a run beside its turn (`Event` bodies of the same names).
#[derive(Debug, Default)]
pub struct RunTrack {
    /// It ended early and can be taken up again.
    pub resumable: Option<Resumable>,
    /// Another client drives it.
    pub foreign: bool,
    /// How full the context is.
    pub context: Option<ContextMeter>,
    /// How the run that goes on was asked for.
    pub options: Option<RunOptions>,
    /// How the session is set up.
    pub setup: Option<SessionSetup>,
    /// What its agent lets it choose.
    pub offer: Option<AgentOffer>,
    /// The history may leave things out.
    pub incomplete_history: bool,
}

/// One session as its events make it.
#[derive(Debug)]
pub struct Reducer {
    /// The items.
    pub transcript: Transcript,
    /// The requests.
    pub requests: RequestBook,
    /// The turn and the usage.
    pub turn: TurnTrack,
    /// What the session does.
    pub state: SessionState,
    /// Its title.
    pub title: Option<String>,
    /// Its agent's name.
    pub agent: Option<String>,
    /// Why it takes nothing more.
    pub closed: Option<ClosedReason>,
    /// A stop that was asked for.
    pub stop: StopState,
    /// However the turn ends, it ends by the stop that was asked for.
    stop_ends_turn: bool,
    /// What is known of its run, where runs are asked for one by one.
    pub run: RunTrack,
    /// What it was last seen doing.
    pub activity: Option<Activity>,
    /// Its goals.
    pub goals: Vec<Goal>,
    /// Its sub-agents.
    pub threads: Vec<Thread>,
    /// When its last event came.
    pub last_event_at: Option<Millis>,
    changes: Changes,
    effects: Effects,
    drafts: Vec<ItemId>,
    local: Vec<(ItemId, String)>,
    thinking: HashMap<ItemId, Millis>,
    /// Calls that were allowed while other requests still wait.
    allowed: Vec<ItemId>,
    /// When the agent last said or did something whole.
    done_at: Option<Millis>,
    /// The state and the turn before what is awaited left.
    awaiting: Option<(SessionState, Option<Turn>)>,
}

impl Reducer {
    /// A session nothing is known of.
    #[must_use]
    pub fn new(owner: Owner, ours: HashMap<String, Ours>) -> Self {
        Self {
            transcript: Transcript::default(),
            requests: RequestBook::new(owner, ours),
            turn: TurnTrack::default(),
            state: SessionState::Unknown,
            title: None,
            agent: None,
            closed: None,
            stop: StopState::None,
            stop_ends_turn: false,
            run: RunTrack::default(),
            activity: None,
            goals: Vec::new(),
            threads: Vec::new(),
            last_event_at: None,
            changes: Changes::default(),
            effects: Effects::default(),
            drafts: Vec::new(),
            local: Vec::new(),
            thinking: HashMap::new(),
            allowed: Vec::new(),
            done_at: None,
            awaiting: None,
        }
    }

    /// Takes what changed since the last call.
    pub fn take_changes(&mut self) -> Taken {
        for id in self.requests.prune() {
            self.changes.request_gone(&id);
        }
        self.changes.take()
    }

    /// Whether something changed that the person must see at once.
    #[must_use]
    pub fn cannot_wait(&self) -> bool {
        self.changes.cannot_wait()
    }

    /// Takes what the session must do.
    pub fn take_effects(&mut self) -> Effects {
        std::mem::take(&mut self.effects)
    }

    /// Marks the header as changed from outside (connection, queue).
    pub fn touch_header(&mut self) {
        self.changes.header = true;
    }

    /// Marks the header as changed in what need not be seen at once (the cursor).
    pub fn touch_header_soon(&mut self) {
        self.changes.header_soon = true;
    }

    /// Takes one event in.
    pub fn apply(&mut self, event: Event, place: Place) {
        let at = event.at.unwrap_or(place.received_at);
        self.last_event_at = Some(self.last_event_at.map_or(place.received_at, |last| last.max(place.received_at)));
        let own = event.thread.is_none();
        let stamp = Stamp { at, turn: event.turn, thread: event.thread, position: place.position };
        match event.body {
            EventBody::Message { id, replaces, role, parts, state } => {
                self.message(stamp, id, replaces.as_deref(), role, parts, state);
            }
            EventBody::Append { id, to, part, text } => self.append(&stamp, &id, &to, part, &text),
            EventBody::DraftStarted { id, to } => self.draft_started(&stamp, &id, &to),
            EventBody::DraftsClosed { keep } => self.drafts_closed(keep),
            EventBody::Thought { id, text, active } => self.thought(stamp, id, &text, active),
            EventBody::ToolCall { id, name, source, input, permission } => {
                self.tool_call(stamp, id, name, source, &input, permission);
            }
            EventBody::ToolResult { call, name, output, is_error, .. } => {
                self.tool_result(&stamp, &call, name.as_deref(), output, is_error);
            }
            EventBody::Request(seed) => self.request(&seed, &stamp),
            EventBody::Waiting { requests } => self.waiting(&requests, at),
            EventBody::Settled { request, choice, reason, output, .. } => {
                self.settled(&request, choice, reason, output, at);
            }
            EventBody::Status(state) => self.status(state, at),
            // After the end no turn begins: what says so is older and came late.
            EventBody::TurnStarted if self.is_over() => {}
            EventBody::TurnStarted => {
                self.turn.start(stamp.turn, at);
                self.stop = StopState::None;
                self.changes.header = true;
            }
            EventBody::TurnEnded { stop } => self.turn_ended(stop, &stamp),
            EventBody::ModelStarted { id } => {
                self.turn.model_started(&id, at);
                self.changes.header_soon = true;
            }
            EventBody::ModelEnded { id, .. } => {
                self.turn.model_ended(&id, at);
                self.end_thinking(at);
                self.changes.header_soon = true;
            }
            EventBody::Usage { usage, scope } => {
                self.turn.usage(usage, scope);
                self.changes.header_soon = true;
            }
            EventBody::Facts { title, agent, archived } => {
                self.title = title.or(self.title.take());
                self.agent = agent.or(self.agent.take());
                if archived == Some(true) {
                    self.closed.get_or_insert(ClosedReason::Archived);
                }
                self.changes.header = true;
            }
            EventBody::Goal { id, goal, description, rubric, iteration, verdict, explanation, evaluating } => {
                let change = Goal {
                    id: goal,
                    description: description.unwrap_or_default(),
                    rubric,
                    iteration,
                    verdict,
                    explanation,
                    evaluating,
                };
                self.goal(stamp, id, change);
            }
            EventBody::Thread { id, name, state, created } => self.thread(stamp, id, name, state, created),
            EventBody::Artifact { id, artifact } => self.put(stamp, id, ItemBody::Artifact(artifact)),
            EventBody::Notice { id, notice } => self.notice(stamp, id, notice),
            EventBody::Marker { id, marker } => self.put(stamp, id, ItemBody::Marker(marker)),
            EventBody::Ended { deleted, reason } => {
                self.end_session(if deleted { ClosedReason::Deleted } else { ClosedReason::Terminated }, at);
                self.effects.ended = true;
                let id = format!("ended@{}", stamp.position);
                self.put(stamp, id, ItemBody::Marker(Marker::Ended { reason }));
            }
            EventBody::Unknown { id, what, raw } => {
                let raw = self.transcript.keep(format!("{id}#raw"), &raw, TEXT_INLINE_BYTES);
                self.put(stamp, id, ItemBody::Unknown(Unknown { what, raw }));
            }
            EventBody::Reread { .. } => self.effects.reread = true,
            EventBody::ToolEnded { call, state } => self.tool_ended(&call, state, at),
            EventBody::Arranged { items } => {
                if self.transcript.arrange(&items) {
                    self.changes.reset = true;
                    self.effects.rearranged = true;
                }
            }
            EventBody::Resumable(resumable) => {
                self.changes.header |= self.run.resumable != resumable;
                self.run.resumable = resumable;
            }
            EventBody::ForeignRun(foreign) => {
                self.changes.header |= self.run.foreign != foreign;
                self.run.foreign = foreign;
            }
            EventBody::Context(context) => {
                self.run.context = Some(context);
                self.changes.header_soon = true;
            }
            EventBody::RunOptions(options) => {
                self.run.options = Some(options);
                self.changes.header = true;
            }
            EventBody::Setup { setup, offer } => {
                self.run.setup = Some(setup);
                if offer.is_some() {
                    self.run.offer = offer;
                }
                self.changes.header = true;
            }
            EventBody::IncompleteHistory => {
                self.changes.header |= !self.run.incomplete_history;
                self.run.incomplete_history = true;
            }
        }
        if !own {
            // What sub-agents do shows in their lane; the session's own line is not theirs.
            self.changes.header_soon = true;
        }
    }

    /// Shows an item of this app's own making.
    pub fn show(&mut self, item: Item, position: i64) {
        self.changes.item(&item.id.clone());
        self.transcript.put(item, position);
    }

    /// A request changed while a decision on its old form was on its way: it waits for the person again.
    pub fn reopen(&mut self, request: &str) {
        if self.requests.reopen(request) {
            self.changes.request(request);
            self.changes.header = true;
        }
    }

    /// A decision of this app was written down, or its fate became known.
    pub fn decided(&mut self, request: &str, ours: Ours, attempt: u32) {
        let taken = (ours.fate == Fate::Accepted && self.requests.answers_tell).then_some((ours.choice, ours.at));
        if self.requests.decided(request, ours, attempt) {
            self.changes.request(request);
            self.changes.header = true;
            if let Some((choice, at)) = taken {
                self.answered(request, choice, at);
            }
        }
    }

    fn put(&mut self, stamp: Stamp, id: ItemId, body: ItemBody) {
        let item = Item { id: id.clone(), order: 0, turn: stamp.turn, thread: stamp.thread, at: stamp.at, body };
        self.transcript.put(item, stamp.position);
        self.changes.item(&id);
    }

    fn notice(&mut self, stamp: Stamp, id: ItemId, mut notice: Notice) {
        use contract::item::NoticeCode;
        if notice.code == NoticeCode::ErrorFatal {
            self.activity = Some(Activity::Failed { message: crate::request::arguments::one_line(&notice.text) });
            self.changes.header = true;
        }
        if let Some(detail) = notice.detail.take() {
            notice.detail = Some(self.transcript.keep(format!("{id}#detail"), &detail.text, TEXT_INLINE_BYTES));
        }
        self.put(stamp, id, ItemBody::Notice(notice));
    }

    /// Whether a tool call has ended.
    #[must_use]
    pub fn has_ended(&self, item: &str) -> bool {
        matches!(self.transcript.get(item).map(|item| &item.body), Some(ItemBody::Tool(tool)) if tool.ended_at.is_some())
    }
}

/// When and where an event's items stand.
#[derive(Debug, Clone)]
struct Stamp {
    at: Millis,
    turn: Option<String>,
    thread: Option<String>,
    position: i64,
}
