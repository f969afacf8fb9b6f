//! `cargo xtask bench pipeline`: one stream of 200,000 events of 200 bytes, read five ways in one run.
//!
//! (a) decoded to events by this app, on one thread; (b) its whole path: committed rows and patches serialized for a
//! window; (c) read and dropped with the same HTTP client; (d) parsed by the two official clients, which keep nothing.
//!
//! `bench-pipeline decode` or `durable` runs that part once, without comparisons, for a profiler to look at.

mod app;
mod server;

use std::{path::PathBuf, process::Command, time::Instant};

use anyhow::{Context as _, Result, bail, ensure};
use futures_util::StreamExt as _;
use tests::bench::{Line, median, print};

/// The allocator of the app itself.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const EVENTS: usize = 200_000;
/// The typed models of the Qoder client are slow: enough events for a steady rate.
const MODEL_EVENTS: usize = 20_000;
const ROUNDS: usize = 3;

fn main() -> Result<()> {
    let port = server::start(EVENTS)?;
    let base = format!("http://127.0.0.1:{port}/v1");
    let one_thread = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let threads = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let rate = |seconds: f64| EVENTS as f64 / seconds;
    let line =
        |case, metric, value, unit, target| print(&Line { bench: "pipeline", case, metric, value, unit, target });
    match std::env::args().nth(1).as_deref() {
        None => {}
        Some("decode") => {
            let decoded = rate(one_thread.block_on(app::decode(&base, EVENTS))?);
            return line("managed", "decode_events_per_s", decoded, "events/s", Some(1_000_000.0));
        }
        Some("durable") => {
            let durable = rate(threads.block_on(app::whole_path(&base, EVENTS))?);
            return line("managed", "durable_events_per_s", durable, "events/s", Some(200_000.0));
        }
        Some(other) => bail!("no part is called {other}: decode, durable"),
    }

    // One of each per round, so that a slow moment of the machine meets them all.
    let (mut dropped, mut decoded, mut durable) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        dropped.push(rate(one_thread.block_on(read_and_drop(&base))?));
        decoded.push(rate(one_thread.block_on(app::decode(&base, EVENTS))?));
        durable.push(rate(threads.block_on(app::whole_path(&base, EVENTS))?));
    }
    let (dropped, decoded, durable) = (median(dropped), median(decoded), median(durable));
    line("managed", "read_drop_events_per_s", dropped, "events/s", None)?;
    line("managed", "decode_events_per_s", decoded, "events/s", Some(1_000_000.0))?;
    line("managed", "durable_events_per_s", durable, "events/s", Some(200_000.0))?;

    let dicts = median((0..ROUNDS).map(|_| qca(&base, EVENTS, "dict")).collect::<Result<_>>()?);
    line("dict", "qca_sdk_events_per_s", dicts, "events/s", None)?;
    line("model", "qca_sdk_events_per_s", qca(&base, MODEL_EVENTS, "model")?, "events/s", None)?;
    let anthropic = median((0..ROUNDS).map(|_| anthropic(port)).collect::<Result<_>>()?);
    line("managed", "anthropic_sdk_events_per_s", anthropic, "events/s", None)?;
    line("managed", "decode_ratio_to_anthropic_sdk", decoded / anthropic, "ratio", Some(3.0))?;
    line("managed", "durable_ratio_to_qca_sdk", durable / dicts, "ratio", Some(2.0))
}

async fn read_and_drop(base: &str) -> Result<f64> {
    let client = reqwest::Client::builder().no_proxy().build()?;
    let start = Instant::now();
    let answer = client.get(format!("{base}/sessions/{}/events/stream", server::session(EVENTS))).send().await?;
    let mut body = answer.bytes_stream();
    let mut bytes = 0;
    while let Some(chunk) = body.next().await {
        bytes += chunk?.len();
    }
    ensure!(bytes > (EVENTS - 1) * server::BLOCK, "only {bytes} bytes came");
    Ok(start.elapsed().as_secs_f64())
}

fn peers() -> PathBuf {
    std::env::var_os("COUNTERSIGN_PEERS")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../target/peers"), PathBuf::from)
}

fn script(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("bench").join(name)
}

fn qca(base: &str, events: usize, mode: &str) -> Result<f64> {
    let mut command = Command::new(peers().join("qca-sdk/bin/python"));
    command.arg(script("qca_sdk.py")).args([base, &server::session(events), mode]);
    client_rate(command, events)
}

fn anthropic(port: u16) -> Result<f64> {
    let mut command = Command::new("node");
    command.arg(script("anthropic_sdk.mjs")).arg(format!("http://127.0.0.1:{port}"));
    command.arg(server::session(EVENTS)).arg(peers().join("anthropic-sdk"));
    client_rate(command, EVENTS)
}

fn client_rate(mut command: Command, events: usize) -> Result<f64> {
    let output = command.output().context("a comparison is not installed: `cargo xtask bench pipeline` installs it")?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    ensure!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    let mut words = said.split_whitespace();
    let count: usize = words.next().context("no count")?.parse()?;
    let seconds: f64 = words.next().context("no time")?.parse()?;
    ensure!(count == events, "the client saw {count} of {events} events");
    Ok(events as f64 / seconds)
}
