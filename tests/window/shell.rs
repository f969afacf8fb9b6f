//! The window itself: what it lets out, what it starts, how it ends.

use std::time::Instant;

use anyhow::{Context, Result};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use tests::window::{
    LIMIT, app_program,
    desk::{Desk, Keyring},
    practice::PracticeServer,
    process::{Process, descendants, freeze, tick, variable_of, wait_for_file, wait_gone},
};

use crate::steps::connect;

#[tokio::test(flavor = "multi_thread")]
async fn s06_the_page_has_no_network_and_goes_nowhere() -> Result<()> {
    let desk = Desk::set_up("s06_the_page_has_no_network", Keyring::None)?;
    let page = desk.open_app().await?;
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0))?;
    listener.set_nonblocking(true)?;
    let address = format!("http://127.0.0.1:{}/canary", listener.local_addr()?.port());

    let fetched = "const [url, done] = arguments; fetch(url).then(() => done('reached'), () => done('refused'));";
    assert_eq!(page.run_async(fetched, json!([address])).await?, "refused");
    let image = "const [url, done] = arguments; const i = new Image(); i.onload = () => done('reached'); \
                 i.onerror = () => done('refused'); i.src = url;";
    assert_eq!(page.run_async(image, json!([address])).await?, "refused");
    let frame = "const [url, done] = arguments; const f = document.createElement('iframe'); \
                 document.addEventListener('securitypolicyviolation', () => done('refused'), { once: true }); \
                 f.src = url; document.body.append(f);";
    assert_eq!(page.run_async(frame, json!([address])).await?, "refused");
    assert_eq!(page.run("return window.open(arguments[0]) === null", json!(address)).await?, json!(true));
    assert_eq!(page.run("return typeof window.__TAURI__", Value::Null).await?, "undefined");

    // Leaving is refused by the shell: the page stays and goes on answering.
    let here = page.run("return location.href", Value::Null).await?;
    page.run("location.href = arguments[0]", json!(address)).await?;
    page.run("location.href = 'file:///etc/passwd'", Value::Null).await?;
    assert_eq!(page.run("return location.href", Value::Null).await?, here);
    assert!(listener.accept().is_err(), "something of the page reached the network");
    page.close().await;
    desk.pass()
}

