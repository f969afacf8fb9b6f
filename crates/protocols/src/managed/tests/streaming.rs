//! Streaming text: each dialect's form, alone and broken (Qoder page, section 8).

use contract::item::MessageState::{Done, Incomplete, Streaming};
use pretty_assertions::assert_eq;

use super::{Session, view::Shown};

const RUNNING: &str = r#"{"id":"evt_1","type":"session.status_running","processed_at":"2026-09-01T08:00:00Z"}"#;

fn start(id: &str) -> String {
    format!(r#"{{"type":"event_start","event":{{"id":"{id}","type":"agent.message"}}}}"#)
}

fn delta(id: &str, index: u32, text: &str) -> String {
    format!(
        r#"{{"type":"event_delta","event_id":"{id}","delta":{{"type":"content_delta","index":{index},"content":{{"type":"text","text":"{text}"}}}}}}"#
    )
}

fn whole(id: &str, text: &str) -> String {
    format!(
        r#"{{"id":"{id}","type":"agent.message","content":[{{"type":"text","text":"{text}"}}],"processed_at":"2026-09-01T08:00:01Z"}}"#
    )
}

fn chunk(id: &str, kind: &str, rest: &str) -> String {
    format!(r#"{{"id":"{id}","type":"agent.{kind}","message_id":"msg_1","turn_id":"turn_1",{rest}}}"#)
}

#[test]
fn d3_a_preview_is_replaced_by_the_whole_message_under_one_id() {
    let mut session = Session::qoder();
    session.say(RUNNING).say(&start("evt_40")).say(&delta("evt_40", 0, "Hel"));
    assert_eq!(session.view.said(), [("Hel".into(), Streaming)]);
    session.say(&whole("evt_40", "Hello"));
    assert_eq!(session.view.said(), [("Hello".into(), Done)]);
    assert_eq!(session.view.ids(), ["evt_40"]);
}

#[test]
fn d3_a_second_start_begins_again_from_nothing() {
    let mut session = Session::qoder();
    session.say(RUNNING).say(&start("evt_40")).say(&delta("evt_40", 0, "Hel"));
    session.say(&start("evt_40")).say(&delta("evt_40", 0, "Hello"));
    assert_eq!(session.view.said(), [("Hello".into(), Streaming)]);
}

#[test]
fn d3_a_delta_at_the_next_index_opens_a_block_and_a_gap_waits_for_the_whole_message() {
    let mut session = Session::qoder();
    session.say(RUNNING).say(&start("evt_40")).say(&delta("evt_40", 0, "a")).say(&delta("evt_40", 1, "b"));
    session.say(&delta("evt_40", 5, "lost"));
    assert_eq!(session.view.said(), [("ab".into(), Streaming)]);
}

#[test]
fn d3_a_delta_of_an_unknown_kind_is_ignored() {
    let mut session = Session::qoder();
    session.say(RUNNING).say(&start("evt_40")).say(&delta("evt_40", 0, "a"));
    session.say(r#"{"type":"event_delta","event_id":"evt_40","delta":{"type":"citation_delta","index":0,"content":{"type":"x"}}}"#);
    assert_eq!(session.view.said(), [("a".into(), Streaming)]);
}

#[test]
fn d3_a_failed_model_call_leaves_what_was_shown_marked_incomplete() {
    let mut session = Session::qoder();
    session.say(RUNNING).say(&start("evt_40")).say(&delta("evt_40", 0, "Hel"));
    session.say(r#"{"id":"evt_41","type":"span.model_request_end","model_request_start_id":"evt_39","is_error":true,"processed_at":"2026-09-01T08:00:02Z"}"#);
    assert_eq!(session.view.said(), [("Hel".into(), Incomplete)]);
}

#[test]
fn d3_a_reconnect_drops_the_preview_and_a_replay_rebuilds_it() {
    let mut session = Session::qoder();
    session.say(RUNNING).say(&start("evt_40")).say(&delta("evt_40", 0, "Hel"));
    session.lose_connection();
    assert_eq!(session.view.said(), []);
    session.say(&start("evt_40")).say(&delta("evt_40", 0, "Hello"));
    assert_eq!(session.view.said(), [("Hello".into(), Streaming)]);
}

#[test]
fn d3_after_a_reconnect_deltas_without_a_start_wait_for_the_whole_message() {
    let mut session = Session::claude();
    session.say(RUNNING).say(&start("evt_40")).say(&delta("evt_40", 0, "Hel"));
    session.lose_connection();
    session.say(&delta("evt_40", 0, "lo"));
    assert_eq!(session.view.said(), []);
    session.say(&whole("evt_40", "Hello"));
    assert_eq!(session.view.said(), [("Hello".into(), Done)]);
}

#[test]
fn d3_a_late_preview_does_not_touch_a_whole_message() {
    let mut session = Session::qoder();
    session.say(RUNNING).say(&whole("evt_40", "Hello")).say(&start("evt_40")).say(&delta("evt_40", 0, "Hel"));
    assert_eq!(session.view.said(), [("Hello".into(), Done)]);
    assert_eq!(session.view.drafts(), [] as [String; 0]);
}

#[test]
fn d3_thinking_has_a_start_only_and_ends_with_its_event() {
    let mut session = Session::qoder();
    session.say(RUNNING).say(r#"{"type":"event_start","event":{"id":"evt_5","type":"agent.thinking"}}"#);
    assert_eq!(session.view.get("evt_5"), Some(&Shown::Thought { text: String::new(), active: true }));
    session.say(r#"{"id":"evt_5","type":"agent.thinking","processed_at":"2026-09-01T08:00:01Z"}"#);
    assert_eq!(session.view.get("evt_5"), Some(&Shown::Thought { text: String::new(), active: false }));
}

#[test]
fn d2_a_raw_message_streams_text_thinking_and_a_call_which_their_own_events_replace() {
    let mut session = Session::qoder();
    session
        .say(r#"{"id":"evt_1","type":"session.status_running","turn_id":"turn_1"}"#)
        .say(&chunk("evt_10", "message_start", r#""message":{"id":"msg_1"}"#))
        .say(&chunk("evt_11", "content_block_start", r#""index":0,"content_block":{"type":"thinking","thinking":""}"#))
        .say(&chunk("evt_12", "content_block_delta", r#""index":0,"delta":{"type":"thinking_delta","thinking":"hm"}"#))
        .say(&chunk(
            "evt_13",
            "content_block_delta",
            r#""index":0,"delta":{"type":"signature_delta","signature":"zz"}"#,
        ))
        .say(&chunk("evt_14", "content_block_stop", r#""index":0"#))
        .say(&chunk("evt_15", "content_block_start", r#""index":1,"content_block":{"type":"text","text":""}"#))
        .say(&chunk("evt_16", "content_block_delta", r#""index":1,"delta":{"type":"text_delta","text":"Hel"}"#))
        .say(&chunk("evt_17", "content_block_delta", r#""index":1,"delta":{"type":"text_delta","text":"lo"}"#))
        .say(&chunk(
            "evt_18",
            "content_block_start",
            r#""index":2,"content_block":{"type":"tool_use","id":"toolu_1","name":"Bash","input":{}}"#,
        ))
        .say(&chunk(
            "evt_19",
            "content_block_delta",
            r#""index":2,"delta":{"type":"input_json_delta","partial_json":"{\"comm"}"#,
        ));
    assert_eq!(session.view.said(), [("Hello".into(), Streaming)]);
    assert_eq!(session.view.get("msg_1:0"), Some(&Shown::Thought { text: "hm".into(), active: false }));
    assert!(matches!(session.view.get("msg_1:2"), Some(Shown::Tool { input, .. }) if input == "{\"comm"));

    session.say(&chunk("evt_20", "message_stop", r#""x":1"#));
    assert_eq!(session.view.said(), [("Hello".into(), Done)]);
    session
        .say(r#"{"id":"evt_21","type":"agent.message","message_id":"msg_1","turn_id":"turn_1","content":[{"type":"text","text":"Hello"}]}"#)
        .say(r#"{"id":"evt_22","type":"agent.tool_use","message_id":"msg_1","turn_id":"turn_1","name":"Bash","input":{"command":"ls"}}"#);
    assert_eq!(session.view.said(), [("Hello".into(), Done)]);
    assert_eq!(session.view.ids(), ["msg_1:0", "evt_21", "evt_22"]);
    assert_eq!(session.view.drafts(), [] as [String; 0]);
}

#[test]
fn d2_a_thought_that_its_raw_message_showed_is_not_shown_again_by_its_own_event() {
    let raw = |from: u32, text: &str| {
        [
            chunk(
                &format!("evt_{from}"),
                "content_block_start",
                r#""index":0,"content_block":{"type":"thinking","thinking":""}"#,
            ),
            chunk(
                &format!("evt_{}", from + 1),
                "content_block_delta",
                &format!(r#""index":0,"delta":{{"type":"thinking_delta","thinking":"{text}"}}"#),
            ),
            chunk(&format!("evt_{}", from + 2), "content_block_stop", r#""index":0"#),
            chunk(&format!("evt_{}", from + 3), "message_stop", r#""x":1"#),
        ]
    };
    for own in [
        r#"{"id":"evt_30","type":"agent.thinking","turn_id":"turn_1","thinking":"hm"}"#,
        r#"{"id":"evt_30","type":"agent.thinking"}"#,
        r#"{"id":"evt_30","type":"agent.thinking","message_id":"msg_1","thinking":"hm"}"#,
    ] {
        let mut session = Session::qoder();
        session.say(r#"{"id":"evt_1","type":"session.status_running","turn_id":"turn_1"}"#);
        for frame in raw(10, "hm") {
            session.say(&frame);
        }
        session.say(own);
        assert_eq!(session.view.ids(), ["msg_1:0"], "{own}");
        // Another one is a thought of its own.
        session.say(r#"{"id":"evt_31","type":"agent.thinking","thinking":"other"}"#);
        assert_eq!(session.view.ids(), ["msg_1:0", "evt_31"], "{own}");
    }
}

#[test]
fn d2_frames_are_kept_by_the_log_and_so_their_text_survives_a_reconnect() {
    let mut session = Session::qoder();
    session
        .say(r#"{"id":"evt_1","type":"session.status_running","turn_id":"turn_1"}"#)
        .say(&chunk("evt_15", "content_block_start", r#""index":0,"content_block":{"type":"text","text":""}"#))
        .say(&chunk("evt_16", "content_block_delta", r#""index":0,"delta":{"type":"text_delta","text":"Hel"}"#))
        .say(&start("evt_99"));
    session.lose_connection();
    assert_eq!(session.view.said(), [("Hel".into(), Streaming)]);
    session.say(&chunk("evt_17", "content_block_delta", r#""index":0,"delta":{"type":"text_delta","text":"lo"}"#));
    assert_eq!(session.view.said(), [("Hello".into(), Streaming)]);
}

#[test]
fn d2_a_call_that_becomes_whole_leaves_other_drafts_as_they_were() {
    let mut session = Session::qoder();
    session
        .say(r#"{"id":"evt_1","type":"session.status_running","turn_id":"turn_1"}"#)
        .say(&chunk("evt_15", "content_block_start", r#""index":0,"content_block":{"type":"text","text":"Hel"}"#))
        .say(&chunk(
            "evt_18",
            "content_block_start",
            r#""index":1,"content_block":{"type":"tool_use","id":"toolu_1","name":"Bash","input":{}}"#,
        ))
        .say(r#"{"id":"evt_22","type":"agent.tool_use","turn_id":"turn_1","name":"Bash","input":{}}"#)
        .say(&chunk("evt_19", "content_block_delta", r#""index":0,"delta":{"type":"text_delta","text":"lo"}"#));
    assert_eq!(session.view.said(), [("Hello".into(), Streaming)]);
    assert_eq!(session.view.get("msg_1:1"), None);
}

#[test]
fn d2_two_messages_of_one_raw_message_both_stay() {
    let mut session = Session::qoder();
    session
        .say(&chunk("evt_15", "content_block_start", r#""index":0,"content_block":{"type":"text","text":"one"}"#))
        .say(r#"{"id":"evt_20","type":"agent.message","message_id":"msg_1","turn_id":"turn_1","content":[{"type":"text","text":"one"}]}"#)
        .say(&chunk("evt_21", "content_block_start", r#""index":2,"content_block":{"type":"text","text":"two"}"#))
        .say(r#"{"id":"evt_22","type":"agent.message","message_id":"msg_1","turn_id":"turn_1","content":[{"type":"text","text":"two"}]}"#)
        .say(&chunk("evt_23", "message_stop", r#""x":1"#));
    assert_eq!(session.view.said(), [("one".into(), Done), ("two".into(), Done)]);
}

#[test]
fn d1_repeated_messages_of_one_turn_are_one_reply_until_a_tool_comes_between() {
    let said = |id: &str, text: &str| {
        format!(
            r#"{{"id":"{id}","type":"agent.message","turn_id":"turn_1","created_at":"2026-05-01T08:00:00Z","content":[{{"type":"text","text":"{text}"}}]}}"#
        )
    };
    let mut session = Session::qoder();
    session.say(r#"{"id":"evt_1","type":"session.status_running","turn_id":"turn_1"}"#);
    session.say(&said("evt_2", "Hel")).say(&said("evt_3", "lo")).say(&said("evt_4", "lo"));
    assert_eq!(session.view.said(), [("Hellolo".into(), Streaming)]);
    session.say(r#"{"id":"evt_5","type":"agent.tool_use","turn_id":"turn_1","name":"Bash","input":{}}"#);
    session.say(&said("evt_6", "Done"));
    session.say(r#"{"id":"evt_7","type":"session.status_idle","turn_id":"turn_1","stop_reason":{"type":"end_turn"}}"#);
    assert_eq!(session.view.said(), [("Hellolo".into(), Done), ("Done".into(), Done)]);
    assert_eq!(session.view.ids(), ["evt_2", "evt_5", "evt_6"]);
}

#[test]
fn messages_of_the_newest_servers_are_never_joined() {
    let mut session = Session::claude();
    session.say(RUNNING).say(&whole("evt_2", "one")).say(&whole("evt_3", "two"));
    assert_eq!(session.view.said(), [("one".into(), Done), ("two".into(), Done)]);
}

#[test]
fn d0_flagged_chunks_become_the_whole_text_or_end_with_a_last_chunk() {
    let flagged =
        |id: &str, text: &str| format!(r#"{{"id":"{id}","type":"agent.message","content":"{text}","delta":true}}"#);
    let end = |id: &str, text: &str| format!(r#"{{"id":"{id}","type":"agent.message","content":"{text}"}}"#);
    for (last, expected) in [("Hello world", "Hello world"), (" world", "Hello world")] {
        let mut session = Session::qoder();
        session.say(RUNNING).say(&flagged("evt_2", "Hel")).say(&flagged("evt_3", "lo"));
        assert_eq!(session.view.said(), [("Hello".into(), Streaming)]);
        session.say(&end("evt_4", last)).say(&end("evt_4", last));
        assert_eq!(session.view.said(), [(expected.into(), Done)], "{last}");
        assert_eq!(session.view.ids(), ["evt_4"]);
    }
}

#[test]
fn half_an_emoji_in_a_delta_does_not_stop_the_text() {
    let mut session = Session::qoder();
    session.say(RUNNING).say(&start("evt_40"));
    session.sse("evt_40", "event_delta", &delta("evt_40", 0, r"a\ud83d"));
    session.sse("evt_40", "event_delta", &delta("evt_40", 0, r"\ude00b"));
    assert_eq!(session.view.said(), [("a\u{fffd}\u{fffd}b".into(), Streaming)]);
    session.say(&whole("evt_40", "a😀b"));
    assert_eq!(session.view.said(), [("a😀b".into(), Done)]);
}
