//! Properties of the fold: however a text is cut, in whichever form, the same text stands at the end; and an event that
//! is folded twice counts once.

use contract::{
    item::MessageState::Done,
    wire::{Frame, TooLarge},
};
use proptest::prelude::*;
use serde_json::json;

use super::Session;

/// Pieces of a text: cut at any characters.
fn pieces() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec("[a-zA-Z \\n\"\\\\é东😀]{1,6}", 1..12)
}

#[derive(Debug, Clone, Copy)]
enum Form {
    Flagged,
    Repeated,
    Raw,
    Previews,
}

/// A whole turn in which the agent says the pieces in this form.
fn turn(form: Form, pieces: &[String]) -> Vec<String> {
    let whole = pieces.concat();
    let text = |text: &str| json!([{"type": "text", "text": text}]);
    let mut events = vec![
        json!({"id": "evt_r", "type": "session.status_running", "turn_id": "t", "created_at": "2026-09-01T08:00:00Z"}),
    ];
    for (number, piece) in pieces.iter().enumerate() {
        let id = format!("evt_{number}");
        match form {
            Form::Flagged => {
                events.push(json!({"id": id, "type": "agent.message", "turn_id": "t", "content": piece, "delta": true}))
            }
            Form::Repeated => {
                events.push(json!({"id": id, "type": "agent.message", "turn_id": "t", "content": text(piece)}))
            }
            Form::Raw => {
                if number == 0 {
                    events.push(json!({"id": "evt_s", "type": "agent.content_block_start", "message_id": "m", "turn_id": "t", "index": 0, "content_block": {"type": "text", "text": ""}}));
                }
                events.push(json!({"id": id, "type": "agent.content_block_delta", "message_id": "m", "turn_id": "t", "index": 0, "delta": {"type": "text_delta", "text": piece}}));
            }
            Form::Previews => {
                if number == 0 {
                    events.push(json!({"type": "event_start", "event": {"id": "evt_w", "type": "agent.message"}}));
                }
                events.push(json!({"type": "event_delta", "event_id": "evt_w", "delta": {"type": "content_delta", "index": 0, "content": {"type": "text", "text": piece}}}));
            }
        }
    }
    match form {
        Form::Repeated => {}
        Form::Raw => {
            events.push(json!({"id": "evt_e", "type": "agent.message_stop", "message_id": "m", "turn_id": "t"}));
            events.push(json!({"id": "evt_w", "type": "agent.message", "message_id": "m", "turn_id": "t", "content": text(&whole)}));
        }
        Form::Flagged | Form::Previews => {
            events.push(json!({"id": "evt_w", "type": "agent.message", "turn_id": "t", "content": text(&whole)}));
        }
    }
    events.push(
        json!({"id": "evt_i", "type": "session.status_idle", "turn_id": "t", "stop_reason": {"type": "end_turn"}}),
    );
    events.iter().map(ToString::to_string).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_cut_in_any_form_gives_the_same_text(pieces in pieces()) {
        for form in [Form::Flagged, Form::Repeated, Form::Raw, Form::Previews] {
            let mut session = Session::qoder();
            for event in turn(form, &pieces) {
                session.say(&event);
            }
            prop_assert_eq!(session.view.said(), vec![(pieces.concat(), Done)], "{:?}", form);
            prop_assert!(session.view.drafts().is_empty());
        }
    }

    #[test]
    fn what_was_shown_before_the_end_is_the_beginning_of_the_text(pieces in pieces(), upto in 0usize..12) {
        for form in [Form::Flagged, Form::Repeated, Form::Raw, Form::Previews] {
            let mut session = Session::qoder();
            for event in turn(form, &pieces).iter().take(upto) {
                session.say(event);
            }
            let shown: String = session.view.said().into_iter().map(|(text, _)| text).collect();
            prop_assert!(pieces.concat().starts_with(&shown), "{:?}: {:?}", form, shown);
        }
    }

    #[test]
    fn every_event_folded_twice_gives_the_same_items(pieces in pieces()) {
        for form in [Form::Flagged, Form::Repeated, Form::Raw, Form::Previews] {
            let events: Vec<String> = turn(form, &pieces).into_iter().chain(a_busy_turn()).collect();
            let (mut once, mut twice) = (Session::qoder(), Session::qoder());
            twice.twice = true;
            for event in &events {
                once.say(event);
                twice.say(event);
            }
            prop_assert_eq!(&once.view, &twice.view, "{:?}", form);
        }
    }

    #[test]
    fn an_event_folded_again_later_gives_the_same_items(pieces in pieces(), again in prop::collection::vec(0usize..40, 1..6)) {
        for form in [Form::Repeated, Form::Raw] {
            let events: Vec<String> = turn(form, &pieces).into_iter().chain(a_busy_turn()).collect();
            let mut session = Session::qoder();
            for event in &events {
                session.say(event);
            }
            let before = session.view.clone();
            for number in again.iter().filter(|number| **number < events.len()) {
                let place = i64::try_from(*number).unwrap() + 1;
                session.listed(&events[*number], place);
            }
            prop_assert_eq!(&session.view, &before, "{:?}", form);
        }
    }
}

