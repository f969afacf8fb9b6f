//! The engine as the shell calls it: one method per command of the contract.

mod beside;
mod connecting;
mod history;
mod lifecycle;
mod practice;
mod requests;
mod servers;
mod sessions;
mod setup;
mod tasks;
mod tokens;

use std::{
    collections::HashMap,
    path::PathBuf,
    sync::{Arc, Mutex},
};

use contract::{
    error::{AppError, ErrorCode},
    server::ServerId,
    session::SessionId,
};
use protocols::Family;
use store::PendingDecision;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

pub use self::lifecycle::LiveSessions;
use crate::{
    Clock, Credentials, Desktop, MemoryCredentials, PreferencesStore, Secret, hub::Hub, server::link::ServerLink,
    session::SessionHandle,
};

/// What an engine starts with.
pub struct EngineConfig {
    /// Where the record lies. Made when it is missing.
    pub data_dir: PathBuf,
    /// The tokens.
    pub credentials: Arc<dyn Credentials>,
    /// The preferences.
    pub preferences: Arc<dyn PreferencesStore>,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// What is done here for an agent, on the person's yes.
    pub desktop: Arc<dyn Desktop>,
    /// The app's version.
    pub version: String,
    /// `linux`, `macos` or `windows`.
    pub os: String,
}

/// The app without a window. Clones share it.
#[derive(Clone)]
pub struct Engine {
    inner: Arc<Inner>,
}

struct Inner {
    hub: Arc<Hub>,
    /// The protocols this app speaks.
    families: Vec<Box<dyn Family>>,
    /// Tokens kept for this session only.
    session_only: MemoryCredentials,
    links: Mutex<HashMap<ServerId, Linked>>,
    tasks: tokio::sync::Mutex<HashMap<SessionId, SessionHandle>>,
    /// Decisions that a crash left without their fate, until their session's task takes them.
    pending: Mutex<HashMap<SessionId, Vec<PendingDecision>>>,
    practice: Mutex<Option<Secret>>,
    index: Notify,
    cancel: CancellationToken,
}

/// A server that is connected to.
struct Linked {
    link: Arc<ServerLink>,
    cancel: CancellationToken,
}

impl Engine {
    pub(crate) fn hub(&self) -> &Arc<Hub> {
        &self.inner.hub
    }
}

fn not_found(what: &str) -> AppError {
    AppError::new(ErrorCode::NotFound, format!("This {what} is no longer here."))
}
