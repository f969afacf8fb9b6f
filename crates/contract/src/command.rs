//! The table of every command: name, arguments, result. The shell's handler list and the page's client are held to it.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::{
    connection::ConnectionLogRow,
    item::ItemId,
    patch::{ItemPage, Overview, PayloadChunk, Snapshot},
    probe::{ProbeReport, ServerDraft},
    request::{Decision, LedgerRow, Request},
    search::{HistoryPage, HistoryQuery},
    server::{Server, ServerId, ServerOptions},
    session::{Compaction, ContextMeter, Mention, NewSessionOptions, RunOptions, SessionId},
    settings::Preferences,
    setup::{SecretSetting, SessionSetup, SessionStart},
};

/// One row of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandRow {
    /// The command's name.
    pub name: &'static str,
    /// The TypeScript name of its arguments' type.
    pub args: String,
    /// The TypeScript name of its result's type.
    pub result: String,
}

macro_rules! commands {
    ($($(#[doc = $doc:literal])* $name:ident: $args:ty => $result:ty;)*) => {
        /// The names of all commands, in the table's order.
        pub const COMMAND_NAMES: &[&str] = &[$(stringify!($name)),*];

        /// The whole table, with the types' TypeScript names.
        #[must_use]
        pub fn command_table(config: &ts_rs::Config) -> Vec<CommandRow> {
            vec![$(CommandRow {
                name: stringify!($name),
                args: <$args as TS>::name(config),
                result: <$result as TS>::name(config),
            }),*]
        }

        /// Shows every argument and result type to a visitor.
        pub(crate) fn visit_types(visitor: &mut impl ts_rs::TypeVisitor) {
            $(visitor.visit::<$args>(); visitor.visit::<$result>();)*
        }

        /// Each command's documentation, in the table's order.
        pub const COMMAND_DOCS: &[&str] = &[$(concat!($($doc),*)),*];
    };
}

commands! {
    /// Everything the shared screens show; also (re)starts this window's numbering.
    overview: NoArgs => Overview;
    /// Saves preferences.
    set_preferences: Preferences => ();
    /// Tries an address without saving or changing anything at the server.
    probe_server: ServerDraft => ProbeReport;
    /// Saves a server (and its token in the keyring) and connects.
    add_server: ServerDraft => Server;
    /// Changes a server's name, address, protocol or options. The token stays.
    edit_server: EditServer => Server;
    /// Replaces a server's token.
    replace_token: ReplaceToken => Server;
    /// Pauses or resumes a server.
    pause_server: PauseServer => Server;
    /// Puts the servers in this order.
    reorder_servers: ReorderServers => ();
    /// Removes a server and its token; its history stays.
    remove_server: RemoveServer => ();
    /// Reads a server's session list again, now.
    refresh_server: ServerRef => ();
    /// Switches the practice server on or off.
    set_practice: SetPractice => ();
    /// Starts one of the practice server's scenarios in a new session.
    start_scenario: StartScenario => SessionRef;
    /// The practice server's scenarios.
    list_scenarios: NoArgs => Vec<ScenarioRow>;
    /// What the new-session form offers for a server.
    new_session_options: ServerRef => NewSessionOptions;
    /// Creates an environment at the server.
    create_environment: CreateEnvironment => NewSessionOptions;
    /// Creates a session.
    create_session: CreateSession => SessionRef;
    /// Opens a session in this window: patches for it follow the snapshot.
    open_session: SessionRef => Snapshot;
    /// This window no longer shows the session.
    close_session: SessionRef => ();
    /// Older items, for scrolling up.
    read_items: ReadItems => ItemPage;
    /// A part of a big payload.
    read_payload: ReadPayload => PayloadChunk;
    /// Sends a message, or queues it as the server's way is.
    send_message: SendMessage => ();
    /// Sets how this session's next runs are asked for.
    set_run_options: SetRunOptions => ();
    /// Changes how a session is set up: at once, or with what is sent next, as the server's way is.
    set_session_setup: SetSessionSetup => ();
    /// Takes up a run that ended early.
    resume_run: SessionRef => ();
    /// Copies a session and opens the copy.
    fork_session: SessionRef => SessionRef;
    /// Compacts the session's context, and says what that did.
    compact_session: SessionRef => Compaction;
    /// Lets the model find a title.
    name_session: SessionRef => ();
    /// Asks something beside the transcript; the answer is kept nowhere.
    ask_aside: AskAside => AsideAnswer;
    /// Reads how full the context is.
    session_context: SessionRef => Option<ContextMeter>;
    /// Completions of an `@` mention.
    complete_mention: CompleteMention => Vec<Mention>;
    /// Saves a session, as the server writes it, as a page of its own.
    export_session: SessionRef => ExportedFile;
    /// Changes one of the server's own settings.
    change_server_setting: ChangeServerSetting => ();
    /// Drops, edits back or releases a queued message.
    queued_message: QueuedMessageAction => ();
    /// Asks the server to stop the turn.
    stop_session: SessionRef => ();
    /// Tries the connection again now.
    retry_now: SessionRef => ();
    /// Renames a session.
    rename_session: RenameSession => ();
    /// Archives a session at the server.
    archive_session: SessionRef => ();
    /// Deletes a session at the server. Its history here stays.
    delete_session: SessionRef => ();
    /// Sets a goal.
    define_outcome: DefineOutcome => ();
    /// Answers a request.
    decide: Decision => Request;
    /// Every request that waits, of every server.
    waiting_requests: NoArgs => Vec<Request>;
    /// History and search.
    search_history: HistoryQuery => HistoryPage;
    /// The connection log of a session.
    connection_log: LogQuery => Vec<ConnectionLogRow>;
    /// The decisions of a session.
    decisions: LogQuery => Vec<LedgerRow>;
    /// Opens a link of the transcript in the system's browser (http, https, mailto only).
    open_link: OpenLink => ();
    /// Copies text through the system clipboard.
    copy_text: CopyText => ();
    /// The page reports an error of its own.
    report_page_error: PageError => ();
    /// The page has drawn its first interactive screen.
    page_ready: NoArgs => ();
    /// What closing the window means now, and doing it after the person's answer.
    close_window: CloseWindow => ();
}

/// No arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, TS)]
pub struct NoArgs {}

/// Names a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct ServerRef {
    /// Which.
    pub server: ServerId,
}

/// Names a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct SessionRef {
    /// Which.
    pub session: SessionId,
}

