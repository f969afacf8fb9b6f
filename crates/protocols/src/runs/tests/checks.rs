//! Answers beside the stream (runs-server page, §§6 and 8).

use contract::{
    event::EventBody,
    request::{ChoiceKind, RequestKind},
    session::{Resumable, RunOptions, SessionState},
};
use pretty_assertions::assert_eq;

use super::{ASK, RESULT, Session, TOOL};

const PENDING: &str = r#"{"running":true,"pending":{"kind":"approval","call_id":"call_1","command":"ls","timeout_seconds":30,"remember_supported":false,"question":null,"options":[],"allow_multiple":false}}"#;
const NOTHING: &str = r#"{"running":false,"pending":null}"#;

fn kinds(session: &Session, id: &str) -> Vec<ChoiceKind> {
    session.view.seed(id).choices.iter().map(|choice| choice.kind).collect()
}

#[test]
fn always_is_not_offered_where_the_server_cannot_remember() {
    let mut session = Session::running();
    session.say(TOOL).say(ASK);
    assert_eq!(kinds(&session, "run1:call_1").len(), 3);
    session.check("current", PENDING);
    assert_eq!(kinds(&session, "run1:call_1"), [ChoiceKind::AllowOnce, ChoiceKind::Deny]);
    assert_eq!(session.view.requests.len(), 1);
    assert!(!session.view.foreign);
}

#[test]
fn our_own_stream_is_believed_before_an_older_answer() {
    let mut session = Session::running();
    session.say(TOOL).say(ASK).check("current", NOTHING);
    assert_eq!((session.view.open(), &session.view.state), (vec!["run1:call_1"], &SessionState::Waiting));
}

#[test]
fn what_a_foreign_run_waits_for_is_asked_and_settled() {
    let mut session = Session::new();
    session.check("current", PENDING);
    assert!(session.view.foreign);
    assert_eq!((session.view.open(), &session.view.state), (vec!["foreign:call_1"], &SessionState::Waiting));
    let seed = session.view.seed("foreign:call_1");
    assert_eq!((seed.command.as_deref(), seed.deadline_ms, seed.kind), (Some("ls"), None, RequestKind::Approval));
    assert_eq!(kinds(&session, "foreign:call_1"), [ChoiceKind::AllowOnce, ChoiceKind::Deny]);
    let before = session.events.len();
    session.check("current", PENDING);
    let told = session.bodies_since(before);
    assert!(matches!(told[..], [EventBody::Status(SessionState::Waiting)]), "{told:?}");
    session.check("current", r#"{"running":true,"pending":null}"#);
    assert_eq!(session.view.requests["foreign:call_1"].settled, Some(None));
    assert_eq!(session.view.state, SessionState::Running);
    // The provider's ids repeat: another request, another id.
    session.check("current", PENDING);
    assert_eq!(session.view.open(), ["foreign.2:call_1"]);
    session.check("current", NOTHING);
    assert_eq!((session.view.foreign, &session.view.state), (false, &SessionState::Idle));
    assert!(session.view.open().is_empty());
}

#[test]
fn a_foreign_question_is_asked() {
    let mut session = Session::new();
    session.check(
        "current",
        r#"{"running":true,"pending":{"kind":"question","call_id":"q","command":null,"question":"Which?","options":["a"],"allow_multiple":false}}"#,
    );
    let seed = session.view.seed("foreign:q");
    assert_eq!((seed.kind, seed.questions[0].text.as_str()), (RequestKind::Question, "Which?"));
}

#[test]
fn a_run_of_ours_that_goes_on_without_its_stream_asks_again_about_its_call() {
    let mut session = Session::running();
    session.say(TOOL).say(ASK).lose_connection().check("current", PENDING);
    assert_eq!(session.view.open(), ["foreign:call_1"]);
    let seed = session.view.seed("foreign:call_1");
    assert_eq!((seed.item.as_deref(), seed.tool.as_deref()), (Some("run1.c.call_1"), Some("bash")));
    assert_eq!(seed.arguments, r#"{"command":"ls"}"#);
}

#[test]
fn a_prompt_of_ours_ends_what_was_foreign() {
    let mut session = Session::new();
    session.check("current", PENDING).open("x", RunOptions::default());
    assert!(!session.view.foreign);
    assert!(session.view.open().is_empty());
    session.named("result", RESULT).check("current", PENDING);
    assert!(session.view.foreign);
}

#[test]
fn what_can_be_taken_up_again() {
    let mut session = Session::new();
    session
        .check("resumable", r#"{"resumable":true,"kind":"error","description":"The provider dropped the connection"}"#);
    let expected = Resumable { kind: "error".into(), description: Some("The provider dropped the connection".into()) };
    assert_eq!(session.view.resumable, Some(expected));
    session.check("resumable", r#"{"resumable":false,"kind":null,"description":null}"#);
    assert_eq!(session.view.resumable, None);
}

#[test]
fn a_call_the_history_left_open_ends_when_nothing_runs() {
    let mut session = Session::new();
    session.check("current", r#"{"running":true,"pending":null}"#);
    session.history(
        r#"{"messages":[{"role":"user","text":"hi"},{"role":"assistant","text":"","tool_calls":[{"call_id":"call_1","name":"bash","arguments":{"command":"ls"}}]}]}"#,
    );
    assert_eq!(session.view.lines()[1], "h2 bash Running: -");
    session.check("current", PENDING);
    assert_eq!(session.view.seed("foreign:call_1").item.as_deref(), Some("h2"));
    session.check("current", NOTHING);
    assert_eq!(session.view.lines()[1], "h2 bash Cancelled: -");
}

#[test]
fn a_call_that_seemed_dropped_is_the_one_that_a_run_seen_later_asks_about() {
    let mut session = Session::new();
    session.history(
        r#"{"messages":[{"role":"user","text":"hi"},{"role":"assistant","text":"","tool_calls":[{"call_id":"call_1","name":"bash","arguments":{"command":"ls"}}]}]}"#,
    );
    assert_eq!(session.view.lines()[1], "h2 bash Cancelled: -");
    session.check("current", PENDING);
    let seed = session.view.seed("foreign:call_1");
    assert_eq!((seed.item.as_deref(), seed.arguments.as_str()), (Some("h2"), r#"{"command":"ls"}"#));
    session.check("current", NOTHING);
    let told = session.events.iter().filter(|event| matches!(event.body, EventBody::ToolEnded { .. })).count();
    assert_eq!(told, 2, "where its run ends without a word of it, it is dropped after all");
}

#[test]
fn a_call_of_an_earlier_message_is_not_what_a_new_run_asks_about() {
    let mut session = Session::new();
    session.history(
        r#"{"messages":[{"role":"user","text":"hi"},{"role":"assistant","text":"","tool_calls":[{"call_id":"call_1","name":"bash","arguments":{"command":"ls"}}]},{"role":"user","text":"again"}]}"#,
    );
    session.check("current", PENDING);
    assert_eq!(session.view.seed("foreign:call_1").item, None);
}

#[test]
fn a_context_report_is_shown() {
    let mut session = Session::new();
    session.check("context", "null").check("context", r#"{"window":10,"used":3,"shares":[],"partial":true}"#);
    let meter = session.view.context.unwrap();
    assert_eq!((meter.used, meter.window, meter.partial), (3, Some(10), true));
}
