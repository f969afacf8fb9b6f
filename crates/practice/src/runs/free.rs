//! What the agent does with a prompt that no script foresaw: words in it ask for what one wants to see.

use std::collections::VecDeque;

use serde_json::json;

use crate::scenario::{self, Call, Question, Retry, Step};

/// How many bytes `BIG:n` may ask for.
const BIGGEST: usize = 256 * 1024 * 1024;

/// How much of an output the agent repeats.
const QUOTED: usize = 80;

pub(crate) fn say(text: impl Into<String>) -> Step {
    Step::Say { text: text.into(), delta_ms: 40 }
}

fn after<'a>(text: &'a str, word: &str) -> Vec<&'a str> {
    text.lines().filter_map(|line| line.trim_start().strip_prefix(word)).map(str::trim).collect()
}

/// As much of an output as the agent repeats.
pub(crate) fn shortened(output: &str) -> String {
    output.chars().take(QUOTED).collect::<String>().trim_end().to_owned()
}

/// What a shell would print; nothing is run.
fn printed(command: &str) -> String {
    command.strip_prefix("echo ").map_or_else(|| format!("ran: {command}\n"), |text| format!("{text}\n"))
}

fn run(command: &str) -> Call {
    let input = match command.split_once(" @in ") {
        Some((command, folder)) => json!({"command": command, "work_dir": folder}),
        None => json!({"command": command}),
    };
    let result = printed(command.split(" @in ").next().unwrap_or_default());
    Call { name: "bash".into(), input, ms: 300, result, ..Call::default() }
}

/// The steps that answer `text`.
pub(crate) fn steps(text: &str) -> VecDeque<Step> {
    let mut steps = VecDeque::new();
    if text.contains("ERR") {
        let message = "HTTP 500: the provider failed".to_owned();
        steps.push_back(Step::Error { kind: "run".into(), message, retry: Retry::Exhausted });
        return steps;
    }
    if text.contains("THINK") {
        let text = "Let me think about this. The reader wants a demonstration.".to_owned();
        steps.push_back(Step::Think { text, ms: 900 });
    }
    let (commands, written) = (after(text, "RUN:"), after(text, "WRITE:"));
    let mut calls: Vec<Call> = commands.into_iter().map(run).collect();
    calls.extend(written.into_iter().map(|path| Call {
        name: "write_file".into(),
        input: json!({"path": path, "content": "hello\n"}),
        result: format!("Created {path}"),
        ..Call::default()
    }));
    calls.extend(after(text, "BIG:").into_iter().filter_map(|size| size.parse::<usize>().ok()).map(|size| Call {
        name: "read_file".into(),
        input: json!({"path": "big.log"}),
        result_bytes: size.min(BIGGEST),
        ..Call::default()
    }));
    if !calls.is_empty() {
        steps.push_back(say("I will use a tool. "));
        steps.push_back(Step::Batch { calls, finish: Vec::new() });
        steps.push_back(say("Finished. The tool said: {output}"));
    }
    for asked in after(text, "ASK:") {
        let mut parts = asked.split('|').map(str::trim).map(str::to_owned);
        let question = parts.next().unwrap_or_default();
        let question = Question {
            allow_multiple: text.contains("MANY"),
            question,
            options: parts.collect(),
            ..Question::default()
        };
        steps.push_back(say("I will use a tool. "));
        steps.push_back(Step::Question(question));
        steps.push_back(say("Finished. The tool said: {output}"));
    }
    for id in after(text, "PLAY:") {
        if let Ok(scenario) = scenario::find(id) {
            steps.extend(scenario.steps.into_iter().filter(|step| !opens(step)));
        }
    }
    if text.contains("SLOW") {
        let text = "This answer takes its time, one small piece after the other. ".repeat(8);
        steps.push_back(Step::Say { text, delta_ms: 400 });
    }
    if steps.iter().all(|step| matches!(step, Step::Think { .. })) {
        steps.push_back(say(format!("Hello! You said: {text}")));
    }
    if text.contains("LEN") {
        steps.push_back(Step::Stop { reason: "max_output".into(), message: None });
    }
    steps
}

/// The step repeats the last tool's output.
pub(crate) fn reports(step: &Step) -> bool {
    matches!(step, Step::Say { text, .. } if text.contains("{output}"))
}

/// The step begins a prompt of a script.
pub(crate) fn opens(step: &Step) -> bool {
    matches!(step, Step::User { .. } | Step::WaitForMessage)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn several_run_lines_are_one_batch_between_two_texts() {
        let steps = steps("RUN:echo one\nRUN:ls @in src");
        let [Step::Say { .. }, Step::Batch { calls, .. }, Step::Say { .. }] = steps.as_slices().0 else {
            panic!("{steps:?}")
        };
        assert_eq!(calls[0].result, "one\n");
        assert_eq!(calls[1].input, json!({"command": "ls", "work_dir": "src"}));
    }

    #[test]
    fn a_question_line_has_its_options_behind_bars() {
        let steps = steps("MANY please\nASK:Which db?|sqlite|postgres");
        let Some(Step::Question(asked)) = steps.get(1) else { panic!("{steps:?}") };
        assert_eq!((asked.question.as_str(), asked.options.len(), asked.allow_multiple), ("Which db?", 2, true));
    }

    #[test]
    fn a_prompt_without_such_words_is_echoed() {
        assert_eq!(steps("你好"), [say("Hello! You said: 你好")]);
    }
}
