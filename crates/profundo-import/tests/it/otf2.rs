//! An archive that the OTF2 library 3.0.2 wrote (`testdata/otf2/make.py`), against the sums of what
//! `otf2-print` prints of it.

use std::fs;

use profundo_model::SampleKind;

use crate::support::{functions, in_step, read, testdata};

#[test]
fn times_of_regions_are_those_that_are_printed() {
    let imported = read("otf2/traces.otf2");
    assert_eq!(imported.reader.name(), "otf2");
    let profile = &imported.profile;
    assert_eq!(profile.meta.kind, SampleKind::Traced);
    let samples = profile.samples.iter();
    let sums = functions(profile, samples.map(|row| (row.stack, row.weight.0 / 1000)));
    let text = fs::read_to_string(testdata("otf2/traces.sums.txt")).unwrap();
    assert_eq!(sums.len(), text.lines().count());
    for line in text.lines() {
        let cells: Vec<&str> = line.split('\t').collect();
        let [name, calls, own, total] = cells[..] else {
            panic!("{line}");
        };
        let (own, total): (u64, u64) = (own.parse().unwrap(), total.parse().unwrap());
        assert_eq!(sums[name], (own, total), "{name}");
        let leaf = |stack| {
            let location = profile.stacks.locations(stack).next().unwrap();
            profile.function_name(profile.locations.get(location).frames[0])
        };
        let found = profile.traced.calls.iter();
        let found = found.filter(|call| leaf(call.stack) == name);
        let found: u64 = found.map(|call| call.calls).sum();
        assert_eq!(found.to_string(), calls, "{name}");
    }
}

#[test]
fn ranks_are_processes_and_locations_threads() {
    let profile = read("otf2/traces.otf2").profile;
    let names = profile.processes.iter();
    let names: Vec<_> = names.map(|row| profile.strings.get(row.command)).collect();
    assert_eq!(names, ["MPI Rank 0", "MPI Rank 1"]);
    let names = profile.threads.iter();
    let names: Vec<_> = names
        .map(|(_, row)| profile.strings.get(row.name))
        .collect();
    assert_eq!(names, ["Thread 0", "Thread 1", "Thread 0", "Thread 1"]);
    let lines: Vec<_> = profile.frames.iter().map(|frame| frame.line).collect();
    assert_eq!(lines, [10, 11, 12, 13]);
    // From its first event to its last.
    assert_eq!(profile.meta.duration.0, 2_353_000);
}

#[test]
fn an_anchor_alone_says_what_is_missing() {
    let bytes = fs::read(testdata("otf2/traces.otf2")).unwrap();
    let error = profundo_import::read(&bytes, &profundo_import::Options::default()).unwrap_err();
    assert!(error.to_string().contains("other files"), "{error}");
}

#[test]
fn calls_without_own_time_keep_their_rows() {
    // `testdata/otf2/make-zero.py`.
    let profile = read("otf2/zero/traces.otf2").profile;
    let calls = &profile.traced.calls;
    let own: Vec<u64> = calls.iter().map(|call| call.own.0).collect();
    assert_eq!(own, [0, 0, 500_000, 0]);
    assert!(calls.iter().all(|call| call.calls == 1));
    in_step(&profile);
}
