//! Options of runs, checked before they are kept (runs-server §4).

use contract::{
    error::{AppError, ErrorCode},
    session::{ApprovalMode, RunOptions},
};

/// Seconds an answer may be waited for at most.
const MOST_ANSWER_S: u32 = 3_600;

/// Commands of a list at most.
const MOST_COMMANDS: usize = 200;

/// What a shell reads as more than a word: a server never matches a command with one of these.
const SHELL: &[char] = &[
    ';', '&', '|', '<', '>', '$', '`', '(', ')', '{', '}', '[', ']', '*', '?', '!', '~', '#', '\\', '"', '\'', '\n',
    '\r',
];

/// The options as they are kept: commands without the spaces around them.
///
/// # Errors
/// `InvalidInput` with what to change.
pub fn checked(mut options: RunOptions) -> Result<RunOptions, AppError> {
    if !(1..=MOST_ANSWER_S).contains(&options.answer_timeout_s) {
        return Err(invalid("An answer can be waited for from 1 second to an hour."));
    }
    if options.run_timeout_s == Some(0) {
        return Err(invalid("A run needs at least a second, or no limit at all."));
    }
    if let ApprovalMode::Commands { commands } = &mut options.approvals {
        for command in commands.iter_mut() {
            *command = command.trim().to_owned();
            if command.is_empty() {
                return Err(invalid("A row of the list of commands is empty. Fill it in, or remove it."));
            }
            if let Some(found) = command.chars().find(|char| SHELL.contains(char) || char.is_control()) {
                let shown = found.escape_default();
                return Err(invalid(&format!(
                    "\"{command}\" can never match, because of its {shown}: list a plain command, without anything a shell reads."
                )));
            }
        }
        if commands.is_empty() {
            return Err(invalid("List at least one command, or choose another way of answering."));
        }
        if commands.len() > MOST_COMMANDS {
            return Err(invalid("List at most 200 commands."));
        }
    }
    Ok(options)
}

fn invalid(message: &str) -> AppError {
    AppError::new(ErrorCode::InvalidInput, message)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn commands(rows: &[&str]) -> RunOptions {
        let commands = rows.iter().map(|row| (*row).to_owned()).collect();
        RunOptions { approvals: ApprovalMode::Commands { commands }, ..RunOptions::default() }
    }

    #[test]
    fn a_list_of_plain_commands_is_kept_without_the_spaces_around_them() {
        assert_eq!(checked(commands(&["  git status ", "ls -la /tmp"])), Ok(commands(&["git status", "ls -la /tmp"])));
    }

    #[test]
    fn what_could_never_match_or_says_nothing_is_refused_with_words() {
        for rows in [&["ls; rm x"][..], &["a && b"], &["cat $HOME"], &["x > y"], &["a\nb"], &["  "], &[]] {
            let refused = checked(commands(rows)).unwrap_err();
            assert_eq!(refused.code, ErrorCode::InvalidInput, "{rows:?}");
        }
    }

    #[test]
    fn times_that_the_server_refuses_are_refused_here() {
        for answer_timeout_s in [0, 3_601] {
            assert!(checked(RunOptions { answer_timeout_s, ..RunOptions::default() }).is_err());
        }
        assert!(checked(RunOptions { run_timeout_s: Some(0), ..RunOptions::default() }).is_err());
        assert_eq!(checked(RunOptions::default()), Ok(RunOptions::default()));
    }
}
