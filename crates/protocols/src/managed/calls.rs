//! Tool calls that have no result yet, and the requests about them (Qoder page, section 9; Claude page, section 5).
//!
//! A request is known with its call, but answerable only when the latest idle event names it. What the server waits
//! for is the server's word: an id it names is waited for, whatever was seen before.

use std::collections::{HashMap, HashSet};

use contract::{
    event::{EventBody, RequestSeed},
    item::Part,
    request::{Choice, ChoiceKind, RequestKind},
};

use super::{ids::Ids, wire::Fields};

/// A call without a result.
#[derive(Debug)]
struct Call {
    id: String,
    kind: RequestKind,
    name: String,
    source: Option<String>,
    input: String,
    turn: Option<String>,
    thread: Option<String>,
}

/// All of a session.
#[derive(Debug, Default)]
pub(super) struct Calls {
    open: Vec<Call>,
    /// Calls that have their result.
    answered: Ids,
    /// Requests told of and not settled.
    asked: HashSet<String>,
    /// Requests that were settled, with what was told about it.
    settled: HashMap<String, EventBody>,
    /// What the latest idle event waits for.
    waiting: Vec<String>,
    /// Results that were matched to a call by name: folded again they go to the same one.
    paired: HashMap<String, String>,
}

/// A call as its event has it.
pub(super) struct Announced<'a> {
    pub id: &'a str,
    pub kind: RequestKind,
    pub name: &'a str,
    pub source: Option<&'a str>,
    pub input: &'a str,
    pub turn: Option<&'a str>,
    pub thread: Option<&'a str>,
    /// The person is asked, as the event itself says.
    pub asks: bool,
    /// Its answer may be given before the server says that it waits.
    pub at_once: bool,
    /// It stands in history that is read backwards: only what is waited for now is a request.
    pub in_past: bool,
}

impl Calls {
    /// A call became known. Tells its request where there is one.
    pub(super) fn announced(&mut self, call: &Announced<'_>, out: &mut Vec<EventBody>) {
        let is_waited_for = self.waiting.iter().any(|id| id == call.id);
        if let Some(settled) = self.settled.get(call.id).filter(|_| !is_waited_for) {
            // Its answer was read before it was: history is read backwards.
            out.push(settled.clone());
            return;
        }
        if self.answered.contains(call.id) {
            return;
        }
        let known = Call {
            id: call.id.to_owned(),
            kind: call.kind,
            name: call.name.to_owned(),
            source: call.source.map(str::to_owned),
            input: call.input.to_owned(),
            turn: call.turn.map(str::to_owned),
            thread: call.thread.map(str::to_owned),
        };
        if is_waited_for || ((call.asks || call.at_once) && !call.in_past) {
            self.asked.insert(call.id.to_owned());
            out.push(EventBody::Request(Box::new(seed(&known, is_waited_for || call.at_once))));
        }
        self.open.retain(|open| open.id != call.id);
        if !call.in_past || is_waited_for {
            self.open.push(known);
        }
    }

    /// The server waits for exactly these. Tells the requests that can be answered now, with the sub-agent each is of.
    pub(super) fn wait(&mut self, ids: Vec<String>) -> Vec<(Option<String>, EventBody)> {
        let mut told = Vec::new();
        for id in &ids {
            if let Some(call) = self.open.iter().find(|call| call.id == *id) {
                self.asked.insert(id.clone());
                told.push((call.thread.clone(), EventBody::Request(Box::new(seed(call, true)))));
            }
        }
        self.waiting = ids;
        told
    }

    /// The turn is over: nothing waits, and calls without a result will get none.
    pub(super) fn turn_over(&mut self) {
        self.waiting.clear();
        self.asked.clear();
        self.open.clear();
    }

    /// A request was answered.
    pub(super) fn settle(
        &mut self,
        request: String,
        choice: Option<ChoiceKind>,
        reason: Option<String>,
        event_id: &str,
        output: Vec<Part>,
        out: &mut Vec<EventBody>,
    ) {
        self.asked.remove(&request);
        if matches!(choice, Some(ChoiceKind::Answer | ChoiceKind::ReportError)) {
            self.answered.insert(&request);
            self.open.retain(|call| call.id != request);
        }
        let event_id = event_id.to_owned();
        let settled = EventBody::Settled { request: request.clone(), choice, reason, event_id, output };
        self.settled.insert(request, settled.clone());
        out.push(settled);
    }

    /// The call a result belongs to, which is closed by it. Settles its request where nothing else did.
    pub(super) fn result(
        &mut self,
        result: &str,
        call: &str,
        name: Option<&str>,
        turn: Option<&str>,
        out: &mut Vec<EventBody>,
    ) -> String {
        let id = self.pair(result, call, name, turn);
        self.open.retain(|open| open.id != id);
        self.answered.insert(&id);
        if self.asked.contains(&id) {
            self.settle(id.clone(), None, None, result, Vec::new(), out);
        }
        id
    }

