//! `cargo xtask pythons`: the tests of Python programs on the interpreters of Debian unstable: 3.14
//! and 3.15, their debug builds, and a free-threaded build from Debian's source.
//!
//! The C library there is newer than most machines' is. So they run in a root of their own
//! (`target/debian-unstable`), which is made once; that needs root's rights and `debootstrap`. The
//! command and its tests are those that this machine has built.

mod free_threaded;
mod root;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::metadata::{self, cargo};
use crate::test::tally::Tally;
use root::Root;

/// Debian's interpreters, with what programs under test are built by.
const PACKAGES: &[&str] = &[
    "python3.14",
    "python3.14-dev",
    "python3.14-dbg",
    "python3.14-venv",
    "python3.15",
    "python3.15-dev",
    "python3.15-dbg",
    "gcc",
    "g++",
    "libc6-dev",
    "make",
    "binutils",
    // For the build from source.
    "dpkg-dev",
    "xz-utils",
    "pkgconf",
    "zlib1g-dev",
    "libffi-dev",
    "libssl-dev",
];
const INTERPRETERS: &[&str] = &["python3.14", "python3.14d", "python3.15", "python3.15d"];

/// The tests whose names have one of these words have to do with Python.
const TESTS: &[&str] = &["python"];

/// `cargo xtask pythons [--only PYTHON]… [TEST…]`.
pub fn run(root: &Path, arguments: &[&str]) -> Result<bool> {
    let (mut only, mut tests) = (Vec::new(), Vec::new());
    let mut rest = arguments.iter();
    while let Some(&argument) = rest.next() {
        match argument {
            "--only" => only.push(*rest.next().context("--only needs the name of a Python")?),
            _ if argument.starts_with('-') => bail!("{argument} is not known"),
            test => tests.push(test),
        }
    }
    if tests.is_empty() {
        tests.extend(TESTS);
    }
    let target = metadata::load(root)?.target;
    let unstable = Root::made(&target.join("debian-unstable"), root, PACKAGES)?;
    let mut pythons: Vec<PathBuf> = INTERPRETERS
        .iter()
        .map(|name| Path::new("/usr/bin").join(name))
        .collect();
    pythons.push(free_threaded::made(&unstable)?);
    let is_named =
        |path: &&PathBuf| only.is_empty() || only.iter().any(|name| path.ends_with(name));
    let pythons: Vec<&PathBuf> = pythons.iter().filter(is_named).collect();
    ensure!(
        !pythons.is_empty(),
        "the Pythons are {}",
        INTERPRETERS.join(", ")
    );

    let profundo = metadata::profundo(root)?;
    let program = built_tests(root)?;
    let mut tally = Tally::default();
    for python in pythons {
        println!("== {}", python.display());
        let mut command = unstable.enter(&root.join("e2e"));
        command
            .arg(&program)
            .args(["--test-threads", "2"])
            .args(&tests)
            .env("PROFUNDO_COMMAND", &profundo)
            .env("PROFUNDO_NO_CONFIG", "1")
            .env("PROFUNDO_E2E_PYTHONS", python);
        let output = command
            .stdin(Stdio::null())
            .stderr(Stdio::inherit())
            .output()
            .context("cannot enter the root")?;
        let text = String::from_utf8_lossy(&output.stdout);
        print!("{text}");
        text.lines().for_each(|line| tally.runner_line(line));
        tally.check(
            &format!("tests on {}", python.display()),
            output.status.success(),
        );
    }
    println!("{}", tally.closing_line());
    Ok(tally.failed == 0)
}

/// The program with the tests of the command, built as usual.
fn built_tests(root: &Path) -> Result<PathBuf> {
    let mut command: Command = cargo();
    command
        .args([
            "test",
            "--no-run",
            "--package",
            "profundo-e2e",
            "--test",
            "command",
        ])
        .arg("--message-format=json")
        .current_dir(root)
        .stderr(Stdio::inherit());
    let output = command.output().context("cannot run cargo")?;
    ensure!(output.status.success(), "the tests do not build");
    let text = String::from_utf8_lossy(&output.stdout);
    let messages = text
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut executables =
        messages.filter_map(|message| Some(message["executable"].as_str()?.into()));
    executables
        .next_back()
        .context("cargo names no program with tests")
}
