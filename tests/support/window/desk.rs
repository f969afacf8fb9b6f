//! A desktop for one test: display, window manager, bus, keyring and folders, none shared with anything.

use std::{
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{Mutex, PoisonError},
};

use anyhow::{Context, Result, bail};

use super::{
    LIMIT, app_program,
    driver::Driver,
    page::Page,
    process::{Process, wait_for_file},
    target,
};

/// What stores tokens on this desktop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keyring {
    /// A real gnome-keyring, unlocked.
    Unlocked,
    /// A bus without any.
    None,
    /// No bus at all.
    NoBus,
}

/// A desktop. Fields are dropped in order: what others depend on comes last.
pub struct Desk {
    name: String,
    variables: Vec<(String, String)>,
    passed: bool,
    // Drivers and the apps under them live as long as the desktop, so that a failed test still has its picture.
    kept: Mutex<Vec<Process>>,
    _manager: Process,
    _keyring: Option<Process>,
    _bus: Option<Process>,
    _display: Process,
    folder: tempfile::TempDir,
}

impl Desk {
    /// Sets one up. `name` is the test's.
    ///
    /// # Errors
    /// Where a program is missing or does not start in time.
    pub fn set_up(name: &str, keyring: Keyring) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let logs = folder.path().join("logs");
        std::fs::create_dir(&logs)?;
        let mut variables = folders(folder.path())?;
        let (display, number) = Process::start_and_read_line(
            Command::new("Xvfb").args(["-displayfd", "1", "-screen", "0", "1400x900x24", "-nolisten", "tcp"]),
            "xvfb",
            &logs,
        )?;
        variables.push(("DISPLAY".into(), format!(":{}", number.trim())));
        let bus = if keyring == Keyring::NoBus {
            variables.extend(buses("unix:path=/nonexistent"));
            None
        } else {
            let (bus, address) = start_bus(folder.path(), &logs)?;
            variables.extend(buses(address.trim()));
            Some(bus)
        };
        let keyring = match keyring {
            Keyring::Unlocked => Some(start_keyring(&variables, &logs)?),
            Keyring::None | Keyring::NoBus => None,
        };
        let manager = Process::start(Command::new("openbox").envs(variables.clone()), "openbox", &logs)?;
        Ok(Self {
            name: name.to_owned(),
            variables,
            passed: false,
            kept: Mutex::default(),
            _manager: manager,
            _keyring: keyring,
            _bus: bus,
            _display: display,
            folder,
        })
    }

    /// Where the app keeps its database and logs on this desktop.
    #[must_use]
    pub fn data_dir(&self) -> PathBuf {
        self.folder.path().join("data/dev.countersign.app")
    }

    /// A file of this desktop's own folder.
    #[must_use]
    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Where programs of this desktop write their output.
    #[must_use]
    pub fn logs(&self) -> PathBuf {
        self.file("logs")
    }

    /// Where this desktop's bus is found.
    ///
    /// # Errors
    /// Never; every desktop has one, if only one that is nowhere.
    pub fn bus(&self) -> Result<&str> {
        let found = self.variables.iter().find(|(name, _)| name == "DBUS_SESSION_BUS_ADDRESS");
        found.map(|(_, address)| address.as_str()).context("no bus")
    }

    /// A command that runs on this desktop.
    #[must_use]
    pub fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command.envs(self.variables.clone()).stdin(Stdio::null());
        command
    }

    /// Starts the app as a person does, without a driver, and waits for its first screen.
    ///
    /// # Errors
    /// Where none comes.
    pub fn start_app(&self, name: &str) -> Result<Process> {
        let ready = self.file(&format!("{name}.ready"));
        let app =
            Process::start(self.command(app_program()).env("COUNTERSIGN_READY_FILE", &ready), name, &self.logs())?;
        wait_for_file(&ready)?;
        Ok(app)
    }

    /// Starts the app under a driver and waits for its first screen.
    ///
    /// # Errors
    /// Where none comes in time.
    pub async fn open_app(&self) -> Result<Page> {
        let driver = Driver::start(self).await?;
        let page = tokio::time::timeout(LIMIT, driver.open(&app_program())).await.context("no session")??;
        page.until_present("main, [role=main], form, button").await?;
        Ok(page)
    }

    /// Runs `xdotool` with these words and gives its output.
    ///
    /// # Errors
    /// Where it fails.
    pub fn xdotool(&self, words: &[&str]) -> Result<String> {
        let output = self.command("timeout").arg("20").arg("xdotool").args(words).output()?;
        if !output.status.success() {
            bail!("xdotool {words:?}: {}", String::from_utf8_lossy(&output.stderr));
        }
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    /// Every file below the desktop's folders that holds these bytes, the keyring's own (encrypted) files included.
    ///
    /// # Errors
    /// Where a folder cannot be read.
    pub fn files_with(&self, bytes: &str) -> Result<Vec<PathBuf>> {
        let mut found = Vec::new();
        let mut folders = vec![self.folder.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder)? {
                let entry = entry?;
                let kind = entry.file_type()?;
                if kind.is_dir() {
                    folders.push(entry.path());
                } else if kind.is_file() {
                    let content = std::fs::read(entry.path())?;
                    if content.windows(bytes.len()).any(|window| window == bytes.as_bytes()) {
                        found.push(entry.path());
                    }
                }
            }
        }
        Ok(found)
    }

    /// The test has passed: nothing needs to be kept.
    ///
    /// # Errors
    /// Never; it is a test's last word.
    pub fn pass(mut self) -> Result<()> {
        self.passed = true;
        Ok(())
    }

    pub(super) fn keep(&self, process: Process) {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).push(process);
    }

    fn keep_evidence(&self) -> Result<()> {
        let kept = target().join("window-artifacts").join(&self.name);
        std::fs::create_dir_all(&kept)?;
        let picture = kept.join("screen.png");
        self.command("timeout").args(["20", "import", "-window", "root"]).arg(picture).status()?;
        for folder in [self.logs(), self.data_dir().join("logs")] {
            for entry in std::fs::read_dir(folder).into_iter().flatten() {
                let entry = entry?;
                std::fs::copy(entry.path(), kept.join(entry.file_name()))?;
            }
        }
        Ok(())
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        if !self.passed
            && let Err(error) = self.keep_evidence()
        {
            eprintln!("{}: the evidence could not be kept: {error:#}", self.name);
        }
    }
}

