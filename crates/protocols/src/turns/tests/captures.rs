//! What the reference server sent, decoded: bytes of `tests/captures/turns` to the items a person would see.

use std::{fmt::Write, fs, path::Path};

use contract::{
    event::EventBody,
    wire::{Frame, Origin},
};

use super::{Session, framed};

/// Blocks of a recorded answer. The recordings are clean, so a few lines suffice here; the real splitter is `sse`.
fn frames(name: &str, recorded: &str) -> Vec<(Frame, Origin)> {
    if name.ends_with(".json") {
        // Read by the same connection as a stream, as its one event.
        return vec![(framed("turn", recorded.trim()), Origin::Stream)];
    }
    recorded
        .split("\n\n")
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
        .map(|frame| (frame, Origin::Stream))
        .collect()
}

/// Everything a capture becomes: a line for each event but the text as it comes, then what is shown.
fn decoded(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/captures/turns").join(name);
    let frames = frames(name, &fs::read_to_string(path).unwrap());
    let mut session = Session::running();
    let mut text = String::new();
    let last = frames.len() - 1;
    for (number, (frame, origin)) in frames.iter().enumerate() {
        assert_eq!(session.codec.parse(frame).terminal, number == last, "{name} {frame:?}");
        let before = session.events.len();
        session.frame(frame, *origin);
        for event in &session.events[before..] {
            if !matches!(event.body, EventBody::Append { .. }) {
                writeln!(text, "{} {:?}", event.turn.as_deref().unwrap_or("-"), event.body).unwrap();
            }
        }
    }
    let before = session.events.len();
    // The server closes behind the last frame.
    session.lose_connection();
    assert_eq!(session.events.len(), before, "what comes behind the end changes nothing");
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
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/captures/turns");
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
    plain_delta "01-plain-delta.sse",
    untrusted_delta "02-untrusted-delta.sse",
    grant_delta "03-grant-delta.sse",
    untrusted_message "04-untrusted-message.sse",
    deny_message "05-deny-message.sse",
    trusted_delta "06-trusted-delta.sse",
    mixed_delta "07-mixed-delta.sse",
    mixed_resolve_delta "08-mixed-resolve-delta.sse",
    untrusted_none "09-untrusted-none.json",
    grant_none "10-grant-none.json",
    trusted_none "11-trusted-none.json",
    long_delta "12-long-delta.sse",
    filter_none "13-filter-none.json",
    unknown_tool_delta "14-unknowntool-delta.sse",
}
