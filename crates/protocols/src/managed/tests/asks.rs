//! What is sent and how answers are read, through the protocol's own trait.

use bytes::Bytes;
use contract::{
    error::ErrorCode,
    request::{ChoiceKind, RequestKind},
    server::{AuthStyle, Header, ServerOptions, WhileRunning},
    session::{RunOptions, SessionState, Usage},
    wire::Cursor,
};
use http::{Method, Response, StatusCode, header::ACCEPT};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::{options, server};
use crate::{Ask, Family as _, NewSession, Outgoing, Recognition, Refusal, Repeat, managed::Managed};

const BASE: &str = "http://127.0.0.1:4000/v1";

fn answer(status: u16, headers: &[(&str, &str)], body: &str) -> Response<Bytes> {
    let mut response = Response::builder().status(status);
    for (name, value) in headers {
        response = response.header(*name, *value);
    }
    response.body(Bytes::from(body.to_owned())).unwrap()
}

fn ok(body: &str) -> Response<Bytes> {
    answer(200, &[("content-type", "application/json")], body)
}

fn sent<T>(ask: &Ask<T>) -> (Method, String, Value) {
    let body =
        if ask.request.body().is_empty() { Value::Null } else { serde_json::from_slice(ask.request.body()).unwrap() };
    (ask.request.method().clone(), ask.request.uri().path_and_query().unwrap().to_string(), body)
}

fn refused<T: std::fmt::Debug>(ask: &Ask<T>, answer: &Response<Bytes>) -> Refusal {
    (ask.read)(answer).unwrap_err()
}

fn decision(choice: ChoiceKind, kind: RequestKind) -> Outgoing {
    Outgoing::Decision {
        request: "evt_7".into(),
        kind,
        choice,
        reason: Some("not in prod".into()),
        answers: Vec::new(),
        result: None,
    }
}

fn hi() -> Outgoing {
    Outgoing::Message { text: "hi".into(), images: Vec::new(), options: RunOptions::default(), setup: None }
}

#[test]
fn array_parameters_are_encoded_and_streams_ask_for_previews() {
    for dialect in ["qoder", "claude"] {
        let request = server(BASE, options(dialect)).stream("s 1", None).unwrap();
        assert_eq!(
            request.uri().path_and_query().unwrap().as_str(),
            "/v1/sessions/s%201/events/stream?event_deltas%5B%5D=agent.message&event_deltas%5B%5D=agent.thinking"
        );
        assert_eq!(request.headers()[ACCEPT], "text/event-stream");
    }
}

#[test]
fn a_dialect_that_cannot_resume_sends_no_cursor() {
    let cursor = Cursor("evt_1".into());
    let claude = server(BASE, options("claude"));
    assert!(!claude.resumes());
    assert!(!claude.stream("s", Some(&cursor)).unwrap().headers().contains_key("last-event-id"));
    let qoder = server(BASE, options("qoder"));
    assert!(qoder.resumes());
    assert_eq!(qoder.stream("s", Some(&cursor)).unwrap().headers()["last-event-id"], "evt_1");
}

#[test]
fn every_list_asks_for_json() {
    for dialect in ["qoder", "claude"] {
        let server = server(BASE, options(dialect));
        let history = server.history("s", None).unwrap();
        assert_eq!(history.request.headers()[ACCEPT], "application/json");
        assert!(sent(&history).1.contains("order=desc"));
        assert_eq!(server.list_sessions(None).unwrap().request.headers()[ACCEPT], "application/json");
    }
}

#[test]
fn a_list_that_answers_as_a_stream_is_refused_with_words() {
    let ask = server(BASE, options("qoder")).history("s", None).unwrap();
    let refusal = refused(&ask, &answer(200, &[("content-type", "text/event-stream; charset=utf-8")], ": hi\n\n"));
    assert_eq!(refusal.code, ErrorCode::WrongProtocol);
    assert!(refusal.message.contains("event stream"), "{}", refusal.message);
}

#[test]
fn claude_sends_its_version_and_joins_further_betas() {
    let mut options = options("claude");
    options.headers = vec![
        Header { name: "anthropic-beta".into(), value: "other-2026-01-01".into() },
        Header { name: "x-team".into(), value: "blue".into() },
        Header { name: "X-Api-Key".into(), value: "leak".into() },
        Header { name: "Cookie".into(), value: "leak".into() },
        Header { name: "bad name".into(), value: "x".into() },
    ];
    let request = server(BASE, options).stream("s", None).unwrap();
    let headers = request.headers();
    assert_eq!(headers["anthropic-version"], "2023-06-01");
    assert_eq!(headers["anthropic-beta"], "managed-agents-2026-04-01,other-2026-01-01");
    assert_eq!(headers["x-team"], "blue");
    assert!(!headers.contains_key("x-api-key") && !headers.contains_key("cookie"));
}

