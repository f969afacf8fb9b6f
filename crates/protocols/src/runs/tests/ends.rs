//! How runs end (runs-server page, §§5, 8 and 10).

use contract::{
    event::EventBody,
    item::NoticeCode,
    session::{RunOptions, SessionState, StopReason},
};
use pretty_assertions::assert_eq;

use super::{ASK, RESULT, Session, TOOL, text};

fn result(more: &str) -> String {
    format!(r#"{{"text":"last","session_id":"s","usage":{{}},{more},"questions":[]}}"#)
}

#[test]
fn the_last_steps_text_never_replaces_what_was_said_and_shows_where_nothing_was() {
    let mut session = Session::running();
    session.say(&text("first")).named("result", &result(r#""tools":[],"stop":null"#));
    assert_eq!(session.view.lines()[1..], ["run1.m1 Agent: first"]);
    session.open("again", RunOptions::default()).named("result", &result(r#""tools":[],"stop":null"#));
    assert_eq!(session.view.lines()[3..], ["run2.m1 Agent: last"]);
    assert_eq!(session.view.last_stop(), Some(&StopReason::EndTurn));
    assert_eq!(session.view.state, SessionState::Idle);
}

#[test]
fn calls_without_an_end_get_it_from_the_end_of_the_run() {
    let mut session = Session::running();
    session.say(TOOL).say(&TOOL.replace("call_1", "call_2")).say(&TOOL.replace("call_1", "call_3")).say(ASK);
    session.named(
        "result",
        &result(
            r#""tools":[
            {"call_id":"call_1","name":"bash","arguments":{},"output":"","ok":false,"skipped":false},
            {"call_id":"call_2","name":"bash","arguments":{},"output":"","ok":false,"skipped":true},
            {"call_id":"call_3","name":"bash","arguments":{},"output":"late\n","ok":true,"skipped":false},
            {"call_id":"new","name":"read_file","arguments":{"path":"a"},"output":"no such file","ok":false,"skipped":false}],
            "stop":null"#,
        ),
    );
    assert_eq!(
        session.view.lines()[1..5],
        [
            "run1.c.call_1 bash Cancelled: -",
            "run1.c.call_2 bash Skipped: -",
            "run1.c.call_3 bash Done: late\n",
            "run1.c.new read_file Failed: no such file",
        ]
    );
    assert!(session.view.open().is_empty());
}

#[test]
fn reasons_in_our_words() {
    for (reason, stop) in [
        ("refusal", StopReason::Refusal { explanation: Some("why".into()) }),
        ("max_output", StopReason::MaxTokens),
        ("context_full", StopReason::ContextFull),
        ("paused", StopReason::Paused),
        ("interrupted", StopReason::Interrupted),
        ("lunch", StopReason::Other { word: "lunch".into() }),
    ] {
        let mut session = Session::running();
        session.say(&format!(r#"{{"type":"model_stopped","reason":"{reason}","message":"why"}}"#));
        session.named("result", &result(&format!(r#""tools":[],"stop":"{reason}","stop_message":"why""#)));
        assert_eq!(session.view.last_stop(), Some(&stop));
        assert!(session.view.lines()[1].contains("Warning Server: why"));
        // A server that leaves the reason to the event.
        let mut session = Session::running();
        session.say(&format!(r#"{{"type":"model_stopped","reason":"{reason}","message":"why"}}"#));
        session.named("result", r#"{"text":""}"#);
        assert_eq!(session.view.last_stop(), Some(&stop));
    }
    let mut session = Session::running();
    session.say(r#"{"type":"model_stopped","reason":"paused","message":null}"#);
    session.named("result", &result(r#""tools":[],"stop":null"#));
    assert_eq!(session.view.last_stop(), Some(&StopReason::EndTurn), "it went on and ended well");
}

#[test]
fn errors_say_what_to_do() {
    for (word, advice, stop) in [
        ("locked", "close it there", None),
        ("no_model", "add one there", None),
        ("busy", "steer it", None),
        ("run", "", None),
        ("timeout", "higher limit", Some(StopReason::TimedOut)),
    ] {
        let mut session = Session::running();
        session.say(&text("half")).named("error", &format!(r#"{{"error":"{word}","message":"It failed."}}"#));
        let stop = stop.unwrap_or(StopReason::Error { message: Some("It failed.".into()) });
        assert_eq!(session.view.last_stop(), Some(&stop));
        assert_eq!(session.view.lines()[1], "run1.m1 Agent Incomplete: half");
        let notice = session.events.iter().find_map(|event| match &event.body {
            EventBody::Notice { notice, .. } => Some(notice.clone()),
            _ => None,
        });
        let notice = notice.unwrap();
        assert_eq!(notice.code, NoticeCode::ErrorFatal);
        assert!(notice.text.starts_with("It failed.") && notice.text.contains(advice), "{notice:?}");
    }
    let mut session = Session::running();
    session.named("error", r#"{"error":"invalid","message":"This model does not take images."}"#);
    assert!(session.view.lines()[1].contains("send the message without them"), "{:?}", session.view.lines());
}

#[test]
fn nothing_to_do_shows_no_turn() {
    let mut session = Session::new();
    session.check("resumable", r#"{"resumable":true,"kind":"call_model","description":"d"}"#).resume();
    assert_eq!((&session.view.state, session.view.turns.len()), (&SessionState::Running, 0));
    session.named("error", r#"{"error":"nothing_to_do","message":"Nothing."}"#);
    assert_eq!(session.view.lines(), ["run1.n1 Info Server: Nothing."]);
    assert_eq!((&session.view.state, session.view.turns.len()), (&SessionState::Idle, 0));
    assert_eq!(session.view.resumable, None);
    session.lose_connection();
    assert!(session.view.turns.is_empty());
}

#[test]
fn a_run_that_is_taken_up_is_a_turn_of_its_own() {
    let mut session = Session::new();
    session.resume().say(&text("on")).named("result", RESULT);
    assert_eq!(session.view.turns, [(Some("run1".to_owned()), Some(StopReason::EndTurn))]);
    assert_eq!(session.view.lines(), ["run1.m1 Agent: on"]);
}

#[test]
fn cancelled_is_stopped_and_voids_what_waits() {
    let mut session = Session::running();
    session.say(&text("half")).say(TOOL).say(ASK).named("cancelled", r#"{"type":"cancelled"}"#);
    assert_eq!(session.view.last_stop(), Some(&StopReason::Stopped));
    assert_eq!(session.view.lines()[2], "run1.c.call_1 bash Cancelled: -");
    assert!(session.view.open().is_empty());
    // Whatever follows the last frame is none of this run's.
    session.named("result", RESULT).lose_connection();
    assert_eq!(session.view.turns.len(), 1);
}

#[test]
fn a_stream_that_breaks_off_interrupts_the_run_and_keeps_what_was_shown() {
    let mut session = Session::running();
    session.say(r#"{"type":"reasoning_delta","text":"hm"}"#).say(&text("half")).lose_connection();
    assert_eq!(session.view.last_stop(), Some(&StopReason::Interrupted));
    assert_eq!(session.view.lines()[1..], ["run1.t1 thought false: hm", "run1.m1 Agent Incomplete: half"]);
    let before = session.events.len();
    session.lose_connection();
    assert_eq!(session.events.len(), before);
}

#[test]
fn an_end_that_cannot_be_read_is_an_end() {
    let mut session = Session::running();
    session.say(&text("x")).named("result", "{half");
    assert_eq!((session.view.last_stop(), session.view.rereads), (Some(&StopReason::EndTurn), 1));
    let mut session = Session::running();
    session.named("error", "Bad Gateway");
    assert_eq!(session.view.last_stop(), Some(&StopReason::Error { message: Some("Bad Gateway".into()) }));
    let mut session = Session::running();
    session.cut("result", r#"{"text":"x","tools":[{"output":"aaaa"#);
    assert_eq!((session.view.last_stop(), session.view.rereads), (Some(&StopReason::EndTurn), 1));
    let mut session = Session::running();
    session.named("cancelled", "");
    assert_eq!(session.view.last_stop(), Some(&StopReason::Stopped));
}

#[test]
fn a_compaction_cut_short_does_not_stay_active() {
    let mut session = Session::running();
    session.say(r#"{"type":"compaction_started"}"#).lose_connection();
    assert!(session.view.lines()[1].contains("active: false"), "{:?}", session.view.lines());
}

#[test]
fn a_text_that_a_stop_cut_off_is_incomplete_whatever_the_last_frame_says() {
    for name in ["result", "cancelled"] {
        let mut session = Session::running();
        session.say(&text("I will")).stopping(true).named(name, RESULT);
        assert_eq!(session.view.lines()[1..], ["run1.m1 Agent Incomplete: I will"], "{name}");
        // What the server keeps of it is no more of it.
        let kept = |words| {
            format!(r#"{{"messages":[{{"role":"user","text":"do it"}},{{"role":"assistant","text":"{words}"}}]}}"#)
        };
        session.history(&kept("I will"));
        assert_eq!(session.view.lines()[1..], ["run1.m1 Agent Incomplete: I will"], "{name}");
        session.history(&kept("I will go"));
        assert_eq!(session.view.lines()[1..], ["run1.m1 Agent Incomplete: I will go"], "{name}");
        // The next run is another one.
        session.open("again", RunOptions::default()).say(&text("Yes.")).named("result", RESULT);
        assert_eq!(session.view.lines().last().map(String::as_str), Some("run2.m1 Agent: Yes."), "{name}");
    }
}

#[test]
fn a_text_that_was_finished_before_the_stop_or_whose_stop_was_not_taken_is_whole() {
    let mut session = Session::running();
    session.say(&text("All.")).say(r#"{"type":"finished","text":"All."}"#).stopping(true).named("result", RESULT);
    assert_eq!(session.view.lines()[1..], ["run1.m1 Agent: All."]);
    session.open("again", RunOptions::default()).say(&text("More.")).stopping(true).stopping(false);
    session.named("result", RESULT);
    assert_eq!(session.view.lines().last().map(String::as_str), Some("run2.m1 Agent: More."));
}
