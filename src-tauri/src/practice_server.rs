//! The practice server inside the app: on and off by the person's word, one at a time.
//!
//! One task owns it, so a click on "on" and one on "off" are done in the order they came. Port and token are new at each start and go to the engine by
//! hand; they are never written down (S-11).

use std::path::PathBuf;

use contract::{
    command::{ScenarioRow, SetPractice},
    error::{AppError, ErrorCode},
    server::{PRACTICE_SERVER, ServerId},
    session::SessionId,
};
use engine::Engine;
use practice::{Config, Pace, Practice};
use tokio::sync::{mpsc, oneshot};

/// Asks the task that owns the server. Cheap to clone.
#[derive(Clone)]
pub struct PracticeServer {
    orders: mpsc::Sender<Order>,
}

enum Order {
    Switch { engine: Engine, to: SetPractice, done: oneshot::Sender<Result<(), AppError>> },
    Start { scenario: String, done: oneshot::Sender<Result<String, AppError>> },
    Stop { done: oneshot::Sender<()> },
}

impl PracticeServer {
    /// A server that is off. Its sessions are kept in `state_file`.
    #[must_use]
    pub fn new(state_file: PathBuf) -> Self {
        let (orders, inbox) = mpsc::channel(8);
        tauri::async_runtime::spawn(own(inbox, state_file));
        Self { orders }
    }

    /// Switches it on or off and tells the engine. Switching to what it is already does nothing.
    ///
    /// # Errors
    /// Where it cannot listen or read its file, or the engine refuses it: `StopsRuns` where something runs in it.
    pub async fn switch(&self, engine: &Engine, to: SetPractice) -> Result<(), AppError> {
        let engine = engine.clone();
        self.ask(|done| Order::Switch { engine, to, done }).await?
    }

    /// Starts a scenario in a new session and finds that session in the engine.
    ///
    /// # Errors
    /// `ServerPaused` where it is off, `NotFound` for an unknown scenario, or what the engine says.
    pub async fn start_scenario(&self, engine: &Engine, scenario: String) -> Result<SessionId, AppError> {
        let remote = self.ask(|done| Order::Start { scenario, done }).await??;
        let server = ServerId(PRACTICE_SERVER.to_owned());
        engine.session_by_remote(&server, &remote).await
    }

    /// Ends it, when the app ends.
    pub async fn stop(&self) {
        // Where the task is gone, so is the server.
        let _ = self.ask(|done| Order::Stop { done }).await;
    }

    async fn ask<T>(&self, order: impl FnOnce(oneshot::Sender<T>) -> Order) -> Result<T, AppError> {
        let gone = || AppError::new(ErrorCode::Internal, "The practice server is gone.");
        let (done, answer) = oneshot::channel();
        self.orders.send(order(done)).await.map_err(|_| gone())?;
        answer.await.map_err(|_| gone())
    }
}

/// What the practice server can play.
#[must_use]
pub fn scenarios() -> Vec<ScenarioRow> {
    practice::scenarios()
}

async fn own(mut inbox: mpsc::Receiver<Order>, state_file: PathBuf) {
    let mut running: Option<Practice> = None;
    while let Some(order) = inbox.recv().await {
        // Whoever asked may have gone away: what was ordered is done all the same.
        match order {
            Order::Switch { engine, to: SetPractice { on: true, .. }, done } => {
                let _ = done.send(switch_on(&engine, &mut running, &state_file).await);
            }
            Order::Switch { engine, to: SetPractice { on: false, stop_runs }, done } => {
                let detached = engine.detach_practice(stop_runs).await;
                if detached.is_ok()
                    && let Some(practice) = running.take()
                {
                    practice.stop().await;
                }
                let _ = done.send(detached);
            }
            Order::Start { scenario, done } => {
                let _ = done.send(match &running {
                    Some(practice) => practice.start_scenario(&scenario).await.map_err(failed),
                    None => Err(AppError::new(ErrorCode::ServerPaused, "The practice server is switched off.")),
                });
            }
            Order::Stop { done } => {
                if let Some(practice) = running.take() {
                    practice.stop().await;
                }
                let _ = done.send(());
            }
        }
    }
}

async fn switch_on(
    engine: &Engine,
    running: &mut Option<Practice>,
    state_file: &std::path::Path,
) -> Result<(), AppError> {
    if running.is_some() {
        return Ok(());
    }
    let config = Config {
        port: None,
        token: None,
        seed: fresh_seed(),
        state_file: Some(state_file.to_owned()),
        pace: Pace::Real,
        ..Config::default()
    };
    let practice = Practice::start(config).await.map_err(failed)?;
    let attached = engine.attach_practice(practice.base_url(), practice.token().to_owned()).await;
    match attached {
        Ok(()) => *running = Some(practice),
        Err(_) => practice.stop().await,
    }
    attached
}

/// Ids must not repeat over restarts, for sessions are kept.
fn fresh_seed() -> u64 {
    std::time::UNIX_EPOCH.elapsed().map_or(1, |since| u64::try_from(since.as_nanos()).unwrap_or(1))
}

fn failed(error: practice::PracticeError) -> AppError {
    let code = match error {
        practice::PracticeError::NoScenario(_) => ErrorCode::NotFound,
        _ => ErrorCode::Internal,
    };
    AppError::retryable(code, "The practice server could not do that.").with_detail(error.to_string())
}
