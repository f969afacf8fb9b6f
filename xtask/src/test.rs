//! `cargo xtask test`: the tiers, one after another, each with its wall time. A failure does not stop the run; only what is built
//! upon a failed build is left out. The end tells every failed test with its step and its reason; the last line is the
//! sum, `N passed, N failed, N skipped`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::args::{TestWish, Tier};
use crate::counts::Counts;
use crate::display::{Display, Folders, Windows};
use crate::failures::{self, Failure};
use crate::metadata;
use crate::peers::{self, PEERS};
use crate::run::point_at_binaries;
use crate::step::{self, Outcome};
use crate::tools::{self, Consent, Need};
use crate::tree::{self, ONE_FEATURE_SET};

/// How long one step, a build included, may take before it counts as hung.
const LIMIT: Duration = Duration::from_secs(30 * 60);

/// Runs the tiers; did everything hold?
pub fn test(wish: &TestWish) -> bool {
    let mut run = Run {
        consent: wish.consent,
        counts: Counts::default(),
        failures: Vec::new(),
        page: None,
        nextest: tools::on_path(&format!("cargo-nextest{}", std::env::consts::EXE_SUFFIX)),
    };
    let started = Instant::now();
    for tier in &wish.tiers {
        run.tier(*tier);
    }
    for line in failures::told(&run.failures) {
        println!("{line}");
    }
    println!("all of it took {}", duration(started.elapsed()));
    println!("{}", run.counts);
    run.counts.all_held()
}

/// A run of several tiers.
struct Run {
    consent: Consent,
    counts: Counts,
    /// What failed, each with the step it failed in.
    failures: Vec<(String, Failure)>,
    /// Was the page built in this run, and did it build?
    page: Option<bool>,
    nextest: bool,
}

impl Run {
    fn tier(&mut self, tier: Tier) {
        println!("== {}", tier.word());
        let started = Instant::now();
        let before = self.counts;
        let outcome = match tier {
            Tier::Lint => self.lint(),
            Tier::Rust => self.rust(),
            Tier::Ui => self.ui(),
            Tier::Browser => self.browser(),
            Tier::Window => self.window(),
            Tier::Peers => self.peers(),
        };
        if let Err(problem) = outcome {
            println!("{}: {problem:#}", tier.word());
            self.count(&format!("{}: {problem:#}", tier.word()), Counts::of_check(false), &[]);
        }
        let own = Counts {
            passed: self.counts.passed - before.passed,
            failed: self.counts.failed - before.failed,
            skipped: self.counts.skipped - before.skipped,
        };
        println!("== {}: {own} in {}", tier.word(), duration(started.elapsed()));
    }

    /// Counts a step and keeps what failed in it, as its lines tell.
    fn count(&mut self, name: &str, counts: Counts, lines: &[String]) {
        if !counts.all_held() {
            self.failures.extend(failures::of(lines).into_iter().map(|failure| (name.to_owned(), failure)));
        }
        self.counts += counts;
    }

    /// A step that is a check as a whole.
    fn check(&mut self, name: &str, command: &mut Command) -> Result<bool> {
        let outcome = step(name, command)?;
        self.count(name, Counts::of_check(outcome.ended_well), &outcome.lines);
        Ok(outcome.ended_well)
    }

    /// A step that runs tests and says how many.
    fn tests(&mut self, name: &str, command: &mut Command) -> Result<Outcome> {
        let outcome = step(name, command)?;
        self.count(name, Counts::of_tests(&outcome.lines, outcome.ended_well), &outcome.lines);
        Ok(outcome)
    }

    fn lint(&mut self) -> Result<()> {
        tools::prepare(&[Need::Build, Need::Page], self.consent)?;
        stub_page(&tree::ui().join("dist"))?;
        self.check("rustfmt", &mut tree::cargo(&["fmt", "--all", "--check"]))?;
        let mut clippy = tree::cargo(&["clippy", "--all-targets"]);
        clippy.args(ONE_FEATURE_SET).args(["--", "-D", "warnings"]);
        self.check("clippy", &mut clippy)?;
        self.check("eslint", &mut tree::npm(&["run", "lint"]))?;
        self.check("prettier", &mut tree::npm(&["run", "format:check"]))?;
        self.check("svelte-check", &mut tree::npm(&["run", "check"]))?;
        Ok(())
    }

