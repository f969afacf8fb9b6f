//! What a command needs before it can start: system packages, Node, the page's packages. What is missing is installed
//! on Debian and its relatives, after a question; elsewhere it is named.

use std::io::{IsTerminal, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::tree;

/// May packages be installed without a question?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consent {
    /// Yes: it was said beforehand, or nobody is there to be asked.
    Given,
    /// Ask first.
    Ask,
}

impl Consent {
    /// `--yes` and CI give it.
    pub fn new(yes: bool) -> Self {
        if yes || in_ci() { Self::Given } else { Self::Ask }
    }
}

/// Is this a build machine, where nobody answers and nothing may be left out silently?
pub fn in_ci() -> bool {
    std::env::var("CI").is_ok_and(|value| !value.is_empty() && value != "false" && value != "0")
}

/// What a tier or command builds upon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Compiling the app.
    Build,
    /// A Secret Service in a D-Bus session.
    Keyring,
    /// Node and the page's packages.
    Page,
    /// A browser and fonts for every script the page shows.
    Browser,
    /// A virtual display.
    Display,
    /// Driving the app's window.
    Window,
    /// Taking pictures of the screen.
    Picture,
    /// Python environments.
    Python,
}

/// How to see that something is there already, whoever installed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sign {
    Program(&'static str),
    Library(&'static str),
    /// Nothing to look for: only the package tells.
    None,
}

type Row = (&'static str, Sign);

const fn rows(need: Need) -> &'static [Row] {
    match need {
        Need::Build => &[
            ("build-essential", Sign::Program("cc")),
            ("pkg-config", Sign::Program("pkg-config")),
            ("libwebkit2gtk-4.1-dev", Sign::Library("webkit2gtk-4.1")),
        ],
        Need::Keyring => &[
            ("dbus", Sign::Program("dbus-run-session")),
            ("gnome-keyring", Sign::Program("gnome-keyring-daemon")),
            ("libsecret-tools", Sign::Program("secret-tool")),
        ],
        Need::Page => &[],
        Need::Browser => &[
            ("chromium", Sign::Program("chromium")),
            ("fonts-noto-cjk", Sign::None),
            ("fonts-noto-color-emoji", Sign::None),
            ("fonts-dejavu-core", Sign::None),
        ],
        Need::Display => &[
            ("xvfb", Sign::Program("Xvfb")),
            ("openbox", Sign::Program("openbox")),
            ("dbus", Sign::Program("dbus-run-session")),
            ("fonts-noto-cjk", Sign::None),
            ("fonts-noto-color-emoji", Sign::None),
            ("fonts-dejavu-core", Sign::None),
        ],
        Need::Window => &[
            ("webkit2gtk-driver", Sign::Program("WebKitWebDriver")),
            ("gnome-keyring", Sign::Program("gnome-keyring-daemon")),
            ("libsecret-tools", Sign::Program("secret-tool")),
            ("xdotool", Sign::Program("xdotool")),
            ("libayatana-appindicator3-1", Sign::None),
        ],
        Need::Picture => &[("imagemagick", Sign::Program("import"))],
        Need::Python => &[("python3", Sign::Program("python3")), ("python3-venv", Sign::None)],
    }
}

/// Makes sure that everything is there, installing what is not.
///
/// # Errors
/// With a sentence that says what to install by hand, when this cannot do it or was not allowed to.
pub fn prepare(needs: &[Need], consent: Consent) -> Result<()> {
    match std::env::consts::OS {
        "linux" => packages(needs, consent)?,
        "macos" => xcode()?,
        "windows" => eprintln!(
            "Windows needs the MSVC build tools (workload \"Desktop development with C++\") and the WebView2 runtime, \
             which is part of Windows 11; install what is missing by hand."
        ),
        _ => {}
    }
    if needs.contains(&Need::Page) {
        node()?;
        page_packages()?;
    }
    Ok(())
}

fn packages(needs: &[Need], consent: Consent) -> Result<()> {
    let installed = debian_packages(needs);
    let missing = missing(needs, &|package| installed.iter().any(|have| have == package), &|sign| shown(sign));
    if missing.is_empty() {
        return Ok(());
    }
    if !on_path("apt-get") {
        // Packages without a sign cannot be looked for on a system with other package names.
        let lacking: Vec<_> = needs
            .iter()
            .flat_map(|need| rows(*need))
            .filter(|(package, sign)| *sign != Sign::None && missing.contains(package))
            .map(|(package, _)| *package)
            .collect();
        if lacking.is_empty() {
            return Ok(());
        }
        bail!(
            "missing on this system, by the names Debian gives them: {}. Install them with your package manager.",
            lacking.join(" ")
        );
    }
    install(&missing, consent)
}

/// Which packages are to be installed: neither known to dpkg nor visible by their sign. In order, none twice.
fn missing(needs: &[Need], installed: &dyn Fn(&str) -> bool, shown: &dyn Fn(Sign) -> bool) -> Vec<&'static str> {
    let mut missing = Vec::new();
    for (package, sign) in needs.iter().flat_map(|need| rows(*need)) {
        if !missing.contains(package) && !installed(package) && !shown(*sign) {
            missing.push(*package);
        }
    }
    missing
}

