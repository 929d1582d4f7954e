//! The handler on threads of a living interpreter, ten thousand times a second, while it does
//! everything that moves its stacks. Each stack must be one that the program can have.
//!
//! For each version a child process runs this test's executable again, loads the interpreter's
//! library and works in there, for `PROFUNDO_PYTHON_SECONDS`; a soak takes minutes.

mod child;
mod clock;
mod modules;
mod verify;

use std::path::PathBuf;
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use profundo_testing::{pyenv_folders, skip};

const LIBRARY: &str = "PROFUNDO_TEST_PYTHON_LIBRARY";
const SECONDS: &str = "PROFUNDO_PYTHON_SECONDS";

fn library(minor: u8) -> Option<PathBuf> {
    let name = format!("lib/libpython3.{minor}.so.1.0");
    let folders = pyenv_folders().into_iter();
    let mut found = folders.map(|(_, folder)| folder.join(&name));
    found.rfind(|path| path.exists())
}

fn seconds() -> f64 {
    let seconds = std::env::var(SECONDS).ok();
    seconds.and_then(|text| text.parse().ok()).unwrap_or(1.0)
}

/// The child: does nothing in an ordinary run.
#[test]
fn inside() {
    if let Some(library) = std::env::var_os(LIBRARY) {
        let library = PathBuf::from(library);
        let name = library.file_name().unwrap().to_str().unwrap();
        let minor = name.split('.').nth(1).unwrap().parse().unwrap();
        child::main(&library, minor, seconds());
    }
}

/// One at a time: they would only take each other's CPUs.
static TURN: Mutex<()> = Mutex::new(());

fn check(minor: u8) {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(library) = library(minor) else {
        skip(&format!("no libpython3.{minor}.so.1.0 is installed"));
        return;
    };
    let output = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "python::inside",
            "--nocapture",
            "--test-threads=1",
        ])
        .env(LIBRARY, &library)
        .env("PYTHONHOME", library.ancestors().nth(2).unwrap())
        .env("PYTHONNOUSERSITE", "1")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {text}{errors}", output.status);
    if let Some(why) = text.lines().find(|line| line.starts_with("skipped")) {
        skip(why);
        return;
    }
    let result = text.lines().find_map(|line| line.strip_prefix("result "));
    let result: Vec<f64> = result
        .unwrap()
        .split(' ')
        .map(|number| number.parse().unwrap())
        .collect();
    let [
        samples,
        impossible,
        python_broken,
        native_broken,
        homeless,
        misplaced,
        missing,
        deep,
        cut,
    ] = result[..]
    else {
        panic!("{result:?}");
    };
    assert!(samples > 300.0, "{text}");
    assert!(impossible == 0.0, "{text}");
    assert!(python_broken <= 2.0 + samples * 0.001, "{text}");
    assert!(native_broken <= 2.0 + samples * 0.002, "{text}");
    assert!(homeless <= 2.0 + samples * 0.001, "{text}");
    assert!(misplaced == 0.0 && missing == 0.0, "{text}");
    // Deep recursion takes a while.
    assert!(cut > deep * 0.8 && deep > 20.0, "{text}");
}

#[test]
fn possible_stacks_in_3_8() {
    check(8);
}

#[test]
fn possible_stacks_in_3_9() {
    check(9);
}

#[test]
fn possible_stacks_in_3_10() {
    check(10);
}

#[test]
fn possible_stacks_in_3_11() {
    check(11);
}

#[test]
fn possible_stacks_in_3_12() {
    check(12);
}

#[test]
fn possible_stacks_in_3_13() {
    check(13);
}
