//! How long to wait before the next try.

use std::time::Duration;

/// The longest wait before the first retry, and the floor under the server's `retry`.
pub const FIRST_DELAY: Duration = Duration::from_millis(500);
/// Where doubling ends.
pub const LONGEST_DELAY: Duration = Duration::from_secs(30);
/// A connection that lived this long makes earlier failures forgotten.
pub const STABLE_AFTER: Duration = Duration::from_secs(60);
/// The longest `retry` that is honoured; a server that names more gets this.
pub const LONGEST_RETRY: Duration = Duration::from_secs(5 * 60);
/// The longest `Retry-After` that is honoured.
pub const LONGEST_RETRY_AFTER: Duration = Duration::from_secs(60 * 60);

/// Failures in a row, and what the server asked for.
#[derive(Debug, Default)]
pub(super) struct Backoff {
    failures: u32,
    retry: Option<Duration>,
}

impl Backoff {
    pub(super) fn failures(&self) -> u32 {
        self.failures
    }

    /// The server's reconnection time, from now on. Below the floor it is the floor.
    pub(super) fn server_retry(&mut self, retry: Duration) {
        self.retry = Some(retry.clamp(FIRST_DELAY, LONGEST_RETRY));
    }

    /// A connection ended after `life`.
    pub(super) fn lived(&mut self, life: Duration) {
        if life >= STABLE_AFTER {
            self.failures = 0;
        }
    }

    /// Counts a failure and gives the wait after it.
    pub(super) fn next_delay(&mut self, chance: f64, asked: Option<Duration>) -> Duration {
        self.failures = self.failures.saturating_add(1);
        let first = self.retry.unwrap_or(FIRST_DELAY);
        let doublings = (self.failures - 1).min(16);
        let longest = (first * 2u32.pow(doublings)).min(LONGEST_DELAY.max(first));
        let asked = asked.unwrap_or_default().min(LONGEST_RETRY_AFTER);
        jitter(longest, chance).max(self.retry.unwrap_or_default()).max(asked)
    }

    /// The wait after a close that is no failure.
    pub(super) fn quiet_delay(&self, chance: f64) -> Duration {
        jitter(FIRST_DELAY, chance).max(self.retry.unwrap_or_default())
    }
}

/// Between half of `longest` and all of it, so that many clients do not come back at once.
fn jitter(longest: Duration, chance: f64) -> Duration {
    let chance = if chance.is_finite() { chance.clamp(0.0, 1.0) } else { 1.0 };
    longest.mul_f64(0.5 + chance / 2.0)
}
