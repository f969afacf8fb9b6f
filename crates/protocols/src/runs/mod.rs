//! The `runs` protocol: an agent server that does one run at a time in one current session and tells it as the answer
//! to the request that began it (runs-server page; `zettcode-server` speaks it).
//!
//! Requests are built in `bodies` and answers read in `answers`; frames become domain events in `parse` (reads, changes
//! nothing) and `fold` (takes into the running state). There is no replay: what a broken stream swallowed is found in
//! the history, which `crate::reconcile` lays beside what was shown.

mod answers;
mod bodies;
mod errors;
mod fold;
mod parse;
mod probe;
mod speaker;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use contract::server::ServerOptions;
use url::Url;

use crate::{Endpoint, Family, Probe, Protocol};

/// The family: recognises servers of this protocol and speaks to them.
#[derive(Debug, Clone, Copy, Default)]
pub struct Runs;

impl Family for Runs {
    fn id(&self) -> &'static str {
        "runs"
    }

    fn probes(&self, base: &Url, options: &ServerOptions) -> Vec<Probe> {
        probe::probes(base, options)
    }

    fn speak(&self, endpoint: Endpoint) -> Arc<dyn Protocol> {
        Arc::new(speaker::Speaker::new(endpoint))
    }
}
