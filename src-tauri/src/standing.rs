//! How things stand, told to the desktop: how much waits for the person, and whether a run would stop with the app.

#[cfg(target_os = "linux")]
mod hold;

use std::time::Duration;

use tauri::{AppHandle, Manager, Runtime};

use crate::{shell::Shell, tray};

/// Rows change with every word an agent writes: all changes of this time are one look.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Tells the tray and the session of the desktop, from the start of the engine to the end of the app.
pub(crate) async fn follow<R: Runtime>(app: AppHandle<R>) {
    let shell = app.state::<Shell>();
    let Some(engine) = shell.engine_at_last().await else { return };
    let mut changes = engine.changes();
    #[cfg(target_os = "linux")]
    let mut hold = hold::Hold::new(hold::Buses::default());
    loop {
        tray::count(&app, engine.waiting_count());
        #[cfg(target_os = "linux")]
        {
            let live = engine.live_sessions();
            let stops = live.count > 0 && !live.harmless;
            hold.keep(stops, hold::why(shell.preferences.load().language)).await;
        }
        if changes.changed().await.is_err() {
            return;
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}