    /// By id. Where the id is of another kind than the calls' own (the seed page shows `toolu_…` in the result against
    /// `evt_…` in the use): the oldest open call of the same name and turn. A result that only came before its call
    /// has an id like the calls', and waits for it.
    fn pair(&mut self, result: &str, call: &str, name: Option<&str>, turn: Option<&str>) -> String {
        if let Some(paired) = self.paired.get(result) {
            return paired.clone();
        }
        if self.answered.contains(call)
            || self.open.iter().any(|open| open.id == call)
            || (name.is_none() && turn.is_none())
        {
            return call.to_owned();
        }
        let fitting = self.open.iter().find(|open| {
            !is_alike(&open.id, call)
                && name.is_none_or(|name| name == open.name)
                && (turn.is_none() || open.turn.is_none() || turn == open.turn.as_deref())
        });
        match fitting {
            Some(open) => {
                self.paired.insert(result.to_owned(), open.id.clone());
                open.id.clone()
            }
            None => call.to_owned(),
        }
    }
}

/// Whether two ids are of one kind: the same word before the first `_`.
fn is_alike(one: &str, other: &str) -> bool {
    let kind = |id: &str| id.split_once('_').map(|(kind, _)| kind.to_owned());
    !other.is_empty() && kind(one) == kind(other)
}

/// The request about a call.
fn seed(call: &Call, answerable: bool) -> RequestSeed {
    let (command, work_dir) = command(&call.name, &call.input);
    RequestSeed {
        id: call.id.clone(),
        kind: call.kind,
        item: Some(call.id.clone()),
        tool: Some(call.name.clone()).filter(|name| !name.is_empty()),
        source: call.source.clone(),
        arguments: call.input.clone(),
        command,
        work_dir,
        questions: Vec::new(),
        choices: choices(call.kind),
        answerable,
        deadline_ms: None,
        too_large: false,
        group: None,
        own_tool: None,
    }
}

/// The request about a call of which only the beginning is known. What cannot be seen cannot be allowed.
pub(super) fn cut_seed(id: &str, tool: Option<String>, is_client: bool, beginning: &str) -> RequestSeed {
    let refusal = if is_client {
        choice("report_error", ChoiceKind::ReportError, true)
    } else {
        choice("deny", ChoiceKind::Deny, true)
    };
    RequestSeed {
        id: id.to_owned(),
        kind: RequestKind::Fallback,
        item: None,
        tool,
        source: is_client.then(|| "client".to_owned()),
        arguments: beginning.to_owned(),
        command: None,
        work_dir: None,
        questions: Vec::new(),
        choices: vec![refusal],
        answerable: false,
        deadline_ms: None,
        too_large: true,
        group: None,
        own_tool: None,
    }
}

fn choices(kind: RequestKind) -> Vec<Choice> {
    match kind {
        RequestKind::ClientTool => {
            vec![choice("answer", ChoiceKind::Answer, false), choice("report_error", ChoiceKind::ReportError, true)]
        }
        RequestKind::Approval | RequestKind::Question | RequestKind::Fallback => {
            vec![choice("allow_once", ChoiceKind::AllowOnce, false), choice("deny", ChoiceKind::Deny, true)]
        }
    }
}

fn choice(id: &str, kind: ChoiceKind, takes_reason: bool) -> Choice {
    Choice { id: id.to_owned(), kind, label: None, scope: None, takes_reason }
}

/// Tools that run the command in `input.command`, in the spellings of both dialects and of usual MCP servers.
const COMMAND_TOOLS: [&str; 12] = [
    "bash",
    "shell",
    "sh",
    "zsh",
    "terminal",
    "exec",
    "execute_command",
    "run_command",
    "run_shell_command",
    "shell_exec",
    "powershell",
    "cmd",
];

/// The command a call runs and where, if it is one that does. A field that stands twice is read differently by
/// different readers: then the raw arguments are all that is shown.
fn command(name: &str, input: &str) -> (Option<String>, Option<String>) {
    let Ok(fields) = Fields::read(input) else { return (None, None) };
    let once = |field: &str| (fields.count(field) == 1).then(|| fields.word(field)).flatten();
    let is_command = COMMAND_TOOLS.iter().any(|known| known.eq_ignore_ascii_case(name));
    let command = is_command.then(|| once("command")).flatten();
    (command, ["cwd", "work_dir", "workdir"].iter().find_map(|field| once(field)))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn command_tools_are_known_in_any_case_and_show_where_they_run() {
        let both = |command: &str, dir: &str| (Some(command.to_owned()), Some(dir.to_owned()));
        assert_eq!(command("Bash", r#"{"command":"ls","cwd":"/srv"}"#), both("ls", "/srv"));
        assert_eq!(command("bash", r#"{"command":"ls","work_dir":"/srv"}"#), both("ls", "/srv"));
        assert_eq!(command("SHELL", r#"{"command":"ls","workdir":"/srv"}"#), both("ls", "/srv"));
        assert_eq!(command("Read", r#"{"command":"ls"}"#), (None, None));
        assert_eq!(command("Bash", r#"{"command":["ls"],"cwd":3}"#), (None, None));
        assert_eq!(command("Bash", r#""ls""#), (None, None));
    }

    #[test]
    fn a_command_that_stands_twice_is_not_shown_as_the_command() {
        assert_eq!(command("Bash", r#"{"command":"ls","command":"rm -r x"}"#), (None, None));
    }
}
