//! A request together with the way to read its answer.

use bytes::Bytes;
use contract::error::{AppError, ErrorCode};

/// Reads an answer; called for every status, so that each protocol says itself what is an error.
pub type Reader<T> = Box<dyn Fn(&http::Response<Bytes>) -> Result<T, Refusal> + Send + Sync>;

/// A request to send, and how to read what comes back.
pub struct Ask<T> {
    /// The request, without the token: [`crate::Protocol::authorize`] adds that at the last moment.
    pub request: http::Request<Bytes>,
    /// How to read the answer.
    pub read: Reader<T>,
    /// Whether it may be sent again when the answer is lost.
    pub repeat: Repeat,
}

impl<T> std::fmt::Debug for Ask<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ask")
            .field("method", self.request.method())
            .field("uri", &self.request.uri().path())
            .field("repeat", &self.repeat)
            .finish_non_exhaustive()
    }
}

/// Whether a request whose answer was lost may be sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repeat {
    /// Reading, or an action that changes nothing when done twice.
    Freely,
    /// It carries an idempotency key: the same request may be repeated as it is.
    SameKey,
    /// Only after the history was read and does not hold its echo.
    AfterLookingForEcho,
    /// Never.
    Never,
}

/// The server said no, or something that is not the protocol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// What it means to the app.
    pub code: ErrorCode,
    /// The HTTP status.
    pub status: u16,
    /// The server's words, or ours where it had none.
    pub message: String,
    /// The server's id for the request, for support.
    pub request_id: Option<String>,
    /// The server's own error type and whatever else helps; never a token.
    pub detail: Option<String>,
}

impl From<Refusal> for AppError {
    fn from(refusal: Refusal) -> Self {
        let retryable = matches!(
            refusal.code,
            ErrorCode::RateLimited | ErrorCode::ServerFailed | ErrorCode::Unreachable | ErrorCode::Busy
        );
        if refusal.code == ErrorCode::OtherOrigin {
            // The origin alone: it is what the person is asked about.
            return Self { code: refusal.code, message: refusal.message, retryable, detail: refusal.detail };
        }
        let mut detail = format!("HTTP {}", refusal.status);
        if let Some(more) = &refusal.detail {
            detail.push_str(" · ");
            detail.push_str(more);
        }
        if let Some(id) = &refusal.request_id {
            detail.push_str(" · request ");
            detail.push_str(id);
        }
        Self { code: refusal.code, message: refusal.message, retryable, detail: Some(detail) }
    }
}
