//! A display nobody sits at: Xvfb with a window manager, a D-Bus session per program, and folders of their own, so
//! that nothing a test or a tour does touches the person's settings, history or keyring.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::group::Group;

/// How long Xvfb or openbox may take to say that it is up.
const START_LIMIT: Duration = Duration::from_secs(30);

/// What openbox does with windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Windows {
    /// Each keeps the size it asks for.
    AsAsked,
    /// Each fills the screen, so that a picture of the screen is a picture of the window.
    FillScreen,
}

/// Whose folders a program sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Folders {
    /// Empty ones, removed afterwards.
    Private,
    /// The person's.
    Own,
}

/// A virtual display. Dropping it ends its programs and removes its folders.
pub struct Display {
    name: String,
    folders: Folders,
    // Fields drop in order: the window manager before its server, the folders last.
    openbox: Group,
    xvfb: Group,
    home: PrivateHome,
}

impl Display {
    /// Starts a display on the first free number, with openbox on it.
    ///
    /// # Errors
    /// When Xvfb or openbox is missing or does not come up.
    pub fn start(windows: Windows, folders: Folders) -> Result<Self> {
        let home = PrivateHome::make()?;
        let (xvfb, number) =
            started(Command::new("Xvfb").args("-displayfd 1 -screen 0 1440x900x24 -nolisten tcp -noreset".split(' ')))
                .context("the virtual display did not start")?;
        let name = format!(":{}", number.trim());
        let (openbox, _) = started(
            Command::new("openbox")
                .args(["--sm-disable", "--startup", "echo up", "--config-file"])
                .arg(home.openbox_rules(windows)?)
                .env("DISPLAY", &name),
        )
        .context("the window manager did not start")?;
        Ok(Self { name, folders, openbox, xvfb, home })
    }

    /// Its name, as in the DISPLAY variable.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// A command that will run on this display, in a D-Bus session of its own.
    pub fn command(&self, program: &Path) -> Command {
        self.in_session(&Command::new(program))
    }

    /// The same command, on this display and in a D-Bus session of its own.
    pub fn in_session(&self, inner: &Command) -> Command {
        let mut command = Command::new("dbus-run-session");
        command.arg("--").arg(inner.get_program()).args(inner.get_args());
        if let Some(folder) = inner.get_current_dir() {
            command.current_dir(folder);
        }
        for (name, value) in inner.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command
            .env("DISPLAY", &self.name)
            .env("GDK_BACKEND", "x11")
            .env_remove("WAYLAND_DISPLAY")
            .env_remove("DBUS_SESSION_BUS_ADDRESS");
        if self.folders == Folders::Private {
            for (variable, folder) in PrivateHome::FOLDERS {
                command.env(variable, self.home.path.join(folder));
            }
        }
        command
    }

    /// Saves a picture of the whole screen.
    ///
    /// # Errors
    /// When ImageMagick cannot take or write it.
    pub fn picture(&self, file: &Path) -> Result<()> {
        if let Some(folder) = file.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            std::fs::create_dir_all(folder).with_context(|| format!("{} cannot be made", folder.display()))?;
        }
        let status = Command::new("import")
            .args(["-display", &self.name, "-window", "root"])
            .arg(file)
            .status()
            .context("import (ImageMagick) could not be started")?;
        if !status.success() {
            bail!("the picture {} could not be taken", file.display());
        }
        Ok(())
    }
}

impl Drop for Display {
    fn drop(&mut self) {
        self.openbox.end();
        self.xvfb.end();
    }
}

/// Starts a program that prints one line when it is up; gives the line.
fn started(command: &mut Command) -> Result<(Group, String)> {
    let name = command.get_program().to_string_lossy().into_owned();
    let mut group = Group::start(command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()))?;
    let output = group.leader().stdout.take().context("no output to read")?;
    let (sender, first) = channel();
    std::thread::spawn(move || {
        let mut output = BufReader::new(output);
        let mut line = String::new();
        if output.read_line(&mut line).is_ok_and(|length| length > 0) {
            let _nobody_waits = sender.send(line);
        }
        // Read on: a program that prints into a closed pipe would die of it.
        let _rest = std::io::copy(&mut output, &mut std::io::sink());
    });
    let line = first
        .recv_timeout(START_LIMIT)
        .with_context(|| format!("{name} ended or said nothing within {} s", START_LIMIT.as_secs()))?;
    Ok((group, line))
}

