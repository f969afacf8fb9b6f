//! `practice`: the practice server as a process of its own, for window tests, peers and benches.
//!
//! Prints one JSON line with its addresses and token once it listens, and ends on SIGTERM, Ctrl C, or when its
//! standard input is closed, so that it never outlives whoever started it.

use std::{path::PathBuf, process::ExitCode};

use practice::{Config, Form, Manner, Pace, Practice, TurnsManner};
use tokio::io::AsyncReadExt;

const USAGE: &str = "usage: practice [--port N] [--token T] [--seed S] [--scenario ID]… [--state FILE] \
                     [--pace real|fast] [--dialect qoder|seed|claude] [--heartbeat-ms N] [--runs 0.1|0.2|seed] \
                     [--runs-permission deny|ask|safe|full] [--runs-scenario ID]… \
                     [--turns v3|v3-revised|v4] [--turns-faults measured|none] [--turns-scenario ID]…";

struct Arguments {
    config: Config,
    scenarios: Vec<String>,
    runs_scenarios: Vec<String>,
    turns_scenarios: Vec<String>,
}

fn read(arguments: impl Iterator<Item = String>) -> Result<Arguments, String> {
    let mut config = Config::default();
    let (mut scenarios, mut runs_scenarios, mut turns_scenarios) = (Vec::new(), Vec::new(), Vec::new());
    let mut arguments = arguments;
    while let Some(name) = arguments.next() {
        let value = arguments.next().ok_or_else(|| format!("{name} needs a value"))?;
        let number = || value.parse::<u64>().map_err(|_| format!("{name}: {value} is not a number"));
        match name.as_str() {
            "--port" => config.port = Some(value.parse().map_err(|_| format!("{value} is not a port"))?),
            "--token" => config.token = Some(value),
            "--seed" => config.seed = number()?,
            "--scenario" => scenarios.push(value),
            "--runs-scenario" => runs_scenarios.push(value),
            "--runs" => config.runs.generation = word(&name, &value)?,
            "--runs-permission" => config.runs.permission = word(&name, &value)?,
            "--turns-scenario" => turns_scenarios.push(value),
            "--turns" => config.turns.version = word(&name, &value)?,
            "--turns-faults" => {
                config.turns = match value.as_str() {
                    "measured" => TurnsManner { version: config.turns.version, ..TurnsManner::measured() },
                    "none" => TurnsManner::of(config.turns.version),
                    _ => return Err("--turns-faults is measured or none".into()),
                };
            }
            "--state" => config.state_file = Some(PathBuf::from(value)),
            "--heartbeat-ms" => config.heartbeat = Some(std::time::Duration::from_millis(number()?)),
            "--pace" => {
                config.pace = match value.as_str() {
                    "real" => Pace::Real,
                    "fast" => Pace::Fast,
                    _ => return Err("--pace is real or fast".into()),
                };
            }
            "--dialect" => {
                let form = match value.as_str() {
                    "qoder" => Form::Newest,
                    "seed" => Form::Seed,
                    "claude" => Form::Claude,
                    _ => return Err("--dialect is qoder, seed or claude".into()),
                };
                config.manner = match form {
                    // The seed page in all it says: replay on connect, repeated messages.
                    Form::Seed => Manner {
                        form,
                        text: practice::Text::Repeat,
                        start: practice::Start::Replay,
                        ..Manner::default()
                    },
                    Form::Newest | Form::Claude => Manner { form, ..Manner::default() },
                };
            }
            _ => return Err(format!("unknown argument {name}")),
        }
    }
    Ok(Arguments { config, scenarios, runs_scenarios, turns_scenarios })
}

/// One of the words a switch knows.
fn word<T: serde::de::DeserializeOwned>(name: &str, value: &str) -> Result<T, String> {
    serde_json::from_value(value.into()).map_err(|_| format!("{name}: {value} is not one of its words"))
}

async fn run(arguments: Arguments) -> Result<(), practice::PracticeError> {
    let practice = Practice::start(arguments.config).await?;
    let mut sessions = Vec::new();
    for scenario in &arguments.scenarios {
        sessions.push(practice.start_scenario(scenario).await?);
    }
    let mut runs_sessions = Vec::new();
    for scenario in &arguments.runs_scenarios {
        runs_sessions.push(practice.control().runs().start_scenario(scenario)?);
    }
    let mut turns_sessions = Vec::new();
    for scenario in &arguments.turns_scenarios {
        turns_sessions.push(practice.control().turns().start_scenario(scenario)?);
    }
    let line = serde_json::json!({
        "base_url": practice.base_url(), "claude_base_url": practice.claude_base_url(),
        "control_url": practice.control_url(), "token": practice.token(), "sessions": sessions,
        "runs_base_url": practice.runs_base_url(), "runs_sessions": runs_sessions,
        "turns_base_url": practice.turns_base_url(), "turns_sessions": turns_sessions,
    });
    // Ready for SIGTERM before anybody knows that there is something to end.
    let terminated = terminated();
    println!("{line}");
    ended(terminated).await;
    practice.stop().await;
    Ok(())
}

/// Comes back when the process is told to end.
async fn ended(terminated: impl Future<Output = ()>) {
    tokio::select! {
        () = terminated => {}
        _ = tokio::signal::ctrl_c() => {}
        () = input_closed() => {}
    }
}

/// Listens for SIGTERM from the call on, not from the first poll on.
#[cfg(unix)]
fn terminated() -> impl Future<Output = ()> {
    let signal = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate());
    async {
        match signal {
            Ok(mut signal) => {
                signal.recv().await;
            }
            Err(_) => std::future::pending().await,
        }
    }
}

#[cfg(not(unix))]
fn terminated() -> impl Future<Output = ()> {
    std::future::pending()
}

async fn input_closed() {
    let (mut input, mut bytes) = (tokio::io::stdin(), [0_u8; 64]);
    while input.read(&mut bytes).await.is_ok_and(|read| read > 0) {}
}

fn main() -> ExitCode {
    let arguments = match read(std::env::args().skip(1)) {
        Ok(arguments) => arguments,
        Err(problem) => {
            eprintln!("practice: {problem}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("practice: no runtime: {error}");
            return ExitCode::FAILURE;
        }
    };
    let result = runtime.block_on(run(arguments));
    // Standard input may still be being read; that must not keep the process.
    runtime.shutdown_background();
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("practice: {error}");
            ExitCode::FAILURE
        }
    }
}