#[tokio::test(flavor = "multi_thread")]
async fn s10_the_isolation_frame_drops_what_is_no_command() -> Result<()> {
    let desk = Desk::set_up("s10_the_isolation_frame", Keyring::None)?;
    let page = desk.open_app().await?;
    // A known command answers after the unknown one was sent, so that one had its chance.
    let script = "const [unknown, done] = arguments; const call = window.__TAURI_INTERNALS__.invoke; let word = 'dropped'; \
                  call(unknown, {}).then(() => { word = 'answered'; }, () => { word = 'refused'; }); \
                  call('list_scenarios', { args: {} }).then(() => done(word), () => done('no answer at all'));";
    for unknown in ["plugin:store|load", "plugin:event|emit", "plugin:window|close", "no_such_command"] {
        assert_eq!(page.run_async(script, json!([unknown])).await?, "dropped", "{unknown}");
    }
    page.close().await;
    desk.pass()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_start_shows_the_first_window_and_ends() -> Result<()> {
    let desk = Desk::set_up("a_second_start_shows_the_first_window", Keyring::None)?;
    let _first = desk.start_app("first")?;
    let window = desk.xdotool(&["search", "--sync", "--onlyvisible", "--name", "^Countersign$"])?;
    let window = window.lines().next().context("no window")?.to_owned();
    desk.xdotool(&["windowminimize", "--sync", &window])?;
    let mut second = Process::start(&mut desk.command(app_program()), "second", &desk.logs())?;
    assert!(second.wait()?.success());
    desk.xdotool(&["search", "--sync", "--onlyvisible", "--name", "^Countersign$"])?;
    desk.pass()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_is_in_use_is_told_in_words_and_ends_with_a_code_of_its_own() -> Result<()> {
    let desk = Desk::set_up("a_database_that_is_in_use", Keyring::NoBus)?;
    let mut first = desk.start_app("first")?;
    // Without a bus the second cannot find the first: the database's lock holds it off.
    let page = desk.open_app().await?;
    page.until_text("Another copy of the app has the database open.").await?;
    first.end();
    page.click_on("button", "Try again").await?;
    page.find("heading", "Watch your agents. Decide what they may do.").await?;
    page.close().await;

    let _first = desk.start_app("first-again")?;
    let mut second = desk.start_app("second")?;
    let windows = desk.xdotool(&["search", "--onlyvisible", "--name", "^Countersign$"])?;
    let is_its = |window: &&str| desk.xdotool(&["getwindowpid", window]).is_ok_and(|id| id == second.id().to_string());
    let window = windows.lines().find(is_its).context("the second has no window")?;
    desk.xdotool(&["windowactivate", "--sync", window])?;
    desk.xdotool(&["key", "alt+F4"])?;
    assert_eq!(second.wait()?.code(), Some(2));
    desk.pass()
}

#[tokio::test(flavor = "multi_thread")]
async fn closing_the_window_with_nothing_running_ends_the_app_in_good_order() -> Result<()> {
    let desk = Desk::set_up("closing_the_window", Keyring::None)?;
    let mut app = desk.start_app("app")?;
    let window = desk.xdotool(&["search", "--sync", "--onlyvisible", "--name", "^Countersign$"])?;
    let window = window.lines().next().context("no window")?.to_owned();
    desk.xdotool(&["windowactivate", "--sync", &window])?;
    desk.xdotool(&["key", "alt+F4"])?;
    assert_eq!(app.wait()?.code(), Some(0));
    desk.pass()
}

#[tokio::test(flavor = "multi_thread")]
async fn closing_the_window_while_a_session_is_live_hides_it_and_a_second_start_brings_it_back() -> Result<()> {
    let desk = Desk::set_up("closing_the_window_while_live", Keyring::Unlocked)?;
    let server = PracticeServer::start(&desk, &["approval"])?;
    // The driven app saves the server; the one a person starts finds it there.
    let page = desk.open_app().await?;
    connect(&page, &server).await?;
    page.kill_app()?;

    let mut app = desk.start_app("app")?;
    server.wait(json!({ "open_streams": 1 })).await?;
    let window = desk.xdotool(&["search", "--sync", "--onlyvisible", "--name", "^Countersign$"])?;
    let window = window.lines().next().context("no window")?.to_owned();
    desk.xdotool(&["windowactivate", "--sync", &window])?;
    desk.xdotool(&["key", "alt+F4"])?;
    let begin = Instant::now();
    while desk.xdotool(&["search", "--onlyvisible", "--name", "^Countersign$"]).is_ok() {
        anyhow::ensure!(begin.elapsed() < LIMIT, "the window stays");
        tick();
    }
    let mut second = Process::start(&mut desk.command(app_program()), "second", &desk.logs())?;
    assert!(second.wait()?.success());
    desk.xdotool(&["search", "--sync", "--onlyvisible", "--name", "^Countersign$"])?;
    assert_eq!(server.control(json!({ "do": "counters" })).await?["open_streams"], 1, "the session was watched on");
    app.end();
    desk.pass()
}

/// The page's own process is stopped where it stands, as a renderer that never paints.
#[tokio::test(flavor = "multi_thread")]
async fn p47_a_window_that_never_paints_is_started_again_with_the_plain_renderer_and_it_is_remembered() -> Result<()> {
    let desk = Desk::set_up("p47_a_window_that_never_paints", Keyring::None)?;
    let ready = desk.file("app.ready");
    let mut command = desk.command(app_program());
    command.env("COUNTERSIGN_READY_FILE", &ready).env_remove("WEBKIT_DISABLE_DMABUF_RENDERER");
    let mut app = Process::start(&mut command, "app", &desk.logs())?;
    let begin = Instant::now();
    let frozen = loop {
        if let Some(id) = descendants(app.id(), |name| name == "WebKitWebProcess").first().copied() {
            freeze(id)?;
            break id;
        }
        anyhow::ensure!(begin.elapsed() < LIMIT, "there is no page process");
        tick();
    };
    assert!(!ready.exists(), "the page was faster than the test: nothing was tried");
    wait_for_file(&ready)?;
    assert_eq!(variable_of(app.id(), "WEBKIT_DISABLE_DMABUF_RENDERER").as_deref(), Some("1"));
    assert!(desk.file("config/dev.countersign.app/plain-renderer").exists());
    tests::window::process::kill_now(frozen)?;
    wait_gone(frozen)?;
    app.end();

    // The next start has no blank moment: it is plain from its beginning.
    let next = desk.start_app("next")?;
    assert_eq!(variable_of(next.id(), "WEBKIT_DISABLE_DMABUF_RENDERER").as_deref(), Some("1"));
    desk.pass()
}
