//! The calls of a run. The server's ids are its provider's and can repeat, so items are named by run and call.

use contract::{
    event::{EventBody, Permission},
    item::ToolState,
};

use super::{
    run::Run,
    shown::{Fate, Shown},
    text_parts,
    told::Told,
};
use crate::{reconcile::Piece, runs::parse::Ended};

/// One call.
#[derive(Debug, Clone)]
pub(super) struct Call {
    /// The server's id.
    pub call: String,
    /// The item's.
    pub item: String,
    pub name: String,
    pub arguments: String,
    pub is_open: bool,
}

impl Run {
    /// The newest call with this id.
    pub(super) fn call(&self, id: &str) -> Option<&Call> {
        self.calls.iter().rfind(|call| call.call == id)
    }

    /// The item a call of this id has, or will have once it is told.
    pub(super) fn item_for(&self, call: &str) -> String {
        match self.calls.iter().filter(|known| known.call == call).count() {
            0 => format!("{}.c.{call}", self.id),
            before => format!("{}.c.{call}.{}", self.id, before + 1),
        }
    }

    /// A call was made. It is not known to run: its approval comes behind it (§5).
    pub(super) fn tool_started(
        &mut self,
        call: String,
        name: String,
        arguments: String,
        at_server: bool,
        shown: &mut Shown,
        told: &mut Told<'_>,
    ) {
        let item = self.item_for(&call);
        let piece = Piece::Call { call: call.clone(), name: name.clone(), arguments: arguments.clone(), output: None };
        shown.add(&item, told.turn(), piece, true);
        shown.calls.insert(item.clone(), Fate::Open);
        if at_server {
            shown.at_server.insert(item.clone());
        }
        told.push(EventBody::ToolCall {
            id: item.clone(),
            name: name.clone(),
            source: at_server.then(|| "server".to_owned()),
            input: arguments.clone(),
            permission: Permission::Unsaid,
        });
        // A question is asked before its call is told: the card finds its call now.
        if let Some(asking) =
            self.asked.iter().find(|asking| asking.is_open && asking.seed.item.as_ref() == Some(&item))
        {
            told.push(EventBody::Request(Box::new(asking.seed.clone())));
        }
        self.calls.push(Call { call, item, name, arguments, is_open: true });
    }

    /// A call ended.
    pub(super) fn tool_finished(
        &mut self,
        call: &str,
        name: Option<&str>,
        ended: &Ended,
        event_id: &str,
        shown: &mut Shown,
        told: &mut Told<'_>,
    ) {
        let open = self.calls.iter().rposition(|known| known.call == call && known.is_open);
        let index = open.or_else(|| self.calls.iter().rposition(|known| known.call == call));
        let index = match index {
            Some(index) => index,
            None => {
                // Its beginning was never told.
                let name = name.unwrap_or_default().to_owned();
                self.tool_started(call.to_owned(), name, "{}".to_owned(), false, shown, told);
                self.calls.len() - 1
            }
        };
        let Some(known) = self.calls.get_mut(index) else { return };
        known.is_open = false;
        let (item, name) = (known.item.clone(), known.name.clone());
        self.settle(call, event_id, told);
        end_call(&item, Some(name), ended, shown, told);
    }

    /// What the end of the run tells of its calls: those without an end of their own get it (§10.14).
    pub(super) fn repair(
        &mut self,
        tools: Vec<crate::runs::parse::Tool>,
        event_id: &str,
        shown: &mut Shown,
        told: &mut Told<'_>,
    ) {
        // The same id twice: the first with the first.
        let mut taken: Vec<usize> = Vec::new();
        for tool in tools {
            let found = (0..self.calls.len()).find(|index| {
                !taken.contains(index) && self.calls.get(*index).is_some_and(|known| known.call == tool.call)
            });
            let index = match found {
                Some(index) => index,
                None => {
                    let arguments = tool.arguments.clone();
                    self.tool_started(tool.call.clone(), tool.name.clone(), arguments, false, shown, told);
                    self.calls.len() - 1
                }
            };
            taken.push(index);
            let Some(known) = self.calls.get_mut(index).filter(|known| known.is_open) else { continue };
            known.is_open = false;
            let item = known.item.clone();
            let has_end = tool.ended.ok || tool.ended.skipped || !tool.ended.output.is_empty();
            if has_end {
                self.settle(&tool.call, event_id, told);
                end_call(&item, Some(tool.name), &tool.ended, shown, told);
            } else {
                shown.calls.insert(item.clone(), Fate::Silent);
                told.push(EventBody::ToolEnded { call: item, state: ToolState::Cancelled });
            }
        }
    }

    /// The run is over: no call of it goes on.
    pub(super) fn abandon_calls(&mut self, shown: &mut Shown) {
        for call in self.calls.iter_mut().filter(|call| call.is_open) {
            call.is_open = false;
            shown.calls.insert(call.item.clone(), Fate::Silent);
        }
    }
}

/// A call's end.
pub(super) fn end_call(item: &str, name: Option<String>, ended: &Ended, shown: &mut Shown, told: &mut Told<'_>) {
    shown.calls.insert(item.to_owned(), Fate::Told);
    if ended.skipped {
        told.push(EventBody::ToolEnded { call: item.to_owned(), state: ToolState::Skipped });
        return;
    }
    shown.answered(item, &ended.output);
    told.push(EventBody::ToolResult {
        id: format!("{item}.result"),
        call: item.to_owned(),
        name,
        output: text_parts(&ended.output),
        is_error: !ended.ok,
    });
}
