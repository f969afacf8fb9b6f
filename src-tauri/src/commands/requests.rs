//! Requests and decisions. The engine checks id and digest again (S-10).

use contract::{
    command::{LogQuery, NoArgs},
    error::AppError,
    request::{Decision, LedgerRow, Request},
};
use tauri::State;

use crate::shell::Shell;

/// Answers a request.
#[tauri::command]
pub async fn decide(shell: State<'_, Shell>, args: Decision) -> Result<Request, AppError> {
    shell.engine().await?.decide(args).await
}

/// Every request that waits, of every server.
#[tauri::command]
pub async fn waiting_requests(shell: State<'_, Shell>) -> Result<Vec<Request>, AppError> {
    shell.engine().await?.waiting_requests(NoArgs {}).await
}

/// The decisions of a session.
#[tauri::command]
pub async fn decisions(shell: State<'_, Shell>, args: LogQuery) -> Result<Vec<LedgerRow>, AppError> {
    shell.engine().await?.decisions(args).await
}
