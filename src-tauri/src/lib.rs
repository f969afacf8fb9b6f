//! The shell: the window, the page's commands, and everything of this computer that the app touches. It translates
//! and decides nothing about agents; what can be done without a window lives in `engine`.

pub mod bridge;
pub mod clipboard;
pub mod commands;
pub mod desktop;
pub mod launch;
pub mod linux_webkit;
pub mod logging;
pub mod opener;
#[cfg(not(windows))]
pub mod page_process;
pub mod practice_server;
pub mod preferences;
pub mod shell;
pub mod standing;
pub mod tray;
pub mod window;

mod watchdog;

#[cfg(test)]
#[cfg(target_os = "linux")]
mod test_bus;

#[cfg(test)]
mod tests;

use std::{path::PathBuf, process::ExitCode, sync::Arc, time::Duration};

use contract::settings::StartNotice;
use tauri::{App, AppHandle, Builder, Context, Manager, RunEvent, Runtime, WindowEvent};

use crate::{
    clipboard::Clipboard,
    desktop::SystemDesktop,
    launch::{ATTEMPT, Launch},
    linux_webkit::{PLAIN_RENDERER, RendererMemory, Step},
    opener::Opener,
    preferences::StoredPreferences,
    shell::{Page, Parts, START_FAILED, Setup, Shell},
};

/// An instance that is going away keeps its name a moment longer than its window: this often a start tries again.
const ATTEMPTS: u32 = 5;

/// How long one call of the keyring may take: a locked one may show a dialog of its own and wait for the person.
const KEYRING_LIMIT: Duration = Duration::from_secs(20);

/// What the app is made of: configuration, page, permissions.
pub fn context<R: Runtime>() -> Context<R> {
    tauri::generate_context!()
}

/// Runs the app to its end.
#[must_use]
pub fn run() -> ExitCode {
    let launch = Launch::from_env();
    let context = context();
    let memory = RendererMemory::here(&context.config().identifier);
    let remembered = memory.as_ref().is_some_and(RendererMemory::remembered);
    if cfg!(target_os = "linux") && linux_webkit::at_start(launch.plain_renderer, remembered) == Step::Relaunch {
        let error = linux_webkit::start_again(PLAIN_RENDERER, "1");
        eprintln!("countersign: could not start with the plain renderer: {error}");
    }
    let attempt = launch.attempt;
    let app = match build(Builder::default(), context, launch, Opener::system()) {
        Ok(app) => app,
        Err(error) => return could_not_build(&error, attempt),
    };
    let code = app.run_return(on_event);
    u8::try_from(code).map_or(ExitCode::FAILURE, ExitCode::from)
}

/// The usual cause is another instance on its way out, which holds its name but answers no more.
fn could_not_build(error: &tauri::Error, attempt: u32) -> ExitCode {
    if attempt < ATTEMPTS {
        std::thread::sleep(Duration::from_millis(300));
        let failed = linux_webkit::start_again(ATTEMPT, &(attempt + 1).to_string());
        eprintln!("countersign: could not start again: {failed}");
    }
    eprintln!("countersign: could not start: {error}");
    u8::try_from(START_FAILED).map_or(ExitCode::FAILURE, ExitCode::from)
}

/// Puts the app together, on any runtime: tests use one without windows.
///
/// # Errors
/// Where a plugin or the runtime cannot start.
pub fn build<R: Runtime>(
    builder: Builder<R>,
    context: Context<R>,
    launch: Launch,
    opener: Opener,
) -> tauri::Result<App<R>> {
    assemble(builder, !launch.driven)
        .setup(move |app| {
            // Tauri panics where this fails, so it says what is wrong and ends the app in good order instead.
            let started = start_log(app, &launch).and_then(|()| set_up(app, launch, opener));
            #[cfg(target_os = "linux")]
            let started = started.and_then(|()| revive(app));
            if let Err(error) = started {
                eprintln!("countersign: could not start: {error}");
                app.handle().exit(START_FAILED);
            }
            Ok(())
        })
        .build(context)
}

/// Plugins, commands and what the window's events mean.
fn assemble<R: Runtime>(builder: Builder<R>, alone: bool) -> Builder<R> {
    let builder = builder.plugin(tauri_plugin_store::Builder::default().build());
    #[cfg(target_os = "macos")]
    let builder = page_process::revived(builder);
    // First of all plugins with an effect: a second start must end before it touches anything. Under a WebDriver the
    // app before may still own the name, and the driver would wait for ever for the one that went away.
    let builder = if alone {
        builder.plugin(tauri_plugin_single_instance::init(|app, _args, _folder| window::show(app)))
    } else {
        builder
    };
    builder.invoke_handler(commands::handler()).on_window_event(|on, event| {
        let app = on.app_handle();
        match event {
            WindowEvent::CloseRequested { api, .. } => {
                api.prevent_close();
                window::close_requested(app);
            }
            WindowEvent::Destroyed => app.state::<Shell>().forget_window(on.label()),
            _ => {}
        }
    })
}

