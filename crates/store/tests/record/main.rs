//! The store as its callers see it: each promise of the record is a test.

mod ledger;
mod log;
mod opening;
mod projections;
mod search;
mod servers;
mod stress;
mod support;