fn debian_packages(needs: &[Need]) -> Vec<String> {
    let asked = needs.iter().flat_map(|need| rows(*need)).map(|(package, _)| *package);
    // It fails when one is unknown, and still answers for the others.
    let answer = Command::new("dpkg-query")
        .args(["-W", "-f", "${Package} ${db:Status-Status}\\n"])
        .args(asked)
        .stderr(Stdio::null())
        .output();
    answer.map_or_else(|_| Vec::new(), |answer| installed_packages(&String::from_utf8_lossy(&answer.stdout)))
}

fn installed_packages(answer: &str) -> Vec<String> {
    answer.lines().filter_map(|line| line.strip_suffix(" installed")).map(str::to_owned).collect()
}

fn shown(sign: Sign) -> bool {
    match sign {
        Sign::Program(name) => on_path(name),
        Sign::Library(name) => Command::new("pkg-config")
            .args(["--exists", name])
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success()),
        Sign::None => false,
    }
}

/// Is there a program of this name?
pub fn on_path(name: &str) -> bool {
    let Some(path) = std::env::var_os("PATH") else {
        return false;
    };
    std::env::split_paths(&path).any(|folder| folder.join(name).is_file())
}

fn install(packages: &[&str], consent: Consent) -> Result<()> {
    let root = user_id() == Some(0);
    let by_hand =
        format!("{}apt-get install --no-install-recommends {}", if root { "" } else { "sudo " }, packages.join(" "));
    if consent == Consent::Ask && !root && !agreed(&format!("Missing: {}. Install with apt-get?", packages.join(" "))) {
        bail!("these packages are needed: {by_hand}");
    }
    if !root && !on_path("sudo") {
        bail!("as root, please: {by_hand}");
    }
    eprintln!("installing {}", packages.join(" "));
    apt_get(root, &["update"]).with_context(|| by_hand.clone())?;
    let mut words = vec!["install", "-y", "--no-install-recommends"];
    words.extend(packages);
    apt_get(root, &words).context(by_hand)
}

fn apt_get(root: bool, words: &[&str]) -> Result<()> {
    let mut command = Command::new(if root { "env" } else { "sudo" });
    if !root {
        if in_ci() {
            command.arg("-n");
        }
        command.arg("env");
    }
    command.args(["DEBIAN_FRONTEND=noninteractive", "apt-get", "-q"]).args(words);
    foreground(&mut command)
}

fn user_id() -> Option<u32> {
    let answer = Command::new("id").arg("-u").output().ok()?;
    String::from_utf8_lossy(&answer.stdout).trim().parse().ok()
}

fn agreed(question: &str) -> bool {
    if !std::io::stdin().is_terminal() {
        return false;
    }
    eprint!("{question} [Y/n] ");
    let _shown = std::io::stderr().flush();
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer).is_ok_and(|length| length > 0)
        && matches!(answer.trim().to_lowercase().as_str(), "" | "y" | "yes")
}

fn xcode() -> Result<()> {
    let found = Command::new("xcode-select")
        .arg("-p")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if !found {
        bail!("the Xcode command line tools are missing; install them with `xcode-select --install`");
    }
    Ok(())
}

/// A version of Node: major and minor.
type Version = (u32, u32);

fn node() -> Result<()> {
    let answer = Command::new("node").arg("--version").output();
    let text = answer.map(|answer| String::from_utf8_lossy(&answer.stdout).trim().to_owned());
    node_verdict(text.ok().as_deref())
}

/// What the page's tools run on. `text` is what `node --version` says, if there is a Node at all.
fn node_verdict(text: Option<&str>) -> Result<()> {
    const WANTED: &str = "Countersign needs Node 20.19 or newer (or 22.12 or newer)";
    let Some(text) = text else {
        bail!("{WANTED}; there is none on this machine. Get it from nodejs.org or with your version manager.");
    };
    let Some(version) = version(text) else {
        bail!("{WANTED}; `node --version` says {text:?}.");
    };
    // 21 and the first releases of 22 lack what 20.19 has: loading ES modules with require().
    let serves = matches!(version, (20, 19..) | (22, 12..) | (23.., _));
    if !serves {
        bail!(
            "{WANTED}; this is {}. Debian's own package is too old: get it from nodejs.org or with your version manager.",
            text.trim_start_matches('v')
        );
    }
    Ok(())
}

