//! Counted calls and lines of Python programs: equal to the counts of Python's own tools, and the
//! program ends as it does without the profiler.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use profundo_testing::profundo;
use serde_json::Value;

use crate::program::alone;
use crate::targets::{pythons_for, scratch, source, with_version};

pub fn run(command: &mut Command) -> Output {
    command.stdin(Stdio::null()).output().unwrap()
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Runs a program as it is and traced; both must print the same and end alike.
pub fn traced(python: &Path, options: &[&str], words: &[&str]) -> (PathBuf, Output) {
    let recording = scratch().join("calls.profundo");
    let script = source(words[0]);
    let plain = run(Command::new(python).arg(&script).args(&words[1..]));
    let mut command = Command::new(profundo());
    command.arg("trace").args(options).arg("-o").arg(&recording);
    command.arg("--").arg(python).arg(&script).args(&words[1..]);
    let output = run(&mut command);
    assert_eq!(output.status, plain.status, "{output:?}");
    assert_eq!(output.stdout, plain.stdout, "{output:?}");
    let (programs, all) = (text(&plain.stderr), text(&output.stderr));
    assert!(all.starts_with(&programs), "{all}");
    (recording, output)
}

fn exported(recording: &Path, format: &str) -> PathBuf {
    let file = recording.with_extension(format);
    let mut command = Command::new(profundo());
    command
        .args(["export", "--to", format, "-o"])
        .arg(&file)
        .arg(recording);
    let output = run(&mut command);
    assert!(output.status.success(), "{output:?}");
    file
}

pub fn report(recording: &Path, view: &str) -> Value {
    let mut command = Command::new(profundo());
    let output = run(command.arg("report").arg(recording).args([view, "--json"]));
    serde_json::from_slice(&output.stdout).unwrap_or_else(|why| panic!("{why}: {output:?}"))
}

/// The number of rows that are equal to those of Python's own tools. A different one fails.
fn equal_rows(python: &Path, what: &str, ours: &Path) -> usize {
    let mut command = Command::new(python);
    command.arg(source("calls_truth.py")).arg(what);
    let output = run(command.arg(source("calls.py")).arg(ours));
    let said = text(&output.stdout);
    assert!(output.status.success(), "{output:?}");
    assert!(!said.contains("differs"), "{}: {said}", python.display());
    said.trim().strip_prefix("equal ").unwrap().parse().unwrap()
}

#[test]
fn calls_are_counted_as_cprofile_counts_them() {
    for version in pythons_for("calls.py against cProfile") {
        let _alone = alone();
        let (recording, _) = traced(&version.path, &[], &["calls.py"]);
        let ours = exported(&recording, "pstats");
        assert!(equal_rows(&version.path, "calls", &ours) > 90);
    }
}

/// Whether cProfile can leave out C functions (`builtins=False`).
const COUNTS_PYTHON_ALONE: &str = "(lambda profile: (profile.enable(), len([]), profile.disable(), \
    not any(isinstance(row.code, str) for row in profile.getstats()))[-1])\
    (__import__('cProfile').Profile(builtins=False))";

#[test]
fn calls_of_python_alone_are_counted_as_cprofile_counts_them() {
    // 3.11 has a way of its own.
    let versions = pythons_for("calls.py without functions of C's");
    for version in with_version((3, 11), versions) {
        let _alone = alone();
        for words in [&["calls.py"][..], &["calls.py", "threads"]] {
            let (recording, _) = traced(&version.path, &["--no-builtins"], words);
            let ours = exported(&recording, "pstats");
            if words.len() == 1 {
                // From 3.14 on, cProfile counts functions of C's in any case.
                let is_obeyed = version.answers(COUNTS_PYTHON_ALONE);
                assert!(!is_obeyed || equal_rows(&version.path, "python", &ours) > 70);
            } else {
                assert_eq!(named_threads(&recording), 5);
                let fib = calls_of(&report(&recording, "trace"), "fib");
                // fib(12), fib(3) five times, fib(2) and (1) twice; then five times fib(10) and
                // three times fib(5).
                assert!(fib >= 465 + 5 * 177 + 3 * 15, "{fib}");
            }
        }
    }
}

#[test]
fn another_allocator_is_no_obstacle() {
    for version in with_version((3, 12), pythons_for("calls_ends.py, PYTHONMALLOC")) {
        let _alone = alone();
        // A build that can run without the lock has one allocator.
        let one = version.answers("__import__('sysconfig').get_config_var('Py_GIL_DISABLED')");
        let allocators: &[&str] = if one {
            &["debug"]
        } else {
            &["malloc", "debug"]
        };
        for allocator in allocators {
            let recording = scratch().join("allocator.profundo");
            let mut command = Command::new(profundo());
            command.env("PYTHONMALLOC", allocator);
            command.args(["trace", "-o"]).arg(&recording).arg("--");
            command.arg(&version.path).arg(source("calls_ends.py"));
            let output = run(command.arg("exit"));
            assert_eq!(output.status.code(), Some(3), "{output:?}");
            assert_eq!(calls_of(&report(&recording, "trace"), "work"), 1);
        }
    }
}

/// Where a call from Python to Python takes none of the machine's stack, a recursion can be as deep
/// as without the profiler.
#[test]
fn recursion_is_as_deep_as_without_the_profiler() {
    for version in with_version((3, 11), pythons_for("calls_ends.py, deep")) {
        let _alone = alone();
        for how in ["deep", "deeper", "deep-threads", "profiler"] {
            let words = ["calls_ends.py", how];
            let (recording, output) = traced(&version.path, &["--no-builtins"], &words);
            let table = report(&recording, "trace");
            let said = text(&output.stderr);
            let expected = match how {
                "deep" => 5001,
                "profiler" => 0,
                // The program prints the number.
                _ => text(&output.stdout)
                    .split_whitespace()
                    .last()
                    .unwrap()
                    .parse()
                    .unwrap(),
            };
            assert_eq!(calls_of(&table, "dive"), expected, "{how}: {said}");
        }
    }
}

#[test]
fn lines_are_counted_as_the_interpreter_reports_them() {
    for version in pythons_for("calls.py, its lines") {
        let _alone = alone();
        for options in [&["--lines"][..], &["--lines", "--cheap"]] {
            let (recording, _) = traced(&version.path, options, &["calls.py"]);
            let ours = exported(&recording, "lprof");
            assert!(equal_rows(&version.path, "lines", &ours) > 90);
        }
    }
}

/// The lines that ran at least once, each with the first line of its function.
fn lines_that_ran(recording: &Path) -> std::collections::BTreeSet<(u64, u64)> {
    let table = report(recording, "lines");
    let functions = table["functions"].as_array().unwrap().iter();
    let lines = functions.flat_map(|function| {
        let first = function["line"].as_u64().unwrap();
        let lines = function["lines"].as_array().unwrap().iter();
        let ran = lines.filter(|line| line["hits"].as_u64() > Some(0));
        ran.map(move |line| (first, line["line"].as_u64().unwrap()))
    });
    lines.collect()
}

#[test]
fn the_lines_that_ran_are_known_without_counting() {
    for version in pythons_for("calls.py, which of its lines") {
        let _alone = alone();
        let ran = |options: &[&str]| {
            let (recording, _) = traced(&version.path, options, &["calls.py"]);
            lines_that_ran(&recording)
        };
        let all = ran(&["--lines"]);
        assert!(all.len() > 80);
        assert_eq!(ran(&["--lines", "--once"]), all);
    }
}

/// The calls of a function, by the report's table.
pub fn calls_of(table: &Value, name: &str) -> u64 {
    let groups = table["groups"].as_array().unwrap().iter();
    let functions = groups.flat_map(|group| group["functions"].as_array().unwrap());
    let named = functions.filter(|function| function["function"] == name);
    named
        .map(|function| function["calls"].as_u64().unwrap())
        .sum()
}

/// The number of threads that have the name that Python gives them.
fn named_threads(recording: &Path) -> usize {
    let mut command = Command::new(profundo());
    command.arg("report").arg(recording);
    let output = run(command.args(["trace", "--groupby", "thread"]));
    let said = text(&output.stdout);
    (1..=5)
        .filter(|number| said.contains(&format!("Thread-{number}")))
        .count()
}

#[test]
fn threads_and_children_count() {
    for version in pythons_for("calls.py threads") {
        let _alone = alone();
        let (recording, _) = traced(&version.path, &[], &["calls.py", "threads"]);
        let with_threads = calls_of(&report(&recording, "trace"), "fib");
        assert_eq!(named_threads(&recording), 5);
        let (recording, _) = traced(&version.path, &[], &["calls.py"]);
        let once = calls_of(&report(&recording, "trace"), "fib");
        // fib(10) is 177 calls, and fib(5) is 15.
        assert_eq!(with_threads - once, 5 * 177 + 3 * 15);
    }
}

#[test]
fn workers_of_multiprocessing_count() {
    for version in pythons_for("calls_pool.py") {
        let _alone = alone();
        let (recording, output) = traced(&version.path, &[], &["calls_pool.py"]);
        let calls = calls_of(&report(&recording, "trace"), "square");
        assert_eq!(calls, 3 * 20, "{output:?}");
    }
}

/// A process waits until there is a place for its counts.
#[test]
fn children_that_live_at_the_same_time_all_count() {
    for version in pythons_for("calls_storm.py") {
        let _alone = alone();
        let (recording, output) = traced(&version.path, &[], &["calls_storm.py", "80"]);
        let calls = calls_of(&report(&recording, "trace"), "dive");
        assert_eq!(calls, 80 * 100, "{output:?}");
    }
}

#[test]
fn calls_are_counted_however_the_program_ends() {
    for version in pythons_for("calls_ends.py") {
        let _alone = alone();
        for how in [
            "exit",
            "_exit",
            "interrupt",
            "error",
            "killed",
            "exec",
            "deep",
            "profiler",
        ] {
            let (recording, output) = traced(&version.path, &[], &["calls_ends.py", how]);
            let table = report(&recording, "trace");
            let said = text(&output.stderr);
            let is_taken = how == "profiler" && said.contains("profiler or tracer of its own");
            let expected = if how == "profiler" && !is_taken { 2 } else { 1 };
            assert_eq!(calls_of(&table, "work"), expected, "{how}: {said}");
            assert!(
                calls_of(&table, "built-in method builtins.abs") >= 1000 * expected,
                "{how}: {said}"
            );
            // Some calls had not ended then.
            assert_eq!(
                said.contains("was killed"),
                how == "killed",
                "{how}: {said}"
            );
            if how == "deep" {
                assert_eq!(calls_of(&table, "dive"), 5001);
            }
        }
    }
}

#[test]
fn marked_functions_are_the_ones_that_are_shown() {
    for version in pythons_for("calls_marked.py") {
        let _alone = alone();
        let recording = scratch().join("marked.profundo");
        let mut command = Command::new(profundo());
        command
            .args(["trace", "--lines", "-o"])
            .arg(&recording)
            .arg("--");
        let output = run(command.arg(&version.path).arg(source("calls_marked.py")));
        assert!(output.status.success(), "{output:?}");
        let table = report(&recording, "lines");
        let functions = table["functions"].as_array().unwrap();
        let hits = |name: &str| -> Vec<u64> {
            let named = functions
                .iter()
                .filter(|function| function["function"] == name);
            let lines = named.flat_map(|function| function["lines"].as_array().unwrap());
            lines
                .filter_map(|line| line["hits"].as_u64())
                .filter(|&hits| hits > 0)
                .collect()
        };
        assert_eq!(functions.len(), 3, "{table:#}");
        assert_eq!(hits("sums"), [2, 15, 13, 2]);
        assert_eq!((hits("method"), hits("of_class")), (vec![1], vec![1]));
    }
}

#[test]
fn functions_are_chosen_by_name_and_file() {
    for version in pythons_for("calls.py, some of its lines") {
        let _alone = alone();
        for (pattern, expected) in [
            ("fib", &["fib"][..]),
            ("calls.py:even", &["even"]),
            (
                "*/calls.py:A.*",
                &[
                    "__init__", "m", "p", "s", "c", "__eq__", "__hash__", "__lt__",
                ],
            ),
            ("other.py", &[]),
        ] {
            let option = format!("--lines={pattern}");
            let (recording, _) = traced(&version.path, &[&option], &["calls.py"]);
            let table = report(&recording, "lines");
            let functions = table["functions"].as_array().map_or(&[][..], Vec::as_slice);
            let mut found: Vec<_> = functions
                .iter()
                .map(|function| function["function"].as_str().unwrap())
                .collect();
            found.sort_unstable();
            let mut expected = expected.to_vec();
            expected.sort_unstable();
            // Qualified names came with 3.11.
            let is_early = version.path.to_string_lossy().contains("/3.8")
                || version.path.to_string_lossy().contains("/3.9")
                || version.path.to_string_lossy().contains("/3.10");
            if !(is_early && pattern.contains("A.")) {
                assert_eq!(found, expected, "{pattern}");
            }
        }
    }
}
