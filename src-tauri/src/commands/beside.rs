//! Runs and sessions beside their transcript: options, taking up again, copies, questions aside, exports.

use contract::{
    command::{AsideAnswer, AskAside, CompleteMention, ExportedFile, SessionRef, SetRunOptions, SetSessionSetup},
    error::{AppError, ErrorCode},
    session::{Compaction, ContextMeter, Mention},
};
use tauri::{AppHandle, Manager, Runtime, State};

use crate::shell::Shell;

/// Sets how this session's next runs are asked for.
#[tauri::command]
pub async fn set_run_options(shell: State<'_, Shell>, args: SetRunOptions) -> Result<(), AppError> {
    shell.engine().await?.set_run_options(args).await
}

/// Changes how a session is set up.
#[tauri::command]
pub async fn set_session_setup(shell: State<'_, Shell>, args: SetSessionSetup) -> Result<(), AppError> {
    shell.engine().await?.set_session_setup(args).await
}

/// Takes up a run that ended early.
#[tauri::command]
pub async fn resume_run(shell: State<'_, Shell>, args: SessionRef) -> Result<(), AppError> {
    shell.engine().await?.resume_run(args).await
}

/// Copies a session.
#[tauri::command]
pub async fn fork_session(shell: State<'_, Shell>, args: SessionRef) -> Result<SessionRef, AppError> {
    shell.engine().await?.fork_session(args).await
}

/// Compacts the session's context.
#[tauri::command]
pub async fn compact_session(shell: State<'_, Shell>, args: SessionRef) -> Result<Compaction, AppError> {
    shell.engine().await?.compact_session(args).await
}

/// Lets the model find a title.
#[tauri::command]
pub async fn name_session(shell: State<'_, Shell>, args: SessionRef) -> Result<(), AppError> {
    shell.engine().await?.name_session(args).await
}

/// Asks something beside the transcript.
#[tauri::command]
pub async fn ask_aside(shell: State<'_, Shell>, args: AskAside) -> Result<AsideAnswer, AppError> {
    shell.engine().await?.ask_aside(args).await
}

/// Reads how full the context is.
#[tauri::command]
pub async fn session_context(shell: State<'_, Shell>, args: SessionRef) -> Result<Option<ContextMeter>, AppError> {
    shell.engine().await?.session_context(args).await
}

/// Completions of an `@` mention.
#[tauri::command]
pub async fn complete_mention(shell: State<'_, Shell>, args: CompleteMention) -> Result<Vec<Mention>, AppError> {
    shell.engine().await?.complete_mention(args).await
}

/// Saves a session as a page of its own, in the person's folder for downloads.
#[tauri::command]
pub async fn export_session<R: Runtime>(
    app: AppHandle<R>,
    shell: State<'_, Shell>,
    args: SessionRef,
) -> Result<ExportedFile, AppError> {
    let engine = shell.engine().await?;
    let folder = app.path().download_dir().map_err(|error| {
        AppError::new(ErrorCode::InvalidInput, "This computer names no folder for downloads.")
            .with_detail(error.to_string())
    })?;
    engine.export_session(args, &folder).await
}
