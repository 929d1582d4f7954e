//! CPython's own tests, without and with the profiler: each test must have the same outcome both
//! ways. What differs is tried again both ways, for some of these tests fail now and then.
//!
//! The tests come with the interpreters that are present. Every day a few modules on one version
//! are run; `cargo xtask cpython-tests` runs those that a profiler is most likely to break on all
//! versions, and with `--all` every module there is, which takes hours.

mod outcomes;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs};

use anyhow::{Context, Result, ensure};

use crate::metadata::{self, cargo};
use crate::test::tally::Tally;
use outcomes::Outcomes;

/// What a profiler is most likely to break.
const MODULES: &[&str] = &[
    "test_subprocess",
    "test_threading",
    "test_signal",
    "test_os",
    "test_gc",
    "test_sys",
    "test_generators",
    "test_asyncio",
    "test_faulthandler",
    "test_fork1",
    "test_thread",
    "test_posix",
    "test_eintr",
];

/// What there is time for every day: module, and the tests in it (all where there are none named).
const SHORT: &[(&str, &[&str])] = &[
    ("test_generators", &[]),
    ("test_sys", &[]),
    ("test_os", &[]),
    ("test_gc", &["GCTests"]),
    ("test_threading", &["ThreadTests", "ThreadJoinOnShutdown"]),
    (
        "test_signal",
        &[
            "PosixTests",
            "WakeupSignalTests",
            "WakeupFDTests",
            "PendingSignalsTests",
        ],
    ),
    ("test_subprocess", &["POSIXProcessTestCase"]),
    ("test_asyncio", &["*test_subprocess*"]),
];

/// How often a test that differs is tried.
const TRIES: usize = 3;

/// Runs the tests that the arguments ask for; true where every outcome was the same.
pub fn run(root: &Path, arguments: &[&str]) -> Result<bool> {
    if arguments.contains(&"--short") {
        let tally = short(root)?;
        println!("{}", tally.closing_line());
        return Ok(tally.failed == 0);
    }
    let all = arguments.contains(&"--all");
    let named = |prefix: &str| -> Vec<&str> {
        let named = arguments
            .iter()
            .copied()
            .filter(|word| !word.starts_with("--"));
        named
            // Those of a package are `test.test_asyncio.test_events` and the like.
            .filter(|word| {
                let is_module = word.starts_with("test_") || word.starts_with("test.");
                is_module == (prefix == "test_")
            })
            .collect()
    };
    let mut pythons: Vec<PathBuf> = named("").into_iter().map(PathBuf::from).collect();
    if pythons.is_empty() {
        pythons = present();
    }
    ensure!(!pythons.is_empty(), "no CPython here brings its tests");
    let profundo = build(root)?;
    let mut is_same = true;
    for python in pythons {
        let modules: Vec<String> = match named("test_") {
            named if !named.is_empty() => named.into_iter().map(str::to_owned).collect(),
            _ if all => every_module(&python)?,
            _ => MODULES.iter().map(|&module| module.to_owned()).collect(),
        };
        for module in modules {
            is_same &= compare(&profundo, &python, &module, &[])?;
        }
    }
    Ok(is_same)
}

/// The short form: some tests of the newest version that is present, a check for each module.
pub fn short(root: &Path) -> Result<Tally> {
    let mut tally = Tally::default();
    let Some(python) = present().pop() else {
        tally.skip("no CPython here brings its tests");
        return Ok(tally);
    };
    let profundo = build(root)?;
    for (module, only) in SHORT {
        let is_same = compare(&profundo, &python, module, only)?;
        tally.check(&format!("CPython's {module}"), is_same);
    }
    Ok(tally)
}

/// The interpreters that bring their tests, oldest first.
fn present() -> Vec<PathBuf> {
    let home = env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    let versions = fs::read_dir(home.join(".pyenv/versions"));
    let mut found: Vec<(u32, PathBuf)> = Vec::new();
    for version in versions.into_iter().flatten().flatten() {
        let python = version.path().join("bin/python3");
        let question = "import sys, test.libregrtest; print(sys.version_info[1])";
        let Ok(output) = Command::new(&python).args(["-c", question]).output() else {
            continue;
        };
        let answer = String::from_utf8_lossy(&output.stdout);
        if let Ok(minor @ 8..) = answer.trim().parse() {
            found.push((minor, python));
        }
    }
    found.sort();
    found.into_iter().map(|(_, python)| python).collect()
}

fn every_module(python: &Path) -> Result<Vec<String>> {
    let output = Command::new(python)
        .args(["-m", "test", "--list-tests"])
        .output()
        .with_context(|| format!("cannot run {}", python.display()))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    Ok(text.split_whitespace().map(str::to_owned).collect())
}

fn build(root: &Path) -> Result<PathBuf> {
    if let Some(path) = env::var_os("PROFUNDO_COMMAND") {
        return Ok(path.into());
    }
    let metadata = metadata::load(root)?;
    let mut command = cargo();
    command.args([
        "build",
        "--quiet",
        "--package",
        "profundo-cli",
        "--bin",
        "profundo",
    ]);
    let status = command.current_dir(root).status()?;
    ensure!(status.success(), "profundo does not build");
    Ok(metadata.target.join("debug/profundo"))
}

/// Whether a module's tests end in the same way with the profiler.
fn compare(profundo: &Path, python: &Path, module: &str, only: &[&str]) -> Result<bool> {
    let name = format!("{} {module}", python.display());
    let mut differences = BTreeMap::new();
    let mut only: Vec<String> = only.iter().map(|&name| name.to_owned()).collect();
    for attempt in 0..TRIES {
        let plain = outcomes_of(None, python, module, &only)?;
        let recorded = outcomes_of(Some(profundo), python, module, &only)?;
        differences = plain.differences(&recorded);
        if attempt == 0 {
            println!("{name}: {plain}");
        }
        if differences.is_empty() {
            return Ok(true);
        }
        if plain.is_whole() && recorded.is_whole() {
            only = differences.keys().cloned().collect();
        }
    }
    for (test, (without, with)) in &differences {
        println!("{name}: {test}: {without} without, {with} with the profiler");
    }
    Ok(false)
}

fn outcomes_of(
    profundo: Option<&Path>,
    python: &Path,
    module: &str,
    only: &[String],
) -> Result<Outcomes> {
    let folder = env::temp_dir().join(format!("profundo-cpython-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder)?;
    let xml = folder.join("outcomes.xml");
    let mut command = match profundo {
        None => Command::new(python),
        Some(profundo) => {
            let mut command = Command::new(profundo);
            command
                .arg("record")
                .arg("-o")
                .arg(folder.join("recording"));
            command.arg("--").arg(python);
            command
        }
    };
    command
        .args(["-m", "test", "--timeout", "300", "--junit-xml"])
        .arg(&xml);
    for name in only {
        command.args(["-m", name]);
    }
    let log = fs::File::create(folder.join("log"))?;
    command
        .arg(module)
        .current_dir(&folder)
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log);
    let status = command
        .status()
        .with_context(|| format!("cannot run {command:?}"))?;
    let outcomes = Outcomes::new(&fs::read_to_string(&xml).unwrap_or_default(), status);
    if !outcomes.is_whole() {
        let log = fs::read_to_string(folder.join("log")).unwrap_or_default();
        let last: Vec<&str> = log.lines().rev().take(30).collect();
        last.iter().rev().for_each(|line| println!("    {line}"));
    }
    fs::remove_dir_all(&folder)?;
    Ok(outcomes)
}
