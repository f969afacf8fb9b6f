//! What a person would see: items in order, taken from events as the session reducer does it, in few lines.

use std::collections::BTreeMap;

use contract::{
    event::{AppendTo, Event, EventBody, RequestSeed},
    item::{MessageState, Part, Role, ToolState},
    request::ChoiceKind,
    session::{ContextMeter, Resumable, SessionState, StopReason},
};

/// One item.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Shown {
    Message { role: Role, text: String, pictures: usize, state: MessageState },
    Thought { text: String, active: bool },
    Tool { name: String, input: String, output: Option<String>, state: ToolState },
    Other(String),
}

/// A request.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Asked {
    pub seed: RequestSeed,
    pub is_open: bool,
    pub settled: Option<Option<ChoiceKind>>,
}

#[derive(Debug, Default, Clone, PartialEq)]
pub(super) struct View {
    pub items: Vec<(String, Option<String>, Shown)>,
    pub requests: BTreeMap<String, Asked>,
    pub state: SessionState,
    /// Turns in the order of their start, with their ends.
    pub turns: Vec<(Option<String>, Option<StopReason>)>,
    pub rereads: usize,
    pub foreign: bool,
    pub resumable: Option<Resumable>,
    pub context: Option<ContextMeter>,
}

impl View {
    pub(super) fn apply(&mut self, event: &Event) {
        let turn = &event.turn;
        match &event.body {
            EventBody::Message { id, role, parts, state, .. } => {
                let pictures = parts.iter().filter(|part| matches!(part, Part::Image { .. })).count();
                let shown = Shown::Message { role: *role, text: text_of(parts), pictures, state: state.clone() };
                self.put(id, turn, shown);
            }
            EventBody::DraftStarted { id, to } => {
                assert!(self.get(id).is_none(), "a draft begins twice: {id}");
                let shown = match to {
                    AppendTo::Message => Shown::Message {
                        role: Role::Agent,
                        text: String::new(),
                        pictures: 0,
                        state: MessageState::Streaming,
                    },
                    AppendTo::Thought => Shown::Thought { text: String::new(), active: true },
                    AppendTo::ToolInput { .. } => panic!("inputs are not streamed in this protocol"),
                };
                self.put(id, turn, shown);
            }
            EventBody::Append { id, text: more, .. } => match self.get_mut(id) {
                Some(Shown::Message { text, state: MessageState::Streaming, .. })
                | Some(Shown::Thought { text, active: true }) => text.push_str(more),
                other => panic!("text for what takes none: {id} {other:?}"),
            },
            EventBody::Thought { id, text, active } => {
                self.put(id, turn, Shown::Thought { text: text.clone(), active: *active });
            }
            EventBody::ToolCall { id, name, input, .. } => {
                assert!(self.get(id).is_none(), "a call is told twice: {id}");
                let (name, input) = (name.clone(), input.clone());
                self.put(id, turn, Shown::Tool { name, input, output: None, state: ToolState::Running });
            }
            EventBody::ToolResult { call, output: parts, is_error, .. } => match self.get_mut(call) {
                Some(Shown::Tool { output, state, .. }) => {
                    assert_eq!(*output, None, "a call has its result twice: {call}");
                    *output = Some(text_of(parts));
                    if !matches!(state, ToolState::Denied { .. }) {
                        *state = if *is_error { ToolState::Failed } else { ToolState::Done };
                    }
                }
                other => panic!("a result for no call: {call} {other:?}"),
            },
            EventBody::ToolEnded { call, state: ended } => match self.get_mut(call) {
                Some(Shown::Tool { state, .. }) => *state = ended.clone(),
                other => panic!("an end for no call: {call} {other:?}"),
            },
            EventBody::Request(seed) => {
                if self.requests.get(&seed.id).is_none_or(|known| known.settled.is_none()) {
                    let asked = Asked { seed: (**seed).clone(), is_open: true, settled: None };
                    self.requests.insert(seed.id.clone(), asked);
                }
            }
            EventBody::Waiting { requests } => {
                for (id, asked) in &mut self.requests {
                    asked.is_open = asked.settled.is_none() && requests.contains(id);
                }
            }
            EventBody::Settled { request, choice, .. } => {
                let asked = self.requests.get_mut(request).expect("only what was asked is settled");
                asked.is_open = false;
                asked.settled.get_or_insert(*choice);
            }
            EventBody::Status(state) => self.state = state.clone(),
            EventBody::TurnStarted => self.turns.push((turn.clone(), None)),
            EventBody::TurnEnded { stop } => {
                let known = self.turns.iter_mut().find(|(id, _)| id == turn).expect("a turn ends that began");
                assert_eq!(known.1.replace(stop.clone()), None, "a turn ends twice");
                for asked in self.requests.values_mut() {
                    asked.is_open = false;
                }
                for (_, _, shown) in &mut self.items {
                    if let Shown::Tool { state: state @ ToolState::Running, .. } = shown {
                        *state = ToolState::Cancelled;
                    }
                }
            }
            EventBody::Notice { id, notice } => {
                self.put(id, turn, Shown::Other(format!("{:?} {:?}: {}", notice.level, notice.code, notice.text)));
            }
            EventBody::Marker { id, marker } => self.put(id, turn, Shown::Other(format!("{marker:?}"))),
            EventBody::Unknown { id, what, raw } => self.put(id, turn, Shown::Other(format!("unknown {what} {raw}"))),
            EventBody::Reread { .. } => self.rereads += 1,
            EventBody::Arranged { items } => self.arrange(items),
            EventBody::ForeignRun(foreign) => self.foreign = *foreign,
            EventBody::Resumable(resumable) => self.resumable = resumable.clone(),
            EventBody::Context(meter) => self.context = Some(meter.clone()),
            EventBody::Usage { .. }
            | EventBody::RunOptions(_)
            | EventBody::Setup { .. }
            | EventBody::IncompleteHistory => {}
            other => panic!("not an event of this protocol: {other:?}"),
        }
    }

