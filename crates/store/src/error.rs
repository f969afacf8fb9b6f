//! What can go wrong with the record.

use std::{io, path::PathBuf, sync::Arc};

use contract::{
    error::{AppError, ErrorCode},
    request::RequestId,
    session::SessionId,
};

/// Why a call of the store failed. Cheap to clone: one failed commit answers every write that was in it.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Another process (or another store of this one) has the database open.
    #[error("another copy of the app has the database open: {path}")]
    Locked {
        /// The lock file.
        path: PathBuf,
    },
    /// The database comes from a newer version of the app. It was not touched.
    #[error("the database has version {found}, this app knows {known}")]
    TooNew {
        /// The file's version.
        found: i64,
        /// The newest version this build knows.
        known: i64,
    },
    /// The database is damaged.
    #[error("the database is damaged: {detail}")]
    Damaged {
        /// What was found.
        detail: String,
    },
    /// SQLite failed.
    #[error("the database failed")]
    Sqlite(#[source] Arc<rusqlite::Error>),
    /// A file beside or under the database failed.
    #[error("cannot use {path}")]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: Arc<io::Error>,
    },
    /// A stored value cannot be read, or a value cannot be written.
    #[error("a stored {what} cannot be read")]
    Encoding {
        /// What it is.
        what: &'static str,
        /// Why.
        #[source]
        source: Arc<serde_json::Error>,
    },
    /// No session has this number.
    #[error("no session {0:?}")]
    NoSuchSession(SessionId),
    /// The person has decided this request already, and the server has the decision or it is on its way.
    #[error("request {request} of {session:?} is decided already")]
    AlreadyDecided {
        /// The session.
        session: SessionId,
        /// The request.
        request: RequestId,
    },
    /// No decision has this number.
    #[error("no decision {number}")]
    NoSuchDecision {
        /// The number.
        number: i64,
    },
    /// `Sending` is where a decision begins, not how it ends.
    #[error("decision {number} cannot be settled as still sending")]
    NotAFate {
        /// The number.
        number: i64,
    },
    /// The ledger's chain does not hold.
    #[error("the ledger is broken at row {number}")]
    LedgerBroken {
        /// The first row that is missing, changed or out of the chain.
        number: i64,
    },
    /// The store is closed (or its writer has ended).
    #[error("the store is closed")]
    Closed,
}

impl StoreError {
    /// Whether the file itself is at fault, so that it must be set aside.
    pub(crate) fn is_damage(&self) -> bool {
        match self {
            Self::Damaged { .. } => true,
            Self::Sqlite(error) => matches!(
                error.sqlite_error_code(),
                Some(rusqlite::ErrorCode::DatabaseCorrupt | rusqlite::ErrorCode::NotADatabase)
            ),
            _ => false,
        }
    }

    pub(crate) fn file(path: impl Into<PathBuf>, source: io::Error) -> Self {
        Self::File { path: path.into(), source: Arc::new(source) }
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(Arc::new(error))
    }
}

impl From<StoreError> for AppError {
    fn from(error: StoreError) -> Self {
        let detail = chain(&error);
        match error {
            StoreError::Locked { .. } => {
                Self::new(ErrorCode::StoreLocked, "Another copy of the app has the database open. Close it first.")
            }
            StoreError::TooNew { .. } => Self::new(
                ErrorCode::StoreTooNew,
                "The database comes from a newer version of the app. Install that version, or a newer one.",
            ),
            StoreError::NoSuchSession(_) | StoreError::NoSuchDecision { .. } => {
                Self::new(ErrorCode::NotFound, "There is no such entry in the record.")
            }
            StoreError::AlreadyDecided { .. } => {
                Self::new(ErrorCode::RequestSettled, "This request has been decided already.")
            }
            StoreError::NotAFate { .. } => Self::new(ErrorCode::Internal, "A decision was settled as unsettled."),
            StoreError::Damaged { .. }
            | StoreError::Encoding { .. }
            | StoreError::LedgerBroken { .. }
            | StoreError::Closed => Self::new(ErrorCode::StoreFailed, "The database cannot be used."),
            StoreError::Sqlite(_) | StoreError::File { .. } => {
                Self::retryable(ErrorCode::StoreFailed, "The database cannot be written or read. Is the disk full?")
            }
        }
        .with_detail(detail)
    }
}

/// The error with its causes, in one line.
fn chain(error: &dyn std::error::Error) -> String {
    let mut line = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        line.push_str(": ");
        line.push_str(&next.to_string());
        cause = next.source();
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_failure_has_the_code_the_page_acts_on_and_its_cause_as_detail() {
        let disk = StoreError::file("/x/record.db", io::Error::other("no space"));
        let closed = StoreError::Closed;
        let codes = [
            (StoreError::Locked { path: "l".into() }, ErrorCode::StoreLocked, false),
            (StoreError::TooNew { found: 9, known: 2 }, ErrorCode::StoreTooNew, false),
            (StoreError::NoSuchSession(SessionId(1)), ErrorCode::NotFound, false),
            (StoreError::NoSuchDecision { number: 1 }, ErrorCode::NotFound, false),
            (
                StoreError::AlreadyDecided { session: SessionId(1), request: "r".into() },
                ErrorCode::RequestSettled,
                false,
            ),
            (StoreError::NotAFate { number: 1 }, ErrorCode::Internal, false),
            (StoreError::Damaged { detail: "d".into() }, ErrorCode::StoreFailed, false),
            (StoreError::LedgerBroken { number: 3 }, ErrorCode::StoreFailed, false),
            (closed, ErrorCode::StoreFailed, false),
            (disk.clone(), ErrorCode::StoreFailed, true),
            (rusqlite::Error::InvalidQuery.into(), ErrorCode::StoreFailed, true),
        ];
        for (error, code, retryable) in codes {
            let shown = AppError::from(error.clone());
            assert_eq!((shown.code, shown.retryable), (code, retryable), "{error:?}");
        }
        assert_eq!(AppError::from(disk).detail.unwrap(), "cannot use /x/record.db: no space");
    }
}
