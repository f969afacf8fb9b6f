//! The shell without a window: what is registered, what is permitted, what leaves.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex},
    time::Instant,
};

use contract::command::COMMAND_NAMES;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use tauri::{
    App, WebviewWindow,
    ipc::{CallbackFn, InvokeBody},
    test::{INVOKE_KEY, MockRuntime, get_ipc_response, mock_builder},
    webview::InvokeRequest,
};

use super::*;

fn own_file(name: &str) -> String {
    std::fs::read_to_string(std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(name)).unwrap()
}

/// The contract's commands and the one that hands over a channel, which no argument type of the contract can hold.
fn all_commands() -> BTreeSet<String> {
    COMMAND_NAMES.iter().copied().chain(["subscribe"]).map(str::to_owned).collect()
}

struct Running {
    app: App<MockRuntime>,
    opened: Arc<Mutex<Vec<String>>>,
    _folder: tempfile::TempDir,
}

impl Running {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let opened = Arc::new(Mutex::new(Vec::new()));
        let into = opened.clone();
        let opener = Opener::with(move |address| {
            into.lock().unwrap().push(address.to_owned());
            Ok(())
        });
        let launch = Launch {
            data_dir: Some(folder.path().to_owned()),
            ready_file: Some(folder.path().join("ready")),
            driven: true,
            plain_renderer: false,
            attempt: 0,
            began: Instant::now(),
            credentials: Some(Arc::new(engine::MemoryCredentials::default())),
        };
        let mut app = assemble(mock_builder(), false).build(context()).unwrap();
        set_up(&mut app, launch, opener).unwrap();
        Self { app, opened, _folder: folder }
    }

    fn window(&self) -> WebviewWindow<MockRuntime> {
        self.app.get_webview_window(window::MAIN).unwrap()
    }

    fn call(&self, command: &str, args: Value) -> Result<Value, Value> {
        let origin = if cfg!(windows) { "http://tauri.localhost" } else { "tauri://localhost" };
        self.call_from(origin, command, args)
    }

    fn call_from(&self, origin: &str, command: &str, args: Value) -> Result<Value, Value> {
        let request = InvokeRequest {
            cmd: command.into(),
            callback: CallbackFn(0),
            error: CallbackFn(1),
            url: origin.parse().unwrap(),
            body: InvokeBody::Json(args),
            headers: Default::default(),
            invoke_key: INVOKE_KEY.to_string(),
        };
        get_ipc_response(&self.window(), request).map(|body| body.deserialize().unwrap())
    }
}

#[test]
fn every_command_of_the_contract_is_registered_once_and_nothing_else() {
    let registered: BTreeSet<String> = commands::NAMES.iter().map(|name| (*name).to_owned()).collect();
    assert_eq!(registered.len(), commands::NAMES.len());
    assert_eq!(registered, all_commands());
}

#[test]
fn every_command_answers_and_none_is_refused_by_the_permissions() {
    let running = Running::start();
    for name in all_commands() {
        // Without arguments a command that wants some says which are missing; it is never unknown or not allowed.
        if ["close_window"].contains(&name.as_str()) {
            continue;
        }
        if let Err(error) = running.call(&name, json!({})) {
            let words = error.to_string();
            assert!(!words.contains("not found") && !words.contains("not allowed"), "{name}: {words}");
        }
    }
}

#[test]
fn s10_commands_of_plugins_and_calls_from_elsewhere_are_refused() {
    let running = Running::start();
    for (command, args) in [
        ("plugin:store|load", json!({ "path": "preferences.json" })),
        ("plugin:event|emit", json!({ "event": "close-asked" })),
        ("plugin:window|close", json!({ "label": "main" })),
        ("plugin:webview|create_webview_window", json!({ "options": {} })),
        ("plugin:path|resolve_directory", json!({ "directory": 1 })),
        ("plugin:opener|open_url", json!({ "url": "https://example.com" })),
    ] {
        assert!(running.call(command, args).is_err(), "{command}");
    }
    assert!(running.call_from("https://example.com", "overview", json!({})).is_err());
    assert!(running.call("overview", json!({})).is_ok());
}

#[test]
fn s10_no_commands_result_can_carry_a_token() {
    let generated = own_file("../ui/src/lib/contract/index.ts");
    let table = generated.split_once("export interface Commands {").unwrap().1.split_once("\n}").unwrap().0;
    let results: Vec<&str> =
        table.lines().filter_map(|line| line.split_once("result: ")).map(|(_, result)| result).collect();
    assert_eq!(results.len(), COMMAND_NAMES.len());
    for result in results {
        let name = result.trim_end_matches(" };").trim_start_matches("Array<").trim_end_matches('>');
        let declared = generated.split_once(&format!("export type {name} =")).map(|(_, rest)| rest);
        let words = declared.and_then(|rest| rest.split("\nexport ").next()).unwrap_or(name);
        let fields = words.split(['{', ',', '\n']).filter_map(|field| field.split_once(':'));
        for (field, kind) in fields {
            // A mention's token is the text that stands behind an `@`.
            let plain = name == "Mention" && field.trim() == "token";
            let secret = !plain && ["token", "secret", "password", "authorization"].contains(&field.trim());
            // `TokenState` says what is known of a token: a word out of four, never the token.
            assert!(!secret || kind.trim().starts_with("TokenState"), "{name}.{field}:{kind}");
        }
    }
}

