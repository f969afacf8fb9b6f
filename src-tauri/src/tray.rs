//! The icon in the system's tray: the window hides behind it, and comes back by it.
//!
//! macOS and Windows always have a tray. On Linux there is one while some program of the desktop shows it
//! (`tray/linux.rs`), which may come after the app and go before it.

#[cfg(target_os = "linux")]
mod linux;

use std::{
    path::Path,
    sync::atomic::{AtomicBool, AtomicU32, Ordering},
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
    waiting: AtomicU32,
}

impl Tray {
    /// There is one, as far as the system tells.
    #[must_use]
    pub fn is_there(&self) -> bool {
        self.there.load(Ordering::SeqCst)
    }

    /// How much waits for the person, as the icon was last told.
    #[must_use]
    pub fn waiting(&self) -> u32 {
        self.waiting.load(Ordering::SeqCst)
    }

    fn set(&self, there: bool) {
        self.there.store(there, Ordering::SeqCst);
    }
}

/// The icon's words.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Words {
    show: String,
    quit: &'static str,
    tooltip: String,
    /// Beside the icon, where the desktop draws it: the number alone, or nothing.
    title: Option<String>,
}

/// The page knows the system's language and the shell does not: without a choice of the person the words are English.
fn words(language: Option<Language>, waiting: u32) -> Words {
    let (show, quit, waits) = match language {
        None | Some(Language::En) => ("Show Countersign", "Quit", format!("{waiting} waiting for you")),
        Some(Language::ZhCn) => ("显示 Countersign", "退出", format!("{waiting} 项等你决定")),
    };
    if waiting == 0 {
        return Words { show: show.to_owned(), quit, tooltip: "Countersign".to_owned(), title: None };
    }
    let tooltip = format!("Countersign · {waits}");
    Words { show: format!("{show} ({waits})"), quit, tooltip, title: Some(waiting.to_string()) }
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

/// Words the icon in the language the person chose.
pub fn speak<R: Runtime>(app: &AppHandle<R>, language: Option<Language>) {
    let (Some(lines), Some(icon)) = (app.try_state::<Lines<R>>(), app.tray_by_id(ICON)) else { return };
    let words = words(language, app.state::<Shell>().tray.waiting());
    let spoken = lines
        .show
        .set_text(words.show)
        .and_then(|()| lines.quit.set_text(words.quit))
        .and_then(|()| icon.set_title(words.title))
        .and_then(|()| icon.set_tooltip(Some(words.tooltip)));
    if let Err(error) = spoken {
        tracing::warn!(%error, "the tray kept its words");
    }
}

/// Says how much waits for the person. The menu says it too: not every desktop draws a number beside an icon.
pub fn count<R: Runtime>(app: &AppHandle<R>, waiting: u32) {
    let shell = app.state::<Shell>();
    if shell.tray.waiting.swap(waiting, Ordering::SeqCst) != waiting {
        speak(app, shell.preferences.load().language);
    }
}

fn put_up<R: Runtime>(app: &AppHandle<R>, icons: &Path) -> tauri::Result<()> {
    let shell = app.state::<Shell>();
    let words = words(shell.preferences.load().language, shell.tray.waiting());
    let lines = Lines {
        show: MenuItem::with_id(app, SHOW, words.show, true, None::<&str>)?,
        quit: MenuItem::with_id(app, QUIT, words.quit, true, None::<&str>)?,
    };
    let menu = Menu::with_items(app, &[&lines.show, &lines.quit])?;
    let mut builder = TrayIconBuilder::with_id(ICON)
        .menu(&menu)
        .tooltip(words.tooltip)
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
    if let Some(title) = words.title {
        builder = builder.title(title);
    }
    builder.build(app)?;
    app.manage(lines);
    // What began to wait in between was told to nobody.
    speak(app, app.state::<Shell>().preferences.load().language);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_menu_speaks_the_language_the_person_chose() {
        let none = |show: &str, quit| Words { show: show.into(), quit, tooltip: "Countersign".into(), title: None };
        assert_eq!(words(Some(Language::En), 0), none("Show Countersign", "Quit"));
        assert_eq!(words(Some(Language::ZhCn), 0), none("显示 Countersign", "退出"));
        assert_eq!(words(None, 2), words(Some(Language::En), 2));
    }

    #[test]
    fn p11_the_icon_says_how_much_waits_for_the_person() {
        let english = words(None, 2);
        assert_eq!(english.show, "Show Countersign (2 waiting for you)");
        assert_eq!(english.tooltip, "Countersign · 2 waiting for you");
        assert_eq!(english.title.as_deref(), Some("2"));
        assert_eq!(words(Some(Language::ZhCn), 1).tooltip, "Countersign · 1 项等你决定");
    }

    #[test]
    fn there_is_no_tray_until_one_was_found() {
        let tray = Tray::default();
        assert!(!tray.is_there());
        tray.set(true);
        assert!(tray.is_there());
    }
}
