//! The seed page, statement by statement: every sample of it is read here as it is written there.

use contract::{
    event::{EventBody, UsageScope},
    item::{MessageState::Done, MessageState::Streaming, Role},
    request::{ChoiceKind, RequestKind},
    server::ServerOptions,
    session::{SessionState, StopReason, Usage},
    wire::{Cursor, FrameKind},
};
use http::header::{ACCEPT, AUTHORIZATION};
use pretty_assertions::assert_eq;

use super::{Session, server, view::Shown};
use crate::{Outgoing, Repeat};

const BASE: &str = "https://api.qoder.com/api/v1/cloud";

/// The seed's common fields.
fn common(kind: &str, id: &str, rest: &str) -> String {
    format!(
        r#"{{"type":"{kind}","id":"{id}","turn_id":"turn_1","session_id":"sess_1","created_at":"2026-05-01T08:00:00Z","processed_at":"2026-05-01T08:00:00Z","schema_version":1{}{rest}}}"#,
        if rest.is_empty() { "" } else { "," }
    )
}

#[test]
fn seed_004_the_stream_is_asked_for_at_its_address_with_bearer_and_accept() {
    let server = server(BASE, ServerOptions { seed_compat: true, ..ServerOptions::default() });
    let mut request = server.stream("sess_abc123", None).unwrap();
    server.authorize(&mut request, "pat");
    assert_eq!(request.uri().path(), "/api/v1/cloud/sessions/sess_abc123/events/stream");
    assert_eq!(request.headers()[ACCEPT], "text/event-stream");
    assert_eq!(request.headers()[AUTHORIZATION], "Bearer pat");
    assert!(request.headers()[AUTHORIZATION].is_sensitive());
    assert!(!request.headers().contains_key("x-api-key"));
}

#[test]
fn seed_004_the_sample_frame_without_common_fields_is_a_message() {
    let mut session = Session::qoder();
    let kind = session.sse(
        "evt_01abc123",
        "agent.message",
        r#"{"content":[{"type":"text","text":"Hello, I'm ready to help."}]}"#,
    );
    assert_eq!(kind, FrameKind::Buffered);
    assert_eq!(session.cursor, Some(Cursor("evt_01abc123".into())));
    assert_eq!(session.view.said()[0].0, "Hello, I'm ready to help.");
    assert_eq!(session.view.ids(), ["evt_01abc123"]);
}

