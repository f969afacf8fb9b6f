//! What leaves the app by the person's click: links and copied text.

use contract::{
    command::{CopyText, OpenLink},
    error::{AppError, ErrorCode},
};
use tauri::State;

use crate::shell::Shell;

/// Opens a link in the system's own program.
#[tauri::command]
pub async fn open_link(shell: State<'_, Shell>, args: OpenLink) -> Result<(), AppError> {
    let opener = shell.opener.clone();
    blocking(move || opener.open(&args.url)).await
}

/// Copies text.
#[tauri::command]
pub async fn copy_text(shell: State<'_, Shell>, args: CopyText) -> Result<(), AppError> {
    let clipboard = shell.clipboard.clone();
    blocking(move || clipboard.copy(args.text)).await
}

/// Both ask other programs and may take their time.
async fn blocking(act: impl FnOnce() -> Result<(), AppError> + Send + 'static) -> Result<(), AppError> {
    match tauri::async_runtime::spawn_blocking(act).await {
        Ok(outcome) => outcome,
        Err(error) => {
            Err(AppError::new(ErrorCode::Internal, "Something in this app failed.").with_detail(error.to_string()))
        }
    }
}
