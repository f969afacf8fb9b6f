//! One session: its task, which alone owns its stream, its codec and its reducer.

mod begin;
mod beside;
mod commands;
mod deliver;
mod group;
mod handle;
mod held;
mod history;
mod intake;
mod leaving;
mod loading;
mod local;
mod lost_answers;
mod messages;
mod occasions;
mod own_tools;
mod publish;
mod reading;
pub mod reduce;
pub mod replay;
mod room;
mod setup;
mod stopping;
mod stream;
mod task;
mod timers;
mod turn_stream;
mod turned_away;
mod unasked;

pub use handle::{Command, Reply, SessionHandle};
pub use task::{SessionTask, Start};
pub use unasked::unasked_mark;
