//! Tool calls, their results, and the requests about them.

use contract::{
    Millis,
    event::{Permission, RequestSeed},
    item::{Item, ItemBody, ItemId, Part, TEXT_INLINE_BYTES, ToolCall, ToolState},
    request::{ChoiceKind, RequestState},
    session::{Activity, SessionState},
};

use super::{Reducer, Stamp};
use crate::request::arguments::argument_text;

impl Reducer {
    pub(super) fn tool_call(
        &mut self,
        stamp: Stamp,
        id: ItemId,
        name: String,
        source: Option<String>,
        input: &str,
        permission: Permission,
    ) {
        self.end_thinking(stamp.at);
        self.drafts.retain(|open| open != &id);
        let known = match self.transcript.get(&id).map(|item| &item.body) {
            Some(ItemBody::Tool(tool)) => Some(tool.clone()),
            _ => None,
        };
        let shown = argument_text(input);
        let text = self.transcript.keep_own(&id, "input", shown.text, TEXT_INLINE_BYTES);
        let state = match (&known, permission) {
            (Some(known), _) if known.state != ToolState::Announced => known.state.clone(),
            (_, Permission::Denied) => ToolState::Denied { reason: None },
            (_, Permission::Ask) => ToolState::Waiting,
            (_, Permission::Allowed | Permission::Unsaid) => ToolState::Running,
        };
        if state == ToolState::Running {
            self.turn.tool_started(&id, &name, stamp.at);
        }
        if !matches!(&self.activity, Some(Activity::Tool { name: last }) if *last == name) {
            self.activity = Some(Activity::Tool { name: name.clone() });
        }
        let tool = ToolCall {
            name,
            source,
            input: text,
            // The page shows a very long command through the input's handle.
            command: shown.command.filter(|command| command.len() <= TEXT_INLINE_BYTES),
            subject: shown.subject,
            state,
            output: known.as_ref().map(|known| known.output.clone()).unwrap_or_default(),
            started_at: Some(known.as_ref().and_then(|known| known.started_at).unwrap_or(stamp.at)),
            ended_at: known.as_ref().and_then(|known| known.ended_at),
            request: known.and_then(|known| known.request),
        };
        self.put(stamp, id, ItemBody::Tool(tool));
        self.changes.header_soon = true;
    }

    /// A call ended, and no result of it will come.
    pub(super) fn tool_ended(&mut self, call: &str, state: ToolState, at: Millis) {
        let Some(Item { body: ItemBody::Tool(tool), .. }) = self.transcript.get_mut(call) else { return };
        if tool.ended_at.is_some() {
            return;
        }
        tool.state = state;
        tool.ended_at = Some(at);
        let request = tool.request.clone();
        self.turn.tool_ended(call, at);
        self.changes.item(call);
        self.changes.header_soon = true;
        if let Some(request) = request
            && self.requests.get(&request).is_some_and(|known| super::requests::is_unanswered(&known.state))
        {
            self.settled(&request, None, None, Vec::new(), at);
        }
    }

    pub(super) fn tool_result(
        &mut self,
        stamp: &Stamp,
        call: &str,
        name: Option<&str>,
        output: Vec<Part>,
        is_error: bool,
    ) {
        let id = self.pair(stamp, call, name);
        let output = self.transcript.keep_parts(&id, "output", output, TEXT_INLINE_BYTES);
        if self.transcript.get(&id).is_none() {
            // A result whose call was never seen still shows.
            let tool = ToolCall {
                name: name.unwrap_or_default().to_owned(),
                source: None,
                input: contract::item::Text::default(),
                command: None,
                subject: None,
                state: ToolState::Running,
                output: Vec::new(),
                started_at: None,
                ended_at: None,
                request: None,
            };
            self.put(stamp.clone(), id.clone(), ItemBody::Tool(tool));
        }
        let asked = match self.transcript.get(&id).map(|item| &item.body) {
            Some(ItemBody::Tool(tool)) => tool.request.as_deref(),
            _ => None,
        };
        // Some servers tell a denial by the failure of its call alone.
        let refused = is_error && asked.is_some_and(|request| self.requests.refused(request));
        let request = match self.transcript.get_mut(&id) {
            Some(Item { body: ItemBody::Tool(tool), .. }) => {
                tool.output = output;
                if tool.state == ToolState::Waiting {
                    // Nobody said when the wait ended: the time since the call was announced is not the tool's.
                    tool.started_at = None;
                }
                tool.ended_at = Some(stamp.at);
                if !matches!(tool.state, ToolState::Denied { .. }) {
                    tool.state = match (refused, is_error) {
                        (true, _) => ToolState::Denied { reason: None },
                        (false, true) => ToolState::Failed,
                        (false, false) => ToolState::Done,
                    };
                }
                tool.request.clone()
            }
            _ => None,
        };
        self.turn.tool_ended(&id, stamp.at);
        self.changes.item(&id);
        self.changes.header_soon = true;
        // A call that has its result waits for nobody, even when no echo of the answer was seen.
        if let Some(request) = request
            && self.requests.get(&request).is_some_and(|known| super::requests::is_unanswered(&known.state))
        {
            self.settled(&request, None, None, Vec::new(), stamp.at);
        }
    }

