//! What is to be connected: the request, the limits, and the cursor shared with the receiver.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use contract::wire::Cursor;

use crate::frame::DEFAULT_EVENT_CAP;

/// How many characters of a refusal are kept as the server's words.
const WORDS_KEPT: usize = 500;

/// Makes the request that opens the stream, with the committed cursor and whatever token is current.
pub type RequestSource = Arc<dyn Fn(Option<Cursor>) -> http::Request<Bytes> + Send + Sync>;

/// Finds the server's words in a refusal.
pub type WordsSource = Arc<dyn Fn(&http::Response<Bytes>) -> String + Send + Sync>;

/// What is to be connected, and how.
#[derive(Clone)]
pub struct ConnectionSpec {
    /// Makes the request of each try.
    pub request: RequestSource,
    /// Finds the server's words in a refusal: [`plain_words`] where the protocol knows nothing better.
    pub words: WordsSource,
    /// Whether the stream can be left and taken up again. Where not, it is opened once and never cut by us.
    pub reattach: bool,
    /// Its limits.
    pub limits: Limits,
    /// Where the receiver leaves the cursor it has committed.
    pub cursor: CommittedCursor,
}

impl fmt::Debug for ConnectionSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConnectionSpec")
            .field("reattach", &self.reattach)
            .field("limits", &self.limits)
            .field("cursor", &self.cursor)
            .finish_non_exhaustive()
    }
}

/// The limits of one stream.
#[derive(Debug, Clone)]
pub struct Limits {
    /// The cap on one event and one line (bytes).
    pub event_cap: usize,
    /// How long the server may take to answer. `None` where giving up would lose work.
    pub answer: Option<Duration>,
    /// How long no byte may come; `None` = for ever. [`Command::Activity`](super::Command::Activity) changes it.
    pub silence: Option<Duration>,
}

impl Default for Limits {
    fn default() -> Self {
        Self { event_cap: DEFAULT_EVENT_CAP, answer: Some(Duration::from_secs(30)), silence: None }
    }
}

/// The cursor that the receiver has committed. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct CommittedCursor(Arc<Mutex<Option<Cursor>>>);

impl CommittedCursor {
    /// A cell that holds what was committed before.
    pub fn new(cursor: Option<Cursor>) -> Self {
        Self(Arc::new(Mutex::new(cursor)))
    }

    /// The committed cursor.
    pub fn get(&self) -> Option<Cursor> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Says what has been committed; `None` starts from the beginning.
    pub fn set(&self, cursor: Option<Cursor>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = cursor;
    }
}

/// The words of a refusal as they came, shortened, in one line.
pub fn plain_words(response: &http::Response<Bytes>) -> String {
    let text = String::from_utf8_lossy(response.body());
    text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(WORDS_KEPT).collect()
}
