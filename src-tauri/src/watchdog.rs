//! Waits for the first screen, and starts the app again with the plain renderer where none comes (P-47).

use tauri::{AppHandle, Manager, Runtime};

use crate::{
    launch::Launch,
    linux_webkit::{PLAIN_RENDERER, RendererMemory, Step, at_limit, start_again},
    shell::{Page, Shell, Stage, millis},
};

/// Watches one start. Ends when the page was heard of or the limit has passed.
pub async fn watch<R: Runtime>(app: AppHandle<R>, page: Page, launch: Launch, memory: Option<RendererMemory>) {
    let limit = launch.paint_limit();
    tokio::select! {
        () = page.heard_of() => return,
        () = tokio::time::sleep(limit) => {}
    }
    let limit_ms = millis(limit);
    match at_limit(page.stage() != Stage::Blank, launch.plain_renderer) {
        Step::Carry => {}
        Step::GiveUp => tracing::error!(limit_ms, "no first screen, with the plain renderer either"),
        Step::Relaunch => {
            tracing::warn!(limit_ms, "no first screen: starting again with the plain renderer");
            if let Some(memory) = memory
                && let Err(error) = memory.remember()
            {
                tracing::warn!(%error, "the plain renderer is not remembered");
            }
            app.state::<Shell>().shutdown().await;
            // Else the new start would find this one's name and hand itself over to it.
            tauri_plugin_single_instance::destroy(&app);
            let error = start_again(PLAIN_RENDERER, "1");
            tracing::error!(%error, "could not start again");
            app.exit(crate::shell::START_FAILED);
        }
    }
}
