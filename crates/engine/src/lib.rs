//! The app without a window: servers, connections, sessions, requests, credentials, settings, search.
//!
//! One task per session owns its stream, its codec and its reducer; one task per server polls its list. Nothing is
//! shown that is not committed, and a decision is written down before it is sent. The shell calls [`Engine`] and
//! draws patches from a [`WindowFeed`]; it never sees a token.

pub mod clock;
pub mod credentials;
pub mod desktop;
mod engine;
pub mod feed;
mod hub;
mod ids;
mod images;
mod kept;
pub mod preferences;
pub mod request;
mod rows;
mod run_options;
mod saved_page;
pub mod server;
pub mod session;

pub use clock::{Clock, SystemClock};
pub use credentials::{Credentials, CredentialsError, KeyringCredentials, MemoryCredentials, Secret};
pub use desktop::{Desktop, DesktopError, MemoryDesktop, NoDesktop};
pub use engine::{Engine, EngineConfig, LiveSessions};
pub use feed::WindowFeed;
pub use preferences::{MemoryPreferences, PreferencesStore};
