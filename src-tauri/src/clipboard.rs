//! Copying text through the system's clipboard, from Rust: the page has no clipboard of its own.

use std::sync::{Arc, Mutex};

use contract::error::{AppError, ErrorCode};

/// The system's clipboard. On X11 and Wayland the text lives in the program that copied it, so the handle is kept
/// from the first copy to the end of the app.
#[derive(Clone, Default)]
pub struct Clipboard {
    handle: Arc<Mutex<Option<arboard::Clipboard>>>,
}

impl Clipboard {
    /// Puts text on the clipboard. Blocks for as long as the display server takes.
    ///
    /// # Errors
    /// `Internal` where there is no clipboard or it is held by another program.
    pub fn copy(&self, text: String) -> Result<(), AppError> {
        let mut handle = self.handle.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let clipboard = match handle.as_mut() {
            Some(clipboard) => clipboard,
            None => handle.insert(arboard::Clipboard::new().map_err(failed)?),
        };
        clipboard.set_text(text).map_err(failed)
    }
}

fn failed(error: arboard::Error) -> AppError {
    AppError::retryable(ErrorCode::Internal, "The text could not be copied.").with_detail(error.to_string())
}
