//! `cargo xtask`: every developer command, on every operating system.
//!
//! `run` starts the app, `test` checks everything, `bench` measures, `package` makes installers. Each command first
//! installs what is missing, so that a fresh clone needs nothing but Rust and Node.

mod args;
mod bench;
mod counts;
mod display;
mod failures;
mod group;
mod metadata;
mod package;
mod peers;
mod run;
mod step;
mod test;
mod tools;
mod tree;

#[cfg(test)]
mod layers;
#[cfg(test)]
mod wording;

use std::process::ExitCode;

use args::Order;

fn main() -> ExitCode {
    let order = match args::parse(std::env::args().skip(1)) {
        Ok(order) => order,
        Err(problem) => {
            eprintln!("xtask: {problem}\n\n{}", args::USAGE);
            return ExitCode::from(2);
        }
    };
    let outcome = match order {
        Order::Usage => {
            println!("{}", args::USAGE);
            Ok(true)
        }
        Order::Run(wish) => run::run(&wish),
        Order::Test(wish) => Ok(test::test(&wish)),
        Order::Bench(wish) => bench::bench(&wish),
        Order::Package(consent) => package::package(consent),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(problem) => {
            eprintln!("xtask: {problem:#}");
            ExitCode::FAILURE
        }
    }
}
