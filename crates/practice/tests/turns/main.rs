//! The `turns` side over loopback, seen by a client that knows nothing of it but the wire. Each test is a rule of the
//! protocol's page.
#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may stop where it fails")]

mod captures;
mod client;
mod control;
mod endpoints;
mod faults;
mod followers;
mod inputs;
mod measured;
mod restart;
mod revised;
mod scenarios;
mod turns;
