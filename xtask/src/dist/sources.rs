//! What is released: a commit, its time, and its version. The same commit makes the same bytes.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::tools::{done, output};

/// The sources, in one folder.
pub struct Sources {
    pub root: PathBuf,
    pub version: String,
    /// The commit's time in seconds since 1970, which all files of the release have.
    pub time: u64,
    /// Whether files differ from the commit.
    pub is_changed: bool,
}

impl Sources {
    /// Reads the sources at `root`, which is a clone.
    pub fn at(root: &Path) -> Result<Self> {
        let time = match env::var("SOURCE_DATE_EPOCH") {
            Ok(time) => time,
            Err(_) => output(git(root).args(["log", "-1", "--format=%ct"]))?,
        };
        let time = time.trim().parse();
        let changes = output(git(root).args(["status", "--porcelain"]))?;
        Ok(Self {
            root: root.to_owned(),
            version: version(root)?,
            time: time.context("the time of a commit is a number of seconds")?,
            is_changed: !changes.trim().is_empty(),
        })
    }

    /// Makes a second clone of the same commit.
    pub fn cloned(&self, folder: &Path) -> Result<Self> {
        let mut clone = Command::new("git");
        clone.args(["clone", "--quiet", "--shared"]);
        done(clone.arg(&self.root).arg(folder))?;
        Ok(Self {
            root: folder.to_owned(),
            version: self.version.clone(),
            time: self.time,
            is_changed: false,
        })
    }
}

/// The version of the workspace's packages.
fn version(root: &Path) -> Result<String> {
    let manifest = std::fs::read_to_string(root.join("Cargo.toml"))?;
    version_in(&manifest).context("the workspace has no version")
}

fn version_in(manifest: &str) -> Option<String> {
    let package = manifest.split_once("[workspace.package]")?.1;
    let line = package.lines().find(|line| line.starts_with("version"))?;
    Some(line.split('"').nth(1)?.to_owned())
}

fn git(root: &Path) -> Command {
    let mut git = Command::new("git");
    git.arg("-C").arg(root);
    git
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_that_of_the_workspace() {
        let manifest = "[a]\nversion = \"1\"\n[workspace.package]\nversion = \"0.2.1\"\n";
        assert_eq!(version_in(manifest).as_deref(), Some("0.2.1"));
        assert_eq!(version_in("[package]\nversion = \"1\"\n"), None);
    }
}
