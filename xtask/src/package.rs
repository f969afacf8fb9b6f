//! `cargo xtask package`: what people install, made by Tauri's bundler with the `dist` profile. The bundler builds the
//! page first, as its configuration says.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::tools::{self, Consent, Need};
use crate::tree;

/// The bundles this operating system gets. AppImage is left to the release workflow: its tools are downloaded.
const BUNDLES: &str = if cfg!(target_os = "macos") {
    "app,dmg"
} else if cfg!(windows) {
    "nsis,msi"
} else {
    "deb,rpm"
};

/// Builds the installers and names them on standard output, one per line.
///
/// # Errors
/// When something it needs is missing or does not build.
pub fn package(consent: Consent) -> Result<bool> {
    tools::prepare(&[Need::Build, Need::Page], consent)?;
    let name = if cfg!(windows) { "tauri.cmd" } else { "tauri" };
    let tauri = tree::ui().join("node_modules").join(".bin").join(name);
    tools::foreground(
        Command::new(tauri)
            .args(["build", "--ci", "--bundles", BUNDLES])
            .args(["--", "--profile", "dist"])
            .current_dir(tree::root().join("src-tauri")),
    )
    .context("the installers do not build")?;

    let made = installers(&tree::target().join("dist").join("bundle"));
    if made.is_empty() {
        bail!("the bundler said nothing was wrong, but there is no installer in target/dist/bundle");
    }
    for file in made {
        println!("{}", file.display());
    }
    Ok(true)
}

/// The files (on macOS also the `.app` folders) one level below the bundle folder that a person can install.
fn installers(bundle: &Path) -> Vec<PathBuf> {
    let inside = |folder: &Path| -> Vec<PathBuf> {
        std::fs::read_dir(folder)
            .map(|entries| entries.flatten().map(|entry| entry.path()).collect())
            .unwrap_or_default()
    };
    let mut found: Vec<_> = inside(bundle)
        .iter()
        .flat_map(|kind| inside(kind))
        .filter(|file| {
            let ending = file.extension().and_then(|ending| ending.to_str());
            matches!(ending, Some("deb" | "rpm" | "dmg" | "app" | "exe" | "msi"))
        })
        .collect();
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_can_be_installed_is_named() {
        let bundle = std::env::temp_dir().join(format!("countersign-bundle-{}", std::process::id()));
        for folder in ["deb/Countersign_0.1.0_amd64", "rpm"] {
            std::fs::create_dir_all(bundle.join(folder)).unwrap();
        }
        for file in ["deb/Countersign_0.1.0_amd64.deb", "deb/control.tar.gz", "rpm/Countersign-0.1.0-1.x86_64.rpm"] {
            std::fs::write(bundle.join(file), "").unwrap();
        }
        assert_eq!(
            installers(&bundle),
            [bundle.join("deb/Countersign_0.1.0_amd64.deb"), bundle.join("rpm/Countersign-0.1.0-1.x86_64.rpm"),]
        );
        std::fs::remove_dir_all(&bundle).unwrap();
        assert!(installers(&bundle).is_empty());
    }
}
