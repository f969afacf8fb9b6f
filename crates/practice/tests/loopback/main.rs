//! The practice server over loopback, seen by a client that knows nothing of it but the wire.
#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may stop where it fails")]

mod approvals;
mod binary;
mod client;
mod control;
mod dialects;
mod faults;
mod lists;
mod restart;
mod scenarios;
mod sessions;
mod streams;
