//! A whole history beside what is shown, and what it tells of a turn that nobody listens to.

use contract::session::{SessionState, StopReason};
use pretty_assertions::assert_eq;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Session, call, framed, stop};

const PLAIN: &str = r#"[{"role":"user","content":"do it"},{"role":"assistant","content":[{"type":"text","text":"Let me see."},{"type":"thinking","thinking":"Hm."}]}]"#;

#[test]
fn a_session_that_was_never_seen_is_built_from_its_history() {
    let mut session = Session::new();
    session.history(
        r#"[{"role":"system","content":"Be kind."},{"role":"user","content":[{"type":"text","text":"look"},{"type":"image","url":"https://a.test/x.png"}]},{"role":"assistant","content":[{"type":"text","text":"I look."},{"type":"thinking","thinking":"Hm."},{"type":"tool_use","toolCallId":"c","name":"clock","input":{}}]},{"role":"tool","toolCallId":"c","content":"\"noon\""},{"role":"tool","toolCallId":"c","content":"\"again\""},{"role":"assistant","content":"Noon."},{"role":"tool","toolCallId":"z","content":"orphan"},{"role":"critic","content":"x"}]"#,
    );
    assert_eq!(
        session.view.texts(),
        [
            "System: Be kind.",
            "User: look[https://a.test/x.png]",
            "thought false: Hm.",
            "Agent: I look.",
            "clock Done: noon",
            "Agent: Noon.",
            "tool Done: orphan",
            r#"unknown critic {"role":"critic","content":"x"}"#,
        ]
    );
    assert_eq!(session.view.state, SessionState::Idle);
}

