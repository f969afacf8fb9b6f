//! Commands that run other commands: shells that are given text, and wrappers.

use super::Command;

/// Text that a command gives to a shell to run: `sh -c '…'`, `eval …`, a here document behind a shell.
pub(super) fn given_text(command: &Command) -> Vec<(String, usize)> {
    let given = |text: String| vec![(text, command.segment)];
    let whole = unwrapped(command);
    let is_shell = is_shell(whole.program());
    if is_shell {
        let mut args = whole.words.iter().skip(1);
        while let Some(word) = args.next() {
            let takes_text = word.text.starts_with('-') && !word.text.starts_with("--") && word.text.contains('c');
            if takes_text {
                return match args.next() {
                    Some(text) if !text.is_made => given(text.text.clone()),
                    _ => Vec::new(),
                };
            }
        }
        return whole.here_text.clone().map(given).unwrap_or_default();
    }
    if whole.program() == "eval" && whole.words.iter().all(|word| !word.is_made) {
        return given(whole.args().collect::<Vec<_>>().join(" "));
    }
    Vec::new()
}

/// Whether this program runs shell text.
pub(crate) fn is_shell(program: &str) -> bool {
    matches!(program, "sh" | "bash" | "zsh" | "dash" | "ksh" | "ash" | "fish" | "csh" | "tcsh")
}

/// The command that a wrapper runs (`sudo -u x rm y` is `rm y`), the wrappers taken off.
pub(crate) fn unwrapped(command: &Command) -> Command {
    let mut rest = command.words.as_slice();
    loop {
        let program = rest.first().map_or("", |word| word.text.rsplit('/').next().unwrap_or(""));
        let takes: &[&str] = match program {
            "sudo" | "doas" => &["-u", "-g", "-h", "-p", "-C", "-r", "-t", "-U", "-D", "--user", "--group"],
            "env" => &["-u", "--unset", "-C", "--chdir", "-S"],
            "nice" => &["-n", "--adjustment"],
            "ionice" => &["-c", "-n", "-p"],
            "timeout" => &["-s", "-k", "--signal", "--kill-after"],
            "xargs" => &["-I", "-n", "-P", "-L", "-d", "-s", "-a", "-E"],
            "stdbuf" => &["-i", "-o", "-e"],
            "nohup" | "time" | "command" | "builtin" | "exec" | "setsid" | "unbuffer" | "busybox" | "chronic" => &[],
            _ => break,
        };
        let is_timeout = program == "timeout";
        let mut left = rest.get(1..).unwrap_or_default();
        while let Some(word) = left.first() {
            let assigns = word.text.split_once('=').is_some_and(|(name, _)| is_name(name));
            if word.text.starts_with('-') {
                let skip = if takes.contains(&word.text.as_str()) { 2 } else { 1 };
                left = left.get(skip..).unwrap_or_default();
            } else if assigns && matches!(program, "env" | "sudo") {
                left = left.get(1..).unwrap_or_default();
            } else {
                break;
            }
        }
        if is_timeout {
            left = left.get(1..).unwrap_or_default();
        }
        if left.is_empty() {
            break;
        }
        rest = left;
    }
    Command { words: rest.to_vec(), ..command.clone() }
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}
