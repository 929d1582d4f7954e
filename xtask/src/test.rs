//! All tests and checks, one step after the other, and one line at the end. A step that this
//! machine cannot run is skipped with its reason, never silently.

mod again;
mod page;
mod runner;
pub mod tally;
mod times;

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::Result;

use crate::metadata::{self, Metadata, cargo};
use crate::{cpython, dist, fuzz, tidy, wheel};
use runner::Runner;
use tally::Tally;

/// The mark in an example's source for running it, followed by its arguments.
const RUN_MARK: &str = "//! xtask: run";

/// Crates that Miri can run: no system calls, no assembly.
const FOR_MIRI: &[&str] = &["profundo-wire", "profundo-model"];

/// Runs all steps; true if none failed. The closing line is the last one in any case.
///
/// `is_long`: with the tests that are marked as long.
pub fn run(root: &Path, is_long: bool) -> Result<bool> {
    let mut all = Tally::default();
    if let Err(error) = steps(root, &mut all, is_long) {
        all.check(&format!("{error:#}"), false);
    }
    check_second_tries(&mut all);
    report(&all);
    Ok(all.failed == 0)
}

/// Fails a run with many tests that fail among the others and pass alone: each hides a bug of its
/// own or of Profundo's.
fn check_second_tries(all: &mut Tally) {
    const MOST: usize = 5;
    let count = all.second_tries.len();
    if count > MOST {
        let what =
            format!("{count} tests passed only when they were tried again; at most {MOST} may");
        all.check(&what, false);
    }
}

fn steps(root: &Path, all: &mut Tally, is_long: bool) -> Result<()> {
    let metadata = metadata::load(root)?;
    let runner = Runner::new(root, &metadata.target)?;
    step(all, "rustfmt", || format(&runner));
    step(all, "tidy", || {
        let mut tally = Tally::default();
        tally.check("tidy", tidy::run(root)?);
        Ok(tally)
    });
    step(all, "clippy", || clippy(&runner));
    // Unit, integration and documentation tests; this builds the examples too.
    step(all, "tests", || {
        let tests = || {
            let mut tests = with(&["test", "--workspace", "--no-fail-fast"]);
            if is_long {
                tests.env("PROFUNDO_E2E_ALL", "1");
            }
            tests
        };
        let mut tally = runner.tests("tests", tests())?;
        runner.try_again(&mut tally, tests())?;
        Ok(tally)
    });
    if is_long {
        // Every test that is ignored is a long one; `tidy` sees to that.
        step(all, "long tests", || {
            let ignored = [
                "test",
                "--workspace",
                "--no-fail-fast",
                "--tests",
                "--",
                "--ignored",
            ];
            runner.tests("long tests", with(&ignored))
        });
    }
    step(all, "the page", || page::run(root, &metadata.target));
    step(all, "the Python package", || {
        wheel::quick(root, &metadata.target)
    });
    step(all, "the terms of dependencies", || {
        dist::quick(root, &metadata.target)
    });
    step(all, "CPython's own tests", || {
        cpython::modules_of_the_run(root, is_long)
    });
    step(all, "fuzzing", || fuzzing(root));
    for (package, example, arguments) in marked_examples(&metadata)? {
        let name = format!("example {example}");
        let mut command = with(&[
            "run",
            "--quiet",
            "--package",
            &package,
            "--example",
            &example,
        ]);
        command.args(arguments);
        step(all, &name, || runner.check(&name, command));
    }
    if root.join("crates/profundo-probe/tests/loom.rs").exists() {
        step(all, "loom", || runner.tests("loom", loom(&metadata)));
    }
    step(all, "tokio's hooks", || {
        runner.tests("tokio's hooks", tokio_hooks(&metadata))
    });
    step(all, "aarch64", || aarch64(&runner));
    step(all, "Miri", || miri(&runner, &metadata));
    Ok(())
}

/// Runs a step between two lines that name it. A step that cannot start has failed.
fn step(all: &mut Tally, name: &str, run: impl FnOnce() -> Result<Tally>) {
    println!("== {name}");
    let start = Instant::now();
    let part = run().unwrap_or_else(|error| {
        let mut failed = Tally::default();
        failed.check(&format!("{name}: {error:#}"), false);
        failed
    });
    let time = start.elapsed();
    let seconds = time.as_secs_f64();
    println!("== {name}: {} ({seconds:.1} s)", part.closing_line());
    all.add(part);
    all.times.step(time, name);
}

fn report(all: &Tally) {
    if !all.reasons.is_empty() {
        println!("== skipped, because");
        for (why, times) in &all.reasons {
            println!("{times:>4} × {why}");
        }
    }
    let times = all.times.report();
    if !times.is_empty() {
        println!("== took longest");
        times.iter().for_each(|line| println!("{line}"));
    }
    if !all.second_tries.is_empty() {
        println!("== failed among the others, passed alone");
        let names = all.second_tries.iter();
        names.for_each(|name| println!("     {name}"));
    }
    if !all.failures.is_empty() {
        println!("== failed");
        all.failures.iter().for_each(|name| println!("     {name}"));
    }
    println!("{}", all.closing_line());
}

