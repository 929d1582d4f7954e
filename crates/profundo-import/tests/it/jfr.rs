//! Recordings of the JDK 17, against the sums of what `jfr print --json` prints of them.

use std::collections::BTreeMap;
use std::fs;

use profundo_import::{Imported, Options};
use profundo_model::{Profile, SampleKind, StackId, State};

use crate::support::{functions, read, read_value, testdata};

/// The rows of the printed sums with this first column: the numbers behind a name.
fn printed(file: &str, what: &str) -> BTreeMap<String, Vec<u64>> {
    let text = fs::read_to_string(testdata(file)).expect("the printed sums");
    let mut rows = BTreeMap::new();
    for line in text.lines() {
        let cells: Vec<&str> = line.split('\t').collect();
        if let [first, numbers @ .., name] = &cells[..]
            && *first == what
        {
            let numbers = numbers.iter().map(|number| number.parse().unwrap());
            rows.insert((*name).to_owned(), numbers.collect());
        }
    }
    assert!(!rows.is_empty(), "{what}");
    rows
}

fn check_functions(
    profile: &Profile,
    rows: impl Iterator<Item = (StackId, u64)>,
    (file, what): (&str, &str),
) {
    let sums = functions(profile, rows).into_iter();
    let sums: BTreeMap<_, _> = sums
        .map(|(name, (own, all))| (name, vec![own, all]))
        .collect();
    assert_eq!(sums, printed(file, what), "{what}");
}

/// The samples of an event, each of which weighs `unit`.
fn check_samples(imported: &Imported, printed_as: (&str, &str), unit: u64) {
    let profile = &imported.profile;
    let samples = profile.samples.iter();
    let rows = samples
        .clone()
        .map(|sample| (sample.stack, sample.weight.0 / unit));
    check_functions(profile, rows, printed_as);
    let mut threads: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for sample in samples {
        let thread = profile.threads.get(sample.thread);
        let name = profile.strings.get(thread.name).to_owned();
        assert_eq!(thread.tid > 0, !name.is_empty());
        threads.entry(name).or_insert_with(|| vec![0])[0] += sample.weight.0 / unit;
    }
    let (file, what) = printed_as;
    assert_eq!(threads, printed(file, &format!("thread {what}")), "{what}");
}

fn check_blocks(profile: &Profile, file: &str) {
    let blocks = profile.heap.blocks.iter();
    let rows = blocks.clone().map(|block| (block.stack, block.size));
    check_functions(profile, rows, (file, "allocated"));
    let mut types: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for block in blocks {
        let name = profile.strings.get(block.type_name).to_owned();
        types.entry(name).or_insert_with(|| vec![0])[0] += block.size;
    }
    assert_eq!(types, printed(file, "type"));
}

#[test]
fn samples_of_several_chunks_are_those_that_are_printed() {
    let imported = read("jfr/sample.jfr.zst");
    assert_eq!(imported.reader.name(), "jfr");
    let profile = &imported.profile;
    assert_eq!(profile.meta.kind, SampleKind::Cpu);
    assert_eq!(profile.meta.period.0, 10_000_000);
    assert!(profile.has_times());
    assert!(profile.meta.started_at_unix > 1_700_000_000_000_000_000);
    let process = &profile.processes[0];
    assert!(process.pid > 0);
    assert!(profile.strings.get(process.command).ends_with("Work 4000"));
    let runtime = profile.strings.get(process.runtime);
    assert!(runtime.contains("17."));
    assert_eq!(runtime.matches("Server VM").count(), 1, "{runtime}");
    let names = ("jfr/sample.top.txt", "jdk.ExecutionSample");
    check_samples(&imported, names, 10_000_000);
    check_blocks(profile, "jfr/sample.top.txt");
    assert!(profile.frames.iter().any(|frame| frame.line > 0));
}

#[test]
fn waits_are_read_by_the_names_of_their_events() {
    for event in ["jdk.JavaMonitorEnter", "jdk.ThreadPark", "jdk.ThreadSleep"] {
        let imported = read_value("jfr/sample.jfr.zst", Some(event));
        assert_eq!(imported.profile.meta.kind, SampleKind::Wall);
        let mut samples = imported.profile.samples.iter();
        assert!(samples.all(|sample| sample.state == State::WallWaiting));
        check_samples(&imported, ("jfr/sample.top.txt", event), 1);
    }
    let native = read_value("jfr/sample.jfr.zst", Some("jdk.NativeMethodSample"));
    check_samples(
        &native,
        ("jfr/sample.top.txt", "jdk.NativeMethodSample"),
        20_000_000,
    );
}

#[test]
fn allocations_in_buffers_of_threads_stand_for_the_buffers() {
    let imported = read("jfr/tlab.jfr.gz");
    check_blocks(&imported.profile, "jfr/tlab.top.txt");
    let names = ("jfr/tlab.top.txt", "jdk.ExecutionSample");
    check_samples(&imported, names, 10_000_000);
}

#[test]
fn values_that_are_not_there_are_listed() {
    let options = Options {
        value: Some("jdk.Other".to_owned()),
    };
    let read = profundo_import::read_file(&testdata("jfr/tlab.jfr.gz"), &options);
    let error = read.unwrap_err().to_string();
    assert!(error.contains("jdk.ThreadPark"), "{error}");
}

#[test]
fn damage_is_no_reason_to_panic() {
    let packed = fs::read(testdata("jfr/tlab.jfr.gz")).unwrap();
    let mut whole = Vec::new();
    let mut reader = flate2::read::GzDecoder::new(&packed[..]);
    std::io::Read::read_to_end(&mut reader, &mut whole).unwrap();
    let options = Options::default();
    let mut bytes = whole.clone();
    for at in (0..whole.len()).step_by(641) {
        let _ = profundo_import::read(&whole[..at], &options);
        bytes[at] ^= 0x55;
        let _ = profundo_import::read(&bytes, &options);
        // Changes of the types stay for a while.
        if at % 5 == 0 {
            bytes.clone_from(&whole);
        }
    }
    let cut = profundo_import::read(&whole[..whole.len() - 9], &options).unwrap();
    assert!(!cut.warnings.is_empty());
}