/// Reads `v20.19.2` or `Python 3.12.1`: major and minor.
pub fn version(text: &str) -> Option<Version> {
    let digits = text.trim_start_matches(|letter: char| !letter.is_ascii_digit());
    let mut parts = digits.split('.');
    let major = parts.next()?.parse().ok()?;
    let minor = parts.next()?.parse().ok()?;
    Some((major, minor))
}

/// `npm install`, when the page's packages are missing or older than the lock file. It keeps to the lock file as
/// `npm ci` does, which refuses one that lacks optional packages of other systems where the registry lacks them, too.
fn page_packages() -> Result<()> {
    let ui = tree::ui();
    let lock = ui.join("package-lock.json");
    // npm writes this file at the end of an installation.
    let mark = ui.join("node_modules").join(".package-lock.json");
    if newer_or_same(&mark, &lock) {
        return Ok(());
    }
    eprintln!("installing the page's packages");
    foreground(&mut tree::npm(&["install", "--no-audit", "--no-fund"])).context("npm install in ui")
}

fn newer_or_same(mark: &Path, source: &Path) -> bool {
    let changed = |file: &Path| file.metadata().and_then(|about| about.modified()).ok();
    match (changed(mark), changed(source)) {
        (Some(mark), Some(source)) => mark >= source,
        _ => false,
    }
}

/// Runs a program that may ask the person something; all it prints goes to standard error, since standard output
/// belongs to results.
///
/// # Errors
/// When it cannot be started or fails.
pub fn foreground(command: &mut Command) -> Result<()> {
    let name = command.get_program().to_string_lossy().into_owned();
    let status = command.stdout(std::io::stderr()).status().with_context(|| format!("{name} could not be started"))?;
    if !status.success() {
        bail!("{name} failed ({status})");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_is_asked_for_once_and_only_when_nothing_shows_it() {
        let missing = missing(&[Need::Keyring, Need::Window], &|package| package == "dbus", &|sign| {
            sign == Sign::Program("xdotool")
        });
        assert_eq!(missing, ["gnome-keyring", "libsecret-tools", "webkit2gtk-driver", "libayatana-appindicator3-1"]);
    }

    #[test]
    fn a_removed_package_with_leftover_settings_is_missing() {
        assert_eq!(installed_packages("xvfb installed\nopenbox config-files\ndbus not-installed\n"), ["xvfb"]);
    }

    #[test]
    fn node_20_19_and_22_12_are_the_oldest_that_serve() {
        for text in ["v20.19.0", "v20.20.2", "v22.12.0", "v23.0.0", "v24.3.1", "v100.0.0"] {
            assert!(node_verdict(Some(text)).is_ok(), "{text}");
        }
        for text in ["v18.13.0", "v20.18.3", "v21.7.0", "v22.11.0"] {
            let told = node_verdict(Some(text)).unwrap_err().to_string();
            assert!(told.contains("needs Node 20.19 or newer"), "{told}");
            assert!(told.contains(text.trim_start_matches('v')), "{told}");
        }
    }

    #[test]
    fn a_missing_or_silent_node_is_told_apart_from_an_old_one() {
        assert!(node_verdict(None).unwrap_err().to_string().contains("there is none"));
        assert!(node_verdict(Some("")).unwrap_err().to_string().contains("says \"\""));
    }

    #[test]
    fn versions_are_read_with_and_without_words_around_them() {
        assert_eq!(version("v20.19.2\n"), Some((20, 19)));
        assert_eq!(version("Python 3.13.0"), Some((3, 13)));
        assert_eq!(version("pyenv: python3.12: command not found"), None);
        assert_eq!(version(""), None);
    }

    #[test]
    fn packages_older_than_the_lock_file_are_installed_again() {
        let folder = std::env::temp_dir().join(format!("countersign-tools-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let (old, new) = (folder.join("old"), folder.join("new"));
        for (file, second) in [(&old, 1), (&new, 2)] {
            let file = std::fs::File::create(file).unwrap();
            file.set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(second)).unwrap();
        }
        assert!(newer_or_same(&new, &old));
        assert!(!newer_or_same(&old, &new));
        assert!(!newer_or_same(&folder.join("none"), &old));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
