//! The edge cases of the `turns` protocol's page (§7), by their numbers: bytes through stream, record, fold and window.

mod asked;
mod ends;
mod wire;
