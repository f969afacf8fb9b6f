//! Asks the desktop to ask first: while a run would stop with the app, logging out and shutting down say so and need the
//! person's word. Held only then. Whatever of it a desktop does not have is left out without a word.
//!
//! The session is held by its own manager (`org.gnome.SessionManager`, section Inhibit, which several desktops speak),
//! else by the desktop portal (`org.freedesktop.portal.Inhibit`); the computer by logind (`org.freedesktop.login1`,
//! section Inhibition Locks). A lock ends with the connection or the descriptor that took it, so a crash leaves none.

use std::{collections::HashMap, future::Future, time::Duration};

use contract::settings::Language;
use zbus::{
    Connection,
    zvariant::{OwnedFd, OwnedObjectPath, Value},
};

const MANAGER: &str = "org.gnome.SessionManager";
const MANAGER_PATH: &str = "/org/gnome/SessionManager";
const PORTAL: &str = "org.freedesktop.portal.Desktop";
const PORTAL_PATH: &str = "/org/freedesktop/portal/desktop";
const PORTAL_INHIBIT: &str = "org.freedesktop.portal.Inhibit";
const PORTAL_REQUEST: &str = "org.freedesktop.portal.Request";
const LOGIND: &str = "org.freedesktop.login1";
const LOGIND_PATH: &str = "/org/freedesktop/login1";
const LOGIND_MANAGER: &str = "org.freedesktop.login1.Manager";

/// Both speak of it as 1: logging out.
const LOGOUT: u32 = 1;

/// Who holds, as the desktop names it to the person.
const WHO: &str = "Countersign";

/// A desktop that does not answer must not keep the app from looking again.
const LIMIT: Duration = Duration::from_secs(5);

/// What the desktop tells the person, in the language of the app.
pub(super) fn why(language: Option<Language>) -> &'static str {
    match language {
        None | Some(Language::En) => "An agent's run would stop",
        Some(Language::ZhCn) => "智能体的运行会中断",
    }
}

/// Where the desktop is spoken to: the buses of this session, or of a test.
#[derive(Debug, Clone, Default)]
pub(super) struct Buses {
    /// The session's bus, where it is not the environment's.
    session: Option<String>,
    /// The system's bus, where it is not the environment's.
    system: Option<String>,
}

/// The lock, as it stands.
pub(super) struct Hold {
    buses: Buses,
    held: Option<Held>,
}

/// What is held. Nothing of it may be there: then this desktop has none of it.
struct Held {
    session: Option<Session>,
    /// logind's lock lasts as long as its descriptor.
    _computer: Option<OwnedFd>,
}

enum Session {
    Manager { bus: Connection, cookie: u32 },
    Portal { bus: Connection, request: OwnedObjectPath },
}

impl Hold {
    pub(super) fn new(buses: Buses) -> Self {
        Self { buses, held: None }
    }

    /// Takes the lock or lets go of it. Asked again with the same word, it does nothing.
    pub(super) async fn keep(&mut self, wanted: bool, why: &str) {
        match (wanted, self.held.take()) {
            (true, None) => {
                let session = silent("session", take_session(&self.buses, why)).await;
                let computer = silent("computer", take_computer(&self.buses, why)).await;
                tracing::info!(session = session.is_some(), computer = computer.is_some(), "the desktop asks first");
                self.held = Some(Held { session, _computer: computer });
            }
            (false, Some(held)) => {
                if let Some(session) = held.session {
                    silent("release", session.release()).await;
                }
                tracing::info!("the desktop need not ask any more");
            }
            (true, held @ Some(_)) => self.held = held,
            (false, None) => {}
        }
    }
}

/// A desktop without it is no failure.
async fn silent<T>(what: &'static str, act: impl Future<Output = zbus::Result<T>>) -> Option<T> {
    match tokio::time::timeout(LIMIT, act).await {
        Ok(Ok(done)) => Some(done),
        Ok(Err(error)) => {
            tracing::debug!(what, %error, "this desktop holds nothing");
            None
        }
        Err(_) => {
            tracing::debug!(what, "this desktop does not answer");
            None
        }
    }
}

