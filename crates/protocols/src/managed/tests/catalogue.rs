//! Every row of the event catalogue that is not tested by name elsewhere (Qoder page, section 7; Claude page, section 6).

use contract::{
    event::{EventBody, Permission, UsageScope},
    item::{Artifact, Marker, NoticeCode, NoticeLevel, Role},
    session::{StopReason, Usage},
};
use pretty_assertions::assert_eq;

use super::{Session, view::Shown};

/// What one event in a running session becomes.
fn told(data: &str) -> Vec<EventBody> {
    let mut session = Session::claude();
    session.say(r#"{"id":"r1","type":"session.status_running"}"#);
    session.events.clear();
    session.say(data);
    session.events.into_iter().map(|event| event.body).collect()
}

#[test]
fn errors_in_both_shapes_say_whether_the_server_goes_on() {
    for (data, level, code, text) in [
        (
            r#"{"id":"e","type":"session.error","error":"boom","code":"E42"}"#,
            NoticeLevel::Error,
            NoticeCode::ErrorFatal,
            "boom",
        ),
        (
            r#"{"id":"e","type":"session.error","error":{"type":"billing_error","message":"no credit","retry_status":{"type":"terminal"}}}"#,
            NoticeLevel::Error,
            NoticeCode::ErrorFatal,
            "no credit",
        ),
        (
            r#"{"id":"e","type":"session.error","error":{"type":"x","message":"wait","retry_status":{"type":"retrying"}}}"#,
            NoticeLevel::Warning,
            NoticeCode::ErrorRetrying,
            "wait",
        ),
        (r#"{"id":"e","type":"session.error","error":{"type":"x"}}"#, NoticeLevel::Error, NoticeCode::ErrorFatal, "x"),
    ] {
        let told = told(data);
        let [EventBody::Notice { notice, .. }] = &told[..] else { panic!("{told:?}") };
        assert_eq!((notice.level, notice.code, notice.text.as_str()), (level, code, text));
    }
}

#[test]
fn a_turn_that_ends_by_an_error_says_the_errors_words() {
    let mut session = Session::qoder();
    session.say(r#"{"id":"r1","type":"session.status_running"}"#);
    session.say(r#"{"id":"e1","type":"session.error","error":{"type":"x","message":"model is gone","retry_status":{"type":"exhausted"}}}"#);
    session.say(r#"{"id":"i1","type":"session.status_idle","stop_reason":{"type":"retries_exhausted"}}"#);
    assert_eq!(session.view.turns[0].1, Some(StopReason::Error { message: Some("model is gone".into()) }));
}

#[test]
fn a_refusal_shows_its_explanation() {
    let mut session = Session::claude();
    session.say(r#"{"id":"r1","type":"session.status_running"}"#);
    session.say(r#"{"id":"i1","type":"session.status_idle","stop_reason":{"type":"refusal"},"stop_details":{"type":"refusal","category":null,"explanation":"not this"}}"#);
    assert_eq!(session.view.turns[0].1, Some(StopReason::Refusal { explanation: Some("not this".into()) }));
}

#[test]
fn permission_comes_from_the_event_or_from_its_evaluation() {
    for (rest, expected) in [
        (r#""evaluated_permission":"allow""#, Permission::Allowed),
        (r#""evaluated_permission":"deny""#, Permission::Denied),
        (
            r#""evaluation":{"type":"auto","evaluated_permission":{"type":"ask","reason_code":"risky"}}"#,
            Permission::Ask,
        ),
        (r#""evaluated_permission":"perhaps""#, Permission::Unsaid),
    ] {
        let told = told(&format!(
            r#"{{"id":"t","type":"agent.mcp_tool_use","name":"q","mcp_server_name":"db","input":{{}},{rest}}}"#
        ));
        let EventBody::ToolCall { permission, source, .. } = &told[0] else { panic!("{told:?}") };
        assert_eq!((*permission, source.as_deref()), (expected, Some("db")), "{rest}");
    }
}

#[test]
fn an_mcp_result_is_keyed_by_its_own_field() {
    let mut session = Session::qoder();
    session.say(r#"{"id":"r1","type":"session.status_running"}"#);
    session.say(r#"{"id":"t1","type":"agent.mcp_tool_use","name":"q","mcp_server_name":"db","input":{}}"#);
    session.say(r#"{"id":"t2","type":"agent.mcp_tool_result","mcp_tool_use_id":"t1","content":[{"type":"text","text":"3 rows"}],"is_error":true}"#);
    assert!(
        matches!(session.view.get("t1"), Some(Shown::Tool { output: Some(text), is_error: true, .. }) if text == "3 rows")
    );
}

#[test]
fn artifacts_compaction_and_system_messages_become_items() {
    assert_eq!(
        told(
            r#"{"id":"f","type":"agent.artifact_delivered","file_id":"file_1","original_filename":"report.pdf","size":12,"content_type":"application/pdf"}"#
        ),
        [EventBody::Artifact {
            id: "f".into(),
            artifact: Artifact {
                file_id: "file_1".into(),
                name: "report.pdf".into(),
                bytes: Some(12),
                media_type: Some("application/pdf".into())
            }
        }]
    );
    assert_eq!(
        told(r#"{"id":"c","type":"agent.thread_context_compacted"}"#),
        [EventBody::Marker {
            id: "c".into(),
            marker: Marker::Compacted { summary: None, active: false, unchanged: false }
        }]
    );
    assert!(matches!(
        &told(r#"{"id":"s","type":"system.message","content":[{"type":"text","text":"x"}]}"#)[..],
        [EventBody::Message { role: Role::System, .. }]
    ));
}

#[test]
fn messages_with_sub_agents_stand_in_their_lane() {
    let mut session = Session::claude();
    session.say(r#"{"id":"a","type":"agent.thread_message_sent","to_session_thread_id":"sthr_2","content":[{"type":"text","text":"do"}]}"#);
    session.say(r#"{"id":"b","type":"agent.thread_message_received","from_session_thread_id":"sthr_2","content":[{"type":"text","text":"did"}]}"#);
    let lanes: Vec<_> = session
        .events
        .iter()
        .filter_map(|event| match &event.body {
            EventBody::Message { role, .. } => Some((event.thread.as_deref(), *role)),
            _ => None,
        })
        .collect();
    assert_eq!(lanes, [(Some("sthr_2"), Role::User), (Some("sthr_2"), Role::Agent)]);
}

#[test]
fn usage_of_a_call_a_turn_and_a_session() {
    let tokens = |input| Usage { input_tokens: Some(input), ..Usage::default() };
    assert_eq!(
        told(
            r#"{"id":"u","type":"span.model_request_end","model_request_start_id":"s","model_usage":{"input_tokens":3}}"#
        ),
        [
            EventBody::ModelEnded { id: "s".into(), is_error: false },
            EventBody::Usage { usage: tokens(3), scope: UsageScope::Call },
        ]
    );
    assert_eq!(
        told(r#"{"id":"u","type":"session.usage","usage":{"input_tokens":9}}"#),
        [EventBody::Usage { usage: tokens(9), scope: UsageScope::Session }]
    );
    let flat = told(r#"{"id":"u","type":"session.usage","model_credits":1.5,"total_credits":1.50}"#);
    assert_eq!(
        flat,
        [EventBody::Usage {
            usage: Usage { credits: Some("1.50".into()), ..Usage::default() },
            scope: UsageScope::Session
        }]
    );
}

#[test]
fn a_call_folded_again_is_not_counted_again_nor_on_top_of_its_turns_usage() {
    let mut session = Session::qoder();
    let end = r#"{"id":"u1","type":"span.model_request_end","span_id":"s","usage":{"input_tokens":3}}"#;
    session.say(r#"{"id":"r1","type":"session.status_running","turn_id":"t"}"#).say(end).say(end);
    session.say(r#"{"id":"i1","type":"session.status_idle","turn_id":"t","stop_reason":{"type":"end_turn"},"usage":{"input_tokens":5}}"#);
    session.say(&end.replace("u1", "u2"));
    let scopes: Vec<_> = session
        .bodies()
        .into_iter()
        .filter_map(|body| if let EventBody::Usage { scope, .. } = body { Some(*scope) } else { None })
        .collect();
    assert_eq!(scopes, [UsageScope::Call, UsageScope::Turn]);
}

#[test]
fn an_outcome_is_set_and_judged_in_one_line_per_iteration() {
    let mut session = Session::qoder();
    session.say(r#"{"id":"g1","type":"user.define_outcome","description":"green CI","rubric":{"type":"text","content":"all pass"},"outcome_id":"outc_1"}"#);
    session.say(r#"{"id":"v1","type":"span.outcome_evaluation_start","outcome_id":"outc_1","iteration":1}"#);
    session.say(r#"{"id":"v2","type":"span.outcome_evaluation_ongoing","outcome_id":"outc_1","iteration":1}"#);
    session.say(r#"{"id":"v3","type":"span.outcome_evaluation_end","outcome_id":"outc_1","iteration":1,"result":"needs_revision","explanation":"one fails","outcome_evaluation_start_id":"v1"}"#);
    session.say(r#"{"id":"v4","type":"span.outcome_evaluation_start","outcome_id":"outc_1","iteration":2}"#);
    assert_eq!(session.view.ids(), ["g1", "v1", "v4"]);
    assert!(
        matches!(&session.bodies()[0], EventBody::Goal { rubric: Some(rubric), description: Some(words), goal, .. } if rubric == "all pass" && words == "green CI" && goal == "outc_1")
    );
    assert_eq!(session.view.get("v1"), Some(&Shown::Other("goal outc_1 None Some(\"needs_revision\") false".into())));
}

#[test]
fn workflow_runs_are_one_progress_row_each() {
    let mut session = Session::claude();
    session.say(
        r#"{"id":"w1","type":"workflow_run.created","workflow_run_id":"wf_1","name":"release","phases":["build"]}"#,
    );
    session.say(r#"{"id":"w2","type":"workflow_run.phase_started","workflow_run_id":"wf_1","phase":"build"}"#);
    session.say(r#"{"id":"w3","type":"workflow_run.status_ended","workflow_run_id":"wf_1","result":"completed"}"#);
    assert_eq!(session.view.ids(), ["workflow:wf_1"]);
    assert!(
        matches!(session.view.get("workflow:wf_1"), Some(Shown::Other(text)) if text.contains("status ended · completed"))
    );
}

#[test]
fn new_facts_of_the_session_are_told_and_absent_ones_left() {
    assert_eq!(
        told(r#"{"id":"f","type":"session.updated","title":"New name"}"#),
        [EventBody::Facts { title: Some("New name".into()), agent: None, archived: None }]
    );
    assert_eq!(
        told(r#"{"id":"f","type":"session.updated","agent":{"name":"dev"},"archived_at":"2026-09-01T08:00:00Z"}"#),
        [EventBody::Facts { title: None, agent: Some("dev".into()), archived: Some(true) }]
    );
}

#[test]
fn a_self_hosted_result_counts_as_a_result() {
    let told =
        told(r#"{"id":"u","type":"user.tool_result","tool_use_id":"t1","content":[{"type":"text","text":"ok"}]}"#);
    assert!(matches!(&told[..], [EventBody::ToolResult { call, .. }] if call == "t1"));
}

#[test]
fn an_interrupt_of_one_sub_agent_does_not_stop_the_session() {
    let mut session = Session::claude();
    session.say(r#"{"id":"r1","type":"session.status_running"}"#);
    session.say(r#"{"id":"u1","type":"user.interrupt","session_thread_id":"sthr_2"}"#);
    session.say(r#"{"id":"i1","type":"session.status_idle","stop_reason":{"type":"end_turn"}}"#);
    assert_eq!(session.view.turns[0].1, Some(StopReason::EndTurn));
}
