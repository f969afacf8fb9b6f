//! Preferences over tauri-plugin-store, from Rust only: the page has no permission for the plugin.

use std::{path::Path, sync::Arc};

use contract::{
    error::{AppError, ErrorCode},
    settings::Preferences,
};
use engine::PreferencesStore;
use tauri::{Manager, Runtime};
use tauri_plugin_store::{Store, StoreBuilder};

const KEY: &str = "preferences";

/// Preferences in a JSON file.
pub struct StoredPreferences<R: Runtime> {
    store: Arc<Store<R>>,
}

impl<R: Runtime> StoredPreferences<R> {
    /// Opens the file, or begins a new one where it is missing or cannot be read.
    ///
    /// # Errors
    /// Where the plugin is not there.
    pub fn open<M: Manager<R>>(app: &M, folder: &Path) -> Result<Self, tauri_plugin_store::Error> {
        let store = StoreBuilder::new(app, folder.join("preferences.json")).disable_auto_save().build()?;
        Ok(Self { store })
    }
}

impl<R: Runtime> PreferencesStore for StoredPreferences<R> {
    fn load(&self) -> Preferences {
        // A file that someone broke by hand must not keep the app from starting.
        self.store.get(KEY).and_then(|value| serde_json::from_value(value).ok()).unwrap_or_default()
    }

    fn save(&self, preferences: &Preferences) -> Result<(), AppError> {
        let value = serde_json::to_value(preferences).map_err(failed)?;
        self.store.set(KEY, value);
        self.store.save().map_err(failed)
    }
}

fn failed(error: impl std::fmt::Display) -> AppError {
    AppError::retryable(ErrorCode::StoreFailed, "The preferences could not be saved.").with_detail(error.to_string())
}

#[cfg(test)]
mod tests {
    use contract::settings::{Language, Theme};
    use pretty_assertions::assert_eq;

    use super::*;

    fn app() -> tauri::App<tauri::test::MockRuntime> {
        tauri::test::mock_builder()
            .plugin(tauri_plugin_store::Builder::default().build())
            .build(tauri::test::mock_context(tauri::test::noop_assets()))
            .unwrap()
    }

    #[test]
    fn what_was_saved_is_there_after_a_restart() {
        let folder = tempfile::tempdir().unwrap();
        let wanted = Preferences {
            theme: Theme::Dark,
            language: Some(Language::ZhCn),
            practice_on: true,
            scroll_before_allow: Some(false),
        };
        StoredPreferences::open(&app(), folder.path()).unwrap().save(&wanted).unwrap();
        assert_eq!(StoredPreferences::open(&app(), folder.path()).unwrap().load(), wanted);
    }

    #[test]
    fn a_missing_or_broken_file_gives_the_defaults() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(StoredPreferences::open(&app(), folder.path()).unwrap().load(), Preferences::default());
        std::fs::write(folder.path().join("preferences.json"), "{\"preferences\":{\"theme\":7}}").unwrap();
        assert_eq!(StoredPreferences::open(&app(), folder.path()).unwrap().load(), Preferences::default());
        std::fs::write(folder.path().join("preferences.json"), "{{{").unwrap();
        assert_eq!(StoredPreferences::open(&app(), folder.path()).unwrap().load(), Preferences::default());
    }
}
