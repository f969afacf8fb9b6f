//! The history beside what was shown (runs-server page, §§7–8 and 10.19).

use contract::{
    event::EventBody,
    session::{RunOptions, StopReason},
    wire::{FrameKind, Identity},
};
use pretty_assertions::assert_eq;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{ASK, RESULT, Session, TOOL, framed, text, view::Shown};

fn user(text: &str) -> Value {
    json!({"role": "user", "text": text, "tool_calls": [], "images": 0, "pictures": []})
}

fn assistant(text: &str, calls: &[(&str, &str)]) -> Value {
    let calls: Vec<Value> = calls
        .iter()
        .map(|(id, command)| {
            json!({"call_id": id, "name": "bash", "arguments": {"command": command}, "output": "", "ok": true, "skipped": false})
        })
        .collect();
    json!({"role": "assistant", "text": text, "tool_calls": calls, "usage": {"input_tokens": 1}})
}

fn tool(id: &str, output: &str, ok: bool) -> Value {
    json!({"role": "tool", "text": output, "tool_call_id": id, "tool_name": "bash", "ok": ok})
}

fn messages(all: &[Value]) -> String {
    json!({"messages": all}).to_string()
}

#[test]
fn an_answer_equal_to_an_earlier_one_has_its_identity() {
    let session = Session::new();
    let parsed = |body: &str| {
        let parsed = session.codec.parse(&framed("history", body));
        assert_eq!((parsed.kind, parsed.terminal), (FrameKind::Buffered, false));
        let Some(Identity { event_id, thread: None }) = parsed.identity else { panic!("no identity") };
        event_id
    };
    let empty = parsed(r#"{"messages":[]}"#);
    assert!(empty.starts_with("history:") && empty.len() == "history:".len() + 64, "{empty}");
    assert_eq!(empty, parsed(r#"{"messages":[]}"#));
    assert_ne!(empty, parsed(r#"{"messages":[] }"#));
}

#[test]
fn a_session_that_was_never_followed_is_its_history() {
    let mut session = Session::new();
    let mut picture = tool("a", "seen", true);
    picture["pictures"] = json!([{"data": "AAAA", "media_type": "image/png"}]);
    session.history(&messages(&[
        user("hi"),
        assistant("Looking.", &[("a", "ls"), ("b", "pwd")]),
        tool("b", "no", false),
        picture,
        json!({"role": "summary", "text": "We looked."}),
        assistant("Done.", &[]),
        json!({"role": "narrator", "text": "?"}),
        user("and now"),
        assistant("", &[("a", "ls")]),
        tool("lost", "orphan", true),
    ]));
    assert_eq!(
        session.view.lines(),
        [
            "h1 User: hi",
            "h2 Agent: Looking.",
            "h3 bash Done: seen",
            "h4 bash Failed: no",
            r#"h5 Compacted { summary: Some(Text { text: "We looked.", chars: 10, handle: None }), active: false, unchanged: false }"#,
            "h6 Agent: Done.",
            r#"h7 unknown narrator {"role":"narrator","text":"?"}"#,
            "h8 User: and now",
            "h9 bash Cancelled: -",
            "h10 bash Done: orphan",
        ]
    );
    let turns: Vec<_> = session.view.items.iter().map(|(_, turn, _)| turn.as_deref().unwrap()).collect();
    assert_eq!(turns[..7], ["turn:h1"; 7]);
    assert_eq!(turns[7..], ["turn:h8"; 3]);
    assert!(session.view.turns.is_empty(), "no turn runs");
}

#[test]
fn a_text_that_a_drop_cut_off_is_made_whole_in_its_place_with_its_id() {
    let mut session = Session::running();
    session.say(r#"{"type":"reasoning_delta","text":"hm"}"#).say(&text("I will use ")).lose_connection();
    session.history(&messages(&[
        user("do it"),
        assistant("I will use a tool.", &[("call_1", "ls")]),
        tool("call_1", "a\n", true),
        assistant("Done.", &[]),
    ]));
    assert_eq!(
        session.view.lines(),
        [
            "ours0 User: do it",
            "run1.t1 thought false: hm",
            "run1.m1 Agent: I will use a tool.",
            "h1 bash Done: a\n",
            "h2 Agent: Done.",
        ]
    );
    assert!(session.view.items.iter().all(|(_, turn, _)| turn.as_deref() == Some("run1")));
}

#[test]
fn what_was_said_around_a_call_of_the_provider_is_one_text_of_the_history_and_stands_once() {
    for cut in [false, true] {
        let mut session = Session::running();
        session.say(&text("I search. "));
        session.say(r#"{"type":"server_tool_started","call_id":"s","name":"web_search","arguments":{}}"#);
        session.say(r#"{"type":"server_tool_finished","call_id":"s","name":"web_search","output":"3","ok":true}"#);
        if cut {
            session.say(&text("Fou")).lose_connection();
        } else {
            session.say(&text("Found it.")).named("result", RESULT);
        }
        let history = messages(&[user("do it"), assistant("I search. Found it.", &[])]);
        session.history(&history).history(&history);
        assert_eq!(
            session.view.lines(),
            [
                "ours0 User: do it",
                "run1.m1 Agent: I search. ",
                "run1.c.s web_search Done: 3",
                "run1.m2 Agent: Found it.",
            ],
            "{cut}"
        );
    }
}

#[test]
fn a_call_that_a_drop_left_open_gets_its_output() {
    let mut session = Session::running();
    session.say(TOOL).say(ASK).lose_connection();
    assert_eq!(session.view.lines()[1], "run1.c.call_1 bash Cancelled: -");
    let history = messages(&[
        user("do it"),
        assistant("", &[("call_1", "ls")]),
        tool("call_1", "Request cancelled before tool completion", false),
    ]);
    session.history(&history);
    assert_eq!(session.view.lines()[1..], ["run1.c.call_1 bash Failed: Request cancelled before tool completion"]);
    assert_eq!(session.view.last_stop(), Some(&StopReason::Interrupted));
}

#[test]
fn what_another_client_did_goes_between_what_we_saw() {
    let mut session = Session::running();
    session.say(&text("one")).say(r#"{"type":"notice","text":"note"}"#).named("result", RESULT);
    session.open("again", RunOptions::default()).say(&text("three")).named("result", RESULT);
    session.history(&messages(&[
        user("do it"),
        assistant("one", &[]),
        user("theirs"),
        assistant("two", &[]),
        user("again"),
        assistant("three", &[]),
    ]));
    assert_eq!(session.view.ids(), ["ours0", "run1.m1", "run1.n1", "h1", "h2", "ours4", "run2.m1"]);
    let turns: Vec<_> = session.view.items.iter().map(|(_, turn, _)| turn.as_deref().unwrap()).collect();
    assert_eq!(turns, ["run1", "run1", "run1", "turn:h1", "turn:h1", "run2", "run2"]);
}

#[test]
fn the_same_prompt_again_and_again_matches_one_to_one() {
    let mut session = Session::new();
    for _ in 0..3 {
        session.open("go on", RunOptions::default()).say(&text("ok")).named("result", RESULT);
    }
    let six =
        [user("go on"), assistant("ok", &[]), user("go on"), assistant("ok", &[]), user("go on"), assistant("ok", &[])];
    session.history(&messages(&six));
    assert_eq!(session.view.items.len(), 6);
    assert_eq!(session.view.ids(), ["ours0", "run1.m1", "ours3", "run2.m1", "ours6", "run3.m1"]);
}

#[test]
fn a_compaction_we_saw_is_the_historys_summary() {
    let mut session = Session::running();
    session.say(&text("one")).say(r#"{"type":"compaction_started"}"#);
    session.say(r#"{"type":"compaction_finished","applied":true,"summary":"We did one."}"#).say(&text("two"));
    session.named("result", RESULT);
    let history =
        [user("do it"), assistant("one", &[]), json!({"role":"summary","text":"We did one."}), assistant("two", &[])];
    session.history(&messages(&history));
    assert_eq!(session.view.ids(), ["ours0", "run1.m1", "run1.n1", "run1.m2"]);
}

#[test]
fn a_prompt_that_failed_stays_though_the_server_forgot_it() {
    let mut session = Session::running();
    session.named("error", r#"{"error":"run","message":"HTTP 500"}"#);
    session.open("again", RunOptions::default()).say(&text("ok")).named("result", RESULT);
    session.history(&messages(&[user("again"), assistant("ok", &[])]));
    assert_eq!(session.view.ids(), ["ours0", "run1.n1", "ours2", "run2.m1"]);
}

#[test]
fn a_history_that_comes_while_our_run_goes_on_waits_for_its_end() {
    let mut session = Session::running();
    session.say(&text("one"));
    let before = session.events.len();
    session.history(&messages(&[
        user("before"),
        assistant("x", &[]),
        user("do it"),
        assistant("one and", &[("c", "ls")]),
    ]));
    assert_eq!(session.events.len(), before, "the stream may be ahead of it or behind");
    session.say(&text(" and")).say(&TOOL.replace("call_1", "c")).named("result", RESULT);
    assert_eq!(session.view.ids(), ["h1", "h2", "ours0", "run1.m1", "run1.c.c"]);
}

#[test]
fn what_is_no_history_is_shown_and_changes_nothing() {
    let mut session = Session::running();
    session.named("result", RESULT).history(r#"{"rows":[]}"#).history("<html>");
    assert_eq!(session.view.lines()[1..], [r#"frame:3 unknown history {"rows":[]}"#, "frame:4 unknown history <html>"]);
    session.history(r#"{"messages":[7]}"#);
    assert_eq!(session.view.lines()[3], "h1 unknown  7");
}

/// A step of a run: what the agent says, the commands it then runs with their outputs.
type Step = (Option<&'static str>, Vec<(&'static str, &'static str)>);

#[derive(Debug, Clone)]
struct Scene {
    prompt: &'static str,
    steps: Vec<Step>,
    steered: bool,
    /// How many of its frames we see; `None` = all, and it ends well. Zero = another client's.
    seen: Option<usize>,
    /// The history is read behind it.
    read: bool,
}

fn scene() -> impl Strategy<Value = Scene> {
    let said = || prop::option::weighted(0.7, prop::sample::select(vec!["I will. ", "I will do it.", "Done."]));
    let command = (prop::sample::select(vec!["ls", "pwd"]), prop::sample::select(vec!["1", "2\n"]));
    let step = (said(), prop::collection::vec(command, 1..3));
    let seen = prop_oneof![3 => Just(None), 1 => Just(Some(0)), 3 => (1..14_usize).prop_map(Some)];
    (prop::sample::select(vec!["go", "go on"]), prop::collection::vec(step, 0..3), any::<bool>(), seen, any::<bool>())
        .prop_map(|(prompt, steps, steered, seen, read)| Scene { prompt, steps, steered, seen, read })
}

/// The frames of a run, and the messages it leaves.
fn played(scene: &Scene) -> (Vec<String>, Vec<Value>) {
    let (mut frames, mut left) = (Vec::new(), vec![user(scene.prompt)]);
    let say = |frames: &mut Vec<String>, words: &str| {
        let (first, rest) = words.split_at(words.len() / 2);
        frames.extend([text(first), text(rest)]);
    };
    for (words, commands) in &scene.steps {
        if let Some(words) = words {
            say(&mut frames, words);
        }
        let ids = ["c0", "c1"];
        let calls: Vec<(&str, &str)> = ids.into_iter().zip(commands.iter().map(|(command, _)| *command)).collect();
        left.push(assistant(words.unwrap_or_default().trim(), &calls));
        for (id, command) in &calls {
            frames.push(
                json!({"type": "tool_started", "call_id": id, "name": "bash", "arguments": {"command": command}})
                    .to_string(),
            );
        }
        for (id, (_, output)) in ids.into_iter().zip(commands) {
            frames.push(json!({"type": "tool_finished", "call_id": id, "name": "bash", "output": output, "ok": true, "skipped": false}).to_string());
            left.push(tool(id, output, true));
        }
    }
    say(&mut frames, "The end.");
    left.push(assistant("The end.", &[]));
    if scene.steered {
        frames.push(json!({"type": "steered", "text": "also this"}).to_string());
        say(&mut frames, "Also.");
        left.extend([user("also this"), assistant("Also.", &[])]);
    }
    (frames, left)
}

fn follow(scenes: &[Scene]) -> (Session, Vec<Value>) {
    let (mut session, mut kept) = (Session::new(), Vec::new());
    for scene in scenes {
        let (frames, left) = played(scene);
        kept.extend(left);
        if scene.seen != Some(0) {
            session.open(scene.prompt, RunOptions::default());
            for frame in frames.iter().take(scene.seen.unwrap_or(usize::MAX)) {
                session.say(frame);
            }
            match scene.seen {
                None => session.named("result", RESULT),
                Some(_) => session.lose_connection(),
            };
        }
        if scene.read {
            session.history(&messages(&kept));
        }
    }
    session.history(&messages(&kept));
    (session, kept)
}

/// What a person reads of it.
fn content(session: &Session) -> Vec<String> {
    session
        .view
        .items
        .iter()
        .filter_map(|(_, _, shown)| match shown {
            Shown::Message { role, text, state, .. } => Some(format!("{role:?} {state:?} {}", text.trim())),
            Shown::Tool { name, input, output, .. } => {
                let input: Value = serde_json::from_str(input).unwrap();
                Some(format!("{name} {input} {output:?}"))
            }
            Shown::Thought { .. } | Shown::Other(_) => None,
        })
        .collect()
}

proptest! {
    #[test]
    fn cut_anywhere_and_read_again_a_session_is_its_history(scenes in prop::collection::vec(scene(), 1..5)) {
        let (mut session, kept) = follow(&scenes);
        let mut never_followed = Session::new();
        never_followed.history(&messages(&kept));
        prop_assert_eq!(content(&session), content(&never_followed));
        // Reading it once more, with another prompt behind it, adds that alone and moves nothing.
        let ids: Vec<String> = session.view.ids().into_iter().map(str::to_owned).collect();
        let longer: Vec<Value> = kept.iter().cloned().chain([user("one more")]).collect();
        session.history(&messages(&longer));
        let now: Vec<&str> = session.view.ids();
        prop_assert_eq!(now.len(), ids.len() + 1);
        prop_assert!(now.iter().zip(&ids).all(|(now, before)| now == before));
    }

    #[test]
    fn a_log_that_is_read_again_gives_the_same_events(scenes in prop::collection::vec(scene(), 1..4)) {
        let (first, _) = follow(&scenes);
        let (second, _) = follow(&scenes);
        prop_assert_eq!(first.events, second.events);
    }

    #[test]
    fn what_we_saw_whole_is_never_told_again(scenes in prop::collection::vec(scene(), 1..4)) {
        let whole: Vec<Scene> = scenes.into_iter().map(|scene| Scene { seen: None, read: false, ..scene }).collect();
        let (session, kept) = follow(&whole);
        let before = session.events.len();
        let mut session = session;
        session.history(&messages(&kept));
        let told = session.bodies_since(before);
        prop_assert!(matches!(told[..], [EventBody::Arranged { .. }]), "{:?}", told);
        prop_assert!(session.view.ids().iter().all(|id| !id.starts_with('h')));
    }
}
