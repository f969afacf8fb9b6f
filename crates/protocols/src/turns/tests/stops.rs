//! Turns that stop for answers: who is asked about what, in one group, and how the same turn goes on.

use contract::{
    request::{ChoiceKind, RequestKind, Scope},
    session::{SessionState, StopReason},
    setup::OwnToolCall,
};
use pretty_assertions::assert_eq;

use super::{SESSION, Session, call, stop};

/// Client A and B, trusted C with its result, untrusted D.
fn mixed() -> Session {
    let mut session = Session::running();
    session
        .say("turn_start", "{}")
        .say("tool_call", &call("a", "calc", "{}"))
        .say("tool_call", &call("b", "pick", "{}"))
        .say("tool_call", &call("c", "clock", "{}"))
        .say("tool_call", &call("d", "write_note", r#"{"text":"hi"}"#))
        .say("tool_result", r#"{"toolCallId":"c","content":"\"12:00\""}"#)
        .say("turn_stop", &stop("tool_use"));
    session
}

const ASKED: [&str; 3] = ["turn1:tool:a", "turn1:tool:b", "turn1:permission:d"];

#[test]
fn exactly_the_calls_that_need_an_answer_are_asked_about_as_one_group() {
    let session = mixed();
    assert_eq!(session.view.waiting, ASKED);
    assert_eq!(session.view.requests.len(), 3, "the trusted call is asked about by nobody");
    assert_eq!(session.view.state, SessionState::Waiting);
    let groups: Vec<_> = ASKED.iter().map(|id| session.view.requests[*id].0.group.clone()).collect();
    assert_eq!(groups, vec![Some("turn1/a,b,d".to_owned()); 3]);
    let permission = &session.view.requests["turn1:permission:d"].0;
    assert_eq!((permission.kind, permission.arguments.as_str()), (RequestKind::Approval, r#"{"text":"hi"}"#));
    let choices: Vec<_> = permission.choices.iter().map(|one| (one.id.as_str(), one.takes_reason)).collect();
    assert_eq!(choices, [("allow_once", false), ("allow_always", false), ("deny", true)]);
    assert_eq!(permission.choices[1].scope, Some(Scope::ToolInSession { tool: "write_note".into() }));
    let client = &session.view.requests["turn1:tool:a"].0;
    assert_eq!((client.kind, client.source.as_deref()), (RequestKind::ClientTool, Some("client")));
}

#[test]
fn the_same_turn_goes_on_with_the_answers() {
    let mut session = mixed();
    session.answer(&[
        ("turn1:tool:a", ChoiceKind::Answer, None),
        ("turn1:tool:b", ChoiceKind::ReportError, None),
        ("turn1:permission:d", ChoiceKind::Deny, Some("not now")),
    ]);
    assert_eq!(session.view.state, SessionState::Running);
    session.say("turn_start", "{}").say("text_delta", r#"{"delta":"Well."}"#).say("turn_stop", &stop("end_turn"));
    assert_eq!(session.view.turns, [(Some("turn1".into()), Some(StopReason::EndTurn))]);
    assert_eq!(
        session.view.lines(),
        [
            "ours1 User: do it",
            "turn1.c.a calc Done: -",
            "turn1.c.b pick Failed: -",
            "turn1.c.c clock Done: 12:00",
            "turn1.c.d write_note Denied { reason: Some(\"not now\") }: -",
            "turn1.m1 Agent: Well.",
        ]
    );
}

#[test]
fn a_granted_call_without_a_result_is_filled_from_the_history() {
    let mut session = Session::running();
    session.say("tool_call", &call("d", "write_note", "{}")).say("turn_stop", &stop("tool_use"));
    session.answer(&[("turn1:permission:d", ChoiceKind::AllowOnce, None)]);
    session.say("text_delta", r#"{"delta":"Saved."}"#).say("turn_stop", &stop("end_turn"));
    assert_eq!(session.view.lines()[1], "turn1.c.d write_note Cancelled: -");
    session.history(
        r#"[{"role":"user","content":"do it"},{"role":"assistant","content":[{"type":"tool_use","toolCallId":"d","name":"write_note","input":{}}]},{"role":"tool","toolCallId":"d","content":"\"saved\""},{"role":"assistant","content":"Saved."}]"#,
    );
    assert_eq!(
        session.view.lines(),
        ["ours1 User: do it", "turn1.c.d write_note Done: saved", "turn1.m1 Agent: Saved."]
    );
}

#[test]
fn an_unknown_tool_is_answered_by_saying_so() {
    let mut session = Session::running();
    session.say("tool_call", &call("g", "ghost", "{}")).say("turn_stop", &stop("tool_use"));
    let asked = &session.view.requests["turn1:unknown:g"].0;
    assert_eq!(asked.kind, RequestKind::ClientTool);
    let choices: Vec<_> = asked.choices.iter().map(|one| (one.id.as_str(), one.kind)).collect();
    assert_eq!(choices, [("unknown_tool", ChoiceKind::ReportError), ("answer", ChoiceKind::Answer)]);
}

#[test]
fn tools_of_this_app_are_asked_about_as_what_they_would_do() {
    let mut session = Session::running();
    session
        .say("tool_call", &call("q", "ask_user", r#"{"question":"Which?","options":["a","b"]}"#))
        .say("tool_call", &call("l", "open_link", r#"{"url":"https://a.test"}"#))
        .say("tool_call", &call("x", "open_link", r#"{"address":"https://a.test"}"#))
        .say("turn_stop", &stop("tool_use"));
    let question = &session.view.requests["turn1:tool:q"].0;
    assert_eq!(question.kind, RequestKind::Question);
    assert_eq!((question.questions[0].text.as_str(), question.questions[0].options.len()), ("Which?", 2));
    let link = &session.view.requests["turn1:tool:l"].0;
    assert_eq!(link.own_tool, Some(OwnToolCall::OpenLink { url: "https://a.test".into() }));
    assert_eq!(link.kind, RequestKind::Approval);
    let unreadable = &session.view.requests["turn1:tool:x"].0;
    assert_eq!((unreadable.kind, unreadable.own_tool.clone()), (RequestKind::ClientTool, None));
}

#[test]
fn nothing_is_asked_before_the_session_was_read() {
    let mut session = Session::speaking("v3");
    session.open("do it");
    session.say("tool_call", &call("d", "write_note", "{}")).say("turn_stop", &stop("tool_use"));
    assert_eq!((session.view.state.clone(), session.view.requests.len()), (SessionState::Waiting, 0));
    session.check("session", SESSION);
    assert_eq!(session.view.waiting, ["turn1:permission:d"]);
}

#[test]
fn a_clean_end_without_a_stop_marker_waits_for_the_calls_it_left() {
    let mut session = Session::running();
    session.say("tool_call", &call("d", "write_note", "{}")).check("closed", "");
    assert_eq!(session.view.waiting, ["turn1:permission:d"]);
    let mut plain = Session::running();
    plain.say("text_delta", r#"{"delta":"All of it."}"#).check("closed", "");
    assert_eq!((plain.view.state.clone(), plain.view.last_stop()), (SessionState::Running, None));
    plain.history(r#"[{"role":"user","content":"do it"},{"role":"assistant","content":"All of it."}]"#);
    assert_eq!(plain.view.last_stop(), Some(&StopReason::Other { word: "no stop marker".into() }));
    assert_eq!(plain.view.state, SessionState::Idle);
}

#[test]
fn a_revised_session_says_which_calls_wait() {
    let revised = |active: bool, pending: &str| {
        let fields = format!(r#""active":{active},"pending":{pending},"sessionId""#);
        SESSION.replacen("\"sessionId\"", &fields, 1)
    };
    let one = format!("[{}]", call("d", "write_note", "{}"));
    let mut session = Session::speaking("v3");
    session.check("session", &revised(false, &one));
    assert_eq!(session.view.waiting, ["turn1:permission:d"], "{:?}", session.view);
    // Somebody else answers.
    session.check("session", &revised(true, "[]"));
    assert_eq!((session.view.waiting.len(), session.view.state.clone()), (0, SessionState::Running));
    let mut foreign = Session::speaking("v3");
    foreign.check("session", &revised(true, "[]"));
    assert!(foreign.view.foreign);
    foreign.check("session", &revised(false, "[]"));
    assert_eq!((foreign.view.foreign, foreign.view.state.clone()), (false, SessionState::Idle));
}

#[test]
fn every_stop_reason_ends_the_turn_in_its_own_words() {
    for (word, reason) in [
        ("end_turn", StopReason::EndTurn),
        ("max_tokens", StopReason::MaxTokens),
        ("refusal", StopReason::Refusal { explanation: None }),
        ("error", StopReason::Error { message: None }),
        ("nap", StopReason::Other { word: "nap".into() }),
    ] {
        let mut session = Session::running();
        session.say("turn_stop", &stop(word));
        assert_eq!(session.view.last_stop(), Some(&reason));
        assert_eq!(session.view.state, SessionState::Idle);
    }
}
