//! What is in the command: the crates that cargo links into it for a target, and the packages of
//! npm that its page is made of.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::Value;

use crate::metadata::cargo;
use crate::tools::output;

/// The crate of the command.
pub const COMMAND: &str = "profundo-cli";

/// A part of the command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    pub name: String,
    pub version: String,
    /// Its terms, as an expression of SPDX.
    pub license: String,
    pub repository: Option<String>,
    /// The folder of its sources, if they are on this machine.
    pub folder: Option<PathBuf>,
    /// The place where it was published, or none for ours.
    pub registry: Option<Registry>,
    /// The checksum of the package, as an algorithm of CycloneDX and hexadecimal digits.
    pub checksum: Option<(&'static str, String)>,
    /// The parts that it uses, by their places in the list.
    pub uses: Vec<usize>,
}

/// A place where packages are published, by its name in a package URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Registry {
    Cargo,
    Npm,
}

impl Registry {
    pub fn name(self) -> &'static str {
        match self {
            Self::Cargo => "cargo",
            Self::Npm => "npm",
        }
    }
}

/// The crates of the command for a target, sorted, and what its page is made of.
pub fn parts(root: &Path, triple: &str) -> Result<Vec<Part>> {
    let mut metadata = cargo();
    metadata.args(["metadata", "--format-version", "1", "--locked"]);
    metadata
        .args(["--filter-platform", triple])
        .current_dir(root);
    let metadata = serde_json::from_str(&output(&mut metadata)?)?;
    let lock = fs::read_to_string(root.join("Cargo.lock"))?;
    let parts = crates(&metadata, &checksums(&lock), &linked(root, triple)?);
    let mut parts = parts.context("cargo's metadata is odd")?;
    let lock = serde_json::from_str(&fs::read_to_string(root.join("ui/package-lock.json"))?)?;
    parts.extend(of_page(&lock).context("the lock file of the page is odd")?);
    Ok(parts)
}

/// Names and versions of the crates that are linked. Cargo's metadata has more: it does not tell
/// for which packages of the workspace a feature is wanted.
fn linked(root: &Path, triple: &str) -> Result<BTreeSet<(String, String)>> {
    let mut tree = cargo();
    tree.args(["tree", "--locked", "--edges", "normal", "--prefix", "none"]);
    tree.args(["--no-dedupe", "--package", COMMAND, "--target", triple]);
    let tree = output(tree.current_dir(root))?;
    let named = tree.lines().filter_map(|line| {
        let mut words = line.split(' ');
        let (name, version) = (words.next()?, words.next()?.strip_prefix('v')?);
        Some((name.to_owned(), version.to_owned()))
    });
    Ok(named.collect())
}

/// The crates that the command is linked from: itself and what it needs, not what builds or tests
/// it.
fn crates(
    metadata: &Value,
    checksums: &BTreeMap<(String, String), String>,
    linked: &BTreeSet<(String, String)>,
) -> Option<Vec<Part>> {
    let packages: BTreeMap<&str, &Value> = metadata["packages"]
        .as_array()?
        .iter()
        .filter(|package| {
            let text = |key| package[key].as_str().unwrap_or_default().to_owned();
            linked.contains(&(text("name"), text("version")))
        })
        .filter_map(|package| Some((package["id"].as_str()?, package)))
        .collect();
    let mut uses: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for node in metadata["resolve"]["nodes"].as_array()? {
        let needed = node["deps"].as_array()?.iter().filter(|dependency| {
            let kinds = dependency["dep_kinds"].as_array();
            kinds.is_some_and(|kinds| kinds.iter().any(|kind| kind["kind"].is_null()))
        });
        let needed = needed.filter_map(|dependency| dependency["pkg"].as_str());
        let needed = needed.filter(|id| packages.contains_key(id));
        uses.insert(node["id"].as_str()?, needed.collect());
    }
    let is_command = |id: &&str| packages[*id]["name"] == COMMAND;
    let mut waiting = vec![packages.keys().copied().find(is_command)?];
    let mut found = BTreeSet::new();
    while let Some(id) = waiting.pop() {
        let package = packages.get(id)?;
        let key = (package["name"].as_str()?, package["version"].as_str()?, id);
        if found.insert(key) {
            waiting.extend(uses.get(id)?);
        }
    }
    let places: BTreeMap<&str, usize> = found
        .iter()
        .enumerate()
        .map(|(place, key)| (key.2, place))
        .collect();
    let parts = found.iter().map(|&(name, version, id)| {
        let package = packages[id];
        let key = (name.to_owned(), version.to_owned());
        let checksum = checksums.get(&key).map(|sum| ("SHA-256", sum.clone()));
        let mut uses: Vec<usize> = uses[id].iter().map(|id| places[id]).collect();
        uses.sort_unstable();
        Part {
            license: expression(package["license"].as_str().unwrap_or_default()),
            repository: package["repository"].as_str().map(str::to_owned),
            folder: Path::new(package["manifest_path"].as_str().unwrap_or_default())
                .parent()
                .map(Path::to_owned),
            registry: package["source"].as_str().map(|_| Registry::Cargo),
            name: key.0,
            version: key.1,
            checksum,
            uses,
        }
    });
    Some(parts.collect())
}

