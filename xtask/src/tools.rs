//! Tools that a task installs for itself: from PyPI in a virtual environment, and from crates.io
//! below a folder. All are in `target/tools`, and each is installed once.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::metadata::cargo;

/// The tools that are installed.
pub struct Tools {
    /// The folder of all, with a file for each requirement that is met.
    folder: PathBuf,
    bin: PathBuf,
}

impl Tools {
    /// Installs those of these packages of PyPI that are not there yet. `target` is cargo's folder.
    pub fn installed(target: &Path, packages: &[&str]) -> Result<Self> {
        let folder = target.join("tools");
        let environment = folder.join("python");
        let tools = Self {
            bin: environment.join("bin"),
            folder,
        };
        let missing: Vec<&str> = packages
            .iter()
            .copied()
            .filter(|it| !tools.has(it))
            .collect();
        if missing.is_empty() {
            return Ok(tools);
        }
        fs::create_dir_all(&tools.folder)?;
        if !tools.path("pip").exists() {
            let mut venv = Command::new("python3");
            done(venv.args(["-m", "venv"]).arg(&environment))?;
        }
        let mut pip = tools.command("pip");
        pip.args(["install", "--quiet", "--disable-pip-version-check"]);
        done(pip.args(&missing))?;
        for package in missing {
            tools.note(package)?;
        }
        Ok(tools)
    }

    /// Installs those of these crates that are not there yet, as `NAME@VERSION`.
    ///
    /// They are built without optimisation: what they do takes seconds, and they are built once.
    pub fn install_crates(&self, crates: &[&str]) -> Result<()> {
        for &package in crates.iter().filter(|package| !self.has(package)) {
            let mut install = cargo();
            install.args(["install", "--quiet", "--locked", "--debug", "--force"]);
            install
                .arg("--root")
                .arg(self.folder.join("cargo"))
                .arg(package);
            install
                .arg("--target-dir")
                .arg(self.folder.join("building"));
            done(install.env("CARGO_PROFILE_DEV_DEBUG", "false"))?;
            fs::remove_dir_all(self.folder.join("building"))?;
            self.note(package)?;
        }
        Ok(())
    }

    /// Whether a requirement is met already.
    fn has(&self, requirement: &str) -> bool {
        self.mark(requirement).exists()
    }

    fn note(&self, requirement: &str) -> Result<()> {
        Ok(fs::write(self.mark(requirement), "")?)
    }

    /// The file that says that a requirement is met.
    fn mark(&self, requirement: &str) -> PathBuf {
        self.folder.join(format!("has {requirement}"))
    }

    /// The file of one of the tools.
    pub fn path(&self, name: &str) -> PathBuf {
        let of_crates = self.folder.join("cargo/bin").join(name);
        match of_crates.exists() {
            true => of_crates,
            false => self.bin.join(name),
        }
    }

    /// One of the tools, which finds the others.
    pub fn command(&self, name: &str) -> Command {
        let path = env::var_os("PATH").unwrap_or_default();
        let folders = [self.bin.clone()]
            .into_iter()
            .chain(env::split_paths(&path));
        let mut command = Command::new(self.path(name));
        if let Ok(path) = env::join_paths(folders) {
            command.env("PATH", path);
        }
        command
    }
}

/// Runs a command that has to succeed.
pub fn done(command: &mut Command) -> Result<()> {
    let status = command.status();
    let status = status.with_context(|| format!("cannot run {command:?}"))?;
    ensure!(status.success(), "{command:?}: {status}");
    Ok(())
}

/// The output of a command that has to succeed.
pub fn output(command: &mut Command) -> Result<String> {
    let output = command.output();
    let output = output.with_context(|| format!("cannot run {command:?}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(
        output.status.success(),
        "{command:?}: {}\n{said}",
        output.status
    );
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
