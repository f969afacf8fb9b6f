//! The first-paint watchdog (P-47). On some Linux graphics drivers WebKitGTK's DMABUF renderer draws nothing at all.
//!
//! No first screen within the limit: the app starts itself again, once, with that renderer off, and remembers it for
//! this machine, so that the next start has no blank moment. The person is told in both cases.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    process::Command,
};

/// WebKitGTK reads this from the environment when it starts.
pub const PLAIN_RENDERER: &str = "WEBKIT_DISABLE_DMABUF_RENDERER";

const FILE: &str = "plain-renderer";

/// What to do about the renderer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Nothing.
    Carry,
    /// Start again with the plain renderer.
    Relaunch,
    /// The plain renderer is in use and drew nothing either: starting again would not end.
    GiveUp,
}

/// Before the window: a machine that is known to need the plain renderer gets it from the start.
#[must_use]
pub fn at_start(plain: bool, remembered: bool) -> Step {
    if remembered && !plain { Step::Relaunch } else { Step::Carry }
}

/// When the limit for the first paint has passed. A page that told of its screen, or of a fault of its own, is no
/// matter of the renderer.
#[must_use]
pub fn at_limit(heard_of: bool, plain: bool) -> Step {
    match (heard_of, plain) {
        (true, _) => Step::Carry,
        (false, false) => Step::Relaunch,
        (false, true) => Step::GiveUp,
    }
}

/// What is remembered about this machine.
#[derive(Debug, Clone)]
pub struct RendererMemory {
    file: PathBuf,
    machine: String,
}

impl RendererMemory {
    /// The memory in the app's configuration folder. A home folder may be shared by several machines: each writes its name.
    #[must_use]
    pub fn here(identifier: &str) -> Option<Self> {
        let machine = std::fs::read_to_string("/etc/machine-id").unwrap_or_default().trim().to_owned();
        let folder = config_folder(|name| std::env::var_os(name))?.join(identifier);
        Some(Self::at(&folder, machine))
    }

    fn at(folder: &Path, machine: String) -> Self {
        Self { file: folder.join(FILE), machine }
    }

    /// Whether this machine needs the plain renderer.
    #[must_use]
    pub fn remembered(&self) -> bool {
        std::fs::read_to_string(&self.file).is_ok_and(|text| text.lines().any(|line| line == self.machine))
    }

    /// Remembers that it does.
    ///
    /// # Errors
    /// Where the file cannot be written.
    pub fn remember(&self) -> std::io::Result<()> {
        if self.remembered() {
            return Ok(());
        }
        if let Some(folder) = self.file.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let mut text = std::fs::read_to_string(&self.file).unwrap_or_default();
        text.push_str(&self.machine);
        text.push('\n');
        std::fs::write(&self.file, text)
    }
}

fn config_folder(var: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let set = |name| var(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("XDG_CONFIG_HOME").filter(|path| path.is_absolute()).or_else(|| Some(set("HOME")?.join(".config")))
}

/// Becomes a new start of the app, with one more variable. Comes back only where that fails.
#[cfg(unix)]
pub fn start_again(name: &str, value: &str) -> std::io::Error {
    use std::os::unix::process::CommandExt;
    match std::env::current_exe() {
        // The same process goes on under the same id, so whoever started it still holds the right one.
        Ok(app) => Command::new(app).args(std::env::args_os().skip(1)).env(name, value).exec(),
        Err(error) => error,
    }
}

/// Starts the app anew with one more variable and ends this process. Comes back only where that fails.
#[cfg(not(unix))]
pub fn start_again(name: &str, value: &str) -> std::io::Error {
    let started = std::env::current_exe()
        .and_then(|app| Command::new(app).args(std::env::args_os().skip(1)).env(name, value).spawn());
    match started {
        Ok(_) => std::process::exit(0),
        Err(error) => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p47_the_plain_renderer_is_tried_once_and_never_in_a_circle() {
        assert_eq!(at_limit(true, false), Step::Carry);
        assert_eq!(at_limit(true, true), Step::Carry);
        assert_eq!(at_limit(false, false), Step::Relaunch);
        assert_eq!(at_limit(false, true), Step::GiveUp);
    }

    #[test]
    fn p47_a_remembered_machine_starts_plain_at_once() {
        assert_eq!(at_start(false, true), Step::Relaunch);
        assert_eq!(at_start(true, true), Step::Carry);
        assert_eq!(at_start(false, false), Step::Carry);
    }

    #[test]
    fn p47_each_machine_of_a_shared_home_remembers_for_itself() {
        let folder = tempfile::tempdir().unwrap();
        let one = RendererMemory::at(&folder.path().join("app"), "one".into());
        let two = RendererMemory::at(&folder.path().join("app"), "two".into());
        assert!(!one.remembered());
        one.remember().unwrap();
        one.remember().unwrap();
        assert_eq!((one.remembered(), two.remembered()), (true, false));
        two.remember().unwrap();
        assert_eq!((one.remembered(), two.remembered()), (true, true));
    }

    #[test]
    fn the_configuration_folder_follows_the_base_directory_rules() {
        let home = |name: &str| (name == "HOME").then(|| OsString::from("/home/a"));
        assert_eq!(config_folder(home), Some("/home/a/.config".into()));
        let both = |name: &str| match name {
            "XDG_CONFIG_HOME" => Some("/c".into()),
            other => home(other),
        };
        assert_eq!(config_folder(both), Some("/c".into()));
        let relative = |name: &str| match name {
            "XDG_CONFIG_HOME" => Some("c".into()),
            other => home(other),
        };
        assert_eq!(config_folder(relative), Some("/home/a/.config".into()));
    }
}
