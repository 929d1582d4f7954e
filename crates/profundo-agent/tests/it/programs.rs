//! Small programs to launch, compiled when they are needed.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

/// Says that something could not be tested here.
pub fn skip(why: &str) {
    if let Some(path) = std::env::var_os("PROFUNDO_SKIP_FILE") {
        let file = fs::OpenOptions::new().append(true).create(true).open(path);
        writeln!(file.unwrap(), "skipped: {why}").unwrap();
    }
}

/// Compiles a program. `None`: there is no compiler.
pub fn compile(name: &str, source: &str, options: &[&str]) -> Option<PathBuf> {
    // Tests run at the same time, and some want the same program.
    static MADE: Mutex<Vec<String>> = Mutex::new(Vec::new());
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    let is_cpp = source.contains("#include <iostream>") || source.contains("#include <exception>");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("programs");
    fs::create_dir_all(&folder).unwrap();
    let file = folder.join(format!("{name}.{}", if is_cpp { "cc" } else { "c" }));
    let program = folder.join(name);
    if made.iter().any(|made| made == name) {
        return Some(program);
    }
    fs::write(&file, source).unwrap();
    let compiler = if is_cpp { "g++" } else { "gcc" };
    let output = Command::new(compiler)
        .args(["-O1", "-g", "-w", "-pthread", "-o"])
        .arg(&program)
        .arg(&file)
        .args(options)
        .output();
    let Ok(output) = output else {
        skip(&format!("there is no {compiler}"));
        return None;
    };
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{name}: {errors}");
    made.push(name.to_owned());
    Some(program)
}

/// Compiles a program or returns.
#[macro_export]
macro_rules! program {
    ($name:expr, $source:expr) => {
        match $crate::programs::compile($name, $source, &[]) {
            Some(program) => std::process::Command::new(program),
            None => return,
        }
    };
}

/// The Pythons of this machine, with their minor versions.
pub fn pythons() -> Vec<(u8, PathBuf)> {
    let home = std::env::var_os("HOME").unwrap_or_default();
    let versions = Path::new(&home).join(".pyenv/versions");
    let mut found: Vec<PathBuf> = fs::read_dir(versions)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path().join("bin/python3"))
        .collect();
    found.push("/usr/bin/python3".into());
    let minor = |path: &PathBuf| {
        let code = "import sys; print(sys.version_info[1])";
        let output = Command::new(path).args(["-c", code]).output().ok()?;
        String::from_utf8_lossy(&output.stdout).trim().parse().ok()
    };
    let mut pythons: Vec<(u8, PathBuf)> = found
        .into_iter()
        .filter_map(|path| Some((minor(&path)?, path)))
        .filter(|&(minor, _)| minor >= 8)
        .collect();
    pythons.sort();
    if pythons.is_empty() {
        skip("there is no Python 3.8 or later");
    }
    pythons
}
