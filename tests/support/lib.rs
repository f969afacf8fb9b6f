//! What several test programs share.

#[cfg(unix)]
pub mod window;