    /// The item a result belongs to: by id, else the oldest open call of the same name (and turn, where known).
    fn pair(&self, stamp: &Stamp, call: &str, name: Option<&str>) -> ItemId {
        if matches!(self.transcript.get(call).map(|item| &item.body), Some(ItemBody::Tool(_))) {
            return call.to_owned();
        }
        let open = self.transcript.iter().find(|item| {
            let ItemBody::Tool(tool) = &item.body else { return false };
            tool.ended_at.is_none()
                && name.is_none_or(|name| name == tool.name)
                && (stamp.turn.is_none() || item.turn.is_none() || item.turn == stamp.turn)
        });
        open.map_or_else(|| call.to_owned(), |item| item.id.clone())
    }

    pub(super) fn request(&mut self, seed: &RequestSeed, stamp: &Stamp) {
        let agent_path = stamp
            .thread
            .as_ref()
            .map(|thread| {
                let name = self.threads.iter().find(|known| &known.id == thread).and_then(|known| known.name.clone());
                vec![name.unwrap_or_else(|| thread.clone())]
            })
            .unwrap_or_default();
        if self.requests.seed(seed, agent_path, stamp.at) {
            self.changes.request(&seed.id);
            self.changes.header = true;
        }
        let waits = self.requests.get(&seed.id).is_some_and(|request| super::requests::waits(&request.state));
        if let Some(id) = &seed.item
            && let Some(Item { body: ItemBody::Tool(tool), .. }) = self.transcript.get_mut(id)
        {
            tool.request = Some(seed.id.clone());
            let is_open = matches!(tool.state, ToolState::Running | ToolState::Announced) && tool.ended_at.is_none();
            // Of a run that seemed to be over: what is asked about was not dropped.
            if waits && (is_open || tool.state == ToolState::Cancelled) {
                tool.state = ToolState::Waiting;
                tool.ended_at = None;
                self.turn.tool_waits(id);
            }
            self.changes.item(id);
        }
    }

    pub(super) fn waiting(&mut self, ids: &[String], at: Millis) {
        for id in self.requests.waiting(ids, at) {
            if let Some(request) = self.requests.get(&id)
                && matches!(request.state, RequestState::Elsewhere { .. } | RequestState::Expired)
            {
                let expired = request.state == RequestState::Expired;
                self.effects.elsewhere.push(super::requests::SettledElsewhere {
                    request: id.clone(),
                    choice: None,
                    reason: None,
                    at,
                    expired,
                });
            }
            self.changes.request(&id);
        }
        self.effects.unexplained = !self.requests.unexplained().is_empty();
        if !ids.is_empty() {
            self.state = SessionState::Waiting;
            self.turn.waits(true, at);
            self.effects.look = true;
        }
        self.changes.header = true;
    }

    /// Shows a card for every id that the server waits for and nothing explains (P-18).
    pub fn make_fallbacks(&mut self, at: Millis) -> Vec<String> {
        let made = self.requests.make_fallbacks(at);
        for id in &made {
            self.changes.request(id);
        }
        self.changes.header |= !made.is_empty();
        made
    }

