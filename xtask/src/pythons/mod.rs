//! `cargo xtask pythons`: the tests of Python programs on the interpreters of Debian unstable: 3.14
//! and 3.15, with their JIT and without, their debug builds, and builds from Debian's source.
//!
//! The C library there is newer than most machines' is. So they run in a root of their own
//! (`target/debian-unstable`), which is made once; that needs root's rights and `debootstrap`. The
//! command and its tests are those that this machine has built.

mod builds;
mod root;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::metadata::{self, cargo};
use crate::test::tally::Tally;
use builds::BUILDS;
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
    "pypy3",
    "gcc",
    "g++",
    "libc6-dev",
    "make",
    "binutils",
    // For the builds from source.
    "dpkg-dev",
    "xz-utils",
    "pkgconf",
    "zlib1g-dev",
    "libffi-dev",
    "libssl-dev",
];

/// An interpreter that the tests run with.
struct Interpreter {
    /// Its name for `--only`.
    name: String,
    /// Its path in the root; `None`: it cannot be had.
    path: Option<PathBuf>,
    /// A variable that changes how it runs.
    variable: Variable,
}

/// An environment variable and its value, if there is one.
type Variable = Option<(&'static str, &'static str)>;

/// Debian's interpreters. Their JIT is built, and off until a variable says otherwise.
const OF_DEBIAN: &[(&str, &str, Variable)] = &[
    ("python3.14", "python3.14", None),
    ("python3.14d", "python3.14d", None),
    ("python3.14-jit", "python3.14", JIT),
    ("python3.15", "python3.15", None),
    ("python3.15d", "python3.15d", None),
    ("python3.15-jit", "python3.15", JIT),
];
const JIT: Variable = Some(("PYTHON_JIT", "1"));

/// The tests whose names have one of these words have to do with Python. Some tests of native
/// programs are among them.
const TESTS: &[&str] = &[
    "python",
    "pypy",
    "attach::",
    "attached::",
    "calls::",
    "collections::",
    "container_owners::",
    "cut::",
    "exceptions::",
    "execs::",
    "gauges::",
    "generated::",
    "heap_stacks::",
    "inside::",
    "inside_churn::",
    "inside_ends::",
    "inside_interpreters::",
    "inside_memory::",
    "inside_parts::",
    "inside_trace::",
    "interactive::",
    "io::",
    "leaks::",
    "live_objects::",
    "locals::",
    "spans::",
    "syscalls::",
    "trace_messages::",
    "truth::",
    "waits::",
];

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
    let is_whole = tests.is_empty();
    if is_whole {
        tests.extend(TESTS);
    }
    let target = metadata::load(root)?.target;
    let unstable = Root::made(&target.join("debian-unstable"), root, PACKAGES)?;
    let pythons = interpreters(&unstable, &only);
    ensure!(!pythons.is_empty(), "the Pythons are {}", names());

    let profundo = metadata::profundo(root)?;
    let program = built_tests(root)?;
    let mut tally = Tally::default();
    for python in pythons {
        let Some(path) = &python.path else {
            let name = &python.name;
            println!("== {name}: skipped");
            tally.skip(&format!("{name}: Debian's archive has no source of it"));
            continue;
        };
        println!("== {} ({})", python.name, path.display());
        let enter = |folder: &Path| {
            let mut command = unstable.enter(folder);
            command.env("PROFUNDO_NO_CONFIG", "1").envs(python.variable);
            command
        };
        let mut command = enter(&root.join("e2e"));
        command
            .arg(&program)
            .args(["--test-threads", "2"])
            .args(&tests)
            .env("PROFUNDO_COMMAND", &profundo)
            .env("PROFUNDO_E2E_PYTHONS", path);
        check(&mut tally, &format!("tests on {}", python.name), command)?;
        if is_whole {
            let mut command = enter(&root.join("python"));
            command
                .arg(path)
                .args(["-m", "unittest", "discover", "-s", "tests"])
                .env("PYTHONPATH", root.join("python/src"))
                .env("PYTHONDONTWRITEBYTECODE", "1")
                .env("PROFUNDO_BINARY", &profundo);
            let name = format!("the package's tests on {}", python.name);
            check(&mut tally, &name, command)?;
        }
    }
    tally.print();
    Ok(tally.failed == 0)
}

/// The interpreters of these names, or all.
fn interpreters(unstable: &Root, only: &[&str]) -> Vec<Interpreter> {
    let is_wanted = |name: &str| only.is_empty() || only.contains(&name);
    let of_debian = OF_DEBIAN.iter().filter(|(name, ..)| is_wanted(name));
    let mut found: Vec<Interpreter> = of_debian
        .map(|&(name, file, variable)| Interpreter {
            name: name.to_owned(),
            path: Some(Path::new("/usr/bin").join(file)),
            variable,
        })
        .collect();
    for build in BUILDS {
        let name = format!("python3{}", build.suffix);
        if is_wanted(&name) {
            found.push(Interpreter {
                path: build.made(unstable),
                name,
                variable: None,
            });
        }
    }
    found
}

/// The names of all interpreters.
fn names() -> String {
    let of_debian = OF_DEBIAN.iter().map(|(name, ..)| (*name).to_owned());
    let built = BUILDS
        .iter()
        .map(|build| format!("python3{}", build.suffix));
    of_debian.chain(built).collect::<Vec<_>>().join(", ")
}

/// Runs tests in the root, and adds up their results.
fn check(tally: &mut Tally, name: &str, mut command: Command) -> Result<()> {
    let output = command
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .context("cannot enter the root")?;
    let text = String::from_utf8_lossy(&output.stdout);
    print!("{text}");
    for line in text.lines() {
        tally.runner_line(line);
        tally.skip_line(line);
    }
    tally.check(name, output.status.success());
    Ok(())
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
    // The programs that the tests profile are built, too.
    let mut tests = messages.filter(|message| message["target"]["kind"][0] == "test");
    let program = tests.find_map(|message| Some(message["executable"].as_str()?.into()));
    program.context("cargo names no program with tests")
}
