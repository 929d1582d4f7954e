//! The profiled programs: sources in `e2e/targets`, compiled on demand by this machine's compilers,
//! and its interpreters.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, OnceLock, PoisonError};

use profundo_testing::{Python, pythons, run_compiler, skip};
pub use profundo_testing::{pythons_for, wants_all_pythons};

/// The path of a source.
pub fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("targets")
        .join(name)
}

/// A folder for compiled targets and their files.
pub fn scratch() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("command");
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// A C program; `None`, and skipped, where it cannot be compiled. The whole suite can be run with
/// another compiler for them than gcc, as `musl-gcc`: `PROFUNDO_E2E_CC` names it.
pub fn c(name: &str, flags: &[&str]) -> Option<PathBuf> {
    let usual = ["-O1", "-g", "-pthread", "-Wall"];
    let compiler = std::env::var("PROFUNDO_E2E_CC").unwrap_or_else(|_| "gcc".to_owned());
    // Built programs are kept by their flags.
    let mark = format!("-DBY_{}", compiler.replace('-', "_"));
    let usual = [&[&*mark], &usual[..]].concat();
    compiled(&compiler, name, &[&usual, flags].concat(), &["-ldl"])
}

/// A C++ program.
pub fn cpp(name: &str, flags: &[&str]) -> Option<PathBuf> {
    let usual = ["-O1", "-g", "-pthread", "-Wall", "-std=c++17"];
    compiled("g++", name, &[&usual, flags].concat(), &["-ldl"])
}

/// A Rust program.
pub fn rust(name: &str) -> Option<PathBuf> {
    let flags = ["--edition=2021", "-Copt-level=1", "-Cdebuginfo=1"];
    compiled("rustc", name, &flags, &[])
}

/// A program by this compiler, with no other flags than these.
pub fn by(compiler: &str, name: &str, flags: &[&str]) -> Option<PathBuf> {
    let last: &[&str] = if compiler == "rustc" { &[] } else { &["-ldl"] };
    compiled(compiler, name, flags, last)
}

/// A Go program, linked with the C library or not.
pub fn go(name: &str, with_c: bool) -> Option<PathBuf> {
    let mut command = Command::new("go");
    command
        .env("CGO_ENABLED", if with_c { "1" } else { "0" })
        .env("GOFLAGS", "-mod=mod")
        .env("GO111MODULE", "off")
        .args(["build"]);
    let tag = if with_c { "c" } else { "static" };
    once(name, tag, |output| {
        command.arg("-o").arg(output).arg(source(name));
        run_compiler(command)
    })
}

fn compiled(compiler: &str, name: &str, flags: &[&str], last: &[&str]) -> Option<PathBuf> {
    once(name, &flags.join(" "), |output| {
        let mut command = Command::new(compiler);
        // Libraries come after what needs them.
        command.arg("-o").arg(output).arg(source(name)).args(flags);
        if compiler != "rustc" {
            command.args(last);
        }
        run_compiler(command)
    })
}

type Built = HashMap<PathBuf, Result<(), String>>;

/// Builds a file once. Each later call returns the same path, or skips for the same reason.
fn once(name: &str, how: &str, build: impl FnOnce(&Path) -> Result<(), String>) -> Option<PathBuf> {
    static BUILT: OnceLock<Mutex<Built>> = OnceLock::new();
    let tag: String = how
        .chars()
        .filter(|letter| letter.is_ascii_alphanumeric())
        .collect();
    let stem = Path::new(name).file_stem().unwrap().to_string_lossy();
    // Flags that name folders are longer than a folder's name may be.
    let tag: String = tag.chars().take(60).collect();
    let folder = scratch().join(format!("{tag}.built"));
    fs::create_dir_all(&folder).unwrap();
    let output = folder.join(&*stem);
    let mut built = BUILT
        .get_or_init(Mutex::default)
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    let outcome = built
        .entry(output.clone())
        .or_insert_with(|| build(&output));
    match outcome {
        Ok(()) => Some(output),
        Err(why) => {
            skip(&format!("{name}: {why}"));
            None
        }
    }
}

/// The given Pythons and the one of this version, if it is present.
pub fn with_version(version: (u32, u32), mut versions: Vec<Python>) -> Vec<Python> {
    let is_wanted = |python: &Python| python.version == version;
    if !versions.iter().any(is_wanted) {
        versions.extend(pythons().iter().find(|python| is_wanted(python)).cloned());
    }
    versions
}

/// A Python that has this package, from the environment that `.ci/run` makes or any other.
pub fn python_with(module: &str) -> Option<Python> {
    let packages = match std::env::var_os("PROFUNDO_E2E_PACKAGES") {
        Some(folder) => PathBuf::from(folder),
        None => {
            let tests = Path::new(env!("CARGO_TARGET_TMPDIR"));
            tests.parent().unwrap().join("e2e-packages")
        }
    };
    let ours = Python::at(packages.join("bin/python"));
    let mut candidates = ours.into_iter().chain(pythons().iter().cloned());
    let found = candidates.find(|python| python.has(module));
    if found.is_none() {
        skip(&format!("no Python here has {module}"));
    }
    found
}
