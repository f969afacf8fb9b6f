//! The tokens of the servers: read, kept in one place, replaced, forgotten.

use contract::{
    command::ReplaceToken,
    error::{AppError, ErrorCode},
    server::{Server, ServerId, ServerState, TokenState},
};
use store::StoredServer;

use super::Engine;
use crate::Secret;

impl Engine {
    /// A stored token; what cannot be read is said on the server.
    pub(super) async fn read_token(&self, server: &StoredServer) -> Option<Secret> {
        let found = match server.token {
            TokenState::None => return None,
            TokenState::SessionOnly | TokenState::Missing => self.inner.session_only.get_now(&server.id),
            TokenState::Keyring => match self.hub().credentials.get(&server.id).await {
                Ok(found) => found,
                Err(error) => {
                    tracing::warn!(server_id = server.id.0, %error, "the token could not be read");
                    None
                }
            },
        };
        let state = if found.is_some() { server.token } else { TokenState::Missing };
        self.hub().change_server(&server.id, |view| view.token = state);
        found
    }

    /// Keeps a token where the person wants it.
    pub(super) async fn keep_token(
        &self,
        id: &ServerId,
        token: Option<&Secret>,
        session_only: bool,
    ) -> Result<TokenState, AppError> {
        let Some(token) = token else {
            self.forget_token(id).await;
            return Ok(TokenState::None);
        };
        if session_only {
            self.inner.session_only.set_now(id, token);
            // Exactly one place is the authority. Where there is no keyring there is nothing to remove either.
            if let Err(error) = self.hub().credentials.delete(id).await {
                tracing::info!(server_id = id.0, %error, "no older token was removed from the keyring");
            }
            return Ok(TokenState::SessionOnly);
        }
        self.hub().credentials.set(id, token).await?;
        // Exactly one place is the authority.
        self.inner.session_only.delete_now(id);
        Ok(TokenState::Keyring)
    }

    pub(super) async fn forget_token(&self, id: &ServerId) {
        self.inner.session_only.delete_now(id);
        if let Err(error) = self.hub().credentials.delete(id).await {
            tracing::warn!(server_id = id.0, %error, "a token could not be removed from the keyring");
        }
    }

    pub(super) async fn token_now(&self, stored: &StoredServer) -> Option<Secret> {
        if stored.practice {
            return self.locked(&self.inner.practice).clone();
        }
        self.read_token(stored).await
    }

    /// Replaces a server's token. Another one leaves its runs alone; with none at all their streams are let go.
    ///
    /// # Errors
    /// When the keyring refuses it, or `StopsRuns` without the person's yes to that; the old one stays then.
    pub async fn replace_token(&self, replace: ReplaceToken) -> Result<Server, AppError> {
        let mut stored = self.stored(&replace.server).await?;
        if stored.practice {
            return Err(AppError::new(ErrorCode::Unsupported, "The practice server is set up by the app itself."));
        }
        let token = Secret::pasted(&replace.token);
        let logs_out = token.is_none() && stored.token != TokenState::None;
        if logs_out {
            self.agree_to_stop_runs(&stored.id, replace.stop_runs)?;
        }
        stored.token = self.keep_token(&stored.id, token.as_ref(), replace.session_only).await?;
        if logs_out && replace.stop_runs {
            // What cannot be answered any more goes on nowhere: its streams are let go.
            self.disconnect(&stored.id, ServerState::Checking).await;
        }
        self.save_and_connect(stored, token).await
    }
}