    fn put(&mut self, id: &str, turn: &Option<String>, shown: Shown) {
        match self.items.iter_mut().find(|(known, ..)| known == id) {
            Some((_, _, known)) => *known = shown,
            None => self.items.push((id.to_owned(), turn.clone(), shown)),
        }
    }

    pub(super) fn get(&self, id: &str) -> Option<&Shown> {
        self.items.iter().find(|(known, ..)| known == id).map(|(_, _, shown)| shown)
    }

    fn get_mut(&mut self, id: &str) -> Option<&mut Shown> {
        self.items.iter_mut().find(|(known, ..)| known == id).map(|(_, _, shown)| shown)
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

    /// Ids of all items, in order.
    pub(super) fn ids(&self) -> Vec<&str> {
        self.items.iter().map(|(id, ..)| id.as_str()).collect()
    }

    /// Items as lines, in order.
    pub(super) fn lines(&self) -> Vec<String> {
        self.items
            .iter()
            .map(|(id, _, shown)| match shown {
                Shown::Message { role, text, state: MessageState::Done, .. } => format!("{id} {role:?}: {text}"),
                Shown::Message { role, text, state, .. } => format!("{id} {role:?} {state:?}: {text}"),
                Shown::Thought { text, active } => format!("{id} thought {active}: {text}"),
                Shown::Tool { name, output, state, .. } => {
                    format!("{id} {name} {state:?}: {}", output.as_deref().unwrap_or("-"))
                }
                Shown::Other(words) => format!("{id} {words}"),
            })
            .collect()
    }

    /// Requests that can be answered now.
    pub(super) fn open(&self) -> Vec<&str> {
        self.requests.iter().filter(|(_, asked)| asked.is_open).map(|(id, _)| id.as_str()).collect()
    }

    pub(super) fn seed(&self, id: &str) -> &RequestSeed {
        &self.requests[id].seed
    }

    pub(super) fn last_stop(&self) -> Option<&StopReason> {
        self.turns.last().and_then(|(_, stop)| stop.as_ref())
    }
}

fn text_of(parts: &[Part]) -> String {
    parts
        .iter()
        .filter_map(|part| match part {
            Part::Text(text) => {
                assert_eq!(text.chars, text.text.chars().count() as u64, "the count of characters is wrong");
                Some(text.text.as_str())
            }
            _ => None,
        })
        .collect()
}
