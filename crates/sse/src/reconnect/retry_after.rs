//! `Retry-After`, in both its forms (RFC 9110, 10.2.3), and the millisecond form some gateways use.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use contract::Millis;
use http::{HeaderMap, header};

/// When the server wants the next try.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetryAfter {
    /// This long after the answer.
    Delay(Duration),
    /// Not before this time.
    At(SystemTime),
}

impl RetryAfter {
    /// Reads `Retry-After-Ms` (more exact) or else `Retry-After`; `None` where neither can be read.
    pub fn from_headers(headers: &HeaderMap) -> Option<Self> {
        let text = |name| headers.get(name).and_then(|value: &http::HeaderValue| value.to_str().ok()).map(str::trim);
        let digits = |text: &str| -> Option<u64> {
            if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
                return None;
            }
            Some(text.parse().unwrap_or(u64::MAX))
        };
        if let Some(ms) = text(header::HeaderName::from_static("retry-after-ms")).and_then(digits) {
            return Some(Self::Delay(Duration::from_millis(ms)));
        }
        let after = text(header::RETRY_AFTER)?;
        match digits(after) {
            Some(seconds) => Some(Self::Delay(Duration::from_secs(seconds))),
            None => httpdate::parse_http_date(after).ok().map(Self::At),
        }
    }

    /// How long that is from `wall` on; nothing where the time has passed.
    pub fn delay(self, wall: Millis) -> Duration {
        match self {
            Self::Delay(delay) => delay,
            Self::At(at) => {
                let wall = UNIX_EPOCH + Duration::from_millis(u64::try_from(wall).unwrap_or(0));
                at.duration_since(wall).unwrap_or_default()
            }
        }
    }
}
