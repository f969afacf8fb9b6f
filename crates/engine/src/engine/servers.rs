//! Servers: added, edited, paused, ordered, removed; their tokens.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use contract::{
    command::{EditServer, PauseServer, RemoveServer, ReorderServers, ReplaceToken, ServerRef},
    error::{AppError, ErrorCode},
    probe::{ProbeReport, ServerDraft},
    server::{Server, ServerFacts, ServerId, ServerOptions, ServerState, ServerWarning, TokenState},
};
use protocols::{Endpoint, Family, Protocol};
use sse::client::{Client, ClientOptions};
use store::StoredServer;

use super::{Engine, Linked, not_found};
use crate::{
    Secret, ids,
    server::{
        address::{is_plain_and_remote, name_of, read_address, written},
        floor::is_busy,
        link::ServerLink,
        poll::Poll,
        probe,
    },
    session::Command,
};

/// Words in the names of headers that carry secrets: those belong in the keyring, not among the options.
const SECRET_WORDS: &[&str] =
    &["authorization", "auth-", "-auth", "token", "secret", "api-key", "apikey", "cookie", "password"];

impl Engine {
    pub(super) fn locked<'a, T>(&self, mutex: &'a Mutex<T>) -> MutexGuard<'a, T> {
        // Every section under these locks is a plain map access.
        mutex.lock().unwrap_or_else(PoisonError::into_inner)
    }

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

    fn family(&self, id: &str) -> Result<&dyn Family, AppError> {
        let family = self.inner.families.iter().find(|family| family.id() == id);
        family.map(AsRef::as_ref).ok_or_else(|| unspoken(id))
    }

    fn protocol_of(&self, stored: &StoredServer) -> Result<Arc<dyn Protocol>, AppError> {
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

    pub(super) async fn removed_name(&self, server: &ServerId) -> Result<String, AppError> {
        let names = self.hub().store.server_names().await?;
        Ok(names.into_iter().find(|(id, ..)| id == server).map_or_else(String::new, |(_, name, _)| name))
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

    /// A stored token; what cannot be read is said on the server.
    async fn read_token(&self, server: &StoredServer) -> Option<Secret> {
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

    async fn relink_sessions(&self, server: &ServerId, link: Option<Arc<ServerLink>>, same_server: bool) {
        for row in self.hub().rows_of(server) {
            if let Some(task) = self.running_session(row.id).await {
                // The task has ended when it cannot be told.
                let _ = task.tell(Command::Relink { link: link.clone(), same_server }).await;
            }
        }
    }

    /// Sessions with something under way get their task now: decisions of a crash, unsent messages, what waits.
    async fn wake_unsettled(&self, server: &ServerId) {
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

    /// Tries an address without saving or changing anything at the server.
    ///
    /// # Errors
    /// None: the report says what failed.
    pub async fn probe_server(&self, draft: ServerDraft) -> Result<ProbeReport, AppError> {
        // What may not be saved may not be sent either: a secret in a header would reach whoever is asked.
        if let Err(error) = check_options(&draft.options) {
            return Ok(ProbeReport { steps: Vec::new(), found: None, error: Some(error) });
        }
        Ok(probe::probe(&draft, &self.inner.families).await)
    }

    /// Saves a server and connects.
    ///
    /// # Errors
    /// What the probe or the keyring refused. Nothing is saved then.
    pub async fn add_server(&self, draft: ServerDraft) -> Result<Server, AppError> {
        check_options(&draft.options)?;
        let report = probe::probe(&draft, &self.inner.families).await;
        let found = match (report.found, report.error) {
            (Some(found), _) => found,
            (None, error) => {
                return Err(error.unwrap_or_else(|| AppError::new(ErrorCode::WrongProtocol, "No server was found.")));
            }
        };
        let base = read_address(&found.base_url)?;
        let id = ServerId(ids::random());
        let token = Secret::pasted(&draft.token);
        let state = self.keep_token(&id, token.as_ref(), draft.session_only).await?;
        let options = ServerOptions { dialect: found.dialect, ..draft.options };
        let name =
            Some(draft.name.trim()).filter(|name| !name.is_empty()).map_or_else(|| name_of(&base), str::to_owned);
        let stored = StoredServer {
            id: id.clone(),
            name,
            base_url: written(&base),
            protocol: found.protocol,
            options,
            paused: false,
            practice: false,
            token: state,
            last_seen_at: None,
        };
        let mut server = self.view(&stored)?;
        if found.unauthenticated {
            server.warnings.push(ServerWarning::Unauthenticated);
        }
        self.hub().store.put_server(stored.clone()).await?;
        self.hub().change_servers(|servers| servers.push(server));
        self.connect(&stored, token).await;
        self.hub().server(&id).ok_or_else(|| not_found("server"))
    }

    /// Keeps a token where the person wants it.
    async fn keep_token(
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

    async fn forget_token(&self, id: &ServerId) {
        self.inner.session_only.delete_now(id);
        if let Err(error) = self.hub().credentials.delete(id).await {
            tracing::warn!(server_id = id.0, %error, "a token could not be removed from the keyring");
        }
    }

    async fn stored(&self, id: &ServerId) -> Result<StoredServer, AppError> {
        let servers = self.hub().store.servers().await?;
        servers.into_iter().find(|server| &server.id == id).ok_or_else(|| not_found("server"))
    }

    /// Saves a changed server, shows it and connects anew.
    async fn save_and_connect(&self, stored: StoredServer, token: Option<Secret>) -> Result<Server, AppError> {
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

    /// Changes a server's name, address, protocol or options. A token belongs to the origin it was given for: with
    /// another origin it is forgotten.
    ///
    /// # Errors
    /// When the address or an option cannot be used; `StopsRuns` where the server would be another one and the person
    /// has not agreed to that.
    pub async fn edit_server(&self, edit: EditServer) -> Result<Server, AppError> {
        check_options(&edit.options)?;
        let mut stored = self.stored(&edit.server).await?;
        if stored.practice {
            return Err(AppError::new(ErrorCode::Unsupported, "The practice server is set up by the app itself."));
        }
        let base = read_address(&edit.base_url)?;
        if is_plain_and_remote(&base) && !edit.options.insecure_accepted {
            return Err(AppError::new(
                ErrorCode::InsecureUrl,
                "This address is plain http: the token and everything else could be read on the way.",
            ));
        }
        self.family(&edit.protocol)?;
        let moved = read_address(&stored.base_url).map_or(true, |old| old.origin() != base.origin());
        if written(&base) != stored.base_url || edit.protocol != stored.protocol {
            self.agree_to_stop_runs(&stored.id, edit.stop_runs)?;
        }
        let token = if moved {
            self.forget_token(&stored.id).await;
            stored.token = if stored.token == TokenState::None { TokenState::None } else { TokenState::Missing };
            None
        } else {
            self.read_token(&stored).await
        };
        if !edit.name.trim().is_empty() {
            edit.name.trim().clone_into(&mut stored.name);
        }
        stored.base_url = written(&base);
        stored.protocol = edit.protocol;
        stored.options = edit.options;
        self.save_and_connect(stored, token).await
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

    /// Pauses or resumes a server.
    ///
    /// # Errors
    /// `StopsRuns` without the person's yes to that; `NotFound`, or a failing store.
    pub async fn pause_server(&self, pause: PauseServer) -> Result<Server, AppError> {
        let mut stored = self.stored(&pause.server).await?;
        if pause.paused {
            self.agree_to_stop_runs(&stored.id, pause.stop_runs)?;
        }
        stored.paused = pause.paused;
        let token = if pause.paused { None } else { self.token_now(&stored).await };
        self.save_and_connect(stored, token).await
    }

    async fn token_now(&self, stored: &StoredServer) -> Option<Secret> {
        if stored.practice {
            return self.locked(&self.inner.practice).clone();
        }
        self.read_token(stored).await
    }

    /// What stops runs that cannot be left is done only when the person agreed.
    fn agree_to_stop_runs(&self, server: &ServerId, agreed: bool) -> Result<(), AppError> {
        let runs = self.live_sessions_of(server);
        if agreed || runs.harmless { Ok(()) } else { Err(stops(runs.count)) }
    }

    /// Puts the servers in this order.
    ///
    /// # Errors
    /// A failing store.
    pub async fn reorder_servers(&self, reorder: ReorderServers) -> Result<(), AppError> {
        self.hub().store.reorder_servers(reorder.order.clone()).await?;
        self.hub().change_servers(|servers| {
            servers.sort_by_key(|server| reorder.order.iter().position(|id| id == &server.id).unwrap_or(usize::MAX));
        });
        Ok(())
    }

    /// Removes a server and its token; its history stays.
    ///
    /// # Errors
    /// `StopsRuns` without the person's yes to that; a failing store.
    pub async fn remove_server(&self, which: RemoveServer) -> Result<(), AppError> {
        let stored = self.stored(&which.server).await?;
        self.agree_to_stop_runs(&stored.id, which.stop_runs)?;
        self.disconnect(&stored.id, ServerState::Paused).await;
        if !stored.practice {
            self.forget_token(&stored.id).await;
        }
        let sets_up = self.protocol_of(&stored).is_ok_and(|protocol| protocol.capabilities().setup);
        if sets_up && let Err(error) = self.hub().option_secrets.forget(&stored.id).await {
            tracing::warn!(server_id = stored.id.0, %error, "secrets could not be removed from the keyring");
        }
        self.hub().store.remove_server(stored.id.clone(), self.hub().now()).await?;
        self.hub().change_servers(|servers| servers.retain(|server| server.id != stored.id));
        for session in self.hub().store.sessions(Some(stored.id.clone())).await? {
            if let Some(task) = self.running_session(session.id).await {
                // The task has ended when it cannot be told.
                let _ = task.tell(Command::ServerRemoved).await;
            }
            self.hub().remove_row(session.id);
        }
        Ok(())
    }

    /// Reads a server's session list again, now, and what the server says of itself.
    ///
    /// # Errors
    /// When the server is paused or off.
    pub async fn refresh_server(&self, which: ServerRef) -> Result<(), AppError> {
        let link = self.link_now(&which.server)?;
        link.look.notify_one();
        let engine = self.clone();
        tokio::spawn(async move {
            if let Err(failed) = engine.read_facts(&link).await {
                // The list's own reading shows what is wrong with the server.
                tracing::info!(server_id = link.id.0, code = ?failed.error.code, "the server's facts could not be read");
            }
        });
        Ok(())
    }
}

/// What was asked for stops so many runs.
pub(super) fn stops(runs: u32) -> AppError {
    let words = format!("This stops {} that cannot be left. Nothing was changed.", counted(runs));
    AppError::new(ErrorCode::StopsRuns, words)
}

fn counted(runs: u32) -> String {
    if runs == 1 { "a run".to_owned() } else { format!("{runs} runs") }
}

fn unspoken(protocol: &str) -> AppError {
    AppError::new(
        ErrorCode::Unsupported,
        format!("This version of the app does not speak the protocol \"{protocol}\"."),
    )
}

fn check_options(options: &ServerOptions) -> Result<(), AppError> {
    for header in &options.headers {
        let name = header.name.trim().to_ascii_lowercase();
        if SECRET_WORDS.iter().any(|word| name.contains(word)) {
            return Err(AppError::new(
                ErrorCode::InvalidInput,
                format!("The header {name} carries a secret: put the token into the token field instead."),
            ));
        }
        let usable = http::HeaderName::try_from(name.as_str()).is_ok()
            && http::HeaderValue::try_from(header.value.trim()).is_ok();
        if !usable {
            return Err(AppError::new(
                ErrorCode::InvalidInput,
                format!("\"{}\" cannot be sent as a header.", header.name),
            ));
        }
    }
    Ok(())
}
