//! Notifications of a Linux desktop, over the session bus ("Desktop Notifications Specification" 1.3, sections Markup
//! and D-BUS Protocol). It is one call, so it needs no library besides the bus.

use std::{collections::HashMap, future::Future, sync::Arc};

use engine::DesktopError;
use tokio::sync::OnceCell;
use zbus::{Connection, zvariant::Value};

use super::Note;

const NAME: &str = "org.freedesktop.Notifications";
const PATH: &str = "/org/freedesktop/Notifications";

/// The name of the app's own entry in the desktop's menus, without its ending, as the packages install it.
const ENTRY: &str = "Countersign";
/// The icon's name, as the packages install it.
const ICON: &str = "countersign";

/// Shows notifications. The connection stays: some desktops take an app's notifications away when it leaves the bus.
pub(super) struct Notifier {
    bus: Arc<OnceCell<Connection>>,
}

impl Notifier {
    pub(super) fn new(_identifier: &str) -> Self {
        Self { bus: Arc::default() }
    }

    pub(super) fn show(&self, note: Note) -> impl Future<Output = Result<(), DesktopError>> + Send + use<> {
        let bus = Arc::clone(&self.bus);
        async move {
            let bus = bus.get_or_try_init(Connection::session).await;
            let bus = bus.map_err(|error| DesktopError::Missing(format!("there is no session bus ({error})")))?;
            show_on(bus, &note).await.map_err(|error| told(&error))
        }
    }
}

async fn show_on(bus: &Connection, note: &Note) -> zbus::Result<()> {
    let able = bus.call_method(Some(NAME), PATH, Some(NAME), "GetCapabilities", &()).await?;
    let able: Vec<String> = able.body().deserialize()?;
    // Where markup is read, a `<` of the agent would be one; where it is not, an escaped one would be shown as such.
    let body = if able.iter().any(|word| word == "body-markup") { escaped(&note.body) } else { note.body.clone() };
    let actions: &[&str] = &[];
    let hints = HashMap::from([("desktop-entry", Value::from(ENTRY))]);
    let notification = ("Countersign", 0u32, ICON, note.title.as_str(), body.as_str(), actions, hints, -1i32);
    bus.call_method(Some(NAME), PATH, Some(NAME), "Notify", &notification).await.map(drop)
}

/// The three characters that markup is made of.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

fn told(error: &zbus::Error) -> DesktopError {
    match error {
        zbus::Error::MethodError(name, ..)
            if ["ServiceUnknown", "NameHasNoOwner"].iter().any(|absent| name.ends_with(absent)) =>
        {
            DesktopError::Missing("no program of this desktop shows notifications".to_owned())
        }
        error => DesktopError::Failed(format!("the notification was not shown ({error})")),
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use tokio::sync::mpsc;
    use zbus::zvariant::OwnedValue;

    use super::*;
    use crate::test_bus::Bus;

    /// A notification as it came over the bus.
    #[derive(Debug, PartialEq)]
    struct Shown {
        app: String,
        title: String,
        body: String,
        actions: Vec<String>,
    }

    /// A desktop's notifier, as far as it is asked.
    struct Panel {
        able: Vec<&'static str>,
        shown: mpsc::UnboundedSender<Shown>,
    }

    #[zbus::interface(name = "org.freedesktop.Notifications")]
    impl Panel {
        fn get_capabilities(&self) -> Vec<&'static str> {
            self.able.clone()
        }

        #[expect(clippy::too_many_arguments, reason = "the specification's own")]
        fn notify(
            &self,
            app_name: String,
            _replaces_id: u32,
            _app_icon: String,
            summary: String,
            body: String,
            actions: Vec<String>,
            _hints: HashMap<String, OwnedValue>,
            _expire_timeout: i32,
        ) -> u32 {
            self.shown.send(Shown { app: app_name, title: summary, body, actions }).unwrap();
            1
        }
    }

    async fn panel(bus: &Bus, able: &[&'static str]) -> (Connection, mpsc::UnboundedReceiver<Shown>) {
        let (shown, told) = mpsc::unbounded_channel();
        let panel = bus.connect().await;
        panel.object_server().at(PATH, Panel { able: able.to_vec(), shown }).await.unwrap();
        panel.request_name(NAME).await.unwrap();
        (panel, told)
    }

    fn note() -> Note {
        Note { title: "A <b>title</b>".into(), body: "<a href=\"https://evil.example\">Tests & more</a>".into() }
    }

    #[tokio::test]
    async fn markup_of_an_agent_is_shown_as_text_where_the_desktop_reads_markup() {
        let bus = Bus::start();
        let (_panel, mut told) = panel(&bus, &["actions", "body", "body-markup", "body-hyperlinks"]).await;
        show_on(&bus.connect().await, &note()).await.unwrap();
        let expected = Shown {
            app: "Countersign".into(),
            title: "A <b>title</b>".into(),
            body: "&lt;a href=\"https://evil.example\"&gt;Tests &amp; more&lt;/a&gt;".into(),
            actions: Vec::new(),
        };
        assert_eq!(told.recv().await, Some(expected));
    }

    #[tokio::test]
    async fn text_stays_as_it_is_where_the_desktop_reads_no_markup() {
        let bus = Bus::start();
        let (_panel, mut told) = panel(&bus, &["body"]).await;
        show_on(&bus.connect().await, &note()).await.unwrap();
        assert_eq!(told.recv().await.unwrap().body, note().body);
    }

    #[tokio::test]
    async fn a_desktop_that_shows_no_notifications_is_told_as_that() {
        let bus = Bus::start();
        let error = show_on(&bus.connect().await, &note()).await.unwrap_err();
        assert_eq!(
            told(&error).to_string(),
            "this computer cannot do that: no program of this desktop shows notifications"
        );
    }
}
