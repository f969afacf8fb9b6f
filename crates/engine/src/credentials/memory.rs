//! Tokens in memory: the explicit "this session only", and a double for tests.

use std::{collections::HashMap, sync::Mutex};

use async_trait::async_trait;
use contract::{server::ServerId, settings::KeyringState};

use super::{Credentials, CredentialsError, Secret};

/// Keeps tokens until the app ends. As a double for tests it can also refuse.
#[derive(Debug, Default)]
pub struct MemoryCredentials {
    kept: Mutex<HashMap<ServerId, Secret>>,
    refuse: Option<CredentialsError>,
}

impl MemoryCredentials {
    /// One that refuses everything with this error.
    #[must_use]
    pub fn refusing(error: CredentialsError) -> Self {
        Self { kept: Mutex::default(), refuse: Some(error) }
    }

    /// The token, without waiting.
    #[must_use]
    pub fn get_now(&self, server: &ServerId) -> Option<Secret> {
        self.with(|kept| kept.get(server).cloned()).ok().flatten()
    }

    /// Keeps the token, without waiting.
    pub fn set_now(&self, server: &ServerId, token: &Secret) {
        // Only a double refuses, and it is not asked this way.
        let _ = self.with(|kept| kept.insert(server.clone(), token.clone()));
    }

    /// Forgets the token, without waiting.
    pub fn delete_now(&self, server: &ServerId) {
        // As above.
        let _ = self.with(|kept| kept.remove(server));
    }

    fn check(&self) -> Result<(), CredentialsError> {
        self.refuse.clone().map_or(Ok(()), Err)
    }

    fn with<T>(&self, act: impl FnOnce(&mut HashMap<ServerId, Secret>) -> T) -> Result<T, CredentialsError> {
        self.check()?;
        let mut kept =
            self.kept.lock().map_err(|_| CredentialsError::Failed("a thread died while it held the tokens".into()))?;
        Ok(act(&mut kept))
    }
}

#[async_trait]
impl Credentials for MemoryCredentials {
    async fn probe(&self) -> KeyringState {
        self.refuse.as_ref().map_or(KeyringState::Ready, CredentialsError::state)
    }

    async fn get(&self, server: &ServerId) -> Result<Option<Secret>, CredentialsError> {
        self.with(|kept| kept.get(server).cloned())
    }

    async fn set(&self, server: &ServerId, token: &Secret) -> Result<(), CredentialsError> {
        self.with(|kept| {
            kept.insert(server.clone(), token.clone());
        })
    }

    async fn delete(&self, server: &ServerId) -> Result<(), CredentialsError> {
        self.with(|kept| {
            kept.remove(server);
        })
    }
}
