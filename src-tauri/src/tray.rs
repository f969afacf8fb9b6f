//! The icon in the system's tray: the window hides behind it, and comes back by it.
//!
//! macOS and Windows always have a tray. On Linux there is one while some program of the desktop shows it
//! (`tray/linux.rs`), which may come after the app and go before it.

#[cfg(target_os = "linux")]
mod linux;

use std::{
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
};

use contract::settings::Language;
use tauri::{
    AppHandle, Manager, Runtime,
    menu::{Menu, MenuItem},
    tray::{MouseButton, MouseButtonState, TrayIconBuilder, TrayIconEvent},
};

use crate::{shell::Shell, window};

const ICON: &str = "countersign";
const SHOW: &str = "tray-show";
const QUIT: &str = "tray-quit";

/// Whether there is an icon that brings the window back.
#[derive(Debug, Default)]
pub struct Tray {
    there: AtomicBool,
}

impl Tray {
    /// There is one, as far as the system tells.
    #[must_use]
    pub fn is_there(&self) -> bool {
        self.there.load(Ordering::SeqCst)
    }

    fn set(&self, there: bool) {
        self.there.store(there, Ordering::SeqCst);
    }
}

/// The menu's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Words {
    show: &'static str,
    quit: &'static str,
}

/// The page knows the system's language and the shell does not: without a choice of the person the words are English.
fn words(language: Option<Language>) -> Words {
    match language {
        None | Some(Language::En) => Words { show: "Show Countersign", quit: "Quit" },
        Some(Language::ZhCn) => Words { show: "显示 Countersign", quit: "退出" },
    }
}

/// The menu's lines, kept to be worded anew.
struct Lines<R: Runtime> {
    show: MenuItem<R>,
    quit: MenuItem<R>,
}

/// Puts the icon into the tray, as soon as there is one. `icons` is a folder of ours for the picture, which the tray
/// of Linux reads from a file.
pub fn start<R: Runtime>(app: &AppHandle<R>, icons: &Path) {
    #[cfg(target_os = "linux")]
    tauri::async_runtime::spawn(linux::follow(app.clone(), icons.to_owned()));
    #[cfg(not(target_os = "linux"))]
    match put_up(app, icons) {
        Ok(()) => app.state::<Shell>().tray.set(true),
        Err(error) => tracing::warn!(%error, "no icon in the tray"),
    }
}

/// Words the menu in the language the person chose.
pub fn speak<R: Runtime>(app: &AppHandle<R>, language: Option<Language>) {
    let Some(lines) = app.try_state::<Lines<R>>() else { return };
    let words = words(language);
    if let Err(error) = lines.show.set_text(words.show).and_then(|()| lines.quit.set_text(words.quit)) {
        tracing::warn!(%error, "the tray's menu kept its language");
    }
}

fn put_up<R: Runtime>(app: &AppHandle<R>, icons: &Path) -> tauri::Result<()> {
    let words = words(app.state::<Shell>().preferences.load().language);
    let lines = Lines {
        show: MenuItem::with_id(app, SHOW, words.show, true, None::<&str>)?,
        quit: MenuItem::with_id(app, QUIT, words.quit, true, None::<&str>)?,
    };
    let menu = Menu::with_items(app, &[&lines.show, &lines.quit])?;
    let mut builder = TrayIconBuilder::with_id(ICON)
        .menu(&menu)
        .tooltip("Countersign")
        .temp_dir_path(icons)
        .show_menu_on_left_click(false)
        .on_menu_event(|app, event| match event.id().as_ref() {
            SHOW => window::show(app),
            QUIT => window::quit_requested(app),
            _ => {}
        })
        .on_tray_icon_event(|icon, event| {
            if let TrayIconEvent::Click { button: MouseButton::Left, button_state: MouseButtonState::Up, .. } = event {
                window::show(icon.app_handle());
            }
        });
    if let Some(icon) = app.default_window_icon() {
        builder = builder.icon(icon.clone());
    }
    builder.build(app)?;
    app.manage(lines);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_menu_speaks_the_language_the_person_chose() {
        assert_eq!(words(Some(Language::En)), Words { show: "Show Countersign", quit: "Quit" });
        assert_eq!(words(Some(Language::ZhCn)), Words { show: "显示 Countersign", quit: "退出" });
        assert_eq!(words(None), words(Some(Language::En)));
    }

    #[test]
    fn there_is_no_tray_until_one_was_found() {
        let tray = Tray::default();
        assert!(!tray.is_there());
        tray.set(true);
        assert!(tray.is_there());
    }
}
