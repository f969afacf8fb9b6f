//! History and search.

use contract::{
    error::AppError,
    search::{HistoryPage, HistoryQuery},
};
use tauri::State;

use crate::shell::Shell;

/// History and search.
#[tauri::command]
pub async fn search_history(shell: State<'_, Shell>, args: HistoryQuery) -> Result<HistoryPage, AppError> {
    shell.engine().await?.search_history(args).await
}
