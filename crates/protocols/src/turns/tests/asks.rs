//! What is sent, byte for byte, and how answers are read.

use bytes::Bytes;
use contract::{
    command::SentImage,
    error::ErrorCode,
    item::Role,
    request::{Answer, ChoiceKind, RequestKind},
    server::ServerOptions,
    session::{RunOptions, SessionState},
    setup::{ImportedMessage, OptionSetting, SecretSetting, SessionSetup, ToolSetting},
};
use http::{Request, Response};
use pretty_assertions::assert_eq;

use super::{BASE, SESSION, server, server_with};
use crate::{
    Family, GroupAnswer, NewSession, Outgoing, Protocol, Recognition, Repeat, SetupChange, own_tools::specification,
    turns::Turns,
};

const META: &str = r#"{"version":3,"agents":[{"name":"helper","version":"1.0.0","tools":[{"name":"clock","description":"","parameters":{}},{"name":"write_note","description":"","parameters":{}}],"options":[{"name":"tone","type":"select","default":"kind","options":["kind","dry"]},{"name":"style","type":"text","default":"plain"},{"name":"key","type":"secret","default":""}],"capabilities":{"stream":{"delta":{},"message":{}},"history":{"full":{}},"application":{"tools":{}},"image":{"data":{}}}},{"name":"quiet"}]}"#;

fn answer(status: u16, body: &str) -> Response<Bytes> {
    Response::builder().status(status).body(Bytes::from(body.to_owned())).unwrap()
}

/// Method, path with query, and body.
fn line(request: &Request<Bytes>) -> (String, String) {
    let path = request.uri().to_string();
    let path = path.strip_prefix(BASE).unwrap_or(&path).to_owned();
    (format!("{} {path}", request.method()), String::from_utf8(request.body().to_vec()).unwrap())
}

/// One that has read its agents and the session `s1`.
fn informed(dialect: &str) -> std::sync::Arc<dyn Protocol> {
    let server = server(dialect);
    (server.new_session_options()[0].read)(&answer(200, META)).unwrap();
    (server.read_session("s1").unwrap().read)(&answer(200, SESSION)).unwrap();
    server
}

fn message(text: &str, setup: Option<SetupChange>) -> Outgoing {
    Outgoing::Message { text: text.to_owned(), images: Vec::new(), options: RunOptions::default(), setup }
}

fn given(
    request: &str,
    kind: RequestKind,
    choice: ChoiceKind,
    reason: Option<&str>,
    result: Option<&str>,
) -> GroupAnswer {
    GroupAnswer {
        request: request.to_owned(),
        kind,
        choice,
        reason: reason.map(str::to_owned),
        answers: Vec::new(),
        result: result.map(str::to_owned),
    }
}

fn change() -> SetupChange {
    SetupChange {
        setup: SessionSetup {
            tools: vec![ToolSetting { name: "write_note".into(), trusted: true }],
            options: vec![
                OptionSetting { name: "tone".into(), value: Some("dry".into()) },
                OptionSetting { name: "key".into(), value: Some("***".into()) },
            ],
            own_tools: vec!["read_clipboard".into()],
        },
        secrets: vec![SecretSetting { name: "key".into(), value: "sesame".into() }],
    }
}

#[test]
fn the_answers_of_a_mixed_batch_leave_as_one_request() {
    let answers = vec![
        given("turn1:tool:call_8", RequestKind::ClientTool, ChoiceKind::Answer, None, Some("4")),
        given("turn1:unknown:call_9", RequestKind::ClientTool, ChoiceKind::ReportError, None, None),
        given("turn1:permission:call_11", RequestKind::Approval, ChoiceKind::Deny, Some("not now"), None),
        given("turn1:permission:call_12", RequestKind::Approval, ChoiceKind::AllowAlways, None, None),
    ];
    let opened = informed("v3").open_turn("s1", &Outgoing::Answers { answers, setup: None }).unwrap();
    assert_eq!(
        line(&opened),
        (
            "POST /sessions/s1/turns".into(),
            r#"{"messages":[{"role":"tool","toolCallId":"call_8","content":"4"},{"role":"tool","toolCallId":"call_9","content":"unknown tool"},{"role":"tool_permission","toolCallId":"call_11","granted":false,"reason":"not now"},{"role":"tool_permission","toolCallId":"call_12","granted":true}],"stream":"delta"}"#.into()
        )
    );
    assert_eq!(opened.headers()["accept"], "text/event-stream");
    assert_eq!(opened.headers()["content-type"], "application/json");
}

