//! Requests that were interrupted: what is left of them, and a server that dies and starts again (§8, edge 19).

use std::collections::{HashSet, VecDeque};

use super::{
    Recover,
    desk::{Desk, Left, Runs, Session},
    free,
    shape::{Message, Tool},
};
use crate::scenario::Step;

/// What the model is told of a call that was stopped.
const CANCELLED: &str = "Request cancelled before tool completion";

const UNSEEN: &str = "The tools finished, and the request stopped before the model saw their results.";
const UNANSWERED: &str = "The model was never answered: the request stopped before it replied.";
const UNKNOWN: &str = "The server ended while tools were running; their results are not known.";

/// The calls of the last assistant message that have no result yet.
fn open_calls(messages: &[Message]) -> Vec<Tool> {
    let Some(at) = messages.iter().rposition(|message| message.role == "assistant") else { return Vec::new() };
    let (_, after) = messages.split_at(at);
    let ended: HashSet<&str> = after.iter().filter_map(|message| message.tool_call_id.as_deref()).collect();
    let calls = after.iter().flat_map(|message| &message.tool_calls);
    calls.filter(|call| !ended.contains(call.call_id.as_str())).cloned().collect()
}

fn cancelled(tool: &Tool) -> Message {
    Message::result(&Tool { output: CANCELLED.to_owned(), ok: false, ..tool.clone() })
}

/// The run of this session stopped in order: open calls get a result, and the rest of the script is kept for a resume.
pub(super) fn leave_off(session: &mut Session, rest: VecDeque<Step>) {
    let mut steps = mended(rest);
    let open = open_calls(&session.messages);
    if !open.is_empty() {
        session.messages.extend(open.iter().map(cancelled));
        // The step that made these calls is over; the model goes on from what it was told of them.
        steps.pop_front();
        if !steps.front().is_some_and(free::reports) {
            steps.push_front(free::say("Finished. The tool said: {output}"));
        }
    }
    let unseen = session.messages.last().is_some_and(|message| message.role == "tool");
    let description = if unseen { UNSEEN } else { UNANSWERED }.to_owned();
    session.left = Some(Left { kind: "call_model".into(), description, steps });
    session.touch();
}

/// The run of this session died with its server: nothing more was written.
pub(super) fn die(session: &mut Session, rest: VecDeque<Step>, recover: Recover) {
    let open = open_calls(&session.messages);
    if open.is_empty() || recover == Recover::Report {
        leave_off(session, rest);
    } else {
        // The request that made these calls is made again, under new ids, so its message leaves the history.
        let steps = mended(rest);
        if let Some(at) = session.messages.iter().rposition(|message| message.role == "assistant") {
            session.messages.truncate(at);
        }
        session.left = Some(Left { kind: "recover_tools".into(), description: UNKNOWN.to_owned(), steps });
        session.touch();
    }
    if !open.is_empty()
        && let Some(left) = &mut session.left
    {
        "recover_tools".clone_into(&mut left.kind);
        UNKNOWN.clone_into(&mut left.description);
    }
}

/// A step that fails always would fail again, so a resume finds it mended.
fn mended(mut steps: VecDeque<Step>) -> VecDeque<Step> {
    if matches!(steps.front(), Some(Step::Error { .. } | Step::Terminate { .. })) {
        steps.pop_front();
        steps.push_front(free::say("It worked this time."));
    }
    steps
}

impl Runs {
    /// The process dies and starts again: runs break off without a frame, remembered commands are forgotten, and a new
    /// empty session is current. What was interrupted can be resumed once its session is opened.
    pub(super) fn restart(&self) {
        self.change(|desk| {
            let recover = desk.manner.recover;
            for session in &mut desk.sessions {
                if let Some(run) = session.run.take() {
                    run.ends.killed.cancel();
                    die(session, run.rest, recover);
                }
            }
            desk.sessions.retain(|session| session.updated_at.is_some());
            desk.remembered.clear();
            let manner = desk.manner.clone();
            desk.behave(manner);
        });
        self.new_session(None);
    }
}

impl Desk {
    /// Takes what the interrupted request of the current session still has to do, and the last tool's output.
    pub(super) fn take_left(&mut self) -> Option<(VecDeque<Step>, String)> {
        let session = self.current_mut()?;
        let steps = session.left.take()?.steps;
        let output = session.messages.last().filter(|message| message.role == "tool");
        Some((steps, output.map(|message| free::shortened(&message.text)).unwrap_or_default()))
    }
}
