//! The practice server.

use contract::{
    command::{ScenarioRow, SessionRef, SetPractice, StartScenario},
    error::AppError,
};
use tauri::State;

use crate::{practice_server, shell::Shell};

/// Switches the practice server on or off, and remembers it.
#[tauri::command]
pub async fn set_practice(shell: State<'_, Shell>, args: SetPractice) -> Result<(), AppError> {
    let engine = shell.engine().await?;
    shell.practice.switch(&engine, args).await?;
    let mut preferences = shell.preferences.load();
    preferences.practice_on = args.on;
    engine.set_preferences(preferences).await
}

/// Starts a scenario in a new session.
#[tauri::command]
pub async fn start_scenario(shell: State<'_, Shell>, args: StartScenario) -> Result<SessionRef, AppError> {
    let engine = shell.engine().await?;
    let session = shell.practice.start_scenario(&engine, args.scenario).await?;
    Ok(SessionRef { session })
}

/// The scenarios.
#[tauri::command]
pub fn list_scenarios() -> Vec<ScenarioRow> {
    practice_server::scenarios()
}
