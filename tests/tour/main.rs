//! The tour: drives the real window through everything a person meets first, by itself, and keeps a picture of each
//! step, in both themes and both languages.
//!
//! `tour FOLDER` saves `NN-step-theme-language.png` there. Each step looks by role and name for what its picture shows
//! before it is taken; one that does not find it ends its round with a picture called `failed-…` and the tour with a
//! code that says so. A display, bus and keyring of its own are set up for each round.

#[cfg(target_os = "linux")]
mod album;
#[cfg(target_os = "linux")]
mod rounds;
#[cfg(target_os = "linux")]
mod steps;
#[cfg(target_os = "linux")]
mod words;

use std::process::ExitCode;

#[cfg(target_os = "linux")]
fn main() -> ExitCode {
    let Some(folder) = std::env::args_os().nth(1) else {
        eprintln!("usage: tour FOLDER");
        return ExitCode::from(2);
    };
    match rounds::all(folder.as_ref()) {
        Ok(pictures) => {
            eprintln!("the tour took {pictures} pictures: {}", folder.to_string_lossy());
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("the tour failed: {error:#}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn main() -> ExitCode {
    eprintln!("the tour needs a virtual display, which only Linux has");
    ExitCode::FAILURE
}
