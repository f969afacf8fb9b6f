//! Bytes to frames.

pub mod frame;
pub mod reconnect;
