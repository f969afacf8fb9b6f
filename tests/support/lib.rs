//! What several test programs share.

pub mod bench;
pub mod rig;
pub mod view;
#[cfg(unix)]
pub mod window;
