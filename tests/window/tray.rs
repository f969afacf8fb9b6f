//! The icon in the tray, as a desktop's panel sees it.

use std::time::Instant;

use anyhow::{Context, Result, ensure};
use pretty_assertions::assert_eq;
use serde_json::json;
use tests::window::{
    LIMIT,
    desk::{Desk, Keyring},
    practice::PracticeServer,
    process::tick,
};
use tokio::sync::mpsc;
use zbus::{Connection, message::Header, zvariant::OwnedObjectPath};

use crate::steps::connect;

const WATCHER: &str = "org.kde.StatusNotifierWatcher";
const ITEM: &str = "org.kde.StatusNotifierItem";

/// A panel that takes icons: who put one up, and where.
struct Panel(mpsc::UnboundedSender<(String, String)>);

#[zbus::interface(name = "org.kde.StatusNotifierWatcher")]
impl Panel {
    fn register_status_notifier_item(&self, service: String, #[zbus(header)] header: Header<'_>) {
        let sender = header.sender().map(ToString::to_string).unwrap_or_default();
        self.0.send((sender, service)).unwrap();
    }

    fn register_status_notifier_host(&self, _service: String) {}

    #[zbus(property)]
    fn is_status_notifier_host_registered(&self) -> bool {
        true
    }

    #[zbus(property)]
    fn protocol_version(&self) -> i32 {
        0
    }
}

/// What is drawn beside the icon.
async fn label(bus: &Connection, (name, path): &(String, String)) -> Result<String> {
    let asked = (ITEM, "XAyatanaLabel");
    let properties = Some("org.freedesktop.DBus.Properties");
    let answer = bus.call_method(Some(name.as_str()), path.as_str(), properties, "Get", &asked).await?;
    let value: zbus::zvariant::OwnedValue = answer.body().deserialize()?;
    Ok(String::try_from(value)?)
}

/// The words of the icon's menu.
async fn menu(bus: &Connection, (name, path): &(String, String)) -> Result<String> {
    let properties = Some("org.freedesktop.DBus.Properties");
    let asked = (ITEM, "Menu");
    let answer = bus.call_method(Some(name.as_str()), path.as_str(), properties, "Get", &asked).await?;
    let value: zbus::zvariant::OwnedValue = answer.body().deserialize()?;
    let menu = OwnedObjectPath::try_from(value)?;
    let asked = (0i32, -1i32, Vec::<&str>::new());
    let layout =
        bus.call_method(Some(name.as_str()), &menu, Some("com.canonical.dbusmenu"), "GetLayout", &asked).await?;
    Ok(format!("{:?}", layout.body().deserialize::<zbus::zvariant::Structure<'_>>()?))
}

async fn until_label(bus: &Connection, icon: &(String, String), wanted: &str) -> Result<()> {
    let begin = Instant::now();
    loop {
        let shown = label(bus, icon).await?;
        if shown == wanted {
            return Ok(());
        }
        ensure!(begin.elapsed() < LIMIT, "beside the icon is {shown:?}");
        tick();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn p11_the_tray_says_how_much_waits_for_the_person() -> Result<()> {
    let desk = Desk::set_up("p11_the_tray_says_how_much_waits", Keyring::Unlocked)?;
    let server = PracticeServer::start(&desk, &["approval", "approval"])?;
    // The driven app has no icon: it saves the server, and the one a person starts finds it there.
    let page = desk.open_app().await?;
    connect(&page, &server).await?;
    page.kill_app()?;

    let panel = zbus::connection::Builder::address(desk.bus()?)?.build().await?;
    let (told, mut icons) = mpsc::unbounded_channel();
    panel.object_server().at("/StatusNotifierWatcher", Panel(told)).await?;
    panel.request_name(WATCHER).await?;
    let _app = desk.start_app("app")?;
    let icon = tokio::time::timeout(LIMIT, icons.recv()).await?.context("no icon")?;
    until_label(&panel, &icon, "2").await?;
    let words = menu(&panel, &icon).await?;
    assert!(words.contains("Show Countersign (2 waiting for you)"), "{words}");

    server.answer_elsewhere(&server.sessions[0]).await?;
    until_label(&panel, &icon, "1").await?;
    server.answer_elsewhere(&server.sessions[1]).await?;
    until_label(&panel, &icon, "").await?;
    let words = menu(&panel, &icon).await?;
    assert!(words.contains("Show Countersign") && !words.contains("waiting for you"), "{words}");
    assert_eq!(server.control(json!({ "do": "counters" })).await?["decisions"].as_array().map(Vec::len), Some(2));
    desk.pass()
}
