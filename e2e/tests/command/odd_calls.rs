//! Calls of instrumented native functions in hard cases: on small stacks, with little memory, at
//! rare ends, and beside other users of the instrumentation.

use std::path::Path;
use std::process::{Command, Output};

use profundo_testing::profundo;
use serde_json::Value;

use crate::calls::{calls_of, report, run, text};
use crate::native_calls::{INSTRUMENTED, is_called_by};
use crate::targets::{c, cpp, scratch};

/// Traces a command; returns its table, its outcome and its messages.
fn traced(name: &str, words: &[&str]) -> (Value, Output, String) {
    let recording = scratch().join(format!("odd_calls.{name}.profundo"));
    let mut command = Command::new(profundo());
    command.args(["trace", "-o"]).arg(&recording).arg("--");
    let output = run(command.args(words));
    let said = text(&output.stderr);
    (report(&recording, "trace"), output, said)
}

fn traced_odd(what: &str) -> Option<(Value, Output, String)> {
    let program = c("odd_calls.c", INSTRUMENTED)?;
    let name = what.replace(' ', "_");
    Some(traced(&name, &[program.to_str().unwrap(), what]))
}

/// The seconds in a function and what it calls.
fn total_of(table: &Value, name: &str) -> f64 {
    let groups = table["groups"].as_array().unwrap().iter();
    let functions = groups.flat_map(|group| group["functions"].as_array().unwrap());
    let named = functions.filter(|function| function["function"] == name);
    named
        .map(|function| function["total_seconds"].as_f64().unwrap())
        .sum()
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
fn a_program_that_ends_while_a_call_is_being_counted_has_all_times() {
    let Some((table, output, said)) = traced_odd("exits") else {
        return;
    };
    // 6: no signal came while a call was being counted.
    assert!(matches!(output.status.code(), Some(5 | 6)), "{said}");
    assert!(total_of(&table, "exits") > 0.0, "{said}");
    assert!(!said.contains(KILLED), "{said}");
}

#[test]
fn a_kill_is_reported_after_a_thread_has_ended_or_an_exec_has_failed() {
    for what in ["reused", "goes on"] {
        let Some((table, _, said)) = traced_odd(what) else {
            return;
        };
        assert_eq!(calls_of(&table, "dies"), 1, "{said}");
        assert!(said.contains(KILLED), "{what}: {said}");
    }
}

#[test]
fn calls_while_an_exec_fails_are_counted_or_reported_as_missed() {
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
fn without_room_for_counts_the_program_runs_as_fast_and_the_reason_is_named() {
    let Some(program) = c("odd_calls.c", INSTRUMENTED) else {
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
        // Two million calls, each of which takes microseconds if it tries to get room again.
        let seconds: u64 = text(&output.stdout).trim().parse().unwrap();
        assert!(seconds < 5, "{limit}: {seconds} s of CPU time");
    }
}

#[test]
fn a_tracer_in_a_library_still_gets_all_calls() {
    let Some(library) = c("tracing_library.c", &["-shared", "-fPIC"]) else {
        return;
    };
    let flags = ["-DPROGRAM", INSTRUMENTED[0], library.to_str().unwrap()];
    let Some(program) = c("tracing_library.c", &flags) else {
        return;
    };
    let (table, output, said) = traced("tracing_library", &[program.to_str().unwrap()]);
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
fn functions_that_do_not_report_exceptions_end_where_these_are_caught() {
    if let Some(program) = cpp("silent_throws.cpp", &[]) {
        check_throws(&program, "silent_throws");
    }
}
