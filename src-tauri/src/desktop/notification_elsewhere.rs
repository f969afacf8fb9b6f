//! Notifications of macOS and Windows. Both show plain text.

use std::future::Future;

use engine::DesktopError;

use super::Note;

/// Shows notifications in this app's name.
pub(super) struct Notifier {
    identifier: String,
}

impl Notifier {
    pub(super) fn new(identifier: &str) -> Self {
        Self { identifier: identifier.to_owned() }
    }

    pub(super) fn show(&self, note: Note) -> impl Future<Output = Result<(), DesktopError>> + Send + use<> {
        let identifier = self.identifier.clone();
        async move {
            let shown = tauri::async_runtime::spawn_blocking(move || show_as(&identifier, &note)).await;
            shown
                .map_err(|error| error.to_string())
                .and_then(|shown| shown)
                .map_err(|error| DesktopError::Failed(format!("the notification was not shown ({error})")))
        }
    }
}

fn show_as(identifier: &str, note: &Note) -> Result<(), String> {
    let mut notification = notify_rust::Notification::new();
    notification.summary(&note.title).body(&note.body);
    // Fails from the second time on, since the app has its name already.
    #[cfg(target_os = "macos")]
    let _ = notify_rust::set_application(identifier);
    // Windows shows nothing under a name that no installer has made known.
    #[cfg(windows)]
    if !tauri::is_dev() {
        notification.app_id(identifier);
    }
    notification.show().map(drop).map_err(|error| error.to_string())
}