type Failure = Box<dyn std::error::Error>;

#[cfg(target_os = "linux")]
fn revive<R: Runtime>(app: &App<R>) -> Result<(), Failure> {
    if let Some(window) = app.get_webview_window(window::MAIN) {
        page_process::revive(&window)?;
    }
    Ok(())
}

fn start_log<R: Runtime>(app: &mut App<R>, launch: &Launch) -> Result<(), Failure> {
    let (_, log_dir) = folders(app.handle(), launch.data_dir.clone())?;
    match logging::start(&log_dir) {
        Ok(guard) => {
            app.manage(guard);
        }
        // An app without a log is better than none.
        Err(error) => eprintln!("countersign: no log in this run: {error}"),
    }
    Ok(())
}

fn set_up<R: Runtime>(app: &mut App<R>, launch: Launch, opener: Opener) -> Result<(), Failure> {
    let handle = app.handle().clone();
    let (data_dir, _) = folders(&handle, launch.data_dir.clone())?;
    std::fs::create_dir_all(&data_dir)?;
    let version = app.package_info().version.to_string();
    tracing::info!(version, os = std::env::consts::OS, plain_renderer = launch.plain_renderer, "start");
    let preferences = Arc::new(StoredPreferences::open(&handle, &data_dir)?);
    let began = launch.clone();
    let page = Page::new(launch.ready_file.clone(), move || began.age());
    let memory = RendererMemory::here(&app.config().identifier);
    let notices = if launch.plain_renderer && memory.as_ref().is_some_and(RendererMemory::remembered) {
        vec![StartNotice::PlainRenderer]
    } else {
        Vec::new()
    };
    let credentials =
        launch.credentials.clone().unwrap_or_else(|| Arc::new(engine::KeyringCredentials::new(KEYRING_LIMIT)));
    let icons = data_dir.join("tray");
    let clipboard = Clipboard::default();
    let desktop = SystemDesktop::new(opener.clone(), clipboard.clone(), preferences.clone(), &app.config().identifier);
    app.manage(Shell::start(Parts {
        setup: Setup { data_dir, credentials, preferences, desktop: Arc::new(desktop), version, notices },
        clipboard,
        opener,
        page: page.clone(),
        can_come_back: !launch.driven && bus_is_there(|name| std::env::var_os(name)),
    }));
    window::open(&handle)?;
    // A driven window is asked what closing means, wherever the driver runs.
    if !launch.driven {
        tray::start(&handle, &icons);
    }
    tauri::async_runtime::spawn(standing::follow(handle.clone()));
    #[cfg(unix)]
    tauri::async_runtime::spawn(end_on_signal(handle.clone()));
    if cfg!(target_os = "linux") {
        tauri::async_runtime::spawn(watchdog::watch(handle, page, launch, memory));
    }
    Ok(())
}

fn folders<R: Runtime>(app: &AppHandle<R>, wanted: Option<PathBuf>) -> tauri::Result<(PathBuf, PathBuf)> {
    match wanted {
        Some(folder) => Ok((folder.clone(), folder.join("logs"))),
        None => Ok((app.path().app_data_dir()?, app.path().app_log_dir()?)),
    }
}

/// Instances find each other over the session bus on Linux, and by other means elsewhere.
fn bus_is_there(var: impl Fn(&str) -> Option<std::ffi::OsString>) -> bool {
    if !cfg!(target_os = "linux") {
        return true;
    }
    let set = |name: &str| var(name).filter(|value| !value.is_empty());
    set("DBUS_SESSION_BUS_ADDRESS").is_some()
        || set("XDG_RUNTIME_DIR").is_some_and(|folder| PathBuf::from(folder).join("bus").exists())
}

/// A session that logs out, or Ctrl+C in a terminal: nobody can be asked any more, and the app ends in good order.
#[cfg(unix)]
async fn end_on_signal<R: Runtime>(app: AppHandle<R>) {
    use tokio::signal::unix::{SignalKind, signal};
    let (Ok(mut terminate), Ok(mut interrupt)) = (signal(SignalKind::terminate()), signal(SignalKind::interrupt()))
    else {
        return;
    };
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    app.exit(app.state::<Shell>().exit_code());
}

fn on_event<R: Runtime>(app: &AppHandle<R>, event: RunEvent) {
    match event {
        RunEvent::Exit => {
            let app = app.clone();
            tauri::async_runtime::block_on(async move {
                // There is none where the start failed before it.
                if let Some(shell) = app.try_state::<Shell>() {
                    shell.shutdown().await;
                }
            });
        }
        RunEvent::ExitRequested { code, api, .. } if window::stays(app, code) => {
            api.prevent_exit();
            window::come_back(app);
        }
        #[cfg(target_os = "macos")]
        RunEvent::Reopen { .. } => window::show(app),
        _ => {}
    }
}
