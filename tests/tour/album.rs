//! Where pictures go, and what they are called.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use tests::window::page::Page;

/// The pictures of one round, numbered in the order of its steps.
pub struct Album {
    folder: PathBuf,
    look: String,
    taken: u32,
}

impl Album {
    /// `look` names theme and language.
    pub fn new(folder: &Path, look: String) -> Self {
        Self { folder: folder.to_owned(), look, taken: 0 }
    }

    /// Takes the next picture.
    ///
    /// # Errors
    /// Where the window gives none, or it cannot be written.
    pub async fn take(&mut self, page: &Page, name: &str) -> Result<()> {
        self.taken += 1;
        self.save(page, &format!("{:02}-{name}", self.taken)).await
    }

    /// Keeps what the window shows when a step fails.
    ///
    /// # Errors
    /// Where the window gives no picture.
    pub async fn take_failure(&self, page: &Page, step: &str) -> Result<()> {
        self.save(page, &format!("failed-{}", step.replace(' ', "-"))).await
    }

    /// How many there are.
    pub fn taken(&self) -> u32 {
        self.taken
    }

    async fn save(&self, page: &Page, name: &str) -> Result<()> {
        let file = self.folder.join(format!("{name}-{}.png", self.look));
        std::fs::write(&file, page.picture().await?).with_context(|| format!("{} cannot be written", file.display()))
    }
}