/// The XDG folders of a display, in a temporary folder that only this person may read.
struct PrivateHome {
    path: PathBuf,
}

impl PrivateHome {
    const FOLDERS: [(&'static str, &'static str); 5] = [
        ("XDG_DATA_HOME", "share"),
        ("XDG_CONFIG_HOME", "config"),
        ("XDG_CACHE_HOME", "cache"),
        ("XDG_STATE_HOME", "state"),
        ("XDG_RUNTIME_DIR", "run"),
    ];

    fn make() -> Result<Self> {
        use std::sync::atomic::{AtomicUsize, Ordering};
        static MADE: AtomicUsize = AtomicUsize::new(0);

        let number = MADE.fetch_add(1, Ordering::Relaxed);
        // Short: a socket's path below it may have 107 bytes.
        let name = format!("countersign-{}-{number}", std::process::id());
        let home = Self { path: std::env::temp_dir().join(name) };
        make_private(&home.path)?;
        for (_, folder) in Self::FOLDERS {
            make_private(&home.path.join(folder))?;
        }
        Ok(home)
    }

    /// Writes openbox's rules and says where they are. No decorations: the page draws what the pictures show.
    fn openbox_rules(&self, windows: Windows) -> Result<PathBuf> {
        let maximized = match windows {
            Windows::AsAsked => "no",
            Windows::FillScreen => "yes",
        };
        let rules = format!(
            "<?xml version=\"1.0\"?>\n\
             <openbox_config xmlns=\"http://openbox.org/3.4/rc\">\
             <focus><focusNew>yes</focusNew><followMouse>no</followMouse></focus>\
             <mouse><context name=\"Client\"><mousebind button=\"Left\" action=\"Press\">\
             <action name=\"Focus\"/><action name=\"Raise\"/></mousebind></context></mouse>\
             <applications><application class=\"*\" type=\"normal\">\
             <decor>no</decor><maximized>{maximized}</maximized></application></applications>\
             </openbox_config>\n"
        );
        let file = self.path.join("openbox.xml");
        std::fs::write(&file, rules).context("the window manager's rules cannot be written")?;
        Ok(file)
    }
}

impl Drop for PrivateHome {
    fn drop(&mut self) {
        let _left_behind = std::fs::remove_dir_all(&self.path);
    }
}

fn make_private(folder: &Path) -> Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    // One that stands there already may belong to somebody else.
    builder.recursive(false);
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt;
        builder.mode(0o700);
    }
    builder.create(folder).with_context(|| format!("{} cannot be made", folder.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_folders_exist_while_the_home_does() {
        let home = PrivateHome::make().unwrap();
        let path = home.path.clone();
        for (_, folder) in PrivateHome::FOLDERS {
            assert!(path.join(folder).is_dir(), "{folder}");
        }
        drop(home);
        assert!(!path.exists());
    }

    #[test]
    fn two_homes_never_share_a_folder() {
        let (one, two) = (PrivateHome::make().unwrap(), PrivateHome::make().unwrap());
        assert_ne!(one.path, two.path);
    }

    #[test]
    fn pictures_need_windows_that_fill_the_screen() {
        let home = PrivateHome::make().unwrap();
        let filled = std::fs::read_to_string(home.openbox_rules(Windows::FillScreen).unwrap()).unwrap();
        assert!(filled.contains("<maximized>yes</maximized>"));
        let asked = std::fs::read_to_string(home.openbox_rules(Windows::AsAsked).unwrap()).unwrap();
        assert!(asked.contains("<maximized>no</maximized>"));
    }
}