    pub(super) fn settled(
        &mut self,
        request: &str,
        choice: Option<ChoiceKind>,
        reason: Option<String>,
        output: Vec<Part>,
        at: Millis,
    ) {
        let item =
            self.requests.get(request).and_then(|known| known.item.clone()).unwrap_or_else(|| request.to_owned());
        let (changed, elsewhere) = self.requests.settled(request, choice, reason.clone(), at);
        if changed {
            self.changes.request(request);
        }
        self.effects.elsewhere.extend(elsewhere);
        if self.requests.open().next().is_none() {
            self.turn.waits(false, at);
        }
        self.changes.header = true;
        let output = self.transcript.keep_parts(&item, "output", output, TEXT_INLINE_BYTES);
        let Some(Item { body: ItemBody::Tool(tool), .. }) = self.transcript.get_mut(&item) else { return };
        if tool.ended_at.is_some() {
            return;
        }
        match choice {
            Some(ChoiceKind::AllowOnce | ChoiceKind::AllowAlways) => {
                tool.state = ToolState::Running;
                self.turn.tool_started(&item, &tool.name.clone(), at);
                self.allowed.push(item.clone());
            }
            Some(ChoiceKind::Deny | ChoiceKind::Decline) => {
                tool.state = ToolState::Denied { reason };
            }
            Some(ChoiceKind::Answer | ChoiceKind::ReportError) => {
                tool.state = if choice == Some(ChoiceKind::ReportError) { ToolState::Failed } else { ToolState::Done };
                tool.output = output;
                // The person was the one who ran it: what passed was their time, not a tool's.
                tool.started_at = None;
                tool.ended_at = Some(at);
            }
            None => {}
        }
        self.changes.item(&item);
        self.begin_allowed(at);
    }

    /// The server took the person's answer, and says nothing more until something comes of it: what was allowed runs.
    pub(super) fn answered(&mut self, request: &str, choice: ChoiceKind, at: Millis) {
        let item = self.requests.get(request).and_then(|known| known.item.clone());
        if matches!(choice, ChoiceKind::AllowOnce | ChoiceKind::AllowAlways)
            && let Some(id) = item
            && let Some(Item { body: ItemBody::Tool(tool), .. }) = self.transcript.get_mut(&id)
            && tool.state == ToolState::Waiting
        {
            tool.state = ToolState::Running;
            tool.started_at = Some(at);
            self.turn.tool_started(&id, &tool.name.clone(), at);
            self.changes.item(&id);
        }
        if self.state == SessionState::Waiting && self.requests.open().next().is_none() {
            self.turn.waits(false, at);
            self.state = SessionState::Running;
        }
    }

    /// What was allowed runs from when it was allowed, and where it waited for the other answers, from the last of them.
    fn begin_allowed(&mut self, at: Millis) {
        let waits = self.requests.open().next().is_some();
        for id in self.allowed.clone() {
            if let Some(Item { body: ItemBody::Tool(tool), .. }) = self.transcript.get_mut(&id)
                && tool.ended_at.is_none()
            {
                tool.started_at = Some(at);
                self.turn.tool_begins(&id, at);
                self.changes.item(&id);
            }
        }
        if !waits {
            self.allowed.clear();
        }
    }

    pub(super) fn void_requests(&mut self) {
        for id in self.requests.turn_over() {
            self.changes.request(&id);
        }
    }

    pub(super) fn cancel_open_tools(&mut self, at: Millis) {
        let open: Vec<ItemId> = self
            .transcript
            .iter()
            .rev()
            .take(OPEN_TOOLS_SOUGHT)
            .filter(|item| match &item.body {
                ItemBody::Tool(tool) => {
                    matches!(tool.state, ToolState::Announced | ToolState::Waiting | ToolState::Running)
                }
                _ => false,
            })
            .map(|item| item.id.clone())
            .collect();
        for id in open {
            if let Some(Item { body: ItemBody::Tool(tool), .. }) = self.transcript.get_mut(&id) {
                tool.state = ToolState::Cancelled;
                tool.ended_at = Some(at);
                self.turn.tool_ended(&id, at);
                self.changes.item(&id);
            }
        }
    }
}

/// How far back a turn's end looks for calls that never finished.
const OPEN_TOOLS_SOUGHT: usize = 2_000;