#[test]
fn the_token_goes_where_the_dialect_or_the_person_says_and_is_never_printed() {
    for (dialect, auth, bearer, key) in [
        ("qoder", None, true, false),
        ("claude", None, false, true),
        ("claude", Some(AuthStyle::Bearer), true, false),
        ("claude", Some(AuthStyle::Both), true, true),
    ] {
        let server = server(BASE, ServerOptions { auth, ..options(dialect) });
        let mut request = server.stream("s", None).unwrap();
        server.authorize(&mut request, "secret-token");
        assert_eq!(request.headers().contains_key("authorization"), bearer, "{dialect} {auth:?}");
        assert_eq!(request.headers().contains_key("x-api-key"), key, "{dialect} {auth:?}");
        assert!(!format!("{request:?}").contains("secret-token"));
    }
}

#[test]
fn writes_carry_their_key_where_the_server_knows_keys() {
    let message = hi();
    let qoder = server(BASE, options("qoder")).send("s", &message, "k1").unwrap();
    assert_eq!(qoder.request.headers()["idempotency-key"], "k1");
    assert_eq!(qoder.repeat, Repeat::SameKey);
    let claude = server(BASE, options("claude")).send("s", &message, "k1").unwrap();
    assert!(!claude.request.headers().contains_key("idempotency-key"));
    assert_eq!(claude.repeat, Repeat::AfterLookingForEcho);
}

#[test]
fn everything_that_is_sent_into_a_session_has_the_newest_form() {
    let qoder = server(BASE, options("qoder"));
    let event = |what: &Outgoing| sent(&qoder.send("s", what, "k").unwrap()).2["events"][0].clone();
    assert_eq!(event(&hi()), json!({"type": "user.message", "content": [{"type": "text", "text": "hi"}]}));
    assert_eq!(
        event(&Outgoing::Outcome { description: "d".into(), rubric: "r".into(), max_iterations: Some(3) }),
        json!({"type": "user.define_outcome", "description": "d", "rubric": {"type": "text", "content": "r"}, "max_iterations": 3})
    );
    assert_eq!(
        event(&decision(ChoiceKind::Deny, RequestKind::Approval)),
        json!({"type": "user.tool_confirmation", "tool_use_id": "evt_7", "result": "deny", "deny_message": "not in prod"})
    );
    // A reason together with an allowance is an error (Claude page, section 5).
    assert_eq!(
        event(&decision(ChoiceKind::AllowOnce, RequestKind::Fallback)),
        json!({"type": "user.tool_confirmation", "tool_use_id": "evt_7", "result": "allow"})
    );
    assert_eq!(
        event(&decision(ChoiceKind::ReportError, RequestKind::ClientTool)),
        json!({"type": "user.custom_tool_result", "custom_tool_use_id": "evt_7", "is_error": true, "content": [{"type": "text", "text": "not in prod"}]})
    );
    assert!(qoder.send("s", &decision(ChoiceKind::AllowAlways, RequestKind::Approval), "k").is_none());
}

#[test]
fn a_stop_is_a_cancel_in_qoder_and_an_interrupt_in_claude() {
    let qoder = server(BASE, options("qoder")).send("s", &Outgoing::Stop, "k").unwrap();
    assert_eq!(sent(&qoder), (Method::POST, "/v1/sessions/s/cancel".into(), Value::Null));
    let claude = server(BASE, options("claude")).send("s", &Outgoing::Stop, "k").unwrap();
    assert_eq!(
        sent(&claude),
        (Method::POST, "/v1/sessions/s/events".into(), json!({"events": [{"type": "user.interrupt"}]}))
    );
}

