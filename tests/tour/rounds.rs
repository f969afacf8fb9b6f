//! The same journey once per theme and language, and which step of it failed.

use std::{path::Path, time::Instant};

use anyhow::{Context as _, Result, bail};
use tests::window::desk::{Desk, Keyring};

use crate::{
    album::Album,
    steps::Tour,
    words::{Language, Words},
};

/// What one round looks like.
#[derive(Debug, Clone, Copy)]
struct Look {
    /// The key of the theme's words in the settings, and its tag in names of pictures.
    theme: (&'static str, &'static str),
    language: Language,
}

const LIGHT: (&str, &str) = ("settings_theme_light", "light");
const DARK: (&str, &str) = ("settings_theme_dark", "dark");
const LOOKS: [Look; 4] = [
    Look { theme: LIGHT, language: Language::English },
    Look { theme: DARK, language: Language::English },
    Look { theme: LIGHT, language: Language::Chinese },
    Look { theme: DARK, language: Language::Chinese },
];

/// Goes through every round, and through the others too when one fails. Gives the number of pictures.
///
/// # Errors
/// Names each round that failed and its step.
pub fn all(folder: &Path) -> Result<u32> {
    std::fs::create_dir_all(folder).with_context(|| format!("{} cannot be made", folder.display()))?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let (mut pictures, mut failed) = (0, Vec::new());
    for look in LOOKS {
        let name = format!("{}-{}", look.theme.1, look.language.tag());
        let begin = Instant::now();
        match runtime.block_on(round(folder, look, &name)) {
            Ok(taken) => {
                eprintln!("{name}: {taken} pictures in {:.0} s", begin.elapsed().as_secs_f64());
                pictures += taken;
            }
            Err(error) => {
                eprintln!("{name}: {error:#}");
                failed.push(format!("{name}: {error}"));
            }
        }
    }
    if !failed.is_empty() {
        bail!("{}", failed.join("; "));
    }
    Ok(pictures)
}

async fn round(folder: &Path, look: Look, name: &str) -> Result<u32> {
    let desk = Desk::set_up(&format!("tour-{name}"), Keyring::Unlocked)?;
    let page = desk.open_app().await.context("the first screen does not come")?;
    let album = Album::new(folder, name.to_owned());
    let mut tour = Tour { desk: &desk, page: &page, words: Words::of(look.language)?, album };
    let outcome = tour.go(look.theme.0, look.language).await;
    let taken = tour.album.taken();
    if let Err((step, error)) = outcome {
        // The step's failure is what must be told, also when there is no picture of it.
        if let Err(no_picture) = tour.album.take_failure(&page, step).await {
            eprintln!("{name}: {no_picture:#}");
        }
        return Err(error.context(format!("the step “{step}”")));
    }
    page.close().await;
    desk.pass()?;
    Ok(taken)
}
