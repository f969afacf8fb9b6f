//! What the frames of a run become, type by type (runs-server page, §§5–6).

use contract::{
    event::{EventBody, UsageScope},
    item::{MessageState, Role, ToolState},
    request::{ChoiceKind, RequestKind, Scope},
    session::{ContextMeter, RunOptions, SessionState},
    wire::{Frame, Origin},
};
use pretty_assertions::assert_eq;

use super::{ASK, DONE, RESULT, Session, TOOL, text, view::Shown};

#[test]
fn a_prompt_shows_at_once_with_its_pictures_and_begins_a_turn() {
    let mut session = Session::new();
    session.opened(&crate::Opened::Message {
        id: "ours".into(),
        text: "look".into(),
        images: vec![contract::command::SentImage { media_type: "image/png".into(), data: "AAAA".into() }],
        options: RunOptions::default(),
    });
    let shown = Shown::Message { role: Role::User, text: "look".into(), pictures: 1, state: MessageState::Done };
    assert_eq!(session.view.get("ours"), Some(&shown));
    assert_eq!(session.view.turns, [(Some("run1".to_owned()), None)]);
    assert_eq!(session.view.state, SessionState::Running);
    assert!(session.events.iter().any(|event| event.body == EventBody::RunOptions(RunOptions::default())));
}

