//! The tools: maturin, zig and uv, from PyPI, in a virtual environment of their own.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

/// The packages. maturin finds zig as the module `ziglang`.
const PACKAGES: &[&str] = &["maturin>=1.8,<2", "ziglang", "uv"];

/// The virtual environment with the tools.
pub struct Tools {
    bin: PathBuf,
}

impl Tools {
    /// Installs what is not there yet.
    pub fn installed(folder: &Path) -> Result<Self> {
        let environment = folder.join("tools");
        let bin = environment.join("bin");
        let tools = Self { bin };
        if !environment.join("done").exists() {
            fs::create_dir_all(folder)?;
            done(
                Command::new("python3")
                    .args(["-m", "venv"])
                    .arg(&environment),
            )?;
            let mut pip = tools.command("pip");
            done(
                pip.args(["install", "--quiet", "--disable-pip-version-check"])
                    .args(PACKAGES),
            )?;
            fs::write(environment.join("done"), "")?;
        }
        Ok(tools)
    }

    /// The file of one of the tools.
    pub fn path(&self, name: &str) -> PathBuf {
        self.bin.join(name)
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
