//! What the agent does with a message that no script foresaw: words in it ask for what one wants to see.

use std::collections::VecDeque;

use serde_json::{Value, json};

use super::config::Setup;
use crate::scenario::{self, Call, Retry, Step};

/// How many bytes `BIG:n` may ask for.
const BIGGEST: usize = 256 * 1024 * 1024;

/// What it says before it calls tools.
const BEFORE: &str = "Let me check. ";

/// What it says behind them.
const BEHIND: &str = "Tools said: {output}";

/// The smallest picture there is.
pub(crate) const PIXEL: &str = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

pub(crate) fn say(text: impl Into<String>) -> Step {
    Step::Say { text: text.into(), delta_ms: 40 }
}

/// The step begins a message of a script.
pub(crate) fn opens(step: &Step) -> bool {
    matches!(step, Step::User { .. } | Step::WaitForMessage)
}

fn after<'a>(text: &'a str, word: &str) -> Vec<&'a str> {
    text.lines().filter_map(|line| line.trim_start().strip_prefix(word)).map(str::trim).collect()
}

/// `name` or `name {json}`.
fn call(line: &str) -> Call {
    let (name, input) = line.split_once(' ').unwrap_or((line, ""));
    let input = serde_json::from_str(input).ok().filter(Value::is_object).unwrap_or_else(|| json!({}));
    Call { name: name.to_owned(), input, ms: 300, ..Call::default() }
}

/// Two tools of the client, one that is trusted and one that is not, in one step (§7.1).
fn mixed(setup: &Setup) -> Vec<Call> {
    let clients = setup.client_tools();
    let client = |at: usize, usual: &str| call(clients.get(at).copied().unwrap_or(usual));
    let trust = |trust: bool, usual: &str| {
        let found = setup.enabled.iter().find(|tool| tool.trust == trust);
        call(found.map_or(usual, |tool| tool.name.as_str()))
    };
    let mut untrusted = trust(false, "write_note");
    untrusted.input = json!({"text": "hi"});
    vec![client(0, "calc"), client(1, "pick"), trust(true, "clock"), untrusted]
}

/// The steps that answer `text`.
pub(crate) fn steps(text: &str, images: usize, setup: &Setup) -> VecDeque<Step> {
    let has = |word: &str| text.split(|letter: char| !letter.is_alphanumeric()).any(|part| part == word);
    let mut steps = VecDeque::new();
    if has("ERR") {
        let message = "the model's provider answered 500".to_owned();
        steps.push_back(Step::Error { kind: "agent_error".into(), message, retry: Retry::Exhausted });
        return steps;
    }
    if has("REFUSE") {
        steps.push_back(Step::Stop { reason: "refusal".into(), message: None });
        return steps;
    }
    if has("THINK") {
        let text = "The reader wants to see how thinking looks. I think before I answer.".to_owned();
        steps.push_back(Step::Think { text, ms: 900 });
    }
    if has("HANG") {
        steps.push_back(Step::Gate { name: "hang".into() });
    }
    let mut calls: Vec<Call> = after(text, "CALL:").into_iter().map(call).collect();
    calls.extend(after(text, "RUN:").into_iter().map(|command| Call {
        name: "run_command".into(),
        input: json!({"command": command}),
        ms: 300,
        ..Call::default()
    }));
    calls.extend(after(text, "BIG:").into_iter().filter_map(|size| size.parse::<usize>().ok()).map(|size| Call {
        result_bytes: size.min(BIGGEST),
        ruled: Some(true),
        ..call("read_file")
    }));
    if has("IMAGE") {
        let shown = json!([{"type": "text", "text": "One pixel."}, {"type": "image", "url": PIXEL},
            {"type": "image", "url": "https://example.invalid/picture.png"}]);
        calls.push(Call { content: Some(shown), ruled: Some(true), ..call("draw") });
    }
    if has("MIX") {
        calls.extend(mixed(setup));
    }
    if !calls.is_empty() {
        steps.push_back(say(BEFORE));
        steps.push_back(Step::Batch { calls, finish: Vec::new() });
        steps.push_back(say(BEHIND));
    }
    for asked in after(text, "ASK:") {
        let mut parts = asked.split('|').map(str::trim);
        let question = parts.next().unwrap_or_default();
        let options: Vec<&str> = parts.collect();
        let input = json!({"question": question, "options": options});
        steps.push_back(Step::Batch { calls: vec![Call { input, ..call("ask_user") }], finish: Vec::new() });
        steps.push_back(say(BEHIND));
    }
    for id in after(text, "PLAY:") {
        if let Ok(scenario) = scenario::find(id) {
            steps.extend(scenario.steps.into_iter().filter(|step| !opens(step)));
        }
    }
    if has("SLOW") {
        let text = "This answer takes its time, one small piece after the other. ".repeat(8);
        steps.push_back(Step::Say { text, delta_ms: 400 });
    }
    if has("MANY") {
        steps.extend(["First message.", "Second message.", "Third message."].map(say));
    }
    if has("LEN") {
        steps.push_back(say("cut off her"));
        steps.push_back(Step::Stop { reason: "max_tokens".into(), message: None });
    }
    if steps.iter().all(|step| matches!(step, Step::Think { .. } | Step::Gate { .. })) {
        let pictures = if images > 0 { format!(" ({images} images)") } else { String::new() };
        steps.push_back(say(format!("You said: {text}{pictures}")));
    }
    steps
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn several_call_lines_are_one_step_between_two_texts() {
        let steps = steps("CALL:calc\nCALL:write_note {\"text\":\"hi\"}", 0, &Setup::default());
        let [Step::Say { .. }, Step::Batch { calls, .. }, Step::Say { .. }] = steps.as_slices().0 else {
            panic!("{steps:?}")
        };
        assert_eq!((calls[0].name.as_str(), &calls[1].input), ("calc", &json!({"text": "hi"})));
    }

    #[test]
    fn a_message_without_such_words_is_echoed() {
        let echo = |text, images| steps(text, images, &Setup::default());
        assert_eq!(echo("hello", 0), [say("You said: hello")]);
        assert_eq!(echo("你好", 2), [say("You said: 你好 (2 images)")]);
        assert_eq!(echo("ERRAND", 0).len(), 1, "a word inside another one asks for nothing");
        assert!(matches!(echo("ERRAND", 0)[0], Step::Say { .. }));
    }
}
