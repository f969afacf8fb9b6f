//! The app's entry.
#![cfg_attr(not(debug_assertions), windows_subsystem = "windows")]

/// Measured against glibc's: a fifth more events per second decoded, and a fifth less time of the processor from the
/// wire to the record, since a stream makes and drops some thirty short texts per event.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    countersign_lib::run()
}
