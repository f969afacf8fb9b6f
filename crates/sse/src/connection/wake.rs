//! Notices that the computer slept: the wall clock went on while the monotonic one stood still.
//!
//! Where the monotonic clock counts sleep too (Windows), this sees nothing and the shell reports the wake.

use std::time::Duration;

use contract::Millis;
use tokio::time::{Interval, MissedTickBehavior, interval};

use crate::reconnect::Moment;

/// How often the clocks are compared.
const TICK: Duration = Duration::from_secs(1);
/// A difference below this is no sleep, but a clock that was set a little (milliseconds).
const SHORTEST_SLEEP: Millis = 2_000;

pub(super) struct SleepDetector {
    ticks: Interval,
    last: Moment,
}

impl SleepDetector {
    pub(super) fn new(now: Moment) -> Self {
        let mut ticks = interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self { ticks, last: now }
    }

    pub(super) async fn tick(&mut self) {
        self.ticks.tick().await;
    }

    /// Whether the computer slept since the last call: more than twice as much wall time passed as was lived through.
    pub(super) fn slept(&mut self, now: Moment) -> bool {
        let wall = now.wall.saturating_sub(self.last.wall);
        let lived = Millis::try_from(now.mono.saturating_sub(self.last.mono).as_millis()).unwrap_or(Millis::MAX);
        self.last = now;
        wall > lived.saturating_mul(2) && wall - lived >= SHORTEST_SLEEP
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_gap_between_the_clocks_is_a_sleep_and_a_busy_computer_is_none() {
        let at = |mono_ms: u64, wall: Millis| Moment { mono: Duration::from_millis(mono_ms), wall };
        let mut sleep = SleepDetector::new(at(0, 1_000_000));
        assert!(!sleep.slept(at(1_000, 1_001_000)), "both went on");
        assert!(!sleep.slept(at(21_000, 1_021_000)), "the task was held up");
        assert!(sleep.slept(at(22_000, 1_622_000)), "ten minutes of sleep");
        assert!(!sleep.slept(at(23_000, 1_623_000)), "told once");
        assert!(!sleep.slept(at(24_000, 1_625_500)), "the clock was set by 1.5 s");
        assert!(!sleep.slept(at(25_000, 1_000_000)), "the clock was set back");
    }
}
