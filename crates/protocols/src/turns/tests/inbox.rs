//! Version 4: one stream, a history that shares its ids, answers one by one.

use contract::{
    session::{SessionState, StopReason},
    wire::{Frame, Origin},
};
use pretty_assertions::assert_eq;

use super::{SESSION, Session, call};

fn session() -> Session {
    let mut session = Session::speaking("v4");
    session.check("session", SESSION);
    session
}

#[test]
fn a_message_that_begins_again_is_written_anew() {
    let mut session = session();
    session
        .say("input", r#"{"id":"u1","type":"user","content":"hi"}"#)
        .say("message_start", r#"{"id":"m1"}"#)
        .say("thinking_delta", r#"{"delta":"Hm."}"#)
        .say("text_delta", r#"{"delta":"Hel"}"#)
        .lose_connection()
        .say("input", r#"{"id":"u1","data":{"type":"user","content":"hi"}}"#)
        .say("message_start", r#"{"id":"m1"}"#)
        .say("thinking_delta", r#"{"delta":"Hm."}"#)
        .say("text_delta", r#"{"delta":"Hello."}"#)
        .say("message_end", r#"{"id":"m1","timestamp":"2026-07-12T00:00:00Z"}"#)
        .say("idle", "{}");
    let entry = r#"{"id":"m1","timestamp":"2026-07-12T00:00:00Z","role":"assistant","content":[{"type":"thinking","thinking":"Hm."},{"type":"text","text":"Hello."}]}"#;
    session.frame(&Frame { data: entry.into(), ..Frame::default() }, Origin::List);
    assert_eq!(session.view.lines(), ["u1 User: hi", "m1.t thought false: Hm.", "m1 Agent: Hello."]);
    assert_eq!(session.view.last_stop(), Some(&StopReason::EndTurn));
}

#[test]
fn each_call_is_asked_about_by_itself_and_an_answer_from_elsewhere_settles_it() {
    let mut session = session();
    session
        .say("input", r#"{"id":"u1","type":"user","content":"hi"}"#)
        .say("tool_call", &call("a", "calc", "{}"))
        .say("tool_call", &call("d", "write_note", "{}"))
        .say("tool_call", &call("c", "clock", "{}"));
    assert_eq!(session.view.waiting, ["session:tool:a", "session:permission:d"]);
    assert_eq!(session.view.requests["session:tool:a"].0.group, None);
    session.say("input", r#"{"type":"permission","toolCallId":"d","granted":false,"reason":"no"}"#);
    assert_eq!(session.view.waiting, ["session:tool:a"]);
    session.say("input", r#"{"type":"tool","toolCallId":"a","content":"4"}"#);
    assert_eq!((session.view.waiting.len(), session.view.state.clone()), (0, SessionState::Running));
    session.say("error", r#"{"code":"x","message":"It broke."}"#);
    assert_eq!(session.view.last_stop(), Some(&StopReason::Error { message: Some("It broke.".into()) }));
}

#[test]
fn the_session_says_which_calls_wait_after_a_connect() {
    let mut session = Session::speaking("v4");
    let pending = format!("\"pending\":[{}],\"sessionId\"", call("g", "ghost", "{}"));
    session.check("session", &SESSION.replacen("\"sessionId\"", &pending, 1));
    assert_eq!(session.view.waiting, ["session:unknown:g"]);
    session.check("session", &SESSION.replacen("\"sessionId\"", "\"pending\":[],\"sessionId\"", 1));
    assert_eq!(session.view.waiting.len(), 0);
}