/// Arguments of `edit_server`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct EditServer {
    /// Which.
    pub server: ServerId,
    /// Its new name.
    pub name: String,
    /// Its new address. A new origin drops the stored token: a token belongs to the server it was given for.
    pub base_url: String,
    /// Its protocol.
    pub protocol: String,
    /// Its options.
    pub options: ServerOptions,
    /// The person agreed that runs of it which cannot be left are stopped by this.
    #[serde(default)]
    #[ts(optional, as = "Option<bool>")]
    pub stop_runs: bool,
}

/// Arguments of `remove_server`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct RemoveServer {
    /// Which.
    pub server: ServerId,
    /// The person agreed that runs of it which cannot be left are stopped by this.
    #[serde(default)]
    #[ts(optional, as = "Option<bool>")]
    pub stop_runs: bool,
}

/// Arguments of `replace_token`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct ReplaceToken {
    /// Which.
    pub server: ServerId,
    /// The new token as pasted; empty = use none.
    pub token: String,
    /// Keep it in memory only.
    pub session_only: bool,
    /// The person agreed that using no token any more stops runs of it which cannot be left.
    #[serde(default)]
    #[ts(optional, as = "Option<bool>")]
    pub stop_runs: bool,
}

impl std::fmt::Debug for ReplaceToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ReplaceToken").field("server", &self.server).finish_non_exhaustive()
    }
}

/// Arguments of `pause_server`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct PauseServer {
    /// Which.
    pub server: ServerId,
    /// Paused, or going again.
    pub paused: bool,
    /// The person agreed that runs of it which cannot be left are stopped by this.
    #[serde(default)]
    #[ts(optional, as = "Option<bool>")]
    pub stop_runs: bool,
}

/// Arguments of `reorder_servers`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct ReorderServers {
    /// All server ids, in the wanted order.
    pub order: Vec<ServerId>,
}

/// Arguments of `set_practice`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct SetPractice {
    /// On or off.
    pub on: bool,
    /// The person agreed that switching it off stops what runs there.
    #[serde(default)]
    #[ts(optional, as = "Option<bool>")]
    pub stop_runs: bool,
}

/// Arguments of `start_scenario`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct StartScenario {
    /// The scenario's id.
    pub scenario: String,
}

/// One scenario of the practice server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct ScenarioRow {
    /// Its id.
    pub id: String,
    /// Its title, in its own language.
    pub title: String,
    /// One sentence on what it shows.
    pub summary: String,
}

/// Arguments of `create_environment`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct CreateEnvironment {
    /// At which server.
    pub server: ServerId,
    /// Its name.
    pub name: String,
}

/// Arguments of `create_session`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct CreateSession {
    /// At which server.
    pub server: ServerId,
    /// The agent's id, where the server has agents.
    pub agent: Option<String>,
    /// The environment's id, where the server has environments.
    pub environment: Option<String>,
    /// A title.
    pub title: Option<String>,
    /// The first message; empty = none yet.
    pub message: String,
    /// What it begins with, where the server takes such things.
    #[serde(default)]
    #[ts(optional, as = "Option<SessionStart>")]
    pub start: SessionStart,
}

/// Arguments of `read_items`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct ReadItems {
    /// Which session.
    pub session: SessionId,
    /// Items before this one.
    pub before: ItemId,
    /// How many at most (≤ 500).
    pub limit: u32,
}

/// Arguments of `read_payload`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct ReadPayload {
    /// Which session.
    pub session: SessionId,
    /// The handle, as an item or request carried it.
    pub handle: String,
    /// The first character wanted.
    pub from: u64,
    /// How many characters at most (≤ 262,144).
    pub limit: u64,
}

