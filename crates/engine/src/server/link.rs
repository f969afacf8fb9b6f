//! The way to one server: its protocol, its token, one HTTP client.

use std::{
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use contract::{
    error::{AppError, ErrorCode},
    probe::ProbeLayer,
    server::{ServerId, ServerState, ServerWarning},
};
use protocols::{Ask, Protocol, Repeat};
use store::StoredServer;
use tokio::sync::{Mutex, Notify};

use super::floor::is_busy;
use crate::{Secret, hub::Hub, kept::DEFAULT_DISK_CAP};

/// Tries of a request that may be repeated freely.
const TRIES: u32 = 3;

/// How long a model may take with what is asked beside a run.
const PATIENCE: Duration = Duration::from_secs(600);

/// The way to one server.
pub struct ServerLink {
    /// The server.
    pub id: ServerId,
    /// Its name, for cards.
    pub name: String,
    /// Where it is.
    pub place: Place,
    /// How it is spoken to.
    pub protocol: Arc<dyn Protocol>,
    /// Sends requests.
    pub client: sse::client::Client,
    /// The cap on one event of its streams, in bytes.
    pub event_cap: usize,
    /// The cap on what is kept of it on disk, in bytes.
    pub disk_cap: u64,
    /// Asks for the list of sessions to be read now.
    pub look: Notify,
    /// Held by whoever asks something of the server's current session.
    pub(super) floor: Arc<Mutex<()>>,
    /// Sends what a model takes its time with.
    patient: sse::client::Client,
    token: RwLock<Option<Secret>>,
    retired: AtomicBool,
    hub: Arc<Hub>,
}

/// Where a server is: links to the same place reach the same server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Its address.
    pub base_url: String,
    /// The protocol it speaks there.
    pub protocol: String,
}

/// A request that failed.
#[derive(Debug, Clone)]
pub struct AskError {
    /// What failed.
    pub error: AppError,
    /// The server may have done it all the same: nothing or not enough of an answer came.
    pub uncertain: bool,
    /// The layer that failed, where no answer came.
    pub layer: Option<ProbeLayer>,
}

impl AskError {
    /// The failure of what had to be settled first: what was to follow never left.
    #[must_use]
    pub fn nothing_left(self) -> Self {
        Self { uncertain: false, ..self }
    }
}

impl From<AskError> for AppError {
    fn from(failed: AskError) -> Self {
        failed.error
    }
}

impl ServerLink {
    /// A link with a token, where the server has one.
    pub fn new(
        hub: Arc<Hub>,
        server: &StoredServer,
        protocol: Arc<dyn Protocol>,
        client: sse::client::Client,
        event_cap: usize,
        token: Option<Secret>,
    ) -> Self {
        let options = sse::client::ClientOptions { total: PATIENCE, body_cap: event_cap, ..Default::default() };
        Self {
            id: server.id.clone(),
            name: server.name.clone(),
            place: Place { base_url: server.base_url.clone(), protocol: server.protocol.clone() },
            protocol,
            client,
            event_cap,
            disk_cap: server.options.disk_cap_bytes.unwrap_or(DEFAULT_DISK_CAP),
            look: Notify::new(),
            floor: Arc::default(),
            patient: sse::client::Client::new(options),
            token: RwLock::new(token),
            retired: AtomicBool::new(false),
            hub,
        }
    }

    /// Adds the token to a request.
    pub fn authorize(&self, request: &mut http::Request<Bytes>) {
        let token = self.token.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(token) = token.as_ref() {
            self.protocol.authorize(request, token.expose());
        }
    }

