//! The real window, driven: a desktop of its own per test (display, bus, keyring, folders), the app in it, and a
//! WebDriver client that finds things as people do, by role and name.
//!
//! Every wait has a limit and ends on a signal: a line of output, a file, a change in the page. Everything that was
//! started ends with its process group, also when a test fails; then pictures and logs stay in `target/window-artifacts`.

pub mod desk;
pub mod driver;
pub mod memory;
pub mod page;
pub mod practice;
pub mod process;
pub mod screen;
pub mod steps;

use std::{path::PathBuf, time::Duration};

/// How long any one thing may take. Generous: a busy machine must not fail a test.
pub const LIMIT: Duration = Duration::from_secs(60);

/// The folder of the built programs.
#[must_use]
pub fn target() -> PathBuf {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from)
}

/// The app, from `COUNTERSIGN_APP`, else the debug build with the page inside.
#[must_use]
pub fn app_program() -> PathBuf {
    program("COUNTERSIGN_APP", "countersign")
}

/// The practice server as a process of its own, from `COUNTERSIGN_PRACTICE`, else the debug build.
#[must_use]
pub fn practice_program() -> PathBuf {
    program("COUNTERSIGN_PRACTICE", "practice")
}

fn program(variable: &str, name: &str) -> PathBuf {
    let path = std::env::var_os(variable).map_or_else(|| target().join("debug").join(name), PathBuf::from);
    path.canonicalize().unwrap_or(path)
}
