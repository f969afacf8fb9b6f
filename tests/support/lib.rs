//! What several test programs share.

pub mod rig;
pub mod view;
#[cfg(unix)]
pub mod window;
