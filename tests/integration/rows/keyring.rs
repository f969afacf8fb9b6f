//! P-44: the system's keyring, present, absent, silent or locked, and what the app makes of each.
//!
//! Each case runs in a process of its own (this test program again) on a D-Bus session of its own.

use std::{path::Path, process::Command, sync::Arc, time::Duration};

use anyhow::{Context as _, Result};
use contract::{
    command::NoArgs,
    error::ErrorCode,
    server::{Server, ServerOptions, ServerState, TokenState},
    settings::KeyringState,
};
use engine::{Credentials as _, Engine, KeyringCredentials};
use practice::{Config, Practice};
use tests::rig::{draft, engine};

/// Set in the processes that do the work; their folder.
const DIR: &str = "COUNTERSIGN_TEST_P44_DIR";

/// A bus that starts nothing by itself, so that no keyring is there.
const BARE_BUS: &str = r#"<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>session</type>
  <listen>unix:tmpdir=/tmp</listen>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/>
    <allow eavesdrop="true"/>
    <allow own="*"/>
  </policy>
</busconfig>
"#;

/// Starts gnome-keyring with an empty password, as a login does.
const UNLOCK: &str = r#"eval "$(printf '\n' | gnome-keyring-daemon --unlock --components=secrets --daemonize)"; "#;

/// Locks its collection.
const LOCK: &str = "dbus-send --session --print-reply --dest=org.freedesktop.secrets /org/freedesktop/secrets \
                    org.freedesktop.Secret.Service.Lock array:objpath:/org/freedesktop/secrets/collection/login \
                    >/dev/null; ";

/// Runs a test of this file again in a session of its own, with `before` run in it first.
fn in_a_session(test: &str, bus: Option<&str>, before: &str) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let mut command = Command::new("dbus-run-session");
    if let Some(bus) = bus {
        let file = dir.path().join("bus.conf");
        std::fs::write(&file, bus)?;
        command.arg("--config-file").arg(file);
    }
    let runtime = dir.path().join("run");
    std::fs::create_dir(&runtime)?;
    let script = format!("{before}exec \"$0\" --exact \"rows::keyring::{test}\"");
    command
        .args(["--", "bash", "-c", &script])
        .arg(std::env::current_exe()?)
        .env(DIR, dir.path())
        .env("XDG_DATA_HOME", dir.path().join("share"))
        .env("XDG_RUNTIME_DIR", runtime)
        .env_remove("DISPLAY")
        .env_remove("WAYLAND_DISPLAY");
    let output = command.output().context("dbus-run-session (package dbus) is needed")?;
    let words = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{words}\n{}", String::from_utf8_lossy(&output.stderr));
    // A name that matches no test would pass as well.
    assert!(words.contains("1 passed"), "{words}");
    Ok(())
}

fn keyring() -> Arc<KeyringCredentials> {
    Arc::new(KeyringCredentials::new(Duration::from_secs(3)))
}

async fn server() -> Result<Practice> {
    Ok(Practice::start(Config { token: Some("p44-canary-token".to_owned()), ..Config::default() }).await?)
}

async fn only_server(engine: &Engine) -> Result<Option<Server>> {
    Ok(engine.overview("main", NoArgs {}).await?.servers.pop())
}

/// Waits until the only server is as wanted.
async fn until(engine: &Engine, wanted: impl Fn(&Server) -> bool) -> Result<Server> {
    let feed = engine.attach_window("main");
    loop {
        if let Some(server) = only_server(engine).await?.filter(|server| wanted(server)) {
            return Ok(server);
        }
        tokio::time::timeout(Duration::from_secs(60), feed.next()).await?.context("the feed ended")?;
    }
}

