//! The end of the app from outside: a session that logs out, a terminal's Ctrl+C, and what the desktop is asked before.

use anyhow::{Context, Result};
use pretty_assertions::assert_eq;
use tests::window::{
    LIMIT,
    desk::{Desk, Keyring},
    page::Page,
    practice::PracticeServer,
    process::{Signal, ask_to_end, wait_gone},
};
use tokio::sync::mpsc;
use zbus::zvariant::OwnedFd;

use crate::steps::{enter, open_session, times};

async fn begin_run(page: &Page, title: &str) -> Result<()> {
    open_session(page, title).await?;
    page.fill("Message", "RUN:echo one").await?;
    page.click_on("button", "Send").await?;
    page.find("button", "Allow once").await.map(drop)
}

#[tokio::test(flavor = "multi_thread")]
async fn logging_out_in_the_middle_of_a_run_is_written_down_and_told_by_the_next_start() -> Result<()> {
    let desk = Desk::set_up("logging_out_in_the_middle_of_a_run", Keyring::Unlocked)?;
    let server = PracticeServer::start(&desk, &[])?;
    for title in ["First run", "Second run"] {
        server.make_run_session(title).await?;
    }
    let mut page = desk.open_app().await?;
    enter(&page, &server.runs_base_url, &server.token).await?;
    page.until_text("is connected").await?;
    for (title, signal) in [("First run", Signal::TERM), ("Second run", Signal::INT)] {
        begin_run(&page, title).await?;
        let app = page.app_id()?;
        ask_to_end(app, signal)?;
        wait_gone(app)?;

        page = desk.open_app().await?;
        open_session(&page, title).await?;
        page.until_text("Countersign was closed at ").await?;
        page.until_text("Turn ended: interrupted").await?;
        assert_eq!(times(&page, "Countersign was closed at ").await?, 1, "{}", page.text().await?);
    }
    page.close().await;
    desk.pass()
}

/// A desktop's session manager and logind, as far as they are asked.
struct Desktop {
    heard: mpsc::UnboundedSender<String>,
}

#[zbus::interface(name = "org.gnome.SessionManager")]
impl Desktop {
    fn inhibit(&self, app: String, _window: u32, reason: String, flags: u32) -> u32 {
        self.heard.send(format!("{app}: {reason} ({flags})")).unwrap();
        1
    }

    fn uninhibit(&self, cookie: u32) {
        self.heard.send(format!("let go of {cookie}")).unwrap();
    }
}

struct Logind {
    heard: mpsc::UnboundedSender<String>,
}

#[zbus::interface(name = "org.freedesktop.login1.Manager")]
impl Logind {
    fn inhibit(&self, what: String, who: String, why: String, mode: String) -> OwnedFd {
        self.heard.send(format!("{what} {who}: {why} ({mode})")).unwrap();
        std::os::fd::OwnedFd::from(std::fs::File::open("/dev/null").unwrap()).into()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_desktop_asks_before_it_logs_out_while_a_run_would_stop_and_only_then() -> Result<()> {
    let desk = Desk::set_up("the_desktop_asks_before_it_logs_out", Keyring::Unlocked)?;
    let server = PracticeServer::start(&desk, &["approval"])?;
    server.make_run_session("A run").await?;
    let bus = zbus::connection::Builder::address(desk.bus()?)?.build().await?;
    let (told, mut heard) = mpsc::unbounded_channel();
    bus.object_server().at("/org/gnome/SessionManager", Desktop { heard: told.clone() }).await?;
    bus.object_server().at("/org/freedesktop/login1", Logind { heard: told }).await?;
    bus.request_name("org.gnome.SessionManager").await?;
    bus.request_name("org.freedesktop.login1").await?;

    let page = desk.open_app().await?;
    // A session whose server goes on without the app is no cause to ask.
    enter(&page, &server.base_url, &server.token).await?;
    page.until_text("is connected").await?;
    open_session(&page, "Approval").await?;
    page.find("button", "Allow once").await?;
    page.click_on("button", "Servers").await?;
    page.click_on("button", "Add server").await?;
    enter(&page, &server.runs_base_url, &server.token).await?;
    page.until_text("is connected").await?;
    begin_run(&page, "A run").await?;
    let mut next = async || tokio::time::timeout(LIMIT, heard.recv()).await?.context("the desktop is gone");
    assert_eq!(next().await?, "Countersign: An agent's run would stop (1)");
    assert_eq!(next().await?, "shutdown Countersign: An agent's run would stop (block)");
    page.decide("Allow once").await?;
    page.until_text("The tool said: one").await?;
    assert_eq!(next().await?, "let go of 1");
    page.close().await;
    desk.pass()
}
