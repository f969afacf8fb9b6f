//! What is sent, and how answers are read.

use bytes::Bytes;
use contract::{
    command::{SentImage, ServerSetting},
    error::ErrorCode,
    request::{Answer, ChoiceKind, RequestKind},
    server::{ModelChoice, ServerFacts, ServerOptions},
    session::{ApprovalMode, Compaction, ContextMeter, ContextShare, Mention, QuestionMode, RunOptions, SessionState},
};
use http::{Request, Response};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::{BASE, server};
use crate::{
    Act, Acted, Ask, Family, NewSession, Outgoing, Recognition, Refusal, Repeat, managed::Managed, runs::Runs,
    turns::Turns,
};

fn answer(status: u16, body: &str) -> Response<Bytes> {
    Response::builder()
        .status(status)
        .header("content-type", "application/json")
        .body(Bytes::from(body.to_owned()))
        .unwrap()
}

fn error(status: u16, word: &str) -> Response<Bytes> {
    answer(status, &json!({"error": word, "message": format!("It is {word}.")}).to_string())
}

/// Method, path with query, and body.
fn line(request: &Request<Bytes>) -> (String, Value) {
    let body = if request.body().is_empty() { Value::Null } else { serde_json::from_slice(request.body()).unwrap() };
    let path = request.uri().to_string().strip_prefix(BASE).unwrap().to_owned();
    (format!("{} {path}", request.method()), body)
}

fn message(text: &str, options: RunOptions) -> Outgoing {
    Outgoing::Message { text: text.to_owned(), images: Vec::new(), options, setup: None }
}

fn decide(request: &str, kind: RequestKind, choice: ChoiceKind, answers: Vec<Answer>) -> Outgoing {
    Outgoing::Decision { request: request.to_owned(), kind, choice, reason: None, answers, result: None }
}

fn read<T>(ask: Option<Ask<T>>, response: &Response<Bytes>) -> Result<T, Refusal> {
    (ask.unwrap().read)(response)
}

#[test]
fn a_prompt_says_everything_the_person_chose_and_nothing_else() {
    let opened = server().open_turn("s", &message("hi", RunOptions::default())).unwrap();
    assert_eq!(
        line(&opened),
        (
            "POST /prompts".to_owned(),
            json!({"text": "hi", "mentions": true, "approvals": {"mode": "ask"}, "questions": "ask", "answer_timeout": 300})
        )
    );
    assert_eq!(opened.headers()["accept"], "text/event-stream");
    assert_eq!(opened.headers()["content-type"], "application/json");
    let options = RunOptions {
        unasked_until: None,
        approvals: ApprovalMode::Commands { commands: vec!["git status".into()] },
        questions: QuestionMode::Decline,
        answer_timeout_s: 7,
        run_timeout_s: Some(60),
        mentions: false,
    };
    let what = Outgoing::Message {
        text: "look".into(),
        images: vec![SentImage { media_type: "image/png".into(), data: "AAAA".into() }],
        options: options.clone(),
        setup: None,
    };
    let (_, body) = line(&server().open_turn("s", &what).unwrap());
    assert_eq!(
        body,
        json!({
            "text": "look", "mentions": false, "images": [{"data": "AAAA", "media_type": "image/png"}],
            "approvals": {"mode": "commands", "commands": ["git status"]}, "questions": "decline",
            "answer_timeout": 7, "timeout": 60,
        })
    );
    for (mode, word) in [(ApprovalMode::Deny, "deny"), (ApprovalMode::Auto, "auto")] {
        let options = RunOptions { approvals: mode, ..RunOptions::default() };
        let (path, body) = line(&server().open_turn("s", &Outgoing::Resume { options }).unwrap());
        assert_eq!(path, "POST /runs/resume");
        assert_eq!(body, json!({"approvals": {"mode": word}, "questions": "ask", "answer_timeout": 300}));
    }
    assert!(server().open_turn("s", &Outgoing::Stop).is_none());
}

