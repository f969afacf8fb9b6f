//! Tokens: in the OS keyring, or in memory for this session only by the person's explicit choice. Never in a file.

mod keyring;
mod memory;
mod options;
mod secret;

use async_trait::async_trait;
use contract::{
    error::{AppError, ErrorCode},
    server::ServerId,
    settings::KeyringState,
};

pub use self::{keyring::KeyringCredentials, memory::MemoryCredentials, options::OptionSecrets, secret::Secret};

/// Keeps one token per server.
#[async_trait]
pub trait Credentials: Send + Sync {
    /// Writes and reads a probe entry: reading alone does not show a missing or locked collection.
    async fn probe(&self) -> KeyringState;

    /// The server's token.
    async fn get(&self, server: &ServerId) -> Result<Option<Secret>, CredentialsError>;

    /// Keeps the server's token.
    async fn set(&self, server: &ServerId, token: &Secret) -> Result<(), CredentialsError>;

    /// Forgets the server's token; fine when there is none.
    async fn delete(&self, server: &ServerId) -> Result<(), CredentialsError>;
}

/// Why the keyring did not do it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CredentialsError {
    /// There is no keyring.
    #[error("there is no system keyring: {0}")]
    Missing(String),
    /// It is locked, or waits for a prompt that nobody answers.
    #[error("the system keyring is locked: {0}")]
    Locked(String),
    /// Anything else.
    #[error("the system keyring failed: {0}")]
    Failed(String),
}

impl CredentialsError {
    /// The state this error shows.
    #[must_use]
    pub fn state(&self) -> KeyringState {
        match self {
            Self::Missing(detail) => KeyringState::Missing { detail: detail.clone() },
            Self::Locked(detail) => KeyringState::Locked { detail: detail.clone() },
            Self::Failed(detail) => KeyringState::Failed { detail: detail.clone() },
        }
    }
}

impl From<CredentialsError> for AppError {
    fn from(error: CredentialsError) -> Self {
        let (code, message, detail) = match error {
            CredentialsError::Missing(detail) => (
                ErrorCode::KeyringMissing,
                "There is no system keyring to keep the token in. Start one, or keep the token for this session only.",
                detail,
            ),
            CredentialsError::Locked(detail) => (
                ErrorCode::KeyringLocked,
                "The system keyring is locked. Unlock it and try again, or keep the token for this session only.",
                detail,
            ),
            CredentialsError::Failed(detail) => (
                ErrorCode::KeyringFailed,
                "The system keyring failed. Try again, or keep the token for this session only.",
                detail,
            ),
        };
        AppError::retryable(code, message).with_detail(detail)
    }
}
