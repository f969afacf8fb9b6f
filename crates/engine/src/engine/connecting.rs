//! The links to the servers: made, made anew, let go.

use std::sync::Arc;

use contract::{
    error::{AppError, ErrorCode},
    server::{Server, ServerFacts, ServerId, ServerState, ServerWarning, TokenState},
};
use protocols::{Endpoint, Family, Protocol};
use sse::client::{Client, ClientOptions};
use store::StoredServer;

use super::{Engine, Linked, not_found};
use crate::{
    Secret,
    server::{
        address::{is_plain_and_remote, read_address},
        floor::is_busy,
        link::ServerLink,
        poll::Poll,
    },
    session::Command,
};

impl Engine {
    pub(super) fn link(&self, server: &ServerId) -> Option<Arc<ServerLink>> {
        self.locked(&self.inner.links).get(server).map(|linked| Arc::clone(&linked.link))
    }

    /// The link of a server that is to be spoken to now.
    pub(super) fn link_now(&self, server: &ServerId) -> Result<Arc<ServerLink>, AppError> {
        self.link(server).ok_or_else(|| match self.hub().server(server) {
            Some(_) => AppError::new(ErrorCode::ServerPaused, "This server is paused or off. Switch it on first."),
            None => not_found("server"),
        })
    }

    pub(super) fn nudge_all(&self) {
        for linked in self.locked(&self.inner.links).values() {
            linked.link.look.notify_one();
        }
    }

    /// The protocol of a server that is not connected, to read its sessions' logs with.
    pub(super) async fn offline_protocol(&self, server: &ServerId) -> Result<Arc<dyn Protocol>, AppError> {
        // A removed one, too: its log still reads as what it was.
        let stored = self.hub().store.server(server.clone()).await?.ok_or_else(|| not_found("server"))?;
        self.protocol_of(&stored)
    }

    pub(super) fn family(&self, id: &str) -> Result<&dyn Family, AppError> {
        let family = self.inner.families.iter().find(|family| family.id() == id);
        family.map(AsRef::as_ref).ok_or_else(|| unspoken(id))
    }

    pub(super) fn protocol_of(&self, stored: &StoredServer) -> Result<Arc<dyn Protocol>, AppError> {
        let base = read_address(&stored.base_url)?;
        Ok(self.family(&stored.protocol)?.speak(Endpoint { base, options: stored.options.clone() }))
    }

    /// A server as the page shows it, before it is contacted.
    pub(super) fn view(&self, stored: &StoredServer) -> Result<Server, AppError> {
        let mut warnings = Vec::new();
        if read_address(&stored.base_url).is_ok_and(|url| is_plain_and_remote(&url)) {
            warnings.push(ServerWarning::PlainHttp);
        }
        if Self::token_warning(stored.token) {
            warnings.push(ServerWarning::TokenNotStored);
        }
        Ok(Server {
            id: stored.id.clone(),
            name: stored.name.clone(),
            base_url: stored.base_url.clone(),
            protocol: stored.protocol.clone(),
            options: stored.options.clone(),
            token: stored.token,
            paused: stored.paused,
            practice: stored.practice,
            state: match (stored.paused, stored.practice) {
                (true, _) => ServerState::Paused,
                (false, true) => ServerState::Off,
                (false, false) => ServerState::Unknown,
            },
            capabilities: self.protocol_of(stored).map(|protocol| protocol.capabilities()).unwrap_or_default(),
            warnings,
            facts: ServerFacts::default(),
            last_seen_at: stored.last_seen_at,
        })
    }

    pub(super) async fn load_servers(&self) -> Result<(), AppError> {
        let stored = self.hub().store.servers().await?;
        let mut views = Vec::with_capacity(stored.len());
        for server in &stored {
            views.push(self.view(server)?);
        }
        self.hub().change_servers(|servers| *servers = views);
        for server in stored {
            if server.paused || server.practice {
                continue;
            }
            let engine = self.clone();
            // A keyring that waits for a password holds up this server alone.
            tokio::spawn(async move {
                let token = engine.read_token(&server).await;
                engine.connect(&server, token).await;
            });
        }
        Ok(())
    }

