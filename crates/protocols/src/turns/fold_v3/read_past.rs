//! Reading a whole history: messages to things in order, each call with what came of it (page §5).

use std::collections::HashMap;

use contract::item::Part;

use crate::{
    json::{Fields, elements},
    reconcile::Piece,
    told::text_part,
    turns::wire::{self, Block, Called, Output, Said, Who},
};

/// One thing of a history.
#[derive(Debug)]
pub(super) struct Past {
    pub piece: Piece,
    /// How it is shown, where it is a message.
    pub parts: Vec<Part>,
    /// The thinking that stands before it.
    pub thinking: Vec<String>,
    /// What came of a call.
    pub output: Option<Output>,
}

/// A history as it was read.
#[derive(Debug, Default)]
pub(super) struct History {
    pub past: Vec<Past>,
    /// It may leave things out.
    pub is_incomplete: bool,
    /// The calls of the last message, where that is the agent's.
    pub last_calls: Option<Vec<String>>,
    /// The things before the last message.
    pub before_last: usize,
}

/// Reads a history; `None` where it has none of the kinds that can be read.
pub(super) fn read(raw: &str) -> Option<History> {
    let fields = Fields::read(raw).ok()?;
    let kinds = fields.object("history")?;
    let (messages, is_compacted) = match (kinds.raw("full"), kinds.raw("compacted")) {
        (Some(full), _) => (full, false),
        (None, compacted) => (compacted?, true),
    };
    let range = fields.object("range").or_else(|| kinds.object("range"));
    let is_part = range.and_then(|range| range.number::<u64>("start")).is_some_and(|start| start > 0);
    let mut history = History { is_incomplete: is_compacted || is_part, ..History::default() };
    // The newest call of each id that has no result yet.
    let mut open: HashMap<String, usize> = HashMap::new();
    let mut answered: Vec<String> = Vec::new();
    for raw in elements(messages) {
        let before = history.past.len();
        let said = wire::said(raw);
        let is_tool = matches!(said.as_ref().map(|said| &said.who), Some(Who::Tool(_)));
        match said {
            Some(Said { who: Who::User, blocks, .. }) => {
                let piece = Piece::User(wire::text_of(&blocks));
                history.past.push(Past { piece, parts: wire::parts_of(blocks), thinking: Vec::new(), output: None });
            }
            Some(Said { who: Who::Agent, blocks, raw, .. }) => {
                history.last_calls = Some(agent_said(blocks, raw, &mut history.past, &mut open));
            }
            Some(Said { who: Who::Tool(call), output, .. }) => {
                let output = output.unwrap_or_else(|| wire::output(None));
                match open.remove(&call).and_then(|index| history.past.get_mut(index)) {
                    Some(known) => {
                        if let Piece::Call { output: text, .. } = &mut known.piece {
                            *text = Some(output.raw.clone());
                        }
                        known.output = Some(output);
                        answered.push(call);
                    }
                    // The same result again (page §7.5).
                    None if answered.contains(&call) => {}
                    // Its call is not in a shortened history.
                    None => {
                        let piece = Piece::Call {
                            call: call.clone(),
                            name: "tool".to_owned(),
                            arguments: "{}".to_owned(),
                            output: Some(output.raw.clone()),
                        };
                        history.past.push(Past {
                            piece,
                            parts: Vec::new(),
                            thinking: Vec::new(),
                            output: Some(output),
                        });
                        answered.push(call);
                    }
                }
            }
            said => {
                let parts = said.map(|said| wire::parts_of(said.blocks)).unwrap_or_default();
                let piece = Piece::Other(raw.to_owned());
                history.past.push(Past { piece, parts, thinking: Vec::new(), output: None });
            }
        }
        if !matches!(wire::said(raw).map(|said| said.who), Some(Who::Agent)) {
            // A result of the last message's calls leaves it the last word of the agent, and that goes on.
            if !is_tool || history.last_calls.is_none() {
                history.last_calls = None;
            } else {
                history.last_calls =
                    history.last_calls.take().filter(|calls| calls.iter().any(|call| open.contains_key(call)));
            }
        }
        if history.past.len() > before {
            history.before_last = history.past.len();
        }
    }
    Some(history)
}

/// One message of the agent: its text, its pictures, its calls. Gives the ids of its calls.
fn agent_said(blocks: Vec<Block>, raw: String, past: &mut Vec<Past>, open: &mut HashMap<String, usize>) -> Vec<String> {
    let (thinking, rest): (Vec<Block>, Vec<Block>) =
        blocks.into_iter().partition(|block| matches!(block, Block::Thinking(_)));
    let mut thinking: Vec<String> = thinking
        .into_iter()
        .filter_map(|block| if let Block::Thinking(text) = block { Some(text) } else { None })
        .filter(|text| !text.is_empty())
        .collect();
    let mut calls = Vec::new();
    let before = past.len();
    for block in rest {
        let (piece, parts) = match block {
            Block::Text(text) if text.trim().is_empty() => continue,
            Block::Text(text) => {
                let parts = vec![text_part(&text)];
                (Piece::Agent(text), parts)
            }
            Block::Part(part) => (Piece::Agent(String::new()), vec![part]),
            Block::Call(called) => {
                open.insert(called.call.clone(), past.len());
                calls.push(called.call.clone());
                let Called { call, name, input } = called;
                (Piece::Call { call, name, arguments: input, output: None }, Vec::new())
            }
            Block::Thinking(_) => continue,
        };
        past.push(Past { piece, parts, thinking: std::mem::take(&mut thinking), output: None });
    }
    if past.len() == before && !thinking.is_empty() {
        past.push(Past { piece: Piece::Other(raw), parts: Vec::new(), thinking, output: None });
    }
    calls
}
