//! A saved endpoint with a protocol and a token, and what it can do.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::Millis;

/// A server's own id in this app: random, never reused; also the name of its token in the keyring.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, TS)]
#[serde(transparent)]
pub struct ServerId(pub String);

/// The practice server's fixed identity.
pub const PRACTICE_SERVER: &str = "practice";

/// A server as the page shows it. Holds no token.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
pub struct Server {
    /// Its id.
    pub id: ServerId,
    /// The person's name for it.
    pub name: String,
    /// Where it listens, without a trailing slash.
    pub base_url: String,
    /// The protocol's id: `managed`, `runs`, `turns`, or one that joined later.
    pub protocol: String,
    /// How it is spoken to.
    pub options: ServerOptions,
    /// What is known of its token.
    pub token: TokenState,
    /// The person paused it: no connection is made.
    pub paused: bool,
    /// Whether this is the built-in practice server.
    pub practice: bool,
    /// What the last contact showed.
    pub state: ServerState,
    /// What this server can do; the page draws no button for what it cannot.
    pub capabilities: Capabilities,
    /// Things the person should know about this server.
    pub warnings: Vec<ServerWarning>,
    /// What it says of itself.
    pub facts: ServerFacts,
    /// When it last answered.
    pub last_seen_at: Option<Millis>,
}

/// How a server is spoken to. Kept in the database; never holds a token.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, TS)]
#[serde(default)]
pub struct ServerOptions {
    /// The protocol's dialect, as the probe found it or the person chose it (managed: `qoder`, `claude`).
    pub dialect: Option<String>,
    /// Sends what the oldest servers of the protocol want (managed: `after_id`, `delta_flush_interval_ms`). Changes only what is sent.
    pub seed_compat: bool,
    /// Milliseconds between text deltas that `seed_compat` asks for. `None` = 50.
    pub delta_flush_interval_ms: Option<u32>,
    /// How the token is sent. `None` = as the dialect says.
    pub auth: Option<AuthStyle>,
    /// Sent with every request. Names that carry secrets (authorization, x-api-key, cookie) are refused.
    pub headers: Vec<Header>,
    /// The person agreed to plain http to a host that is not this computer.
    pub insecure_accepted: bool,
    /// The cap on one line or event of this server's streams, in bytes. `None` = 64 MiB.
    pub event_cap_bytes: Option<u64>,
    /// The cap on what is kept of this server's events on disk, in bytes. `None` = 8 GiB.
    pub disk_cap_bytes: Option<u64>,
    /// How turns are told, where the server offers several ways (turns: `delta`, `message`, `none`). `None` = the best.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub stream_mode: Option<String>,
    /// Other origins that the person agreed to send this server's token to (`https://host:port`).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[ts(optional, as = "Option<Vec<String>>")]
    pub trusted_origins: Vec<String>,
}

/// How a token is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum AuthStyle {
    /// `Authorization: Bearer …`
    Bearer,
    /// `x-api-key: …`
    ApiKey,
    /// Both headers.
    Both,
}

/// One extra header.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct Header {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
}

/// What is known of a server's token. The token itself never leaves Rust.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum TokenState {
    /// The server is used without one.
    None,
    /// Kept in the OS keyring.
    Keyring,
    /// Kept in memory until the app ends, by the person's choice.
    SessionOnly,
    /// One was stored, but cannot be read now (keyring gone, locked, or the app was restarted after "this session only").
    Missing,
}

/// What the last contact with a server showed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ServerState {
    /// Not contacted yet.
    Unknown,
    /// Being contacted.
    Checking,
    /// Answers.
    Online,
    /// 401: wants another token.
    Unauthorized,
    /// 403 with the server's words.
    Forbidden {
        /// What the server said.
        message: String,
    },
    /// Does not answer.
    Unreachable {
        /// The layer that failed.
        layer: crate::probe::ProbeLayer,
        /// The cause in words.
        detail: String,
        /// When it is tried again.
        retry_at: Option<Millis>,
    },
    /// Paused by the person.
    Paused,
    /// The practice server is switched off.
    Off,
}