    fn rust(&mut self) -> Result<()> {
        tools::prepare(&[Need::Build, Need::Keyring, Need::Display], self.consent)?;
        stub_page(&tree::ui().join("dist"))?;
        let mut programs = metadata::target_names(&metadata::packages()?, None, "test");
        programs.retain(|name| name != "window" && name != "peers");
        programs.sort();
        programs.dedup();
        let mut command = self.test_command();
        command.args(["--lib", "--bins"]);
        for program in &programs {
            command.args(["--test", program]);
        }
        self.tests("Rust tests", &mut command)?;
        Ok(())
    }

    fn ui(&mut self) -> Result<()> {
        if self.page()? {
            self.tests("page tests", &mut tree::npm(&["test"]))?;
        }
        Ok(())
    }

    fn browser(&mut self) -> Result<()> {
        tools::prepare(&[Need::Browser], self.consent)?;
        if self.page()? {
            self.tests("browser tests", &mut tree::npm(&["run", "test:browser"]))?;
        }
        Ok(())
    }

    fn window(&mut self) -> Result<()> {
        if !cfg!(target_os = "linux") {
            println!("the window is driven through WebKitWebDriver, which only Linux has");
            self.counts += Counts::SKIPPED;
            return Ok(());
        }
        self.in_a_window("window", &mut |run, command| run.tests("window tests", command))?;
        Ok(())
    }

    fn peers(&mut self) -> Result<()> {
        if !cfg!(target_os = "linux") {
            println!("peers are tried on Linux only");
            self.counts += Counts::SKIPPED;
            return Ok(());
        }
        tools::prepare(&[Need::Python, Need::Page], self.consent)?;
        let allowed = std::env::var("COUNTERSIGN_SKIP_PEERS").unwrap_or_default();
        let mut missing = Vec::new();
        for peer in PEERS {
            if let Err(problem) = peers::install(peer) {
                println!("peer {} cannot be installed: {problem:#}", peer.name);
                missing.push(peer);
                if tools::in_ci() && !peers::may_be_missing(peer, &allowed) {
                    self.count(&format!("peer {} is missing", peer.name), Counts::of_check(false), &[]);
                }
            }
        }
        if missing.len() == PEERS.len() {
            for peer in missing {
                println!("peer {}: skipped", peer.name);
                self.counts += Counts::SKIPPED;
            }
            return Ok(());
        }
        let nextest = self.nextest;
        let outcome = self.in_a_window("peers", &mut |run, command| {
            command.env(peers::VARIABLE, peers::folder());
            for peer in &missing {
                if nextest {
                    command.args(["-E", &format!("not test({})", peer.word)]);
                } else {
                    command.args(["--skip", peer.word]);
                }
            }
            run.tests("peers", command)
        })?;
        let Some(outcome) = outcome else {
            return Ok(());
        };
        for peer in PEERS {
            if missing.contains(&peer) {
                println!("peer {}: skipped", peer.name);
                if !nextest {
                    // cargo test says nothing of the tests it was told to leave out.
                    self.counts += Counts::SKIPPED;
                }
                continue;
            }
            let (passed, failed) = peers::tally(peer, &outcome.lines);
            println!("peer {}: {passed} passed, {failed} failed", peer.name);
            if passed + failed == 0 {
                self.count(&format!("peer {}: no test of it ran", peer.name), Counts::of_check(false), &[]);
            }
        }
        Ok(())
    }

