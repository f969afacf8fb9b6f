//! What can go wrong with the practice server itself (not what it pretends goes wrong).

/// A failure of the practice server.
#[derive(Debug, thiserror::Error)]
pub enum PracticeError {
    /// The loopback port could not be opened.
    #[error("the practice server cannot listen on loopback: {0}")]
    Listen(#[source] std::io::Error),
    /// The state file could not be read or written.
    #[error("the practice server's session file cannot be used: {0}")]
    StateFile(#[source] std::io::Error),
    /// The system gave no random bytes for the token.
    #[error("no random bytes for the token: {0}")]
    Random(String),
    /// No scenario has this id.
    #[error("there is no scenario named {0:?}")]
    NoScenario(String),
    /// A scenario's JSON is not as `tests/scenarios/README.md` says.
    #[error("the scenario {id} cannot be read: {source}")]
    BadScenario {
        /// The scenario's id.
        id: String,
        /// What is wrong.
        #[source]
        source: serde_json::Error,
    },
    /// A control command named a session that does not exist.
    #[error("there is no session {0:?}")]
    NoSession(String),
    /// What was waited for did not happen in time.
    #[error("what was waited for did not happen in time")]
    TimedOut,
    /// A control command cannot be carried out as written.
    #[error("bad control command: {0}")]
    BadCommand(String),
}
