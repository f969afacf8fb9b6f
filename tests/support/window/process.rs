//! Processes of a test: each with a group of its own, output kept in a file, ended for sure.

use std::{
    ffi::OsStr,
    fs::File,
    io::{BufRead, BufReader},
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::mpsc,
};

use anyhow::{Context, Result, bail};
pub use rustix::process::Signal;
use rustix::process::{Pid, kill_process, kill_process_group};

use super::LIMIT;

/// A program of a test. Dropping it ends its whole process group, and so does the end of the test's own process,
/// whatever ended that.
pub struct Process {
    child: Child,
    name: String,
    watch: Watch,
}

/// Ends a process group when this process is gone: it waits for the end of a pipe that only this process holds, so
/// that `kill -9` is noticed, too. (A parent-death signal comes when the *thread* that started a program ends.)
struct Watch(Child);

impl Watch {
    fn over(group: u32) -> Result<Self> {
        let mut command = Command::new("sh");
        // Line by line nothing ever comes; the end of the pipe ends the loop.
        command.args(["-c", r#"while read -r _; do :; done; kill -s KILL -- "-$1""#, "sh"]).arg(group.to_string());
        // In a group of its own: what is sent to the test's group must not end it first.
        command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        Ok(Self(command.spawn().context("no shell to watch with")?))
    }

    /// Not needed any more: the group is about to be gone, and its number may be another's soon.
    fn end(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Process {
    /// Starts a program; its output goes to `logs/<name>.log`.
    ///
    /// # Errors
    /// Where it is missing.
    pub fn start(command: &mut Command, name: &str, logs: &Path) -> Result<Self> {
        let log = File::create(logs.join(format!("{name}.log")))?;
        command.stdout(log.try_clone()?).stderr(log);
        Self::spawn(command, name)
    }

    /// Starts a program and waits for its first line of output, which the answer holds.
    ///
    /// # Errors
    /// Where it is missing, or ends or stays silent for too long.
    pub fn start_and_read_line(command: &mut Command, name: &str, logs: &Path) -> Result<(Self, String)> {
        let log = File::create(logs.join(format!("{name}.log")))?;
        command.stdout(Stdio::piped()).stderr(log);
        let mut process = Self::spawn(command, name)?;
        let output = process.child.stdout.take().context("no output")?;
        let (send, line) = mpsc::channel();
        std::thread::spawn(move || {
            for text in BufReader::new(output).lines().map_while(Result::ok) {
                // The rest is read and dropped, so that the program never waits for a full pipe.
                let _ = send.send(text);
            }
        });
        let line = line.recv_timeout(LIMIT).with_context(|| format!("{name} printed nothing"))?;
        Ok((process, line))
    }

    fn spawn(command: &mut Command, name: &str) -> Result<Self> {
        let child = command.process_group(0).spawn().with_context(|| format!("{name} does not start: {command:?}"))?;
        let watch = Watch::over(child.id())?;
        Ok(Self { child, name: name.to_owned(), watch })
    }

    /// Its id, which is its group's too.
    #[must_use]
    pub fn id(&self) -> i32 {
        i32::try_from(self.child.id()).unwrap_or_default()
    }

    /// Its pipe for input, once.
    pub fn input(&mut self) -> Option<std::process::ChildStdin> {
        self.child.stdin.take()
    }

    /// Waits for its end by itself.
    ///
    /// # Errors
    /// Where that takes too long.
    pub fn wait(&mut self) -> Result<std::process::ExitStatus> {
        let begin = std::time::Instant::now();
        while begin.elapsed() < LIMIT {
            if let Some(status) = self.child.try_wait()? {
                return Ok(status);
            }
            tick();
        }
        bail!("{} does not end", self.name)
    }

    /// Ends it and everything it started.
    pub fn end(&mut self) {
        self.watch.end();
        if let Some(group) = Pid::from_raw(self.id()) {
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.child.wait();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end();
    }
}

/// A look at the system between two tries: processes and files have no signal of their own to wait on.
pub fn tick() {
    std::thread::sleep(std::time::Duration::from_millis(5));
}

/// Waits for a file's content.
///
/// # Errors
/// Where it does not come in time.
pub fn wait_for_file(path: &Path) -> Result<String> {
    let begin = std::time::Instant::now();
    while begin.elapsed() < LIMIT {
        if let Ok(text) = std::fs::read_to_string(path) {
            return Ok(text);
        }
        tick();
    }
    bail!("{} was not written", path.display())
}

/// The processes that run a program and stem from `ancestor`.
#[must_use]
pub fn descendants(ancestor: i32, program: impl Fn(&OsStr) -> bool) -> Vec<i32> {
    let all: Vec<(i32, i32)> = std::fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .filter_map(|entry| {
            let id = entry.ok()?.file_name().to_str()?.parse().ok()?;
            let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
            let parent = stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()?;
            Some((id, parent))
        })
        .collect();
    let mut found = vec![ancestor];
    let mut index = 0;
    while let Some(parent) = found.get(index).copied() {
        found.extend(all.iter().filter(|(_, of)| *of == parent).map(|(id, _)| *id));
        index += 1;
    }
    found.retain(|id| exe(*id).is_some_and(|path| path.file_name().is_some_and(&program)));
    found
}

/// The program a process runs.
#[must_use]
pub fn exe(id: i32) -> Option<PathBuf> {
    std::fs::read_link(format!("/proc/{id}/exe")).ok()
}

/// A variable of a process's environment, as it was at its `exec`.
#[must_use]
pub fn variable_of(id: i32, name: &str) -> Option<String> {
    let all = std::fs::read(format!("/proc/{id}/environ")).ok()?;
    all.split(|byte| *byte == 0)
        .find_map(|entry| String::from_utf8_lossy(entry).strip_prefix(&format!("{name}=")).map(str::to_owned))
}

/// `kill -9`.
///
/// # Errors
/// Where there is no such process.
pub fn kill_now(id: i32) -> Result<()> {
    Ok(kill_process(Pid::from_raw(id).context("no process id")?, Signal::KILL)?)
}

/// Asks a process to end, with this signal.
///
/// # Errors
/// Where there is no such process.
pub fn ask_to_end(id: i32, signal: Signal) -> Result<()> {
    Ok(kill_process(Pid::from_raw(id).context("no process id")?, signal)?)
}

/// Stops a process where it stands, without ending it.
///
/// # Errors
/// Where there is no such process.
pub fn freeze(id: i32) -> Result<()> {
    Ok(kill_process(Pid::from_raw(id).context("no process id")?, Signal::STOP)?)
}

/// Waits until a process is gone.
///
/// # Errors
/// Where that takes too long.
pub fn wait_gone(id: i32) -> Result<()> {
    let begin = std::time::Instant::now();
    while begin.elapsed() < LIMIT {
        let Ok(stat) = std::fs::read_to_string(format!("/proc/{id}/stat")) else { return Ok(()) };
        // A zombie has ended once its last thread has; its parent has only not looked yet.
        let zombie = stat.rsplit_once(')').is_some_and(|(_, rest)| rest.trim_start().starts_with('Z'));
        let threads = std::fs::read_dir(format!("/proc/{id}/task")).map_or(0, Iterator::count);
        if zombie && threads <= 1 {
            return Ok(());
        }
        tick();
    }
    bail!("process {id} does not end")
}