/// A second turn with a bit of everything that is kept by the log.
fn a_busy_turn() -> Vec<String> {
    [
        json!({"id": "b1", "type": "user.message", "turn_id": "b", "content": [{"type": "text", "text": "go"}], "processed_at": null}),
        json!({"id": "b2", "type": "session.status_running", "turn_id": "b"}),
        json!({"id": "b4", "type": "agent.tool_use", "turn_id": "b", "name": "Bash", "input": {"command": "ls"}, "evaluated_permission": "ask"}),
        json!({"id": "b5", "type": "session.status_idle", "turn_id": "b", "stop_reason": {"type": "requires_action", "event_ids": ["b4"]}}),
        json!({"id": "b6", "type": "user.tool_confirmation", "turn_id": "b", "tool_use_id": "b4", "result": "allow"}),
        json!({"id": "b7", "type": "session.status_running", "turn_id": "b"}),
        json!({"id": "b8", "type": "agent.tool_result", "turn_id": "b", "tool_use_id": "toolu_1", "name": "Bash", "content": [{"type": "text", "text": "a"}]}),
        json!({"id": "b9", "type": "agent.custom_tool_use", "turn_id": "b", "name": "ask", "input": {}}),
        json!({"id": "b10", "type": "user.custom_tool_result", "turn_id": "b", "custom_tool_use_id": "b9", "content": []}),
        json!({"id": "b11", "type": "user.define_outcome", "description": "d", "outcome_id": "o"}),
        json!({"id": "b12", "type": "span.outcome_evaluation_start", "outcome_id": "o", "iteration": 1}),
        json!({"id": "b13", "type": "session.error", "turn_id": "b", "error": {"type": "x", "message": "m", "retry_status": {"type": "retrying"}}}),
        json!({"id": "b14", "type": "agent.hologram", "turn_id": "b"}),
        json!({"id": "b15", "type": "user.interrupt", "turn_id": "b"}),
        json!({"id": "b16", "type": "session.status_idle", "turn_id": "b", "stop_reason": {"type": "cancel"}}),
    ]
    .iter()
    .map(ToString::to_string)
    .collect()
}

const NAMES: [&str; 8] = [
    "agent.message",
    "event_delta",
    "event_start",
    "agent.tool_use",
    "session.status_idle",
    "agent.content_block_delta",
    "error",
    "",
];

proptest! {
    #[test]
    fn no_bytes_break_the_codec(data in ".{0,80}", name in 0usize..8, cut in any::<bool>()) {
        let mut session = Session::qoder();
        let frame = Frame {
            name: Some(NAMES[name].to_owned()),
            data,
            too_large: cut.then_some(TooLarge { bytes: 1 }),
            ..Frame::default()
        };
        session.frame(&frame);
        session.lose_connection();
    }

    #[test]
    fn a_call_cut_anywhere_still_gets_its_card_or_is_read_again(length in 0usize..90) {
        let whole = r#"{"x":{"id":"no","type":"no"},"type":"agent.tool_use","id":"evt_7","name":"B\u0061sh","input":{"a":1}}"#;
        let frame = Frame {
            id: Some("evt_7".to_owned()),
            name: Some("agent.tool_use".to_owned()),
            data: whole[..length].to_owned(),
            too_large: Some(TooLarge { bytes: 1 }),
            ..Frame::default()
        };
        let mut session = Session::qoder();
        session.frame(&frame);
        prop_assert_eq!(session.view.requests.keys().collect::<Vec<_>>(), ["evt_7"]);
        prop_assert_eq!(session.view.rereads, 1);
    }
}

#[test]
fn arguments_nested_deeper_than_any_stack_do_not_hide_the_request() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let mut session = Session::qoder();
    session.sse(
        "evt_7",
        "agent.tool_use",
        &format!(r#"{{"id":"evt_7","type":"agent.tool_use","name":"x","input":{deep},"evaluated_permission":"ask"}}"#),
    );
    assert_eq!(session.view.requests["evt_7"].seed.arguments, deep);
}
