//! How sessions are set up: changes, and the values of secret options, which stay in the keyring.

use contract::{
    command::SetSessionSetup,
    error::{AppError, ErrorCode},
    server::{ServerId, TokenState},
    session::{NewSessionOptions, SessionId},
    setup::{AgentOptionKind, SecretSetting, SessionSetup, SessionStart},
};

use super::{Engine, not_found};
use crate::{server::link::ServerLink, session::Command};

impl Engine {
    /// Changes how a session is set up: at once, or with what is sent next, as the server's way is.
    ///
    /// # Errors
    /// The server's refusal; the keyring's, where a secret cannot be kept. Nothing is changed then.
    pub async fn set_session_setup(&self, set: SetSessionSetup) -> Result<(), AppError> {
        let record = self.hub().store.session(set.session).await?.ok_or_else(|| not_found("session"))?.record;
        if let (Some(agent), Ok(link)) = (&record.agent, self.link_now(&record.server)) {
            check(&link, agent, &set.setup)?;
        }
        let names: Vec<String> = set.secrets.iter().map(|secret| secret.name.clone()).collect();
        if !set.secrets.is_empty() {
            let agent = record.agent.ok_or_else(|| {
                AppError::retryable(ErrorCode::NotFound, "The session's agent is not known yet. Nothing was changed.")
            })?;
            self.keep_secrets(&record.server, &agent, &set.secrets).await?;
        }
        self.ask_session(set.session, |reply| Command::Setup { setup: set.setup, secrets: names, reply }).await
    }

    async fn keep_secrets(&self, server: &ServerId, agent: &str, secrets: &[SecretSetting]) -> Result<(), AppError> {
        let token = self.hub().server(server).map_or(TokenState::None, |server| server.token);
        for secret in secrets {
            self.hub().option_secrets.keep(server, token, agent, &secret.name, &secret.value).await?;
        }
        Ok(())
    }

    /// What a new session begins with: pasted secrets are kept, and kept ones go with it.
    pub(super) async fn with_secrets(
        &self,
        server: &ServerId,
        agent: Option<&str>,
        mut start: SessionStart,
    ) -> Result<SessionStart, AppError> {
        let (Some(agent), Some(setup)) = (agent, &start.setup) else { return Ok(start) };
        self.keep_secrets(server, agent, &start.secrets).await?;
        let unsaid = setup.options.iter().filter(|option| option.value.is_none());
        for option in unsaid {
            if start.secrets.iter().any(|secret| secret.name == option.name) {
                continue;
            }
            if let Some(value) = self.hub().option_secrets.read(server, agent, &option.name).await? {
                start.secrets.push(SecretSetting { name: option.name.clone(), value });
            }
        }
        start.secrets.retain(|secret| !secret.value.trim().is_empty());
        Ok(start)
    }

    /// Says of each secret option whether a value is kept for it. What the keyring does not tell is not kept.
    pub(super) async fn mark_kept(&self, server: &ServerId, options: &mut NewSessionOptions) {
        for agent in &mut options.agents {
            let Some(offer) = &mut agent.offer else { continue };
            for option in offer.options.iter_mut().filter(|option| option.kind == AgentOptionKind::Secret) {
                let kept = self.hub().option_secrets.read(server, &agent.id, &option.name).await;
                option.kept = kept.is_ok_and(|value| value.is_some());
            }
        }
    }

    /// Whether a session's title is kept here, since its server has none.
    pub(super) async fn titles_here(&self, session: SessionId) -> Result<bool, AppError> {
        let record = self.hub().store.session(session).await?.ok_or_else(|| not_found("session"))?.record;
        Ok(self.hub().server(&record.server).is_some_and(|server| server.capabilities.titles_here))
    }
}

/// What is wrong with a setup is said before anything of it is kept or sent.
pub(super) fn check(link: &ServerLink, agent: &str, setup: &SessionSetup) -> Result<(), AppError> {
    match link.protocol.amiss(agent, setup) {
        Some(words) => Err(AppError::new(ErrorCode::InvalidInput, words)),
        None => Ok(()),
    }
}
