//! The `turns` protocol (Agent Application Protocol, version 3 with its revised draft, and version 4).
//!
//! Two ways on the wire behind one trait: in v3 a turn is a request whose answer tells it (`speaker_v3`, `fold_v3`); in v4
//! inputs are posted and one stream tells everything (`speaker_v4`, `fold_v4`). What both share stands beside them: the
//! agents of `/meta` (`agents`), the session object (`session_object`), messages and their blocks (`wire`), which call is
//! whose to answer and what is asked about it (`asked`), requests and answers (`bodies`, `answers`, `errors`), and what
//! the server's own answers showed (`known`).

mod agents;
mod answers;
mod asked;
mod bodies;
mod errors;
mod fold_v3;
mod fold_v4;
mod known;
mod pretty;
mod probe;
mod session_object;
mod speaker;
mod speaker_v3;
mod speaker_v4;
mod wire;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use contract::server::ServerOptions;
use url::Url;

use crate::{Endpoint, Family, Probe, Protocol};

/// The family: recognises servers of this protocol and speaks to them.
#[derive(Debug, Clone, Copy, Default)]
pub struct Turns;

impl Family for Turns {
    fn id(&self) -> &'static str {
        "turns"
    }

    fn probes(&self, base: &Url, options: &ServerOptions) -> Vec<Probe> {
        probe::probes(base, options)
    }

    fn speak(&self, endpoint: Endpoint) -> Arc<dyn Protocol> {
        let is_v4 = endpoint.options.dialect.as_deref() == Some(probe::V4);
        let speaker = speaker::Speaker::new(endpoint);
        if is_v4 { Arc::new(speaker_v4::SpeakerV4(speaker)) } else { Arc::new(speaker_v3::SpeakerV3(speaker)) }
    }
}
