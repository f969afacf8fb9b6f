//! Adding a server: the form's contents, and what the probe found, layer by layer.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::{error::AppError, server::ServerOptions};

/// What a person entered for a server that is not saved yet. The token goes in, never out.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct ServerDraft {
    /// The person's name for it; empty = made from the host.
    pub name: String,
    /// The address as typed.
    pub base_url: String,
    /// The token as pasted (trimmed here); empty = none.
    pub token: String,
    /// The protocol, where the person chose it; `None` = found by probing.
    pub protocol: Option<String>,
    /// Advanced options.
    pub options: ServerOptions,
    /// Keep the token in memory only, chosen explicitly where there is no keyring.
    pub session_only: bool,
}

impl std::fmt::Debug for ServerDraft {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServerDraft")
            .field("name", &self.name)
            .field("base_url", &self.base_url)
            .field("token", &if self.token.is_empty() { "none" } else { "redacted" })
            .field("protocol", &self.protocol)
            .field("options", &self.options)
            .field("session_only", &self.session_only)
            .finish()
    }
}

/// The layers between us and a working server, in the order they are tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum ProbeLayer {
    /// The address itself.
    Url,
    /// Finding the host.
    Dns,
    /// Connecting to it.
    Connect,
    /// TLS.
    Tls,
    /// The proxy in between.
    Proxy,
    /// Getting an answer in time.
    Answer,
    /// Being let in.
    Auth,
    /// Speaking a protocol we know.
    Protocol,
}

/// One line of the probe.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct ProbeStep {
    /// Which layer.
    pub layer: ProbeLayer,
    /// How it went.
    pub outcome: ProbeOutcome,
    /// The fact found (host, status, version, server words); never a token.
    pub detail: Option<String>,
    /// The HTTP status, where there was one.
    pub status: Option<u16>,
}

/// How a layer of the probe went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum ProbeOutcome {
    /// Works.
    Ok,
    /// Failed; nothing behind it was tried.
    Failed,
    /// Works, and the person should know something.
    Warning,
}

/// What a probe found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct ProbeReport {
    /// The layers in order, up to the first that failed.
    pub steps: Vec<ProbeStep>,
    /// What was found, where all layers work.
    pub found: Option<ProbeFound>,
    /// The failure to act on, where one layer does not.
    pub error: Option<AppError>,
}

/// A server that works.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct ProbeFound {
    /// The protocol's id.
    pub protocol: String,
    /// Its dialect, where it has any.
    pub dialect: Option<String>,
    /// The address to save (a prefix such as `/v1` may have been added).
    pub base_url: String,
    /// The server's version, where it says one.
    pub version: Option<String>,
    /// It answered without a token.
    pub unauthenticated: bool,
}