    /// Another link has taken over, or the server is paused, off or removed: what is still under way here says
    /// nothing of the server's state any more, and has no token any more.
    pub fn retire(&self) {
        self.retired.store(true, Ordering::Relaxed);
        *self.token.write().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Whether another link has taken over.
    pub(super) fn is_retired(&self) -> bool {
        self.retired.load(Ordering::Relaxed)
    }

    /// Sends a request and reads its answer. What may be repeated freely is tried again when the server fails.
    ///
    /// # Errors
    /// The server's refusal, or what kept its answer from us.
    pub async fn ask<T>(&self, ask: Ask<T>) -> Result<T, AskError> {
        self.ask_shared(&ask).await
    }

    /// As [`ServerLink::ask`], for a request that is shared.
    ///
    /// # Errors
    /// The same.
    pub(crate) async fn ask_shared<T>(&self, ask: &Ask<T>) -> Result<T, AskError> {
        let mut tries = 0;
        loop {
            tries += 1;
            let failed = match self.once(ask).await {
                Ok(answer) => return Ok(answer),
                Err(failed) => failed,
            };
            if ask.repeat != Repeat::Freely || !failed.error.retryable || tries >= TRIES {
                return Err(failed);
            }
            tokio::time::sleep(Duration::from_millis(250) * 2u32.pow(tries)).await;
        }
    }

    /// Sends a request once.
    ///
    /// # Errors
    /// As [`ServerLink::ask`].
    pub async fn once<T>(&self, ask: &Ask<T>) -> Result<T, AskError> {
        self.send(&self.client, ask).await
    }

    /// Sends a request once, and waits for its answer as long as a model may take.
    ///
    /// # Errors
    /// As [`ServerLink::ask`].
    pub(super) async fn patiently<T>(&self, ask: &Ask<T>) -> Result<T, AskError> {
        self.send(&self.patient, ask).await
    }

    async fn send<T>(&self, client: &sse::client::Client, ask: &Ask<T>) -> Result<T, AskError> {
        if self.is_retired() {
            let error = AppError::retryable(ErrorCode::ServerPaused, "This server is paused or off. Nothing was sent.");
            return Err(AskError { error, uncertain: false, layer: None });
        }
        let mut request = ask.request.clone();
        self.authorize(&mut request);
        let response = match client.send(request).await {
            Ok(response) => response,
            Err(error) => {
                let uncertain = error.may_have_arrived();
                return Err(AskError { error: unanswered(&error), uncertain, layer: Some(error.layer()) });
            }
        };
        match (ask.read)(&response) {
            Ok(answer) => {
                self.seen();
                Ok(answer)
            }
            Err(refusal) => {
                let error = AppError::from(refusal);
                match error.code {
                    ErrorCode::Unauthorized => self.state(ServerState::Unauthorized),
                    ErrorCode::ServerFailed | ErrorCode::WrongProtocol => {}
                    _ => self.seen(),
                }
                // A gateway's 5xx says nothing about what the server behind it did.
                let uncertain = error.code == ErrorCode::ServerFailed;
                Err(AskError { error, uncertain, layer: None })
            }
        }
    }

    /// Whether something runs or waits in a session, as far as is known here.
    pub(super) fn runs(&self, remote: &str) -> bool {
        self.hub.rows_of(&self.id).iter().any(|row| row.remote_id == remote && is_busy(&row.state))
    }

    fn seen(&self) {
        if self.is_retired() {
            return;
        }
        let now = self.hub.now();
        self.hub.change_server(&self.id, |server| {
            if server.state != ServerState::Online {
                server.state = ServerState::Online;
            }
            // The list is told to every window when it changes: a minute is close enough for "last seen".
            if server.last_seen_at.is_none_or(|last| now - last > 60_000) {
                server.last_seen_at = Some(now);
            }
        });
    }

    /// What is kept of the server has reached this link's cap: said on the server until another link takes over.
    pub fn say_full(&self) {
        if self.retired.load(Ordering::Relaxed) {
            return;
        }
        self.hub.change_server(&self.id, |server| {
            if !server.warnings.contains(&ServerWarning::StorageFull) {
                server.warnings.push(ServerWarning::StorageFull);
            }
        });
    }

    /// The server's state, as long as this is its link.
    pub fn state(&self, state: ServerState) {
        if self.is_retired() {
            return;
        }
        self.hub.change_server(&self.id, |server| server.state = state);
    }
}

/// A request that was not answered, in words for people.
#[must_use]
pub fn unanswered(error: &sse::client::SendError) -> AppError {
    let (code, message) = match error.layer() {
        ProbeLayer::Url => (ErrorCode::InvalidInput, "This address cannot be used. Check it for a typing mistake."),
        ProbeLayer::Dns => (ErrorCode::Unreachable, "The host was not found. Check the address and the network."),
        ProbeLayer::Connect => (ErrorCode::Unreachable, "No connection to the server. Is it running at this address?"),
        ProbeLayer::Tls => (ErrorCode::Unreachable, "The secure connection (TLS) to the server failed."),
        ProbeLayer::Proxy => (ErrorCode::Unreachable, "The proxy between here and the server refused the connection."),
        ProbeLayer::Answer | ProbeLayer::Auth | ProbeLayer::Protocol => match error {
            sse::client::SendError::TooLarge { .. } => {
                (ErrorCode::TooLarge, "The server's answer is larger than this server's cap allows.")
            }
            _ => (ErrorCode::Unreachable, "The server did not answer in time, or the connection broke."),
        },
    };
    let failed =
        if code == ErrorCode::Unreachable { AppError::retryable(code, message) } else { AppError::new(code, message) };
    failed.with_detail(error.to_string())
}