#[test]
fn every_refusal_and_failure_of_a_client_tool_is_said_in_its_text() {
    let content = |answer: GroupAnswer| {
        let opened = server("v3").open_turn("s1", &Outgoing::Answers { answers: vec![answer], setup: None })?;
        let body: serde_json::Value = serde_json::from_slice(opened.body()).unwrap();
        Some(body["messages"][0]["content"].as_str().unwrap().to_owned())
    };
    let of = |kind, choice, reason, result| content(given("turn1:tool:c", kind, choice, reason, result));
    let (tool, approval, question) = (RequestKind::ClientTool, RequestKind::Approval, RequestKind::Question);
    assert_eq!(of(approval, ChoiceKind::Deny, None, None).unwrap(), "The user declined.");
    assert_eq!(of(approval, ChoiceKind::Deny, Some("no time"), None).unwrap(), "The user declined. no time");
    assert_eq!(of(approval, ChoiceKind::AllowOnce, None, Some("Opened.")).unwrap(), "Opened.");
    assert_eq!(of(question, ChoiceKind::Decline, None, None).unwrap(), "The user declined.");
    assert_eq!(of(tool, ChoiceKind::ReportError, None, Some("no disk")).unwrap(), "Error: no disk");
    assert_eq!(of(tool, ChoiceKind::ReportError, None, None).unwrap(), "The tool failed.");
    assert_eq!(of(tool, ChoiceKind::ReportError, None, Some("cancelled by user")).unwrap(), "cancelled by user");
    assert_eq!(of(question, ChoiceKind::Answer, None, None), None, "an answer without a word is none");
    let labels =
        Answer { question: "question".into(), labels: vec!["a".into(), "b".into()], text: Some("and c".into()) };
    let chosen =
        GroupAnswer { answers: vec![labels], ..given("turn1:tool:c", question, ChoiceKind::Answer, None, None) };
    assert_eq!(content(chosen).unwrap(), "a, b, and c");
}

