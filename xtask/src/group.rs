//! A child and everything it starts, ended together.
//!
//! On Unix the child leads a process group of its own. A guard, a tiny shell in yet another group, reads from a pipe
//! that only this process holds: when the pipe closes, because the group is to end or because this process died in
//! whatever way, the guard ends the group by its id, politely first. So neither Ctrl+C nor a crash leaves an X server, a bus or
//! the app behind.

use std::process::{Child, Command, ExitStatus};

use anyhow::{Context, Result};

/// TERM, then up to five seconds, then KILL; `$1` is the group's id. Written with `-s`, the only form in which every
/// shell's own `kill` takes a group.
#[cfg(unix)]
const GUARD: &str = r#"
trap '' INT HUP
read -r _
kill -s TERM -- "-$1" || exit 0
tries=0
while kill -s 0 -- "-$1" && [ "$tries" -lt 50 ]; do sleep 0.1; tries=$((tries + 1)); done
kill -s KILL -- "-$1"
"#;

/// A running child with its descendants. Dropping it ends them all and waits until they are gone.
pub struct Group {
    child: Child,
    #[cfg(unix)]
    guard: Child,
}

impl Group {
    /// Starts the command as the leader of a new group.
    ///
    /// # Errors
    /// When the program, or on Unix its guard, cannot be started.
    #[cfg(unix)]
    pub fn start(command: &mut Command) -> Result<Self> {
        use std::os::unix::process::CommandExt;
        use std::process::Stdio;

        let mut child =
            command.process_group(0).spawn().with_context(|| format!("{} could not be started", named(command)))?;
        let guard = Command::new("sh")
            .args(["-c", GUARD, "guard", &child.id().to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn();
        match guard {
            Ok(guard) => Ok(Self { child, guard }),
            Err(problem) => {
                let _gone_already = child.kill();
                let _reaped = child.wait();
                Err(problem).context("sh could not be started")
            }
        }
    }

    /// Starts the command.
    ///
    /// # Errors
    /// When the program cannot be started.
    #[cfg(not(unix))]
    pub fn start(command: &mut Command) -> Result<Self> {
        let child = command.spawn().with_context(|| format!("{} could not be started", named(command)))?;
        Ok(Self { child })
    }

    /// The leader: its pipes, its id.
    pub fn leader(&mut self) -> &mut Child {
        &mut self.child
    }

    /// How the leader ended, or `None` while it runs.
    ///
    /// # Errors
    /// When the system refuses to say.
    pub fn ended(&mut self) -> Result<Option<ExitStatus>> {
        self.child.try_wait().context("a child could not be watched")
    }

    /// Ends the group and waits until it is gone.
    pub fn end(&mut self) {
        #[cfg(unix)]
        {
            drop(self.guard.stdin.take());
            // The leader is reaped here, so that the guard no longer sees it as one of the group.
            let _ended = self.child.wait();
            let _ended = self.guard.wait();
        }
        #[cfg(not(unix))]
        {
            let _gone_already = self.child.kill();
            let _ended = self.child.wait();
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.end();
    }
}

fn named(command: &Command) -> String {
    command.get_program().to_string_lossy().into_owned()
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader, Read};
    use std::process::Stdio;

    /// Starts `script`, which says "up" when it is ready; its output pipe reaches its end only when every process
    /// that holds it is gone.
    fn start(script: &str) -> (Group, BufReader<std::process::ChildStdout>) {
        let mut group = Group::start(Command::new("sh").args(["-c", script]).stdout(Stdio::piped())).unwrap();
        let mut output = BufReader::new(group.leader().stdout.take().unwrap());
        let mut first = String::new();
        output.read_line(&mut first).unwrap();
        assert_eq!(first, "up\n");
        (group, output)
    }

    #[test]
    fn a_grandchild_ends_with_its_group() {
        let (mut group, mut output) = start("sleep 600 & echo up; wait");
        group.end();
        let mut rest = String::new();
        output.read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "");
    }

    #[test]
    fn a_grandchild_outlives_its_parent_but_not_the_group() {
        let (mut group, mut output) = start("sleep 600 & echo up");
        while group.ended().unwrap().is_none() {
            std::thread::yield_now();
        }
        drop(group);
        let mut rest = String::new();
        output.read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "");
    }
}
