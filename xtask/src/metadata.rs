//! Cargo's view of the workspace: packages, their dependencies, their examples.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

/// The workspace.
pub struct Metadata {
    /// Cargo's target folder.
    pub target: PathBuf,
    /// The workspace's packages.
    pub packages: Vec<Package>,
}

/// A package of the workspace.
pub struct Package {
    pub name: String,
    pub manifest: PathBuf,
    /// Normal and build dependencies: dev-dependencies are not part of the architecture.
    pub dependencies: Vec<String>,
    pub examples: Vec<Example>,
    /// Whether it may be published.
    pub is_published: bool,
}

/// An example of a package.
pub struct Example {
    pub name: String,
    pub source: PathBuf,
    pub features: Vec<String>,
}

/// Cargo itself, the one that runs us if there are several.
pub fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Asks cargo about the workspace at `root`.
pub fn load(root: &Path) -> Result<Metadata> {
    let arguments = ["metadata", "--format-version", "1", "--no-deps"];
    let output = cargo()
        .args(arguments)
        .current_dir(root)
        .output()
        .context("cannot run cargo")?;
    if !output.status.success() {
        bail!(
            "cargo metadata failed: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        );
    }
    let value = serde_json::from_slice(&output.stdout).context("cargo metadata is not JSON")?;
    parse(&value)
}

/// The `profundo` under test: the one that the environment names, or else a fresh debug build.
pub fn profundo(root: &Path) -> Result<PathBuf> {
    if let Some(path) = std::env::var_os("PROFUNDO_COMMAND") {
        return Ok(path.into());
    }
    let metadata = load(root)?;
    let mut command = cargo();
    command.args([
        "build",
        "--quiet",
        "--package",
        "profundo-cli",
        "--bin",
        "profundo",
    ]);
    let status = command.current_dir(root).status()?;
    ensure!(status.success(), "profundo does not build");
    Ok(metadata.target.join("debug/profundo"))
}

fn parse(value: &Value) -> Result<Metadata> {
    let packages = list(value, "packages")?
        .iter()
        .map(package)
        .collect::<Result<_>>()?;
    Ok(Metadata {
        target: text(value, "target_directory")?.into(),
        packages,
    })
}

fn package(value: &Value) -> Result<Package> {
    let mut dependencies = Vec::new();
    for dependency in list(value, "dependencies")? {
        // Dependencies for the model checker are not part of the architecture either.
        if dependency["kind"] != "dev" && dependency["target"] != "cfg(loom)" {
            dependencies.push(text(dependency, "name")?);
        }
    }
    let mut examples = Vec::new();
    for target in list(value, "targets")? {
        if list(target, "kind")?.iter().any(|kind| kind == "example") {
            let features = target["required-features"]
                .as_array()
                .cloned()
                .unwrap_or_default();
            examples.push(Example {
                name: text(target, "name")?,
                source: text(target, "src_path")?.into(),
                features: features
                    .iter()
                    .filter_map(Value::as_str)
                    .map(str::to_owned)
                    .collect(),
            });
        }
    }
    let (name, manifest) = (text(value, "name")?, text(value, "manifest_path")?.into());
    Ok(Package {
        name,
        manifest,
        dependencies,
        examples,
        // `publish = false` is a list of no registries.
        is_published: value["publish"]
            .as_array()
            .is_none_or(|list| !list.is_empty()),
    })
}

fn list<'a>(value: &'a Value, key: &str) -> Result<&'a Vec<Value>> {
    value[key]
        .as_array()
        .with_context(|| format!("cargo metadata has no list {key}"))
}

fn text(value: &Value, key: &str) -> Result<String> {
    let text = value[key]
        .as_str()
        .with_context(|| format!("cargo metadata has no text {key}"))?;
    Ok(text.to_owned())
}