#[test]
fn a_new_message_begins_after_a_tool_and_after_a_steer() {
    let mut session = Session::running();
    session.say(&text("One")).say(&text(" two")).say(TOOL).say(DONE).say(&text("Three"));
    session.say(r#"{"type":"steered","text":"and docs"}"#).say(&text("Four"));
    session.say(r#"{"type":"steering_finished"}"#).say(r#"{"type":"steering_interrupted","text":"older"}"#);
    assert_eq!(
        session.view.lines(),
        [
            "ours0 User: do it",
            "run1.m1 Agent: One two",
            "run1.c.call_1 bash Done: a\n",
            "run1.m2 Agent: Three",
            "run1.n1 Steering { phase: Taken, text: None }",
            "run1.s1 User: and docs",
            "run1.m3 Agent Streaming: Four",
            "run1.n2 Steering { phase: Finished, text: None }",
            "run1.n3 Steering { phase: Interrupted, text: Some(\"older\") }",
        ]
    );
}

#[test]
fn white_space_alone_shows_no_message_and_is_not_lost_before_one() {
    let mut session = Session::running();
    session.say(&text("\n")).say(&text(" ")).say(TOOL).say(&text("\n ")).say(&text("x")).named("result", RESULT);
    assert_eq!(session.view.lines()[2..], ["run1.m2 Agent: \n x"]);
}

#[test]
fn thoughts_of_both_generations() {
    let mut session = Session::running();
    session.say(r#"{"type":"reasoning_started"}"#).say(r#"{"type":"reasoning_delta","text":"hm"}"#);
    assert_eq!(session.view.lines()[1], "run1.t1 thought true: hm");
    session.say(r#"{"type":"reasoning_finished"}"#);
    // The first generation: deltas alone.
    session.say(r#"{"type":"reasoning_delta","text":"so"}"#).say(r#"{"type":"reasoning_delta","text":" it is"}"#);
    session.say(&text("Done")).say(r#"{"type":"reasoning_started"}"#).say(TOOL);
    assert_eq!(
        session.view.lines()[1..],
        [
            "run1.t1 thought false: hm",
            "run1.t2 thought false: so it is",
            "run1.m1 Agent: Done",
            "run1.t3 thought false: ",
            "run1.c.call_1 bash Running: -",
        ]
    );
}

#[test]
fn an_approval_carries_what_would_run_and_where_and_for_how_long() {
    let mut session = Session::new();
    session.open("x", RunOptions { answer_timeout_s: 30, ..RunOptions::default() });
    session.say(r#"{"type":"tool_started","call_id":"c","name":"bash","arguments":{"command":"ls","timeout":1.50}}"#);
    session
        .say(r#"{"type":"approval_requested","call_id":"c","command":"ls","work_dir":"clients/web","approved":null}"#);
    let seed = session.view.seed("run1:c");
    assert_eq!(
        (seed.kind, seed.item.as_deref(), seed.tool.as_deref()),
        (RequestKind::Approval, Some("run1.c.c"), Some("bash"))
    );
    assert_eq!(seed.arguments, r#"{"command":"ls","timeout":1.50}"#);
    assert_eq!((seed.command.as_deref(), seed.work_dir.as_deref()), (Some("ls"), Some("clients/web")));
    assert_eq!((seed.deadline_ms, seed.answerable), (Some(30_000), true));
    let choices: Vec<_> = seed.choices.iter().map(|choice| (choice.kind, choice.scope.clone())).collect();
    assert_eq!(
        choices,
        [
            (ChoiceKind::AllowOnce, None),
            (ChoiceKind::Deny, None),
            (ChoiceKind::AllowAlways, Some(Scope::CommandTextUntilServerEnds)),
        ]
    );
    assert_eq!((session.view.open(), &session.view.state), (vec!["run1:c"], &SessionState::Waiting));
}

#[test]
fn the_digest_holds_the_command_that_is_asked_about_whatever_the_call_said() {
    for (started, arguments) in [
        (r#"{"command":"ls"}"#, r#"{"command":"rm -r x","arguments":{"command":"ls"}}"#),
        (
            r#"{"command":"ls","command":"rm -r x"}"#,
            r#"{"command":"rm -r x","arguments":{"command":"ls","command":"rm -r x"}}"#,
        ),
        ("[1]", r#"{"command":"rm -r x","arguments":[1]}"#),
        (r#"{"command":"rm -r x"}"#, r#"{"command":"rm -r x"}"#),
    ] {
        let mut session = Session::running();
        session.say(&format!(r#"{{"type":"tool_started","call_id":"c","name":"bash","arguments":{started}}}"#));
        session.say(r#"{"type":"approval_requested","call_id":"c","command":"rm -r x","approved":null}"#);
        assert_eq!(session.view.seed("run1:c").arguments, arguments);
    }
    let mut session = Session::running();
    session.say(r#"{"type":"approval_requested","call_id":"c","command":"say \"hi\""}"#);
    assert_eq!(session.view.seed("run1:c").arguments, r#"{"command":"say \"hi\""}"#);
}

#[test]
fn the_end_of_a_call_settles_its_request_and_says_not_by_whom() {
    let mut session = Session::running();
    session.say(TOOL).say(ASK);
    let before = session.events.len();
    session.say(DONE);
    assert!(matches!(
        session.bodies_since(before)[..],
        [
            EventBody::Settled { choice: None, .. },
            EventBody::ToolResult { is_error: false, .. },
            EventBody::Status(SessionState::Running)
        ]
    ));
}

#[test]
fn a_refused_command_keeps_the_servers_words_as_its_output() {
    let mut session = Session::running();
    session.say(TOOL).say(ASK).say(
        r#"{"type":"tool_finished","call_id":"call_1","name":"bash","output":"Shell command aborted by user: ls","ok":false,"skipped":false}"#,
    );
    assert_eq!(session.view.lines()[1], "run1.c.call_1 bash Failed: Shell command aborted by user: ls");
}

#[test]
fn what_a_rule_answered_is_a_line_and_no_request() {
    let mut session = Session::running();
    session.say(TOOL);
    for approved in ["true", "false"] {
        session.say(&format!(
            r#"{{"type":"approval_requested","call_id":"call_1","command":"ls","approved":{approved}}}"#
        ));
    }
    assert!(session.view.requests.is_empty());
    let lines = session.view.lines();
    assert!(lines[2].contains("Ruled { on: Command, allowed: true"), "{lines:?}");
    assert!(lines[3].contains("Ruled { on: Command, allowed: false"), "{lines:?}");
    session.say(&DONE.replace("true", "false"));
    assert_eq!(session.view.lines()[1], "run1.c.call_1 bash Denied { reason: None }: a\n");
}

const QUESTION: &str = r#"{"type":"question_asked","call_id":"q","question":"Which db?","options":["sqlite","postgres"],"allow_multiple":true,"answered":false}"#;
const ASK_USER: &str = r#"{"type":"tool_started","call_id":"q","name":"ask_user","arguments":{}}"#;

#[test]
fn a_question_waits_for_ever_and_finds_its_call_when_that_is_told() {
    let mut session = Session::running();
    session.say(QUESTION).say(ASK_USER);
    let seed = session.view.seed("run1:q").clone();
    assert_eq!((seed.kind, seed.item.as_deref(), seed.deadline_ms), (RequestKind::Question, Some("run1.c.q"), None));
    let question = &seed.questions[0];
    assert_eq!((question.text.as_str(), question.multiple, question.free_text), ("Which db?", true, true));
    assert_eq!(question.options, ["sqlite", "postgres"]);
    assert_eq!(seed.arguments, r#"{"question":"Which db?","options":["sqlite","postgres"],"allow_multiple":true}"#);
    let kinds: Vec<_> = seed.choices.iter().map(|choice| choice.kind).collect();
    assert_eq!(kinds, [ChoiceKind::Answer, ChoiceKind::Decline]);
    // Told again behind the call, so that the card is bound to it, with the same bytes.
    let seeds: Vec<_> = session
        .events
        .iter()
        .filter_map(|event| if let EventBody::Request(seed) = &event.body { Some(&**seed) } else { None })
        .collect();
    assert_eq!(seeds, [&seed, &seed]);
    session.say(r#"{"type":"tool_finished","call_id":"q","name":"ask_user","output":"{}","ok":true}"#);
    assert!(session.view.open().is_empty());
    assert_eq!(session.view.state, SessionState::Running);
}

#[test]
fn a_question_the_server_declines_by_itself_opens_nothing() {
    let mut session = Session::new();
    session.open_declining().say(QUESTION);
    assert!(session.view.requests.is_empty());
    assert!(session.view.lines()[1].contains("Ruled { on: Question, allowed: false"));
}

#[test]
fn one_request_waits_at_a_time_and_ends_may_come_out_of_order() {
    let mut session = Session::running();
    session.say(TOOL).say(&TOOL.replace("call_1", "call_2"));
    session.say(ASK).say(&ASK.replace("call_1", "call_2"));
    assert_eq!(session.view.open(), ["run1:call_2"]);
    session.say(&DONE.replace("call_1", "call_2"));
    assert_eq!(session.view.state, SessionState::Waiting, "the first has no end yet");
    session.say(DONE);
    assert_eq!(session.view.state, SessionState::Running);
    assert!(session.view.requests.values().all(|asked| asked.settled == Some(None)));
}

#[test]
fn the_same_call_id_twice_is_two_calls_and_two_requests() {
    let mut session = Session::running();
    session.say(TOOL).say(ASK).say(DONE).say(TOOL).say(ASK);
    assert_eq!(session.view.ids()[1..], ["run1.c.call_1", "run1.c.call_1.2"]);
    assert_eq!(session.view.open(), ["run1.2:call_1"]);
    assert_eq!(session.view.seed("run1.2:call_1").item.as_deref(), Some("run1.c.call_1.2"));
    session.say(DONE).named("result", RESULT).open("again", RunOptions::default()).say(TOOL).say(ASK);
    assert_eq!(session.view.open(), ["run2:call_1"]);
}

#[test]
fn tools_of_the_server_and_skipped_ones_and_ends_without_a_beginning() {
    let mut session = Session::running();
    session.say(r#"{"type":"server_tool_started","call_id":"w","name":"web_search","arguments":{"query":"x"}}"#);
    session
        .say(r#"{"type":"server_tool_finished","call_id":"w","name":"web_search","output":{"hits":[1.50]},"ok":true}"#);
    session.say(TOOL);
    session.say(r#"{"type":"tool_finished","call_id":"call_1","name":"bash","output":"","ok":false,"skipped":true}"#);
    session.say(&DONE.replace("call_1", "unseen"));
    let source = session.events.iter().find_map(|event| match &event.body {
        EventBody::ToolCall { source, .. } => Some(source.clone()),
        _ => None,
    });
    assert_eq!(source, Some(Some("server".to_owned())));
    assert_eq!(
        session.view.lines()[1..],
        [
            r#"run1.c.w web_search Done: {"hits":[1.50]}"#,
            "run1.c.call_1 bash Skipped: -",
            "run1.c.unseen bash Done: a\n",
        ]
    );
    assert!(matches!(session.view.get("run1.c.call_1"), Some(Shown::Tool { state: ToolState::Skipped, .. })));
}

#[test]
fn usage_is_the_sessions_until_the_end_and_says_how_full_the_context_is() {
    let mut session = Session::new();
    session.check("context", r#"{"window":1000,"used":5,"shares":[{"name":"tools","tokens":5}],"partial":false}"#);
    session.open("x", RunOptions::default());
    session.say(r#"{"type":"usage_updated","usage":{"input_tokens":10,"output_tokens":2,"seconds":1.5,"requests":2,"context_tokens":102}}"#);
    assert_eq!(
        session.view.context,
        Some(ContextMeter { used: 102, window: Some(1000), partial: false, shares: Vec::new() })
    );
    session.named("result", r#"{"text":"x","usage":{"input_tokens":4,"context_tokens":0},"tools":[],"stop":null}"#);
    let usage: Vec<_> = session
        .events
        .iter()
        .filter_map(|event| match &event.body {
            EventBody::Usage { usage, scope } => Some((usage.input_tokens, usage.model_ms, *scope)),
            _ => None,
        })
        .collect();
    assert_eq!(usage, [(Some(10), Some(1500), UsageScope::Session), (Some(4), None, UsageScope::Turn)]);
}

#[test]
fn a_compaction_is_one_line_from_its_start_to_its_summary() {
    let mut session = Session::running();
    session.say(&text("a")).say(r#"{"type":"compaction_started"}"#);
    session.say(r#"{"type":"compaction_delta","text":"We "}"#).say(r#"{"type":"compaction_delta","text":"did"}"#);
    assert!(session.view.lines()[2].contains(r#"text: "We did""#) && session.view.lines()[2].contains("active: true"));
    session.say(r#"{"type":"compaction_finished","applied":true,"summary":"We did it."}"#).say(&text("b"));
    session.say(r#"{"type":"compaction_finished","applied":false,"summary":null}"#);
    let lines = session.view.lines();
    assert_eq!(lines.len(), 5);
    assert!(lines[2].contains(r#"text: "We did it.""#) && lines[2].contains("active: false"), "{lines:?}");
    assert_eq!(lines[3], "run1.m2 Agent: b");
    assert!(lines[4].contains("summary: None") && lines[4].contains("unchanged: true"), "{lines:?}");
}

#[test]
fn notices_by_level_and_unknown_levels_kept() {
    let mut session = Session::running();
    for level in [r#","level":"warn""#, r#","level":"info""#, "", r#","level":"odd""#] {
        session.say(&format!(r#"{{"type":"notice","text":"MCP starts"{level}}}"#));
    }
    let found: Vec<_> = session
        .events
        .iter()
        .filter_map(|event| match &event.body {
            EventBody::Notice { notice, .. } => {
                Some((format!("{:?}", notice.level), notice.detail.as_ref().map(|detail| detail.text.clone())))
            }
            _ => None,
        })
        .collect();
    let expected = [("Warning", None), ("Info", None), ("Info", None), ("Info", Some("odd".to_owned()))];
    assert_eq!(found, expected.map(|(level, word)| (level.to_owned(), word)));
}

#[test]
fn what_is_unknown_is_kept_word_for_word() {
    let mut session = Session::running();
    let raw = r#"{"type":"event","name":"BranchSwitched","to": 1.50}"#;
    session.say(raw).say(r#"{"type":"hologram"}"#).say("{}").say(r#"{"type":"raw","x":1}"#);
    session.named("progress", r#"{"percent":3}"#).say(r#"{"type":"finished","text":"x"}"#);
    // The names of our own checks mean nothing in a stream.
    session.named("current", r#"{"running":false}"#).named("history", r#"{"messages":[]}"#);
    assert_eq!(
        session.view.lines()[1..],
        [
            format!("frame:2 unknown BranchSwitched {raw}"),
            r#"frame:3 unknown hologram {"type":"hologram"}"#.to_owned(),
            "frame:4 unknown  {}".to_owned(),
            r#"frame:6 unknown progress {"percent":3}"#.to_owned(),
            r#"frame:8 unknown current {"running":false}"#.to_owned(),
            r#"frame:9 unknown history {"messages":[]}"#.to_owned(),
        ]
    );
    assert_eq!(session.view.state, SessionState::Running);
}

#[test]
fn a_frame_without_a_name_is_an_event_and_one_that_is_no_json_is_shown_and_read_again() {
    let mut session = Session::running();
    session.frame(&Frame { data: text("hi"), ..Frame::default() }, Origin::Stream);
    session.say("{half").say("");
    assert_eq!(session.view.lines()[1..], ["run1.m1 Agent Streaming: hi", "frame:3 unknown event {half"]);
    assert_eq!(session.view.rereads, 1);
}

#[test]
fn replaced_bytes_are_said() {
    let mut session = Session::running();
    let frame = Frame { data: text("h\u{fffd}"), repaired: true, ..Frame::default() };
    session.frame(&frame, Origin::Stream);
    assert!(session.view.lines()[1].contains("Warning BadUtf8"), "{:?}", session.view.lines());
}

#[test]
fn a_request_over_the_cap_is_asked_about_and_can_only_be_refused() {
    for (kind, choice) in [("approval_requested", ChoiceKind::Deny), ("question_asked", ChoiceKind::Decline)] {
        let mut session = Session::running();
        session.cut("event", &format!(r#"{{"type":"{kind}","call_id":"big","command":"echo aaaa"#));
        let seed = session.view.seed("run1:big");
        assert_eq!((seed.kind, seed.too_large), (RequestKind::Fallback, true));
        assert_eq!(seed.choices.iter().map(|choice| choice.kind).collect::<Vec<_>>(), [choice]);
        assert_eq!((session.view.open(), session.view.rereads), (vec!["run1:big"], 1));
    }
}

#[test]
fn a_stream_without_a_beginning_is_a_run_all_the_same() {
    let mut session = Session::new();
    session.say(&text("hi")).say(TOOL).say(ASK);
    assert_eq!(session.view.turns, [(Some("run1".to_owned()), None)]);
    assert_eq!(session.view.seed("run1:call_1").deadline_ms, None, "nobody here said how long");
    session.named("result", RESULT).open("x", RunOptions::default());
    assert_eq!(session.view.turns.len(), 2);
}
