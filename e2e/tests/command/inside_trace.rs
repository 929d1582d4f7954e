//! `attach --trace`: the calls, lines and exceptions of a Python program that runs already are
//! counted from the entry on, and the interpreter is left as it was.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

use profundo_testing::{profundo, skip, wait_for};
use serde_json::Value;

use crate::attach::Running;
use crate::calls::{calls_of, report, text};
use crate::program::alone;
use crate::targets::{pythons_for, scratch, source, with_version};

/// The number of calls that the program is asked for.
const COUNT: u64 = 1000;
/// Its own threads, one that is new, and its child.
const CALLERS: u64 = 5;

fn start(python: &std::path::Path, program: &str, words: &[&str]) -> Running {
    let mut command = Command::new(python);
    command.arg(source(program)).args(words);
    Running::start(command)
}

fn attach(pid: &str, options: &[&str]) -> (PathBuf, Command) {
    let recording = scratch().join("inside-trace.profundo");
    let _ = fs::remove_file(&recording);
    let mut command = Command::new(profundo());
    command.args(["attach", pid]).args(options).arg("-o");
    command.arg(&recording).stdin(Stdio::null());
    (recording, command)
}

/// A recorder that counts in a program until it is told to end. `None`, and skipped: the machine
/// does not permit it.
fn counting(pid: &str, options: &[&str]) -> Option<(PathBuf, Child)> {
    let (recording, mut command) = attach(pid, options);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let is_there = wait_for("the entry", || {
        if recording.exists() {
            return Some(true);
        }
        child.try_wait().unwrap().map(|_| false)
    });
    if is_there {
        return Some((recording, child));
    }
    let output = child.wait_with_output().unwrap();
    let said = text(&output.stderr);
    assert!(said.contains("ptrace"), "{said}");
    skip("no other process may be entered here");
    None
}

fn end(child: Child) -> Output {
    // SAFETY: a signal to our own child.
    unsafe { libc::kill(child.id() as i32, libc::SIGINT) };
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    output
}

/// A row of the table of calls.
fn row<'a>(table: &'a Value, name: &str) -> Option<&'a Value> {
    let groups = table["groups"].as_array().unwrap().iter();
    let mut rows = groups.flat_map(|group| group["functions"].as_array().unwrap());
    rows.find(|row| row["function"] == name)
}

/// Has the program work while it is counted. Returns the recording and what was said.
fn count(running: &mut Running, options: &[&str]) -> Option<(PathBuf, String)> {
    let (recording, child) = counting(&running.pid(), options)?;
    running.say(&format!("{COUNT}\n"));
    running.until("done\n");
    let output = end(child);
    let said = text(&output.stderr);
    assert!(said.contains("was entered"), "{said}");
    assert!(!said.contains("goes on reporting"), "{said}");
    Some((recording, text(&output.stdout)))
}

fn tools(version: (u32, u32)) -> &'static str {
    match version >= (3, 12) {
        true => "[None, None, None, None, None, None] False\n",
        false => "[None, None] False\n",
    }
}

#[test]
fn calls_that_begin_after_the_entry_are_counted() {
    for version in pythons_for("counts_inside.py, calls") {
        for (words, options) in [
            (&[][..], &["--trace"][..]),
            (&["busy"], &["--trace", "--no-builtins"]),
        ] {
            let _alone = alone();
            let mut running = start(&version.path, "counts_inside.py", words);
            let Some((recording, printed)) = count(&mut running, options) else {
                return;
            };
            let table = report(&recording, "trace");
            let calls = |name| calls_of(&table, name);
            assert_eq!(calls("leaf"), CALLERS * COUNT, "{version:?}: {printed}");
            assert_eq!(calls("caller"), CALLERS, "{version:?}: {printed}");
            assert_eq!(calls("step"), COUNT, "{version:?}: {printed}");
            assert_eq!(calls("in_child"), 1, "{version:?}: {printed}");
            // These ran before.
            for name in ["main", "worker", "endless"] {
                let row = row(&table, name).unwrap_or_else(|| panic!("{name}: {printed}"));
                assert_eq!(row["calls"], 0, "{version:?}, {name}: {printed}");
            }
            let resumes = &row(&table, "endless").unwrap()["resumes"];
            assert_eq!(resumes, COUNT, "{version:?}: {printed}");
            let expected = tools(version.version).to_owned();
            assert_eq!(running.end(), (expected, Some(7)), "{version:?}");
        }
    }
}