#[test]
fn s07_links_of_the_page_go_through_the_one_opener() {
    let running = Running::start();
    assert_eq!(running.call("open_link", json!({ "args": { "url": "https://example.com/a" } })), Ok(Value::Null));
    let error = running.call("open_link", json!({ "args": { "url": "file:///etc/passwd" } })).unwrap_err();
    assert_eq!(error["code"], "link_refused");
    assert_eq!(*running.opened.lock().unwrap(), ["https://example.com/a"]);
}

#[test]
fn errors_reach_the_page_in_the_contracts_shape() {
    let running = Running::start();
    let error = running.call("open_session", json!({ "args": { "session": 4711 } })).unwrap_err();
    assert_eq!(error["code"], "not_found");
    assert!(error["message"].as_str().is_some_and(|words| !words.is_empty()));
    assert!(error["retryable"].is_boolean());
}

#[test]
fn an_engine_that_cannot_start_tells_every_command_why() {
    let first = Running::start();
    assert!(first.call("overview", json!({})).is_ok());
    let launch = Launch {
        data_dir: Some(first._folder.path().to_owned()),
        ready_file: None,
        driven: true,
        plain_renderer: false,
        attempt: 0,
        began: Instant::now(),
        credentials: Some(Arc::new(engine::MemoryCredentials::default())),
    };
    let mut app = assemble(mock_builder(), false).build(context()).unwrap();
    set_up(&mut app, launch, Opener::with(|_| Ok(()))).unwrap();
    let second = Running { app, opened: Arc::default(), _folder: tempfile::tempdir().unwrap() };
    assert_eq!(second.call("subscribe", json!({ "channel": "__CHANNEL__:1" })), Ok(Value::Null));
    for command in ["overview", "waiting_requests"] {
        assert_eq!(second.call(command, json!({})).unwrap_err()["code"], "store_locked");
    }
    assert_eq!(second.app.state::<Shell>().exit_code(), START_FAILED);

    // The first copy ends; the page's "Try again" reads the overview, which starts the engine.
    tauri::async_runtime::block_on(first.app.state::<Shell>().shutdown());
    assert!(second.call("overview", json!({})).is_ok());
    assert_eq!(second.app.state::<Shell>().exit_code(), 0);
}

#[test]
fn the_policy_of_the_page_is_the_strict_one() {
    let config: Value = serde_json::from_str(&own_file("tauri.conf.json")).unwrap();
    let security = &config["app"]["security"];
    assert_eq!(
        security["csp"],
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; font-src 'self'; \
         connect-src ipc: http://ipc.localhost; base-uri 'none'; form-action 'none'"
    );
    assert_eq!(security["freezePrototype"], true);
    assert_eq!(security["pattern"]["use"], "isolation");
    assert_eq!(config["app"]["withGlobalTauri"], false);
    assert!(security.get("dangerousDisableAssetCspModification").is_none());
    assert!(security.get("assetProtocol").is_none());
    // An own `frame-src` would shut out the isolation frame, and every call of the page would hang.
    assert!(!own_file("tauri.conf.json").contains("frame-src"));
}

#[test]
fn s10_the_windows_permissions_are_the_commands_one_by_one() {
    let capability: Value = serde_json::from_str(&own_file("capabilities/main.json")).unwrap();
    assert!(capability.get("remote").is_none());
    assert_eq!(capability["windows"], json!(["main"]));
    let permissions: BTreeSet<&str> =
        capability["permissions"].as_array().unwrap().iter().map(|permission| permission.as_str().unwrap()).collect();
    let wanted: BTreeSet<String> = all_commands()
        .iter()
        .map(|name| format!("allow-{}", name.replace('_', "-")))
        .chain(["core:event:allow-listen".to_owned(), "core:event:allow-unlisten".to_owned()])
        .collect();
    assert_eq!(permissions, wanted.iter().map(String::as_str).collect());
    assert!(!own_file("capabilities/main.json").contains('*'));
    let files = std::fs::read_dir(std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("capabilities")).unwrap();
    assert_eq!(files.count(), 1);
}

#[test]
fn the_isolation_frame_lets_exactly_the_commands_through() {
    let script = own_file("isolation/isolation.js");
    let list = script.split_once("new Set([").unwrap().1.split_once("])").unwrap().0;
    let known: BTreeSet<String> = list.split('\'').skip(1).step_by(2).map(str::to_owned).collect();
    let wanted: BTreeSet<String> = all_commands()
        .into_iter()
        .chain(["plugin:event|listen", "plugin:event|unlisten", "plugin:__TAURI_CHANNEL__|fetch"].map(str::to_owned))
        .collect();
    assert_eq!(known, wanted);
}

#[test]
fn a_second_start_can_find_the_first_only_over_a_bus() {
    let folder = tempfile::tempdir().unwrap();
    let with = |folder: std::path::PathBuf| {
        bus_is_there(move |name| (name == "XDG_RUNTIME_DIR").then(|| folder.clone().into_os_string()))
    };
    assert_eq!(with(folder.path().to_owned()), !cfg!(target_os = "linux"));
    std::fs::write(folder.path().join("bus"), "").unwrap();
    assert!(with(folder.path().to_owned()));
    assert!(bus_is_there(|name| (name == "DBUS_SESSION_BUS_ADDRESS").then(|| "unix:path=/x".into())));
}
