//! What can go wrong between a request and its answer. No text here holds a header, a login or a query.

use std::{fmt, time::Duration};

use bytes::Bytes;
use contract::probe::ProbeLayer;
use http::StatusCode;

use super::{RedirectRefused, layer};
use crate::reconnect::RetryAfter;

/// A request was not answered.
#[derive(Debug, thiserror::Error)]
pub enum SendError {
    /// The address cannot be used; nothing was sent.
    #[error("the address cannot be used: {reason}")]
    Url {
        /// Why.
        reason: String,
    },
    /// No connection could be made; nothing was sent.
    #[error("no connection: {detail}")]
    NoConnection {
        /// The layer that failed.
        layer: ProbeLayer,
        /// The causes in words.
        detail: String,
        /// The cause.
        source: reqwest::Error,
    },
    /// The proxy wants a login (407).
    #[error("the proxy asks for a login (407)")]
    ProxyLogin,
    /// No whole answer came in time.
    #[error("no answer within {} s", limit.as_secs_f64())]
    TimedOut {
        /// The limit that passed.
        limit: Duration,
    },
    /// The connection broke before the answer's head was there.
    #[error("the connection broke before the answer: {detail}")]
    Broken {
        /// The causes in words.
        detail: String,
        /// The cause.
        source: reqwest::Error,
    },
    /// The connection broke inside the answer's body.
    #[error(transparent)]
    Body(#[from] BodyError),
    /// The answer's body is over the cap.
    #[error("the answer is larger than {cap} bytes")]
    TooLarge {
        /// The cap (bytes).
        cap: usize,
        /// The answer's status.
        status: StatusCode,
    },
    /// A redirect that is not followed.
    #[error(transparent)]
    Redirect(#[from] RedirectRefused),
}

impl SendError {
    pub(super) fn from_set_up(error: reqwest::Error) -> Self {
        let source = error.without_url();
        Self::NoConnection { layer: ProbeLayer::Tls, detail: layer::chain(&source), source }
    }

    /// The layer that failed.
    pub fn layer(&self) -> ProbeLayer {
        match self {
            Self::Url { .. } => ProbeLayer::Url,
            Self::NoConnection { layer, .. } => *layer,
            Self::ProxyLogin => ProbeLayer::Proxy,
            Self::TimedOut { .. } | Self::Broken { .. } | Self::Body(_) | Self::TooLarge { .. } | Self::Redirect(_) => {
                ProbeLayer::Answer
            }
        }
    }

    /// Whether the server may have received the request, so that repeating it may do things twice.
    pub fn may_have_arrived(&self) -> bool {
        match self {
            Self::Url { .. } | Self::NoConnection { .. } | Self::ProxyLogin => false,
            Self::TimedOut { .. } | Self::Broken { .. } | Self::Body(_) | Self::TooLarge { .. } | Self::Redirect(_) => {
                true
            }
        }
    }
}

/// The connection broke inside a body.
#[derive(Debug, thiserror::Error)]
#[error("the connection broke: {detail}")]
pub struct BodyError {
    detail: String,
}

impl BodyError {
    /// A break with this cause in words, for stand-ins of the client.
    pub fn new(detail: impl Into<String>) -> Self {
        Self { detail: detail.into() }
    }

    pub(super) fn from_client(error: reqwest::Error) -> Self {
        Self::new(layer::chain(&error.without_url()))
    }

    /// The cause in words.
    pub fn detail(&self) -> &str {
        &self.detail
    }
}

/// A stream was not opened.
#[derive(thiserror::Error)]
pub enum OpenError {
    /// No answer.
    #[error(transparent)]
    Send(#[from] SendError),
    /// A status that is no success, or 204. The body holds its first [`REFUSAL_KEPT`](super::REFUSAL_KEPT) bytes.
    #[error("the server answered {}", .0.status())]
    Refused(Box<http::Response<Bytes>>),
    /// A success that is no event stream.
    #[error("the answer is no event stream but {}", content_type.as_deref().unwrap_or("without a type"))]
    NotAStream {
        /// The answer's status.
        status: StatusCode,
        /// What it says it is.
        content_type: Option<String>,
        /// Its first [`NOT_A_STREAM_KEPT`](super::NOT_A_STREAM_KEPT) bytes.
        start: Bytes,
    },
}

impl OpenError {
    /// When the server wants the next try, where it says so.
    pub fn retry_after(&self) -> Option<RetryAfter> {
        match self {
            Self::Refused(response) => RetryAfter::from_headers(response.headers()),
            Self::Send(_) | Self::NotAStream { .. } => None,
        }
    }
}

impl fmt::Debug for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Send(error) => f.debug_tuple("Send").field(error).finish(),
            // A server may echo what it was sent, token included: neither headers nor body are shown.
            Self::Refused(response) => {
                f.debug_struct("Refused").field("status", &response.status()).finish_non_exhaustive()
            }
            Self::NotAStream { status, content_type, .. } => f
                .debug_struct("NotAStream")
                .field("status", status)
                .field("content_type", content_type)
                .finish_non_exhaustive(),
        }
    }
}
