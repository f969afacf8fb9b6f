//! Servers: trying, adding, changing, removing.

use contract::{
    command::{
        ChangeServerSetting, CreateEnvironment, EditServer, PauseServer, RemoveServer, ReorderServers, ReplaceToken,
        ServerRef,
    },
    error::AppError,
    probe::{ProbeReport, ServerDraft},
    server::Server,
    session::NewSessionOptions,
};
use tauri::State;

use crate::shell::Shell;

/// Tries an address without saving or changing anything at the server.
#[tauri::command]
pub async fn probe_server(shell: State<'_, Shell>, args: ServerDraft) -> Result<ProbeReport, AppError> {
    shell.engine().await?.probe_server(args).await
}

/// Saves a server and connects.
#[tauri::command]
pub async fn add_server(shell: State<'_, Shell>, args: ServerDraft) -> Result<Server, AppError> {
    shell.engine().await?.add_server(args).await
}

/// Changes a server.
#[tauri::command]
pub async fn edit_server(shell: State<'_, Shell>, args: EditServer) -> Result<Server, AppError> {
    shell.engine().await?.edit_server(args).await
}

/// Replaces a server's token.
#[tauri::command]
pub async fn replace_token(shell: State<'_, Shell>, args: ReplaceToken) -> Result<Server, AppError> {
    shell.engine().await?.replace_token(args).await
}

/// Pauses or resumes a server.
#[tauri::command]
pub async fn pause_server(shell: State<'_, Shell>, args: PauseServer) -> Result<Server, AppError> {
    shell.engine().await?.pause_server(args).await
}

/// Puts the servers in this order.
#[tauri::command]
pub async fn reorder_servers(shell: State<'_, Shell>, args: ReorderServers) -> Result<(), AppError> {
    shell.engine().await?.reorder_servers(args).await
}

/// Removes a server and its token; its history stays.
#[tauri::command]
pub async fn remove_server(shell: State<'_, Shell>, args: RemoveServer) -> Result<(), AppError> {
    shell.engine().await?.remove_server(args).await
}

/// Reads a server's session list again, now.
#[tauri::command]
pub async fn refresh_server(shell: State<'_, Shell>, args: ServerRef) -> Result<(), AppError> {
    shell.engine().await?.refresh_server(args).await
}

/// What the new-session form offers for a server.
#[tauri::command]
pub async fn new_session_options(shell: State<'_, Shell>, args: ServerRef) -> Result<NewSessionOptions, AppError> {
    shell.engine().await?.new_session_options(args).await
}

/// Creates an environment at the server.
#[tauri::command]
pub async fn create_environment(
    shell: State<'_, Shell>,
    args: CreateEnvironment,
) -> Result<NewSessionOptions, AppError> {
    shell.engine().await?.create_environment(args).await
}

/// Changes one of the server's own settings.
#[tauri::command]
pub async fn change_server_setting(shell: State<'_, Shell>, args: ChangeServerSetting) -> Result<(), AppError> {
    shell.engine().await?.change_server_setting(args).await
}
