//! What a person would see: a map of items that takes events in as the session reducer does, in few lines.

use std::collections::BTreeMap;

use contract::{
    event::{AppendTo, Event, EventBody, RequestSeed},
    item::{MessageState, Part, Role},
    request::ChoiceKind,
    session::{SessionState, StopReason},
};

/// One item.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Shown {
    Message { role: Role, texts: Vec<String>, state: MessageState },
    Thought { text: String, active: bool },
    Tool { name: String, input: String, output: Option<String>, is_error: bool },
    Other(String),
}

/// A request.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Asked {
    pub seed: RequestSeed,
    pub thread: Option<String>,
    pub is_open: bool,
    pub settled: Option<Option<ChoiceKind>>,
}

#[derive(Debug, Default, Clone, PartialEq)]
pub(super) struct View {
    /// Items by place and id.
    items: BTreeMap<(i64, String), Shown>,
    drafts: Vec<String>,
    pub requests: BTreeMap<String, Asked>,
    pub state: SessionState,
    /// Turns in the order of their start, with their ends.
    pub turns: Vec<(Option<String>, Option<StopReason>)>,
    pub rereads: usize,
    pub ended: Option<bool>,
}

impl View {
    pub(super) fn apply(&mut self, event: &Event, position: i64) {
        match &event.body {
            EventBody::Message { id, replaces, role, parts, state } => {
                if let Some(draft) = replaces {
                    self.remove(draft);
                }
                self.drafts.retain(|draft| draft != id);
                if *state == MessageState::Streaming {
                    self.drafts.push(id.clone());
                }
                let texts = parts.iter().map(text_of).collect();
                self.put(id, position, Shown::Message { role: *role, texts, state: state.clone() });
            }
            EventBody::DraftStarted { id, to } => self.start(id, to, position),
            EventBody::Append { id, to, part, text } => {
                if self.is_whole(id) {
                    return;
                }
                if self.get(id).is_none() {
                    self.start(id, to, position);
                }
                match self.get_mut(id) {
                    Some(Shown::Message { texts, .. }) => {
                        if *part as usize == texts.len() {
                            texts.push(String::new());
                        }
                        texts[*part as usize].push_str(text);
                    }
                    Some(Shown::Thought { text: known, .. } | Shown::Tool { input: known, .. }) => known.push_str(text),
                    _ => panic!("text for what takes none: {id}"),
                }
            }
            EventBody::DraftsClosed { keep } => {
                for id in std::mem::take(&mut self.drafts) {
                    match self.get_mut(&id) {
                        Some(Shown::Message { state, texts, .. }) if *keep && !texts.is_empty() => {
                            *state = MessageState::Incomplete;
                        }
                        _ => self.remove(&id),
                    }
                }
            }
            EventBody::Thought { id, text, active } => {
                self.drafts.retain(|draft| draft != id);
                let text = match self.get(id) {
                    Some(Shown::Thought { text: known, .. }) if text.is_empty() => known.clone(),
                    _ => text.clone(),
                };
                self.put(id, position, Shown::Thought { text, active: *active });
            }
            EventBody::ToolCall { id, name, input, .. } => {
                let (output, is_error) = match self.get(id) {
                    Some(Shown::Tool { output, is_error, .. }) => (output.clone(), *is_error),
                    _ => (None, false),
                };
                self.put(id, position, Shown::Tool { name: name.clone(), input: input.clone(), output, is_error });
            }
            EventBody::ToolResult { call, name, output, is_error, .. } => {
                let result = output.iter().map(text_of).collect::<String>();
                if self.get(call).is_none() {
                    let name = name.clone().unwrap_or_default();
                    self.put(call, position, Shown::Tool { name, input: String::new(), output: None, is_error: false });
                }
                if let Some(Shown::Tool { output, is_error: failed, .. }) = self.get_mut(call) {
                    (*output, *failed) = (Some(result), *is_error);
                }
            }
            EventBody::Request(seed) => {
                if self.requests.get(&seed.id).is_some_and(|known| known.settled.is_some()) {
                    return;
                }
                let is_open = seed.answerable;
                let asked = Asked { seed: (**seed).clone(), thread: event.thread.clone(), is_open, settled: None };
                self.requests.insert(seed.id.clone(), asked);
            }
            EventBody::Waiting { requests } => {
                for (id, asked) in &mut self.requests {
                    asked.is_open = asked.settled.is_none() && requests.contains(id);
                }
            }
            EventBody::Settled { request, choice, .. } => {
                if let Some(asked) = self.requests.get_mut(request) {
                    asked.is_open = false;
                    asked.settled.get_or_insert(*choice);
                }
            }
            EventBody::Status(state) => self.state = state.clone(),
            EventBody::TurnStarted => {
                if self.turns.iter().all(|(id, _)| *id != event.turn) {
                    self.turns.push((event.turn.clone(), None));
                }
            }
            EventBody::TurnEnded { stop } => {
                if let Some(turn) = self.turns.iter_mut().find(|(id, _)| *id == event.turn) {
                    turn.1 = Some(stop.clone());
                }
                for asked in self.requests.values_mut() {
                    asked.is_open = false;
                }
            }
            EventBody::Goal { id, verdict, evaluating, goal, description, .. } => {
                let words = format!("goal {goal} {description:?} {verdict:?} {evaluating}");
                self.put(id, position, Shown::Other(words));
            }
            EventBody::Artifact { id, artifact } => self.put(id, position, Shown::Other(format!("{artifact:?}"))),
            EventBody::Notice { id, notice } => self.put(id, position, Shown::Other(format!("{notice:?}"))),
            // No server of this protocol says such a thing.
            EventBody::ToolEnded { .. }
            | EventBody::Resumable(_)
            | EventBody::ForeignRun(_)
            | EventBody::Context(_)
            | EventBody::RunOptions(_)
            | EventBody::Setup { .. }
            | EventBody::IncompleteHistory
            | EventBody::Arranged { .. } => panic!("not an event of this protocol: {event:?}"),
            EventBody::Marker { id, marker } => self.put(id, position, Shown::Other(format!("{marker:?}"))),
            EventBody::Unknown { id, what, raw } => self.put(id, position, Shown::Other(format!("{what} {raw}"))),
            EventBody::Ended { deleted, .. } => self.ended = Some(*deleted),
            EventBody::Reread { .. } => self.rereads += 1,
            EventBody::ModelStarted { .. }
            | EventBody::ModelEnded { .. }
            | EventBody::Usage { .. }
            | EventBody::Facts { .. }
            | EventBody::Thread { .. } => {}
        }
    }