#[test]
fn the_same_history_again_changes_nothing() {
    let mut session = Session::running();
    session
        .say("thinking_delta", r#"{"delta":"Hm."}"#)
        .say("text_delta", r#"{"delta":"Let me see."}"#)
        .say("turn_stop", &stop("end_turn"));
    let shown = session.view.items.clone();
    session.history(PLAIN).history(PLAIN);
    assert_eq!(session.view.items, shown, "thinking behind its text is no difference");
}

#[test]
fn text_told_around_a_thought_is_one_text_in_the_history() {
    let mut session = Session::running();
    session
        .say("text_delta", r#"{"delta":"Let me "}"#)
        .say("thinking_delta", r#"{"delta":"Hm."}"#)
        .say("text_delta", r#"{"delta":"see."}"#)
        .say("turn_stop", &stop("end_turn"));
    let before = session.view.items.len();
    session.history(PLAIN);
    assert_eq!(session.view.items.len(), before);
}

#[test]
fn a_dropped_turn_is_over_when_the_history_has_what_came_of_it() {
    let mut session = Session::running();
    session.say("text_delta", r#"{"delta":"Let me"}"#).lose_connection();
    assert_eq!((session.view.state.clone(), session.view.last_stop()), (SessionState::Running, None));
    session.history("[]");
    assert_eq!(session.view.state, SessionState::Running, "nothing of a running step is in the history");
    session.history(r#"[{"role":"user","content":"do it"}]"#);
    assert_eq!(session.view.state, SessionState::Running);
    session.history(PLAIN);
    assert_eq!(session.view.texts(), ["User: do it", "Agent: Let me see."]);
    assert_eq!(session.view.last_stop(), Some(&StopReason::Other { word: "no stop marker".into() }));
    assert_eq!(session.view.state, SessionState::Idle);
}

#[test]
fn an_older_turn_with_the_same_words_does_not_end_a_dropped_one() {
    let mut session = Session::running();
    session.say("text_delta", r#"{"delta":"Let me see."}"#).say("turn_stop", &stop("end_turn"));
    session.open("do it").lose_connection().history(PLAIN);
    assert_eq!(session.view.state, SessionState::Running);
    assert_eq!(session.view.turns[1].1, None);
}

const WAITING: &str = r#"[{"role":"user","content":"do it"},{"role":"assistant","content":[{"type":"tool_use","toolCallId":"c","name":"clock","input":{}},{"type":"tool_use","toolCallId":"d","name":"write_note","input":{"text":"hi"}}]},{"role":"tool","toolCallId":"c","content":"noon"}]"#;

#[test]
fn calls_that_wait_are_found_in_the_history_after_a_restart() {
    let mut session = Session::new();
    session.history(WAITING);
    assert_eq!(session.view.waiting, ["past1:permission:d"]);
    assert_eq!(session.view.state, SessionState::Waiting);
    session.history(&WAITING.replace("]}]", "]} ]"));
    assert_eq!(session.view.requests.len(), 1, "read again, they are the same requests");
}

#[test]
fn calls_that_a_dropped_turn_left_waiting_are_asked_about() {
    let mut session = Session::running();
    session.say("tool_call", &call("c", "clock", "{}")).lose_connection().history(WAITING);
    assert_eq!(session.view.waiting.len(), 1);
    assert!(session.view.waiting[0].ends_with(":permission:d"), "{:?}", session.view.waiting);
    assert_eq!(session.view.state, SessionState::Waiting);
    assert_eq!(session.view.turns.len(), 1);
}

#[test]
fn calls_of_older_messages_without_a_result_are_asked_about_by_nobody() {
    let mut session = Session::new();
    session.history(
        r#"[{"role":"user","content":"do it"},{"role":"assistant","content":[{"type":"tool_use","toolCallId":"d","name":"write_note","input":{}}]},{"role":"user","content":"never mind"},{"role":"assistant","content":"Fine."}]"#,
    );
    assert_eq!(session.view.requests.len(), 0);
    assert_eq!(session.view.texts()[1], "write_note Cancelled: -");
}

#[test]
fn what_was_asked_and_has_its_result_in_the_history_is_settled() {
    let mut session = Session::running();
    session.say("tool_call", &call("d", "write_note", "{}")).say("turn_stop", &stop("tool_use"));
    session.history(
        r#"[{"role":"user","content":"do it"},{"role":"assistant","content":[{"type":"tool_use","toolCallId":"d","name":"write_note","input":{}}]},{"role":"tool","toolCallId":"d","content":"saved"},{"role":"assistant","content":"Saved."}]"#,
    );
    assert_eq!(session.view.waiting.len(), 0);
    assert_eq!(session.view.texts(), ["User: do it", "write_note Done: saved", "Agent: Saved."]);
    assert_eq!(session.view.state, SessionState::Idle);
}

#[test]
fn a_shortened_history_is_labelled_and_puts_nothing_into_what_is_known() {
    let mut session = Session::running();
    session.say("text", r#"{"text":"One."}"#).say("turn_stop", &stop("end_turn"));
    let shortened = r#"{"history":{"compacted":[{"role":"assistant","content":"In short."},{"role":"user","content":"do it"},{"role":"assistant","content":"One."}]}}"#;
    session.frame(&framed("history", shortened), contract::wire::Origin::History);
    assert!(session.view.incomplete);
    assert_eq!(session.view.texts(), ["User: do it", "Agent: One."]);
    let mut new = Session::new();
    new.frame(&framed("history", shortened), contract::wire::Origin::History);
    assert_eq!(new.view.texts(), ["Agent: In short.", "User: do it", "Agent: One."]);
}

#[test]
fn without_any_history_a_broken_turn_is_over_and_its_rest_is_lost() {
    let mut session = Session::running();
    session.say("text_delta", r#"{"delta":"Let me"}"#).lose_connection();
    session.frame(&framed("history", r#"{"history":{}}"#), contract::wire::Origin::History);
    assert_eq!(session.view.last_stop(), Some(&StopReason::Interrupted));
    assert!(session.view.texts()[2].contains("the rest of this turn is lost"), "{:?}", session.view.texts());
}

#[test]
fn a_history_that_comes_while_a_turn_is_told_waits_for_its_end() {
    let mut session = Session::running();
    session.history("[]");
    session.say("text", r#"{"text":"One."}"#).say("turn_stop", &stop("end_turn"));
    assert_eq!(session.view.texts(), ["User: do it", "Agent: One."]);
}

/// What a server may hold, and how a part of it was told.
fn conversation() -> impl Strategy<Value = Vec<(u8, bool)>> {
    prop::collection::vec((0_u8..4, any::<bool>()), 1..12)
}

proptest! {
    #[test]
    fn a_session_read_from_its_history_shows_each_thing_once_however_much_was_told_live(
        steps in conversation(), told in 0_usize..12, cut in 0_usize..6,
    ) {
        let mut session = Session::new();
        let mut messages: Vec<Value> = Vec::new();
        let mut expected: Vec<String> = Vec::new();
        for (number, (kind, repeats)) in steps.iter().enumerate() {
            let live = number < told;
            let dropped = number + 1 == told;
            let text = if *repeats { "same".to_owned() } else { format!("text {number}") };
            messages.push(json!({"role": "user", "content": text}));
            expected.push(format!("User: {text}"));
            if live {
                session.open(&text);
            }
            if *kind > 0 {
                let id = format!("call{number}");
                messages.push(json!({"role": "assistant", "content": [
                    {"type": "tool_use", "toolCallId": id, "name": "clock", "input": {}}]}));
                messages.push(json!({"role": "tool", "toolCallId": id, "content": "noon"}));
                expected.push("clock Done: noon".to_owned());
                if live {
                    session.say("tool_call", &call(&id, "clock", "{}"));
                    session.say("tool_result", &json!({"toolCallId": id, "content": "noon"}).to_string());
                }
            }
            let answer = format!("answer {text}");
            messages.push(json!({"role": "assistant", "content": answer}));
            expected.push(format!("Agent: {answer}"));
            if live && dropped {
                let part: String = answer.chars().take(cut).collect();
                session.say("text_delta", &json!({"delta": part}).to_string());
                session.lose_connection();
            } else if live {
                session.say("text_delta", &json!({"delta": answer}).to_string());
                session.say("turn_stop", &stop("end_turn"));
            }
        }
        let history = Value::Array(messages).to_string();
        session.history(&history);
        prop_assert_eq!(session.view.texts(), expected);
        prop_assert_eq!(session.view.state.clone(), SessionState::Idle);
        let shown = session.view.items.clone();
        session.history(&history);
        prop_assert_eq!(session.view.items.clone(), shown);
    }
}
