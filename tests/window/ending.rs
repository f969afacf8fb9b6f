//! What a test leaves behind when it is killed: nothing.

use std::{
    path::Path,
    process::{Command, Stdio},
};

use anyhow::{Context, Result};
use tests::window::process::{Process, kill_now, wait_for_file, wait_gone};

/// Where the process that is to be killed says what it started.
const STARTED: &str = "COUNTERSIGN_TEST_STARTED";

/// Starts a shell and its child, tells their ids, and goes no further.
fn be_killed(file: &Path) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let mut command = Command::new("sh");
    let (started, line) =
        Process::start_and_read_line(command.args(["-c", "sleep 600 & echo $!; wait"]), "sleeper", folder.path())?;
    let half = file.with_extension("half");
    std::fs::write(&half, format!("{} {}", started.id(), line.trim()))?;
    std::fs::rename(half, file)?;
    loop {
        std::thread::park();
    }
}

#[test]
fn a_test_that_is_killed_leaves_none_of_its_programs_behind() -> Result<()> {
    // This very test, run again in a process of its own, is the one that is killed.
    if let Some(file) = std::env::var_os(STARTED) {
        return be_killed(file.as_ref());
    }
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("started");
    let mut test = Command::new(std::env::current_exe()?)
        .args(["--exact", "ending::a_test_that_is_killed_leaves_none_of_its_programs_behind", "--nocapture"])
        .env(STARTED, &file)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()?;
    let started = wait_for_file(&file)?;
    let ids: Vec<i32> = started.split(' ').map(str::parse).collect::<Result<_, _>>().context("no ids")?;
    assert_eq!(ids.len(), 2, "{started}");
    kill_now(i32::try_from(test.id())?)?;
    test.wait()?;
    for id in ids {
        wait_gone(id)?;
    }
    Ok(())
}
