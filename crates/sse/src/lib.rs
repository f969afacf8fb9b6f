//! Bytes to frames.

pub mod frame;
