//! What a person would see: items in order, taken from events as the session reducer does it, in few lines.

use std::collections::BTreeMap;

use contract::{
    event::{AppendTo, Event, EventBody, RequestSeed},
    item::{MessageState, Part, Role, ToolState},
    session::{SessionState, StopReason},
    setup::SessionSetup,
};

/// One item.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Shown {
    Message { role: Role, text: String, state: MessageState },
    Thought { text: String, active: bool },
    Tool { name: String, output: Option<String>, state: ToolState },
    Other(String),
}

#[derive(Debug, Default, Clone, PartialEq)]
pub(super) struct View {
    pub items: Vec<(String, Shown)>,
    /// Each request, and whether it is settled.
    pub requests: BTreeMap<String, (RequestSeed, bool)>,
    /// Those that wait, in order.
    pub waiting: Vec<String>,
    pub state: SessionState,
    /// Turns in the order of their start, with their ends.
    pub turns: Vec<(Option<String>, Option<StopReason>)>,
    pub rereads: usize,
    pub foreign: bool,
    pub incomplete: bool,
    pub setup: Option<SessionSetup>,
    pub has_offer: bool,
}

impl View {
    pub(super) fn apply(&mut self, event: &Event) {
        match &event.body {
            EventBody::Message { id, role, parts, state, .. } => {
                self.put(id, Shown::Message { role: *role, text: text_of(parts), state: state.clone() });
            }
            EventBody::DraftStarted { id, to } => {
                let shown = match to {
                    AppendTo::Message => {
                        Shown::Message { role: Role::Agent, text: String::new(), state: MessageState::Streaming }
                    }
                    AppendTo::Thought => Shown::Thought { text: String::new(), active: true },
                    AppendTo::ToolInput { .. } => panic!("inputs are not streamed in this protocol"),
                };
                self.put(id, shown);
            }
            EventBody::Append { id, text: more, .. } => match self.get_mut(id) {
                Some(
                    Shown::Message { text, state: MessageState::Streaming, .. } | Shown::Thought { text, active: true },
                ) => text.push_str(more),
                other => panic!("text for what takes none: {id} {other:?}"),
            },
            EventBody::DraftsClosed { keep } => {
                assert!(!keep, "what was shown is rebuilt by a replay");
                self.items.retain(|(_, shown)| {
                    !matches!(
                        shown,
                        Shown::Message { state: MessageState::Streaming, .. } | Shown::Thought { active: true, .. }
                    )
                });
            }
            EventBody::Thought { id, text, active } => {
                self.put(id, Shown::Thought { text: text.clone(), active: *active });
            }
            EventBody::ToolCall { id, name, .. } => {
                let known = self.get(id).cloned();
                let (output, state) = match known {
                    Some(Shown::Tool { output, state, .. }) => (output, state),
                    _ => (None, ToolState::Running),
                };
                self.put(id, Shown::Tool { name: name.clone(), output, state });
            }
            EventBody::ToolResult { call, output: parts, is_error, .. } => match self.get_mut(call) {
                Some(Shown::Tool { output, state, .. }) => {
                    assert_eq!(*output, None, "a call has its result twice: {call}");
                    assert!(!is_error, "this protocol has no mark for a failure");
                    *output = Some(text_of(parts));
                    if !matches!(state, ToolState::Denied { .. }) {
                        *state = ToolState::Done;
                    }
                }
                other => panic!("a result for no call: {call} {other:?}"),
            },
            EventBody::ToolEnded { call, state: ended } => match self.get_mut(call) {
                Some(Shown::Tool { state, .. }) => *state = ended.clone(),
                other => panic!("an end for no call: {call} {other:?}"),
            },
            EventBody::Request(seed) => {
                let item = seed.item.clone().expect("what is asked is about a call");
                assert!(self.get(&item).is_some(), "the call of a request is shown: {item}");
                self.requests.insert(seed.id.clone(), ((**seed).clone(), false));
            }
            EventBody::Waiting { requests } => {
                assert!(requests.iter().all(|id| self.requests.contains_key(id)), "what waits was asked");
                self.waiting.clone_from(requests);
            }
            EventBody::Settled { request, choice, reason, .. } => {
                self.waiting.retain(|waiting| waiting != request);
                let Some((seed, settled)) = self.requests.get_mut(request) else { return };
                *settled = true;
                let item = seed.item.clone();
                if let (Some(choice), Some(item)) = (choice, item)
                    && let Some(Shown::Tool { state, .. }) = self.get_mut(&item)
                {
                    use contract::request::ChoiceKind;
                    *state = match choice {
                        ChoiceKind::Deny | ChoiceKind::Decline => ToolState::Denied { reason: reason.clone() },
                        ChoiceKind::AllowOnce | ChoiceKind::AllowAlways => ToolState::Running,
                        ChoiceKind::Answer => ToolState::Done,
                        ChoiceKind::ReportError => ToolState::Failed,
                    };
                }
            }
            EventBody::Status(state) => self.state = state.clone(),
            EventBody::TurnStarted => {
                if self.turns.iter().all(|(id, stop)| *id != event.turn || stop.is_some()) {
                    self.turns.push((event.turn.clone(), None));
                }
            }
            EventBody::TurnEnded { stop } => {
                let known = self.turns.iter_mut().rfind(|(id, _)| *id == event.turn).expect("a turn ends that began");
                assert_eq!(known.1.replace(stop.clone()), None, "a turn ends twice");
                self.waiting.clear();
                for (_, shown) in &mut self.items {
                    if let Shown::Tool { state: state @ ToolState::Running, .. } = shown {
                        *state = ToolState::Cancelled;
                    }
                }
            }
            EventBody::Notice { id, notice } => {
                self.put(id, Shown::Other(format!("{:?} {:?}: {}", notice.level, notice.code, notice.text)));
            }
            EventBody::Marker { id, marker } => self.put(id, Shown::Other(format!("{marker:?}"))),
            EventBody::Unknown { id, what, raw } => self.put(id, Shown::Other(format!("unknown {what} {raw}"))),
            EventBody::Reread { .. } => self.rereads += 1,
            EventBody::Arranged { items } => self.arrange(items),
            EventBody::ForeignRun(foreign) => self.foreign = *foreign,
            EventBody::Setup { setup, offer } => {
                self.setup = Some(setup.clone());
                self.has_offer |= offer.is_some();
            }
            EventBody::IncompleteHistory => self.incomplete = true,
            EventBody::Facts { .. } => {}
            other => panic!("not an event of this protocol: {other:?}"),
        }
    }