/// The engine on a keyring that does not work: a token is not taken silently, and "this session only" works.
async fn refused(dir: &str, code: ErrorCode) -> Result<()> {
    let practice = server().await?;
    let first = engine(Path::new(dir), keyring()).await?;
    let mut entered = draft(&practice.base_url(), practice.token(), ServerOptions::default());
    let error = first.add_server(entered.clone()).await.unwrap_err();
    assert_eq!(error.code, code, "{error:?}");
    assert!(!format!("{error:?}").contains(practice.token()));
    assert_eq!(only_server(&first).await?, None, "nothing is saved");

    entered.session_only = true;
    let added = first.add_server(entered).await?;
    assert_eq!(added.token, TokenState::SessionOnly);
    until(&first, |server| server.state == ServerState::Online).await?;
    first.shutdown().await;
    let second = engine(Path::new(dir), keyring()).await?;
    let server = until(&second, |server| server.state == ServerState::Unauthorized).await?;
    assert_eq!(server.token, TokenState::Missing, "it is gone with the session, and said so");
    second.shutdown().await;
    assert!(!files_hold(Path::new(dir), practice.token())?, "never in a file");
    Ok(())
}

fn files_hold(dir: &Path, token: &str) -> Result<bool> {
    for entry in std::fs::read_dir(dir)? {
        let path = entry?.path();
        if path.is_file() && std::fs::read(&path)?.windows(token.len()).any(|bytes| bytes == token.as_bytes()) {
            return Ok(true);
        }
    }
    Ok(false)
}

#[tokio::test]
async fn p44_a_real_keyring_keeps_the_token_over_a_restart() -> Result<()> {
    let Ok(dir) = std::env::var(DIR) else {
        return in_a_session("p44_a_real_keyring_keeps_the_token_over_a_restart", None, UNLOCK);
    };
    assert_eq!(keyring().probe().await, KeyringState::Ready);
    let practice = server().await?;
    let first = engine(Path::new(&dir), keyring()).await?;
    let added = first.add_server(draft(&practice.base_url(), practice.token(), ServerOptions::default())).await?;
    assert_eq!(added.token, TokenState::Keyring);
    first.shutdown().await;
    let second = engine(Path::new(&dir), keyring()).await?;
    let server = until(&second, |server| server.state == ServerState::Online).await?;
    assert_eq!(server.token, TokenState::Keyring);
    second.remove_server(contract::command::RemoveServer { server: server.id.clone(), stop_runs: false }).await?;
    assert!(keyring().get(&server.id).await?.is_none(), "the token goes with its server");
    second.shutdown().await;
    assert!(!files_hold(Path::new(&dir), practice.token())?, "never in a file");
    Ok(())
}

#[tokio::test]
async fn p44_without_any_bus_there_is_no_keyring() -> Result<()> {
    let Ok(dir) = std::env::var(DIR) else {
        let no_bus = "export DBUS_SESSION_BUS_ADDRESS=unix:path=/nonexistent; ";
        return in_a_session("p44_without_any_bus_there_is_no_keyring", Some(BARE_BUS), no_bus);
    };
    let state = keyring().probe().await;
    assert!(matches!(state, KeyringState::Missing { .. }), "{state:?}");
    refused(&dir, ErrorCode::KeyringMissing).await
}

#[tokio::test]
async fn p44_a_bus_without_a_secret_service_has_no_keyring() -> Result<()> {
    let Ok(dir) = std::env::var(DIR) else {
        return in_a_session("p44_a_bus_without_a_secret_service_has_no_keyring", Some(BARE_BUS), "");
    };
    let state = keyring().probe().await;
    assert!(matches!(state, KeyringState::Missing { .. }), "{state:?}");
    refused(&dir, ErrorCode::KeyringMissing).await
}

#[tokio::test]
async fn p44_a_locked_keyring_is_told_apart_from_none() -> Result<()> {
    let Ok(dir) = std::env::var(DIR) else {
        return in_a_session("p44_a_locked_keyring_is_told_apart_from_none", None, &format!("{UNLOCK}{LOCK}"));
    };
    let state = keyring().probe().await;
    assert!(matches!(state, KeyringState::Locked { .. }), "{state:?}");
    refused(&dir, ErrorCode::KeyringLocked).await
}
