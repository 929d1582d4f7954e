//! Files that earlier versions have saved give the same answers. Each version has a folder in
//! `testdata/profundo`, with the programs that were recorded; its files are never written again.

use serde_json::Value;

use crate::machine::Folder;

/// The answer of a verb on a file of version 0.1, as JSON.
fn answer(verb: &[&str], file: &str, rest: &[&str]) -> Value {
    let path = format!(
        "{}/../../testdata/profundo/0.1/{file}",
        env!("CARGO_MANIFEST_DIR")
    );
    let words = [verb, &[&path], rest, &["--json"]].concat();
    let outcome = Folder::new().run(&words);
    outcome.succeeded();
    assert_eq!(outcome.err, "");
    serde_json::from_str(&outcome.out).unwrap()
}

/// The row of a list of which this member is this value.
#[track_caller]
fn row<'a>(rows: &'a Value, member: &str, value: impl Into<Value>) -> &'a Value {
    let value = value.into();
    let found = rows.as_array().unwrap();
    let found = found.iter().find(|row| row[member] == value);
    found.unwrap_or_else(|| panic!("no row has {member} {value}: {rows:#}"))
}

#[test]
fn samples_of_0_1_have_their_lines() {
    let of_time = answer(&["report"], "time.profundo", &["lines"]);
    assert_eq!(of_time["recording"]["samples"], 15);
    let file = row(&of_time["files"], "file", "/tmp/w/dist-old/app.py");
    let line = row(&file["lines"], "line", 6);
    assert_eq!(line["function"], "fib");
    assert_eq!(line["self_samples"], 11);
}

#[test]
fn waits_of_0_1_have_their_length() {
    let waits = answer(&["report"], "wall.profundo", &["lines"]);
    let file = row(&waits["files"], "file", "/tmp/w/dist-old/app.py");
    let nap = row(&file["lines"], "line", 10);
    assert_eq!(nap["function"], "nap");
    // It slept three times for 50 ms.
    let seconds = nap["self_seconds"].as_f64().unwrap();
    assert!((0.15..0.16).contains(&seconds), "{nap:#}");
    assert!(nap["self_waiting_share"].as_f64() > Some(0.5), "{nap:#}");
}

#[test]
fn allocations_of_0_1_are_exact() {
    let allocs = answer(&["report"], "memory.profundo", &["allocs"]);
    let allocations = &allocs["allocations"];
    assert_eq!(allocations["sampling"], "all");
    assert_eq!(allocations["total"]["allocated_blocks"], 128);
    let lines = allocations["lines"].as_array().unwrap();
    let keep = lines.iter().find(|line| line["at"]["function"] == "keep");
    let keep = keep.unwrap();
    assert_eq!(keep["at"]["line"], 13);
    assert_eq!(keep["live_bytes"], 64 * 1008);
    let drop = lines.iter().find(|line| line["at"]["function"] == "drop");
    assert_eq!(drop.unwrap()["temporary_bytes"], 64 * 5000);
}

#[test]
fn counts_of_0_1_are_exact() {
    let counts = answer(&["report"], "trace.profundo", &["trace"]);
    let functions = &counts["groups"][0]["functions"];
    let fib = row(functions, "function", "fib");
    // The 25th number of Fibonacci, by two calls for each sum, three times.
    assert_eq!(fib["calls"], 3 * 242_785);
    assert_eq!(fib["primitive_calls"], 3);
    assert_eq!(row(functions, "function", "keep")["calls"], 3);
}

#[test]
fn a_heap_of_0_1_has_its_blocks() {
    let heap = answer(&["heap"], "heap.heapsnapshot", &[]);
    assert_eq!(heap["snapshot"]["bytes"], 64 * 1008);
    assert_eq!(heap["types"][0]["objects"], 64);
    // Each box is held by the next one, and all by the last.
    assert_eq!(heap["biggest"][0]["retained_bytes"], 64 * 1008);
}

/// Recordings of two versions are compared like those of one.
#[test]
fn a_recording_of_0_1_is_compared_and_exported() {
    let folder = Folder::new();
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../testdata/profundo/0.1/time.profundo"
    );
    folder.run(&["diff", path, path]).succeeded();
    folder
        .run(&["export", path, "--to", "collapsed", "-o", "x.txt"])
        .succeeded();
    let text = std::fs::read_to_string(folder.join("x.txt")).unwrap();
    assert!(text.contains("fib"), "{text}");
    folder
        .run(&["merge", path, path, "-o", "x.profundo"])
        .refused(2, "twice");
}
