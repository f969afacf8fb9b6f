//! The command line, read into one value. Anything not understood is refused with the usage text: a misspelt tier
//! must never look like a green run.

use std::path::PathBuf;

use crate::tools::Consent;

/// What `cargo xtask` prints when it is asked for nothing or for something it does not know.
pub const USAGE: &str = "\
cargo xtask run [--yes] [--release] [--screenshot FILE | --tour DIR]
    install what is missing, build, start the app
cargo xtask test [--yes] [lint|rust|ui|browser|window|peers …]
    install what is missing, then every check (no tier named: all but peers)
cargo xtask bench [--yes] [--json] [NAME …]
    benchmarks, each beside its comparison (no name: all)
cargo xtask package [--yes]
    installers for this operating system";

/// One command with everything it was told.
#[derive(Debug, PartialEq, Eq)]
pub enum Order {
    /// Print the usage text.
    Usage,
    /// Start the app.
    Run(RunWish),
    /// Check everything, or some tiers.
    Test(TestWish),
    /// Measure.
    Bench(BenchWish),
    /// Make installers.
    Package(Consent),
}

/// What `run` was asked for.
#[derive(Debug, PartialEq, Eq)]
pub struct RunWish {
    /// May packages be installed without a question?
    pub consent: Consent,
    /// Build with optimisation.
    pub release: bool,
    /// What to do once the window is there.
    pub show: Show,
}

/// What `run` does with the window.
#[derive(Debug, PartialEq, Eq)]
pub enum Show {
    /// Leave it to the person.
    Window,
    /// Save a picture of the first screen, then end.
    Screenshot(PathBuf),
    /// Drive it through its main journey and save a picture per step into this folder.
    Tour(PathBuf),
}

/// What `test` was asked for.
#[derive(Debug, PartialEq, Eq)]
pub struct TestWish {
    /// May packages be installed without a question?
    pub consent: Consent,
    /// The tiers to run, in order, none twice.
    pub tiers: Vec<Tier>,
}

/// What `bench` was asked for.
#[derive(Debug, PartialEq, Eq)]
pub struct BenchWish {
    /// May packages be installed without a question?
    pub consent: Consent,
    /// Print JSON objects, one per line, and nothing else on standard output.
    pub json: bool,
    /// The benches to run; empty means all.
    pub names: Vec<String>,
}

/// A group of checks that needs the same tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tier {
    /// Formatting and lints, Rust and page.
    Lint,
    /// Rust tests that need no window.
    Rust,
    /// The page's build and component tests.
    Ui,
    /// The page in a real browser.
    Browser,
    /// The app in a real window.
    Window,
    /// Software that nobody here wrote.
    Peers,
}

impl Tier {
    /// Every tier, in the order they run.
    pub const ALL: [Self; 6] = [Self::Lint, Self::Rust, Self::Ui, Self::Browser, Self::Window, Self::Peers];

    /// The word for it on the command line.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Lint => "lint",
            Self::Rust => "rust",
            Self::Ui => "ui",
            Self::Browser => "browser",
            Self::Window => "window",
            Self::Peers => "peers",
        }
    }

    fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tier| tier.word() == word)
    }
}

/// Reads the words after `cargo xtask`.
///
/// # Errors
/// A sentence for the person: which word was not understood.
pub fn parse(words: impl Iterator<Item = String>) -> Result<Order, String> {
    let mut words = words;
    let Some(command) = words.next() else {
        return Ok(Order::Usage);
    };
    let mut rest = Rest::read(words)?;
    let order = match command.as_str() {
        "run" => {
            let release = rest.take_flag("--release");
            let picture = rest.take_value("--screenshot");
            let tour = rest.take_value("--tour");
            let show = match (picture, tour) {
                (None, None) => Show::Window,
                (Some(file), None) => Show::Screenshot(PathBuf::from(file)),
                (None, Some(folder)) => Show::Tour(PathBuf::from(folder)),
                (Some(_), Some(_)) => {
                    return Err("--screenshot and --tour exclude each other".to_owned());
                }
            };
            rest.take_no_names()?;
            Order::Run(RunWish { consent: rest.take_consent(), release, show })
        }
        "test" => Order::Test(TestWish { tiers: tiers(&rest.take_names())?, consent: rest.take_consent() }),
        "bench" => Order::Bench(BenchWish {
            json: rest.take_flag("--json"),
            names: rest.take_names(),
            consent: rest.take_consent(),
        }),
        "package" => {
            rest.take_no_names()?;
            Order::Package(rest.take_consent())
        }
        "help" | "--help" | "-h" => return Ok(Order::Usage),
        other => return Err(format!("`{other}` is not a command")),
    };
    rest.finish()?;
    Ok(order)
}

