//! Wire to domain and back. Pure: no I/O, no clock, no runtime.
//!
//! A protocol is a value that implements [`Protocol`]: what it can do, how to ask, how to read the answers. Its
//! [`SessionCodec`] turns frames into domain events in two steps: [`SessionCodec::parse`] reads a frame without
//! changing anything (so that the log can tell duplicates first), [`SessionCodec::fold`] takes it into the
//! session's running state. [`families`] lists all protocols; adding one touches neither the engine nor the page.

mod ask;
mod codec;
mod headers;
mod json;
pub mod managed;
pub mod own_tools;
mod paths;
mod protocol;
mod reconcile;
pub mod runs;
mod times;
mod told;
pub mod turns;

pub use ask::{Ask, Refusal, Repeat};
pub use codec::{Body, Opened, Parsed, Seen, SessionCodec};
pub use protocol::{
    Act, Acted, Checked, Endpoint, EventPage, FactsPart, Family, GroupAnswer, Liveness, NewSession, Outgoing, Page,
    Probe, Protocol, Recognition, RemoteSession, Sent, SetupChange,
};

/// Every protocol this app speaks, in the order in which a probe tries them.
#[must_use]
pub fn families() -> Vec<Box<dyn Family>> {
    vec![Box::new(runs::Runs), Box::new(turns::Turns), Box::new(managed::Managed)]
}

/// The protocol with this id.
#[must_use]
pub fn family(id: &str) -> Option<Box<dyn Family>> {
    families().into_iter().find(|family| family.id() == id)
}
