//! Texts, thoughts and calls as they come.

use pretty_assertions::assert_eq;

use super::{Session, call, stop};

#[test]
fn texts_thoughts_and_calls_keep_the_order_they_came_in() {
    let mut session = Session::running();
    session
        .say("turn_start", "{}")
        .say("thinking_delta", r#"{"delta":"Hm"}"#)
        .say("thinking_delta", r#"{"delta":"m."}"#)
        .say("text_delta", r#"{"delta":"Let me "}"#)
        .say("text_delta", r#"{"delta":"see."}"#)
        .say("tool_call", &call("c", "clock", "{}"))
        .say("tool_result", r#"{"toolCallId":"c","content":"noon"}"#)
        .say("text_delta", r#"{"delta":"Noon."}"#)
        .say("turn_stop", &stop("end_turn"));
    assert_eq!(
        session.view.lines(),
        [
            "ours1 User: do it",
            "turn1.t1 thought false: Hmm.",
            "turn1.m1 Agent: Let me see.",
            "turn1.c.c clock Done: noon",
            "turn1.m2 Agent: Noon.",
        ]
    );
}

#[test]
fn whole_thinking_stands_before_the_text_it_was_told_behind() {
    let mut session = Session::running();
    session.say("text", r#"{"text":"So."}"#).say("thinking", r#"{"thinking":"Hm."}"#);
    session.say("text", r#"{"text":"More."}"#);
    assert_eq!(session.view.texts(), ["User: do it", "thought false: Hm.", "Agent: So.", "Agent: More."]);
}

#[test]
fn a_call_that_is_announced_twice_is_one_and_its_first_result_counts() {
    let mut session = Session::running();
    session
        .say("tool_call", &call("c", "clock", "{}"))
        .say("tool_call", &call("c", "clock", r#"{"zone":"UTC"}"#))
        .say("tool_result", r#"{"toolCallId":"c","content":"1"}"#)
        .say("tool_result", r#"{"toolCallId":"c","content":"2"}"#);
    assert_eq!(session.view.texts(), ["User: do it", "clock Done: 1"]);
}

#[test]
fn a_result_of_a_call_nobody_saw_gets_a_card_of_its_own() {
    let mut session = Session::running();
    session.say("tool_call", &call("c", "clock", "{}"));
    session.say("tool_result", r#"{"toolCallId":"z","content":[{"type":"text","text":"blue"},{"type":"image","url":"data:image/png;base64,AAAA"},{"type":"image","url":"https://a.test/x.png"}]}"#);
    assert_eq!(
        session.view.texts(),
        ["User: do it", "clock Running: -", "tool Done: blue[image/png][https://a.test/x.png]"]
    );
}

#[test]
fn unknown_and_broken_events_are_kept_and_the_turn_goes_on() {
    let mut session = Session::running();
    session.say("mood", r#"{"is":"good"}"#).say("text_delta", "{broken").say("text_delta", r#"{"delta":"Hi."}"#);
    assert_eq!(session.view.rereads, 1);
    let texts = session.view.texts();
    assert_eq!(texts[1], r#"unknown mood {"is":"good"}"#);
    assert_eq!(texts[2], "unknown text_delta {broken");
    assert!(texts[3].starts_with("Warning UnreadableFrame: An event (text_delta) could not be read"), "{texts:?}");
    assert_eq!(texts[4], "Agent Streaming: Hi.");
}

#[test]
fn text_outside_of_a_turn_is_kept_and_begins_none() {
    let mut session = Session::new();
    session.say("text", r#"{"text":"Early."}"#);
    session.open("do it").say("turn_stop", &stop("end_turn")).say("text", r#"{"text":"Late."}"#);
    assert_eq!(session.view.turns.len(), 1);
    assert_eq!(session.view.texts()[0], r#"unknown text {"text":"Early."}"#);
    assert_eq!(session.view.texts()[2], r#"unknown text {"text":"Late."}"#);
    let whole = r#"{"stopReason":"end_turn","messages":[]}"#;
    session.say("turn", whole);
    assert_eq!((session.view.turns.len(), session.view.texts()[3].clone()), (1, format!("unknown turn {whole}")));
}

#[test]
fn both_ways_of_text_are_taken_in_one_stream() {
    let mut session = Session::running();
    session.say("text_delta", r#"{"delta":"a"}"#).say("text", r#"{"text":"b"}"#).say("text_delta", r#"{"delta":"c"}"#);
    assert_eq!(session.view.texts(), ["User: do it", "Agent: a", "Agent: b", "Agent Streaming: c"]);
}

#[test]
fn what_stands_for_a_secret_is_never_shown_as_a_value() {
    let session = Session::new();
    let setup = session.view.setup.clone().unwrap();
    let options: Vec<_> = setup.options.iter().map(|one| (one.name.as_str(), one.value.as_deref())).collect();
    assert_eq!(options, [("tone", Some("dry")), ("key", None)]);
    assert_eq!(setup.own_tools, ["ask_user", "open_link"]);
}
