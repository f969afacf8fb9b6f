//! Saving a page of a server under a name of our own: it replaces no file, and no title leads out of the folder.

use std::{
    fs::{self, OpenOptions},
    io::{ErrorKind, Write as _},
    path::Path,
};

use contract::{
    command::ExportedFile,
    error::{AppError, ErrorCode},
};

/// Characters of a title that go into the name.
const MOST_TITLE: usize = 60;

/// Names that are tried.
const MOST_TRIES: u32 = 1_000;

/// Writes the page.
///
/// # Errors
/// `InvalidInput` with the system's words where the folder cannot be written.
pub fn save(folder: &Path, title: &str, page: &str) -> Result<ExportedFile, AppError> {
    fs::create_dir_all(folder).map_err(|error| failed(&error))?;
    let stem = stem(title);
    for number in 1..=MOST_TRIES {
        let name = if number == 1 { format!("{stem}.html") } else { format!("{stem} ({number}).html") };
        let path = folder.join(name);
        // Made only where there is nothing yet, a link included.
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(mut file) => {
                if let Err(error) = file.write_all(page.as_bytes()).and_then(|()| file.sync_all()) {
                    drop(file);
                    // Half a page is worse than none; that it cannot be removed either changes nothing.
                    let _ = fs::remove_file(&path);
                    return Err(failed(&error));
                }
                return Ok(ExportedFile { path: path.display().to_string(), bytes: page.len() as u64 });
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(failed(&error)),
        }
    }
    Err(AppError::new(ErrorCode::InvalidInput, "The folder holds too many saved pages of this name."))
}

/// A name that every system takes.
fn stem(title: &str) -> String {
    let plain: String = title
        .chars()
        .map(|char| if char.is_alphanumeric() || matches!(char, '-' | '_') { char } else { ' ' })
        .collect();
    let words: String = plain.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(MOST_TITLE).collect();
    // In front of the title, so that no title is a name that Windows keeps for a device.
    format!("Countersign {}", words.trim()).trim().to_owned()
}

fn failed(error: &std::io::Error) -> AppError {
    AppError::new(ErrorCode::InvalidInput, "The page could not be written to the folder.")
        .with_detail(error.to_string())
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn no_title_leads_out_of_the_folder_or_makes_a_name_a_system_refuses() {
        for (title, wanted) in [
            ("../../etc/passwd", "Countersign etc passwd"),
            ("C:\\Windows\\x", "Countersign C Windows x"),
            ("NUL", "Countersign NUL"),
            ("", "Countersign"),
            ("修复 登录\u{202e}.exe", "Countersign 修复 登录 exe"),
        ] {
            assert_eq!(stem(title), wanted);
        }
        assert!(stem(&"长".repeat(500)).chars().count() < 80);
    }

    #[test]
    fn a_second_page_of_the_same_title_replaces_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let first = save(folder.path(), "Plan", "one").unwrap();
        let second = save(folder.path(), "Plan", "two!").unwrap();
        assert_eq!(fs::read_to_string(&first.path).unwrap(), "one");
        assert_eq!((fs::read_to_string(&second.path).unwrap().as_str(), second.bytes), ("two!", 4));
        assert!(second.path.ends_with("Countersign Plan (2).html"), "{}", second.path);
    }

    #[cfg(unix)]
    #[test]
    fn a_link_that_waits_under_the_name_is_not_written_through() {
        let folder = tempfile::tempdir().unwrap();
        let aim = folder.path().join("aim");
        std::os::unix::fs::symlink(&aim, folder.path().join("Countersign Plan.html")).unwrap();
        save(folder.path(), "Plan", "one").unwrap();
        assert!(!aim.exists());
    }
}