async fn take_session(buses: &Buses, why: &str) -> zbus::Result<Session> {
    let bus = match &buses.session {
        Some(address) => zbus::connection::Builder::address(address.as_str())?.build().await?,
        None => Connection::session().await?,
    };
    // The window's number is only there to place a dialog over it.
    let asked = (WHO, 0u32, why, LOGOUT);
    let taken = bus.call_method(Some(MANAGER), MANAGER_PATH, Some(MANAGER), "Inhibit", &asked).await;
    if let Ok(taken) = taken {
        let cookie = taken.body().deserialize()?;
        return Ok(Session::Manager { bus, cookie });
    }
    let options = HashMap::from([("reason", Value::from(why))]);
    let asked = ("", LOGOUT, options);
    let taken = bus.call_method(Some(PORTAL), PORTAL_PATH, Some(PORTAL_INHIBIT), "Inhibit", &asked).await?;
    let request = taken.body().deserialize()?;
    Ok(Session::Portal { bus, request })
}

async fn take_computer(buses: &Buses, why: &str) -> zbus::Result<OwnedFd> {
    let bus = match &buses.system {
        Some(address) => zbus::connection::Builder::address(address.as_str())?.build().await?,
        None => Connection::system().await?,
    };
    let asked = ("shutdown", WHO, why, "block");
    let taken = bus.call_method(Some(LOGIND), LOGIND_PATH, Some(LOGIND_MANAGER), "Inhibit", &asked).await?;
    taken.body().deserialize()
}

