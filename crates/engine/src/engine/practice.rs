//! The practice server: a fixed identity, an address and a token that live in memory only.

use std::sync::Arc;

use contract::{
    error::{AppError, ErrorCode},
    server::{PRACTICE_SERVER, ServerId, ServerOptions, ServerState, TokenState},
    session::{SessionId, SessionState},
};
use protocols::RemoteSession;
use store::StoredServer;

use super::{Engine, not_found, servers::stops};
use crate::{
    Secret,
    server::{
        floor::{Going, is_busy},
        link::ServerLink,
        poll::merged,
    },
};

impl Engine {
    /// The practice server runs at this address.
    ///
    /// # Errors
    /// A failing store.
    pub async fn attach_practice(&self, base_url: String, token: String) -> Result<(), AppError> {
        let id = ServerId(PRACTICE_SERVER.to_owned());
        let known = self.hub().store.servers().await?.into_iter().find(|server| server.id == id);
        let stored = StoredServer {
            id: id.clone(),
            name: known.as_ref().map_or_else(|| "Practice".to_owned(), |known| known.name.clone()),
            base_url,
            protocol: "managed".to_owned(),
            options: ServerOptions { dialect: Some("qoder".to_owned()), ..ServerOptions::default() },
            paused: false,
            practice: true,
            token: TokenState::SessionOnly,
            last_seen_at: known.and_then(|known| known.last_seen_at),
        };
        self.hub().store.put_server(stored.clone()).await?;
        let mut server = self.view(&stored)?;
        // Its token is meant to live in memory: nothing to warn about.
        server.warnings.clear();
        self.hub().change_servers(|servers| match servers.iter_mut().find(|known| known.id == id) {
            Some(known) => *known = server,
            None => servers.push(server),
        });
        let token = Secret::pasted(&token);
        self.locked(&self.inner.practice).clone_from(&token);
        self.connect(&stored, token).await;
        Ok(())
    }

    /// The practice server is to be switched off: whatever runs in it ends with it.
    ///
    /// # Errors
    /// `StopsRuns` where something runs and the person has not agreed to that; nothing is changed then.
    pub async fn detach_practice(&self, stop_runs: bool) -> Result<(), AppError> {
        let id = ServerId(PRACTICE_SERVER.to_owned());
        let running = self.hub().rows_of(&id).into_iter().filter(|row| is_busy(&row.state)).count();
        if running > 0 && !stop_runs && self.link(&id).is_some() {
            return Err(stops(u32::try_from(running).unwrap_or(u32::MAX)));
        }
        self.locked(&self.inner.practice).take();
        self.disconnect(&id, ServerState::Off).await;
        Ok(())
    }

    /// The number of a session by its id at its server, read from the server when it is new.
    ///
    /// # Errors
    /// The server's refusal; `NotFound` when it has no such session.
    pub async fn session_by_remote(&self, server: &ServerId, remote: &str) -> Result<SessionId, AppError> {
        let hub = self.hub();
        let known = hub.store.sessions(Some(server.clone())).await?;
        if let Some(found) = known.iter().find(|session| session.record.remote_id == remote) {
            return Ok(found.id);
        }
        let link = self.link_now(server)?;
        let found = match link.protocol.read_session(remote) {
            Some(ask) => link.ask(ask).await?,
            None => {
                let ask = link.protocol.list_sessions(None).ok_or_else(|| {
                    AppError::new(ErrorCode::Unsupported, "This server cannot be asked for its sessions.")
                })?;
                let listed = link.ask(ask).await?.rows.into_iter().find(|row| row.id == remote);
                match listed {
                    Some(row) => row,
                    None => unlisted(&link, remote).await?,
                }
            }
        };
        if found.id != remote {
            return Err(not_found("session"));
        }
        self.keep_session(&link, &found).await
    }

    /// Keeps a session that the server has just told of, and gives its number.
    pub(super) async fn keep_session(
        &self,
        link: &crate::server::link::ServerLink,
        remote: &protocols::RemoteSession,
    ) -> Result<SessionId, AppError> {
        let record = merged(None, remote, link);
        let id = self.hub().store.put_session(record.clone()).await?;
        self.hub().put_row(crate::rows::row_of(id, &record, self.hub().now()));
        Ok(id)
    }
}

/// A session that its server does not list (one without a message, say): the server goes there, so it is there.
async fn unlisted(link: &Arc<ServerLink>, remote: &str) -> Result<RemoteSession, AppError> {
    if link.protocol.approach(remote).is_none() {
        return Err(not_found("session"));
    }
    if let Some(floor) = link.stand(remote, Going::There).await? {
        floor.leave().await;
    }
    Ok(RemoteSession { id: remote.to_owned(), state: SessionState::Idle, ..RemoteSession::default() })
}
