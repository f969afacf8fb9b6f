//! One session: its task, which alone owns its stream, its codec and its reducer.

mod deliver;
mod handle;
mod held;
mod history;
mod intake;
mod local;
mod messages;
mod publish;
mod reading;
pub mod reduce;
pub mod replay;
mod stream;
mod task;
mod turned_away;

pub use handle::{Command, Reply, SessionHandle};
pub use task::{SessionTask, Start};
