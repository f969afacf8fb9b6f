//! The one shape in which an error reaches the page.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// An error as the page sees it. The page acts on `code` and shows translated text for it; `message` is the
/// English sentence for logs and for codes the page does not know; `detail` stays behind "Details".
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS, thiserror::Error)]
#[error("{message}")]
pub struct AppError {
    /// What failed, for the page to act on.
    pub code: ErrorCode,
    /// One English sentence that says what to do.
    pub message: String,
    /// Whether the same action may work if tried again unchanged.
    pub retryable: bool,
    /// The technical cause: status, server words, request id. Never a token.
    #[serde(default)]
    pub detail: Option<String>,
}

/// Every kind of failure the page tells apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum ErrorCode {
    /// An argument cannot be used (bad URL, empty text, unknown choice).
    InvalidInput,
    /// No such server, session, item or request here.
    NotFound,
    /// The request changed since it was shown: the digest differs.
    RequestChanged,
    /// The request was settled already (here or elsewhere).
    RequestSettled,
    /// The request cannot be answered yet (its call is still being written, or the server does not wait for it).
    RequestNotReady,
    /// The session has ended or is archived: nothing can be sent.
    SessionEnded,
    /// The server is paused by the person.
    ServerPaused,
    /// This server cannot do that (a capability it lacks).
    Unsupported,
    /// A turn runs: the message was refused.
    Busy,
    /// This would stop runs that cannot be left: done only when the person agrees (`stop_runs`).
    StopsRuns,
    /// 401: the token is missing or wrong.
    Unauthorized,
    /// 403: the server refuses.
    Forbidden,
    /// 404 from the server.
    GoneAtServer,
    /// 409 from the server.
    Conflict,
    /// 429 or an overload answer.
    RateLimited,
    /// The server answered with another error.
    ServerRefused,
    /// 5xx from the server or a gateway.
    ServerFailed,
    /// No connection: DNS, TCP, TLS, proxy, time limit.
    Unreachable,
    /// The answer was not what the protocol says.
    WrongProtocol,
    /// The answer was over the size cap.
    TooLarge,
    /// Plain http to a host that is not this computer: needs the person's yes.
    InsecureUrl,
    /// The server sends us to another origin: nothing goes there, and no token, before the person agrees.
    OtherOrigin,
    /// No keyring on this computer, or none that answers.
    KeyringMissing,
    /// The keyring is locked.
    KeyringLocked,
    /// The keyring failed in another way.
    KeyringFailed,
    /// The token is not stored: it must be given again.
    TokenMissing,
    /// The database cannot be written or read.
    StoreFailed,
    /// The database comes from a newer version of the app.
    StoreTooNew,
    /// Another copy of the app has the database open.
    StoreLocked,
    /// A link that must not be opened.
    LinkRefused,
    /// A fault of this app.
    Internal,
}

impl AppError {
    /// A failure that trying again unchanged will not mend.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), retryable: false, detail: None }
    }

    /// A failure that may pass by itself.
    pub fn retryable(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), retryable: true, detail: None }
    }

    /// Adds the technical cause.
    #[must_use]
    pub fn with_detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into());
        self
    }
}