#[test]
fn seed_004_bare_frames_of_one_reply_are_joined() {
    let mut session = Session::qoder();
    for (id, text) in [("evt_1", "Hello"), ("evt_2", ", "), ("evt_3", "world")] {
        session.sse(id, "agent.message", &format!(r#"{{"content":[{{"type":"text","text":"{text}"}}]}}"#));
    }
    session.sse("evt_4", "session.status_idle", r#"{"status":"idle","stop_reason":{"type":"end_turn"}}"#);
    assert_eq!(session.view.said(), [("Hello, world".into(), Done)]);
}

#[test]
fn seed_004_all_fourteen_event_types_mean_something() {
    for (kind, rest) in [
        ("user.message", r#""content":[{"type":"text","text":"hi"}]"#),
        ("user.interrupt", ""),
        ("user.define_outcome", r#""outcome":"green CI""#),
        ("session.status_running", r#""status":"running""#),
        ("span.model_request_start", r#""model":"m","span_id":"span_1""#),
        ("agent.thinking", r#""thinking":"hm""#),
        ("agent.message", r#""content":[{"type":"text","text":"hi"}]"#),
        ("agent.tool_use", r#""name":"Bash","input":{}"#),
        ("agent.tool_result", r#""name":"Bash","tool_use_id":"x","content":[]"#),
        ("agent.custom_tool_use", r#""name":"lookup_order","input":{}"#),
        ("session.status_idle", r#""status":"idle","stop_reason":{"type":"end_turn"}"#),
        ("span.model_request_end", r#""span_id":"span_1","usage":{"input_tokens":1}"#),
        ("session.error", r#""error":"boom","code":"E1""#),
        ("terminated", r#""reason":"closed""#),
    ] {
        let mut session = Session::qoder();
        session.say(&common(kind, "evt_9", rest));
        assert!(!session.events.is_empty(), "{kind}");
        assert!(
            !session.bodies().iter().any(|body| matches!(body, EventBody::Unknown { .. } | EventBody::Reread { .. })),
            "{kind}"
        );
    }
}

#[test]
fn seed_004_a_typical_turn_with_its_span_end_after_idle() {
    let mut session = Session::qoder();
    session
        .say(&common("user.message", "evt_1", r#""content":[{"type":"text","text":"hi"}]"#))
        .say(&common("session.status_running", "evt_2", r#""status":"running""#))
        .say(&common("span.model_request_start", "evt_3", r#""model":"m","span_id":"span_1""#))
        .say(&common("agent.thinking", "evt_4", r#""thinking":"let me see""#))
        .say(&common("agent.message", "evt_5", r#""content":[{"type":"text","text":"Hel"}]"#))
        .say(&common("agent.message", "evt_6", r#""content":[{"type":"text","text":"lo"}]"#));
    assert_eq!(session.view.said(), [("Hello".into(), Streaming)]);
    session
        .say(&common("session.status_idle", "evt_7", r#""status":"idle","stop_reason":{"type":"end_turn"}"#))
        .say(&common("span.model_request_end", "evt_8", r#""span_id":"span_1","usage":{"output_tokens":2}"#));
    assert_eq!(session.view.said(), [("Hello".into(), Done)]);
    assert!(matches!(session.view.get("evt_4"), Some(Shown::Thought { text, .. }) if text == "let me see"));
    assert_eq!(session.view.turns, [(Some("turn_1".into()), Some(StopReason::EndTurn))]);
    assert_eq!(session.view.state, SessionState::Idle, "the span's end does not start anything");
    assert!(session.bodies().contains(&&EventBody::ModelEnded { id: "span_1".into(), is_error: false }));
    assert!(
        session
            .events
            .iter()
            .filter(|event| !matches!(event.body, EventBody::DraftsClosed { .. }))
            .all(|event| event.turn.as_deref() == Some("turn_1"))
    );
}

#[test]
fn seed_004_a_tool_call_and_its_result_whose_id_is_of_another_kind() {
    let mut session = Session::qoder();
    session.say(
        r#"{ "type": "agent.tool_use", "id": "evt_1d4c9b3c873b", "name": "Bash",
             "input": { "command": "ls", "description": "list" },
             "evaluated_permission": "allow", "turn_id": "turn_1", "session_id": "sess_1" }"#,
    );
    session.say(
        r#"{ "type": "agent.tool_result", "id": "evt_0001", "name": "Bash",
             "content": [{ "type": "text", "text": "a.txt" }],
             "tool_use_id": "toolu_bdrk_01Kj", "turn_id": "turn_1", "is_error": false }"#,
    );
    let expected = Shown::Tool {
        name: "Bash".into(),
        input: r#"{ "command": "ls", "description": "list" }"#.into(),
        output: Some("a.txt".into()),
        is_error: false,
    };
    assert_eq!(session.view.shown(), [&expected]);
    assert_eq!(session.view.ids(), ["evt_1d4c9b3c873b"]);
}

#[test]
fn seed_004_an_approval_is_answered_with_the_events_own_id() {
    let mut session = Session::qoder();
    session.say(&common(
        "agent.tool_use",
        "evt_7",
        r#""name":"Bash","input":{"command":"ls"},"evaluated_permission":"ask""#,
    ));
    session.say(&common(
        "session.status_idle",
        "evt_8",
        r#""status":"idle","stop_reason":{"type":"requires_action","event_ids":["evt_7"]}"#,
    ));
    assert_eq!(session.view.open(), ["evt_7"]);

    let server = server(BASE, ServerOptions::default());
    let what = Outgoing::Decision {
        request: "evt_7".into(),
        kind: RequestKind::Approval,
        choice: ChoiceKind::AllowOnce,
        reason: None,
        answers: Vec::new(),
        result: None,
    };
    let ask = server.send("sess_1", &what, "key").unwrap();
    let body: serde_json::Value = serde_json::from_slice(ask.request.body()).unwrap();
    assert_eq!(
        body,
        serde_json::json!({"events": [{"type": "user.tool_confirmation", "tool_use_id": "evt_7", "result": "allow"}]})
    );
    assert_eq!(ask.repeat, Repeat::SameKey);
}

#[test]
fn seed_004_a_client_tool_is_answered_with_the_events_own_id() {
    let mut session = Session::qoder();
    session.say(
        r#"{ "type": "agent.custom_tool_use", "id": "evt_1f2e3d4c5b6a", "name": "lookup_order",
             "input": { "order_id": "ord_123" }, "turn_id": "turn_1", "session_id": "sess_1" }"#,
    );
    session.say(
        r#"{ "type": "session.status_idle", "id": "evt_0f1e2d3c4b5a", "status": "idle",
             "stop_reason": { "type": "requires_action", "event_ids": ["evt_1f2e3d4c5b6a"] },
             "turn_id": "turn_1", "session_id": "sess_1" }"#,
    );
    assert_eq!(session.view.open(), ["evt_1f2e3d4c5b6a"]);
    assert_eq!(session.view.state, SessionState::Waiting);

    let what = Outgoing::Decision {
        request: "evt_1f2e3d4c5b6a".into(),
        kind: RequestKind::ClientTool,
        choice: ChoiceKind::Answer,
        reason: None,
        answers: Vec::new(),
        result: Some("shipped".into()),
    };
    let ask = server(BASE, ServerOptions::default()).send("sess_1", &what, "key").unwrap();
    let body: serde_json::Value = serde_json::from_slice(ask.request.body()).unwrap();
    assert_eq!(
        body,
        serde_json::json!({"events": [{"type": "user.custom_tool_result", "custom_tool_use_id": "evt_1f2e3d4c5b6a",
            "content": [{"type": "text", "text": "shipped"}]}]})
    );
}

#[test]
fn seed_004_the_idle_event_carries_the_turns_usage() {
    let mut session = Session::qoder();
    session.say(&common("session.status_running", "evt_2", ""));
    session.say(
        r#"{ "type": "session.status_idle", "id": "evt_840b8dc4b1534e52a2b858bf26b7de00", "status": "idle",
             "stop_reason": { "type": "end_turn" },
             "usage": { "input_tokens": 23487, "output_tokens": 1024, "cache_read_input_tokens": 11223, "cache_creation_input_tokens": 0 },
             "turn_id": "turn_1", "session_id": "sess_1" }"#,
    );
    let usage = Usage {
        input_tokens: Some(23487),
        output_tokens: Some(1024),
        cache_read_tokens: Some(11223),
        cache_write_tokens: Some(0),
        ..Usage::default()
    };
    assert!(session.bodies().contains(&&EventBody::Usage { usage, scope: UsageScope::Turn }));
}

#[test]
fn seed_004_the_stop_reasons_of_the_page() {
    for (word, expected) in [
        ("end_turn", StopReason::EndTurn),
        ("cancel", StopReason::Stopped),
        ("max_turns", StopReason::MaxTurns),
        ("error", StopReason::Error { message: None }),
    ] {
        let mut session = Session::qoder();
        session.say(&common("session.status_running", "evt_2", ""));
        session.say(&common("session.status_idle", "evt_3", &format!(r#""stop_reason":{{"type":"{word}"}}"#)));
        assert_eq!(session.view.turns[0].1, Some(expected), "{word}");
    }
}

#[test]
fn seed_004_a_stream_resumes_by_after_id_and_by_header_and_batches_deltas() {
    let compat = ServerOptions { seed_compat: true, ..ServerOptions::default() };
    let cursor = Cursor("evt_01abc123".into());
    let request = server(BASE, compat.clone()).stream("s", Some(&cursor)).unwrap();
    let query = request.uri().query().unwrap();
    assert!(query.contains("after_id=evt_01abc123"), "{query}");
    assert!(query.contains("delta_flush_interval_ms=50"), "{query}");
    assert_eq!(request.headers()["last-event-id"], "evt_01abc123");

    let slower = ServerOptions { delta_flush_interval_ms: Some(100), ..compat.clone() };
    let request = server(BASE, slower).stream("s", None).unwrap();
    let query = request.uri().query().unwrap();
    assert!(query.contains("delta_flush_interval_ms=100") && !query.contains("after_id"), "{query}");

    let newest = server(BASE, ServerOptions::default()).stream("s", Some(&cursor)).unwrap();
    let query = newest.uri().query().unwrap();
    assert!(!query.contains("after_id") && !query.contains("delta_flush"), "{query}");
    assert_eq!(newest.headers()["last-event-id"], "evt_01abc123");
}

#[test]
fn seed_004_a_stop_is_the_interrupt_event() {
    let compat = ServerOptions { seed_compat: true, ..ServerOptions::default() };
    let ask = server(BASE, compat).send("s", &Outgoing::Stop, "key").unwrap();
    assert_eq!(ask.request.uri().path(), "/api/v1/cloud/sessions/s/events");
    let body: serde_json::Value = serde_json::from_slice(ask.request.body()).unwrap();
    assert_eq!(body, serde_json::json!({"events": [{"type": "user.interrupt"}]}));
}

#[test]
fn seed_004_an_outcome_without_a_turn_is_a_goal() {
    let mut session = Session::qoder();
    session.say(r#"{"type":"user.define_outcome","id":"evt_1","session_id":"sess_1","created_at":"2026-05-01T08:00:00Z","outcome":"green CI"}"#);
    assert!(matches!(session.bodies()[..], [EventBody::Goal { description: Some(words), .. }] if words == "green CI"));
}

#[test]
fn seed_004_terminated_says_why_and_is_the_end() {
    let mut session = Session::qoder();
    let data = common("terminated", "evt_9", r#""reason":"session timed out""#);
    assert!(session.codec.parse(&super::framed(&data)).terminal);
    session.say(&data);
    assert!(session.bodies().contains(&&EventBody::Ended { deleted: false, reason: Some("session timed out".into()) }));
}

#[test]
fn seed_004_silence_of_thirty_seconds_means_a_dead_connection_while_a_turn_runs() {
    let liveness = server(BASE, ServerOptions::default()).liveness();
    assert_eq!(liveness.running.map(|silence| silence.as_secs()), Some(30));
}

#[test]
fn seed_004_a_person_and_the_agent_speak_in_order() {
    let mut session = Session::qoder();
    session.say(&common("user.message", "evt_z", r#""content":[{"type":"text","text":"hi"}]"#)).say(&common(
        "agent.message",
        "evt_a",
        r#""content":[{"type":"text","text":"yes"}]"#,
    ));
    assert_eq!(session.view.ids(), ["evt_z", "evt_a"], "by arrival, never by id");
    assert!(matches!(session.view.shown()[0], Shown::Message { role: Role::User, .. }));
}
