//! What the real server sent, decoded: bytes of `tests/captures/runs` to the items a person would see.

use std::{fmt::Write, fs, path::Path};

use contract::{
    event::EventBody,
    session::RunOptions,
    wire::{Frame, Origin},
};

use super::Session;

/// Blocks of a recorded answer. The recordings are clean, so a few lines suffice here; the real splitter is `sse`.
fn frames(recorded: &str) -> Vec<Frame> {
    let recorded = recorded.replace("\r\n", "\n");
    let (head, body) = recorded.split_once("\n\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    body.split("\n\n")
        .map(|block| {
            let mut frame = Frame::default();
            for line in block.lines() {
                match line.split_once(": ") {
                    Some(("event", name)) => frame.name = Some(name.to_owned()),
                    Some(("data", data)) => frame.data.push_str(data),
                    _ => {}
                }
            }
            frame
        })
        .filter(|frame| !frame.data.is_empty())
        .collect()
}

/// Everything a capture becomes: a line for each event but the text as it comes, then what is shown.
fn decoded(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/captures/runs").join(name);
    let frames = frames(&fs::read_to_string(path).unwrap());
    let mut session = Session::new();
    if name.starts_with("resume") {
        session.resume();
    } else {
        session.open("the prompt", RunOptions::default());
    }
    let terminals: Vec<bool> = frames.iter().map(|frame| session.codec.parse(frame).terminal).collect();
    let ends = usize::from(name != "client-disconnected.sse");
    assert_eq!(terminals.iter().filter(|terminal| **terminal).count(), ends, "{name}");
    assert_eq!(terminals.last(), Some(&(ends == 1)), "{name}");
    let mut text = String::new();
    for frame in frames.iter().map(Some).chain([None]) {
        let before = session.events.len();
        match frame {
            Some(frame) => session.frame(frame, Origin::Stream),
            // The server closes behind the last frame.
            None => session.lose_connection(),
        };
        for event in &session.events[before..] {
            if !matches!(event.body, EventBody::Append { .. }) {
                writeln!(text, "{} {:?}", event.turn.as_deref().unwrap_or("-"), event.body).unwrap();
            }
        }
    }
    writeln!(text, "---\n{:?}\n{:?}", session.view.state, session.view.turns).unwrap();
    for line in session.view.lines() {
        writeln!(text, "{line}").unwrap();
    }
    text
}

macro_rules! captures {
    ($($test:ident $file:literal),* $(,)?) => {
        $(#[test]
        fn $test() {
            insta::assert_snapshot!(decoded($file));
        })*

        #[test]
        fn every_capture_is_decoded() {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/captures/runs");
            let mut found: Vec<String> =
                fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
            let mut listed = vec![$($file.to_owned()),*];
            found.sort();
            listed.sort();
            assert_eq!(found, listed);
        }
    };
}

captures! {
    approval_denied "approval-denied.sse",
    approval_granted "approval-granted.sse",
    approval_timed_out "approval-timed-out.sse",
    aside "aside.sse",
    cancel_again "cancel-2.sse",
    cancel_while_question "cancel-while-question.sse",
    client_disconnected "client-disconnected.sse",
    cancel_while_streaming "cancel-while-streaming.sse",
    max_output "max-output.sse",
    mode_auto "mode-auto.sse",
    mode_commands "mode-commands.sse",
    plain "plain.sse",
    provider_error "provider-error.sse",
    question_answered "question-answered.sse",
    question_declined "question-declined.sse",
    question_multiple "question-multiple.sse",
    remember "remember.sse",
    remembered_command "remembered-command.sse",
    resume_nothing_to_do "resume-nothing-to-do.sse",
    resume "resume.sse",
    run_timeout "run-timeout.sse",
    server_level_deny "server-level-deny.sse",
    server_level_full "server-level-full.sse",
    server_level_safe "server-level-safe.sse",
    steer_during_approval "steer-during-approval.sse",
    steer_twice "steer-twice.sse",
    steer "steer.sse",
    two_parallel_calls "two-parallel-calls.sse",
    write_file "write-file.sse",
}