    fn put(&mut self, id: &str, shown: Shown) {
        match self.items.iter_mut().find(|(known, _)| known == id) {
            Some((_, known)) => *known = shown,
            None => self.items.push((id.to_owned(), shown)),
        }
    }

    pub(super) fn get(&self, id: &str) -> Option<&Shown> {
        self.items.iter().find(|(known, _)| known == id).map(|(_, shown)| shown)
    }

    fn get_mut(&mut self, id: &str) -> Option<&mut Shown> {
        self.items.iter_mut().find(|(known, _)| known == id).map(|(_, shown)| shown)
    }

    fn arrange(&mut self, wanted: &[String]) {
        let mut before = Vec::new();
        let mut groups: BTreeMap<usize, Vec<_>> = BTreeMap::new();
        let mut leader = None;
        for item in std::mem::take(&mut self.items) {
            leader = wanted.iter().position(|id| *id == item.0).or(leader);
            match leader {
                Some(leader) => groups.entry(leader).or_default().push(item),
                None => before.push(item),
            }
        }
        assert_eq!(groups.len(), wanted.len(), "what is arranged is shown");
        self.items = before;
        self.items.extend(groups.into_values().flatten());
    }

    /// Items as lines, in order.
    pub(super) fn lines(&self) -> Vec<String> {
        self.items
            .iter()
            .map(|(id, shown)| match shown {
                Shown::Message { role, text, state: MessageState::Done } => format!("{id} {role:?}: {text}"),
                Shown::Message { role, text, state } => format!("{id} {role:?} {state:?}: {text}"),
                Shown::Thought { text, active } => format!("{id} thought {active}: {text}"),
                Shown::Tool { name, output, state } => {
                    format!("{id} {name} {state:?}: {}", output.as_deref().unwrap_or("-"))
                }
                Shown::Other(words) => format!("{id} {words}"),
            })
            .collect()
    }

    /// The same without ids.
    pub(super) fn texts(&self) -> Vec<String> {
        self.lines().into_iter().map(|line| line.split_once(' ').unwrap().1.to_owned()).collect()
    }

    pub(super) fn last_stop(&self) -> Option<&StopReason> {
        self.turns.last().and_then(|(_, stop)| stop.as_ref())
    }
}

fn text_of(parts: &[Part]) -> String {
    parts
        .iter()
        .map(|part| match part {
            Part::Text(text) => {
                assert_eq!(text.chars, text.text.chars().count() as u64, "the count of characters is wrong");
                text.text.clone()
            }
            Part::Image { media_type, .. } => format!("[{media_type}]"),
            Part::Remote { address, .. } => format!("[{address}]"),
            Part::Redacted => "[redacted]".to_owned(),
            Part::Unknown { what, .. } => format!("[unknown {what}]"),
        })
        .collect()
}
