//! The interpreters that include their own tests.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use anyhow::{Context, Result};

/// An interpreter.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Python {
    /// The minor number of its version.
    pub minor: u32,
    micro: u32,
    pub path: PathBuf,
}

impl Python {
    /// Asks the interpreter about itself; nothing before 3.8, or without tests.
    pub fn asked(path: &Path) -> Option<Self> {
        let question = "import sys, test.libregrtest; print(*sys.version_info[1:3])";
        let output = Command::new(path).args(["-c", question]).output().ok()?;
        let answer = String::from_utf8_lossy(&output.stdout).into_owned();
        let (minor, micro) = answer.trim().split_once(' ')?;
        let minor = minor.parse().ok().filter(|&minor| minor >= 8)?;
        Some(Self::new(minor, micro.parse().ok()?, path))
    }

    pub fn new(minor: u32, micro: u32, path: &Path) -> Self {
        Self {
            minor,
            micro,
            path: path.to_owned(),
        }
    }

    pub fn version(&self) -> String {
        format!("3.{}.{}", self.minor, self.micro)
    }

    pub fn every_module(&self) -> Result<Vec<String>> {
        let output = Command::new(&self.path)
            .args(["-m", "test", "--list-tests"])
            .output()
            .with_context(|| format!("cannot run {}", self.path.display()))?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        Ok(text.split_whitespace().map(str::to_owned).collect())
    }
}

/// The installed interpreters, oldest first.
pub fn present() -> Vec<Python> {
    let home = env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    let versions = fs::read_dir(home.join(".pyenv/versions"));
    let mut found: Vec<Python> = (versions.into_iter().flatten().flatten())
        .filter_map(|version| Python::asked(&version.path().join("bin/python3")))
        .collect();
    found.sort();
    found
}
