//! `cargo xtask arm`: library tests on aarch64, built here and run by qemu's emulator of a single
//! program (`qemu-user-static`). Instructions, registers, the C library and `.eh_frame` are those
//! of aarch64; the kernel is this machine's.
//!
//! `cargo xtask arm --kernel` runs the command in Debian's kernel of aarch64, in a whole machine
//! (`qemu-system-aarch64`).

mod machine;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

use crate::metadata::{self, cargo};
use crate::test::tally::Tally;
use crate::tools::done;
use machine::Machine;

const TARGET: &str = "aarch64-unknown-linux-gnu";

/// Debian's compiler for the target, and the folder with its C library.
const LINKER: &str = "aarch64-linux-gnu-gcc";
const RUNNER: &str = "qemu-aarch64-static -L /usr/aarch64-linux-gnu";

/// The packages that are tested without a choice, and those that only build: what the command
/// carries into programs.
const TESTED: &[&str] = &["profundo-wire", "profundo-unwind"];
const BUILT: &[&str] = &["profundo-agent", "profundo-process", "profundo-inject"];

/// What runs in the whole machine: it prints `ok NAME` or `FAILED NAME` for each check.
const GUEST: &str = include_str!("guest.sh");

/// `cargo xtask arm [PACKAGE…]`, `cargo xtask arm --kernel`.
pub fn run(root: &Path, arguments: &[&str]) -> Result<bool> {
    if arguments == ["--kernel"] {
        return in_kernel(root);
    }
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

/// Builds the command and a program for it, and runs both in a machine.
fn in_kernel(root: &Path) -> Result<bool> {
    let target = metadata::load(root)?.target;
    let machine = Machine::made(&target.join("arm/machine"))?;
    done(&mut for_arm(root, "build", "profundo-cli"))?;
    let profundo = target.join(TARGET).join("debug/profundo");
    let mut strip = Command::new("aarch64-linux-gnu-strip");
    strip.arg("-g").arg(profundo).arg("-o");
    done(strip.arg(machine.file("profundo")))?;
    for name in ["share", "enter"] {
        let mut compile = Command::new(LINKER);
        compile.args(["-g", "-O1", "-pthread", "-o"]);
        compile.arg(machine.file(name));
        done(compile.arg(root.join(format!("xtask/src/arm/{name}.c"))))?;
    }
    fs::write(machine.file("guest.sh"), GUEST)?;
    let text = machine.run()?;
    print!("{text}");
    let mut tally = Tally::default();
    for line in text.lines() {
        match line.split_once(' ') {
            Some(("ok", name)) => tally.check(name, true),
            Some(("FAILED", name)) => tally.check(name, false),
            Some(("skipped:", why)) => tally.skip(why),
            _ => {}
        }
    }
    let has_ended = text.lines().any(|line| line == "all is done");
    tally.check("the machine came to its end", has_ended);
    tally.print();
    Ok(tally.failed == 0)
}

/// A command of cargo for one package and the target.
fn for_arm(root: &Path, verb: &str, package: &str) -> Command {
    let mut command = cargo();
    command
        .args([verb, "--target", TARGET, "--package", package])
        .current_dir(root)
        .env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", LINKER)
        .env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER", RUNNER);
    command
}
