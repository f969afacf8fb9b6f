//! The memory of a program and everything it started.

use std::{thread::sleep, time::Duration};

use anyhow::{Result, ensure};
use tests::window::process::descendants;

/// Between two readings.
const PAUSE: Duration = Duration::from_millis(300);
/// So many readings at most.
const READINGS: u32 = 40;
/// Two readings that differ by less than this part say that the program has come to rest.
const AT_REST: f64 = 0.005;

/// The memory, in megabytes (10⁶ bytes), once it no longer changes.
///
/// # Errors
/// Where the program is gone.
pub fn at_rest(program: i32) -> Result<f64> {
    let mut last = now(program)?;
    for _ in 0..READINGS {
        sleep(PAUSE);
        let next = now(program)?;
        if (next - last).abs() < last * AT_REST {
            return Ok(next);
        }
        last = next;
    }
    Ok(last)
}

/// The proportional set size of the whole tree: pages that several processes share are counted once, in parts.
fn now(program: i32) -> Result<f64> {
    let kib: u64 = descendants(program, |_| true).into_iter().filter_map(pss).sum();
    ensure!(kib > 0, "the program is gone");
    Ok(kib as f64 * 1024.0 / 1e6)
}

/// proc(5): `smaps_rollup` sums up all mappings of a process, in KiB.
fn pss(process: i32) -> Option<u64> {
    let all = std::fs::read_to_string(format!("/proc/{process}/smaps_rollup")).ok()?;
    all.lines().find_map(|line| line.strip_prefix("Pss:")?.split_whitespace().next()?.parse().ok())
}
