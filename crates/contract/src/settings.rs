//! Preferences: what the person chose about the app itself. Nothing about servers or sessions.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// All preferences. Kept by tauri-plugin-store, from Rust only.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, TS)]
#[serde(default)]
pub struct Preferences {
    /// Light, dark, or as the system says.
    pub theme: Theme,
    /// The language; `None` = as the system says.
    pub language: Option<Language>,
    /// Whether the practice server is switched on.
    pub practice_on: bool,
    /// Long payloads need to be scrolled through before Allow is enabled. `None` = yes.
    pub scroll_before_allow: Option<bool>,
}

/// Colour theme.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum Theme {
    /// As the system says.
    #[default]
    System,
    /// Always light.
    Light,
    /// Always dark.
    Dark,
}

/// The languages of the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
pub enum Language {
    /// English.
    #[serde(rename = "en")]
    En,
    /// Simplified Chinese.
    #[serde(rename = "zh-CN")]
    ZhCn,
}

/// What the page needs to know about the app when it starts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct AppFacts {
    /// The app's version.
    pub version: String,
    /// `linux`, `macos` or `windows`.
    pub os: String,
    /// The preferences.
    pub preferences: Preferences,
    /// Whether the OS keyring can be written and read.
    pub keyring: KeyringState,
    /// Something that went wrong at start and must be told (database set aside, renderer fallback in use).
    pub notices: Vec<StartNotice>,
}

/// What the write-and-read probe of the keyring found at start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum KeyringState {
    /// Not probed yet.
    Checking,
    /// Works.
    Ready,
    /// There is none on this computer.
    Missing {
        /// The cause in words.
        detail: String,
    },
    /// It is there, but locked.
    Locked {
        /// The cause in words.
        detail: String,
    },
    /// It is there, but fails.
    Failed {
        /// The cause in words.
        detail: String,
    },
}

/// Something about the start that the person must be told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum StartNotice {
    /// The database was damaged; it was set aside under this name and a new one begun.
    DatabaseSetAside {
        /// Where the damaged file is now.
        path: String,
    },
    /// The window could not paint; the app was started again with a plainer renderer.
    PlainRenderer,
}
