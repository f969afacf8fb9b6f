//! Ids and random-looking numbers from a seed: the same seed and the same order of events give the same ids.

use std::sync::atomic::{AtomicU64, Ordering};

/// A source of ids. Opaque to clients, as the wire page (§2) demands.
#[derive(Debug)]
pub(crate) struct Ids {
    state: AtomicU64,
}

const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

impl Ids {
    /// `generation` counts the starts with one state file, so a restart never repeats an id.
    pub(crate) fn new(seed: u64, generation: u64) -> Self {
        Self { state: AtomicU64::new(mix(seed) ^ mix(generation.wrapping_mul(STEP)).rotate_left(17)) }
    }

    fn draw(&self) -> u64 {
        mix(self.state.fetch_add(STEP, Ordering::Relaxed))
    }

    /// `prefix_` and 32 hex digits.
    pub(crate) fn next(&self, prefix: &str) -> String {
        format!("{prefix}_{:016x}{:016x}", self.draw(), self.draw())
    }
}

/// 256 random bits as hex.
pub(crate) fn random_token() -> Result<String, crate::PracticeError> {
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes).map_err(|error| crate::PracticeError::Random(error.to_string()))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_ids_and_a_restart_gives_others() {
        let (one, two, restarted) = (Ids::new(7, 0), Ids::new(7, 0), Ids::new(7, 1));
        let first = one.next("evt");
        assert_eq!(first, two.next("evt"));
        assert_ne!(first, restarted.next("evt"));
        assert_ne!(first, one.next("evt"));
    }

    #[test]
    fn tokens_have_256_bits_and_differ() {
        let (one, two) = (random_token().unwrap(), random_token().unwrap());
        assert_eq!(one.len(), 64);
        assert_ne!(one, two);
    }
}
