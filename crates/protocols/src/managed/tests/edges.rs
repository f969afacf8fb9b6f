//! The edge cases of the Qoder page's section 14, as far as they are this crate's: reading and folding.

use contract::{
    event::EventBody,
    item::{MessageState, NoticeCode},
    session::{SessionState, StopReason},
    wire::{Cursor, Frame, FrameKind},
};
use pretty_assertions::assert_eq;

use super::{Session, framed, view::Shown};

fn running(id: &str) -> String {
    format!(r#"{{"id":"{id}","type":"session.status_running"}}"#)
}

fn idle(id: &str, word: &str) -> String {
    format!(r#"{{"id":"{id}","type":"session.status_idle","stop_reason":{{"type":"{word}"}}}}"#)
}

fn asks(id: &str, processed: &str) -> String {
    format!(
        r#"{{"id":"{id}","type":"user.message","content":[{{"type":"text","text":"{id}"}}],"processed_at":{processed}}}"#
    )
}

fn says(id: &str, text: &str) -> String {
    format!(
        r#"{{"id":"{id}","type":"agent.message","content":[{{"type":"text","text":"{text}"}}],"processed_at":"2026-09-01T08:00:01Z"}}"#
    )
}

#[test]
fn edge_01_a_replayed_history_and_a_listed_one_make_the_same_items() {
    let history = [asks("m1", r#""2026-09-01T08:00:00Z""#), running("r1"), says("a1", "hi"), idle("i1", "end_turn")];
    let (mut streamed, mut listed) = (Session::qoder(), Session::qoder());
    for (place, event) in (1..).zip(&history) {
        streamed.say(event);
        listed.listed(event, place);
    }
    assert_eq!(streamed.view, listed.view);
}

#[test]
fn s17_an_id_with_control_characters_is_no_identity_and_its_event_is_kept() {
    for id in ["a\\u0000b", "a\\nb"] {
        let mut session = Session::qoder();
        let frame = Frame { data: says(id, "kept all the same"), ..Frame::default() };
        let parsed = session.codec.parse(&frame);
        assert_eq!((parsed.kind, parsed.identity), (FrameKind::Control, None), "{id}");
        session.say(&says(id, "kept all the same"));
        assert_eq!(session.view.ids().len(), 1, "{id}");
    }
}

#[test]
fn edge_02_an_event_that_comes_again_with_its_time_filled_in_is_an_upsert() {
    let mut session = Session::claude();
    session.say(&running("r1")).say(&asks("m1", r#""2026-09-01T08:00:00Z""#)).say(&asks("m2", "null"));
    assert!(matches!(session.view.get("m2"), Some(Shown::Message { state: MessageState::Queued, .. })));
    session.say(&asks("m2", r#""2026-09-01T08:00:09Z""#));
    assert!(matches!(session.view.get("m2"), Some(Shown::Message { state: MessageState::Done, .. })));
    assert_eq!(session.view.ids(), ["m1", "m2"]);
}

#[test]
fn edge_02_a_message_that_started_its_turn_is_not_queued_though_its_time_is_never_filled_in() {
    let mut session = Session::claude();
    session.say(&asks("m1", "null")).say(&running("r1")).say(&asks("m1", "null"));
    assert!(matches!(session.view.get("m1"), Some(Shown::Message { state: MessageState::Done, .. })));
}

#[test]
fn edge_03_preview_frames_share_an_id_and_never_move_the_cursor() {
    let mut session = Session::qoder();
    session.say(&running("evt_1"));
    let start = framed(r#"{"type":"event_start","event":{"id":"evt_40","type":"agent.message"}}"#);
    assert_eq!(session.frame(&start), FrameKind::Preview);
    assert_eq!(session.codec.parse(&start).identity.unwrap().event_id, "evt_40");
    assert_eq!(session.cursor, Some(Cursor("evt_1".into())));
}

#[test]
fn edge_03_a_preview_of_an_older_turn_starts_no_turn() {
    let mut session = Session::qoder();
    session.say(&idle("i1", "end_turn"));
    session.say(r#"{"type":"event_start","event":{"id":"evt_40","type":"agent.message"}}"#);
    assert_eq!(session.view.turns, []);
    assert_eq!(session.view.state, SessionState::Idle);
}

#[test]
fn edge_08_a_frame_that_is_not_json_is_shown_and_the_session_read_again_with_the_cursor_unchanged() {
    for data in ["{\"id\":\"evt_9\",\"type\":\"agent.tool_use\"", "[1]", "\"x\"", "{\"a\":NaN}"] {
        let mut session = Session::qoder();
        session.say(&running("evt_1"));
        assert_eq!(session.sse("evt_9", "agent.tool_use", data), FrameKind::Control);
        assert_eq!(session.cursor, Some(Cursor("evt_1".into())));
        assert_eq!(session.view.rereads, 1, "{data}");
        let shown = session.bodies().iter().any(|body| {
            matches!(body, EventBody::Notice { notice, .. }
                if notice.code == NoticeCode::UnreadableFrame && notice.detail.as_ref().is_some_and(|detail| detail.text == data))
        });
        assert!(shown, "{data}");
    }
}

#[test]
fn edge_08_reading_again_what_the_list_holds_does_not_ask_for_it_once_more() {
    let mut session = Session::qoder();
    session.listed("[1]", 1);
    assert_eq!(session.view.rereads, 0);
}

#[test]
fn edge_09_ids_come_from_the_json_else_from_the_frame_and_may_be_integers() {
    for (sse, data, expected) in [
        ("7", r#"{"id":"evt_1","type":"x"}"#, Some("evt_1")),
        ("7", r#"{"type":"x"}"#, Some("7")),
        ("", r#"{"id":12,"type":"x"}"#, Some("12")),
        ("", r#"{"type":"x"}"#, None),
    ] {
        let session = Session::qoder();
        let id = (!sse.is_empty()).then(|| sse.to_owned());
        let parsed = session.codec.parse(&Frame { id, data: data.into(), ..Frame::default() });
        assert_eq!(parsed.identity.as_ref().map(|identity| identity.event_id.as_str()), expected, "{data}");
        let kind = if expected.is_some() { FrameKind::Buffered } else { FrameKind::Control };
        assert_eq!(parsed.kind, kind, "{data}");
    }
}

#[test]
fn edge_09_the_type_in_the_data_wins_over_the_frames_name() {
    let mut session = Session::qoder();
    session.sse("evt_1", "agent.message", &running("evt_1"));
    assert_eq!(session.view.state, SessionState::Running);
    session.sse("evt_2", "session.status_idle", r#"{"id":"evt_2","stop_reason":{"type":"end_turn"}}"#);
    assert_eq!(session.view.state, SessionState::Idle);
}

#[test]
fn edge_10_pings_and_done_say_nothing_and_a_stream_error_is_told() {
    let mut session = Session::qoder();
    for (name, data) in
        [("ping", "{}"), ("", "[DONE]"), ("", ""), ("ping", "not json"), ("heartbeat", "1"), ("", r#"{"type":"ping"}"#)]
    {
        assert_eq!(session.sse("", name, data), FrameKind::Control);
    }
    assert!(session.events.is_empty());
    for (name, data, words) in [
        (
            "error",
            r#"{"type":"error","error":{"type":"overloaded_error","message":"busy"},"request_id":"req_1"}"#,
            "busy",
        ),
        ("", r#"{"type":"error","error":"broken","code":"x"}"#, "broken"),
        ("error", "gateway gone", "gateway gone"),
    ] {
        session.events.clear();
        assert_eq!(session.sse("", name, data), FrameKind::Control);
        assert!(matches!(session.bodies()[..], [EventBody::Notice { notice, .. }] if notice.text == words), "{data}");
    }
}

#[test]
fn edge_15_a_childs_idle_does_not_end_the_turn() {
    let mut session = Session::claude();
    session.say(&running("r1"));
    session.say(r#"{"id":"t1","type":"session.thread_created","session_thread_id":"sthr_2","agent_name":"tester"}"#);
    session.say(r#"{"id":"t2","type":"session.thread_status_idle","session_thread_id":"sthr_2","agent_name":"tester","stop_reason":{"type":"end_turn"}}"#);
    assert_eq!(session.view.state, SessionState::Running);
    assert_eq!(session.view.turns, [(Some("turn:r1".into()), None)]);
    let lane = session.events.iter().rev().find_map(|event| match &event.body {
        EventBody::Thread { id, state, name, .. } => Some((id.clone(), state.clone(), name.clone())),
        _ => None,
    });
    assert_eq!(lane, Some(("sthr_2".into(), SessionState::Idle, Some("tester".into()))));
}

#[test]
fn edge_15_the_sessions_own_thread_is_no_sub_agent() {
    let mut session = Session::qoder();
    session.say(&running("r1"));
    session
        .say(r#"{"id":"t1","type":"session.thread_status_running","session_thread_id":"sthr_1","agent_name":"dev"}"#);
    session.say(r#"{"id":"a1","type":"agent.tool_use","name":"Bash","input":{},"session_thread_id":"sthr_1"}"#);
    assert!(!session.bodies().iter().any(|body| matches!(body, EventBody::Thread { .. })));
    assert!(session.events.iter().all(|event| event.thread.is_none()));
}

#[test]
fn edge_16_the_idle_of_the_previous_turn_does_not_end_the_one_just_posted() {
    let mut session = Session::qoder();
    session.posted(&asks("m2", "null"));
    session.say(&idle("i1", "end_turn"));
    assert!(!session.bodies().iter().any(|body| matches!(body, EventBody::TurnEnded { .. })));
    session.say(&running("r2"));
    assert_eq!(session.view.turns, [(Some("turn:m2".into()), None)]);
    session.say(&idle("i2", "end_turn"));
    assert_eq!(session.view.turns, [(Some("turn:m2".into()), Some(StopReason::EndTurn))]);
}

#[test]
fn edge_16_a_whole_replay_ends_the_earlier_turn_only() {
    let mut session = Session::qoder();
    session.posted(&asks("m2", "null"));
    session
        .say(&asks("m1", r#""2026-09-01T08:00:00Z""#))
        .say(&running("r1"))
        .say(&says("a1", "hi"))
        .say(&idle("i1", "end_turn"));
    session.say(&asks("m2", "null")).say(&running("r2"));
    assert_eq!(
        session.view.turns,
        [(Some("turn:m1".into()), Some(StopReason::EndTurn)), (Some("turn:m2".into()), None)]
    );
    assert_eq!(session.view.state, SessionState::Running);
}

#[test]
fn edge_16_an_idle_that_names_an_earlier_turn_does_not_end_this_one() {
    let mut session = Session::qoder();
    session.say(r#"{"id":"r2","type":"session.status_running","turn_id":"turn_2"}"#);
    session.say(r#"{"id":"i1","type":"session.status_idle","turn_id":"turn_1","stop_reason":{"type":"cancel"}}"#);
    assert_eq!(session.view.turns, [(Some("turn_2".into()), None)]);
    assert_eq!(session.view.state, SessionState::Running);
}

#[test]
fn edge_17_a_rescheduled_run_and_an_error_that_retries_go_on() {
    let mut session = Session::qoder();
    session.say(&running("r1")).say(r#"{"id":"s1","type":"session.status_rescheduled"}"#);
    assert_eq!(session.view.state, SessionState::Rescheduling);
    session.say(r#"{"id":"e1","type":"session.error","error":{"type":"model_overloaded_error","message":"busy","retry_status":{"type":"retrying"}}}"#);
    session.say(&says("a1", "back"));
    assert_eq!(session.view.state, SessionState::Running);
    session.say(&idle("i1", "end_turn"));
    assert_eq!(session.view.turns, [(Some("turn:r1".into()), Some(StopReason::EndTurn))]);
}

#[test]
fn edge_19_content_is_a_string_or_blocks_or_nothing() {
    let mut session = Session::claude();
    session.say(&running("r1"));
    for (id, content) in [
        ("a1", r#""plain""#),
        ("a2", "[]"),
        ("a3", "null"),
        ("a4", r#"[{"type":"redacted"},{"type":"hologram","x":1}]"#),
    ] {
        session.say(&format!(
            r#"{{"id":"{id}","type":"agent.message","content":{content},"processed_at":"2026-09-01T08:00:01Z"}}"#
        ));
    }
    let texts: Vec<String> = session.view.said().into_iter().map(|(text, _)| text).collect();
    assert_eq!(texts[..3], ["plain".to_owned(), String::new(), String::new()]);
    assert!(texts[3].contains("Redacted") && texts[3].contains("hologram"), "{texts:?}");
}

#[test]
fn edge_20_unknown_types_are_kept_verbatim_and_nulls_break_nothing() {
    let mut session = Session::qoder();
    let raw = r#"{"id":"evt_9","type":"agent.hologram","payload":{"n":1.50}}"#;
    session.say(raw);
    assert_eq!(session.view.get("evt_9"), Some(&Shown::Other(format!("agent.hologram {raw}"))));
    for kind in [
        "user.message",
        "user.interrupt",
        "user.tool_confirmation",
        "user.custom_tool_result",
        "user.define_outcome",
        "user.tool_result",
        "system.message",
        "agent.message",
        "agent.thinking",
        "agent.tool_use",
        "agent.tool_result",
        "agent.mcp_tool_use",
        "agent.mcp_tool_result",
        "agent.custom_tool_use",
        "agent.artifact_delivered",
        "agent.thread_message_sent",
        "agent.thread_message_received",
        "agent.thread_context_compacted",
        "session.status_running",
        "session.status_idle",
        "session.status_rescheduled",
        "session.error",
        "session.updated",
        "session.usage",
        "session.thread_created",
        "session.thread_status_idle",
        "span.model_request_start",
        "span.model_request_end",
        "span.outcome_evaluation_end",
        "event_start",
        "event_delta",
        "agent.content_block_delta",
        "agent.message_stop",
        "workflow_run.created",
        "terminated",
    ] {
        let nulls = format!(
            r#"{{"id":"n_{kind}","type":"{kind}","content":null,"input":null,"stop_reason":null,"usage":null,"error":null,"event":null,"delta":null,"turn_id":null,"created_at":null,"name":null,"extra":[]}}"#
        );
        session.say(&nulls);
        let numbers = format!(
            r#"{{"id":"w_{kind}","type":"{kind}","content":7,"input":7,"stop_reason":7,"usage":7,"error":7,"event":7,"delta":7,"turn_id":7,"created_at":7,"name":7}}"#
        );
        session.say(&numbers);
    }
    assert_eq!(session.view.rereads, 0);
}

#[test]
fn edge_21_terminated_and_deleted_end_the_stream_for_good() {
    for (data, deleted) in [
        (r#"{"id":"x","type":"terminated","reason":"idle for too long"}"#, false),
        (r#"{"id":"x","type":"session.status_terminated"}"#, false),
        (r#"{"id":"x","type":"session.deleted"}"#, true),
    ] {
        let mut session = Session::qoder();
        session.say(&running("r1"));
        assert!(session.codec.parse(&framed(data)).terminal);
        session.say(data);
        assert_eq!(session.view.ended, Some(deleted));
        assert_eq!(session.view.state, SessionState::Ended);
        assert!(session.view.turns[0].1.is_some());
    }
}

#[test]
fn edge_21_a_terminated_thread_ends_nothing_of_the_session() {
    let mut session = Session::qoder();
    session.say(&running("r1"));
    session.say(r#"{"id":"t0","type":"session.thread_created","session_thread_id":"sthr_2"}"#);
    let ended = r#"{"id":"t1","type":"session.thread_status_terminated","session_thread_id":"sthr_2"}"#;
    assert!(!session.codec.parse(&framed(ended)).terminal);
    session.say(ended);
    assert_eq!(session.view.state, SessionState::Running);
}

#[test]
fn edge_25_an_answer_given_elsewhere_settles_our_card() {
    let mut session = Session::qoder();
    session.say(&running("r1"));
    session.say(r#"{"id":"evt_7","type":"agent.tool_use","name":"Bash","input":{},"evaluated_permission":"ask"}"#);
    session.say(
        r#"{"id":"i1","type":"session.status_idle","stop_reason":{"type":"requires_action","event_ids":["evt_7"]}}"#,
    );
    assert_eq!(session.view.open(), ["evt_7"]);
    session.say(r#"{"id":"evt_8","type":"user.tool_confirmation","tool_use_id":"evt_7","result":"allow"}"#);
    assert_eq!(session.view.open(), [] as [&str; 0]);
}

#[test]
fn older_history_read_backwards_changes_no_state_and_ends_no_turn() {
    let mut session = Session::qoder();
    session.say(&asks("m2", r#""2026-09-01T09:00:00Z""#)).say(&running("r2"));
    let before = (session.view.state.clone(), session.view.turns.clone());
    session.listed(&asks("m1", r#""2026-09-01T08:00:00Z""#), -4);
    session.listed(&running("r1"), -3);
    session.listed(&says("a1", "hi"), -2);
    session.listed(&idle("i1", "cancelled"), -1);
    assert_eq!((session.view.state.clone(), session.view.turns.clone()), before);
    assert_eq!(session.view.ids(), ["m1", "a1", "end@-1", "m2"]);
    assert!(session.events.iter().any(|event| event.turn.as_deref() == Some("turn:m1")));
}

#[test]
fn bytes_that_were_not_text_are_said() {
    let mut session = Session::qoder();
    let frame = Frame { repaired: true, ..framed(&says("a1", "h\u{fffd}i")) };
    session.frame(&frame);
    assert!(
        session
            .bodies()
            .iter()
            .any(|body| matches!(body, EventBody::Notice { notice, .. } if notice.code == NoticeCode::BadUtf8))
    );
}
