//! The `turns` protocol (Agent Application Protocol) below `/turns` of the same listener: v3, v3-revised and v4, as its
//! page says, and with the faults its reference server showed (§7).
//!
//! It promises the exact shapes, statuses and frames: names and one line of JSON, no event ids, no heartbeats. A turn
//! goes on after its reader left, and history shows nothing of a step before the step is over. Nothing here runs a
//! tool: what a tool gives back is in the script or in the rules.

mod agents;
mod config;
mod control;
mod desk;
mod free;
mod history;
pub(crate) mod http;
pub(crate) mod kept;
mod log;
mod manner;
mod pace;
mod player;
mod script;
mod shape;
mod stream;

pub use control::{TurnsControl, TurnsOrder, TurnsPost, TurnsVisit, TurnsWait};
pub(crate) use desk::Turns;
pub use manner::{TurnsFaults, TurnsFold, TurnsLocation, TurnsManner, TurnsVersion};
