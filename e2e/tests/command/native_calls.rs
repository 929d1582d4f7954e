//! Calls of native functions that tell of them: as often as the program knows.

use std::fs;
use std::path::Path;
use std::process::Command;

use profundo_e2e::sys::skip;
use serde_json::Value;

use crate::calls::{calls_of, report, run, text};
use crate::command::profundo;
use crate::counters::clang;
use crate::targets::{by, c, cpp, scratch};

pub const TELLS: &[&str] = &["-finstrument-functions"];

/// Who called a function, by name.
fn callers(table: &Value, name: &str) -> Vec<String> {
    let groups = table["groups"].as_array().unwrap().iter();
    let functions = groups.flat_map(|it| it["functions"].as_array().unwrap());
    let those = functions.filter(|it| it["function"] == name);
    let callers = those.flat_map(|it| it["callers"].as_array().unwrap());
    callers
        .map(|it| it["name"].as_str().unwrap().to_owned())
        .collect()
}

/// Whether its only caller is the function of that name.
pub fn is_called_by(table: &Value, name: &str, caller: &str) -> bool {
    let callers = callers(table, name);
    let mut others = callers.iter();
    callers.len() == 1 && others.all(|it| it.ends_with(&format!("({caller})")))
}

#[test]
fn every_call_is_counted_however_it_ends() {
    if let Some(program) = cpp("known_calls.cpp", TELLS) {
        let table = check_known_calls(&program);
        assert!(is_called_by(&table, "after_catch", "catches"));
    }
    let clang = format!("clang++{}", clang().trim_start_matches("clang"));
    let flags = ["-O1", "-g", "-pthread", "-std=c++17", TELLS[0]];
    // Its functions do not tell of their ends when an exception passes.
    if let Some(program) = by(&clang, "known_calls.cpp", &flags) {
        check_known_calls(&program);
    }
}

fn check_known_calls(program: &Path) -> Value {
    let recording = scratch().join("native_calls.profundo");
    let told = scratch().join("native_calls.told");
    let plain = run(&mut Command::new(program));
    let mut command = Command::new(profundo());
    command.args(["trace", "-o"]).arg(&recording).arg("--");
    let output = run(command.arg(program).arg(&told));
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    assert_eq!(output.stdout, plain.stdout, "{output:?}");
    let table = report(&recording, "trace");
    let spins = fs::read_to_string(&told).unwrap().parse().unwrap();
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

#[test]
fn ends_of_all_kinds_and_libraries_are_counted_with_their_times() {
    let all = [
        ("fib", 1974),
        ("in_one_line", 1),
        ("branches", 1),
        ("jumps", 20),
        ("caught", 1),
        ("after_main", 1),
        ("main", 1),
        ("twice", 21),
    ];
    let ends = [
        ("fib", 1973 + 52 + 3),
        ("in_child", 52),
        ("child", 5),
        ("jumps", 20),
        ("after_main", 3),
        ("main", 2),
    ];
    // It ends without its destructors, and where times must not be read any more nothing is counted.
    let restricted = [("fib", 1973), ("jumps", 20), ("caught", 1), ("main", 1)];
    for (compiler, options) in [("gcc", &[][..]), ("gcc", &["--cpu"]), (clang(), &[])] {
        let flags = ["-g", "-O1", TELLS[0]];
        let library = by(
            compiler,
            "counted_library.c",
            &["-shared", "-fPIC", TELLS[0]],
        );
        let program = by(compiler, "known_counts.c", &flags);
        let (Some(program), Some(library)) = (program, library) else {
            continue;
        };
        let library = library.to_str().unwrap();
        let told: [(&[&str], &[_]); 3] = [
            (&["ends"], &ends),
            (&["library", library], &all),
            (&["restricted"], &restricted),
        ];
        for (words, expected) in told {
            let recording = scratch().join("native_ends.profundo");
            let plain = run(Command::new(&program).args(words));
            let mut command = Command::new(profundo());
            command.arg("trace").args(options).arg("-o").arg(&recording);
            let output = run(command.arg("--").arg(&program).args(words));
            assert_eq!(
                output.status.code(),
                Some(3),
                "{compiler} {words:?} {output:?}"
            );
            assert_eq!(output.stdout, plain.stdout, "{output:?}");
            let table = report(&recording, "trace");
            let said = text(&output.stderr);
            for &(name, calls) in expected {
                let found = calls_of(&table, name);
                assert_eq!(found, calls, "{compiler} {words:?} {name}: {said}");
            }
            assert!(table["groups"][0]["all"]["self_seconds"].as_f64() > Some(0.0));
        }
    }
}

#[test]
fn who_cannot_be_counted_is_told_what_to_do() {
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
fn who_tells_of_calls_tells_nobody_when_they_are_not_counted() {
    let Some(program) = cpp("known_calls.cpp", TELLS) else {
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

/// How often one function was called by another.
fn calls_between(table: &Value, caller: &str, callee: &str) -> u64 {
    let groups = table["groups"].as_array().unwrap().iter();
    let functions = groups.flat_map(|it| it["functions"].as_array().unwrap());
    let those = functions.filter(|it| it["function"] == callee);
    let callers = those.flat_map(|it| it["callers"].as_array().unwrap());
    let caller = format!("({caller})");
    let those = callers.filter(|it| it["name"].as_str().unwrap().ends_with(&caller));
    those.map(|it| it["calls"].as_u64().unwrap()).sum()
}

#[test]
fn who_calls_whom_is_counted_where_only_beginnings_are_told() {
    // As the compiler comes, and with vectors that are wider than all processors have.
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
        let folder = scratch().join("native_profiled");
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        let recording = scratch().join("native_profiled.profundo");
        let plain = run(Command::new(&program).current_dir(&folder));
        let own = fs::read(folder.join("gmon.out")).map(|it| it.len());
        let _ = fs::remove_file(folder.join("gmon.out"));
        let mut command = Command::new(profundo());
        command.args(["trace", "-o"]).arg(&recording).arg("--");
        let output = run(command.arg(&program).current_dir(&folder));
        assert_eq!(output.status.code(), Some(3), "{output:?}");
        assert_eq!(output.stdout, plain.stdout, "{flags:?} {output:?}");
        let written = fs::read(folder.join("gmon.out")).map(|it| it.len());
        assert_eq!(written.ok(), own.ok());
        let said = text(&output.stderr);
        let table = report(&recording, "trace");
        assert_eq!(table["clock"], "none", "{said}");
        let compares = calls_of(&table, "compare");
        assert!(compares >= 4, "{said}");
        let expected = [
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
        ];
        for (name, calls) in expected {
            assert_eq!(calls_of(&table, name), calls, "{flags:?} {name}: {said}");
        }
        assert!(said.contains("what -pg has put into them"), "{said}");
        if flags.contains(&"-mfentry") {
            continue;
        }
        let between = [
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
        ];
        for (caller, callee, calls) in between {
            let found = calls_between(&table, caller, callee);
            assert_eq!(found, calls, "{flags:?} {caller} {callee}: {said}");
        }
        assert_eq!(calls_between(&table, "left", "compare"), 0);
    }
}