    fn start(&mut self, id: &str, to: &AppendTo, position: i64) {
        if self.is_whole(id) {
            return;
        }
        let shown = match to {
            AppendTo::Message => {
                Shown::Message { role: Role::Agent, texts: Vec::new(), state: MessageState::Streaming }
            }
            AppendTo::Thought => Shown::Thought { text: String::new(), active: true },
            AppendTo::ToolInput { name } => {
                Shown::Tool { name: name.clone(), input: String::new(), output: None, is_error: false }
            }
        };
        self.drafts.retain(|draft| draft != id);
        self.drafts.push(id.to_owned());
        self.put(id, position, shown);
    }

    fn is_whole(&self, id: &str) -> bool {
        self.get(id).is_some() && !self.drafts.iter().any(|draft| draft == id)
    }

    fn key(&self, id: &str) -> Option<(i64, String)> {
        self.items.keys().find(|(_, known)| known == id).cloned()
    }

    fn put(&mut self, id: &str, position: i64, shown: Shown) {
        let key = self.key(id).unwrap_or((position, id.to_owned()));
        self.items.insert(key, shown);
    }

    fn remove(&mut self, id: &str) {
        self.drafts.retain(|draft| draft != id);
        if let Some(key) = self.key(id) {
            self.items.remove(&key);
        }
    }

    pub(super) fn get(&self, id: &str) -> Option<&Shown> {
        self.items.get(&self.key(id)?)
    }

    fn get_mut(&mut self, id: &str) -> Option<&mut Shown> {
        let key = self.key(id)?;
        self.items.get_mut(&key)
    }

    /// Ids of all items, in order.
    pub(super) fn ids(&self) -> Vec<&str> {
        self.items.keys().map(|(_, id)| id.as_str()).collect()
    }

    /// All items, in order.
    pub(super) fn shown(&self) -> Vec<&Shown> {
        self.items.values().collect()
    }

    /// What the agent said: each message's text and state, in order.
    pub(super) fn said(&self) -> Vec<(String, MessageState)> {
        self.items
            .values()
            .filter_map(|shown| match shown {
                Shown::Message { role: Role::Agent, texts, state } => Some((texts.concat(), state.clone())),
                _ => None,
            })
            .collect()
    }

    /// Requests that can be answered now.
    pub(super) fn open(&self) -> Vec<&str> {
        self.requests.iter().filter(|(_, asked)| asked.is_open).map(|(id, _)| id.as_str()).collect()
    }

    pub(super) fn drafts(&self) -> &[String] {
        &self.drafts
    }
}

fn text_of(part: &Part) -> String {
    match part {
        Part::Text(text) => {
            assert_eq!(text.chars, text.text.chars().count() as u64, "the count of characters is wrong: {text:?}");
            text.text.clone()
        }
        other => format!("{other:?}"),
    }
}
