//! Random ids and keys.

/// 128 random bits as lower-case hex.
#[must_use]
pub fn random() -> String {
    let mut bytes = [0u8; 16];
    if getrandom::fill(&mut bytes).is_err() {
        // Without the system's randomness an id must still be unique in this process.
        use std::sync::atomic::{AtomicU64, Ordering};
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        bytes = (u128::from(std::process::id()) << 64 | u128::from(count)).to_be_bytes();
    }
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
