//! Which call is whose to answer, what is asked about it, and what the answer is on the wire (page §2.3).
//!
//! A request's id is the turn, how it is answered, and the server's id of the call, which alone goes back to the server.

use contract::{
    event::RequestSeed,
    request::{Answer, Choice, ChoiceKind, Question, RequestKind, Scope},
};

use super::{session_object::SessionObject, wire::Called};
use crate::own_tools::{self, Called as Own};

/// How a call is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// The server runs it where it is allowed.
    Permission,
    /// The client runs it: its result is wanted.
    Result,
    /// Nobody runs it: neither the client nor, as far as it says, the server has such a tool.
    Nobody,
}

impl Way {
    fn word(self) -> &'static str {
        match self {
            Self::Permission => "permission",
            Self::Result => "tool",
            Self::Nobody => "unknown",
        }
    }
}

/// Who answers a call of this tool; `None` = the server runs it unasked.
pub(super) fn way(name: &str, session: &SessionObject) -> Option<Way> {
    if session.declares(name) {
        return Some(Way::Result);
    }
    match session.tools.iter().find(|tool| tool.name == name) {
        Some(tool) if tool.trusted => None,
        Some(_) => Some(Way::Permission),
        None => Some(Way::Nobody),
    }
}

/// A request's id.
pub(super) fn request_id(turn: &str, way: Way, call: &str) -> String {
    format!("{turn}:{}:{call}", way.word())
}

/// The way and the call that a request's id names.
pub(super) fn read_id(request: &str) -> Option<(Way, &str)> {
    let (_, rest) = request.split_once(':')?;
    let (word, call) = rest.split_once(':')?;
    let way = [Way::Permission, Way::Result, Way::Nobody].into_iter().find(|way| way.word() == word)?;
    Some((way, call))
}

/// What is asked about a call. `group`: its answer leaves with others.
pub(super) fn seed(turn: &str, way: Way, called: &Called, item: String, group: Option<String>) -> RequestSeed {
    let own = if way == Way::Result { own_tools::read(&called.name, &called.input) } else { None };
    let (kind, choices, questions, own_tool) = match (way, own) {
        (Way::Permission, _) => (RequestKind::Approval, permission_choices(&called.name), Vec::new(), None),
        (_, Some(Own::Ask { question, options, multiple })) => {
            let question = Question { id: "question".to_owned(), text: question, options, multiple, free_text: true };
            let choices =
                vec![choice("answer", ChoiceKind::Answer, false), choice("decline", ChoiceKind::Decline, false)];
            (RequestKind::Question, choices, vec![question], None)
        }
        (_, Some(Own::Do(call))) => {
            let choices =
                vec![choice("allow_once", ChoiceKind::AllowOnce, false), choice("deny", ChoiceKind::Deny, true)];
            (RequestKind::Approval, choices, Vec::new(), Some(call))
        }
        (Way::Nobody, None) => {
            let choices = vec![
                choice("unknown_tool", ChoiceKind::ReportError, false),
                choice("answer", ChoiceKind::Answer, false),
            ];
            (RequestKind::ClientTool, choices, Vec::new(), None)
        }
        (Way::Result, None) => {
            let choices = vec![
                choice("answer", ChoiceKind::Answer, false),
                choice("report_error", ChoiceKind::ReportError, false),
            ];
            (RequestKind::ClientTool, choices, Vec::new(), None)
        }
    };
    RequestSeed {
        id: request_id(turn, way, &called.call),
        kind,
        item: Some(item),
        tool: Some(called.name.clone()),
        source: (way == Way::Result).then(|| "client".to_owned()),
        arguments: called.input.clone(),
        command: None,
        work_dir: None,
        questions,
        choices,
        answerable: true,
        deadline_ms: None,
        too_large: false,
        group,
        own_tool,
    }
}

fn permission_choices(tool: &str) -> Vec<Choice> {
    let always = Choice {
        scope: Some(Scope::ToolInSession { tool: tool.to_owned() }),
        ..choice("allow_always", ChoiceKind::AllowAlways, false)
    };
    vec![choice("allow_once", ChoiceKind::AllowOnce, false), always, choice("deny", ChoiceKind::Deny, true)]
}

fn choice(id: &str, kind: ChoiceKind, takes_reason: bool) -> Choice {
    Choice { id: id.to_owned(), kind, label: None, scope: None, takes_reason }
}

/// An answer as it goes to the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Given {
    Permission { call: String, granted: bool, reason: Option<String> },
    Result { call: String, content: String },
}

/// The words for a tool that nobody here has.
const UNKNOWN: &str = "unknown tool";
/// The words for a call that the person refused.
const DECLINED: &str = "The user declined.";
/// The words for a call that was carried out and gave nothing.
const DONE: &str = "Done.";
/// The words for a call that failed, where nobody said how.
const FAILED: &str = "The tool failed.";
/// The words for a call whose turn the person gave up on: they are said as they are (page §7.7).
const CANCELLED: &str = "cancelled by user";

/// What was decided, as it goes to the server. `None` where there is no such answer, or no word in it.
pub(super) fn given(
    request: &str,
    choice: ChoiceKind,
    reason: Option<&str>,
    answers: &[Answer],
    result: Option<&str>,
) -> Option<Given> {
    let (way, call) = read_id(request)?;
    let call = call.to_owned();
    let reason = reason.map(str::trim).filter(|reason| !reason.is_empty());
    if way == Way::Permission {
        let granted = match choice {
            ChoiceKind::AllowOnce | ChoiceKind::AllowAlways => true,
            ChoiceKind::Deny | ChoiceKind::Decline => false,
            ChoiceKind::Answer | ChoiceKind::ReportError => return None,
        };
        return Some(Given::Permission { call, granted, reason: reason.filter(|_| !granted).map(str::to_owned) });
    }
    // A result has no mark for a failure: it is said in the text.
    let content = match choice {
        ChoiceKind::AllowOnce | ChoiceKind::AllowAlways => result.unwrap_or(DONE).to_owned(),
        ChoiceKind::Deny | ChoiceKind::Decline => match (result, reason) {
            (Some(words), _) => words.to_owned(),
            (None, Some(reason)) => format!("{DECLINED} {reason}"),
            (None, None) => DECLINED.to_owned(),
        },
        ChoiceKind::Answer if answers.is_empty() => result?.to_owned(),
        ChoiceKind::Answer => answer_text(answers)?,
        ChoiceKind::ReportError => match (result.map(str::trim).filter(|words| !words.is_empty()), way) {
            (Some(CANCELLED), _) => CANCELLED.to_owned(),
            (Some(words), _) => format!("Error: {words}"),
            (None, Way::Nobody) => UNKNOWN.to_owned(),
            (None, _) => FAILED.to_owned(),
        },
    };
    Some(Given::Result { call, content })
}

/// What the person answered to a question: the chosen options, then what was written.
fn answer_text(answers: &[Answer]) -> Option<String> {
    let lines: Vec<String> = answers
        .iter()
        .map(|answer| {
            let written = answer.text.as_deref().map(str::trim).filter(|text| !text.is_empty());
            answer.labels.iter().map(String::as_str).chain(written).collect::<Vec<_>>().join(", ")
        })
        .filter(|line| !line.is_empty())
        .collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}
