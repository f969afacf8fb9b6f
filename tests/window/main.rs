//! The real window: the built app on a desktop of its own, driven as a person drives it.
//!
//! Needs the app (`COUNTERSIGN_APP`) and the practice server (`COUNTERSIGN_PRACTICE`) as built programs.

#![cfg(target_os = "linux")]

mod approval;
mod connection;
mod ending;
mod ime;
mod keyring;
mod leaving;
mod memory;
mod shell;
mod steps;
mod tray;
mod turns;
