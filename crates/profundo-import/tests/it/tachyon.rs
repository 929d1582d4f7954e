//! Files of CPython 3.15.2's sampling profiler against the collapsed stacks that its own `replay`
//! makes of them.

use std::collections::BTreeMap;
use std::fs;

use profundo_import::{Imported, Options};
use profundo_model::{Gil, LocationKind, Profile, SampleKind};

use crate::support::{read, testdata};

/// The samples by stack, as `replay --collapsed` writes them.
fn collapsed(profile: &Profile) -> BTreeMap<String, u64> {
    let mut sums = BTreeMap::new();
    for sample in &profile.samples {
        let mut frames = Vec::new();
        for location in profile.stacks.locations(sample.stack) {
            let location = profile.locations.get(location);
            if let LocationKind::Reason(_) = location.kind {
                frames.push("<GC>".to_owned());
                continue;
            }
            let frame = location.frames[0];
            let name = profile.function_name(frame);
            let file = profile
                .file_path(frame)
                .rsplit('/')
                .next()
                .unwrap_or_default();
            frames.push(match file {
                "" => name.to_owned(),
                _ => format!("{file}:{name}:{}", profile.frames.get(frame).line),
            });
        }
        frames.push(format!("tid:{}", profile.threads.get(sample.thread).tid));
        frames.reverse();
        *sums.entry(frames.join(";")).or_default() += 1;
    }
    sums
}

fn check(name: &str, kind: SampleKind) -> Imported {
    let imported = read(&format!("tachyon/{name}.bin"));
    assert_eq!(imported.reader.name(), "tachyon");
    let profile = &imported.profile;
    assert_eq!(profile.meta.kind, kind, "{name}");
    assert!(profile.has_times());
    let path = testdata(&format!("tachyon/{name}.collapsed.txt"));
    let text = fs::read_to_string(path).expect("collapsed stacks");
    let expected = text.lines().map(|line| {
        let (stack, number) = line.rsplit_once(' ').expect("a number");
        (stack.to_owned(), number.parse().expect("a number"))
    });
    assert_eq!(collapsed(profile), expected.collect(), "{name}");
    imported
}

#[test]
fn stacks_are_those_of_its_own_replay() {
    check("wall", SampleKind::Wall);
    check("plain", SampleKind::Wall);
    check("cpu", SampleKind::Cpu);
    check("opcodes", SampleKind::Wall);
    let profile = check("gil", SampleKind::Wall).profile;
    assert!(profile.samples.iter().all(|sample| sample.gil == Gil::Held));
    assert_eq!(profile.meta.notes.len(), 1);
}

#[test]
fn the_recording_has_its_length_and_threads() {
    let profile = read("tachyon/wall.bin").profile;
    assert_eq!(profile.threads.len(), 2);
    assert_eq!(profile.meta.period.0, 10_000_000);
    let seconds = profile.meta.duration.0 as f64 / 1e9;
    assert!((0.4..0.8).contains(&seconds), "{seconds}");
    let last = profile.samples.last().expect("samples").time.0 as f64 / 1e9;
    assert!(
        last > seconds - 0.1 && last <= seconds,
        "{last} of {seconds}"
    );
}

/// A file of the first layout, whose number of samples had four bytes, in the order of another
/// machine. It is made by hand.
#[test]
fn other_layouts_are_read() {
    let mut file = Vec::new();
    let samples: &[u8] = &[
        0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 1, 100, 0, 2, 1, 0, // main;work
        0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 2, 50, 1, 50, 1, // again, twice
        0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 3, 50, 0, 1, 0, // main
    ];
    let strings = b"\x04a.py\x04main\x04work";
    let frames = [0, 1, 6, 0, 0, 0, 255, 0, 2, 18, 0, 1, 0, 255];
    file.extend(0x5441_4348_u32.to_be_bytes());
    file.extend(1_u32.to_be_bytes());
    file.extend([3, 15, 0, 0]);
    file.extend(7_u64.to_be_bytes());
    file.extend(1000_u64.to_be_bytes());
    file.extend(4_u32.to_be_bytes());
    file.extend(1_u32.to_be_bytes());
    let at = 64 + samples.len();
    file.extend((at as u64).to_be_bytes());
    file.extend(((at + strings.len()) as u64).to_be_bytes());
    file.extend([0; 12]);
    file.extend(samples);
    file.extend(strings);
    file.extend(frames);
    file.extend([0, 0, 0, 3, 0, 0, 0, 2]);
    file.extend([0; 24]);
    let imported = profundo_import::read(&file, &Options::default()).expect("a file");
    assert_eq!(imported.warnings, []);
    let expected = [
        ("tid:9;a.py:main:3".to_owned(), 1),
        ("tid:9;a.py:main:3;a.py:work:9".to_owned(), 3),
    ];
    assert_eq!(collapsed(&imported.profile), expected.into());
    let times: Vec<u64> = imported
        .profile
        .samples
        .iter()
        .map(|row| row.time.0)
        .collect();
    assert_eq!(times, [0, 50_000, 100_000, 150_000]);
}