/// This computer's own system bus is as far from a test as its session: there is one bus for both.
fn buses(address: &str) -> impl Iterator<Item = (String, String)> {
    ["DBUS_SESSION_BUS_ADDRESS", "DBUS_SYSTEM_BUS_ADDRESS"].into_iter().map(|name| (name.into(), address.to_owned()))
}

fn folders(root: &Path) -> Result<Vec<(String, String)>> {
    use std::os::unix::fs::PermissionsExt;
    let mut variables = Vec::new();
    for (variable, name) in [
        ("HOME", "home"),
        ("XDG_DATA_HOME", "data"),
        ("XDG_CONFIG_HOME", "config"),
        ("XDG_CACHE_HOME", "cache"),
        ("XDG_RUNTIME_DIR", "runtime"),
    ] {
        let folder = root.join(name);
        std::fs::create_dir(&folder)?;
        std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o700))?;
        variables.push((variable.to_owned(), folder.to_string_lossy().into_owned()));
    }
    variables.push(("LANG".into(), "C.UTF-8".into()));
    Ok(variables)
}

/// A bus that starts nothing by itself: a keyring is there only where a test starts one.
fn start_bus(root: &Path, logs: &Path) -> Result<(Process, String)> {
    let config = root.join("bus.conf");
    let socket = root.join("runtime");
    std::fs::write(
        &config,
        format!(
            "<!DOCTYPE busconfig PUBLIC \"-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN\" \
             \"http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd\">\n\
             <busconfig><type>session</type><listen>unix:dir={}</listen><auth>EXTERNAL</auth>\
             <policy context=\"default\"><allow send_destination=\"*\" eavesdrop=\"true\"/><allow eavesdrop=\"true\"/>\
             <allow own=\"*\"/></policy></busconfig>\n",
            socket.display()
        ),
    )?;
    let mut command = Command::new("dbus-daemon");
    command.arg("--nofork").arg("--print-address=1").arg(format!("--config-file={}", config.display()));
    Process::start_and_read_line(&mut command, "bus", logs)
}

/// gnome-keyring with an empty password, unlocked, ready to take tokens.
fn start_keyring(variables: &[(String, String)], logs: &Path) -> Result<Process> {
    let mut command = Command::new("gnome-keyring-daemon");
    command
        .args(["--foreground", "--unlock", "--components=secrets"])
        .envs(variables.iter().cloned())
        .stdin(Stdio::piped());
    let mut keyring = Process::start(&mut command, "keyring", logs)?;
    // The newline matters: without it the empty password is not taken.
    keyring.input().context("no input")?.write_all(b"\n")?;
    let begin = std::time::Instant::now();
    loop {
        // The name is on the bus once the daemon answers.
        let owned = Command::new("timeout")
            .args(["5", "dbus-send", "--session", "--print-reply=literal", "--dest=org.freedesktop.DBus", "/"])
            .args(["org.freedesktop.DBus.NameHasOwner", "string:org.freedesktop.secrets"])
            .envs(variables.iter().cloned())
            .output()?;
        if String::from_utf8_lossy(&owned.stdout).contains("true") {
            return Ok(keyring);
        }
        if begin.elapsed() > LIMIT {
            bail!("the keyring does not answer");
        }
        super::process::tick();
    }
}
