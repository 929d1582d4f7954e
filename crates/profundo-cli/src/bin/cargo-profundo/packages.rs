//! The user's own packages, from `cargo metadata`.

use std::ffi::OsString;
use std::process::Command;

use serde_json::Value;

use super::{answer, cargo};

/// Options of cargo that choose packages and their sources. True: a value follows.
const OF_METADATA: [(&str, bool); 5] = [
    ("--manifest-path", true),
    ("--config", true),
    ("--offline", false),
    ("--locked", false),
    ("--frozen", false),
];

/// Patterns of own code: the workspace, and packages beside it, without the packages in these
/// folders that come from a registry.
pub fn own_code(cargos: &[OsString]) -> Vec<String> {
    let mut command = Command::new(cargo());
    command.args(["metadata", "--format-version", "1"]);
    let mut words = cargos.iter().take_while(|word| *word != "--");
    while let Some(word) = words.next() {
        let text = word.to_string_lossy();
        let name = text.split('=').next().unwrap_or_default();
        let Some((_, has_value)) = OF_METADATA.iter().find(|(option, _)| *option == name) else {
            continue;
        };
        command.arg(word);
        if *has_value && name == text {
            command.args(words.next());
        }
    }
    // Cargo reports errors in the packages when it builds them.
    let said = answer(&mut command).and_then(|json| serde_json::from_str(&json).ok());
    said.map(|metadata| patterns(&metadata)).unwrap_or_default()
}

fn patterns(metadata: &Value) -> Vec<String> {
    let folder = |package: &Value| {
        let manifest = package["manifest_path"].as_str()?;
        Some(manifest.strip_suffix("/Cargo.toml")?.to_owned())
    };
    let is_below = |folder: &str, other: &str| {
        folder
            .strip_prefix(other)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let packages = metadata["packages"].as_array();
    let packages = packages.map(Vec::as_slice).unwrap_or_default();
    // Those with a source come from a registry or from git.
    let (own, others): (Vec<&Value>, Vec<&Value>) = packages
        .iter()
        .partition(|package| package["source"].is_null());
    let root = metadata["workspace_root"].as_str().map(str::to_owned);
    let mut found: Vec<String> = Vec::new();
    for folder in root.into_iter().chain(own.into_iter().filter_map(folder)) {
        if !found.iter().any(|known| is_below(&folder, known)) {
            found.push(folder);
        }
    }
    let others = others.into_iter().filter_map(folder);
    let vendored = others.filter(|other| found.iter().any(|known| is_below(other, known)));
    let vendored: Vec<String> = vendored.map(|path| format!("!{path}")).collect();
    found.extend(vendored);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_workspace_is_own_code_and_what_is_vendored_is_not() {
        let package = |folder: &str, source: Value| serde_json::json!({"manifest_path": format!("{folder}/Cargo.toml"), "source": source});
        let metadata = serde_json::json!({
            "workspace_root": "/w",
            "packages": [
                package("/w/app", Value::Null),
                package("/beside", Value::Null),
                package("/w/vendor/regex", "registry+x".into()),
                package("/home/u/.cargo/registry/src/x/syn-3", "registry+x".into()),
            ],
        });
        let expected = ["/w", "/beside", "!/w/vendor/regex"];
        assert_eq!(patterns(&metadata), expected);
    }
}
