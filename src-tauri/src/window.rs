//! The window: it goes nowhere, opens nothing, and closing it never loses what runs.

use contract::command::CloseAction;
use serde::Serialize;
use tauri::{
    AppHandle, Emitter, Manager, Runtime, Url, WebviewWindow, WebviewWindowBuilder, webview::NewWindowResponse,
};

use crate::shell::{Shell, Stage};

/// The one window's label.
pub const MAIN: &str = "main";

/// Tells the page that closing was asked for and needs the person's word. Carries [`CloseAsked`].
pub const CLOSE_ASKED: &str = "close-asked";

/// What the page needs to ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct CloseAsked {
    /// Sessions with a live link.
    pub live: u32,
    /// Their servers go on without us and they can be taken up again.
    pub harmless: bool,
}

/// What closing the window means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Closing {
    /// Nothing runs: the app ends.
    Quit,
    /// The window goes, the sessions go on being watched.
    Hide,
    /// Leaving stops or loses work: the person says.
    Ask,
}

/// Says what closing the window means. Where the tray has an icon of ours, everything goes on behind it.
#[must_use]
pub fn closing(asked: CloseAsked, tray: bool) -> Closing {
    match (asked.live, asked.harmless || tray) {
        (0, _) => Closing::Quit,
        (_, true) => Closing::Hide,
        (_, false) => Closing::Ask,
    }
}

/// Says what quitting by the tray's menu means: no run is stopped unasked.
#[must_use]
pub fn quitting(asked: CloseAsked) -> Closing {
    if asked.live == 0 || asked.harmless { Closing::Quit } else { Closing::Ask }
}

/// Opens the window.
///
/// # Errors
/// Where the system gives none.
pub fn open<R: Runtime>(app: &AppHandle<R>) -> tauri::Result<WebviewWindow<R>> {
    let config = app.config();
    let shape = config.app.windows.iter().find(|window| window.label == MAIN).cloned().unwrap_or_default();
    let dev = if cfg!(feature = "custom-protocol") { None } else { config.build.dev_url.clone() };
    WebviewWindowBuilder::from_config(app, &shape)?
        .on_navigation(move |to| may_navigate(to, dev.as_ref()))
        .on_new_window(|_, _| NewWindowResponse::Deny)
        .on_download(|_, _| false)
        .build()
}

/// S-09: the app's own pages and nothing else. The isolation frame is let through by Tauri itself.
#[must_use]
pub fn may_navigate(to: &Url, dev: Option<&Url>) -> bool {
    let own = match to.scheme() {
        "tauri" => to.host_str() == Some("localhost"),
        "http" | "https" => cfg!(windows) && to.host_str() == Some("tauri.localhost"),
        _ => false,
    };
    own && to.port().is_none() || dev.is_some_and(|dev| dev.origin() == to.origin())
}

/// Brings the window back to where the person sees it.
pub fn show<R: Runtime>(app: &AppHandle<R>) {
    let Some(window) = app.get_webview_window(MAIN) else { return };
    for outcome in [window.show(), window.unminimize(), window.set_focus()] {
        if let Err(error) = outcome {
            tracing::warn!(%error, "the window could not be brought back");
        }
    }
}

/// The person closed the window by its frame.
pub fn close_requested<R: Runtime>(app: &AppHandle<R>) {
    let asked = at_stake(app);
    settle(app, asked, closing(asked, app.state::<Shell>().tray.is_there()));
}

/// The person wants the app to end, from outside the window.
pub fn quit_requested<R: Runtime>(app: &AppHandle<R>) {
    let asked = at_stake(app);
    settle(app, asked, quitting(asked));
}

/// The app is about to end. Without a code it does because its last window is gone, which nobody here has asked for:
/// then it stays where a run would stop.
pub fn stays<R: Runtime>(app: &AppHandle<R>, code: Option<i32>) -> bool {
    code.is_none() && app.try_state::<Shell>().is_some() && quitting(at_stake(app)) == Closing::Ask
}

