//! Small programs to launch, compiled when they are needed.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use profundo_testing as testing;

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
    let options = [&["-O1", "-g", "-w", "-pthread"], options].concat();
    let program = testing::compile(compiler, &file, &program, &options)?;
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
    let present = testing::pythons().iter();
    let pythons: Vec<(u8, PathBuf)> = present
        .map(|python| (python.version.1 as u8, python.path.clone()))
        .collect();
    if pythons.is_empty() {
        testing::skip("there is no Python 3.8 or later");
    }
    pythons
}
