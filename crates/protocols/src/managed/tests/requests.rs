//! Requests: approvals and client tools, from the call to its settlement (Qoder page, section 9; Claude page, section 5).

use contract::{
    event::EventBody,
    item::{NoticeCode, Part},
    request::{ChoiceKind, RequestKind},
    session::{SessionState, StopReason},
    wire::{Frame, FrameKind, TooLarge},
};
use pretty_assertions::assert_eq;

use super::{Session, view::Shown};

const RUNNING: &str = r#"{"id":"evt_1","type":"session.status_running"}"#;
const ASK: &str = r#"{"id":"evt_7","type":"agent.tool_use","name":"Bash","input":{"command":"rm -r build","cwd":"/srv"},"evaluated_permission":"ask"}"#;
const CLIENT: &str =
    r#"{"id":"evt_8","type":"agent.custom_tool_use","name":"lookup_order","input":{"order_id":"ord_123"}}"#;

fn waits(id: &str, ids: &[&str]) -> String {
    let ids = serde_json::to_string(ids).unwrap();
    format!(
        r#"{{"id":"{id}","type":"session.status_idle","stop_reason":{{"type":"requires_action","event_ids":{ids}}}}}"#
    )
}

#[test]
fn a_request_is_shown_with_its_call_and_can_be_answered_once_the_idle_names_it() {
    let mut session = Session::qoder();
    session.say(RUNNING).say(ASK);
    let asked = session.view.requests["evt_7"].clone();
    assert!(!asked.is_open);
    assert_eq!(asked.seed.kind, RequestKind::Approval);
    assert_eq!(asked.seed.command.as_deref(), Some("rm -r build"));
    assert_eq!(asked.seed.work_dir.as_deref(), Some("/srv"));
    assert_eq!(asked.seed.arguments, r#"{"command":"rm -r build","cwd":"/srv"}"#);
    let choices: Vec<_> = asked.seed.choices.iter().map(|choice| (choice.kind, choice.takes_reason)).collect();
    assert_eq!(choices, [(ChoiceKind::AllowOnce, false), (ChoiceKind::Deny, true)]);

    session.say(&waits("evt_9", &["evt_7"]));
    assert_eq!(session.view.open(), ["evt_7"]);
    assert_eq!(session.view.state, SessionState::Waiting);
    assert_eq!(session.view.turns, [(Some("turn:evt_1".into()), None)]);
}

#[test]
fn a_call_without_a_permission_asks_when_the_idle_names_it() {
    let mut session = Session::claude();
    session.say(RUNNING).say(r#"{"id":"evt_7","type":"agent.tool_use","name":"bash","input":{"command":"ls"}}"#);
    assert!(session.view.requests.is_empty());
    session.say(&waits("evt_9", &["evt_7"]));
    assert_eq!(session.view.open(), ["evt_7"]);
    assert_eq!(session.view.requests["evt_7"].seed.command.as_deref(), Some("ls"));
}

#[test]
fn a_call_that_a_rule_allows_or_denies_is_no_request() {
    for word in ["allow", "deny"] {
        let mut session = Session::qoder();
        session.say(RUNNING).say(&ASK.replace("\"ask\"", &format!("\"{word}\"")));
        assert!(session.view.requests.is_empty(), "{word}");
    }
}

#[test]
fn a_client_tool_is_answerable_at_once_in_claude_and_with_the_idle_in_qoder() {
    for (mut session, at_once) in [(Session::claude(), true), (Session::qoder(), false)] {
        session.say(RUNNING).say(CLIENT);
        assert_eq!(session.view.requests["evt_8"].is_open, at_once);
        session.say(&waits("evt_9", &["evt_8"]));
        assert_eq!(session.view.open(), ["evt_8"]);
        let seed = &session.view.requests["evt_8"].seed;
        let choices: Vec<_> = seed.choices.iter().map(|choice| choice.kind).collect();
        assert_eq!((seed.kind, choices), (RequestKind::ClientTool, vec![ChoiceKind::Answer, ChoiceKind::ReportError]));
    }
}

#[test]
fn an_echoed_answer_settles_its_request_and_the_others_stay() {
    let mut session = Session::qoder();
    session
        .say(RUNNING)
        .say(ASK)
        .say(CLIENT)
        .say(&ASK.replace("evt_7", "evt_6"))
        .say(&waits("evt_9", &["evt_6", "evt_7", "evt_8"]));
    session.say(r#"{"id":"evt_10","type":"user.tool_confirmation","tool_use_id":"evt_7","result":"deny","deny_message":"not in prod"}"#);
    assert_eq!(session.view.open(), ["evt_6", "evt_8"]);
    assert_eq!(session.view.requests["evt_7"].settled, Some(Some(ChoiceKind::Deny)));
    assert!(session.bodies().iter().any(|body| matches!(body, EventBody::Settled { reason: Some(reason), event_id, .. } if reason == "not in prod" && event_id == "evt_10")));

    session.say(r#"{"id":"evt_11","type":"user.custom_tool_result","custom_tool_use_id":"evt_8","content":[{"type":"text","text":"shipped"}]}"#);
    session.say(r#"{"id":"evt_12","type":"user.tool_confirmation","tool_use_id":"evt_6","decision":"approve"}"#);
    assert_eq!(session.view.open(), [] as [&str; 0]);
    assert_eq!(session.view.requests["evt_8"].settled, Some(Some(ChoiceKind::Answer)));
    assert_eq!(session.view.requests["evt_6"].settled, Some(Some(ChoiceKind::AllowOnce)));
}

#[test]
fn a_result_settles_a_request_whose_answer_was_never_echoed() {
    let mut session = Session::qoder();
    session.say(RUNNING).say(ASK).say(&waits("evt_9", &["evt_7"]));
    session.say(r#"{"id":"evt_10","type":"agent.tool_result","tool_use_id":"evt_7","content":[]}"#);
    assert_eq!(session.view.requests["evt_7"].settled, Some(None));
}

#[test]
fn an_id_the_server_waits_for_is_named_even_when_its_call_was_never_seen() {
    let mut session = Session::qoder();
    session.say(&waits("evt_9", &["evt_unseen"]));
    assert!(session.bodies().contains(&&EventBody::Waiting { requests: vec!["evt_unseen".into()] }));
    // Its call stands in an older page of history.
    session.listed(&ASK.replace("evt_7", "evt_unseen"), -5);
    assert_eq!(session.view.open(), ["evt_unseen"]);
}

#[test]
fn a_call_in_older_history_whose_answer_is_known_is_no_open_request() {
    let mut session = Session::qoder();
    session.say(r#"{"id":"evt_10","type":"user.tool_confirmation","tool_use_id":"evt_7","result":"allow"}"#);
    session.listed(ASK, -5);
    assert_eq!(session.view.open(), [] as [&str; 0]);
    assert!(matches!(session.view.get("evt_7"), Some(Shown::Tool { .. })));
}

#[test]
fn a_childs_request_carries_its_thread() {
    let mut session = Session::claude();
    session.say(RUNNING);
    session.say(r#"{"id":"e2","type":"session.thread_created","session_thread_id":"sthr_2","agent_name":"tester"}"#);
    session.say(r#"{"id":"e3","type":"agent.tool_use","name":"bash","input":{},"evaluated_permission":"ask","session_thread_id":"sthr_2"}"#);
    session.say(&waits("e4", &["e3"]));
    assert_eq!(session.view.requests["e3"].thread.as_deref(), Some("sthr_2"));
    assert_eq!(session.view.open(), ["e3"]);
}

#[test]
fn a_stop_while_it_waits_ends_the_turn_as_stopped() {
    let mut session = Session::qoder();
    session.say(RUNNING).say(ASK).say(&waits("evt_9", &["evt_7"]));
    session.say(r#"{"id":"evt_10","type":"user.interrupt"}"#);
    session.say(r#"{"id":"evt_11","type":"session.status_idle","stop_reason":{"type":"end_turn"}}"#);
    assert_eq!(session.view.turns, [(Some("turn:evt_1".into()), Some(StopReason::Stopped))]);
    assert_eq!(session.view.open(), [] as [&str; 0]);
}

#[test]
fn a_call_over_the_cap_gets_a_card_that_can_only_be_refused() {
    let beginning = r#"{"type":"agent.tool_use","id":"evt_7","name":"Bash","input":{"command":"echo AAAA"#;
    let mut session = Session::qoder();
    session.say(RUNNING);
    let frame = Frame {
        id: Some("evt_7".into()),
        name: Some("agent.tool_use".into()),
        data: beginning.into(),
        too_large: Some(TooLarge { bytes: 99_000_000 }),
        ..Frame::default()
    };
    assert_eq!(session.frame(&frame), FrameKind::Buffered, "the cursor moves past it");
    let seed = session.view.requests["evt_7"].seed.clone();
    assert_eq!((seed.kind, seed.too_large, seed.answerable), (RequestKind::Fallback, true, false));
    assert_eq!(seed.tool.as_deref(), Some("Bash"));
    assert_eq!(seed.choices.iter().map(|choice| choice.kind).collect::<Vec<_>>(), [ChoiceKind::Deny]);
    assert_eq!(session.view.rereads, 1);
    assert!(
        session
            .bodies()
            .iter()
            .any(|body| matches!(body, EventBody::Notice { notice, .. } if notice.code == NoticeCode::TooLarge))
    );
    session.say(&waits("evt_9", &["evt_7"]));
    assert_eq!(session.view.open(), ["evt_7"]);
    // Read again from the list, whole.
    session.listed(ASK, 2);
    assert_eq!(session.view.requests["evt_7"].seed.kind, RequestKind::Approval);
    assert_eq!(session.view.open(), ["evt_7"]);
}

#[test]
fn a_result_pairs_by_id_else_by_name_and_turn_with_the_oldest_open_call() {
    let call = |id: &str, name: &str| {
        format!(r#"{{"id":"{id}","type":"agent.tool_use","name":"{name}","input":{{}},"turn_id":"turn_1"}}"#)
    };
    let result = |id: &str, of: &str, text: &str| {
        format!(
            r#"{{"id":"{id}","type":"agent.tool_result","name":"Bash","tool_use_id":"{of}","turn_id":"turn_1","content":[{{"type":"text","text":"{text}"}}]}}"#
        )
    };
    let mut session = Session::qoder();
    session.say(r#"{"id":"evt_1","type":"session.status_running","turn_id":"turn_1"}"#);
    session.say(&call("evt_2", "Read")).say(&call("evt_3", "Bash")).say(&call("evt_4", "Bash"));
    session.say(&result("evt_5", "toolu_bdrk_01", "first")).say(&result("evt_5", "toolu_bdrk_01", "first"));
    session.say(&result("evt_6", "toolu_bdrk_02", "second"));
    let output = |session: &Session, id: &str| match session.view.get(id) {
        Some(Shown::Tool { output, .. }) => output.clone(),
        _ => None,
    };
    assert_eq!(output(&session, "evt_2"), None);
    assert_eq!(output(&session, "evt_3").as_deref(), Some("first"));
    assert_eq!(output(&session, "evt_4").as_deref(), Some("second"));
}

#[test]
fn a_result_before_its_call_waits_for_it_and_takes_no_other() {
    let mut session = Session::qoder();
    session.say(RUNNING).say(r#"{"id":"evt_2","type":"agent.tool_use","name":"Bash","input":{}}"#);
    session.say(r#"{"id":"evt_4","type":"agent.tool_result","name":"Bash","tool_use_id":"evt_3","content":"late"}"#);
    session.say(r#"{"id":"evt_3","type":"agent.tool_use","name":"Bash","input":{"command":"x"}}"#);
    assert!(matches!(session.view.get("evt_2"), Some(Shown::Tool { output: None, .. })));
    assert!(matches!(session.view.get("evt_3"), Some(Shown::Tool { output: Some(text), .. }) if text == "late"));
}

#[test]
fn arguments_reach_the_card_exactly_as_received() {
    let input = r#"{"amount": 1234567890123456789.10, "s":"\u202e", "a":1,"a":2}"#;
    let mut session = Session::qoder();
    session.say(RUNNING);
    session.sse(
        "evt_7",
        "agent.tool_use",
        &format!(
            r#"{{"id":"evt_7","type":"agent.tool_use","name":"pay","input":{input},"evaluated_permission":"ask"}}"#
        ),
    );
    assert_eq!(session.view.requests["evt_7"].seed.arguments, input);
}

#[test]
fn an_input_that_is_no_object_is_kept_raw() {
    for input in [r#""ls -l""#, "[1,2.50]", "7", "true"] {
        let mut session = Session::qoder();
        session.say(RUNNING);
        session.say(&format!(
            r#"{{"id":"evt_7","type":"agent.tool_use","name":"Bash","input":{input},"evaluated_permission":"ask"}}"#
        ));
        assert_eq!(session.view.requests["evt_7"].seed.arguments, input);
        assert_eq!(session.view.requests["evt_7"].seed.command, None);
    }
}

#[test]
fn a_client_tools_output_is_told_with_its_settlement() {
    let mut session = Session::claude();
    session.say(RUNNING).say(CLIENT);
    session.say(r#"{"id":"e9","type":"user.custom_tool_result","custom_tool_use_id":"evt_8","content":[{"type":"text","text":"no such order"}],"is_error":true}"#);
    let settled = session.bodies().into_iter().find_map(|body| match body {
        EventBody::Settled { choice, output, .. } => Some((*choice, output.clone())),
        _ => None,
    });
    let Some((choice, output)) = settled else { panic!("not settled") };
    assert_eq!(choice, Some(ChoiceKind::ReportError));
    assert!(matches!(&output[..], [Part::Text(text)] if text.text == "no such order"));
}
