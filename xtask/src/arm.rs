//! `cargo xtask arm`: library tests on aarch64, built here and run by qemu's emulator of a single
//! program (`qemu-user-static`).
//!
//! Instructions, registers, the C library and `.eh_frame` are those of aarch64. The kernel is this
//! machine's: what needs `ptrace`, perf events or the kernel's own layout of a signal cannot be
//! shown so, and those crates are not in the list.

use std::path::Path;
use std::process::Stdio;

use anyhow::{Context, Result, bail, ensure};

use crate::metadata::cargo;
use crate::test::tally::Tally;

const TARGET: &str = "aarch64-unknown-linux-gnu";

/// Debian's compiler for the target, and the folder with its C library.
const LINKER: &str = "aarch64-linux-gnu-gcc";
const RUNNER: &str = "qemu-aarch64-static -L /usr/aarch64-linux-gnu";

/// The packages that are tested without a choice, and those that only build: what the command
/// carries into programs.
const TESTED: &[&str] = &["profundo-wire", "profundo-unwind"];
const BUILT: &[&str] = &["profundo-agent", "profundo-process", "profundo-inject"];

/// `cargo xtask arm [PACKAGE…]`.
pub fn run(root: &Path, arguments: &[&str]) -> Result<bool> {
    if let Some(option) = arguments.iter().find(|word| word.starts_with('-')) {
        bail!("{option} is not known");
    }
    let (tested, built) = match arguments {
        [] => (TESTED, BUILT),
        named => (named, &[][..]),
    };
    let mut tally = Tally::default();
    for package in built {
        let built = for_arm(root, "build", package).status();
        let built = built.context("cannot run cargo")?;
        tally.check(&format!("{package} is built"), built.success());
    }
    for package in tested {
        println!("== {package}");
        let mut command = for_arm(root, "test", package);
        // Not the documents' examples: rustdoc compiles those for this machine.
        command.args(["--all-features", "--lib", "--tests"]);
        command.args(["--no-fail-fast", "--", "--test-threads", "2"]);
        let output = command.stdin(Stdio::null()).stderr(Stdio::inherit());
        let output = output.output().context("cannot run cargo")?;
        let text = String::from_utf8_lossy(&output.stdout);
        print!("{text}");
        text.lines().for_each(|line| tally.runner_line(line));
        ensure!(
            !text.is_empty(),
            "the tests of {package} do not build: they want `rustup target add {TARGET}`, and Debian's \
             gcc-aarch64-linux-gnu, libc6-dev-arm64-cross and qemu-user-static"
        );
        tally.runners_gone(package);
        tally.check(&format!("tests of {package}"), output.status.success());
    }
    tally.print();
    Ok(tally.failed == 0)
}

/// A command of cargo for one package and the target.
fn for_arm(root: &Path, verb: &str, package: &str) -> std::process::Command {
    let mut command = cargo();
    command
        .args([verb, "--target", TARGET, "--package", package])
        .current_dir(root)
        .env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", LINKER)
        .env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER", RUNNER);
    command
}
