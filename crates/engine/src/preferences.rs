//! Where the preferences are kept. The shell puts tauri-plugin-store behind this.

use std::sync::Mutex;

use contract::{error::AppError, settings::Preferences};

/// Keeps the preferences.
pub trait PreferencesStore: Send + Sync {
    /// What is kept, or the defaults.
    fn load(&self) -> Preferences;

    /// Keeps these.
    ///
    /// # Errors
    /// When they cannot be written.
    fn save(&self, preferences: &Preferences) -> Result<(), AppError>;
}

/// Keeps them in memory: for tests.
#[derive(Debug, Default)]
pub struct MemoryPreferences(Mutex<Preferences>);

impl PreferencesStore for MemoryPreferences {
    fn load(&self) -> Preferences {
        self.0.lock().map(|kept| kept.clone()).unwrap_or_default()
    }

    fn save(&self, preferences: &Preferences) -> Result<(), AppError> {
        if let Ok(mut kept) = self.0.lock() {
            kept.clone_from(preferences);
        }
        Ok(())
    }
}
