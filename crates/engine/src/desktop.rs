//! What this computer's desktop can do for an agent, once the person has said yes.
//!
//! The engine asks on a card and calls this afterwards; the shell puts the real desktop behind it. What comes in was
//! written by an agent and is not trusted: a desktop shows it and never obeys it. What was approved is done whole or
//! not at all, so nothing is cut that the person has read. How it went becomes the call's result, in plain words.

use std::sync::{Mutex, MutexGuard, PoisonError};

use futures_util::{FutureExt, future, future::BoxFuture};

/// The longest text that is put on the clipboard or read from it, in bytes.
pub const CLIPBOARD_CAP: usize = 1024 * 1024;

/// How a wish ended.
pub type Done<T> = BoxFuture<'static, Result<T, DesktopError>>;

/// Why the desktop did not do it. Its words are for the agent and for the person.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DesktopError {
    /// There is no desktop, or nothing on it that does this.
    #[error("this computer cannot do that: {0}")]
    Missing(String),
    /// The app does not do this, whoever asks.
    #[error("the app refuses that: {0}")]
    Refused(String),
    /// The desktop was asked and failed.
    #[error("that did not work: {0}")]
    Failed(String),
}

/// A desktop. Every wish may take as long as another program takes to answer.
pub trait Desktop: Send + Sync {
    /// Shows a notification. Long texts are cut at a visible mark: a notification is read, not acted on.
    fn notify(&self, title: String, body: String) -> Done<()>;

    /// Opens a link in the system's own program: http, https and mailto, exactly as shown, else it is `Refused`.
    fn open_link(&self, url: String) -> Done<()>;

    /// The clipboard's text; empty where it holds none. More than [`CLIPBOARD_CAP`] is `Refused`.
    fn read_clipboard(&self) -> Done<String>;

    /// Replaces the clipboard's text. See [`may_be_copied`] for what is `Refused`.
    fn write_clipboard(&self, text: String) -> Done<()>;
}

/// What an agent may put on the clipboard: no more than [`CLIPBOARD_CAP`], and no control characters but tabs and line
/// ends, since a terminal obeys them when they are pasted.
///
/// # Errors
/// `Refused`, with the cause in words.
pub fn may_be_copied(text: &str) -> Result<(), DesktopError> {
    if text.len() > CLIPBOARD_CAP {
        return Err(DesktopError::Refused(format!(
            "the text has {} bytes, and at most {CLIPBOARD_CAP} are copied",
            text.len()
        )));
    }
    // A line end of two characters is one; a carriage return alone would run a line over another.
    match text.replace("\r\n", "\n").chars().find(|c| c.is_control() && !matches!(c, '\n' | '\t')) {
        Some(control) => Err(DesktopError::Refused(format!(
            "the text holds the control character {}, which a terminal would obey",
            control.escape_unicode()
        ))),
        None => Ok(()),
    }
}

/// What an agent may read of the clipboard: no more than [`CLIPBOARD_CAP`].
///
/// # Errors
/// `Refused`, with the cause in words.
pub fn may_be_read(text: String) -> Result<String, DesktopError> {
    if text.len() > CLIPBOARD_CAP {
        return Err(DesktopError::Refused(format!(
            "the clipboard holds {} bytes, and at most {CLIPBOARD_CAP} are given to an agent",
            text.len()
        )));
    }
    Ok(text)
}

/// No desktop: says so to every wish.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoDesktop;

fn none<T: Send + 'static>() -> Done<T> {
    future::ready(Err(DesktopError::Missing("there is no desktop".to_owned()))).boxed()
}

impl Desktop for NoDesktop {
    fn notify(&self, _: String, _: String) -> Done<()> {
        none()
    }

    fn open_link(&self, _: String) -> Done<()> {
        none()
    }

    fn read_clipboard(&self) -> Done<String> {
        none()
    }

    fn write_clipboard(&self, _: String) -> Done<()> {
        none()
    }
}

/// What a desktop was asked to do, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wish {
    /// A notification.
    Notify {
        /// Its title.
        title: String,
        /// Its text.
        body: String,
    },
    /// A link.
    OpenLink(String),
    /// The clipboard was read.
    ReadClipboard,
    /// The clipboard was written.
    WriteClipboard(String),
}

/// A desktop in memory that keeps what it was asked: a double for tests. It can also fail at everything.
#[derive(Debug, Default)]
pub struct MemoryDesktop {
    wishes: Mutex<Vec<Wish>>,
    clipboard: Mutex<String>,
    failing: Option<DesktopError>,
}

