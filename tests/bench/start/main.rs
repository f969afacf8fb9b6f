//! `cargo xtask bench start`: from `exec` to the first interactive screen, and the memory of all processes then, of
//! this app and of a bare Tauri window, by turns in one run.
//!
//! Both draw without DMABUF: where no graphics card is, its software part would cost more than everything measured.
//! The first round of each warms the disk's cache and makes the app's database; it does not count.

#[cfg(target_os = "linux")]
mod memory;

use anyhow::Result;

#[cfg(target_os = "linux")]
fn main() -> Result<()> {
    measured::run()
}

#[cfg(not(target_os = "linux"))]
fn main() -> Result<()> {
    anyhow::bail!("the memory of a process tree is read from /proc, which only Linux has")
}

#[cfg(target_os = "linux")]
mod measured {
    use std::{
        path::{Path, PathBuf},
        time::Instant,
    };

    use anyhow::{Context as _, Result};
    use tests::{
        bench::{Line, median, print},
        window::{
            app_program,
            desk::{Desk, Keyring},
            process::{Process, wait_for_file},
            target,
        },
    };

    use super::memory;

    const ROUNDS: usize = 9;
    /// Times its time, times its memory.
    const TARGET: f64 = 1.5;

    /// One start.
    struct Start {
        interactive_ms: f64,
        memory_mb: f64,
    }

    pub fn run() -> Result<()> {
        let desk = Desk::set_up("bench-start", Keyring::Unlocked)?;
        let (app, bare) = (app_program(), bare_program());
        start(&desk, &app)?;
        start(&desk, &bare)?;
        let (mut of_app, mut of_bare) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            of_app.push(start(&desk, &app)?);
            of_bare.push(start(&desk, &bare)?);
        }
        desk.pass()?;

        let time = |starts: &[Start]| median(starts.iter().map(|start| start.interactive_ms).collect());
        let memory = |starts: &[Start]| median(starts.iter().map(|start| start.memory_mb).collect());
        let line =
            |metric, value, unit, target| print(&Line { bench: "start", case: "webkit", metric, value, unit, target });
        line("interactive_ms", time(&of_app), "ms", None)?;
        line("bare_interactive_ms", time(&of_bare), "ms", None)?;
        line("time_ratio", time(&of_app) / time(&of_bare), "ratio", Some(TARGET))?;
        line("memory_mb", memory(&of_app), "MB", None)?;
        line("bare_memory_mb", memory(&of_bare), "MB", None)?;
        line("memory_ratio", memory(&of_app) / memory(&of_bare), "ratio", Some(TARGET))
    }

    /// Starts a program, waits until it says that its first screen answers, weighs it and ends it.
    fn start(desk: &Desk, program: &Path) -> Result<Start> {
        let ready = desk.file("bench.ready");
        if ready.exists() {
            std::fs::remove_file(&ready)?;
        }
        let mut command = desk.command(program);
        command.env("COUNTERSIGN_READY_FILE", &ready).env("WEBKIT_DISABLE_DMABUF_RENDERER", "1");
        let begin = Instant::now();
        let running = Process::start(&mut command, "bench", &desk.logs())?;
        wait_for_file(&ready).with_context(|| format!("{} shows nothing", program.display()))?;
        let interactive_ms = begin.elapsed().as_secs_f64() * 1000.0;
        let memory_mb = memory::at_rest(running.id())?;
        eprintln!("{}: {interactive_ms:.0} ms, {memory_mb:.0} MB", program.display());
        Ok(Start { interactive_ms, memory_mb })
    }

    fn bare_program() -> PathBuf {
        let folder = std::env::var_os("COUNTERSIGN_EXAMPLES")
            .map_or_else(|| target().join("debug").join("examples"), PathBuf::from);
        folder.join("bare")
    }
}