impl Session {
    async fn release(self) -> zbus::Result<()> {
        match self {
            Self::Manager { bus, cookie } => {
                bus.call_method(Some(MANAGER), MANAGER_PATH, Some(MANAGER), "Uninhibit", &cookie).await?;
            }
            Self::Portal { bus, request } => {
                bus.call_method(Some(PORTAL), &request, Some(PORTAL_REQUEST), "Close", &()).await?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use pretty_assertions::assert_eq;
    use tokio::{io::AsyncReadExt, net::unix::pipe, sync::mpsc};
    use zbus::zvariant::{Fd, OwnedValue};

    use super::*;
    use crate::test_bus::Bus;

    const REQUEST_PATH: &str = "/org/freedesktop/portal/desktop/request/1";

    type Heard = mpsc::UnboundedSender<String>;

    /// A session manager, as far as it is asked.
    struct Manager(Heard);

    #[zbus::interface(name = "org.gnome.SessionManager")]
    impl Manager {
        fn inhibit(&self, app: String, _window: u32, reason: String, flags: u32) -> u32 {
            self.0.send(format!("inhibit {app} {reason} {flags}")).unwrap();
            17
        }

        fn uninhibit(&self, cookie: u32) {
            self.0.send(format!("uninhibit {cookie}")).unwrap();
        }
    }

    /// A desktop portal, as far as it is asked.
    struct Portal(Heard);

    #[zbus::interface(name = "org.freedesktop.portal.Inhibit")]
    impl Portal {
        fn inhibit(&self, window: String, flags: u32, options: HashMap<String, OwnedValue>) -> OwnedObjectPath {
            let reason: &str = options["reason"].downcast_ref().unwrap();
            self.0.send(format!("portal {window:?} {reason} {flags}")).unwrap();
            REQUEST_PATH.try_into().unwrap()
        }
    }

    struct Request(Heard);

    #[zbus::interface(name = "org.freedesktop.portal.Request")]
    impl Request {
        fn close(&self) {
            self.0.send("close".to_owned()).unwrap();
        }
    }

    /// logind, as far as it is asked: its lock is the writing end of a pipe, as the real one's is.
    struct Logind {
        heard: Heard,
        lock: std::sync::Mutex<Option<std::os::fd::OwnedFd>>,
    }

    #[zbus::interface(name = "org.freedesktop.login1.Manager")]
    impl Logind {
        fn inhibit(&self, what: String, who: String, why: String, mode: String) -> Fd<'static> {
            self.heard.send(format!("lock {what} {who} {why} {mode}")).unwrap();
            self.lock.lock().unwrap().take().unwrap().into()
        }
    }

    fn on(bus: &Bus) -> Hold {
        Hold::new(Buses { session: Some(bus.address.clone()), system: Some(bus.address.clone()) })
    }

    #[tokio::test]
    async fn the_session_is_held_while_a_run_would_stop_and_only_then() {
        let bus = Bus::start();
        let (told, mut heard) = mpsc::unbounded_channel();
        let desktop = bus.connect().await;
        desktop.object_server().at(MANAGER_PATH, Manager(told)).await.unwrap();
        desktop.request_name(MANAGER).await.unwrap();
        let mut hold = on(&bus);
        hold.keep(false, "why").await;
        hold.keep(true, "why").await;
        hold.keep(true, "why").await;
        hold.keep(false, "why").await;
        hold.keep(true, "why").await;
        let all: Vec<String> = std::iter::from_fn(|| heard.try_recv().ok()).collect();
        assert_eq!(all, ["inhibit Countersign why 1", "uninhibit 17", "inhibit Countersign why 1"]);
    }

    #[tokio::test]
    async fn the_portal_is_asked_where_there_is_no_session_manager() {
        let bus = Bus::start();
        let (told, mut heard) = mpsc::unbounded_channel();
        let desktop = bus.connect().await;
        desktop.object_server().at(PORTAL_PATH, Portal(told.clone())).await.unwrap();
        desktop.object_server().at(REQUEST_PATH, Request(told)).await.unwrap();
        desktop.request_name(PORTAL).await.unwrap();
        let mut hold = on(&bus);
        hold.keep(true, "An agent's run would stop").await;
        hold.keep(false, "").await;
        let all: Vec<String> = std::iter::from_fn(|| heard.try_recv().ok()).collect();
        assert_eq!(all, ["portal \"\" An agent's run would stop 1", "close"]);
    }

    #[tokio::test]
    async fn the_computer_is_held_by_a_descriptor_that_is_closed_when_nothing_would_stop() {
        let bus = Bus::start();
        let (told, mut heard) = mpsc::unbounded_channel();
        let (ours, mut logind_end) = pipe::pipe().unwrap();
        let lock = ours.as_fd().try_clone_to_owned().unwrap();
        drop(ours);
        let desktop = bus.connect().await;
        let logind = Logind { heard: told, lock: std::sync::Mutex::new(Some(lock)) };
        desktop.object_server().at(LOGIND_PATH, logind).await.unwrap();
        desktop.request_name(LOGIND).await.unwrap();
        let mut hold = on(&bus);
        hold.keep(true, "why").await;
        assert_eq!(heard.recv().await.as_deref(), Some("lock shutdown Countersign why block"));
        // The end of the pipe comes when its last writing end is closed.
        assert!(logind_end.try_read(&mut [0; 1]).is_err(), "it is held");
        hold.keep(false, "why").await;
        assert_eq!(logind_end.read(&mut [0; 1]).await.unwrap(), 0);
    }

    #[tokio::test]
    async fn a_desktop_with_none_of_it_is_no_failure() {
        let bus = Bus::start();
        let mut hold = on(&bus);
        hold.keep(true, "why").await;
        assert!(hold.held.as_ref().is_some_and(|held| held.session.is_none() && held._computer.is_none()));
        hold.keep(false, "why").await;
        assert!(hold.held.is_none());
        let nowhere = Some("unix:path=/nonexistent".to_owned());
        let mut hold = Hold::new(Buses { session: nowhere.clone(), system: nowhere });
        hold.keep(true, "why").await;
        hold.keep(false, "why").await;
    }
}
