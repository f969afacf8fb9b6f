//! The app itself: its patches, its preferences, its window.

use contract::{
    command::{CloseWindow, NoArgs, PageError},
    error::AppError,
    patch::Overview,
    settings::Preferences,
};
use tauri::{
    AppHandle, Runtime, State, Webview,
    ipc::{Channel, InvokeResponseBody},
};

use crate::{logging, shell::Shell, tray, window};

/// Links this window to the engine's patches: `contract::patch::Batch`es, written as JSON patch by patch. Where the
/// engine is not up, the channel waits for it; why it is not is `overview`'s to tell.
#[tauri::command]
pub async fn subscribe<R: Runtime>(
    webview: Webview<R>,
    shell: State<'_, Shell>,
    channel: Channel<InvokeResponseBody>,
) -> Result<(), AppError> {
    let send = move |batch| channel.send(InvokeResponseBody::Json(batch)).is_ok();
    shell.bridge.offer(webview.label(), Box::new(send));
    if let Ok(engine) = shell.engine().await {
        shell.bridge.link(webview.label(), || engine.attach_window(webview.label()));
    }
    Ok(())
}

/// Everything the shared screens show.
#[tauri::command]
pub async fn overview<R: Runtime>(webview: Webview<R>, shell: State<'_, Shell>) -> Result<Overview, AppError> {
    let engine = shell.engine_or_again().await?;
    shell.bridge.link(webview.label(), || engine.attach_window(webview.label()));
    // Read first: what changes between here and the answer comes again as a patch, and says the same.
    let batch = shell.bridge.last_batch(webview.label());
    let mut overview = engine.overview(webview.label(), NoArgs {}).await?;
    overview.batch = batch;
    Ok(overview)
}

/// Saves preferences.
#[tauri::command]
pub async fn set_preferences<R: Runtime>(
    app: AppHandle<R>,
    shell: State<'_, Shell>,
    args: Preferences,
) -> Result<(), AppError> {
    let language = args.language;
    shell.engine().await?.set_preferences(args).await?;
    tray::speak(&app, language);
    Ok(())
}

/// Logs an error of the page: its kind and places, never its words.
#[tauri::command]
pub fn report_page_error(shell: State<'_, Shell>, args: PageError) {
    shell.page.is_broken();
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
