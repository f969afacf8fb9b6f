//! The OS keyring: Keychain, Credential Manager, Secret Service. The only file that uses the `keyring` crate.
//!
//! Its calls block, and on Linux a locked collection opens a prompt that may never be answered: so each call runs on
//! a thread of its own with a time limit. A call that overruns is left behind; its thread ends when the prompt does.

use std::{sync::Arc, thread, time::Duration};

use async_trait::async_trait;
use contract::{server::ServerId, settings::KeyringState};
use keyring::{Entry, Error};
use tokio::{sync::oneshot, time::timeout};

use super::{Credentials, CredentialsError, Secret};

/// The service name of every entry.
const SERVICE: &str = "dev.countersign.app";
const PROBE: &str = "probe";

/// Tokens in the OS keyring, one entry per server.
#[derive(Debug, Clone)]
pub struct KeyringCredentials {
    service: Arc<str>,
    limit: Duration,
}

impl Default for KeyringCredentials {
    fn default() -> Self {
        Self::new(Duration::from_secs(5))
    }
}

impl KeyringCredentials {
    /// With a time limit for each call.
    #[must_use]
    pub fn new(limit: Duration) -> Self {
        Self { service: SERVICE.into(), limit }
    }

    async fn call<T: Send + 'static>(
        &self,
        act: impl FnOnce(&str) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, CredentialsError> {
        let (answer, answered) = oneshot::channel();
        let service = Arc::clone(&self.service);
        let started = thread::Builder::new().name("keyring".into()).spawn(move || {
            // Nobody may be waiting any more; then the answer is dropped.
            let _ = answer.send(act(&service));
        });
        if let Err(error) = started {
            return Err(CredentialsError::Failed(error.to_string()));
        }
        match timeout(self.limit, answered).await {
            Ok(Ok(answer)) => answer.map_err(told_apart),
            Ok(Err(_)) => Err(CredentialsError::Failed("the keyring call ended without an answer".into())),
            Err(_) => Err(CredentialsError::Locked(format!(
                "no answer within {} s; it may be waiting for a password prompt",
                self.limit.as_secs_f32()
            ))),
        }
    }
}

#[async_trait]
impl Credentials for KeyringCredentials {
    async fn probe(&self) -> KeyringState {
        let done = self
            .call(|service| {
                let entry = Entry::new(service, PROBE)?;
                entry.set_password(PROBE)?;
                let read = entry.get_password()?;
                entry.delete_credential()?;
                Ok(read == PROBE)
            })
            .await;
        match done {
            Ok(true) => KeyringState::Ready,
            Ok(false) => KeyringState::Failed { detail: "what was read is not what was written".into() },
            Err(error) => error.state(),
        }
    }

    async fn get(&self, server: &ServerId) -> Result<Option<Secret>, CredentialsError> {
        let name = server.0.clone();
        let read = self
            .call(move |service| match Entry::new(service, &name)?.get_password() {
                Ok(token) => Ok(Some(token)),
                Err(Error::NoEntry) => Ok(None),
                Err(error) => Err(error),
            })
            .await?;
        Ok(read.and_then(|token| Secret::pasted(&token)))
    }

    async fn set(&self, server: &ServerId, token: &Secret) -> Result<(), CredentialsError> {
        let (name, token) = (server.0.clone(), token.clone());
        self.call(move |service| Entry::new(service, &name)?.set_password(token.expose())).await
    }

    async fn delete(&self, server: &ServerId) -> Result<(), CredentialsError> {
        let name = server.0.clone();
        self.call(move |service| match Entry::new(service, &name)?.delete_credential() {
            Ok(()) | Err(Error::NoEntry) => Ok(()),
            Err(error) => Err(error),
        })
        .await
    }
}

/// Which failure it is. The crate keeps no kinds for these on Linux, so the platform's words must tell; words that
/// are not known are `Failed`.
fn told_apart(error: Error) -> CredentialsError {
    match error {
        Error::NoDefaultStore => match Entry::store_status() {
            Err(cause) => CredentialsError::Missing(cause.to_string()),
            Ok(()) => CredentialsError::Missing("no credential store".into()),
        },
        Error::NoStorageAccess(cause) => told_by_words(&cause.to_string(), CredentialsError::Locked),
        Error::PlatformFailure(cause) => told_by_words(&cause.to_string(), CredentialsError::Failed),
        Error::BadEncoding(_) | Error::BadDataFormat(..) => {
            // The bytes are a secret: they stay out of the message.
            CredentialsError::Failed("the stored entry is not text".into())
        }
        other => CredentialsError::Failed(other.to_string()),
    }
}

fn told_by_words(words: &str, otherwise: fn(String) -> CredentialsError) -> CredentialsError {
    let lower = words.to_lowercase();
    let has = |part: &str| lower.contains(part);
    if has("not provided by any")
        || has("serviceunknown")
        || has("service unknown")
        || has("namehasnoowner")
        || has("no such file")
        || has("connection refused")
        || has("cannot connect")
        || has("address")
    {
        CredentialsError::Missing(words.to_owned())
    } else if has("locked") || has("dismissed") || has("prompt") {
        CredentialsError::Locked(words.to_owned())
    } else {
        otherwise(words.to_owned())
    }
}
