//! Fuzzing: every reader of foreign bytes with inputs of libFuzzer's, one after the other. All of
//! them are one program, which any compiler builds.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

use crate::metadata::{self, cargo};
use crate::test::tally::Tally;

/// What libFuzzer needs to see which code an input has reached.
const COVERAGE: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
    -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares -Cdebug-assertions -Ccodegen-units=4";

/// How long each target runs.
#[derive(Debug, Clone, Copy)]
pub enum Length {
    /// All of them together, in seconds, and always through the same inputs: what passed once
    /// passes again.
    Repeatable(u64),
    /// All of them together, in seconds.
    Seconds(u64),
    /// Each of them, in inputs.
    Runs(u64),
}

/// `cargo xtask fuzz [--seconds N | --repeatable N | --runs N] [TARGET…]`.
pub fn run(root: &Path, arguments: &[&str]) -> Result<bool> {
    let (mut length, mut names) = (Length::Seconds(300), Vec::new());
    let mut rest = arguments.iter();
    while let Some(&argument) = rest.next() {
        let mut number = || -> Result<u64> {
            let number = rest.next().context("a number is missing")?;
            Ok(number.parse()?)
        };
        match argument {
            "--seconds" => length = Length::Seconds(number()?),
            "--repeatable" => length = Length::Repeatable(number()?),
            "--runs" => length = Length::Runs(number()?),
            _ if argument.starts_with('-') => bail!("{argument} is not known"),
            name => names.push(name),
        }
    }
    let tally = fuzz(root, length, &names)?;
    println!("{}", tally.closing_line());
    Ok(tally.failed == 0)
}

/// Fuzzes the targets of these names, or all.
pub fn fuzz(root: &Path, length: Length, names: &[&str]) -> Result<Tally> {
    let target = metadata::load(root)?.target.join("fuzz");
    let program = build(root, &target)?;
    let all = targets(root)?;
    let chosen: Vec<&String> = (all.iter())
        .filter(|name| names.is_empty() || names.iter().any(|wanted| name.ends_with(wanted)))
        .collect();
    ensure!(!chosen.is_empty(), "the targets are {}", all.join(", "));
    let mut tally = Tally::default();
    for name in &chosen {
        let limit = match length {
            Length::Seconds(all) | Length::Repeatable(all) => {
                format!("-max_total_time={}", (all / chosen.len() as u64).max(1))
            }
            Length::Runs(runs) => format!("-runs={runs}"),
        };
        let corpus = corpus(root, &target, name)?;
        let mut command = Command::new(&program);
        if let Some(folder) = name.strip_prefix("import:") {
            command.env("PROFUNDO_SEEDS", root.join(SEEDS).join(folder));
        }
        if let Length::Repeatable(_) = length {
            command.arg("-seed=1");
        }
        let output = command
            .args([
                &limit,
                "-timeout=30",
                "-rss_limit_mb=3000",
                "-max_len=65536",
            ])
            .arg("-print_final_stats=1")
            .arg(format!("-artifact_prefix={}/", target.display()))
            .arg(&corpus)
            .env("PROFUNDO_TARGET", name)
            .stdin(Stdio::null())
            .output()
            .context("cannot run the fuzzer")?;
        let text = String::from_utf8_lossy(&output.stderr);
        let figure = |what: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(what));
            line.map_or("?", str::trim).to_owned()
        };
        let runs = figure("stat::number_of_executed_units:");
        let peak = figure("stat::peak_rss_mb:");
        println!("{name}: {runs} inputs, at most {peak} MB");
        if !output.status.success() {
            let tail: Vec<&str> = text.lines().rev().take(40).collect();
            tail.iter().rev().for_each(|line| println!("  {line}"));
        }
        tally.check(&format!("fuzz {name}"), output.status.success());
    }
    Ok(tally)
}

fn build(root: &Path, target: &Path) -> Result<PathBuf> {
    const MACHINE: &str = "x86_64-unknown-linux-gnu";
    let built = cargo()
        .args(["build", "--release", "--bin", "chosen", "--target", MACHINE])
        .arg("--manifest-path")
        .arg(root.join("fuzz/Cargo.toml"))
        .env("CARGO_TARGET_DIR", target)
        .env("RUSTFLAGS", COVERAGE)
        .status()?;
    ensure!(built.success(), "the fuzzer does not build");
    Ok(target.join(MACHINE).join("release/chosen"))
}

/// The names of all targets: those with a folder of seeds, and the readers of each tool's files.
fn targets(root: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(root.join("fuzz/corpus"))? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    for entry in fs::read_dir(root.join(SEEDS))? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        names.push(format!("import:{name}"));
    }
    names.sort();
    Ok(names)
}

/// The files of other tools, a folder for each.
const SEEDS: &str = "testdata/import";

/// The folder that a target begins with, and where it puts what reaches more code: a copy of the
/// seeds in the repository.
fn corpus(root: &Path, target: &Path, name: &str) -> Result<PathBuf> {
    let from = match name.strip_prefix("import:") {
        Some(folder) => root.join(SEEDS).join(folder),
        None => root.join("fuzz/corpus").join(name),
    };
    let corpus = target.join("corpus").join(name.replace(':', "-"));
    fs::create_dir_all(&corpus)?;
    copy_seeds(&from, &corpus)?;
    Ok(corpus)
}

/// Copies the seeds of a folder and of those below it.
fn copy_seeds(from: &Path, corpus: &Path) -> Result<()> {
    for entry in fs::read_dir(from)? {
        let path = entry?.path();
        if path.is_dir() {
            copy_seeds(&path, corpus)?;
            continue;
        }
        let folder = from.file_name().context("a folder has a name")?;
        let file = path.file_name().context("a file has a name")?;
        let mut name = folder.to_owned();
        name.push("-");
        name.push(file);
        unpack(&path, &corpus.join(name))?;
    }
    Ok(())
}

/// Copies a seed. Targets take files that are unpacked.
fn unpack(path: &Path, seed: &Path) -> Result<()> {
    let tool = match path.extension().and_then(|ending| ending.to_str()) {
        Some("gz") => "gzip",
        Some("zst") => "zstd",
        _ => {
            fs::copy(path, seed)?;
            return Ok(());
        }
    };
    let unpacked = Command::new(tool).arg("-dc").arg(path).output();
    match unpacked {
        Ok(unpacked) if unpacked.status.success() => fs::write(seed, unpacked.stdout)?,
        _ => drop(fs::copy(path, seed)?),
    }
    Ok(())
}
