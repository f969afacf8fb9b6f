//! The system's clipboard, from Rust: the page has no clipboard of its own.

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

    /// The clipboard's text; empty where it holds none. Blocks for as long as the program that copied it takes, so it
    /// has a handle of its own: a program that never answers must not keep the person from copying.
    ///
    /// # Errors
    /// `Internal` where there is no clipboard or it is held by another program.
    pub fn read(&self) -> Result<String, AppError> {
        match arboard::Clipboard::new().and_then(|mut clipboard| clipboard.get_text()) {
            Err(arboard::Error::ContentNotAvailable) => Ok(String::new()),
            read => read.map_err(unread),
        }
    }
}

fn unread(error: arboard::Error) -> AppError {
    AppError::retryable(ErrorCode::Internal, "The clipboard could not be read.").with_detail(error.to_string())
}

fn failed(error: arboard::Error) -> AppError {
    AppError::retryable(ErrorCode::Internal, "The text could not be copied.").with_detail(error.to_string())
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::{
        io::{BufRead, BufReader},
        process::{Command, Stdio},
    };

    use pretty_assertions::assert_eq;

    use super::*;

    /// Where the test's own display is told to the run of it that uses it.
    const HERE: &str = "COUNTERSIGN_TEST_CLIPBOARD";

    /// A display of one test's own, which ends with the value.
    struct Display(std::process::Child);

    impl Drop for Display {
        fn drop(&mut self) {
            self.0.kill().unwrap();
            self.0.wait().unwrap();
        }
    }

    fn copies_and_reads() {
        let clipboard = Clipboard::default();
        assert_eq!(clipboard.read(), Ok(String::new()), "an empty clipboard is no failure");
        for text in ["cargo test\n\t東京 🌦", "", &"long ".repeat(200_000)] {
            clipboard.copy(text.to_owned()).unwrap();
            assert_eq!(clipboard.read().as_deref(), Ok(text));
        }
    }

    #[test]
    fn what_was_copied_is_read_back_whole_on_a_real_display() {
        // This very test, run again with the display in its environment, is the one that copies.
        if std::env::var_os(HERE).is_some() {
            return copies_and_reads();
        }
        let mut xvfb = Command::new("Xvfb")
            // A display without a window manager would begin anew with each client that leaves last.
            .args(["-displayfd", "1", "-screen", "0", "640x480x24", "-nolisten", "tcp", "-noreset"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let output = xvfb.stdout.take().unwrap();
        let _display = Display(xvfb);
        let mut number = String::new();
        BufReader::new(output).read_line(&mut number).unwrap();
        let again = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "clipboard::tests::what_was_copied_is_read_back_whole_on_a_real_display", "--nocapture"])
            .env(HERE, "1")
            .env("DISPLAY", format!(":{}", number.trim()))
            .env_remove("WAYLAND_DISPLAY")
            .output()
            .unwrap();
        assert!(again.status.success(), "{}", String::from_utf8_lossy(&again.stderr));
    }

    #[test]
    fn without_a_display_reading_says_so() {
        const NONE: &str = "COUNTERSIGN_TEST_NO_CLIPBOARD";
        if std::env::var_os(NONE).is_some() {
            let error = Clipboard::default().read().unwrap_err();
            assert_eq!(error.message, "The clipboard could not be read.");
            return;
        }
        let again = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "clipboard::tests::without_a_display_reading_says_so", "--nocapture"])
            .env(NONE, "1")
            .env_remove("DISPLAY")
            .env_remove("WAYLAND_DISPLAY")
            .output()
            .unwrap();
        assert!(again.status.success(), "{}", String::from_utf8_lossy(&again.stderr));
    }
}
