//! The tray of a Linux desktop: a program that owns the name of the watcher of status notifier items on the session
//! bus ("StatusNotifierItem", freedesktop.org, section StatusNotifierWatcher), and the library that talks to it.

use std::path::PathBuf;

use futures_util::StreamExt;
use tauri::{AppHandle, Manager, Runtime};
use zbus::{Connection, fdo::DBusProxy, names::BusName};

use super::put_up;
use crate::shell::Shell;

/// Whoever owns this name shows the icons.
const WATCHER: &str = "org.kde.StatusNotifierWatcher";

/// The names under which Tauri's tray looks for its library. It panics where none of them can be loaded.
const LIBRARIES: [&str; 4] =
    ["libayatana-appindicator3.so.1", "libappindicator3.so.1", "libayatana-appindicator3.so", "libappindicator3.so"];

/// Puts the icon up when there is a tray, and keeps the shell told whether there is one. Returns where there can never
/// be one: no bus, no library, no icon.
pub(super) async fn follow<R: Runtime>(app: AppHandle<R>, icons: PathBuf) {
    let bus = match Connection::session().await {
        Ok(bus) => bus,
        Err(error) => return tracing::info!(%error, "no tray: no session bus"),
    };
    let mut up = false;
    let followed = watcher(&bus, |watched| {
        if watched && !up {
            if !can_load(&LIBRARIES) {
                tracing::info!("no tray: its library is not installed");
                return false;
            }
            if let Err(error) = put_up(&app, &icons) {
                tracing::warn!(%error, "no icon in the tray");
                return false;
            }
            up = true;
        }
        tracing::info!(watched, "tray");
        app.state::<Shell>().tray.set(is_there(up, watched));
        true
    });
    if let Err(error) = followed.await {
        tracing::warn!(%error, "the tray is no longer followed");
    }
    app.state::<Shell>().tray.set(false);
}

/// An icon that nobody shows brings no window back.
fn is_there(up: bool, watched: bool) -> bool {
    up && watched
}

/// Tells whether the watcher's name is owned, now and at each change, until `tell` says that it is enough.
async fn watcher(bus: &Connection, mut tell: impl FnMut(bool) -> bool) -> zbus::Result<()> {
    let names = DBusProxy::new(bus).await?;
    // Before the question, so that no change falls between the two.
    let mut changes = names.receive_name_owner_changed_with_args(&[(0, WATCHER)]).await?;
    let mut owned = names.name_has_owner(BusName::try_from(WATCHER)?).await?;
    while tell(owned) {
        let Some(change) = changes.next().await else { return Ok(()) };
        owned = change.args()?.new_owner().is_some();
    }
    Ok(())
}

/// Whether one of these libraries is here. It stays loaded: what GTK has registered cannot be taken back.
fn can_load(libraries: &[&str]) -> bool {
    libraries.iter().any(|name| {
        #[expect(unsafe_code, reason = "loading runs the library's own start; the tray loads the same one next")]
        let library = unsafe { libloading::Library::new(name) };
        library.map(std::mem::forget).is_ok()
    })
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use tokio::sync::mpsc;

    use super::*;
    use crate::test_bus::Bus;

    #[tokio::test]
    async fn a_tray_that_comes_after_the_app_and_goes_before_it_is_noticed() {
        let bus = Bus::start();
        let ours = bus.connect().await;
        let (tell, mut told) = mpsc::unbounded_channel();
        let following = tokio::spawn(async move { watcher(&ours, |owned| tell.send(owned).is_ok()).await });
        assert_eq!(told.recv().await, Some(false));
        let panel = bus.connect().await;
        panel.request_name(WATCHER).await.unwrap();
        assert_eq!(told.recv().await, Some(true));
        panel.request_name("org.example.Another").await.unwrap();
        panel.close().await.unwrap();
        assert_eq!(told.recv().await, Some(false));
        following.abort();
    }

    #[tokio::test]
    async fn a_tray_that_was_there_before_the_app_is_found() {
        let bus = Bus::start();
        let (panel, ours) = (bus.connect().await, bus.connect().await);
        panel.request_name(WATCHER).await.unwrap();
        let mut told = Vec::new();
        let following = watcher(&ours, |owned| {
            told.push(owned);
            false
        });
        following.await.unwrap();
        assert_eq!(told, [true]);
    }

    #[test]
    fn an_icon_needs_somebody_who_shows_it() {
        assert!(is_there(true, true));
        assert!(!is_there(true, false) && !is_there(false, true) && !is_there(false, false));
    }

    #[test]
    fn a_missing_library_means_no_tray_instead_of_a_panic() {
        assert!(!can_load(&["libcountersign-is-no-library.so.1"]));
        assert!(can_load(&["libcountersign-is-no-library.so.1", "libc.so.6"]));
    }
}
