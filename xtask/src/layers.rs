//! Who may use whom. The map is in `src-tauri/ARCHITECTURE.md`; here each of its rules is a test. Only normal
//! dependencies count: dev-dependencies, `tests` and `xtask` do not ship.

use std::collections::BTreeSet;

use crate::metadata::{self, Package};
use crate::wording::{committed, text};

const SHIPPED: [&str; 8] = ["contract", "sse", "protocols", "store", "scrutiny", "engine", "practice", "countersign"];

fn shipped() -> Vec<Package> {
    let mut packages = metadata::packages().unwrap();
    packages.retain(|package| SHIPPED.contains(&package.name.as_str()));
    let found: BTreeSet<_> = packages.iter().map(|package| package.name.as_str()).collect();
    assert_eq!(found, SHIPPED.into(), "the shipped crates");
    packages
}

fn uses(package: &Package, dependency: &str) -> bool {
    package.dependencies.iter().any(|have| have.ships && have.name == dependency)
}

/// Which of our own crates this one uses.
fn own_dependencies(name: &str) -> BTreeSet<String> {
    let packages = shipped();
    let package = packages.iter().find(|package| package.name == name).unwrap();
    SHIPPED.iter().filter(|other| uses(package, other)).map(|&other| other.to_owned()).collect()
}

/// Which shipped crates use a dependency whose name the rule matches.
fn users_of(rule: impl Fn(&str) -> bool) -> BTreeSet<String> {
    shipped()
        .into_iter()
        .filter(|package| package.dependencies.iter().any(|have| have.ships && rule(&have.name)))
        .map(|package| package.name)
        .collect()
}

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

#[test]
fn contract_uses_none_of_ours() {
    assert_eq!(own_dependencies("contract"), set(&[]));
}

#[test]
fn sse_protocols_store_scrutiny_and_practice_use_contract_alone() {
    for name in ["sse", "protocols", "store", "scrutiny", "practice"] {
        assert_eq!(own_dependencies(name), set(&["contract"]), "{name}");
    }
}

#[test]
fn engine_uses_all_but_practice() {
    assert_eq!(own_dependencies("engine"), set(&["contract", "protocols", "scrutiny", "sse", "store"]));
}

#[test]
fn the_shell_uses_engine_contract_and_practice() {
    assert_eq!(own_dependencies("countersign"), set(&["contract", "engine", "practice"]));
}

#[test]
fn only_the_shell_knows_tauri() {
    assert_eq!(users_of(|name| name.starts_with("tauri")), set(&["countersign"]));
}

#[test]
fn only_store_opens_the_database() {
    assert_eq!(users_of(|name| name == "rusqlite"), set(&["store"]));
}

#[test]
fn only_sse_speaks_http() {
    assert_eq!(users_of(|name| name == "reqwest"), set(&["sse"]));
}

#[test]
fn only_sse_parses_event_streams() {
    assert_eq!(users_of(|name| name == "eventsource-stream"), set(&["sse"]));
}

#[test]
fn only_engine_asks_the_keyring() {
    assert_eq!(users_of(|name| name.starts_with("keyring")), set(&["engine"]));
}

#[test]
fn the_keyring_is_used_in_one_file_of_engine() {
    let files: Vec<_> = committed(&["crates/engine/src"])
        .into_iter()
        .filter(|file| text(file).is_some_and(|text| text.lines().any(names_the_keyring_crate)))
        .collect();
    assert_eq!(files.len(), 1, "{files:?}");
}

/// `use keyring::…` or a path into the crate's types; a module or a field of that name is something else.
fn names_the_keyring_crate(line: &str) -> bool {
    let line = line.trim_start();
    if line.starts_with("//") {
        return false;
    }
    line.match_indices("keyring::").any(|(at, word)| {
        let before = line.get(..at).unwrap_or_default();
        let after = line.get(at + word.len()..).unwrap_or_default();
        let starts_a_path =
            !before.ends_with(|letter: char| letter.is_alphanumeric() || letter == '_' || letter == ':');
        let into_the_crate = ["Entry", "Error", "Result", "set_default", "use_", "v1", "{Entry", "{Error"]
            .iter()
            .any(|word| after.starts_with(word));
        starts_a_path && into_the_crate
    })
}

#[test]
fn a_path_into_the_keyring_crate_is_told_from_a_module_of_that_name() {
    for line in [
        "use keyring::Entry;",
        "    let entry = keyring::Entry::new(service, user)?;",
        "Err(keyring::Error::NoEntry) =>",
    ] {
        assert!(names_the_keyring_crate(line), "{line}");
    }
    for line in
        ["use crate::credentials::keyring::OsKeyring;", "//! keyring::Error tells", "os_keyring::Entry", "mod keyring;"]
    {
        assert!(!names_the_keyring_crate(line), "{line}");
    }
}

#[test]
fn in_the_page_only_the_backend_imports_tauri() {
    let files: Vec<_> = committed(&["ui/src"])
        .into_iter()
        .filter(|file| !file.starts_with("ui/src/lib/backend/"))
        .filter(|file| text(file).is_some_and(|text| text.contains("@tauri-apps/")))
        .collect();
    assert_eq!(files, Vec::<String>::new());
}

#[test]
fn in_the_page_contract_imports_nothing_of_the_page() {
    let files: Vec<_> = committed(&["ui/src/lib/contract"])
        .into_iter()
        .filter(|file| {
            text(file).is_some_and(|text| {
                ["/backend", "/state", "/components", "@tauri-apps/"]
                    .iter()
                    .any(|layer| text.lines().any(|line| line.contains("from ") && line.contains(layer)))
            })
        })
        .collect();
    assert_eq!(files, Vec::<String>::new());
}

#[test]
fn in_the_page_nothing_below_a_component_imports_one() {
    let files: Vec<_> = committed(&["ui/src/lib/backend", "ui/src/lib/state", "ui/src/lib/contract"])
        .into_iter()
        .filter(|file| !file.ends_with(".test.ts"))
        .filter(|file| {
            text(file)
                .is_some_and(|text| text.lines().any(|line| line.contains("from ") && line.contains("components/")))
        })
        .collect();
    assert_eq!(files, Vec::<String>::new());
}
