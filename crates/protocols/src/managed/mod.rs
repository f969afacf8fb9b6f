//! The `managed` protocol: Qoder Cloud Agents (the seed page's form and the newest), Claude Managed Agents and clones.
//!
//! What differs between the dialects is data (`dialect`). Requests are built here and in `requests`; frames become
//! domain events in `parse` (reads, changes nothing) and `fold` (takes into the running state).

mod calls;
mod codec;
mod dialect;
mod drafts;
mod errors;
mod events;
mod fold;
mod ids;
mod joined;
mod list;
mod parse;
mod parts;
mod probe;
mod requests;
mod said;
mod session_object;
mod speaker;
mod turns;
mod usage;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use contract::server::ServerOptions;
use url::Url;

use crate::{Endpoint, Family, Probe, Protocol, json as wire, paths, times};

/// The family: recognises servers of this protocol and speaks to them.
#[derive(Debug, Clone, Copy, Default)]
pub struct Managed;

impl Family for Managed {
    fn id(&self) -> &'static str {
        "managed"
    }

    fn probes(&self, base: &Url, options: &ServerOptions) -> Vec<Probe> {
        probe::probes(base, options)
    }

    fn speak(&self, endpoint: Endpoint) -> Arc<dyn Protocol> {
        Arc::new(speaker::Speaker::new(endpoint))
    }
}
