//! What no committed file may say: where packages come from on one machine, where a clone lies on one machine, and
//! markup that a server could write into the page.

use std::path::Path;
use std::process::Command;

use crate::tree;

/// The committed files below these folders (of the whole clone when none is named), as paths from its top.
pub fn committed(folders: &[&str]) -> Vec<String> {
    let answer =
        Command::new("git").args(["ls-files", "-z", "--"]).args(folders).current_dir(tree::root()).output().unwrap();
    assert!(answer.status.success(), "{}", String::from_utf8_lossy(&answer.stderr));
    String::from_utf8(answer.stdout).unwrap().split_terminator('\0').map(str::to_owned).collect()
}

/// A file's text; `None` for one that is not text or was just removed.
pub fn text(file: &str) -> Option<String> {
    std::fs::read_to_string(tree::root().join(file)).ok()
}

fn is_lock_file(file: &str) -> bool {
    let name = Path::new(file).file_name().and_then(|name| name.to_str());
    matches!(name, Some("Cargo.lock" | "package-lock.json"))
}

/// Lines of committed files that a rule matches, as `file:line`.
fn offences(files: Vec<String>, rule: impl Fn(&str) -> bool) -> Vec<String> {
    let mut found = Vec::new();
    for file in files {
        let Some(text) = text(&file) else { continue };
        for (number, line) in text.lines().enumerate() {
            if rule(line) {
                found.push(format!("{file}:{}", number + 1));
            }
        }
    }
    found
}

/// Joined here, so that this file does not name them either.
fn registry_hosts() -> Vec<String> {
    [
        ["registry", "npmjs.org"],
        ["registry", "npmjs.com"],
        ["registry", "yarnpkg.com"],
        ["registry", "npmmirror.com"],
        ["static", "crates.io"],
        ["index", "crates.io"],
        ["files", "pythonhosted.org"],
        ["pypi", "org"],
        ["proxy", "golang.org"],
    ]
    .map(|[name, domain]| format!("{name}.{domain}"))
    .to_vec()
}

/// An absolute path into a folder that only one machine has, not merely a word that ends like it.
fn names_a_machine_path(line: &str) -> bool {
    ["work", "root"].iter().any(|folder| {
        let path = format!("/{folder}/");
        line.match_indices(&path).any(|(at, _)| {
            let before = line.get(..at).unwrap_or_default();
            !before.ends_with(|letter: char| letter.is_alphanumeric() || "_-.}~*$)/".contains(letter))
        })
    })
}

#[test]
fn no_file_names_a_package_registry() {
    let mut files = committed(&[]);
    files.retain(|file| !is_lock_file(file));
    assert!(!files.is_empty());
    let hosts = registry_hosts();
    let found = offences(files, |line| hosts.iter().any(|host| line.contains(host.as_str())));
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn lock_files_name_only_the_public_registries() {
    let public = registry_hosts();
    let mut files = committed(&[]);
    files.retain(|file| is_lock_file(file));
    let found = offences(files, |line| {
        let names_a_source = line.contains("\"resolved\":") && line.contains("//");
        names_a_source && !public.iter().any(|host| line.contains(host.as_str()))
    });
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn no_file_names_a_path_of_one_machine() {
    let mut files = committed(&[]);
    // Scenarios and captures speak of the agent's machine.
    files.retain(|file| {
        !is_lock_file(file) && !file.starts_with("tests/scenarios/") && !file.starts_with("tests/captures/")
    });
    let found = offences(files, names_a_machine_path);
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn a_machine_path_is_told_from_a_path_that_ends_like_one() {
    let folder = "work";
    for line in [format!("cd /{folder}/main"), format!("\"/{folder}/x\""), format!("=/{folder}/")] {
        assert!(names_a_machine_path(&line), "{line}");
    }
    for line in ["homework/", "~/work/api", "$HOME/work/x", "/workspace/x", "artwork/root/x"] {
        assert!(!names_a_machine_path(line), "{line}");
    }
}

#[test]
fn the_page_writes_no_markup_from_text() {
    let markup = ["{@", "html"].concat();
    let found = offences(committed(&["ui"]), |line| line.contains(&markup));
    assert_eq!(found, Vec::<String>::new());
}
