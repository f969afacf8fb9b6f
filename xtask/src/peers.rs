//! Software that nobody here wrote, installed from its registry into the target folder, pinned to a version.
//!
//! A test of a peer carries the peer's word in its name or module, so that a line per peer can be printed and the
//! tests of one that cannot be installed can be left out.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::counts::without_colour;
use crate::tools;
use crate::tree;

/// Where a peer comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    /// PyPI, for a Python of at least this version, into a virtual environment.
    Pip { oldest: (u32, u32) },
    /// npm, into a `node_modules` folder.
    Npm,
}

/// One peer.
#[derive(Debug, PartialEq, Eq)]
pub struct Peer {
    /// Its name, also of its folder below the peers' folder.
    pub name: &'static str,
    /// What names of its tests contain.
    pub word: &'static str,
    package: &'static str,
    version: &'static str,
    source: Source,
}

/// A server of the `managed` protocol.
pub const OPEN_MANAGED_AGENTS: Peer = Peer {
    name: "open-managed-agents",
    word: "open_managed_agents",
    package: "open-managed-agents",
    version: "0.1.0",
    source: Source::Pip { oldest: (3, 12) },
};

/// A server of the `runs` protocol, which runs real commands.
pub const ZETTCODE: Peer = Peer {
    name: "zettcode",
    word: "zettcode",
    package: "zettcode",
    version: "0.2.0",
    source: Source::Pip { oldest: (3, 10) },
};

/// The official Qoder client.
pub const QCA_SDK: Peer = Peer {
    name: "qca-sdk",
    word: "qca_sdk",
    package: "qca-sdk",
    version: "0.11.0",
    source: Source::Pip { oldest: (3, 10) },
};

/// The official client of Claude Managed Agents.
pub const ANTHROPIC_SDK: Peer = Peer {
    name: "anthropic-sdk",
    word: "anthropic_sdk",
    package: "@anthropic-ai/sdk",
    version: "1.14.0",
    source: Source::Npm,
};

/// All of them.
pub const PEERS: [&Peer; 4] = [&OPEN_MANAGED_AGENTS, &ZETTCODE, &QCA_SDK, &ANTHROPIC_SDK];

/// The variable that tells tests and benches where the peers are. Below it, each in a folder of its name, are a
/// virtual environment or a `node_modules` folder.
pub const VARIABLE: &str = "COUNTERSIGN_PEERS";

/// The folder they are installed in.
pub fn folder() -> PathBuf {
    tree::target().join("peers")
}

/// Installs a peer unless it stands there already.
///
/// # Errors
/// Why it cannot be installed here.
pub fn install(peer: &Peer) -> Result<()> {
    let place = folder().join(peer.name);
    let mark = place.join("installed");
    match peer.source {
        Source::Pip { oldest } => {
            let python = python(oldest)?;
            let wanted = format!("{} {} {}\n", peer.package, peer.version, python.display());
            if std::fs::read_to_string(&mark).is_ok_and(|have| have == wanted) {
                return Ok(());
            }
            clear(&place)?;
            tools::foreground(Command::new(&python).args(["-m", "venv"]).arg(&place).current_dir(&place))?;
            tools::foreground(
                Command::new(python_in(&place))
                    .args(["-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check"])
                    .arg(format!("{}=={}", peer.package, peer.version))
                    .current_dir(&place)
                    .stdin(Stdio::null()),
            )?;
            std::fs::write(&mark, wanted)
        }
        Source::Npm => {
            let wanted = format!("{} {}\n", peer.package, peer.version);
            if std::fs::read_to_string(&mark).is_ok_and(|have| have == wanted) {
                return Ok(());
            }
            clear(&place)?;
            std::fs::write(place.join("package.json"), "{\"private\": true}\n")?;
            tools::foreground(
                tree::npm(&["install", "--no-audit", "--no-fund", "--save-exact"])
                    .arg(format!("{}@{}", peer.package, peer.version))
                    .current_dir(&place)
                    .stdin(Stdio::null()),
            )?;
            std::fs::write(&mark, wanted)
        }
    }
    .with_context(|| format!("{} cannot be written", mark.display()))
}

fn clear(place: &Path) -> Result<()> {
    if place.exists() {
        std::fs::remove_dir_all(place).with_context(|| format!("{} cannot be removed", place.display()))?;
    }
    std::fs::create_dir_all(place).with_context(|| format!("{} cannot be made", place.display()))
}

fn python_in(environment: &Path) -> PathBuf {
    if cfg!(windows) { environment.join("Scripts").join("python.exe") } else { environment.join("bin").join("python") }
}

/// The first Python that runs and is new enough: by name on the PATH, then among pyenv's.
fn python(oldest: (u32, u32)) -> Result<PathBuf> {
    let mut places: Vec<PathBuf> = ["python3.13", "python3.12", "python3", "python"].map(PathBuf::from).to_vec();
    places.extend(pyenv_pythons());
    for place in places {
        if python_version(&place).is_some_and(|version| version >= oldest) {
            return Ok(place);
        }
    }
    bail!("it needs Python {}.{} or newer, and none was found", oldest.0, oldest.1)
}