#[test]
fn a_message_into_a_run_steers_it_once() {
    let ask = server().send("s", &message("also docs", RunOptions::default()), "k").unwrap();
    let expected = ("POST /runs/steer".to_owned(), json!({"text": "also docs", "mentions": true}));
    assert_eq!((line(&ask.request), ask.repeat), (expected, Repeat::Never));
    assert!(!(ask.read)(&answer(200, r#"{"steered":true}"#)).unwrap().too_late);
    assert!((ask.read)(&answer(200, r#"{"steered":false,"text":null}"#)).unwrap().too_late);
}

#[test]
fn decisions_name_the_servers_own_id_with_strict_booleans() {
    let sent = |request: &str, kind, choice, answers| {
        let ask = server().send("s", &decide(request, kind, choice, answers), "k")?;
        assert_eq!(ask.repeat, Repeat::Freely);
        Some(line(&ask.request))
    };
    let approval = |choice| sent("run2:call_1:x", RequestKind::Approval, choice, Vec::new()).unwrap();
    let to = |path: &str, body| (format!("POST /runs/{path}"), body);
    assert_eq!(approval(ChoiceKind::AllowOnce), to("approvals", json!({"call_id": "call_1:x", "approve": true})));
    assert_eq!(
        approval(ChoiceKind::AllowAlways),
        to("approvals", json!({"call_id": "call_1:x", "approve": true, "remember": true}))
    );
    assert_eq!(approval(ChoiceKind::Deny), to("approvals", json!({"call_id": "call_1:x", "approve": false})));
    let answers = |labels: &[&str], text: Option<&str>| {
        vec![Answer {
            question: "question".into(),
            labels: labels.iter().map(|label| (*label).to_owned()).collect(),
            text: text.map(str::to_owned),
        }]
    };
    let question = |choice, answers| sent("foreign:q", RequestKind::Question, choice, answers);
    assert_eq!(
        question(ChoiceKind::Answer, answers(&["sqlite", "redis"], Some("or both"))),
        Some(to("questions", json!({"call_id": "q", "answer": "sqlite, redis, or both"})))
    );
    assert_eq!(
        question(ChoiceKind::Decline, Vec::new()),
        Some(to("questions", json!({"call_id": "q", "answer": null})))
    );
    // The server refuses an answer without a word in it, so none is made.
    assert_eq!(question(ChoiceKind::Answer, answers(&[], Some("  \n"))), None);
    assert_eq!(question(ChoiceKind::AllowOnce, Vec::new()), None);
    assert_eq!(sent("r:c", RequestKind::ClientTool, ChoiceKind::Answer, Vec::new()), None);
}

#[test]
fn what_is_settled_already_is_quietly_late() {
    let ask = server().send("s", &decide("r:c", RequestKind::Approval, ChoiceKind::Deny, Vec::new()), "k").unwrap();
    assert!(!(ask.read)(&answer(200, r#"{"resolved":true}"#)).unwrap().too_late);
    assert!((ask.read)(&answer(200, r#"{"resolved":false}"#)).unwrap().too_late);
    let stop = server().send("s", &Outgoing::Stop, "k").unwrap();
    assert_eq!((line(&stop.request), stop.repeat), (("POST /runs/cancel".to_owned(), Value::Null), Repeat::Freely));
    assert!((stop.read)(&answer(200, r#"{"cancelled":false}"#)).unwrap().too_late);
}

#[test]
fn every_error_word_means_something_to_the_app() {
    for (status, word, code) in [
        (401, "unauthorized", ErrorCode::Unauthorized),
        (404, "not_found", ErrorCode::GoneAtServer),
        (404, "unreachable", ErrorCode::GoneAtServer),
        (405, "invalid", ErrorCode::Unsupported),
        (409, "busy", ErrorCode::Busy),
        (409, "locked", ErrorCode::ServerRefused),
        (409, "no_model", ErrorCode::ServerRefused),
        (409, "nothing_to_do", ErrorCode::Conflict),
        (400, "invalid", ErrorCode::ServerRefused),
        (422, "invalid", ErrorCode::ServerRefused),
        (502, "run", ErrorCode::ServerFailed),
        (504, "timeout", ErrorCode::ServerFailed),
        (500, "internal", ErrorCode::ServerFailed),
    ] {
        let refusal = server().turn_refused(&error(status, word));
        assert_eq!(refusal.code, code, "{status}");
        assert!(refusal.message.starts_with(&format!("It is {word}.")), "{refusal:?}");
        assert_eq!(refusal.detail.as_deref(), Some(word));
    }
    let locked = server().turn_refused(&error(409, "locked"));
    assert!(locked.message.contains("close it there"), "{locked:?}");
    let bare = server().turn_refused(&answer(503, "<html>"));
    assert_eq!(bare.code, ErrorCode::ServerFailed);
    // A gateway's 409 is no sign that nothing is left to do.
    assert_eq!(server().turn_refused(&answer(409, "<html>")).code, ErrorCode::ServerRefused);
    assert_eq!(server().turn_refused(&answer(200, "<html>")).code, ErrorCode::WrongProtocol);
}

#[test]
fn sessions_are_listed_with_what_each_generation_says() {
    let ask = server().list_sessions(None);
    assert_eq!(line(&ask.as_ref().unwrap().request).0, "GET /sessions?limit=200");
    let page = read(
        ask,
        &answer(
            200,
            r#"{"sessions":[
                {"id":"a","title":null,"created_at":null,"updated_at":null,"current":true},
                {"id":"b","title":"T","created_at":"2026-11-30T18:54:13.5+00:00","updated_at":"2026-11-30T18:54:14Z","current":false},
                {"id":"c","title":"U","current":false,"running":true},
                {"id":"d","current":true,"running":false}, {"title":"no id"}]}"#,
        ),
    )
    .unwrap();
    let rows: Vec<_> = page.rows.iter().map(|row| (row.id.as_str(), row.title.as_deref(), row.state.clone())).collect();
    assert_eq!(
        rows,
        [
            ("a", None, SessionState::Unknown),
            ("b", Some("T"), SessionState::Idle),
            ("c", Some("U"), SessionState::Running),
            ("d", None, SessionState::Idle),
        ]
    );
    assert_eq!((page.rows[1].created_at, page.next), (Some(1_796_064_853_500), None));
    assert_eq!(read(server().list_sessions(None), &answer(200, "{}")).unwrap_err().code, ErrorCode::WrongProtocol);
}

#[test]
fn sessions_are_made_approached_and_renamed() {
    let create = |title: Option<&str>| {
        let new = NewSession { title: title.map(str::to_owned), ..NewSession::default() };
        server().create_session(&new, "k").unwrap()
    };
    assert_eq!(line(&create(Some("T")).request), ("POST /sessions".to_owned(), json!({"title": "T"})));
    assert_eq!(line(&create(Some(" ")).request).1, json!({}));
    assert_eq!(create(None).repeat, Repeat::Never);
    let made = (create(None).read)(&answer(201, r#"{"id":"n","title":null}"#)).unwrap();
    assert_eq!((made.id.as_str(), made.title), ("n", None));

    let approach = server().approach("a/b").unwrap();
    assert_eq!(line(&approach.request).0, "POST /sessions/a%2Fb/open");
    assert_eq!((approach.read)(&answer(200, r#"{"id":"a/b","locked":true}"#)), Ok("a/b".to_owned()));
    assert_eq!((approach.read)(&error(404, "not_found")).unwrap_err().code, ErrorCode::GoneAtServer);
    let busy = (approach.read)(&error(409, "busy")).unwrap_err();
    assert_eq!(busy.code, ErrorCode::Busy);
    assert!(busy.message.contains("one session at a time"), "{busy:?}");

    let current = |response| read(server().current(), &response);
    assert_eq!(current(answer(200, r#"{"id":"c"}"#)), Ok(Some("c".to_owned())));
    assert_eq!(current(error(409, "no_model")), Ok(None));

    let rename = server().rename_session("s", "New").unwrap();
    assert_eq!(line(&rename.request), ("POST /sessions/current/rename".to_owned(), json!({"title": "New"})));
}

#[test]
fn checks_and_history_bear_a_server_without_a_model_or_messages() {
    let checks = server().checks("s");
    let paths: Vec<String> = checks.iter().map(|check| line(&check.request).0).collect();
    assert_eq!(paths, ["GET /runs/current", "GET /runs/resumable"]);
    let checked = (checks[0].read)(&answer(200, r#"{"running": true,"pending":null}"#)).unwrap();
    assert_eq!((checked.name, checked.body.as_str()), ("current", r#"{"running": true,"pending":null}"#));
    let checked = (checks[1].read)(&error(409, "no_model")).unwrap();
    assert_eq!((checked.name, checked.body.as_str()), ("resumable", r#"{"resumable":false}"#));
    assert_eq!((checks[1].read)(&error(401, "unauthorized")).unwrap_err().code, ErrorCode::Unauthorized);

    let history = server().whole_history("s").unwrap();
    assert_eq!(line(&history.request).0, "GET /sessions/current/history?full=true");
    assert_eq!((history.read)(&error(404, "not_found")), Ok(r#"{"messages":[]}"#.to_owned()));
    assert_eq!((history.read)(&answer(404, "")).unwrap_err().code, ErrorCode::GoneAtServer);
    assert_eq!((history.read)(&answer(200, r#"{"messages":[7]}"#)), Ok(r#"{"messages":[7]}"#.to_owned()));
}

#[test]
fn a_server_says_what_it_is() {
    let told = |answers: [Response<Bytes>; 3]| {
        let mut facts = ServerFacts::default();
        for (ask, answer) in server().server_facts().into_iter().zip(answers) {
            (ask.read)(&answer).unwrap()(&mut facts);
        }
        facts
    };
    let facts = told([
        answer(
            200,
            r#"{"status":"ok","version":"0.2.0","workspace":"/srv/app","ready":true,"session":null,"models":1,"busy":false}"#,
        ),
        answer(
            200,
            r#"{"model":{"name":"Fake","model":"fake-1"},"effort":"low","efforts":["low","high"],"permission":"deny",
                "permissions":["deny","ask","safe","full"],"harness":false,"unsaved":null}"#,
        ),
        answer(
            200,
            r#"{"models":[{"name":"Fake","model":"fake-1","context_window":200000,"multimodal":true,"active":true},
                {"name":"Plain","model":"Plain","context_window":0}],"current":"Fake"}"#,
        ),
    ]);
    assert_eq!(
        facts,
        ServerFacts {
            version: Some("0.2.0".into()),
            workspace: Some("/srv/app".into()),
            permission: Some("deny".into()),
            permissions: ["deny", "ask", "safe", "full"].map(str::to_owned).to_vec(),
            asking_permission: Some("ask".into()),
            refusing_permission: Some("deny".into()),
            model: Some("Fake".into()),
            models: vec![
                ModelChoice {
                    name: "Fake".into(),
                    model: Some("fake-1".into()),
                    context_window: Some(200_000),
                    images: true
                },
                ModelChoice { name: "Plain".into(), model: None, context_window: None, images: false },
            ],
            no_model: false,
            effort: Some("low".into()),
            efforts: vec!["low".into(), "high".into()],
        }
    );
    let bare = told([
        answer(200, r#"{"status":"ok","version":"0.1.1","workspace":"/w","ready":false,"busy":false}"#),
        error(409, "no_model"),
        answer(200, r#"{"models":[],"current":null}"#),
    ]);
    assert!(bare.no_model);
    assert_eq!((bare.model, bare.asking_permission), (None, None));
}

#[test]
fn settings_are_changed_one_at_a_time() {
    for (setting, body) in [
        (ServerSetting::Permission("ask".into()), json!({"permission": "ask"})),
        (ServerSetting::Model("m".into()), json!({"model": "m"})),
        (ServerSetting::Effort("high".into()), json!({"effort": "high"})),
    ] {
        let ask = server().change_setting(&setting).unwrap();
        assert_eq!(line(&ask.request), ("PATCH /settings".to_owned(), body));
    }
}

#[test]
fn acts_beside_the_transcript() {
    let acted = |act: &Act, body: &str| {
        let ask = server().act("s", act).unwrap();
        (line(&ask.request), (ask.read)(&answer(200, body)).unwrap())
    };
    let posted = |path: &str| (format!("POST /sessions/current/{path}"), Value::Null);
    assert_eq!(acted(&Act::Fork, r#"{"id":"copy"}"#), (posted("fork"), Acted::Forked { id: "copy".into() }));
    let compaction = Compaction {
        applied: true,
        summary: Some("So far.".into()),
        compressed: Some(7),
        kept: Some(2),
        ..Compaction::default()
    };
    assert_eq!(
        acted(&Act::Compact, r#"{"applied":true,"summary":"So far.","compressed":7,"kept":2}"#),
        (posted("compact"), Acted::Compacted(compaction))
    );
    let nothing = Acted::Compacted(Compaction::default());
    assert_eq!(acted(&Act::Compact, r#"{"applied":false,"summary":""}"#), (posted("compact"), nothing));
    assert_eq!(
        acted(&Act::Name, r#"{"id":"s","title":"Pages"}"#),
        (posted("name"), Acted::Renamed { title: Some("Pages".into()) })
    );
    assert_eq!(
        acted(&Act::AskAside { question: "why?".into() }, r#"{"answer":"so"}"#),
        (("POST /sessions/current/ask".to_owned(), json!({"question": "why?"})), Acted::Answer("so".into()))
    );
    assert_eq!(
        acted(
            &Act::Mentions { query: "src/a b".into() },
            r#"{"mentions":[{"token":"@src/a b.py","kind":"file","name":"a b.py","description":""}]}"#
        ),
        (
            ("GET /mentions?query=src%2Fa%20b&limit=30".to_owned(), Value::Null),
            Acted::Mentions(vec![Mention {
                token: "src/a b.py".into(),
                kind: "file".into(),
                name: "a b.py".into(),
                description: None
            }])
        )
    );
    let context = |body| acted(&Act::Context, body).1;
    assert_eq!(context("null"), Acted::Context(None));
    let report = r#"{"window":1000,"used":10,"shares":[{"name":"tools","tokens":7,"items":2}],"partial":true}"#;
    let shares = vec![ContextShare { name: "tools".into(), tokens: 7, items: Some(2) }];
    let meter = ContextMeter { used: 10, window: Some(1000), partial: true, shares };
    assert_eq!(context(report), Acted::Context(Some(meter)));
    assert_eq!(acted(&Act::ExportPage, "<html>é</html>").1, Acted::Page("<html>é</html>".into()));
}

/// What each probe of an address makes of these answers, in order.
fn recognised(health: &Response<Bytes>, settings: &Response<Bytes>) -> Vec<Recognition> {
    let probes = Runs.probes(&BASE.parse().unwrap(), &ServerOptions::default());
    let lines: Vec<String> = probes.iter().map(|probe| line(&probe.request).0).collect();
    assert_eq!(lines, ["GET /health", "GET /settings"]);
    probes.iter().zip([health, settings]).map(|(probe, answer)| (probe.read)(answer)).collect()
}

#[test]
fn a_server_is_recognised_by_its_health_and_lets_us_in_by_its_settings() {
    let health = answer(200, r#"{"status":"ok","version":"0.2.0","workspace":"/w","ready":true,"busy":false}"#);
    let speaks = Recognition::Speaks { version: Some("0.2.0".into()) };
    let settings = answer(200, r#"{"model":{},"permission":"ask","permissions":["ask"]}"#);
    assert_eq!(recognised(&health, &settings), [speaks.clone(), Recognition::Yes { version: None }]);
    assert_eq!(recognised(&health, &error(409, "no_model"))[1], Recognition::Yes { version: None });
    let locked = recognised(&health, &error(401, "unauthorized"));
    assert!(matches!(&locked[1], Recognition::WantsToken(refusal) if refusal.code == ErrorCode::Unauthorized));
}

#[test]
fn other_servers_are_not_taken_for_one() {
    let no = [Recognition::No, Recognition::No];
    for (health, settings) in [
        (answer(404, ""), answer(404, "")),
        (answer(200, r#"{"status":"ok"}"#), answer(200, "{}")),
        (answer(200, r#"{"status":"ok","version":"1"}"#), answer(200, r#"{"theme":"dark"}"#)),
        (answer(401, r#"{"error":{"type":"authentication_error","message":"no"}}"#), answer(401, "")),
        (answer(401, r#"{"error":"invalid token","code":"auth"}"#), answer(401, r#"{"error":"invalid token"}"#)),
        (answer(200, "<html>"), answer(500, "<html>")),
    ] {
        assert_eq!(recognised(&health, &settings), no);
    }
}

#[test]
fn the_families_are_tried_in_the_order_that_asks_health_first() {
    let ids: Vec<&str> = crate::families().iter().map(|family| family.id()).collect();
    assert_eq!(ids, [Runs.id(), Turns.id(), Managed.id()]);
}

#[test]
fn the_token_goes_as_a_bearer_and_is_marked() {
    let mut request = server().open_turn("s", &message("x", RunOptions::default())).unwrap();
    server().authorize(&mut request, "tok");
    assert_eq!(request.headers()["authorization"], "Bearer tok");
    assert!(request.headers()["authorization"].is_sensitive());
}
