//! Every crate inherits the lints, licence and compiler of the root's manifest, and one that is
//! published has what crates.io shows.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::Finding;
use crate::tree;

/// Required lines of each manifest, as (section, line).
const INHERITED: &[(&str, &str)] = &[
    ("[lints]", "workspace = true"),
    ("[package]", "edition.workspace = true"),
    ("[package]", "rust-version.workspace = true"),
    ("[package]", "license.workspace = true"),
];

/// The lines of a crate that crates.io shows, by their beginnings.
const PUBLISHED: &[&str] = &["description = \"", "repository.workspace = true"];

pub fn check(root: &Path, manifest: &Path, findings: &mut Vec<Finding>) -> Result<()> {
    let text = fs::read_to_string(manifest);
    let text = text.with_context(|| format!("cannot read {}", manifest.display()))?;
    let path = tree::relative(root, manifest);
    for (section, line) in missing(&text) {
        findings.push(Finding::new(&path, 0, format!("{section} lacks `{line}`")));
    }
    for line in unshown(&text) {
        let what = format!("a crate that is published lacks `{line}…`");
        findings.push(Finding::new(&path, 0, what));
    }
    Ok(())
}

/// The lines that crates.io misses, if the crate is published.
fn unshown(text: &str) -> Vec<&'static str> {
    let has = |start: &str| text.lines().any(|line| line.starts_with(start));
    let missing = PUBLISHED.iter().copied().filter(|start| !has(start));
    match has("publish = false") {
        true => Vec::new(),
        false => missing.collect(),
    }
}

/// The lines are compared literally: they are always written this way.
fn missing(text: &str) -> Vec<(&'static str, &'static str)> {
    let mut section = "";
    let mut missing = INHERITED.to_vec();
    for line in text.lines().map(str::trim) {
        if line.starts_with('[') {
            section = line;
        }
        missing.retain(|wanted| *wanted != (section, line));
    }
    missing
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_inherited_is_found() {
        let package = "[package]\nedition.workspace = true\nrust-version.workspace = true\n";
        let whole = format!("{package}license.workspace = true\n[lints]\nworkspace = true\n");
        assert_eq!(missing(&whole), []);
        let other = format!("{package}license = \"MIT\"\n[dependencies]\nworkspace = true\n");
        assert_eq!(
            missing(&other),
            [
                ("[lints]", "workspace = true"),
                ("[package]", "license.workspace = true")
            ]
        );
    }

    #[test]
    fn what_crates_io_shows_is_wanted_of_published_crates() {
        let package = "[package]\nrepository.workspace = true\n";
        assert_eq!(unshown(package), ["description = \""]);
        assert_eq!(unshown(&format!("{package}publish = false\n")), [""; 0]);
        let whole = format!("{package}description = \"An idea\"\n");
        assert_eq!(unshown(&whole), [""; 0]);
    }
}