/// What `--version` says. A pyenv shim may exist and still fail, so being there is not enough.
fn python_version(place: &Path) -> Option<(u32, u32)> {
    let answer = Command::new(place).arg("--version").stdin(Stdio::null()).output().ok()?;
    if !answer.status.success() {
        return None;
    }
    tools::version(&String::from_utf8_lossy(&answer.stdout))
}

fn pyenv_pythons() -> Vec<PathBuf> {
    let root = std::env::var_os("PYENV_ROOT")
        .map(PathBuf::from)
        .or_else(|| std::env::home_dir().map(|home| home.join(".pyenv")));
    let Some(versions) = root.and_then(|root| std::fs::read_dir(root.join("versions")).ok()) else {
        return Vec::new();
    };
    let mut found: Vec<_> = versions
        .flatten()
        .map(|version| version.path().join("bin").join("python3"))
        .filter(|python| python.is_file())
        .collect();
    found.sort();
    found
}

/// May this peer be missing on a build machine? `allowed` is the value of COUNTERSIGN_SKIP_PEERS.
pub fn may_be_missing(peer: &Peer, allowed: &str) -> bool {
    allowed.split([',', ' ']).any(|name| name == peer.name || name == peer.package)
}

/// How the tests of one peer went, by the lines that nextest or cargo test printed: passed and failed.
pub fn tally(peer: &Peer, lines: &[String]) -> (usize, usize) {
    let mut fates = BTreeMap::new();
    for line in lines {
        let line = without_colour(line);
        if let Some((name, held)) = fate(line.trim())
            && name.contains(peer.word)
        {
            // nextest repeats what failed at the end.
            fates.insert(name.to_owned(), held);
        }
    }
    let passed = fates.values().filter(|held| **held).count();
    (passed, fates.len() - passed)
}

/// `PASS [   0.084s] (2/3) tests::peers qca_sdk::lists_pages` or `test qca_sdk::lists_pages ... ok`
fn fate(line: &str) -> Option<(&str, bool)> {
    if let Some(rest) = line.strip_prefix("test ") {
        let (name, end) = rest.split_once(" ... ")?;
        return match end {
            "ok" => Some((name, true)),
            "FAILED" => Some((name, false)),
            _ => None,
        };
    }
    let (word, rest) = line.split_once('[')?;
    let (_, rest) = rest.split_once(']')?;
    let name = rest.split_whitespace().last()?;
    match word.trim() {
        "PASS" | "LEAK" => Some((name, true)),
        "FAIL" | "TIMEOUT" | "ABORT" | "LEAK-FAIL" | "SIGSEGV" | "SIGABRT" | "SIGKILL" => Some((name, false)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn a_peer_is_credited_with_its_own_tests_once() {
        let printed = lines(
            "        PASS [   0.084s] (1/4) tests::peers qca_sdk::strict_session\n\
                     SLOW [> 60.000s] tests::peers open_managed_agents::approval_denied\n\
                     FAIL [   1.084s] (2/4) tests::peers open_managed_agents::approval_denied\n\
             \u{1b}[32;1m        PASS\u{1b}[0m [   0.085s] (3/4) tests::peers open_managed_agents::message\n\
                  Summary [   0.085s] 4 tests run: 3 passed, 1 failed, 0 skipped\n\
                     FAIL [   1.084s] (2/4) tests::peers open_managed_agents::approval_denied",
        );
        assert_eq!(tally(&OPEN_MANAGED_AGENTS, &printed), (1, 1));
        assert_eq!(tally(&QCA_SDK, &printed), (1, 0));
        assert_eq!(tally(&ANTHROPIC_SDK, &printed), (0, 0));
    }

    #[test]
    fn cargo_test_lines_are_understood_too() {
        let printed = lines("test anthropic_sdk_streams ... ok\ntest anthropic_sdk_confirms ... FAILED");
        assert_eq!(tally(&ANTHROPIC_SDK, &printed), (1, 1));
    }

    #[test]
    fn only_a_named_peer_may_be_missing() {
        assert!(may_be_missing(&QCA_SDK, "open-managed-agents,qca-sdk"));
        assert!(may_be_missing(&ANTHROPIC_SDK, "@anthropic-ai/sdk"));
        assert!(!may_be_missing(&QCA_SDK, ""));
        assert!(!may_be_missing(&OPEN_MANAGED_AGENTS, "open-managed"));
    }

    #[test]
    fn no_peers_word_is_part_of_another() {
        for one in PEERS {
            for other in PEERS {
                assert!(one == other || !one.word.contains(other.word), "{} {}", one.word, other.word);
            }
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_python_that_exists_but_fails_is_passed_over() {
        use std::os::unix::fs::PermissionsExt;
        let folder = std::env::temp_dir().join(format!("countersign-python-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let make = |name: &str, script: &str| {
            let file = folder.join(name);
            std::fs::write(&file, format!("#!/bin/sh\n{script}\n")).unwrap();
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
            file
        };
        let shim = make("shim", "echo 'Python 3.12.0'; exit 127");
        let real = make("real", "echo 'Python 3.12.1'");
        assert_eq!(python_version(&shim), None);
        assert_eq!(python_version(&real), Some((3, 12)));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
