//! What cargo says about the workspace: its packages, their targets, their dependencies.

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::tree;

/// One package of the workspace.
#[derive(Debug)]
pub struct Package {
    /// Its name.
    pub name: String,
    /// What it builds.
    pub targets: Vec<Target>,
    /// What it uses.
    #[cfg_attr(not(test), expect(dead_code, reason = "read by the layering tests"))]
    pub dependencies: Vec<Dependency>,
}

/// One thing a package builds.
#[derive(Debug, PartialEq, Eq)]
pub struct Target {
    /// `lib`, `bin`, `test`, `example`, `bench` or `custom-build`.
    pub kind: String,
    /// Its name.
    pub name: String,
}

/// One dependency of a package.
#[derive(Debug)]
#[cfg_attr(not(test), expect(dead_code, reason = "read by the layering tests"))]
pub struct Dependency {
    /// The name of the package it names.
    pub name: String,
    /// Does it go into what people install? Dev and build dependencies do not.
    pub ships: bool,
}

/// Asks cargo for the workspace's own packages.
///
/// # Errors
/// When cargo cannot read a manifest, with its words.
pub fn packages() -> Result<Vec<Package>> {
    let answer = tree::cargo(&["metadata", "--format-version", "1", "--no-deps"])
        .output()
        .context("cargo could not be started")?;
    if !answer.status.success() {
        bail!("cargo metadata: {}", String::from_utf8_lossy(&answer.stderr).trim());
    }
    read(&serde_json::from_slice(&answer.stdout).context("cargo metadata is not JSON")?)
}

fn read(metadata: &Value) -> Result<Vec<Package>> {
    let packages = metadata.get("packages").and_then(Value::as_array).context("cargo metadata names no packages")?;
    Ok(packages.iter().map(package).collect())
}

fn package(value: &Value) -> Package {
    Package {
        name: word(value, "name"),
        targets: list(value, "targets").iter().map(target).collect(),
        dependencies: list(value, "dependencies").iter().map(dependency).collect(),
    }
}

fn target(value: &Value) -> Target {
    let kind = list(value, "kind").first().and_then(Value::as_str);
    Target { kind: kind.unwrap_or_default().to_owned(), name: word(value, "name") }
}

fn dependency(value: &Value) -> Dependency {
    Dependency { name: word(value, "name"), ships: value.get("kind").is_none_or(Value::is_null) }
}

fn word(value: &Value, key: &str) -> String {
    value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The names of all targets of one kind, in one package or (with none named) in all of them.
pub fn target_names(packages: &[Package], package: Option<&str>, kind: &str) -> Vec<String> {
    packages
        .iter()
        .filter(|have| package.is_none_or(|name| name == have.name))
        .flat_map(|have| &have.targets)
        .filter(|target| target.kind == kind)
        .map(|target| target.name.clone())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn targets_are_found_by_package_and_kind() {
        let packages = read(&json!({"packages": [
            {"name": "tests", "targets": [
                {"kind": ["bin"], "name": "bench-start"},
                {"kind": ["test"], "name": "window"}
            ], "dependencies": []},
            {"name": "sse", "targets": [{"kind": ["test"], "name": "chunking"}], "dependencies": [
                {"name": "bytes", "kind": null},
                {"name": "proptest", "kind": "dev"}
            ]}
        ]}))
        .unwrap();
        assert_eq!(target_names(&packages, None, "test"), ["window", "chunking"]);
        assert_eq!(target_names(&packages, Some("tests"), "bin"), ["bench-start"]);
        let shipped: Vec<_> = packages[1].dependencies.iter().filter(|d| d.ships).map(|d| d.name.as_str()).collect();
        assert_eq!(shipped, ["bytes"]);
    }
}