/// What a server says of itself. Each missing part was not said.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, TS)]
#[serde(default)]
pub struct ServerFacts {
    /// Its version.
    pub version: Option<String>,
    /// The folder its agent works in.
    pub workspace: Option<String>,
    /// How it treats the agent's commands, in its own word.
    pub permission: Option<String>,
    /// The words it takes for that.
    pub permissions: Vec<String>,
    /// The word under which commands are asked about; `None` where there is no such level.
    pub asking_permission: Option<String>,
    /// The word under which all commands are refused; `None` where there is no such level.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub refusing_permission: Option<String>,
    /// The model in use, by name.
    pub model: Option<String>,
    /// The models it has.
    pub models: Vec<ModelChoice>,
    /// No model is set up: nothing can run.
    pub no_model: bool,
    /// How hard the model thinks, in the server's word.
    pub effort: Option<String>,
    /// The words it takes for that.
    pub efforts: Vec<String>,
}

/// A model a server has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct ModelChoice {
    /// The name it is chosen by.
    pub name: String,
    /// Its provider's name for it, where that is another.
    pub model: Option<String>,
    /// Tokens its context has room for.
    pub context_window: Option<u64>,
    /// It takes images.
    pub images: bool,
}

/// Something the person should know about a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum ServerWarning {
    /// It answers without any token.
    Unauthenticated,
    /// Plain http to a host that is not this computer.
    PlainHttp,
    /// Its token lives in memory only and is gone when the app ends.
    TokenNotStored,
    /// What is kept of it has reached its cap on disk: nothing more is read from it until the cap is raised.
    StorageFull,
    /// Its own setting runs commands without asking, whatever a run asks for.
    CommandsNotAsked,
    /// Its own setting refuses all commands, whatever a run asks for.
    CommandsRefused,
    /// No model is set up: nothing can run.
    NoModel,
}

/// What a server of some protocol and dialect can do. Data, so that the page never asks which protocol it is.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, TS)]
#[serde(default)]
pub struct Capabilities {
    /// Lists its sessions.
    pub list_sessions: bool,
    /// Creates sessions.
    pub create_session: bool,
    /// A new session needs an agent from a list.
    pub agents: bool,
    /// A new session needs an environment from a list.
    pub environments: bool,
    /// Environments can be created.
    pub create_environment: bool,
    /// Renames sessions.
    pub rename: bool,
    /// Archives sessions.
    pub archive: bool,
    /// Deletes sessions.
    pub delete: bool,
    /// Stops a running turn.
    pub stop: bool,
    /// Where a message goes that is sent while a turn runs.
    pub while_running: WhileRunning,
    /// Takes a reason with a denial.
    pub deny_reason: bool,
    /// Takes images in messages.
    pub images: bool,
    /// Takes outcomes (goals with a rubric).
    pub outcomes: bool,
    /// Asks the client to run tools of its own.
    pub client_tools: bool,
    /// Runs sub-agents in threads.
    pub threads: bool,
    /// The stream can be left and taken up again without harm. Where false, closing it stops or loses the work.
    pub reattach: bool,
    /// A run that ended early can be taken up again.
    pub resume: bool,
    /// Copies a session.
    pub fork: bool,
    /// Compacts a session's context on demand.
    pub compact: bool,
    /// Says how full the context is.
    pub context: bool,
    /// Lets the model find a title.
    pub name_itself: bool,
    /// Answers a question beside the transcript.
    pub ask_aside: bool,
    /// Writes a session as a page of its own.
    pub export_page: bool,
    /// Completes `@` mentions.
    pub mentions: bool,
    /// Takes options with each run.
    pub run_options: bool,
    /// Its settings (permission level, model) can be changed from here.
    pub settings: bool,
    /// Has one current session at a time: acting on another brings that one to the front.
    pub one_current: bool,
    /// Sessions are set up with tools, options and tools of this app.
    pub setup: bool,
    /// Answers to all that a turn asks leave together, in one request.
    pub answers_together: bool,
    /// A stop only ends our listening: the server goes on.
    pub stop_lets_go: bool,
    /// Takes images that lie elsewhere, by their https address.
    pub image_links: bool,
    /// Has no titles of its own: they are kept here.
    pub titles_here: bool,
}

/// Where a message goes that is sent while a turn runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum WhileRunning {
    /// It waits here, visibly, until the turn ends.
    #[default]
    QueueHere,
    /// The server queues it.
    QueueAtServer,
    /// It steers the running turn.
    Steer,
}
