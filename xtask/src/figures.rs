//! Runs the benchmarks, one after another, and lists missed targets at the end.
//!
//! Each of them closes with lines `name: value (target …)`, which [`target`] reads. The list is run
//! by hand, on an idle machine: figures of a busy one say little.

mod target;

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};

use crate::metadata;
use target::{Line, Verdict};

/// A benchmark: its binary, and its arguments. `PROFUNDO` is the command.
struct Benchmark {
    name: &'static str,
    binary: &'static str,
    arguments: &'static [&'static str],
}

const fn benchmark(
    name: &'static str,
    binary: &'static str,
    arguments: &'static [&'static str],
) -> Benchmark {
    Benchmark {
        name,
        binary,
        arguments,
    }
}

/// About half an hour in all.
const LIST: [Benchmark; 11] = [
    benchmark(
        "command",
        "command",
        &["--alone", "--pairs", "7", "PROFUNDO"],
    ),
    benchmark(
        "servers",
        "servers",
        &["--alone", "--rounds", "5", "PROFUNDO"],
    ),
    benchmark("in-step", "in_step", &["PROFUNDO"]),
    benchmark("in-step-library", "in_step", &["--runs", "20", "library"]),
    benchmark("overhead", "overhead", &["--pairs", "7"]),
    benchmark("witness", "witness", &[]),
    benchmark("walk", "walk", &[]),
    benchmark("accuracy", "accuracy", &[]),
    benchmark("aggregate", "aggregate", &[]),
    benchmark("footprint", "footprint", &[]),
    benchmark("allocations", "allocations", &[]),
];

/// Runs the named ones, or all; returns whether each target was met.
pub fn run(root: &Path, names: &[&str]) -> Result<bool> {
    let known = |name: &&str| LIST.iter().any(|benchmark| benchmark.name == *name);
    if let Some(unknown) = names.iter().find(|name| !known(name)) {
        let all: Vec<&str> = LIST.iter().map(|benchmark| benchmark.name).collect();
        bail!(
            "there is no benchmark {unknown}: they are {}",
            all.join(", ")
        );
    }
    let build = [
        "build",
        "--release",
        "-p",
        "profundo-cli",
        "-p",
        "profundo-bench",
    ];
    let status = metadata::cargo().args(build).current_dir(root).status()?;
    ensure!(status.success(), "the release build has failed");
    let binaries = metadata::load(root)?.target.join("release");
    let began = Instant::now();
    let mut lines = Vec::new();
    for one in &LIST {
        if names.is_empty() || names.contains(&one.name) {
            println!("\n== {}", one.name);
            lines.extend(run_one(one, &binaries)?);
        }
    }
    Ok(summary(&lines, began))
}

/// Runs one benchmark, shows its output as it comes, and returns its closing lines.
fn run_one(one: &Benchmark, binaries: &Path) -> Result<Vec<Line>> {
    let profundo = binaries.join("profundo");
    let mut command = Command::new(binaries.join(one.binary));
    for &argument in one.arguments {
        match argument {
            "PROFUNDO" => command.arg(&profundo),
            argument => command.arg(argument),
        };
    }
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot run {}", one.binary))?;
    let mut lines = Vec::new();
    if let Some(output) = child.stdout.take() {
        for line in BufReader::new(output).lines() {
            let line = line?;
            println!("{line}");
            lines.extend(Line::read(&line));
        }
    }
    ensure!(child.wait()?.success(), "{} has failed", one.name);
    Ok(lines)
}

/// Prints the missed targets; returns whether there are none.
fn summary(lines: &[Line], began: Instant) -> bool {
    let of = |wanted: Verdict| lines.iter().filter(move |line| line.verdict == wanted);
    println!(
        "\n{} figures in {} minutes: {} met their targets, {} have none",
        lines.len(),
        began.elapsed().as_secs().div_ceil(60),
        of(Verdict::Met).count(),
        of(Verdict::None).count()
    );
    for line in of(Verdict::Missed) {
        println!(
            "missed: {}: {} (target {})",
            line.name, line.value, line.target
        );
    }
    of(Verdict::Missed).next().is_none()
}
