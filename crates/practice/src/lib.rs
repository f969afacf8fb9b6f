//! The practice server: a built-in agent server on loopback. It speaks the Qoder dialect below `/api/v1/cloud`, the
//! Claude dialect below `/v1`, the `runs` protocol below `/runs` and the `turns` protocol below `/turns` of the same
//! port, plays scenarios from JSON, answers other messages by simple rules, and misbehaves on request. What people try
//! in the app is what the tests are driven by.
//!
//! It promises: loopback only; a token of 256 random bits unless one is given; sessions that survive a restart where a
//! state file is named; no lock held across an await; every step of an agent can be held and released by tests.

mod control;
mod counters;
mod error;
mod fault;
mod feed;
mod http;
mod ids;
mod journal;
mod keep;
mod manner;
mod play;
mod runs;
mod scenario;
mod session;
mod turns;
mod voice;
mod wire;
mod world;

use std::{collections::BTreeMap, net::Ipv4Addr, sync::Arc, time::Duration};

use tokio::{net::TcpListener, task::JoinHandle};

pub use control::{Command, Control, WaitFor};
pub use counters::{Counters, DecisionSeen, Opened, Posted};
pub use error::PracticeError;
pub use fault::{FaultBody, RequestAct, RequestFault, StreamAct, StreamFault};
pub use manner::{Config, Form, Manner, Pace, SseIds, Start, Text};
pub use runs::{Generation, Permission, Recover, RunsControl, RunsManner, RunsOrder};
pub use scenario::{runs_scenarios, scenarios, turns_scenarios};
pub use turns::{
    TurnsControl, TurnsFaults, TurnsFold, TurnsLocation, TurnsManner, TurnsOrder, TurnsPost, TurnsVersion, TurnsVisit,
    TurnsWait,
};

use crate::{keep::Keep, world::World};

/// How long open connections may take to end once the server stops.
const GRACE: Duration = Duration::from_secs(2);

/// A running practice server. It ends with [`Practice::stop`], or at once when dropped.
pub struct Practice {
    world: Arc<World>,
    token: String,
    serving: JoinHandle<()>,
    writer: Option<keep::Writer>,
}

impl std::fmt::Debug for Practice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Practice").field("port", &self.world.port).finish_non_exhaustive()
    }
}

