//! A bare Tauri window, for `cargo xtask bench start` to compare the app with: the same Tauri with the same features
//! and a window of the same size, one static page, no plugin, no database, nothing behind it.
//!
//! Like the app it writes the file named by `COUNTERSIGN_READY_FILE` when its page is drawn and answers.

use std::{ffi::OsString, io::Write as _, process::ExitCode};

/// The page is drawn. Its name is one that the capability file lets a page call.
#[tauri::command]
fn page_ready() {
    if let Some(file) = ready_file()
        && let Err(error) = std::fs::write(file, "ready")
    {
        let _nobody_reads = writeln!(std::io::stderr(), "bare: the ready file could not be written: {error}");
    }
}

fn ready_file() -> Option<OsString> {
    std::env::var_os("COUNTERSIGN_READY_FILE").filter(|file| !file.is_empty())
}

fn main() -> ExitCode {
    let builder = tauri::Builder::default().invoke_handler(tauri::generate_handler![page_ready]);
    match builder.run(tauri::generate_context!("examples/bare/tauri.conf.json")) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _nobody_reads = writeln!(std::io::stderr(), "bare: could not start: {error}");
            ExitCode::FAILURE
        }
    }
}
