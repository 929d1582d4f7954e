//! The warning above the tables for what is not CPU time: the threads' time, allocated bytes, bytes
//! read and written.

use profundo_model::{
    Bytes, Domain, LocationKind, Nanos, Profile, Reason, SampleKind, ThreadId, Traffic,
};
use profundo_report::{Allocs, Io, Lines, Look, Memory, MemoryLines, Summary, View};
use serde_json::Value;

use crate::allocs::memory;
use crate::mixed::{python, reading};

fn look() -> Look {
    Look::new().width(400)
}

/// Each warning of a report, without the word.
fn warnings(text: &str) -> Vec<&str> {
    let lines = text.lines();
    lines
        .filter_map(|line| line.strip_prefix("Warning: "))
        .collect()
}

/// The warnings in JSON, and the wholes of which something is missing.
fn warnings_in_json(json: &str) -> (Vec<String>, Vec<String>) {
    let value: Value = serde_json::from_str(json).unwrap();
    let recording = &value["recording"];
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let warnings = recording["warnings"].as_array().unwrap();
    let missing = recording["missing"].as_array().unwrap();
    (
        warnings.iter().map(text).collect(),
        missing.iter().map(|missing| text(&missing["of"])).collect(),
    )
}

/// The threads of a profile on the wall clock, alive `times` as long as their samples stand for.
fn wall(times: u64) -> Profile {
    let mut profile = python();
    profile.meta.kind = SampleKind::Wall;
    for index in 0..profile.threads.len() {
        let thread = ThreadId::from_index(index);
        let own = profile
            .samples
            .iter()
            .filter(|sample| sample.thread == thread);
        let sum: u64 = own.map(|sample| sample.weight.0).sum();
        profile.threads.get_mut(thread).alive = Some(Nanos(sum * times));
    }
    profile
}

#[test]
fn threads_that_were_not_sampled_give_a_warning_above_the_tables() {
    let profile = wall(2);
    let wanted =
        "50.0 % of the threads' time was not sampled or could not be read: no sample came 50.0 %.";
    let summary = Summary::new().look(look()).render(&profile).unwrap();
    assert_eq!(warnings(&summary), [wanted], "{summary}");
    let lines = Lines::new().look(look()).render(&profile).unwrap();
    assert_eq!(warnings(&lines), [wanted], "{lines}");
    let (json_warnings, of) = warnings_in_json(&Summary::new().json(&profile).unwrap());
    assert_eq!(json_warnings, [wanted]);
    assert_eq!(of, ["thread_seconds"]);
    let whole = Summary::new().look(look()).render(&wall(1)).unwrap();
    assert_eq!(warnings(&whole), [""; 0], "{whole}");
}

#[test]
fn lost_waits_have_their_reason() {
    let mut profile = wall(2);
    profile.meta.loss.buffer_full = 1_000_000;
    let summary = Summary::new().look(look()).render(&profile).unwrap();
    let wanted = "50.0 % of the threads' time was not sampled or could not be read: lost, because the buffer was full 50.0 %.";
    assert_eq!(warnings(&summary), [wanted], "{summary}");
}

#[test]
fn allocations_at_no_line_give_a_warning_above_the_tables() {
    let mut profile = memory();
    assert_eq!(
        warnings(&Allocs::new().look(look()).render(&profile).unwrap()),
        [""; 0]
    );
    let kind = LocationKind::Reason(Reason::NotKept);
    let location = profile.locations.intern(kind, None);
    let nameless = profile.stacks.intern(None, location);
    for block in &mut profile.heap.blocks {
        if block.domain == Domain::Native {
            block.stack = nameless;
        }
    }
    let texts = [
        Allocs::new().look(look()).render(&profile).unwrap(),
        MemoryLines::new().look(look()).render(&profile).unwrap(),
        Summary::new().look(look()).render(&profile).unwrap(),
    ];
    for text in &texts {
        let [warning] = warnings(text)[..] else {
            panic!("{text}");
        };
        let wanted = "% of the allocated bytes have no function or line: callers not kept ";
        assert!(warning.contains(wanted), "{warning}");
    }
    let (warnings, of) = warnings_in_json(&Allocs::new().json(&profile).unwrap());
    assert_eq!(warnings.len(), 1);
    assert_eq!(of, ["cpu_seconds", "allocated_bytes"]);
}

#[test]
fn allocations_that_were_not_recorded_are_missing_too() {
    let mut profile = memory();
    profile.meta.notes.push(
        "1000 allocations or copies were to be recorded and were not: there was no room, or they were made in a signal handler"
            .to_owned(),
    );
    let text = Allocs::new().look(look()).render(&profile).unwrap();
    let [warning] = warnings(&text)[..] else {
        panic!("{text}");
    };
    assert!(warning.contains("allocations not recorded "), "{warning}");
    let memory = Memory::new().look(look()).render(&profile).unwrap();
    let is_shown = memory.contains("allocations not recorded ");
    assert_eq!(is_shown, !profile.heap.gauges.is_empty(), "{memory}");
}

#[test]
fn bytes_that_no_sample_was_near_to_give_a_warning_above_the_tables() {
    let mut profile = reading();
    assert_eq!(
        warnings(&Io::new().look(look()).render(&profile).unwrap()),
        [""; 0]
    );
    let end = profile
        .samples
        .iter()
        .map(|sample| sample.time.0)
        .max()
        .unwrap();
    profile.traffic.push(Traffic {
        thread: ThreadId(0),
        from: Nanos(end + 100_000_000_000),
        to: Nanos(end + 100_000_000_001),
        waits: 0,
        bytes: Bytes {
            read: 10_000_000_000,
            ..Bytes::default()
        },
    });
    let wanted = "88.5 % of the bytes read and written have no line: no sample was near 88.5 %.";
    let text = Io::new().look(look()).render(&profile).unwrap();
    assert_eq!(warnings(&text), [wanted], "{text}");
    let summary = Summary::new().look(look()).render(&profile).unwrap();
    assert!(warnings(&summary).contains(&wanted), "{summary}");
    let (warnings, of) = warnings_in_json(&Io::new().json(&profile).unwrap());
    assert!(
        warnings.iter().any(|warning| warning == wanted),
        "{warnings:?}"
    );
    assert!(of.iter().any(|whole| whole == "read_and_written_bytes"));
}
