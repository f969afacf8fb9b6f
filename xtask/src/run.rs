//! `cargo xtask run`: from a clone to the app on the screen, to a picture of it, or to its tour.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::args::{RunWish, Show};
use crate::display::{Display, Folders, Windows};
use crate::group::Group;
use crate::step;
use crate::tools::{self, Need};
use crate::tree::{self, ONE_FEATURE_SET};

/// How long the app may take until its first screen answers.
const READY_LIMIT: Duration = Duration::from_secs(60);
/// How long the whole tour may take.
const TOUR_LIMIT: Duration = Duration::from_secs(15 * 60);

/// Does what was asked; `false` when the app or the tour says that it failed.
///
/// # Errors
/// When something it needs is missing or does not build.
pub fn run(wish: &RunWish) -> Result<bool> {
    let virtual_display = match wish.show {
        Show::Window => cfg!(target_os = "linux") && !has_display(),
        Show::Screenshot(_) | Show::Tour(_) if !cfg!(target_os = "linux") => {
            bail!("pictures are taken on a virtual display, which only Linux has")
        }
        Show::Screenshot(_) | Show::Tour(_) => true,
    };
    let mut needs = vec![Need::Build, Need::Page];
    if virtual_display {
        needs.push(Need::Display);
    }
    match wish.show {
        Show::Window => {}
        Show::Screenshot(_) => needs.push(Need::Picture),
        Show::Tour(_) => needs.extend([Need::Window, Need::Picture]),
    }
    tools::prepare(&needs, wish.consent)?;

    let profile = if wish.release { "release" } else { "debug" };
    let mut binaries = vec!["countersign"];
    if matches!(wish.show, Show::Tour(_)) {
        binaries.extend(["practice", "tour"]);
    }
    build(wish.release, &binaries)?;
    let app = tree::binary(profile, "countersign");
    match &wish.show {
        Show::Window if virtual_display => on_virtual_display(&app),
        Show::Window => wait_for(&mut Command::new(&app)),
        Show::Screenshot(file) => screenshot(&app, file),
        Show::Tour(folder) => tour(profile, folder),
    }
}

/// Builds the page, then these binaries around it.
///
/// # Errors
/// When one of them does not build; the compiler has said why.
pub fn build(release: bool, binaries: &[&str]) -> Result<()> {
    tools::foreground(&mut tree::npm(&["run", "build"])).context("the page does not build")?;
    let mut cargo = tree::cargo(&["build"]);
    cargo.args(ONE_FEATURE_SET);
    if release {
        cargo.arg("--release");
    }
    for binary in binaries {
        cargo.args(["--bin", binary]);
    }
    tools::foreground(&mut cargo).context("the app does not build")
}

/// Tells a test program, a bench or the tour where the app and the practice server are.
pub fn point_at_binaries(command: &mut Command, profile: &str) {
    command
        .env("COUNTERSIGN_APP", tree::binary(profile, "countersign"))
        .env("COUNTERSIGN_PRACTICE", tree::binary(profile, "practice"));
}

fn has_display() -> bool {
    ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()))
}

fn on_virtual_display(app: &Path) -> Result<bool> {
    let display = Display::start(Windows::FillScreen, Folders::Own)?;
    eprintln!(
        "There is no display here, so the app runs on a virtual one, {0}. Look at it with a VNC server such as \
         `x11vnc -display {0}`, or take a picture with `cargo xtask run --screenshot FILE`. Ctrl+C ends it.",
        display.name()
    );
    wait_for(&mut display.command(app))
}

fn wait_for(command: &mut Command) -> Result<bool> {
    let mut group = Group::start(command)?;
    let status = group.leader().wait().context("the app could not be watched")?;
    Ok(status.success())
}

fn screenshot(app: &Path, file: &Path) -> Result<bool> {
    let display = Display::start(Windows::FillScreen, Folders::Private)?;
    let ready = Ready::new();
    let mut command = display.command(app);
    command.env("COUNTERSIGN_READY_FILE", &ready.file).stdin(Stdio::null());
    let mut group = Group::start(&mut command)?;
    let milliseconds = ready.wait(&mut group)?;
    display.picture(file)?;
    group.end();
    eprintln!("the first screen was up after {milliseconds} ms; its picture is {}", file.display());
    Ok(true)
}

/// The file in which the app says that its first screen answers, with the milliseconds that took.
struct Ready {
    file: PathBuf,
}

impl Ready {
    fn new() -> Self {
        Self { file: std::env::temp_dir().join(format!("countersign-ready-{}", std::process::id())) }
    }

    fn wait(&self, group: &mut Group) -> Result<String> {
        let started = Instant::now();
        loop {
            let told = std::fs::read_to_string(&self.file).unwrap_or_default();
            if !told.trim().is_empty() {
                return Ok(told.trim().to_owned());
            }
            if let Some(status) = group.ended()? {
                bail!("the app ended before its first screen was up ({status})");
            }
            if started.elapsed() > READY_LIMIT {
                bail!("the first screen was not up after {} s", READY_LIMIT.as_secs());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Ready {
    fn drop(&mut self) {
        let _never_written = std::fs::remove_file(&self.file);
    }
}

fn tour(profile: &str, folder: &Path) -> Result<bool> {
    std::fs::create_dir_all(folder).with_context(|| format!("{} cannot be made", folder.display()))?;
    let folder = folder.canonicalize().with_context(|| format!("{} cannot be found", folder.display()))?;
    let display = Display::start(Windows::AsAsked, Folders::Private)?;
    let mut command = display.command(&tree::binary(profile, "tour"));
    command.arg(&folder).current_dir(tree::root());
    point_at_binaries(&mut command, profile);
    let outcome = step::run(&mut command, TOUR_LIMIT)?;
    Ok(outcome.ended_well)
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    fn sh(script: &str, ready: &Ready) -> Group {
        Group::start(Command::new("sh").args(["-c", script]).env("READY", &ready.file)).unwrap()
    }

    #[test]
    fn a_picture_waits_for_the_first_screen_and_not_for_an_app_that_ended() {
        let ready = Ready::new();
        let mut dead = sh("exit 3", &ready);
        let told = ready.wait(&mut dead).unwrap_err().to_string();
        assert!(told.contains("ended before its first screen"), "{told}");

        let mut alive = sh("echo 412 > \"$READY\"; exec sleep 600", &ready);
        assert_eq!(ready.wait(&mut alive).unwrap(), "412");
    }
}
