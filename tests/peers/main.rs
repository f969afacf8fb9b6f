//! Real software that nobody here wrote, driven or driving: `cargo xtask test peers` installs it and runs this.
//!
//! The folder of the installed peers comes in `COUNTERSIGN_PEERS`; without it (a plain `cargo test`) it is the place
//! where xtask installs them.

mod clients;
mod open_managed_agents;
#[cfg(unix)]
mod window;
#[cfg(unix)]
mod zettcode;

use std::path::PathBuf;

/// The folder of the installed peers.
fn peers() -> PathBuf {
    std::env::var_os("COUNTERSIGN_PEERS")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../target/peers"), PathBuf::from)
}

/// A file of this folder.
fn script(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("peers").join(name)
}