/// The packages of npm in the page, by its lock file: those that do not only build or test it.
fn of_page(lock: &Value) -> Option<Vec<Part>> {
    let packages = lock["packages"].as_object()?;
    let needed = packages
        .iter()
        .filter(|(path, package)| !path.is_empty() && package["dev"] != true);
    let parts = needed.map(|(path, package)| Part {
        name: path.trim_start_matches("node_modules/").to_owned(),
        version: package["version"].as_str().unwrap_or_default().to_owned(),
        license: expression(package["license"].as_str().unwrap_or_default()),
        repository: None,
        folder: None,
        registry: Some(Registry::Npm),
        checksum: package["integrity"].as_str().and_then(sum_of_package),
        uses: Vec::new(),
    });
    Some(parts.collect())
}

/// The checksum that npm's lock file has, as hexadecimal digits in place of base64.
fn sum_of_package(integrity: &str) -> Option<(&'static str, String)> {
    let text = integrity.strip_prefix("sha512-")?.trim_end_matches('=');
    let (mut digits, mut held, mut bits) = (String::new(), 0_u32, 0);
    for byte in text.bytes() {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        held = held << 6 | u32::from(value);
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            digits += &format!("{:02x}", held >> bits & 0xff);
        }
    }
    Some(("SHA-512", digits))
}

/// An expression of SPDX: older manifests write `/` for `OR`.
fn expression(license: &str) -> String {
    let parts: Vec<&str> = license.split('/').map(str::trim).collect();
    parts.join(" OR ")
}

/// The checksums in a lock file of cargo's, by name and version.
fn checksums(lock: &str) -> BTreeMap<(String, String), String> {
    let mut found = BTreeMap::new();
    for package in lock.split("[[package]]").skip(1) {
        let value = |key: &str| {
            let mut lines = package.lines();
            let line = lines.find_map(|line| line.strip_prefix(key)?.strip_prefix(" = "))?;
            Some(line.trim_matches('"').to_owned())
        };
        if let (Some(name), Some(version), Some(sum)) =
            (value("name"), value("version"), value("checksum"))
        {
            found.insert((name, version), sum);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_sum_of_a_package_of_npm_is_read() {
        let sum = sum_of_package("sha512-AAEC/v8=");
        assert_eq!(sum, Some(("SHA-512", "000102feff".to_owned())));
        assert_eq!(sum_of_package("sha1-AAEC"), None);
        assert_eq!(sum_of_package("sha512-A*"), None);
    }

    #[test]
    fn only_what_is_linked_is_a_part() {
        let package = |name: &str, source: Value| {
            json!({"id": name, "name": name, "version": "1.0.0", "license": "MIT/Apache-2.0",
                   "manifest_path": format!("/x/{name}/Cargo.toml"), "source": source})
        };
        let node = |name: &str, deps: &[(&str, Value)]| {
            let deps = deps
                .iter()
                .map(|(name, kind)| json!({"pkg": name, "dep_kinds": [{"kind": kind}]}));
            json!({"id": name, "deps": deps.collect::<Vec<_>>()})
        };
        let none = Value::Null;
        let metadata = json!({
            "packages": [
                package(COMMAND, none.clone()), package("linked", json!("registry+x")),
                package("builder", json!("registry+x")), package("elsewhere", none.clone()),
                package("unwanted", json!("registry+x")),
            ],
            "resolve": {"nodes": [
                node(COMMAND, &[("linked", none.clone()), ("builder", json!("build"))]),
                node("linked", &[("unwanted", none.clone())]),
                node("builder", &[]), node("elsewhere", &[]), node("unwanted", &[]),
            ]},
        });
        let lock = "[[package]]\nname = \"linked\"\nversion = \"1.0.0\"\nchecksum = \"ab\"\n";
        let linked = [COMMAND, "linked", "elsewhere"];
        let linked = linked.map(|name| (name.to_owned(), "1.0.0".to_owned()));
        let parts = crates(&metadata, &checksums(lock), &linked.into()).unwrap();
        let names: Vec<&str> = parts.iter().map(|part| &*part.name).collect();
        assert_eq!(names, ["linked", COMMAND]);
        assert_eq!(parts[0].checksum, Some(("SHA-256", "ab".to_owned())));
        assert_eq!(parts[0].license, "MIT OR Apache-2.0");
        assert_eq!(parts[0].registry, Some(Registry::Cargo));
        assert_eq!((parts[1].registry, &*parts[1].uses), (None, &[0][..]));
    }

    #[test]
    fn what_only_builds_the_page_is_no_part_of_it() {
        let lock = json!({"packages": {
            "": {"name": "page"},
            "node_modules/preact": {"version": "10.0.0", "license": "MIT"},
            "node_modules/esbuild": {"version": "0.1.0", "license": "MIT", "dev": true},
        }});
        let parts = of_page(&lock).unwrap();
        assert_eq!(parts.len(), 1);
        assert_eq!((&*parts[0].name, &*parts[0].version), ("preact", "10.0.0"));
    }
}
