//! What real servers sent, decoded: bytes of `tests/captures/managed` to the items a person would see.

use std::{fmt::Write, fs, path::Path};

use contract::wire::Frame;

use super::Session;

/// Blocks of a recorded stream. The recordings are clean, so a few lines suffice here; the real splitter is `sse`.
fn frames(recorded: &str) -> Vec<Frame> {
    recorded
        .replace("\r\n", "\n")
        .split("\n\n")
        .map(|block| {
            let mut frame = Frame::default();
            for line in block.lines() {
                match line.split_once(": ") {
                    Some(("id", id)) => frame.id = Some(id.to_owned()),
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

/// Everything a capture becomes, one line each; ids by order of appearance, since they are random.
fn decoded(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/captures/managed").join(name);
    let recorded = fs::read_to_string(path).unwrap();
    let mut session = Session::claude();
    let mut ids: Vec<String> = Vec::new();
    let mut text = String::new();
    for frame in frames(&recorded) {
        let parsed = session.codec.parse(&frame);
        if let Some(identity) = &parsed.identity
            && !ids.contains(&identity.event_id)
        {
            ids.push(identity.event_id.clone());
        }
        let before = session.events.len();
        let kind = session.frame(&frame);
        writeln!(text, "{} {kind:?} {}", frame.id.unwrap_or_default(), frame.name.unwrap_or_default()).unwrap();
        for event in &session.events[before..] {
            writeln!(text, "    {:?}", event).unwrap();
        }
    }
    writeln!(text, "---\n{:?}\n{:?}", session.view.state, session.view.turns).unwrap();
    for (id, shown) in session.view.ids().iter().zip(session.view.shown()) {
        writeln!(text, "{id}: {shown:?}").unwrap();
    }
    for (number, id) in ids.iter().enumerate() {
        text = text.replace(id.as_str(), &format!("<{number}>"));
    }
    text
}

#[test]
fn open_managed_agents_a_custom_tool_and_its_answer() {
    insta::assert_snapshot!(decoded("open-managed-agents-a.sse"));
}

#[test]
fn open_managed_agents_b_an_approval_without_evaluated_permission() {
    insta::assert_snapshot!(decoded("open-managed-agents-b.sse"));
}

#[test]
fn open_managed_agents_with_another_backend() {
    insta::assert_snapshot!(decoded("open-managed-agents-openai-backend.sse"));
}
