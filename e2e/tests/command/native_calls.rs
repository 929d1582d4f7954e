//! Calls of instrumented native functions: as many as the program is known to make.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use profundo_testing::{profundo, skip};
use serde_json::Value;

use crate::calls::{calls_of, report, run, text};
use crate::counters::clang;
use crate::targets::{by, c, cpp, scratch};

/// The compiler's flags for calls that are reported at both ends.
pub const INSTRUMENTED: &[&str] = &["-finstrument-functions"];

/// The names of a function's callers.
fn callers(table: &Value, name: &str) -> Vec<String> {
    let groups = table["groups"].as_array().unwrap().iter();
    let functions = groups.flat_map(|group| group["functions"].as_array().unwrap());
    let named = functions.filter(|function| function["function"] == name);
    let callers = named.flat_map(|function| function["callers"].as_array().unwrap());
    callers
        .map(|caller| caller["name"].as_str().unwrap().to_owned())
        .collect()
}

/// True if the only caller of a function has this name.
pub fn is_called_by(table: &Value, name: &str, caller: &str) -> bool {
    let callers = callers(table, name);
    matches!(&callers[..], [only] if only.ends_with(&format!("({caller})")))
}

#[test]
fn every_call_is_counted_however_it_ends() {
    if let Some(program) = cpp("known_calls.cpp", INSTRUMENTED) {
        let table = check_known_calls(&program);
        assert!(is_called_by(&table, "after_catch", "catches"));
    }
    let clang = format!("clang++{}", clang().trim_start_matches("clang"));
    let flags = ["-O1", "-g", "-pthread", "-std=c++17", INSTRUMENTED[0]];
    // Its functions do not report their ends when an exception passes.
    if let Some(program) = by(&clang, "known_calls.cpp", &flags) {
        check_known_calls(&program);
    }
}

fn check_known_calls(program: &Path) -> Value {
    let recording = scratch().join("native_calls.profundo");
    let printed = scratch().join("native_calls.spins");
    let plain = run(&mut Command::new(program));
    let mut command = Command::new(profundo());
    command.args(["trace", "-o"]).arg(&recording).arg("--");
    let output = run(command.arg(program).arg(&printed));
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    assert_eq!(output.stdout, plain.stdout, "{output:?}");
    let table = report(&recording, "trace");
    let spins = fs::read_to_string(&printed).unwrap().parse().unwrap();
    let expected = [
        ("before_main", 1),
        ("after_main", 1),
        ("main", 1),
        ("fib", 1973),
        ("thread_main", 4),
        ("thread_exits", 1),
        ("work", 4001),
        ("forks", 1),
        ("in_child", 8),
        ("jumps", 100),
        ("deep", 600),
        ("after_jump", 100),
        ("catches", 50),
        ("throws", 200),
        ("after_catch", 50),
        ("on_signal", 300),
        ("in_handler", 300),
        ("on_escape", 150),
        ("escapes", 150),
        ("after_signal", 150),
        ("storm", 1),
        ("tick", 200),
        ("spin", spins),
    ];
    for (name, calls) in expected {
        assert_eq!(
            calls_of(&table, name),
            calls,
            "{name}: {}",
            text(&output.stderr)
        );
    }
    assert!(is_called_by(&table, "in_child", "forks"));
    assert!(is_called_by(&table, "after_jump", "jumps"));
    assert!(is_called_by(&table, "after_signal", "escapes"));
    assert!(is_called_by(&table, "in_handler", "on_signal"));
    let said = text(&output.stderr);
    assert!(said.contains("-finstrument-functions has put"), "{said}");
    assert!(!said.contains("did not fit"), "{said}");
    assert!(!said.contains("calls are not counted"), "{said}");
    table
}

/// Calls of the program in `known_counts.c` with a library.
const WITH_LIBRARY: &[(&str, u64)] = &[
    ("fib", 1974),
    ("in_one_line", 1),
    ("branches", 1),
    ("jumps", 20),
    ("caught", 1),
    ("after_main", 1),
    ("main", 1),
    ("twice", 21),
];

/// Its calls with children that end in different ways.
const ENDS: &[(&str, u64)] = &[
    ("fib", 1973 + 52 + 3),
    ("in_child", 52),
    ("child", 5),
    ("jumps", 20),
    ("after_main", 3),
    ("main", 2),
];

