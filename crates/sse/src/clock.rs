//! The two clocks of a connection: one to wait by, one to show.

use std::{
    hash::{BuildHasher, RandomState},
    time::{SystemTime, UNIX_EPOCH},
};

use contract::Millis;
use tokio::time::Instant;

use crate::reconnect::Moment;

/// Where a connection takes its time from.
pub trait Clock: Send + Sync {
    /// Now, on both clocks.
    fn now(&self) -> Moment;
}

/// The computer's clocks.
#[derive(Debug)]
pub struct SystemClock {
    start: Instant,
}

impl Default for SystemClock {
    fn default() -> Self {
        Self { start: Instant::now() }
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Moment {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Moment { mono: self.start.elapsed(), wall: Millis::try_from(wall.as_millis()).unwrap_or(Millis::MAX) }
    }
}

/// A number from 0 up to 1, good enough to spread retries: the seed of a fresh hasher is random.
pub fn chance() -> f64 {
    let bits = RandomState::new().hash_one(0u8) >> 11;
    bits as f64 / (1u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::chance;

    #[test]
    fn chance_is_from_0_up_to_1_and_varies() {
        let drawn: Vec<f64> = (0..1000).map(|_| chance()).collect();
        assert!(drawn.iter().all(|number| (0.0..1.0).contains(number)));
        assert!(drawn.iter().any(|number| *number < 0.5) && drawn.iter().any(|number| *number >= 0.5));
    }
}
