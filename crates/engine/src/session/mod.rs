//! One session: its task, which alone owns its stream, its codec and its reducer.

mod deliver;
mod handle;
mod history;
mod intake;
mod local;
mod messages;
mod publish;
pub mod reduce;
pub mod replay;
mod stream;
mod task;

pub use handle::{Command, Reply, SessionHandle};
pub use task::{SessionTask, Start};
