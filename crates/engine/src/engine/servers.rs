//! Servers: added, edited, paused, ordered, removed; their tokens.

use std::sync::{Mutex, MutexGuard, PoisonError};

use contract::{
    command::{EditServer, PauseServer, RemoveServer, ReorderServers, ServerRef},
    error::{AppError, ErrorCode},
    probe::{ProbeReport, ServerDraft},
    server::{Server, ServerId, ServerOptions, ServerState, ServerWarning, TokenState},
};
use store::StoredServer;

use super::{Engine, not_found};
use crate::{
    Secret, ids,
    server::{
        address::{is_plain_and_remote, name_of, read_address, written},
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

    pub(super) async fn removed_name(&self, server: &ServerId) -> Result<String, AppError> {
        let names = self.hub().store.server_names().await?;
        Ok(names.into_iter().find(|(id, ..)| id == server).map_or_else(String::new, |(_, name, _)| name))
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

    pub(super) async fn stored(&self, id: &ServerId) -> Result<StoredServer, AppError> {
        let servers = self.hub().store.servers().await?;
        servers.into_iter().find(|server| &server.id == id).ok_or_else(|| not_found("server"))
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

    /// What stops runs that cannot be left is done only when the person agreed.
    pub(super) fn agree_to_stop_runs(&self, server: &ServerId, agreed: bool) -> Result<(), AppError> {
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