fn tiers(names: &[String]) -> Result<Vec<Tier>, String> {
    if names.is_empty() {
        let mut all = Tier::ALL.to_vec();
        all.retain(|tier| *tier != Tier::Peers);
        return Ok(all);
    }
    for name in names {
        if Tier::from_word(name).is_none() {
            let known = Tier::ALL.map(Tier::word).join(", ");
            return Err(format!("`{name}` is not a tier ({known})"));
        }
    }
    let mut wanted = Tier::ALL.to_vec();
    wanted.retain(|tier| names.iter().any(|name| name == tier.word()));
    Ok(wanted)
}

/// The words after the command, sorted into flags, flags with a value, and names.
struct Rest {
    flags: Vec<String>,
    values: Vec<(String, String)>,
    names: Vec<String>,
}

impl Rest {
    fn read(words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut rest = Self { flags: Vec::new(), values: Vec::new(), names: Vec::new() };
        let mut words = words;
        while let Some(word) = words.next() {
            if word == "--screenshot" || word == "--tour" {
                let value = words
                    .next()
                    .filter(|value| !value.starts_with("--"))
                    .ok_or_else(|| format!("{word} needs a path after it"))?;
                rest.values.push((word, value));
            } else if word.starts_with('-') {
                rest.flags.push(word);
            } else {
                rest.names.push(word);
            }
        }
        Ok(rest)
    }

    fn take_flag(&mut self, flag: &str) -> bool {
        let before = self.flags.len();
        self.flags.retain(|have| have != flag);
        self.flags.len() < before
    }

    fn take_value(&mut self, flag: &str) -> Option<String> {
        let at = self.values.iter().position(|(have, _)| have == flag)?;
        Some(self.values.remove(at).1)
    }

    fn take_consent(&mut self) -> Consent {
        Consent::new(self.take_flag("--yes"))
    }

    fn take_names(&mut self) -> Vec<String> {
        std::mem::take(&mut self.names)
    }

    fn take_no_names(&self) -> Result<(), String> {
        match self.names.first() {
            None => Ok(()),
            Some(name) => Err(format!("`{name}` is not understood here")),
        }
    }

    fn finish(self) -> Result<(), String> {
        let left = self.flags.into_iter().chain(self.values.into_iter().map(|(flag, _)| flag)).next();
        match left {
            None => Ok(()),
            Some(flag) => Err(format!("`{flag}` is not understood here")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(line: &str) -> Result<Order, String> {
        parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn no_tier_means_all_but_peers() {
        let Ok(Order::Test(wish)) = order("test") else {
            panic!("`test` is a command");
        };
        assert_eq!(wish.tiers, [Tier::Lint, Tier::Rust, Tier::Ui, Tier::Browser, Tier::Window]);
    }

    #[test]
    fn tiers_run_in_their_own_order_and_once() {
        let Ok(Order::Test(wish)) = order("test window lint window") else {
            panic!("two tiers are named");
        };
        assert_eq!(wish.tiers, [Tier::Lint, Tier::Window]);
    }

    #[test]
    fn a_misspelt_tier_is_refused() {
        assert_eq!(order("test lnit"), Err("`lnit` is not a tier (lint, rust, ui, browser, window, peers)".to_owned()));
    }

    #[test]
    fn a_flag_of_another_command_is_refused() {
        assert_eq!(order("test --json"), Err("`--json` is not understood here".to_owned()));
        assert_eq!(order("bench --tour pictures"), Err("`--tour` is not understood here".to_owned()));
    }

    #[test]
    fn a_screenshot_needs_its_path() {
        assert_eq!(order("run --screenshot --yes"), Err("--screenshot needs a path after it".to_owned()));
        assert_eq!(
            order("run --screenshot a.png --release --yes"),
            Ok(Order::Run(RunWish {
                consent: Consent::Given,
                release: true,
                show: Show::Screenshot(PathBuf::from("a.png")),
            }))
        );
    }

    #[test]
    fn one_run_shows_one_thing() {
        assert_eq!(
            order("run --screenshot a.png --tour b"),
            Err("--screenshot and --tour exclude each other".to_owned())
        );
    }

    #[test]
    fn bench_takes_names_and_json_in_any_order() {
        assert_eq!(
            order("bench --json start --yes pipeline"),
            Ok(Order::Bench(BenchWish {
                consent: Consent::Given,
                json: true,
                names: vec!["start".to_owned(), "pipeline".to_owned()],
            }))
        );
    }

    #[test]
    fn nothing_asked_shows_the_usage() {
        assert_eq!(order(""), Ok(Order::Usage));
        assert!(order("frobnicate").is_err());
    }
}
