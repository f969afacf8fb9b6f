//! What a payload hides and what it would do, said before anybody decides: local, deterministic, in words. No I/O.
//!
//! [`marks`] finds what a reader would not see or would take for something else. [`judge`] gives a payload its risk:
//! a class and the reasons for it. Neither ever lowers what the person is asked; a label is a help, not a permission.

mod commands;
pub mod marks;
mod paths;
mod rules;
mod shell;
mod tools;
mod types;

pub use tools::{Payload, judge};
pub use types::{Mark, MarkKind, Reason, Risk, RiskClass, RiskReason, Segment};
