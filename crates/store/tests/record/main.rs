//! The store as its callers see it: each promise of the record is a test.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "what the tests share fails the test that uses it"
)]

mod ledger;
mod log;
mod opening;
mod projections;
mod search;
mod servers;
mod stress;
mod support;