#[test]
fn a_message_takes_pictures_along_and_a_changed_setup_and_says_the_defaults_of_what_is_unset() {
    let server = informed("v3");
    let plain = server.open_turn("s1", &message("hi", None)).unwrap();
    assert_eq!(line(&plain).1, r#"{"messages":[{"role":"user","content":"hi"}],"stream":"delta"}"#);
    let pictured = Outgoing::Message {
        text: "look".into(),
        images: vec![
            SentImage { media_type: "image/png".into(), data: "AAAA".into() },
            SentImage { media_type: String::new(), data: "https://a.test/x.png".into() },
        ],
        options: RunOptions::default(),
        setup: None,
    };
    assert_eq!(
        line(&server.open_turn("s1", &pictured).unwrap()).1,
        r#"{"messages":[{"role":"user","content":[{"type":"text","text":"look"},{"type":"image","url":"data:image/png;base64,AAAA"},{"type":"image","url":"https://a.test/x.png"}]}],"stream":"delta"}"#
    );
    let changed = line(&server.open_turn("s1", &message("hi", Some(change()))).unwrap()).1;
    let ours = specification("read_clipboard").unwrap();
    assert_eq!(
        changed,
        format!(
            r#"{{"messages":[{{"role":"user","content":"hi"}}],"stream":"delta","agent":{{"tools":[{{"name":"write_note","trust":true}}],"options":{{"key":"sesame","style":"plain","tone":"dry"}}}},"tools":[{{"name":"calc","description":"","parameters":{{}}}},{{"name":"pick","description":"","parameters":{{}}}},{ours}]}}"#
        ),
        "the placeholder is never sent, and tools of other clients stay"
    );
}

#[test]
fn a_revised_session_takes_its_setup_by_itself() {
    let server = informed("v3");
    assert!(server.change_setup("s1", &change()).is_none());
    let revised = SESSION.replacen("\"sessionId\"", "\"active\":false,\"sessionId\"", 1);
    (server.read_session("s1").unwrap().read)(&answer(200, &revised)).unwrap();
    assert_eq!(line(&server.change_setup("s1", &change()).unwrap().request).0, "PATCH /sessions/s1");
    let turn = line(&server.open_turn("s1", &message("hi", Some(change()))).unwrap()).1;
    assert!(!turn.contains("agent"), "{turn}");
    assert_eq!(line(&server.whole_history("s1").unwrap().request).0, "GET /sessions/s1/history?type=full&start=0");
}

#[test]
fn a_new_session_names_its_agent_and_begins_with_what_was_imported() {
    let new = NewSession {
        agent: Some("helper".into()),
        setup: Some(SetupChange { secrets: Vec::new(), ..change() }),
        system: Some("Be kind.".into()),
        imported: vec![ImportedMessage { role: Role::Agent, text: "Yes?".into() }],
        ..NewSession::default()
    };
    let ask = informed("v3").create_session(&new, "k").unwrap();
    let ours = specification("read_clipboard").unwrap();
    assert_eq!(
        line(&ask.request),
        (
            "POST /sessions".into(),
            format!(
                r#"{{"agent":{{"name":"helper","tools":[{{"name":"write_note","trust":true}}],"options":{{"tone":"dry"}}}},"messages":[{{"role":"system","content":"Be kind."}},{{"role":"assistant","content":"Yes?"}}],"tools":[{ours}]}}"#
            )
        )
    );
    assert_eq!(ask.repeat, Repeat::Never);
    assert_eq!((ask.read)(&answer(201, r#"{"sessionId":"s/9"}"#)).unwrap().id, "s/9");
    let mut located = answer(201, "");
    located.headers_mut().insert("location", "/v1/sessions/s%2F9".parse().unwrap());
    assert_eq!((ask.read)(&located).unwrap().id, "s/9");
}

#[test]
fn a_session_at_another_origin_gets_no_token_before_the_person_agrees() {
    let new = NewSession { agent: Some("helper".into()), ..NewSession::default() };
    let created = |options: &ServerOptions, location: &str| {
        let mut located = answer(201, "");
        located.headers_mut().insert("location", location.parse().unwrap());
        (server_with(options.clone()).create_session(&new, "k").unwrap().read)(&located)
    };
    let mut options = ServerOptions { dialect: Some("v4".into()), ..ServerOptions::default() };
    assert_eq!(created(&options, "https://agents.test/v1/sessions/s1").unwrap().id, "s1");
    let elsewhere = "https://other.test/x/s1";
    assert_eq!(created(&options, elsewhere).unwrap_err().code, ErrorCode::OtherOrigin);
    assert_eq!(created(&options, "http://agents.test/v1/sessions/s1").unwrap_err().code, ErrorCode::InsecureUrl);
    assert!(server_with(options.clone()).stream(elsewhere, None).is_none());
    options.trusted_origins.push("https://other.test".into());
    assert_eq!(created(&options, elsewhere).unwrap().id, elsewhere);
    let server = server_with(options);
    let mut request = server.stream(elsewhere, None).unwrap();
    assert_eq!(request.uri().to_string(), "https://other.test/x/s1/events/stream?stream=delta");
    server.authorize(&mut request, "t");
    assert!(request.headers().contains_key("authorization"));
    let mut third = Request::builder().uri("https://third.test/").body(Bytes::new()).unwrap();
    server.authorize(&mut third, "t");
    assert!(!third.headers().contains_key("authorization"));
}

#[test]
fn inputs_of_version_four_leave_one_by_one() {
    let server = informed("v4");
    let decision = |request: &str, choice, result: Option<&str>| Outgoing::Decision {
        request: request.into(),
        kind: RequestKind::Approval,
        choice,
        reason: Some("no".into()),
        answers: Vec::new(),
        result: result.map(str::to_owned),
    };
    for (what, body) in [
        (message("hi", None), r#"{"type":"user","content":"hi"}"#),
        (Outgoing::Stop, r#"{"type":"cancel"}"#),
        (
            decision("session:permission:d", ChoiceKind::Deny, None),
            r#"{"type":"permission","toolCallId":"d","granted":false,"reason":"no"}"#,
        ),
        (
            decision("session:tool:a", ChoiceKind::Answer, Some("4")),
            r#"{"type":"tool","toolCallId":"a","content":"4"}"#,
        ),
    ] {
        let ask = server.send("s1", &what, "k").unwrap();
        assert_eq!(line(&ask.request), ("POST /sessions/s1/input".into(), body.into()));
    }
    let ask = server.send("s1", &decision("session:permission:d", ChoiceKind::AllowOnce, None), "k").unwrap();
    assert!((ask.read)(&answer(400, "")).unwrap().too_late, "answered already");
}

#[test]
fn a_list_whose_cursors_go_in_circles_ends() {
    let server = server("v3");
    let page = |token: Option<&str>, next: &str| {
        let ask = server.list_sessions(token).unwrap();
        let body = format!(r#"{{"sessions":[{{"sessionId":"s1","agent":{{"name":"helper"}}}}],"next":"{next}"}}"#);
        (line(&ask.request).0, (ask.read)(&answer(200, &body)).unwrap())
    };
    let (path, first) = page(None, "a b");
    assert_eq!((path.as_str(), first.rows[0].agent.as_deref()), ("GET /sessions", Some("helper")));
    assert_eq!(first.rows[0].state, SessionState::Unknown);
    let (path, second) = page(first.next.as_deref(), "c");
    assert_eq!(path, "GET /sessions?after=a%20b");
    assert_eq!(page(second.next.as_deref(), "a b").1.next, None);
}

#[test]
fn a_setup_that_cannot_be_is_named_before_it_is_sent() {
    let server = informed("v3");
    assert_eq!(server.amiss("helper", &change().setup), None);
    let mut wrong = change().setup;
    wrong.options[0].value = Some("loud".into());
    assert_eq!(server.amiss("helper", &wrong).unwrap(), "loud is no value of the option tone.");
    let mut twice = change().setup;
    twice.tools.push(ToolSetting { name: "read_clipboard".into(), trusted: false });
    assert!(server.amiss("helper", &twice).unwrap().contains("Tool names must be unique"));
}

#[test]
fn only_versions_three_and_four_are_spoken() {
    let probes = Turns.probes(&BASE.parse().unwrap(), &ServerOptions::default());
    let read = |number: usize, body: &str| (probes[number].read)(&answer(200, body));
    assert_eq!(line(&probes[0].request).0, "GET /meta");
    assert_eq!(read(0, META), Recognition::Yes { version: Some("3".into()) });
    assert_eq!(read(1, META), Recognition::No);
    assert_eq!(read(1, r#"{"version":4,"agents":[]}"#), Recognition::Yes { version: Some("4".into()) });
    assert!(matches!(read(0, r#"{"version":5,"agents":[]}"#), Recognition::Refused(refusal)
        if refusal.message.contains("speaks version 5")));
    assert_eq!(read(0, r#"{"version":"3"}"#), Recognition::No);
    assert!(matches!((probes[0].read)(&answer(401, "no")), Recognition::WantsToken(_)));
}

#[test]
fn errors_are_told_in_the_servers_words_whatever_their_form() {
    let server = server("v3");
    let told = |status, body: &str| server.turn_refused(&answer(status, body));
    assert_eq!(told(404, r#"{"error":"No such session"}"#).message, "No such session");
    assert_eq!(told(500, "Internal Server Error").message, "Internal Server Error");
    assert_eq!(told(500, &"x".repeat(900)).message.len(), 500);
    assert_eq!(told(409, "").code, ErrorCode::Busy);
    assert_eq!(told(200, "{}").code, ErrorCode::WrongProtocol);
}
