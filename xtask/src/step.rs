//! One program run to its end: what it prints is shown at once and kept, and it may not run for ever.

use std::io::{BufRead, BufReader, IsTerminal, Read};
use std::process::{Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use anyhow::Result;

use crate::group::Group;

/// How often a quiet program is looked at.
const LOOK: Duration = Duration::from_millis(50);

/// What an ended program had printed before is waited for so long. Only a daemon that left its group, and holds its
/// pipes, lets this pass.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// What a program printed and how it ended.
#[derive(Debug)]
pub struct Outcome {
    /// Every line of its output and its error output, in the order they arrived.
    pub lines: Vec<String>,
    /// Did it end by itself and report success?
    pub ended_well: bool,
}

/// Runs a program without input. All its lines go to our standard output.
///
/// # Errors
/// When it cannot be started or watched. A program that fails, or is ended at the limit, is an [`Outcome`].
pub fn run(command: &mut Command, limit: Duration) -> Result<Outcome> {
    if std::io::stdout().is_terminal() {
        command.env("CARGO_TERM_COLOR", "always").env("FORCE_COLOR", "1");
    }
    watch(command.stderr(Stdio::piped()), limit)
}

/// The same for a program whose standard output is a result that others read: its error output stays apart.
///
/// # Errors
/// As for [`run`].
pub fn run_for_results(command: &mut Command, limit: Duration) -> Result<Outcome> {
    watch(command.stderr(Stdio::inherit()), limit)
}

fn watch(command: &mut Command, limit: Duration) -> Result<Outcome> {
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    let started = Instant::now();
    let mut group = Group::start(command)?;
    let (sender, arrived) = channel();
    if let Some(output) = group.leader().stdout.take() {
        follow(output, sender.clone());
    }
    if let Some(errors) = group.leader().stderr.take() {
        follow(errors, sender);
    }

    let mut lines = Vec::new();
    let mut keep = |line: String| {
        println!("{line}");
        lines.push(line);
    };
    let ended_well = loop {
        match arrived.recv_timeout(LOOK) {
            Ok(line) => keep(line),
            // A daemon it left behind may hold the pipes open: its own end is what counts.
            Err(RecvTimeoutError::Timeout) => {
                if let Some(status) = group.ended()? {
                    break Some(status.success());
                }
            }
            Err(RecvTimeoutError::Disconnected) => {
                if let Some(status) = group.ended()? {
                    break Some(status.success());
                }
                std::thread::sleep(LOOK);
            }
        }
        if started.elapsed() > limit {
            break None;
        }
    };
    group.end();
    // On a busy machine its last lines may not have been read yet.
    let last = Instant::now();
    while let Some(left) = LAST_WORDS.checked_sub(last.elapsed())
        && let Ok(line) = arrived.recv_timeout(left)
    {
        keep(line);
    }
    if ended_well.is_none() {
        keep(format!("ended after {} s without a result", limit.as_secs()));
    }
    Ok(Outcome { lines, ended_well: ended_well.unwrap_or(false) })
}

fn follow(pipe: impl Read + Send + 'static, sender: Sender<String>) {
    std::thread::spawn(move || {
        let mut pipe = BufReader::new(pipe);
        let mut line = Vec::new();
        loop {
            line.clear();
            match pipe.read_until(b'\n', &mut line) {
                Ok(0) | Err(_) => break,
                Ok(_) => {
                    let text = String::from_utf8_lossy(&line).trim_end_matches(['\n', '\r']).to_owned();
                    if sender.send(text).is_err() {
                        break;
                    }
                }
            }
        }
    });
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    fn sh(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn both_outputs_are_kept_and_the_end_is_told() {
        let outcome = run(&mut sh("echo out; exec >&2; echo err; exit 3"), LONG).unwrap();
        let mut lines = outcome.lines;
        lines.sort();
        assert_eq!(lines, ["err", "out"]);
        assert!(!outcome.ended_well);
        assert!(run(&mut sh("exit 0"), LONG).unwrap().ended_well);
    }

    #[test]
    fn no_line_is_lost_that_was_printed_right_before_the_end() {
        let lines: Vec<String> = (0..20_000).map(|number| number.to_string()).collect();
        // Nothing comes for longer than one look, then everything at once.
        let outcome = run(&mut sh("sleep 0.2; seq 0 19999"), LONG).unwrap();
        assert!(outcome.lines == lines, "{} lines", outcome.lines.len());
    }

    #[test]
    fn a_daemon_that_holds_the_pipes_does_not_hold_the_run() {
        let outcome = run(&mut sh("sleep 600 & echo done"), LONG).unwrap();
        assert_eq!(outcome.lines, ["done"]);
        assert!(outcome.ended_well);
    }

    #[test]
    fn a_program_that_never_ends_is_ended_and_counts_as_failed() {
        let outcome = run(&mut sh("sleep 600"), Duration::from_millis(100)).unwrap();
        assert_eq!(outcome.lines, ["ended after 0 s without a result"]);
        assert!(!outcome.ended_well);
    }

    #[test]
    fn a_program_that_asks_gets_no_input_instead_of_waiting() {
        let outcome = run(&mut sh("read -r answer || echo nothing"), LONG).unwrap();
        assert_eq!(outcome.lines, ["nothing"]);
    }
}