#[test]
fn sessions_are_created_renamed_archived_and_deleted() {
    let server = server(BASE, options("qoder"));
    let new = NewSession {
        agent: Some("agent_1".into()),
        environment: Some("env_1".into()),
        title: Some("Fix CI".into()),
        ..NewSession::default()
    };
    let create = server.create_session(&new, "k").unwrap();
    let body = json!({"agent": "agent_1", "environment_id": "env_1", "title": "Fix CI"});
    assert_eq!(sent(&create), (Method::POST, "/v1/sessions".into(), body));
    assert_eq!((create.read)(&answer(201, &[], r#"{"id":"sess_1"}"#)).unwrap().id, "sess_1");
    assert_eq!(refused(&create, &ok("{}")).code, ErrorCode::WrongProtocol);
    let rename = server.rename_session("s", "New").unwrap();
    assert_eq!(sent(&rename), (Method::POST, "/v1/sessions/s".into(), json!({"title": "New"})));
    assert_eq!(
        sent(&server.archive_session("s").unwrap()),
        (Method::POST, "/v1/sessions/s/archive".into(), Value::Null)
    );
    let delete = server.delete_session("s").unwrap();
    assert_eq!(sent(&delete), (Method::DELETE, "/v1/sessions/s".into(), Value::Null));
    assert_eq!((delete.read)(&answer(404, &[], "")), Ok(()), "what is gone already is deleted");
    let environment = server.create_environment("dev").unwrap();
    assert_eq!(sent(&environment).2, json!({"name": "dev", "config": {"type": "cloud"}}));
}

#[test]
fn a_session_object_may_lack_everything_but_its_id() {
    let ask = server(BASE, options("qoder")).read_session("s").unwrap();
    let bare = (ask.read)(&ok(r#"{"id":"sess_1"}"#)).unwrap();
    assert_eq!((bare.state, bare.archived, bare.title), (SessionState::Unknown, false, None));
    let full = (ask.read)(&ok(
        r#"{"id":"sess_1","type":"session","status":"rescheduling","title":"Fix CI","agent":{"id":"agent_1","version":3,"name":"dev"},
            "usage":{"total_credits":4.63},"archived_at":"2026-09-01T09:00:00Z","created_at":"2026-09-01T08:00:00.123456789Z",
            "outcome_evaluations":[{"outcome_id":"outc_1","result":"satisfied","iteration":2}]}"#,
    ))
    .unwrap();
    assert_eq!(full.agent.as_deref(), Some("dev"));
    assert_eq!(full.state, SessionState::Rescheduling);
    assert!(full.archived);
    assert_eq!(full.created_at, Some(1_788_249_600_123));
    assert_eq!(full.usage, Usage { credits: Some("4.63".into()), ..Usage::default() });
    assert_eq!((full.goals[0].id.as_str(), full.goals[0].verdict.as_deref()), ("outc_1", Some("satisfied")));
}

#[test]
fn status_words_of_every_age_have_their_meaning() {
    let ask = server(BASE, options("qoder")).read_session("s").unwrap();
    for (word, expected) in [
        ("idle", SessionState::Idle),
        ("running", SessionState::Running),
        ("processing", SessionState::Running),
        ("run_queued", SessionState::Running),
        ("rescheduled", SessionState::Rescheduling),
        ("canceling", SessionState::Stopping),
        ("terminated", SessionState::Ended),
        ("cancelled", SessionState::Idle),
        ("hibernating", SessionState::Other { word: "hibernating".into() }),
    ] {
        let session = (ask.read)(&ok(&json!({"id": "s", "status": word}).to_string())).unwrap();
        assert_eq!(session.state, expected, "{word}");
    }
}

#[test]
fn pages_follow_the_cursor_and_stop_when_it_does_not_advance() {
    let server = server(BASE, options("qoder"));
    let first = server.history("s", None).unwrap();
    let page =
        (first.read)(&ok(r#"{"data":[{"id":"b", "n":1.50},{"id":"a"}],"next_page":"c1","has_more":true}"#)).unwrap();
    assert_eq!(page.events, [r#"{"id":"b", "n":1.50}"#, r#"{"id":"a"}"#]);
    let second = server.history("s", page.next.as_deref()).unwrap();
    assert!(sent(&second).1.ends_with("&page=c1"), "{}", sent(&second).1);
    assert_eq!((second.read)(&ok(r#"{"data":[{"id":"a"}],"next_page":"c1"}"#)).unwrap().next, None);
    for end in [
        r#"{"data":[],"next_page":"c2"}"#,
        r#"{"data":[{}],"next_page":null}"#,
        r#"{"data":[{}],"next_page":"c2","has_more":false}"#,
    ] {
        assert_eq!((second.read)(&ok(end)).unwrap().next, None, "{end}");
    }
}

#[test]
fn a_list_of_an_older_server_is_paged_by_its_last_id() {
    let server = server(BASE, options("qoder"));
    let first = server.list_sessions(None).unwrap();
    let page =
        (first.read)(&ok(r#"{"data":[{"id":"s1"},{"type":"odd"}],"first_id":"s1","last_id":"s1","has_more":true}"#))
            .unwrap();
    assert_eq!(page.rows.len(), 1, "a row without id is left out");
    let second = server.list_sessions(page.next.as_deref()).unwrap();
    assert!(sent(&second).1.ends_with("&after_id=s1"), "{}", sent(&second).1);
}

#[test]
fn the_pickers_leave_out_what_is_archived() {
    let server = server(BASE, options("qoder"));
    let asks = server.new_session_options();
    let agents = (asks[0].read)(&ok(
        r#"{"data":[{"id":"agent_1","name":"dev","model":{"id":"m1"},"tools":[{"type":"custom","name":"lookup"},{"type":"mcp_toolset","mcp_server_name":"db"}]},
            {"id":"agent_2","name":"old","archived_at":"2026-01-01T00:00:00Z"}]}"#,
    ))
    .unwrap()
    .agents;
    assert_eq!(agents.len(), 1);
    assert_eq!(
        (agents[0].model.as_deref(), agents[0].tools.as_slice()),
        (Some("m1"), ["lookup".to_owned(), "db".to_owned()].as_slice())
    );
    let environments = (asks[1].read)(&ok(r#"{"data":[{"id":"env_1"}]}"#)).unwrap().environments;
    assert_eq!(environments[0].name, "env_1");
}

#[test]
fn refusals_in_every_shape_say_what_they_are() {
    let ask = server(BASE, options("qoder")).read_session("s").unwrap();
    let envelope = r#"{"type":"error","request_id":"req_9","error":{"type":"invalid_request_error","message":"bad limit","param":"limit"}}"#;
    let refusal = refused(&ask, &answer(400, &[], envelope));
    assert_eq!((refusal.code, refusal.message.as_str()), (ErrorCode::ServerRefused, "bad limit"));
    assert_eq!(refusal.request_id.as_deref(), Some("req_9"));
    assert_eq!(refusal.detail.as_deref(), Some("invalid_request_error · param limit"));

    let seed = refused(&ask, &answer(500, &[], r#"{"error":"boom","code":"E1"}"#));
    assert_eq!(
        (seed.code, seed.message.as_str(), seed.detail.as_deref()),
        (ErrorCode::ServerFailed, "boom", Some("E1"))
    );

    for (status, code) in [
        (401, ErrorCode::Unauthorized),
        (403, ErrorCode::Forbidden),
        (404, ErrorCode::GoneAtServer),
        (409, ErrorCode::Conflict),
        (413, ErrorCode::ServerRefused),
        (429, ErrorCode::RateLimited),
        (500, ErrorCode::ServerFailed),
        (503, ErrorCode::ServerFailed),
        (529, ErrorCode::RateLimited),
        (302, ErrorCode::WrongProtocol),
    ] {
        for body in ["", "<html>gateway</html>"] {
            let refusal = refused(&ask, &answer(status, &[("x-request-id", "r1"), ("retry-after", "7")], body));
            assert_eq!((refusal.code, refusal.status), (code, status));
            assert!(!refusal.message.is_empty());
            assert_eq!(refusal.request_id.as_deref(), Some("r1"));
            assert_eq!(refusal.detail.as_deref(), Some("retry after 7"));
        }
    }
    assert_eq!(refused(&ask, &ok("<html>")).code, ErrorCode::WrongProtocol);
}

#[test]
fn a_message_that_meets_a_running_turn_is_busy_and_a_decision_a_conflict() {
    let server = server(BASE, options("qoder"));
    let conflict =
        answer(409, &[], r#"{"type":"error","error":{"type":"conflict_error","message":"a turn is running"}}"#);
    let message = server.send("s", &hi(), "k").unwrap();
    assert_eq!(refused(&message, &conflict).code, ErrorCode::Busy);
    let decided = server.send("s", &decision(ChoiceKind::Deny, RequestKind::Approval), "k").unwrap();
    assert_eq!(refused(&decided, &conflict).code, ErrorCode::Conflict);
}

#[test]
fn accepted_events_come_back_as_they_were_written_and_may_be_missing() {
    let ask = server(BASE, options("qoder")).send("s", &hi(), "k").unwrap();
    let echo = r#"{"id":"evt_1", "type":"user.message"}"#;
    assert_eq!((ask.read)(&answer(202, &[], &format!(r#"{{"data":[{echo}]}}"#))).unwrap().echoes, [echo]);
    assert_eq!((ask.read)(&answer(202, &[], "")).unwrap().echoes, [] as [String; 0]);
}

#[test]
fn what_a_server_can_do_is_said_as_data() {
    assert_eq!(server(BASE, options("qoder")).capabilities().while_running, WhileRunning::QueueHere);
    assert_eq!(server(BASE, options("claude")).capabilities().while_running, WhileRunning::QueueAtServer);
    assert_eq!(
        server("https://api.anthropic.com/v1", ServerOptions::default()).capabilities().while_running,
        WhileRunning::QueueAtServer
    );
}

fn probes(base: &str, options: &ServerOptions) -> Vec<(String, &'static str)> {
    Managed
        .probes(&base.parse().unwrap(), options)
        .iter()
        .map(|probe| (probe.base.to_string(), probe.dialect.unwrap()))
        .collect()
}

#[test]
fn a_bare_host_is_tried_where_the_servers_usually_are() {
    assert_eq!(
        probes("http://127.0.0.1:4000", &ServerOptions::default()),
        [
            ("http://127.0.0.1:4000/api/v1/cloud".to_owned(), "qoder"),
            ("http://127.0.0.1:4000/api/v1/cloud".to_owned(), "claude"),
            ("http://127.0.0.1:4000/v1".to_owned(), "claude"),
            ("http://127.0.0.1:4000/v1".to_owned(), "qoder"),
            ("http://127.0.0.1:4000/".to_owned(), "qoder"),
            ("http://127.0.0.1:4000/".to_owned(), "claude"),
        ]
    );
    assert_eq!(
        probes("http://127.0.0.1:4000/v1/", &options("claude")),
        [("http://127.0.0.1:4000/v1".to_owned(), "claude")]
    );
}

#[test]
fn a_probe_only_reads() {
    for probe in Managed.probes(&"http://127.0.0.1:4000".parse().unwrap(), &ServerOptions::default()) {
        assert_eq!(probe.request.method(), Method::GET);
        assert!(probe.request.uri().path_and_query().unwrap().as_str().ends_with("/agents?limit=1"));
        assert!(probe.request.body().is_empty());
    }
}

#[test]
fn answers_tell_qoder_from_claude() {
    let qoder_list = answer(
        200,
        &[("x-request-id", "r")],
        r#"{"data":[],"next_page":null,"first_id":null,"last_id":null,"has_more":false}"#,
    );
    let claude_list = answer(200, &[("request-id", "r")], r#"{"data":[],"next_page":null}"#);
    let refused_key = answer(
        401,
        &[("x-request-id", "r")],
        r#"{"type":"error","error":{"type":"authentication_error","message":"no"}}"#,
    );
    let no_version = answer(
        400,
        &[("request-id", "r")],
        r#"{"type":"error","error":{"type":"invalid_request_error","message":"version"}}"#,
    );
    let plain_401 = answer(401, &[], "");
    let read = |dialect: &str, answer: &Response<Bytes>| {
        let probe = &Managed.probes(&BASE.parse().unwrap(), &options(dialect))[0];
        match (probe.read)(answer) {
            Recognition::Yes { .. } => "yes",
            Recognition::WantsToken(_) => "token",
            Recognition::Refused(_) => "refused",
            Recognition::No => "no",
            Recognition::Speaks { .. } => "speaks",
        }
    };
    for (name, answer, qoder, claude) in [
        ("a Qoder list", &qoder_list, "yes", "yes"),
        ("a Claude list", &claude_list, "no", "yes"),
        ("Qoder without a right token", &refused_key, "token", "no"),
        ("Claude without a version header", &no_version, "no", "refused"),
        ("a bare 401", &plain_401, "token", "token"),
        ("nothing here", &answer_of(StatusCode::NOT_FOUND), "no", "no"),
        ("a web page", &ok("<html>"), "no", "no"),
        ("an overloaded gateway", &answer_of(StatusCode::SERVICE_UNAVAILABLE), "refused", "refused"),
    ] {
        assert_eq!((read("qoder", answer), read("claude", answer)), (qoder, claude), "{name}");
    }
}

fn answer_of(status: StatusCode) -> Response<Bytes> {
    answer(status.as_u16(), &[], "")
}
