//! Sessions of pyinstrument 5.1 and 3.4 against the tree that `pyinstrument --load` prints of them.

use std::collections::BTreeMap;
use std::fs;

use profundo_model::{Profile, SampleKind, State};

use crate::support::{functions_of_samples, read, stacks, testdata};

/// The frames of the printed tree: their names, and the sum of milliseconds of each name. Frames
/// below others of the same name are left out, as their time is in those.
fn printed(name: &str) -> BTreeMap<String, f64> {
    let text = fs::read_to_string(testdata(&format!("pyinstrument/{name}.txt"))).expect("a tree");
    let mut sums: BTreeMap<String, f64> = BTreeMap::new();
    let mut open: Vec<(usize, String)> = Vec::new();
    for line in text.lines() {
        let Some(column) = line.chars().position(|letter| letter.is_ascii_digit()) else {
            continue;
        };
        let rest: String = line.chars().skip(column).collect();
        let Some((time, rest)) = rest.split_once(' ') else {
            continue;
        };
        let (Ok(seconds), Some((frame, _))) = (time.parse::<f64>(), rest.split_once("  ")) else {
            continue;
        };
        open.retain(|(depth, _)| *depth < column);
        if !open.iter().any(|(_, name)| name == frame) {
            *sums.entry(frame.to_owned()).or_default() += seconds * 1e3;
        }
        open.push((column, frame.to_owned()));
    }
    sums
}

fn compare(name: &str, profile: &Profile) {
    let found = functions_of_samples(profile);
    for (function, milliseconds) in printed(name) {
        // A session has modules of the profiler's own as well.
        if function.is_empty() || function.starts_with('[') || function == "<module>" {
            continue;
        }
        // Classes are shown in front of names.
        let bare = function.rsplit('.').next().unwrap_or_default();
        let (_, total) = found
            .get(&function)
            .or_else(|| found.get(bare))
            .unwrap_or_else(|| panic!("{function}"));
        let total = *total;
        let difference = (total as f64 / 1e6 - milliseconds).abs();
        // Each printed frame is rounded.
        assert!(
            difference < 3.0,
            "{name}: {function} {total} {milliseconds}"
        );
    }
}

#[test]
fn trees_and_samples_have_the_printed_times() {
    for name in ["pi5", "pi5-await"] {
        for form in ["json", "pyisession"] {
            let imported = read(&format!("pyinstrument/{name}.{form}"));
            assert_eq!(imported.reader.name(), "pyinstrument");
            let profile = &imported.profile;
            assert_eq!(profile.meta.kind, SampleKind::Wall);
            assert_eq!(profile.has_times(), form == "pyisession");
            compare(name, profile);
        }
    }
}

#[test]
fn a_session_has_threads_lines_and_waits() {
    let profile = read("pyinstrument/pi5-await.pyisession").profile;
    let (_, thread) = profile.threads.iter().next().expect("a thread");
    assert_eq!(profile.strings.get(thread.name), "MainThread");
    assert!(profile.meta.started_at_unix > 1_700_000_000_000_000_000);
    assert!(profile.frames.iter().any(|frame| frame.line == 17));
    let waiting = profile
        .samples
        .iter()
        .filter(|sample| sample.state == State::WallWaiting);
    let waiting: u64 = waiting.map(|sample| sample.weight.0).sum();
    // `await_time` of the root in the tree of the same session.
    assert!(waiting.abs_diff(124_841_000) <= 1000, "{waiting}");
    let tree = read("pyinstrument/pi5-await.json").profile;
    let waiting = tree
        .samples
        .iter()
        .filter(|sample| sample.state == State::WallWaiting);
    let waiting: u64 = waiting.map(|sample| sample.weight.0).sum();
    assert!(waiting.abs_diff(124_841_000) <= 2000, "{waiting}");
}

#[test]
fn older_trees_are_read() {
    let imported = read("pyinstrument/pi3.json");
    let profile = &imported.profile;
    let all: u64 = stacks(profile).values().sum();
    // `time` of the root, in microseconds.
    assert!(all.abs_diff(455_647_000) < 20_000, "{all}");
    assert_eq!(profile.strings.get(profile.processes[0].command), "busy.py");
    assert!(profile.sample_count().abs_diff(73) < 15);
}
