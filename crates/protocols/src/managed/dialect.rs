//! The dialects of the `managed` protocol as data: one record each, so that nothing else asks which one it is.
//!
//! Knobs and values are those of the reference page "Claude Managed Agents", section 1 (dialect record). A switch of
//! the server's options, seed compatibility, changes only what is sent; decoding always accepts every form.

use std::time::Duration;

use contract::server::{AuthStyle, Capabilities, ServerOptions, WhileRunning};
use url::Url;

use crate::Liveness;

/// One dialect.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Dialect {
    /// Its id, as saved with a server.
    pub id: &'static str,
    /// How it takes a token where the person chose nothing else.
    pub auth: AuthStyle,
    /// Headers that every request must have.
    pub headers: &'static [(&'static str, &'static str)],
    /// It knows `Idempotency-Key` on everything that writes.
    pub idempotency_keys: bool,
    /// Its streams resume after a cursor.
    pub resumes: bool,
    /// Events asked for in one page.
    pub events_per_page: u32,
    /// Other rows asked for in one page.
    pub rows_per_page: u32,
    /// It knows `POST …/cancel`; otherwise only the interrupt event stops a turn.
    pub cancel: bool,
    /// A client tool's result may be posted before the idle event names the call.
    pub client_tools_at_once: bool,
    /// Where a message goes that is sent while a turn runs.
    pub while_running: WhileRunning,
    /// How long a stream may be silent while a turn runs.
    pub running_silence: Duration,
}

/// Qoder Cloud Agents.
pub(super) const QODER: Dialect = Dialect {
    id: "qoder",
    auth: AuthStyle::Bearer,
    headers: &[],
    idempotency_keys: true,
    resumes: true,
    events_per_page: 50,
    rows_per_page: 100,
    cancel: true,
    client_tools_at_once: false,
    while_running: WhileRunning::QueueHere,
    running_silence: Duration::from_secs(30),
};

/// Claude Managed Agents and its clones.
pub(super) const CLAUDE: Dialect = Dialect {
    id: "claude",
    auth: AuthStyle::ApiKey,
    headers: &[("anthropic-version", "2023-06-01"), ("anthropic-beta", "managed-agents-2026-04-01")],
    idempotency_keys: false,
    resumes: false,
    events_per_page: 100,
    rows_per_page: 100,
    cancel: false,
    client_tools_at_once: true,
    while_running: WhileRunning::QueueAtServer,
    running_silence: Duration::from_secs(45),
};

/// Silence that is borne while nothing runs: long enough to be cheap, short enough to find a half-open connection.
const IDLE_SILENCE: Duration = Duration::from_secs(300);

/// What `delta_flush_interval_ms` is where the person set nothing (seed page, "`delta_flush_interval_ms`").
pub(super) const DELTA_FLUSH_MS: u32 = 50;

impl Dialect {
    /// The dialect of a server: as saved, else by its host, else Qoder's.
    pub(super) fn of(base: &Url, options: &ServerOptions) -> &'static Self {
        match options.dialect.as_deref() {
            Some("claude") => &CLAUDE,
            Some(_) => &QODER,
            None if base.host_str().is_some_and(|host| host == "anthropic.com" || host.ends_with(".anthropic.com")) => {
                &CLAUDE
            }
            None => &QODER,
        }
    }

    /// What a server of this dialect can do.
    pub(super) fn capabilities(&self) -> Capabilities {
        Capabilities {
            list_sessions: true,
            create_session: true,
            agents: true,
            environments: true,
            create_environment: true,
            rename: true,
            archive: true,
            delete: true,
            stop: true,
            while_running: self.while_running,
            deny_reason: true,
            images: false,
            outcomes: true,
            client_tools: true,
            threads: true,
            reattach: true,
            ..Capabilities::default()
        }
    }

    /// How long its streams may be silent.
    pub(super) fn liveness(&self) -> Liveness {
        Liveness { running: Some(self.running_silence), idle: Some(IDLE_SILENCE) }
    }
}
