//! Values of agents' secret options: kept where the server's token is kept, one entry per server, agent and option.

use std::{collections::BTreeSet, sync::Arc};

use contract::server::{ServerId, TokenState};

use super::{Credentials, CredentialsError, MemoryCredentials, Secret};

/// Values of secret options. Beside them stands a list of the entries, so that they can be removed with their server.
pub struct OptionSecrets {
    keyring: Arc<dyn Credentials>,
    session_only: MemoryCredentials,
}

/// The name of an entry: each part with its length before it, so that no two are one.
fn entry(server: &ServerId, agent: &str, option: &str) -> ServerId {
    let parts = [server.0.as_str(), agent, option].map(|part| format!("{}:{part}", part.len()));
    ServerId(format!("option {}", parts.join(" ")))
}

fn list_of(server: &ServerId) -> ServerId {
    ServerId(format!("options of {}", server.0))
}

impl OptionSecrets {
    /// Over this keyring.
    #[must_use]
    pub fn new(keyring: Arc<dyn Credentials>) -> Self {
        Self { keyring, session_only: MemoryCredentials::default() }
    }

    /// Keeps a value: in memory where the server's token is kept there by the person's choice, else in the keyring. An
    /// empty one is forgotten.
    ///
    /// # Errors
    /// When the keyring cannot be written; nothing is kept then.
    pub async fn keep(
        &self,
        server: &ServerId,
        token: TokenState,
        agent: &str,
        option: &str,
        value: &str,
    ) -> Result<(), CredentialsError> {
        let entry = entry(server, agent, option);
        let Some(secret) = Secret::pasted(value) else {
            self.session_only.delete_now(&entry);
            return self.keyring.delete(&entry).await;
        };
        if token == TokenState::SessionOnly {
            self.session_only.set_now(&entry, &secret);
            return Ok(());
        }
        let mut names = self.names(server).await?;
        if names.insert(entry.0.clone()) {
            // The list first: what it names and is not there does no harm.
            let list = serde_json::to_string(&names).map_err(|error| CredentialsError::Failed(error.to_string()))?;
            if let Some(list) = Secret::pasted(&list) {
                self.keyring.set(&list_of(server), &list).await?;
            }
        }
        self.keyring.set(&entry, &secret).await?;
        self.session_only.delete_now(&entry);
        Ok(())
    }

    /// The value of an option, where one is kept.
    ///
    /// # Errors
    /// When the keyring cannot be read.
    pub async fn read(&self, server: &ServerId, agent: &str, option: &str) -> Result<Option<String>, CredentialsError> {
        let entry = entry(server, agent, option);
        if let Some(secret) = self.session_only.get_now(&entry) {
            return Ok(Some(secret.expose().to_owned()));
        }
        Ok(self.keyring.get(&entry).await?.map(|secret| secret.expose().to_owned()))
    }

    /// Forgets everything kept for a server.
    ///
    /// # Errors
    /// When the keyring cannot be written.
    pub async fn forget(&self, server: &ServerId) -> Result<(), CredentialsError> {
        for name in self.names(server).await? {
            let entry = ServerId(name);
            self.session_only.delete_now(&entry);
            self.keyring.delete(&entry).await?;
        }
        self.keyring.delete(&list_of(server)).await
    }

    async fn names(&self, server: &ServerId) -> Result<BTreeSet<String>, CredentialsError> {
        let list = self.keyring.get(&list_of(server)).await?;
        Ok(list.and_then(|list| serde_json::from_str(list.expose()).ok()).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[tokio::test]
    async fn secrets_of_one_agent_are_not_anothers_and_leave_with_their_server() {
        let keyring = Arc::new(MemoryCredentials::default());
        let secrets = OptionSecrets::new(Arc::clone(&keyring) as _);
        let (one, other) = (ServerId("one".into()), ServerId("other".into()));
        for (server, agent, option, value) in
            [(&one, "a 1:b", "c", "first"), (&one, "a", "b c", "second"), (&other, "a", "b c", "third")]
        {
            secrets.keep(server, TokenState::Keyring, agent, option, value).await.unwrap();
        }
        assert_eq!(secrets.read(&one, "a 1:b", "c").await.unwrap().as_deref(), Some("first"));
        assert_eq!(secrets.read(&one, "a", "b c").await.unwrap().as_deref(), Some("second"));
        assert_eq!(secrets.read(&one, "a", "c").await.unwrap(), None);
        secrets.forget(&one).await.unwrap();
        assert_eq!(secrets.read(&one, "a", "b c").await.unwrap(), None);
        assert_eq!(secrets.read(&other, "a", "b c").await.unwrap().as_deref(), Some("third"));
    }

    #[tokio::test]
    async fn a_secret_for_this_session_only_never_reaches_the_keyring() {
        let keyring = Arc::new(MemoryCredentials::refusing(CredentialsError::Missing("none".into())));
        let secrets = OptionSecrets::new(keyring);
        let server = ServerId("one".into());
        secrets.keep(&server, TokenState::SessionOnly, "a", "b", "value").await.unwrap();
        assert_eq!(secrets.read(&server, "a", "b").await.unwrap().as_deref(), Some("value"));
        assert!(secrets.keep(&server, TokenState::Keyring, "a", "b", "value").await.is_err());
    }
}
