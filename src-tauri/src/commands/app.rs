//! The app itself: its patches, its preferences, its window.

use contract::{
    command::{CloseWindow, PageError},
    error::AppError,
    patch::Overview,
    settings::Preferences,
};
use tauri::{
    AppHandle, Runtime, State, Webview,
    ipc::{Channel, InvokeResponseBody},
};

use crate::{logging, shell::Shell, window};

/// Links this window to the engine's patches: `contract::patch::Batch`es, written as JSON patch by patch.
#[tauri::command]
pub async fn subscribe<R: Runtime>(
    webview: Webview<R>,
    shell: State<'_, Shell>,
    channel: Channel<InvokeResponseBody>,
) -> Result<(), AppError> {
    // The page begins anew: so does an engine that could not start.
    shell.start_again();
    let engine = shell.engine().await?;
    let feed = engine.attach_window(webview.label());
    shell.bridge.link(webview.label(), feed, move |batch| channel.send(InvokeResponseBody::Json(batch)).is_ok());
    Ok(())
}

/// Everything the shared screens show.
#[tauri::command]
pub async fn overview<R: Runtime>(webview: Webview<R>, shell: State<'_, Shell>) -> Result<Overview, AppError> {
    let engine = shell.engine().await?;
    // Read first: what changes between here and the answer comes again as a patch, and says the same.
    let batch = shell.bridge.last_batch(webview.label());
    let mut overview = engine.overview(webview.label()).await?;
    overview.batch = batch;
    overview.facts.notices.extend_from_slice(shell.bridge.notices());
    Ok(overview)
}

/// Saves preferences.
#[tauri::command]
pub async fn set_preferences(shell: State<'_, Shell>, args: Preferences) -> Result<(), AppError> {
    shell.engine().await?.set_preferences(args).await
}

/// Logs an error of the page: its kind and places, never its words.
#[tauri::command]
pub fn report_page_error(args: PageError) {
    let (kind, places) = logging::page_error_places(&args.message, args.stack.as_deref());
    tracing::error!(kind, ?places, "page error");
    if cfg!(debug_assertions) {
        eprintln!("page error: {}\n{}", args.message, args.stack.unwrap_or_default());
    }
}

/// The page has drawn its first interactive screen.
#[tauri::command]
pub fn page_ready(shell: State<'_, Shell>) {
    shell.page.is_up();
}

/// Does what the person said about closing the window.
#[tauri::command]
pub fn close_window<R: Runtime>(app: AppHandle<R>, args: CloseWindow) {
    window::act(&app, args.action);
}
