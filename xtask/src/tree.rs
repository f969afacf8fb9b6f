//! Where things are: the clone, its target folder, what a build leaves behind; and the one feature set.

use std::path::{Path, PathBuf};
use std::process::Command;

/// What every cargo command of this tool builds with. One selection and one feature set everywhere: a different one
/// would rebuild half of the dependencies and overwrite the app's binary with one that looks for a dev server.
pub const ONE_FEATURE_SET: [&str; 3] = ["--workspace", "--features", "countersign/custom-protocol"];

/// The top folder of the clone.
pub fn root() -> PathBuf {
    let own =
        std::env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    own.parent().map_or_else(|| own.clone(), Path::to_path_buf)
}

/// The folder of the page.
pub fn ui() -> PathBuf {
    root().join("ui")
}

/// Cargo's target folder.
pub fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), |given| root().join(given))
}

/// A binary that cargo built. `profile` is the name of its folder: `debug`, or what the profile is called.
pub fn binary(profile: &str, name: &str) -> PathBuf {
    target().join(profile).join(format!("{name}{}", std::env::consts::EXE_SUFFIX))
}

/// Cargo, in the clone.
pub fn cargo(words: &[&str]) -> Command {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    // What cargo tells the programs it runs is about this tool, not about what it builds now.
    for (name, _) in std::env::vars_os() {
        let Some(text) = name.to_str() else { continue };
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            command.env_remove(&name);
        }
    }
    command.args(words).current_dir(root());
    command
}

/// npm, in the folder of the page.
pub fn npm(words: &[&str]) -> Command {
    let mut command = Command::new(if cfg!(windows) { "npm.cmd" } else { "npm" });
    command.args(words).current_dir(ui());
    command
}