fn with(arguments: &[&str]) -> Command {
    let mut command = cargo();
    command.args(arguments);
    command
}

fn skipped(why: &str) -> Result<Tally> {
    let mut tally = Tally::default();
    tally.skip(why);
    Ok(tally)
}

fn format(runner: &Runner) -> Result<Tally> {
    if !runner.has(&["fmt", "--version"]) {
        return skipped("rustfmt is not installed (rustup component add rustfmt)");
    }
    runner.check("rustfmt", with(&["fmt", "--all", "--check"]))
}

fn clippy(runner: &Runner) -> Result<Tally> {
    if !runner.has(&["clippy", "--version"]) {
        return skipped("clippy is not installed (rustup component add clippy)");
    }
    let arguments = [
        "clippy",
        "--workspace",
        "--all-targets",
        "--",
        "-D",
        "warnings",
    ];
    runner.check("clippy", with(&arguments))
}

/// Loom's tests, in a target folder of their own, because the flag changes every crate.
fn loom(metadata: &Metadata) -> Command {
    let mut command = with(&[
        "test",
        "--package",
        "profundo-probe",
        "--test",
        "loom",
        "--release",
    ]);
    command.env("RUSTFLAGS", "--cfg loom");
    // Optimised, but not as what is shipped: that takes twice as long to build.
    command.env("CARGO_PROFILE_RELEASE_LTO", "off");
    command.env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16");
    command.env("CARGO_PROFILE_RELEASE_DEBUG", "false");
    command.env("CARGO_TARGET_DIR", metadata.target.join("loom"));
    command
}

/// Tokio's hooks need a flag, which changes every crate too.
fn tokio_hooks(metadata: &Metadata) -> Command {
    let mut command = with(&[
        "test",
        "--package",
        "profundo",
        "--features",
        "tokio",
        "--test",
        "tokio_hooks",
    ]);
    command.env("RUSTFLAGS", "--cfg tokio_unstable");
    command.env("CARGO_TARGET_DIR", metadata.target.join("tokio"));
    command
}

/// The other architecture is type-checked if its standard library is installed.
fn aarch64(runner: &Runner) -> Result<Tally> {
    const TARGET: &str = "aarch64-unknown-linux-gnu";
    let installed = std::process::Command::new("rustc")
        .args(["--print", "target-libdir", "--target", TARGET])
        .output()
        .is_ok_and(|output| Path::new(String::from_utf8_lossy(&output.stdout).trim()).exists());
    if !installed {
        return skipped("aarch64 is not installed (rustup target add aarch64-unknown-linux-gnu)");
    }
    let command = with(&["check", "--package", "profundo", "--target", TARGET]);
    runner.check("aarch64", command)
}

/// All readers of foreign bytes, for two minutes. Other inputs each time would let a change fail
/// by chance: they are `cargo xtask fuzz`'s.
fn fuzzing(root: &Path) -> Result<Tally> {
    const SECONDS: u64 = 120;
    let compiler = Command::new("c++").arg("--version").output();
    if !compiler.is_ok_and(|output| output.status.success()) {
        return skipped("there is no C++ compiler for libFuzzer (apt-get install g++)");
    }
    fuzz::fuzz(root, fuzz::Length::Repeatable(SECONDS), &[])
}

fn miri(runner: &Runner, metadata: &Metadata) -> Result<Tally> {
    if !runner.has(&["miri", "--version"]) {
        return skipped("Miri is not installed for this toolchain (it comes with nightly)");
    }
    let mut command = with(&["miri", "test", "--no-fail-fast"]);
    for package in FOR_MIRI {
        command.args(["--package", package]);
    }
    command.env("CARGO_TARGET_DIR", metadata.target.join("miri"));
    runner.tests("Miri", command)
}

/// Package, example and arguments of the marked examples.
fn marked_examples(metadata: &Metadata) -> Result<Vec<(String, String, Vec<String>)>> {
    let mut marked = Vec::new();
    for package in &metadata.packages {
        for example in &package.examples {
            let source = fs::read_to_string(&example.source)?;
            let mark = source.lines().find_map(|line| line.strip_prefix(RUN_MARK));
            let Some(rest) = mark.filter(|rest| rest.is_empty() || rest.starts_with(' ')) else {
                continue;
            };
            let mut arguments = Vec::new();
            if !example.features.is_empty() {
                arguments.push(format!("--features={}", example.features.join(",")));
            }
            arguments.push("--".to_owned());
            arguments.extend(rest.split_whitespace().map(str::to_owned));
            marked.push((package.name.clone(), example.name.clone(), arguments));
        }
    }
    Ok(marked)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_a_few_second_tries_fail_the_run() {
        let failed = |count: usize| {
            let mut all = Tally {
                second_tries: vec!["a".to_owned(); count],
                ..Tally::default()
            };
            check_second_tries(&mut all);
            all.failed
        };
        assert_eq!((failed(5), failed(6)), (0, 1));
    }
}