    /// Builds the app and a test program of the package `tests`, and runs it on a display of its own. `None` when
    /// something did not build.
    fn in_a_window(
        &mut self,
        program: &str,
        tested: &mut dyn FnMut(&mut Self, &mut Command) -> Result<Outcome>,
    ) -> Result<Option<Outcome>> {
        tools::prepare(&[Need::Build, Need::Display, Need::Window, Need::Picture], self.consent)?;
        if !self.page()? {
            return Ok(None);
        }
        let mut build = tree::cargo(&["build"]);
        // The test program in the same build: with it, cargo chooses the features that it chose for the Rust tests.
        build.args(ONE_FEATURE_SET).args(["--bin", "countersign", "--bin", "practice", "--test", program]);
        if !self.check("the app's build", &mut build)? {
            return Ok(None);
        }
        let display = Display::start(Windows::AsAsked, Folders::Private)?;
        let mut command = self.test_command();
        command.args(["--test", program]);
        // Each starts an app or servers of its own; side by side on a small machine they would only slow each other.
        if self.nextest {
            command.args(["--test-threads", "1"]);
        } else {
            command.args(["--", "--test-threads", "1"]);
        }
        let mut command = display.in_session(&command);
        point_at_binaries(&mut command, "debug");
        tested(self, &mut command).map(Some)
    }

    /// Builds the page, at most once in a run. A page that does not build was counted when it was tried.
    fn page(&mut self) -> Result<bool> {
        if let Some(built) = self.page {
            if !built {
                println!("left out: the page does not build");
            }
            return Ok(built);
        }
        self.page = Some(false);
        tools::prepare(&[Need::Page], self.consent)?;
        let built = self.check("the page's build", &mut tree::npm(&["run", "build"]))?;
        self.page = Some(built);
        Ok(built)
    }

    fn test_command(&self) -> Command {
        let mut command = if self.nextest { tree::cargo(&["nextest", "run"]) } else { tree::cargo(&["test"]) };
        command.args(ONE_FEATURE_SET).arg("--no-fail-fast");
        command
    }
}

fn step(name: &str, command: &mut Command) -> Result<Outcome> {
    println!("-- {name}");
    let started = Instant::now();
    // A failure says itself why; a backtrace only pushes that out of sight.
    command.env("RUST_BACKTRACE", "0").env_remove("RUST_LIB_BACKTRACE");
    let outcome = step::run(command, LIMIT).with_context(|| name.to_owned())?;
    let verdict = if outcome.ended_well { "done" } else { "FAILED" };
    println!("-- {name}: {verdict} in {}", duration(started.elapsed()));
    Ok(outcome)
}

/// With the feature `custom-protocol` the shell compiles the built page in, so there must be one. A stub serves for
/// what needs no page; every tier that shows the page builds it first.
fn stub_page(dist: &Path) -> Result<()> {
    let index: PathBuf = dist.join("index.html");
    if index.exists() {
        return Ok(());
    }
    std::fs::create_dir_all(dist).context("ui/dist cannot be made")?;
    std::fs::write(index, "<!doctype html>\n<title>Countersign</title>\n")
        .context("ui/dist/index.html cannot be written")
}

fn duration(time: Duration) -> String {
    let seconds = time.as_secs();
    if seconds < 60 {
        format!("{:.1} s", time.as_secs_f64())
    } else {
        format!("{} min {:02} s", seconds / 60, seconds % 60)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stub_never_replaces_a_built_page() {
        let dist = std::env::temp_dir().join(format!("countersign-dist-{}", std::process::id()));
        stub_page(&dist).unwrap();
        let index = dist.join("index.html");
        assert!(std::fs::read_to_string(&index).unwrap().contains("<title>Countersign</title>"));
        std::fs::write(&index, "the real one").unwrap();
        stub_page(&dist).unwrap();
        assert_eq!(std::fs::read_to_string(&index).unwrap(), "the real one");
        std::fs::remove_dir_all(&dist).unwrap();
    }

    #[test]
    fn long_times_are_told_in_minutes() {
        assert_eq!(duration(Duration::from_millis(1_250)), "1.2 s");
        assert_eq!(duration(Duration::from_secs(605)), "10 min 05 s");
    }
}