/// Its calls when it restricts itself. It ends without its destructors, and nothing is counted from
/// where times must not be read any more.
const RESTRICTED: &[(&str, u64)] = &[("fib", 1973), ("jumps", 20), ("caught", 1), ("main", 1)];

#[test]
fn ends_of_all_kinds_and_libraries_are_counted_with_their_times() {
    for (compiler, options) in [("gcc", &[][..]), ("gcc", &["--cpu"]), (clang(), &[])] {
        let flags = ["-g", "-O1", INSTRUMENTED[0]];
        let library = by(
            compiler,
            "counted_library.c",
            &["-shared", "-fPIC", INSTRUMENTED[0]],
        );
        let program = by(compiler, "known_counts.c", &flags);
        let (Some(program), Some(library)) = (program, library) else {
            continue;
        };
        let library = library.to_str().unwrap();
        for (words, expected) in [
            (&["ends"][..], ENDS),
            (&["library", library], WITH_LIBRARY),
            (&["restricted"], RESTRICTED),
        ] {
            check_counted_ends(&program, options, words, expected);
        }
    }
}

/// Runs the program as it is and traced. The outcomes are equal, and the calls are the expected
/// ones.
fn check_counted_ends(program: &Path, options: &[&str], words: &[&str], expected: &[(&str, u64)]) {
    let recording = scratch().join("native_ends.profundo");
    let plain = run(Command::new(program).args(words));
    let mut command = Command::new(profundo());
    command.arg("trace").args(options).arg("-o").arg(&recording);
    let output = run(command.arg("--").arg(program).args(words));
    let case = format!("{} {options:?} {words:?}", program.display());
    assert_eq!(output.status.code(), Some(3), "{case} {output:?}");
    assert_eq!(output.stdout, plain.stdout, "{case} {output:?}");
    let table = report(&recording, "trace");
    let said = text(&output.stderr);
    for &(name, calls) in expected {
        let found = calls_of(&table, name);
        assert_eq!(found, calls, "{case} {name}: {said}");
    }
    assert!(table["groups"][0]["all"]["self_seconds"].as_f64() > Some(0.0));
}

#[test]
fn a_program_without_instrumentation_gets_advice() {
    let Some(program) = c("hot.c", &[]) else {
        return;
    };
    let mut command = Command::new(profundo());
    let recording = scratch().join("native_uncounted.profundo");
    command.args(["trace", "-o"]).arg(&recording).arg("--");
    let said = text(&run(command.arg(&program)).stderr);
    assert!(said.contains("-finstrument-functions"), "{said}");
}

#[test]
fn instrumented_calls_are_not_counted_when_sampling() {
    let Some(program) = cpp("known_calls.cpp", INSTRUMENTED) else {
        return;
    };
    let recording = scratch().join("native_sampled.profundo");
    let mut command = Command::new(profundo());
    command.args(["record", "-o"]).arg(&recording).arg("--");
    let output = run(command.arg(&program));
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    let table = report(&recording, "trace");
    let [group] = table["groups"].as_array().unwrap().as_slice() else {
        panic!("{table}");
    };
    assert_eq!(group["functions"].as_array().map(Vec::len), Some(0));
    assert_eq!(group["all"]["calls"], 0);
}

#[test]
fn the_kernel_counts_programs_as_they_are() {
    let Some(program) = cpp("known_calls.cpp", &[]) else {
        return;
    };
    let recording = scratch().join("native_probed.profundo");
    let _ = fs::remove_file(&recording);
    let plain = run(&mut Command::new(&program));
    let mut command = Command::new(profundo());
    command.args(["trace", "-o"]).arg(&recording);
    for name in ["fib", "in_*", "work", "throws", "tick"] {
        command.arg(format!("--functions={name}"));
    }
    let output = run(command.arg("--").arg(&program));
    let said = text(&output.stderr);
    if said.contains("uprobes are for root") {
        assert!(!recording.exists());
        return skip("the kernel does not count calls of functions for us");
    }
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    assert_eq!(output.stdout, plain.stdout, "{output:?}");
    let table = report(&recording, "trace");
    assert_eq!(table["clock"], "none");
    for (name, calls) in [
        ("fib", 1973),
        ("in_child", 8),
        ("in_handler", 300),
        ("work", 4001),
        ("throws", 200),
        ("tick", 200),
    ] {
        assert_eq!(calls_of(&table, name), calls, "{name}: {said}");
    }
    assert_eq!(calls_of(&table, "jumps"), 0, "{said}");
    assert_eq!(table["groups"][0]["all"]["self_seconds"], Value::Null);
    assert!(
        !said.contains("tottime") && said.contains("(uprobes)"),
        "{said}"
    );
}

