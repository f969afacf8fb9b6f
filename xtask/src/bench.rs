//! `cargo xtask bench`: each bench is a binary `bench-NAME` of the package `tests`, which measures this app and what
//! it is compared with in one run and prints one JSON object per line.

use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::args::BenchWish;
use crate::display::{Display, Folders, Windows};
use crate::metadata;
use crate::peers;
use crate::run::point_at_binaries;
use crate::step;
use crate::tools::{self, Need};
use crate::tree::{self, ONE_FEATURE_SET};

/// What is measured is what people install, optimized across crates: also the name of its folder.
const PROFILE: &str = "dist";

/// How long one bench may take.
const LIMIT: Duration = Duration::from_secs(30 * 60);

/// Runs the benches; `false` when one of them failed. With `json`, standard output carries only their lines.
///
/// # Errors
/// When a name is unknown, or something they need is missing or does not build.
pub fn bench(wish: &BenchWish) -> Result<bool> {
    let packages = metadata::packages()?;
    let known: Vec<String> = metadata::target_names(&packages, Some("tests"), "bin")
        .iter()
        .filter_map(|binary| binary.strip_prefix("bench-").map(str::to_owned))
        .collect();
    let names = chosen(&wish.names, &known)?;

    let on_display = cfg!(target_os = "linux");
    let mut needs = vec![Need::Build, Need::Page, Need::Python];
    if on_display {
        needs.extend([Need::Display, Need::Window]);
    }
    tools::prepare(&needs, wish.consent)?;
    if names.iter().any(|name| name == "pipeline") {
        for peer in [&peers::QCA_SDK, &peers::ANTHROPIC_SDK] {
            peers::install(peer).with_context(|| format!("{}, to compare with, cannot be installed", peer.name))?;
        }
    }
    tools::foreground(&mut tree::npm(&["run", "build"])).context("the page does not build")?;
    build(&names, &metadata::target_names(&packages, Some("countersign"), "example"))?;

    let display = if on_display { Some(Display::start(Windows::AsAsked, Folders::Private)?) } else { None };
    let mut all_ended_well = true;
    for name in &names {
        let binary = tree::binary(PROFILE, &format!("bench-{name}"));
        let mut command = match &display {
            Some(display) => display.command(&binary),
            None => std::process::Command::new(&binary),
        };
        point_at_binaries(&mut command, PROFILE);
        command
            .env("COUNTERSIGN_EXAMPLES", tree::target().join(PROFILE).join("examples"))
            .env(peers::VARIABLE, peers::folder())
            .current_dir(tree::root());
        if wish.json {
            command.arg("--json");
        }
        // Only results on standard output; what it says besides goes where the compiler's words went.
        let outcome = step::run_for_results(&mut command, LIMIT)?;
        if !outcome.ended_well {
            eprintln!("bench {name} failed");
            all_ended_well = false;
        }
    }
    Ok(all_ended_well)
}

fn chosen(asked: &[String], known: &[String]) -> Result<Vec<String>> {
    if let Some(unknown) = asked.iter().find(|name| !known.contains(name)) {
        bail!("there is no bench `{unknown}`; there are: {}", known.join(", "));
    }
    if known.is_empty() {
        bail!("there is no bench");
    }
    Ok(if asked.is_empty() { known.to_vec() } else { asked.to_vec() })
}

/// The benches, what they measure, and the examples of the shell they compare it with.
fn build(names: &[String], examples: &[String]) -> Result<()> {
    let mut cargo = tree::cargo(&["build", "--profile", PROFILE]);
    cargo.args(ONE_FEATURE_SET).args(["--bin", "countersign", "--bin", "practice"]);
    for name in names {
        cargo.arg("--bin").arg(format!("bench-{name}"));
    }
    for example in examples {
        cargo.args(["--example", example]);
    }
    tools::foreground(&mut cargo).context("the benches do not build")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn no_name_means_every_bench() {
        let known = names(&["pipeline", "start"]);
        assert_eq!(chosen(&[], &known).unwrap(), known);
        assert_eq!(chosen(&names(&["start"]), &known).unwrap(), ["start"]);
    }

    #[test]
    fn an_unknown_bench_is_refused_with_those_there_are() {
        let told = chosen(&names(&["stat"]), &names(&["pipeline", "start"])).unwrap_err().to_string();
        assert_eq!(told, "there is no bench `stat`; there are: pipeline, start");
    }

    #[test]
    fn no_bench_at_all_is_not_a_success() {
        assert!(chosen(&[], &[]).is_err());
    }
}