impl Practice {
    /// Starts a server on 127.0.0.1.
    ///
    /// # Errors
    /// When the port is taken, the state file cannot be used, or the system gives no random bytes.
    pub async fn start(config: Config) -> Result<Self, PracticeError> {
        let token = match &config.token {
            Some(token) => token.clone(),
            None => ids::random_token()?,
        };
        let (keep, writer, found, runs, turns, generation) = match config.state_file.clone() {
            None => (Keep::default(), None, Vec::new(), Vec::new(), Vec::new(), 0),
            Some(path) => {
                let opened = tokio::task::spawn_blocking(move || keep::open(&path)).await;
                let opened = opened.map_err(|error| PracticeError::StateFile(std::io::Error::other(error)))?;
                let keep::Opened { keep, writer, found, runs, turns, generation } = opened?;
                (keep, Some(writer), found, runs, turns, generation)
            }
        };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, config.port.unwrap_or(0))).await;
        let listener = listener.map_err(PracticeError::Listen)?;
        let port = listener.local_addr().map_err(PracticeError::Listen)?.port();
        let world = World::new(&config, token.clone(), port, generation, keep);
        world.restore(found, runs, turns);
        if config.turns.location == TurnsLocation::OtherOrigin {
            let other = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.map_err(PracticeError::Listen)?;
            let port = other.local_addr().map_err(PracticeError::Listen)?.port();
            world.turns.change(|desk| desk.other_port = Some(port));
            // Nobody waits for this one at the end: it has as long as the first.
            let (serving, stop) = (serve(Arc::clone(&world), other), world.stop.clone());
            world.players.spawn(async move {
                tokio::select! {
                    () = serving => {}
                    () = async { stop.cancelled().await; tokio::time::sleep(GRACE).await } => {}
                }
            });
        }
        let serving = tokio::spawn(serve(Arc::clone(&world), listener));
        Ok(Self { world, token, serving, writer })
    }

    /// The address of the Qoder dialect.
    #[must_use]
    pub fn base_url(&self) -> String {
        format!("http://127.0.0.1:{}/api/v1/cloud", self.world.port)
    }

    /// The address of the Claude dialect.
    #[must_use]
    pub fn claude_base_url(&self) -> String {
        format!("http://127.0.0.1:{}/v1", self.world.port)
    }

    /// The address of the `runs` protocol.
    #[must_use]
    pub fn runs_base_url(&self) -> String {
        format!("http://127.0.0.1:{}/runs", self.world.port)
    }

    /// The address of the `turns` protocol.
    #[must_use]
    pub fn turns_base_url(&self) -> String {
        format!("http://127.0.0.1:{}/turns", self.world.port)
    }

    /// The address of the `turns` protocol at the other origin, where [`TurnsLocation::OtherOrigin`] was asked for at
    /// the start.
    #[must_use]
    pub fn turns_other_base_url(&self) -> Option<String> {
        let port = self.world.turns.look(|desk| desk.other_port)?;
        Some(format!("http://127.0.0.1:{port}/turns"))
    }

    /// The address of control over HTTP.
    #[must_use]
    pub fn control_url(&self) -> String {
        format!("http://127.0.0.1:{}/practice/control", self.world.port)
    }

    /// The token it was started with.
    #[must_use]
    pub fn token(&self) -> &str {
        &self.token
    }

    /// The way to steer it.
    #[must_use]
    pub fn control(&self) -> Control {
        Control::new(Arc::clone(&self.world))
    }

    /// Starts a scenario in a new session and gives the session's id.
    ///
    /// # Errors
    /// When there is no such scenario.
    #[expect(clippy::unused_async, reason = "callers must be inside a runtime: the session's player is a task of it")]
    pub async fn start_scenario(&self, id: &str) -> Result<String, PracticeError> {
        Ok(self.world.start_scenario(id, BTreeMap::new())?.id.clone())
    }

    /// Starts a scenario with metadata (`practice.form`, `practice.text`, …).
    ///
    /// # Errors
    /// When there is no such scenario.
    #[expect(clippy::unused_async, reason = "callers must be inside a runtime: the session's player is a task of it")]
    pub async fn start_scenario_with(&self, id: &str, metadata: &[(&str, &str)]) -> Result<String, PracticeError> {
        let metadata = metadata.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        Ok(self.world.start_scenario(id, metadata)?.id.clone())
    }

    /// Ends all streams cleanly, then the server, and waits until everything is written.
    pub async fn stop(mut self) {
        self.world.stop.cancel();
        if tokio::time::timeout(GRACE, &mut self.serving).await.is_err() {
            self.serving.abort();
        }
        self.world.players.close();
        self.world.players.wait().await;
        let writer = self.writer.take();
        drop(self);
        if let Some(writer) = writer
            && tokio::task::spawn_blocking(move || writer.finish()).await.is_err()
        {
            tracing::error!("the session file may be incomplete");
        }
    }
}

/// Serves everything at one listener until the server ends.
async fn serve(world: Arc<World>, listener: TcpListener) {
    let service = http::router(&world).into_make_service_with_connect_info::<wire::Wire>();
    let stop = world.stop.clone();
    let serve = axum::serve(wire::Loopback(listener), service);
    if let Err(error) = serve.with_graceful_shutdown(stop.cancelled_owned()).await {
        tracing::warn!(%error, "the practice server ended");
    }
}

impl Drop for Practice {
    fn drop(&mut self) {
        self.world.stop.cancel();
    }
}