/// The calls of one function by another.
fn calls_between(table: &Value, caller: &str, callee: &str) -> u64 {
    let groups = table["groups"].as_array().unwrap().iter();
    let functions = groups.flat_map(|group| group["functions"].as_array().unwrap());
    let named = functions.filter(|function| function["function"] == callee);
    let callers = named.flat_map(|function| function["callers"].as_array().unwrap());
    let caller = format!("({caller})");
    let named = callers.filter(|row| row["name"].as_str().unwrap().ends_with(&caller));
    named.map(|row| row["calls"].as_u64().unwrap()).sum()
}

#[test]
fn callers_are_counted_where_only_entries_are_reported() {
    // With the compiler's defaults, and with vectors that not every processor has.
    let has_wide = std::arch::is_x86_feature_detected!("avx");
    let flags: [&[&str]; 4] = [
        &["-pg"],
        &["-pg", "-O0"],
        &["-pg", "-mfentry"],
        &["-pg", "-mavx", "-DWIDE"],
    ];
    for flags in flags {
        let is_wide = flags.contains(&"-DWIDE");
        if is_wide && !has_wide {
            continue;
        }
        let Some(program) = c("profiled.c", flags) else {
            return;
        };
        let (table, output) = trace_profiled(&program);
        let case = format!("{flags:?}: {}", text(&output.stderr));
        check_profiled_functions(&table, is_wide, &case);
        assert!(case.contains("what -pg has put into them"), "{case}");
        if !begins_by_fentry(&program) {
            check_profiled_callers(&table, &case);
        }
    }
}

/// True if functions call `__fentry__`, which knows no callers: with `-mfentry`, and since gcc 16
/// without it.
fn begins_by_fentry(program: &Path) -> bool {
    let bytes = fs::read(program).unwrap();
    let name = b"__fentry__";
    bytes.windows(name.len()).any(|part| part == name)
}

/// Runs a program of `-pg` as it is and traced. Its output is the same, and its own profile is as
/// long.
fn trace_profiled(program: &Path) -> (Value, Output) {
    let folder = scratch().join("native_profiled");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    let recording = scratch().join("native_profiled.profundo");
    let profile = folder.join("gmon.out");
    let length = || fs::read(&profile).ok().map(|bytes| bytes.len());
    let plain = run(Command::new(program).current_dir(&folder));
    let plain_length = length();
    let _ = fs::remove_file(&profile);
    let mut command = Command::new(profundo());
    command.args(["trace", "-o"]).arg(&recording).arg("--");
    let output = run(command.arg(program).current_dir(&folder));
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    assert_eq!(output.stdout, plain.stdout, "{output:?}");
    assert_eq!(length(), plain_length);
    (report(&recording, "trace"), output)
}

fn check_profiled_functions(table: &Value, is_wide: bool, case: &str) {
    assert_eq!(table["clock"], "none", "{case}");
    let compares = calls_of(table, "compare");
    assert!(compares >= 4, "{case}");
    for (name, calls) in [
        ("main", 1),
        ("fib", 177),
        ("right", 1),
        ("left", 3),
        ("many", 10),
        ("sorts", 1),
        ("thread_main", 3),
        ("in_child", 1),
        ("leaf", 1 + 6 + 300 + 1 + 2 * compares),
        ("widest", if is_wide { 10 } else { 0 }),
    ] {
        assert_eq!(calls_of(table, name), calls, "{name}: {case}");
    }
}

fn check_profiled_callers(table: &Value, case: &str) {
    let compares = calls_of(table, "compare");
    for (caller, callee, calls) in [
        ("main", "fib", 1),
        ("fib", "fib", 176),
        ("right", "left", 1),
        ("sorts", "left", 2),
        ("left", "leaf", 6),
        ("right", "leaf", 1),
        ("thread_main", "leaf", 300),
        ("in_child", "leaf", 1),
        ("compare", "leaf", 2 * compares),
        ("main", "in_child", 1),
        ("left", "compare", 0),
    ] {
        let found = calls_between(table, caller, callee);
        assert_eq!(found, calls, "{caller} {callee}: {case}");
    }
}
