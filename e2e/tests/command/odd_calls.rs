//! Calls of native functions that tell of them, where that is hard: on small stacks, with little memory, at odd ends, and beside
//! others who want to know.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use crate::calls::{calls_of, report, run, text};
use crate::command::profundo;
use crate::native_calls::{TELLS, is_called_by};
use crate::targets::{c, cpp, scratch};

/// Traces a command; its table, how it ended, and what was said.
fn traced(name: &str, words: &[&str]) -> (Value, Output, String) {
    let recording = scratch().join(format!("odd_calls.{name}.profundo"));
    let mut command = Command::new(profundo());
    command.args(["trace", "-o"]).arg(&recording).arg("--");
    let output = run(command.args(words));
    let said = text(&output.stderr);
    (report(&recording, "trace"), output, said)
}

fn traced_odd(what: &str) -> Option<(Value, Output, String)> {
    let program = c("odd_calls.c", TELLS)?;
    let name = what.replace(' ', "_");
    Some(traced(&name, &[program.to_str().unwrap(), what]))
}

/// For how long a function was called.
fn total_of(table: &Value, name: &str) -> f64 {
    let groups = table["groups"].as_array().unwrap().iter();
    let functions = groups.flat_map(|it| it["functions"].as_array().unwrap());
    let those = functions.filter(|it| it["function"] == name);
    those.map(|it| it["total_seconds"].as_f64().unwrap()).sum()
}

const KILLED: &str = "a process was killed, or replaced";

#[test]
fn a_handler_on_a_small_stack_has_room() {
    let Some((table, output, said)) = traced_odd("small") else {
        return;
    };
    assert_eq!(output.status.code(), Some(0), "{said}");
    for name in ["outer", "middle", "inner", "work"] {
        assert_eq!(calls_of(&table, name), 1, "{name}: {said}");
    }
}

#[test]
fn who_ends_while_a_call_is_being_counted_has_all_times() {
    let Some((table, output, said)) = traced_odd("exits") else {
        return;
    };
    // 6: no signal came at such a moment.
    assert!(matches!(output.status.code(), Some(5 | 6)), "{said}");
    assert!(total_of(&table, "exits") > 0.0, "{said}");
    assert!(!said.contains(KILLED), "{said}");
}

#[test]
fn a_kill_is_told_after_a_thread_has_ended_or_an_exec_has_failed() {
    for what in ["reused", "goes on"] {
        let Some((table, _, said)) = traced_odd(what) else {
            return;
        };
        assert_eq!(calls_of(&table, "dies"), 1, "{said}");
        assert!(said.contains(KILLED), "{what}: {said}");
    }
}

#[test]
fn what_is_called_while_an_exec_fails_is_told_or_counted() {
    let Some((table, output, said)) = traced_odd("meanwhile") else {
        return;
    };
    let truth: u64 = text(&output.stdout).trim().parse().unwrap();
    let missed = said
        .split_once(" calls are not counted")
        .map_or(0, |(before, _)| {
            let number = before.rsplit(' ').next().unwrap();
            number.parse().unwrap()
        });
    assert_eq!(calls_of(&table, "tick") + missed, truth, "{said}");
    assert_eq!(calls_of(&table, "cannot_execute"), 300, "{said}");
}

#[test]
fn programs_that_restrict_themselves_end_as_they_do() {
    for (what, code, ticks) in [("restricted", 8, 1000), ("strict", 9, 0)] {
        let Some((table, output, said)) = traced_odd(what) else {
            return;
        };
        assert_eq!(output.status.code(), Some(code), "{what}: {said}");
        assert_eq!(calls_of(&table, "tick"), ticks, "{what}: {said}");
        assert!(total_of(&table, what) > 0.0, "{what}: {said}");
        assert!(!said.contains(KILLED), "{what}: {said}");
    }
}

#[test]
fn where_there_is_no_room_the_program_runs_as_fast_and_it_is_said_why() {
    let Some(program) = c("odd_calls.c", TELLS) else {
        return;
    };
    let program = program.to_str().unwrap();
    for (limit, why) in [
        ("-f 1000", "File too large"),
        ("-v 8000000", "its memory is limited"),
        ("-d 4000000", "its memory is limited"),
    ] {
        let limited = format!("ulimit {limit}; exec '{program}' many");
        let (table, output, said) = traced("limited", &["sh", "-c", &limited]);
        assert_eq!(output.status.code(), Some(0), "{said}");
        assert_eq!(calls_of(&table, "tick"), 0, "{said}");
        assert!(said.contains(" were not counted: "), "{said}");
        assert!(said.contains(why), "{limit}: {said}");
        assert!(!said.contains("no call was counted"), "{said}");
        // Two million calls, each of which takes microseconds if it tries anew.
        let seconds: u64 = text(&output.stdout).trim().parse().unwrap();
        assert!(seconds < 5, "{limit}: {seconds} s of CPU time");
    }
}

#[test]
fn a_tracer_in_a_library_is_told_of_all_calls() {
    let Some(library) = c("tells.c", &["-shared", "-fPIC"]) else {
        return;
    };
    let flags = ["-DPROGRAM", TELLS[0], library.to_str().unwrap()];
    let Some(program) = c("tells.c", &flags) else {
        return;
    };
    let (table, output, said) = traced("tells", &[program.to_str().unwrap()]);
    assert_eq!(text(&output.stdout), "1000 1000\n", "{said}");
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert_eq!(calls_of(&table, "leaf"), 1000, "{said}");
}

fn check_throws(program: &Path, name: &str) {
    let (table, output, said) = traced(name, &[program.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert_eq!(text(&output.stdout), "100\n", "{said}");
    for (function, calls) in [
        ("catches", 100),
        ("passes", 100),
        ("thrower", 100),
        ("follows", 100),
        ("next", 100),
        ("recurses", 400),
        ("ends", 100),
    ] {
        assert_eq!(calls_of(&table, function), calls, "{function}: {said}");
    }
    for (function, caller) in [
        ("passes", "catches"),
        ("thrower", "passes"),
        ("follows", "catches"),
        ("ends", "next"),
    ] {
        assert!(is_called_by(&table, function, caller), "{function}");
    }
    assert!(!said.contains("did not fit"), "{said}");
}

#[test]
fn functions_that_do_not_tell_of_exceptions_end_where_these_are_caught() {
    if let Some(program) = cpp("silent_throws.cpp", &[]) {
        check_throws(&program, "silent_throws");
    }
}
