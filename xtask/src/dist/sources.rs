//! What is released: a commit, its time, and its version. The same commit makes the same bytes, so
//! it is built in a clone of its own: what is not committed is not in a release.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::tools::{done, output};

/// The sources, in a folder of their own.
pub struct Sources {
    pub root: PathBuf,
    pub version: String,
    /// The commit's time in seconds since 1970, which all files of the release have.
    pub time: u64,
}

impl Sources {
    /// Clones a commit of the repository at `root` into a folder, which is made anew.
    pub fn cloned(root: &Path, commit: &str, folder: &Path) -> Result<Self> {
        let _ = fs::remove_dir_all(folder);
        let mut clone = Command::new("git");
        clone.args(["clone", "--quiet", "--shared", "--no-checkout"]);
        done(clone.arg(root).arg(folder))?;
        done(git(folder).args(["checkout", "--quiet", "--detach", commit]))?;
        let time = match env::var("SOURCE_DATE_EPOCH") {
            Ok(time) => time,
            Err(_) => output(git(folder).args(["log", "-1", "--format=%ct"]))?,
        };
        let time = time.trim().parse();
        Ok(Self {
            root: folder.to_owned(),
            version: version(folder)?,
            time: time.context("the time of a commit is a number of seconds")?,
        })
    }
}

/// The commit of the repository at `root`. A note says what is not in it.
pub fn commit(root: &Path) -> Result<String> {
    let changes = output(git(root).args(["status", "--porcelain"]))?;
    if !changes.is_empty() {
        print!("not committed, so not in the release:\n{changes}");
    }
    let commit = output(git(root).args(["rev-parse", "HEAD"]))?;
    Ok(commit.trim().to_owned())
}

/// The version of the workspace's packages.
fn version(root: &Path) -> Result<String> {
    let manifest = fs::read_to_string(root.join("Cargo.toml"))?;
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
    use profundo_testing::Folder;

    use super::*;

    #[test]
    fn the_version_is_that_of_the_workspace() {
        let manifest = "[a]\nversion = \"1\"\n[workspace.package]\nversion = \"0.2.1\"\n";
        assert_eq!(version_in(manifest).as_deref(), Some("0.2.1"));
        assert_eq!(version_in("[package]\nversion = \"1\"\n"), None);
    }

    #[test]
    fn only_what_is_committed_is_released() {
        let folder = Folder::new("sources");
        let root = folder.path().join("root");
        let manifest = "[workspace.package]\nversion = \"1.0.0\"\n";
        let with_identity = |words: &[&str]| {
            let mut git = git(&root);
            git.args(["-c", "user.name=x", "-c", "user.email=x@example.org"]);
            done(
                git.args(words)
                    .env("GIT_COMMITTER_DATE", "1000000000 +0000"),
            )
            .unwrap();
        };
        fs::create_dir(&root).unwrap();
        fs::write(root.join("Cargo.toml"), manifest).unwrap();
        with_identity(&["init", "--quiet"]);
        with_identity(&["add", "."]);
        with_identity(&["commit", "--quiet", "--message", "first"]);
        fs::write(root.join("Cargo.toml"), manifest.replace("1.0.0", "2.0.0")).unwrap();
        let commit = commit(&root).unwrap();
        with_identity(&["commit", "--quiet", "--all", "--message", "second"]);
        let sources = Sources::cloned(&root, &commit, &folder.path().join("clone")).unwrap();
        assert_eq!((&*sources.version, sources.time), ("1.0.0", 1_000_000_000));
    }
}
