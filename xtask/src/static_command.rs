//! The command as one static file, which runs in any container: one with musl, or with nothing.
//!
//! It is built for musl, and its agent for glibc, as a library that programs of both can load. So
//! the agent is built first, and `PROFUNDO_AGENT` names it to the build of the command.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail, ensure};

use crate::metadata::{self, cargo};

/// The target that the command is built for.
const TARGET: &str = "x86_64-unknown-linux-musl";

/// `cargo xtask static [--quick]`.
pub fn run(root: &Path, arguments: &[&str]) -> Result<bool> {
    let profile = match arguments {
        [] => "dist",
        ["--quick"] => "dev",
        _ => bail!("the only option is --quick"),
    };
    println!("{}", build(root, profile)?.display());
    Ok(true)
}

/// Builds it by a profile of cargo's. Returns its path.
fn build(root: &Path, profile: &str) -> Result<PathBuf> {
    let folder = match profile {
        "dev" => "debug",
        other => other,
    };
    let target = metadata::load(root)?.target;
    let build = || {
        let mut command = cargo();
        command.current_dir(root);
        command.args(["build", "-p", "profundo-cli", "--profile", profile]);
        command.env_remove("PROFUNDO_AGENT");
        command
    };
    let agent = build().arg("--lib").status()?;
    ensure!(agent.success(), "the agent cannot be built");
    let agent = target.join(folder).join("libprofundo_cli.so");
    let command = build()
        .args(["--bin", "profundo", "--target", TARGET])
        .env("PROFUNDO_AGENT", agent)
        .status()?;
    ensure!(
        command.success(),
        "the command cannot be built (`rustup target add {TARGET}` installs its target)"
    );
    Ok(target.join(TARGET).join(folder).join("profundo"))
}
