//! The programs that are profiled: sources in `e2e/targets`, compiled when they are first wanted
//! by whatever compiler this machine has, and interpreters that it has.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, OnceLock, PoisonError};

use profundo_e2e::sys::skip;

/// Where a source lies.
pub fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("targets")
        .join(name)
}

/// A folder for what is compiled and for what the targets make.
pub fn scratch() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("command");
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// A C program; `None`, and skipped, where it cannot be compiled.
pub fn c(name: &str, flags: &[&str]) -> Option<PathBuf> {
    let usual = ["-O1", "-g", "-pthread", "-Wall"];
    compiled("gcc", name, &[&usual, flags].concat(), &["-ldl"])
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
        run("go", command)
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
        run(compiler, command)
    })
}

fn run(compiler: &str, mut command: Command) -> Result<(), String> {
    match command.output() {
        Err(error) => Err(format!("{compiler}: {error}")),
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            // What these lack is a library that no test can bring.
            let lacks = [
                "cannot find -l",
                "No such file or directory",
                "unrecognized",
            ];
            assert!(
                lacks.iter().any(|what| said.contains(what)),
                "{command:?}: {said}"
            );
            let why = said.lines().next().unwrap_or("cannot compile");
            Err(format!("{compiler}: {why}"))
        }
    }
}

type Built = HashMap<PathBuf, Result<(), String>>;

/// Builds a file once, and says why it could not be built each time it is asked for.
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

/// Where a program lies on the path; `None`, and skipped, where there is none.
pub fn tool(name: &str) -> Option<PathBuf> {
    let found = found(name);
    if found.is_none() {
        skip(&format!("there is no {name}"));
    }
    found
}

fn found(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|folder| folder.join(name))
        .find(|file| file.is_file())
}

/// A CPython.
#[derive(Debug, Clone)]
pub struct Python {
    pub path: PathBuf,
    /// As in `(3, 12)`.
    pub version: (u32, u32),
}

impl Python {
    /// Whether code objects know columns.
    pub fn has_columns(&self) -> bool {
        self.version >= (3, 11)
    }

    /// Whether it can import a module.
    pub fn has(&self, module: &str) -> bool {
        let mut command = Command::new(&self.path);
        command.args(["-c", &format!("import {module}")]);
        command.output().is_ok_and(|output| output.status.success())
    }
}

/// Every CPython that is present and supported, oldest first: pyenv's, the system's, and those
/// whose executables `PROFUNDO_E2E_PYTHONS` names, with colons between.
pub fn pythons() -> &'static [Python] {
    static PRESENT: OnceLock<Vec<Python>> = OnceLock::new();
    PRESENT.get_or_init(|| {
        let mut paths: Vec<PathBuf> = Vec::new();
        if let Some(named) = std::env::var_os("PROFUNDO_E2E_PYTHONS") {
            paths.extend(std::env::split_paths(&named));
        } else {
            let home = std::env::var_os("HOME")
                .map(PathBuf::from)
                .unwrap_or_default();
            let versions = fs::read_dir(home.join(".pyenv/versions"))
                .into_iter()
                .flatten();
            paths.extend(
                versions
                    .flatten()
                    .map(|version| version.path().join("bin/python3")),
            );
            paths.extend(std::env::var_os("PROFUNDO_PYTHON_314").map(PathBuf::from));
            paths.extend((8..=20).map(|minor| format!("/usr/bin/python3.{minor}").into()));
        }
        let mut present: Vec<Python> = paths.into_iter().filter_map(asked).collect();
        present.sort_by(|a, b| (a.version, &a.path).cmp(&(b.version, &b.path)));
        present
    })
}

fn asked(path: PathBuf) -> Option<Python> {
    let question = "import sys; print(sys.implementation.name, *sys.version_info[:2])";
    let output = Command::new(&path).args(["-c", question]).output().ok()?;
    let answer = String::from_utf8_lossy(&output.stdout).into_owned();
    let words: Vec<&str> = answer.split_whitespace().collect();
    let &["cpython", major, minor] = &words[..] else {
        return None;
    };
    let version = (major.parse().ok()?, minor.parse().ok()?);
    ((3, 8)..(3, 15))
        .contains(&version)
        .then_some(Python { path, version })
}

/// Whether `PROFUNDO_E2E_ALL` asks for everything, however long it takes.
pub fn wants_all() -> bool {
    std::env::var_os("PROFUNDO_E2E_ALL").is_some()
}

/// The Pythons that a target is tried on. All of them take too long for every day, so each
/// target has one, by its name, and all of them together have every version.
pub fn pythons_for(target: &str) -> Vec<Python> {
    let present = pythons();
    if present.is_empty() {
        skip("there is no CPython from 3.8 to 3.14");
        return Vec::new();
    }
    if wants_all() {
        return present.to_vec();
    }
    let number: usize = target.bytes().map(usize::from).sum();
    vec![present[number % present.len()].clone()]
}

/// The same with one more: the one of this version, if it is here.
pub fn one_more(version: (u32, u32), mut versions: Vec<Python>) -> Vec<Python> {
    let is_it = |python: &Python| python.version == version;
    if !versions.iter().any(is_it) {
        versions.extend(pythons().iter().find(|it| is_it(it)).cloned());
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
    let ours = asked(packages.join("bin/python"));
    let mut candidates = ours.into_iter().chain(pythons().iter().cloned());
    let found = candidates.find(|python| python.has(module));
    if found.is_none() {
        skip(&format!("no Python here has {module}"));
    }
    found
}
