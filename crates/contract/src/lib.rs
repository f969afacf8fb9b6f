//! The words both sides share. Types that cross between the crates and the page, and no I/O.
//!
//! What is exported to the page carries `TS`; `ui/src/lib/contract/index.ts` is generated from
//! those types and a test fails when the committed file differs (see `typescript.rs`).
//! `wire` and `event` stay in Rust: frames and the domain events decoded from them.

pub mod command;
pub mod connection;
pub mod error;
pub mod event;
pub mod item;
pub mod patch;
pub mod probe;
pub mod request;
pub mod scrutiny;
pub mod search;
pub mod server;
pub mod session;
pub mod settings;
pub mod setup;
pub mod typescript;
pub mod wire;

/// Milliseconds since 1970-01-01T00:00:00Z. Below 2^53, so exact as a JSON number.
pub type Millis = i64;
