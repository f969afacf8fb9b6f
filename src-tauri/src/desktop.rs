//! What this desktop does for an agent on the person's yes: notifications, links, the clipboard.
//!
//! Every word comes from an agent. A notification shows what it would otherwise obey, says who speaks, and has an end;
//! a link goes through the one [`Opener`]; the clipboard takes all of a text or none of it. The page has no permission
//! for any of this.

#[cfg(target_os = "linux")]
mod notification;
#[cfg(not(target_os = "linux"))]
#[path = "desktop/notification_elsewhere.rs"]
mod notification;
mod text;

use std::{future::Future, sync::Arc, time::Duration};

use contract::{
    error::{AppError, ErrorCode},
    settings::Language,
};
use engine::{
    Desktop, DesktopError, PreferencesStore,
    desktop::{Done, may_be_copied, may_be_read},
};
use futures_util::FutureExt;

use crate::{clipboard::Clipboard, opener::Opener};

/// How long another program of the desktop may take to answer.
const LIMIT: Duration = Duration::from_secs(10);

/// This computer's desktop.
pub struct SystemDesktop {
    opener: Opener,
    clipboard: Clipboard,
    preferences: Arc<dyn PreferencesStore>,
    notifier: notification::Notifier,
}

impl SystemDesktop {
    /// One that shares the app's opener and clipboard. `identifier` is the app's, as the system knows it.
    #[must_use]
    pub fn new(opener: Opener, clipboard: Clipboard, preferences: Arc<dyn PreferencesStore>, identifier: &str) -> Self {
        Self { opener, clipboard, preferences, notifier: notification::Notifier::new(identifier) }
    }
}

/// A notification as it is shown: plain text, who speaks, and no longer than a person reads at a glance.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Note {
    title: String,
    body: String,
}

impl Note {
    /// The system puts the app's name above it, so the agent's words must not pass for the app's.
    fn of_agent(title: &str, body: &str, language: Option<Language>) -> Self {
        let speaker = match language {
            None | Some(Language::En) => "An agent says: ",
            Some(Language::ZhCn) => "智能体说：",
        };
        Self { title: format!("{speaker}{}", text::title(title)), body: text::body(body) }
    }
}

impl Desktop for SystemDesktop {
    fn notify(&self, title: String, body: String) -> Done<()> {
        let note = Note::of_agent(&title, &body, self.preferences.load().language);
        in_time(self.notifier.show(note)).boxed()
    }

    fn open_link(&self, url: String) -> Done<()> {
        let opener = self.opener.clone();
        blocking(move || opener.open(&url).map_err(told))
    }

    fn read_clipboard(&self) -> Done<String> {
        let clipboard = self.clipboard.clone();
        blocking(move || may_be_read(clipboard.read().map_err(told)?))
    }

    fn write_clipboard(&self, text: String) -> Done<()> {
        let clipboard = self.clipboard.clone();
        blocking(move || {
            may_be_copied(&text)?;
            clipboard.copy(text).map_err(told)
        })
    }
}

fn told(error: AppError) -> DesktopError {
    let words = match error.detail {
        Some(detail) => format!("{} ({detail})", error.message),
        None => error.message,
    };
    if error.code == ErrorCode::LinkRefused { DesktopError::Refused(words) } else { DesktopError::Failed(words) }
}

/// What asks other programs of the desktop and waits for them.
fn blocking<T: Send + 'static>(act: impl FnOnce() -> Result<T, DesktopError> + Send + 'static) -> Done<T> {
    in_time(async {
        let done = tauri::async_runtime::spawn_blocking(act).await;
        done.map_err(|error| DesktopError::Failed(error.to_string()))?
    })
    .boxed()
}

async fn in_time<T>(act: impl Future<Output = Result<T, DesktopError>>) -> Result<T, DesktopError> {
    let silent = || DesktopError::Failed(format!("no answer of the desktop in {} s", LIMIT.as_secs()));
    tokio::time::timeout(LIMIT, act).await.map_err(|_| silent())?
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use contract::settings::Preferences;
    use engine::preferences::MemoryPreferences;
    use pretty_assertions::assert_eq;

    use super::*;

    fn desktop() -> (SystemDesktop, Arc<Mutex<Vec<String>>>) {
        let opened = Arc::new(Mutex::new(Vec::new()));
        let into = opened.clone();
        let opener = Opener::with(move |address| {
            into.lock().unwrap().push(address.to_owned());
            Ok(())
        });
        let preferences = Arc::new(MemoryPreferences::default());
        (SystemDesktop::new(opener, Clipboard::default(), preferences, "dev.countersign.test"), opened)
    }

    #[tokio::test]
    async fn an_agents_link_goes_through_the_one_opener_and_a_refusal_says_why() {
        let (desktop, opened) = desktop();
        assert_eq!(desktop.open_link("https://example.com/a".into()).await, Ok(()));
        let refused = desktop.open_link("file:///etc/passwd".into()).await.unwrap_err();
        assert_eq!(refused.to_string(), "the app refuses that: Only http, https and mailto links are opened. (file)");
        assert_eq!(*opened.lock().unwrap(), ["https://example.com/a"]);
    }

    #[tokio::test]
    async fn what_a_terminal_would_obey_never_reaches_the_clipboard() {
        let (desktop, _) = desktop();
        let refused = desktop.write_clipboard("\u{1b}[201~rm -rf ~".into()).await.unwrap_err();
        assert!(matches!(refused, DesktopError::Refused(_)), "{refused}");
    }

    #[test]
    fn a_notification_says_that_an_agent_speaks_in_the_persons_language() {
        let note = |language| Note::of_agent("Update\nneeded", "now", language).title;
        assert_eq!(note(None), "An agent says: Update\\nneeded");
        assert_eq!(note(Some(Language::ZhCn)), "智能体说：Update\\nneeded");
        let chosen = Preferences { language: Some(Language::ZhCn), ..Preferences::default() };
        assert_eq!(note(chosen.language), note(Some(Language::ZhCn)));
    }

    #[tokio::test(start_paused = true)]
    async fn a_desktop_that_never_answers_is_a_failure_and_no_wait_without_end() {
        let never = std::future::pending::<Result<(), DesktopError>>();
        assert_eq!(in_time(never).await, Err(DesktopError::Failed("no answer of the desktop in 10 s".into())));
    }
}
