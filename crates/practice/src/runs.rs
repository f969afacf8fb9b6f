//! The `runs` protocol below `/runs` of the same listener: a coding agent's server with one workspace and one current
//! session, whose runs are the answers to their own POST requests (runs page §2 to §8).
//!
//! It promises what the page says of both generations: the exact shapes, statuses and frames, no heartbeats, no event
//! ids, no replay. A run ends with its connection. Nothing here runs a command: what a command prints is in the script.

mod calls;
mod control;
mod desk;
mod event;
mod free;
pub(crate) mod http;
pub(crate) mod kept;
mod manner;
mod player;
mod restart;
mod shape;
pub(crate) mod stream;

pub(crate) use calls::{output_of, written};
pub use control::{RunsControl, RunsOrder};
pub(crate) use desk::Runs;
pub(crate) use event::pieces;
pub use manner::{Generation, Permission, Recover, RunsManner};
