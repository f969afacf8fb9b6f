//! The page lives in a process of its own. Where that dies, the page is loaded anew: nothing of the app is lost with it,
//! for everything it shows comes from Rust (P-03).

use std::{
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

/// A page that dies this often within [`PERIOD`] would die again: it is left as it is.
const TIMES: usize = 3;
const PERIOD: Duration = Duration::from_secs(60);

/// When the page's process died lately.
#[derive(Debug, Default)]
struct Deaths(Mutex<Vec<Instant>>);

impl Deaths {
    /// Notes one, and says whether to load the page anew.
    fn note(&self, now: Instant) -> bool {
        let mut deaths = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        deaths.retain(|death| now.duration_since(*death) < PERIOD);
        deaths.push(now);
        deaths.len() <= TIMES
    }
}

/// Loads the page anew whenever its process dies.
///
/// # Errors
/// Where the window is gone already.
#[cfg(target_os = "linux")]
pub fn revive<R: tauri::Runtime>(window: &tauri::WebviewWindow<R>) -> tauri::Result<()> {
    use webkit2gtk::WebViewExt;
    let deaths = Deaths::default();
    window.with_webview(move |webview| {
        webview.inner().connect_web_process_terminated(move |view, reason| {
            let again = deaths.note(Instant::now());
            tracing::error!(?reason, again, "the page's process died");
            if again {
                view.reload();
            }
        });
    })
}

/// Loads the page anew whenever its process dies.
#[cfg(target_os = "macos")]
pub fn revived<R: tauri::Runtime>(builder: tauri::Builder<R>) -> tauri::Builder<R> {
    let deaths = Deaths::default();
    builder.on_web_content_process_terminate(move |webview| {
        let again = deaths.note(Instant::now());
        tracing::error!(again, "the page's process died");
        if again && let Err(error) = webview.reload() {
            tracing::error!(%error, "the page cannot be loaded anew");
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_that_keeps_dying_is_not_loaded_for_ever() {
        let deaths = Deaths::default();
        let begin = Instant::now();
        let at = |seconds| deaths.note(begin + Duration::from_secs(seconds));
        assert_eq!([at(0), at(1), at(2), at(3), at(4)], [true, true, true, false, false]);
        assert!(at(65), "a minute later it may try again");
    }
}