/// Opens the window that is gone, for the person to say.
pub fn come_back<R: Runtime>(app: &AppHandle<R>) {
    if let Err(error) = open(app) {
        tracing::warn!(%error, "the window could not be opened again");
        quit(app);
    }
}

fn at_stake<R: Runtime>(app: &AppHandle<R>) -> CloseAsked {
    let shell = app.state::<Shell>();
    // A page that never came up cannot ask anything.
    if shell.page.stage() == Stage::Up { shell.close_asked() } else { CloseAsked { live: 0, harmless: true } }
}

fn settle<R: Runtime>(app: &AppHandle<R>, asked: CloseAsked, closing: Closing) {
    match closing {
        Closing::Quit => quit(app),
        Closing::Hide => act(app, CloseAction::Hide),
        Closing::Ask => {
            show(app);
            if let Err(error) = app.emit_to(MAIN, CLOSE_ASKED, asked) {
                tracing::warn!(%error, "the page could not be asked");
                quit(app);
            }
        }
    }
}

/// Does what the person said. A hidden window comes back by the tray, and when the app is started a second time; where
/// there is no tray and a second start could not find the first, the window is made small instead, for hiding would
/// lose it.
pub fn act<R: Runtime>(app: &AppHandle<R>, action: CloseAction) {
    match action {
        CloseAction::Hide => {
            let Some(window) = app.get_webview_window(MAIN) else { return };
            let shell = app.state::<Shell>();
            let outcome = if shell.can_come_back || shell.tray.is_there() { window.hide() } else { window.minimize() };
            if let Err(error) = outcome {
                tracing::warn!(%error, "the window could not be hidden");
            }
        }
        CloseAction::Quit => quit(app),
        CloseAction::Cancel => {}
    }
}

fn quit<R: Runtime>(app: &AppHandle<R>) {
    app.exit(app.state::<Shell>().exit_code());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s09_only_the_apps_own_pages_can_be_gone_to() {
        let may = |address: &str| may_navigate(&address.parse().unwrap(), None);
        assert!(may("tauri://localhost/"));
        assert!(may("tauri://localhost/index.html#history"));
        assert_eq!(may("http://tauri.localhost/"), cfg!(windows));
        for address in [
            "https://example.com/",
            "http://localhost:5173/",
            "http://127.0.0.1/",
            "tauri://evil/",
            "tauri://localhost.evil/",
            "tauri://localhost:80/",
            "file:///etc/passwd",
            "about:blank",
            "data:text/html,x",
            "javascript:alert(1)",
            "blob:tauri://localhost/x",
            "http://tauri.localhost.evil.example/",
        ] {
            assert!(!may(address), "{address}");
        }
    }

    #[test]
    fn the_page_under_development_is_let_in_by_its_whole_origin() {
        let dev = "http://localhost:5173".parse().unwrap();
        assert!(may_navigate(&"http://localhost:5173/x".parse().unwrap(), Some(&dev)));
        assert!(!may_navigate(&"http://localhost:5174/".parse().unwrap(), Some(&dev)));
    }

    #[test]
    fn closing_ends_hides_or_asks_and_never_asks_where_a_tray_keeps_it_all() {
        for (live, harmless, bare, tray) in [
            (0, true, Closing::Quit, Closing::Quit),
            (0, false, Closing::Quit, Closing::Quit),
            (2, true, Closing::Hide, Closing::Hide),
            (2, false, Closing::Ask, Closing::Hide),
        ] {
            let asked = CloseAsked { live, harmless };
            assert_eq!((closing(asked, false), closing(asked, true)), (bare, tray), "{asked:?}");
        }
    }

    #[test]
    fn quitting_by_the_tray_stops_no_run_unasked() {
        assert_eq!(quitting(CloseAsked { live: 0, harmless: false }), Closing::Quit);
        assert_eq!(quitting(CloseAsked { live: 2, harmless: true }), Closing::Quit);
        assert_eq!(quitting(CloseAsked { live: 1, harmless: false }), Closing::Ask);
    }
}