impl MemoryDesktop {
    /// One whose clipboard holds this.
    #[must_use]
    pub fn with_clipboard(text: impl Into<String>) -> Self {
        Self { clipboard: Mutex::new(text.into()), ..Self::default() }
    }

    /// One that answers everything with this error.
    #[must_use]
    pub fn failing(error: DesktopError) -> Self {
        Self { failing: Some(error), ..Self::default() }
    }

    /// What it was asked so far.
    #[must_use]
    pub fn wishes(&self) -> Vec<Wish> {
        lock(&self.wishes).clone()
    }

    /// What its clipboard holds.
    #[must_use]
    pub fn clipboard(&self) -> String {
        lock(&self.clipboard).clone()
    }

    fn asked<T: Send + 'static>(&self, wish: Wish, act: impl FnOnce() -> Result<T, DesktopError>) -> Done<T> {
        lock(&self.wishes).push(wish);
        future::ready(self.failing.clone().map_or_else(act, Err)).boxed()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Every section under these locks is a plain assignment: a panic inside cannot leave it half done.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Desktop for MemoryDesktop {
    fn notify(&self, title: String, body: String) -> Done<()> {
        self.asked(Wish::Notify { title, body }, || Ok(()))
    }

    fn open_link(&self, url: String) -> Done<()> {
        self.asked(Wish::OpenLink(url), || Ok(()))
    }

    fn read_clipboard(&self) -> Done<String> {
        self.asked(Wish::ReadClipboard, || may_be_read(self.clipboard()))
    }

    fn write_clipboard(&self, text: String) -> Done<()> {
        self.asked(Wish::WriteClipboard(text.clone()), || {
            may_be_copied(&text)?;
            *lock(&self.clipboard) = text;
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[tokio::test]
    async fn without_a_desktop_every_wish_is_answered_with_that() {
        let desktop: Box<dyn Desktop> = Box::new(NoDesktop);
        let said = "this computer cannot do that: there is no desktop";
        assert_eq!(desktop.notify("a".into(), "b".into()).await.unwrap_err().to_string(), said);
        assert_eq!(desktop.open_link("https://example.com".into()).await.unwrap_err().to_string(), said);
        assert_eq!(desktop.read_clipboard().await.unwrap_err().to_string(), said);
        assert_eq!(desktop.write_clipboard("a".into()).await.unwrap_err().to_string(), said);
    }

    #[tokio::test]
    async fn the_double_keeps_what_it_was_asked_and_keeps_a_clipboard() {
        let desktop = MemoryDesktop::with_clipboard("before");
        assert_eq!(desktop.read_clipboard().await, Ok("before".to_owned()));
        assert_eq!(desktop.write_clipboard("after".into()).await, Ok(()));
        assert_eq!(desktop.notify("t".into(), "b".into()).await, Ok(()));
        assert_eq!(
            desktop.wishes(),
            [
                Wish::ReadClipboard,
                Wish::WriteClipboard("after".into()),
                Wish::Notify { title: "t".into(), body: "b".into() }
            ]
        );
        assert_eq!(desktop.clipboard(), "after");
        let failing = MemoryDesktop::failing(DesktopError::Failed("no bus".into()));
        assert_eq!(failing.write_clipboard("x".into()).await, Err(DesktopError::Failed("no bus".into())));
        assert_eq!((failing.clipboard(), failing.wishes().len()), (String::new(), 1));
    }

    #[test]
    fn what_a_terminal_would_obey_is_not_put_on_the_clipboard() {
        for fine in ["", "cargo test\n\tpart", "two\r\nlines", "东京天气 🌦", "e\u{301}"] {
            assert_eq!(may_be_copied(fine), Ok(()), "{fine:?}");
        }
        for bad in ["\u{1b}[201~rm -rf ~\n", "a\rb", "a\u{7}", "\u{0}", "\u{9b}2J", "\u{7f}"] {
            assert!(matches!(may_be_copied(bad), Err(DesktopError::Refused(_))), "{bad:?}");
        }
        assert_eq!(
            may_be_copied("\u{1b}").unwrap_err().to_string(),
            "the app refuses that: the text holds the control character \\u{1b}, which a terminal would obey"
        );
    }

    #[test]
    fn a_text_over_the_cap_is_refused_whole_and_never_cut() {
        let fits = "a".repeat(CLIPBOARD_CAP);
        assert_eq!(may_be_copied(&fits), Ok(()));
        assert_eq!(may_be_read(fits.clone()).map(|text| text.len()), Ok(CLIPBOARD_CAP));
        let over = format!("{fits}b");
        assert!(matches!(may_be_copied(&over), Err(DesktopError::Refused(_))));
        assert!(matches!(may_be_read(over), Err(DesktopError::Refused(_))));
    }
}
