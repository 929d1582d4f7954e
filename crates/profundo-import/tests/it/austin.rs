//! Files of Austin 3.7 and 4.0, as text and as MOJO, against the sums by stack of what
//! austin-python's own readers take from them.

use std::collections::BTreeMap;
use std::fs;

use profundo_import::Imported;
use profundo_model::{LocationKind, Profile, Reason, SampleKind, StackId, State};

use crate::support::{read, read_text, stacks, testdata};

/// Microseconds, bytes, samples, idle ones.
type Sums = [i64; 4];

/// A stack as the tables have it: without marks of the collector.
fn stack(profile: &Profile, stack: StackId) -> String {
    let mut frames = Vec::new();
    for location in profile.stacks.locations(stack) {
        let location = profile.locations.get(location);
        if matches!(location.kind, LocationKind::Reason(_)) {
            continue;
        }
        for &frame in &location.frames {
            let line = profile.frames.get(frame).line;
            frames.push(format!("{}:{line}", profile.function_name(frame)));
        }
    }
    frames.reverse();
    match frames.is_empty() {
        true => "-".to_owned(),
        false => frames.join(";"),
    }
}

fn table(profile: &Profile) -> BTreeMap<String, Sums> {
    let mut sums: BTreeMap<String, Sums> = BTreeMap::new();
    for sample in &profile.samples {
        let thread = profile.threads.get(sample.thread);
        let pid = profile.processes[thread.process.index()].pid;
        let name = format!("P{pid} T{} {}", thread.tid, stack(profile, sample.stack));
        let row = sums.entry(name).or_default();
        row[0] += (sample.weight.0 / 1000) as i64;
        row[2] += 1;
        row[3] += i64::from(sample.state == State::WallWaiting);
    }
    sums
}

/// Bytes by stack.
fn memory(profile: &Profile) -> BTreeMap<String, i64> {
    let mut sums = BTreeMap::new();
    for site in &profile.heap.sites {
        let bytes = site.allocated.bytes as i64 - site.freed.bytes as i64;
        *sums.entry(stack(profile, site.stack)).or_default() += bytes;
    }
    sums.retain(|_, bytes| *bytes != 0);
    sums
}

fn check(name: &str, reader: &str, kind: SampleKind) -> Imported {
    let imported = read(&format!("austin/{name}"));
    let profile = &imported.profile;
    assert_eq!(imported.reader.name(), reader);
    assert_eq!(profile.meta.kind, kind, "{name}");
    assert_eq!(profile.meta.period.0, 10_000_000);
    let name = name.trim_end_matches(".gz");
    let text = fs::read_to_string(testdata(&format!("austin/{name}.table.txt"))).expect("a table");
    let (mut expected, mut bytes) = (BTreeMap::new(), BTreeMap::new());
    for line in text.lines() {
        let words: Vec<&str> = line.split('\t').collect();
        let number = |at: usize| words[at].parse::<i64>().expect("a number");
        expected.insert(words[0].to_owned(), [number(1), 0, number(3), number(4)]);
        let (_, stack) = words[0].split_once(" T").expect("a thread");
        let (_, stack) = stack.split_once(' ').expect("a stack");
        *bytes.entry(stack.to_owned()).or_default() += number(2);
    }
    bytes.retain(|_, bytes| *bytes != 0);
    assert_eq!(memory(profile), bytes, "{name}");
    match name.contains("memory") {
        true => assert!(profile.samples.is_empty() && !bytes.is_empty()),
        false => assert_eq!(table(profile), expected, "{name}"),
    }
    imported
}

#[test]
fn text_and_binary_have_the_sums_of_austins_own_readers() {
    for version in ["v3.7", "v4.0"] {
        check(&format!("{version}-wall.mojo"), "mojo", SampleKind::Wall);
        check(&format!("{version}-full.mojo"), "mojo", SampleKind::Wall);
    }
    check("v4.0-cpu.mojo", "mojo", SampleKind::Cpu);
    check("v4.0-memory.mojo", "mojo", SampleKind::Cpu);
    check("v3.7-wall.austin", "austin", SampleKind::Wall);
    check("v3.7-cpu.austin", "austin", SampleKind::Cpu);
    check("v3.7-memory.austin", "austin", SampleKind::Cpu);
}

#[test]
fn full_samples_have_states_processes_and_the_collector() {
    let imported = check("v3.7-full.austin.gz", "austin", SampleKind::Wall);
    let profile = &imported.profile;
    assert_eq!(profile.processes.len(), 2);
    assert_eq!(profile.meta.duration.0, 1_306_525_000);
    assert!(profile.has_times());
    assert!(!profile.heap.gauges.is_empty());
    let is_collecting = |stack| {
        let innermost = profile.stacks.locations(stack).next();
        let kind = innermost.map(|location| profile.locations.get(location).kind);
        kind == Some(LocationKind::Reason(Reason::Collecting))
    };
    let collecting = profile
        .samples
        .iter()
        .filter(|sample| is_collecting(sample.stack));
    assert_eq!(collecting.count(), 20);
    // The last sample of the longest thread ends where the recording does.
    let end = profile
        .samples
        .iter()
        .map(|sample| sample.time.0 + sample.weight.0)
        .max();
    assert!(end.is_some_and(|end| end <= 1_400_000_000), "{end:?}");
}

#[test]
fn older_forms_are_read() {
    let of_version_2 = "P42;T0x7f45;main (/a/app.py);L3;work (/a/app.py);L9 1500\n";
    let imported = read_text(of_version_2);
    assert_eq!(imported.reader.name(), "austin");
    let profile = &imported.profile;
    assert_eq!(
        stacks(profile),
        [("main;work".to_owned(), 1_500_000)].into()
    );
    let lines: Vec<u32> = profile.frames.iter().map(|frame| frame.line).collect();
    assert_eq!(lines, [3, 9]);
    let of_version_1 = "Process 42;Thread 140;<module> (app.py);L3 20\n";
    let profile = read_text(of_version_1).profile;
    assert_eq!(stacks(&profile), [("<module>".to_owned(), 20_000)].into());
    assert_eq!(profile.processes[0].pid, 42);
}

#[test]
fn odd_lines_are_counted() {
    let text = "# austin: 3.7.0\n# mode: full\n\nP1;T0:2;a.py:f:3;:INVALID: 10,0,0\nP1;T0:2 5,1,-4096\n\
                P1;T0:2;a.py:f:3 x\nP1;T3:2;C:\\a b\\c.py:g:7 10,0,0\n";
    let imported = read_text(text);
    assert_eq!(imported.warnings.len(), 1);
    let profile = &imported.profile;
    assert_eq!(profile.samples.len(), 3);
    assert_eq!(profile.threads.len(), 2);
    assert_eq!(stacks(profile)["g"], 10_000);
    assert_eq!(stacks(profile)["f;[broken Python stack]"], 10_000);
    let file = profile
        .frames
        .iter()
        .map(|frame| profile.files.get(frame.file).path);
    assert!(
        file.map(|file| profile.strings.get(file))
            .any(|file| file == "C:\\a b\\c.py")
    );
}