/// Arguments of `send_message`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct SendMessage {
    /// Which session.
    pub session: SessionId,
    /// The text.
    pub text: String,
    /// Images that go with it, where the server takes them.
    #[serde(default)]
    pub images: Vec<SentImage>,
}

/// What stands as [`SentImage::media_type`] where the image lies elsewhere: `data` is its https address then.
pub const LINKED_IMAGE: &str = "text/uri-list";

/// An image that goes with a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct SentImage {
    /// `image/png`, `image/jpeg`, `image/gif` or `image/webp`; `text/uri-list` for an image that lies elsewhere.
    pub media_type: String,
    /// Its bytes, as base64; for an image that lies elsewhere, its https address.
    pub data: String,
}

/// Arguments of `set_run_options`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct SetRunOptions {
    /// Which session.
    pub session: SessionId,
    /// The options.
    pub options: RunOptions,
}

/// Arguments of `set_session_setup`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct SetSessionSetup {
    /// Which session.
    pub session: SessionId,
    /// The whole setup as it is to be.
    pub setup: SessionSetup,
    /// New values of secret options.
    #[serde(default)]
    #[ts(optional, as = "Option<Vec<SecretSetting>>")]
    pub secrets: Vec<SecretSetting>,
}

/// Arguments of `ask_aside`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct AskAside {
    /// Which session.
    pub session: SessionId,
    /// The question.
    pub question: String,
}

/// The answer to a question beside the transcript.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct AsideAnswer {
    /// The answer, Markdown.
    pub answer: String,
}

/// Arguments of `complete_mention`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct CompleteMention {
    /// Which session.
    pub session: SessionId,
    /// What stands behind the `@` so far.
    pub query: String,
}

/// A file that was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct ExportedFile {
    /// Its full path.
    pub path: String,
    /// Its size in bytes.
    pub bytes: u64,
}

/// Arguments of `change_server_setting`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct ChangeServerSetting {
    /// Which server.
    pub server: ServerId,
    /// The change.
    pub setting: ServerSetting,
}

/// One of a server's own settings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(tag = "kind", content = "to", rename_all = "snake_case")]
pub enum ServerSetting {
    /// How it treats the agent's commands; one of [`crate::server::ServerFacts::permissions`].
    Permission(String),
    /// The model; one of [`crate::server::ServerFacts::models`], by name.
    Model(String),
    /// How hard the model thinks; one of [`crate::server::ServerFacts::efforts`].
    Effort(String),
}

/// Arguments of `queued_message`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct QueuedMessageAction {
    /// Which session.
    pub session: SessionId,
    /// The queued message's id.
    pub id: String,
    /// What to do with it.
    pub action: QueuedAction,
}

/// What to do with a queued message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum QueuedAction {
    /// Forget it.
    Drop,
    /// Send it when the turn ends (releases a held one).
    Release,
    /// Decline all that the turn asks, and send it when the turn has ended.
    DeclineAndSend,
}

/// Arguments of `rename_session`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct RenameSession {
    /// Which.
    pub session: SessionId,
    /// The new title.
    pub title: String,
}

/// Arguments of `define_outcome`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct DefineOutcome {
    /// Which session.
    pub session: SessionId,
    /// What is wanted.
    pub description: String,
    /// What it is judged by.
    pub rubric: String,
    /// 1 to 20; `None` = the server's default.
    pub max_iterations: Option<u32>,
}

/// Arguments of `connection_log` and `decisions`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct LogQuery {
    /// Which session.
    pub session: SessionId,
    /// How many of the newest rows (≤ 1,000).
    pub limit: u32,
}

/// Arguments of `open_link`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct OpenLink {
    /// The address, exactly as it was shown.
    pub url: String,
}

/// Arguments of `copy_text`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct CopyText {
    /// The text.
    pub text: String,
}

/// Arguments of `report_page_error`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct PageError {
    /// The message.
    pub message: String,
    /// Where.
    pub stack: Option<String>,
}

/// Arguments of `close_window`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct CloseWindow {
    /// What to do.
    pub action: CloseAction,
}

/// What closing the window shall do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum CloseAction {
    /// Hide the window; sessions go on being watched.
    Hide,
    /// End the app.
    Quit,
    /// Stay.
    Cancel,
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_command_has_a_name_of_its_own_and_words() {
        let names: HashSet<_> = COMMAND_NAMES.iter().collect();
        assert_eq!(names.len(), COMMAND_NAMES.len());
        assert!(COMMAND_DOCS.iter().all(|doc| !doc.trim().is_empty()));
    }

    #[test]
    fn no_result_type_carries_a_token() {
        let config = ts_rs::Config::default();
        for row in command_table(&config) {
            assert!(!["ServerDraft", "ReplaceToken"].contains(&row.result.as_str()), "{}", row.name);
        }
    }
}
