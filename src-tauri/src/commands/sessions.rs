//! Sessions: opening, reading, sending, stopping.

use contract::{
    command::{
        CreateSession, DefineOutcome, LogQuery, QueuedMessageAction, ReadItems, ReadPayload, RenameSession,
        SendMessage, SessionRef,
    },
    connection::ConnectionLogRow,
    error::AppError,
    patch::{ItemPage, PayloadChunk, Snapshot},
};
use tauri::{Runtime, State, Webview};

use crate::shell::Shell;

/// Creates a session.
#[tauri::command]
pub async fn create_session(shell: State<'_, Shell>, args: CreateSession) -> Result<SessionRef, AppError> {
    shell.engine().await?.create_session(args).await
}

/// Opens a session in this window: patches for it follow the snapshot.
#[tauri::command]
pub async fn open_session<R: Runtime>(
    webview: Webview<R>,
    shell: State<'_, Shell>,
    args: SessionRef,
) -> Result<Snapshot, AppError> {
    shell.engine().await?.open_session(webview.label(), args).await
}

/// This window no longer shows the session.
#[tauri::command]
pub async fn close_session<R: Runtime>(
    webview: Webview<R>,
    shell: State<'_, Shell>,
    args: SessionRef,
) -> Result<(), AppError> {
    shell.engine().await?.close_session(webview.label(), args).await
}

/// Older items, for scrolling up.
#[tauri::command]
pub async fn read_items(shell: State<'_, Shell>, args: ReadItems) -> Result<ItemPage, AppError> {
    shell.engine().await?.read_items(args).await
}

/// A part of a big payload.
#[tauri::command]
pub async fn read_payload(shell: State<'_, Shell>, args: ReadPayload) -> Result<PayloadChunk, AppError> {
    shell.engine().await?.read_payload(args).await
}

/// Sends a message, or queues it as the server's way is.
#[tauri::command]
pub async fn send_message(shell: State<'_, Shell>, args: SendMessage) -> Result<(), AppError> {
    shell.engine().await?.send_message(args).await
}

/// Drops or releases a queued message.
#[tauri::command]
pub async fn queued_message(shell: State<'_, Shell>, args: QueuedMessageAction) -> Result<(), AppError> {
    shell.engine().await?.queued_message(args).await
}

/// Asks the server to stop the turn.
#[tauri::command]
pub async fn stop_session(shell: State<'_, Shell>, args: SessionRef) -> Result<(), AppError> {
    shell.engine().await?.stop_session(args).await
}

/// Tries the connection again now.
#[tauri::command]
pub async fn retry_now(shell: State<'_, Shell>, args: SessionRef) -> Result<(), AppError> {
    shell.engine().await?.retry_now(args).await
}

/// Renames a session.
#[tauri::command]
pub async fn rename_session(shell: State<'_, Shell>, args: RenameSession) -> Result<(), AppError> {
    shell.engine().await?.rename_session(args).await
}

/// Archives a session at the server.
#[tauri::command]
pub async fn archive_session(shell: State<'_, Shell>, args: SessionRef) -> Result<(), AppError> {
    shell.engine().await?.archive_session(args).await
}

/// Deletes a session at the server. Its history here stays.
#[tauri::command]
pub async fn delete_session(shell: State<'_, Shell>, args: SessionRef) -> Result<(), AppError> {
    shell.engine().await?.delete_session(args).await
}

/// Sets a goal.
#[tauri::command]
pub async fn define_outcome(shell: State<'_, Shell>, args: DefineOutcome) -> Result<(), AppError> {
    shell.engine().await?.define_outcome(args).await
}

/// The connection log of a session.
#[tauri::command]
pub async fn connection_log(shell: State<'_, Shell>, args: LogQuery) -> Result<Vec<ConnectionLogRow>, AppError> {
    shell.engine().await?.connection_log(args).await
}
