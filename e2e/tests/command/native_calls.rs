//! Calls of native functions that tell of them: as often as the program knows.

use std::fs;
use std::process::Command;

use profundo_e2e::sys::skip;
use serde_json::Value;

use crate::calls::{calls_of, report, run, text};
use crate::command::profundo;
use crate::targets::{c, cpp, scratch};

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
    let Some(program) = cpp("known_calls.cpp", TELLS) else {
        return;
    };
    let recording = scratch().join("native_calls.profundo");
    let told = scratch().join("native_calls.told");
    let plain = run(&mut Command::new(&program));
    let mut command = Command::new(profundo());
    command.args(["trace", "-o"]).arg(&recording).arg("--");
    let output = run(command.arg(&program).arg(&told));
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
    assert!(is_called_by(&table, "after_catch", "catches"));
    assert!(is_called_by(&table, "after_signal", "escapes"));
    assert!(is_called_by(&table, "in_handler", "on_signal"));
    let said = text(&output.stderr);
    assert!(said.contains("-finstrument-functions has put"), "{said}");
    assert!(!said.contains("did not fit"), "{said}");
    assert!(!said.contains("calls are not counted"), "{said}");
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
    assert!(said.contains("with -finstrument-functions"), "{said}");
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
