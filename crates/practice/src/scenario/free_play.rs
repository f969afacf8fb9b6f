//! What the agent does with a message that no script foresaw: words in it ask for what a person or a test wants to see.

use serde_json::json;

use super::{Call, Retry, Step};

/// How many bytes `BIG:n` may ask for.
const BIGGEST: usize = 256 * 1024 * 1024;

fn say(text: impl Into<String>) -> Step {
    Step::Say { text: text.into(), delta_ms: 40 }
}

fn after<'a>(text: &'a str, word: &str) -> Vec<&'a str> {
    text.lines().filter_map(|line| line.trim_start().strip_prefix(word)).map(str::trim).collect()
}

/// The steps that answer `text`.
pub(crate) fn steps(text: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    if text.contains("THINK") {
        steps.push(Step::Think {
            text: "Turning the question over, looking for the part that matters.".into(),
            ms: 900,
        });
    }
    if text.contains("EDIT") {
        steps.push(Step::Tool(Call {
            name: "Edit".into(),
            input: json!({"file_path": "notes.md", "old_string": "draft", "new_string": "final"}),
            ms: 40,
            result: "notes.md was edited".into(),
            ..Call::default()
        }));
    }
    for size in after(text, "BIG:").into_iter().filter_map(|size| size.parse::<usize>().ok()) {
        steps.push(Step::Tool(Call {
            name: "Bash".into(),
            input: json!({"command": "seq"}),
            ms: 100,
            result_bytes: size.min(BIGGEST),
            ..Call::default()
        }));
    }
    let commands = after(text, "RUN:");
    if !commands.is_empty() {
        steps.push(Step::Batch { calls: commands.into_iter().map(run).collect(), finish: Vec::new() });
    }
    for tool in after(text, "ASK:") {
        steps.push(Step::CustomTool(Call {
            name: if tool.is_empty() || tool == "tool" { "lookup_order".into() } else { tool.into() },
            input: json!({"order_id": "ord_123"}),
            allow: vec![say("The tool answered: {answer}")],
            ..Call::default()
        }));
    }
    if text.contains("SLOW") {
        let sentence = "This answer takes its time, one small piece after the other. ";
        steps.push(Step::Say { text: sentence.repeat(8), delta_ms: 400 });
    }
    for id in after(text, "PLAY:") {
        if let Ok(scenario) = super::find(id) {
            steps.extend(scenario.steps.into_iter().filter(|step| !matches!(step, Step::User { .. })));
        }
    }
    if text.contains("ERR") {
        let retry = if text.contains("ERR:terminal") {
            Retry::Terminal
        } else if text.contains("ERR:retrying") {
            Retry::Retrying
        } else {
            Retry::Exhausted
        };
        steps.push(Step::Error {
            kind: "model_overloaded_error".into(),
            message: "The model is overloaded.".into(),
            retry,
        });
        if retry == Retry::Retrying {
            steps.push(say("It worked at the second try."));
        }
    }
    if steps.is_empty() {
        steps.push(say(format!("You said: {text}")));
    }
    steps
}

fn run(command: &str) -> Call {
    Call {
        name: "Bash".into(),
        input: json!({"command": command, "description": "Runs a command"}),
        ms: 600,
        result: format!("$ {command}\nok"),
        allow: vec![say(format!("`{command}` ran."))],
        deny: vec![say("Then I leave it. {answer}")],
        ..Call::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_run_line_is_one_call_of_a_batch() {
        let steps = steps("please\nRUN:ls -la\nRUN:rm -rf build");
        let [Step::Batch { calls, .. }] = &steps[..] else { panic!("{steps:?}") };
        let commands: Vec<_> = calls.iter().map(|call| call.input["command"].as_str().unwrap()).collect();
        assert_eq!(commands, ["ls -la", "rm -rf build"]);
    }

    #[test]
    fn a_message_without_such_words_is_echoed() {
        assert_eq!(steps("你好"), [say("You said: 你好")]);
    }

    #[test]
    fn play_runs_a_scenario_inside_the_turn() {
        let steps = steps("PLAY:approval");
        assert!(steps.iter().any(|step| matches!(step, Step::Ask(_))), "{steps:?}");
        assert!(!steps.iter().any(|step| matches!(step, Step::User { .. })));
    }
}