    /// Connects to a server: its list is followed, its sessions may open streams.
    pub(super) async fn connect(&self, stored: &StoredServer, token: Option<Secret>) {
        let protocol = match self.protocol_of(stored) {
            Ok(protocol) => protocol,
            Err(error) => {
                tracing::error!(server_id = stored.id.0, code = ?error.code, "the server cannot be spoken to");
                return;
            }
        };
        let cap = stored.options.event_cap_bytes.and_then(|cap| usize::try_from(cap).ok());
        let cap = cap.unwrap_or(sse::frame::DEFAULT_EVENT_CAP);
        let client = Client::new(ClientOptions { body_cap: cap, ..ClientOptions::default() });
        let link = Arc::new(ServerLink::new(Arc::clone(self.hub()), stored, protocol, client, cap, token));
        let linked = Linked { link: Arc::clone(&link), cancel: self.inner.cancel.child_token() };
        let poll = Poll { engine: self.clone(), link: Arc::clone(&link), cancel: linked.cancel.clone() };
        let old = self.locked(&self.inner.links).insert(stored.id.clone(), linked);
        let same_server = old.as_ref().is_some_and(|old| old.link.place == link.place);
        if let Some(old) = old {
            old.link.retire();
            old.cancel.cancel();
        }
        self.hub().change_server(&stored.id, |view| {
            view.state = ServerState::Checking;
            view.capabilities = link.protocol.capabilities();
            view.warnings.retain(|warning| *warning != ServerWarning::StorageFull);
        });
        tokio::spawn(poll.run());
        self.relink_sessions(&stored.id, Some(link), same_server).await;
        self.wake_unsettled(&stored.id).await;
    }

    /// Disconnects from a server.
    pub(super) async fn disconnect(&self, server: &ServerId, state: ServerState) {
        let old = self.locked(&self.inner.links).remove(server);
        if let Some(old) = old {
            old.link.retire();
            old.cancel.cancel();
        }
        self.hub().change_server(server, |view| view.state = state);
        self.relink_sessions(server, None, false).await;
    }

    pub(super) async fn relink_sessions(&self, server: &ServerId, link: Option<Arc<ServerLink>>, same_server: bool) {
        for row in self.hub().rows_of(server) {
            if let Some(task) = self.running_session(row.id).await {
                // The task has ended when it cannot be told.
                let _ = task.tell(Command::Relink { link: link.clone(), same_server }).await;
            }
        }
    }

    /// Sessions with something under way get their task now: decisions of a crash, unsent messages, what waits.
    pub(super) async fn wake_unsettled(&self, server: &ServerId) {
        let hub = self.hub();
        let Ok(sessions) = hub.store.sessions(Some(server.clone())).await else { return };
        let unsent: Vec<_> = match hub.store.outbox(None).await {
            Ok(messages) => messages.into_iter().map(|message| message.session).collect(),
            Err(_) => Vec::new(),
        };
        for session in sessions {
            let pending = self.locked(&self.inner.pending).contains_key(&session.id);
            let left = unsent.contains(&session.id) || session.record.waiting > 0 || is_busy(&session.record.state);
            if (pending || left) && session.record.ended.is_none() {
                // A wake does nothing to a fresh task but make it look at what it has.
                if let Err(error) = self.tell_session(session.id, Command::Wake).await {
                    tracing::warn!(session_id = session.id.0, code = ?error.code, "the session could not be taken up");
                }
            }
        }
    }

    /// Saves a changed server, shows it and connects anew.
    pub(super) async fn save_and_connect(
        &self,
        stored: StoredServer,
        token: Option<Secret>,
    ) -> Result<Server, AppError> {
        let server = self.view(&stored)?;
        self.hub().store.put_server(stored.clone()).await?;
        let id = stored.id.clone();
        self.hub().change_server(&id, |view| {
            let warnings = view.warnings.contains(&ServerWarning::Unauthenticated);
            // A token that could not be read a moment ago cannot be read now: the record says only where it was.
            let token = match (view.token, stored.token) {
                (TokenState::Missing, kept) if kept != TokenState::None && token.is_none() => TokenState::Missing,
                (_, kept) => kept,
            };
            *view = Server { last_seen_at: view.last_seen_at, token, ..server };
            if warnings && stored.token == TokenState::None {
                view.warnings.push(ServerWarning::Unauthenticated);
            }
        });
        if stored.paused {
            self.disconnect(&id, ServerState::Paused).await;
        } else {
            self.connect(&stored, token).await;
        }
        self.hub().server(&id).ok_or_else(|| not_found("server"))
    }
}

fn unspoken(protocol: &str) -> AppError {
    AppError::new(
        ErrorCode::Unsupported,
        format!("This version of the app does not speak the protocol \"{protocol}\"."),
    )
}
