//! What the tests of all formats share.

use std::collections::BTreeMap;
use std::path::PathBuf;

use profundo_import::{Imported, Options};
use profundo_model::{Profile, StackId};

/// A file of `testdata`.
pub fn testdata(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../testdata/import")
        .join(name)
}

/// Reads a file of `testdata`, which must have no gap.
pub fn read(name: &str) -> Imported {
    let imported = read_value(name, None);
    assert_eq!(imported.warnings, [], "{name}");
    imported
}

/// The same, with the value of this name.
pub fn read_value(name: &str, value: Option<&str>) -> Imported {
    let options = Options {
        value: value.map(str::to_owned),
    };
    let read = profundo_import::read_file(&testdata(name), &options);
    read.unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Reads a text.
pub fn read_text(text: &str) -> Imported {
    profundo_import::read(text.as_bytes(), &Options::default()).expect("a known format")
}

/// The stacks of a profile as text, the outermost first, with their weights.
pub fn stacks(profile: &Profile) -> BTreeMap<String, u64> {
    let mut sums = BTreeMap::new();
    for sample in &profile.samples {
        *sums.entry(stack(profile, sample.stack)).or_default() += sample.weight.0;
    }
    sums
}

/// A stack as text, the outermost first.
pub fn stack(profile: &Profile, stack: StackId) -> String {
    let mut names: Vec<&str> = Vec::new();
    for location in profile.stacks.locations(stack) {
        let frames = &profile.locations.get(location).frames;
        names.extend(frames.iter().map(|&frame| profile.function_name(frame)));
    }
    names.reverse();
    names.join(";")
}

/// The weight of each function: of its own, and with what it calls.
pub fn functions(
    profile: &Profile,
    rows: impl Iterator<Item = (StackId, u64)>,
) -> BTreeMap<String, (u64, u64)> {
    let mut sums: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for (id, weight) in rows {
        let stack = stack(profile, id);
        let mut names: Vec<&str> = stack.split(';').collect();
        if let Some(leaf) = names.last() {
            sums.entry((*leaf).to_owned()).or_default().0 += weight;
        }
        names.sort_unstable();
        names.dedup();
        for name in names {
            sums.entry(name.to_owned()).or_default().1 += weight;
        }
    }
    sums
}

/// The weight of each function in the samples.
pub fn functions_of_samples(profile: &Profile) -> BTreeMap<String, (u64, u64)> {
    functions(
        profile,
        profile
            .samples
            .iter()
            .map(|sample| (sample.stack, sample.weight.0)),
    )
}

/// The weights of functions as another tool printed them: lines of `own total function`.
pub fn oracle(name: &str) -> BTreeMap<String, (u64, u64)> {
    let text = std::fs::read_to_string(testdata(name)).expect("the tool's output");
    let row = |line: &str| {
        let mut words = line.splitn(3, ' ');
        let mut number = || words.next()?.parse().ok();
        let (own, total) = (number()?, number()?);
        Some((words.next()?.to_owned(), (own, total)))
    };
    (text.lines().filter(|line| !line.starts_with('#')))
        .map(|line| row(line).unwrap_or_else(|| panic!("{name}: {line}")))
        .collect()
}

/// Checks that each row of calls has a sample with its own time, and that rows which stand for
/// several samples go along.
pub fn in_step(profile: &Profile) {
    let calls = profile.traced.calls.iter();
    let calls: Vec<_> = calls
        .map(|call| (call.thread, call.stack, call.own))
        .collect();
    let samples = profile.samples.iter();
    let samples: Vec<_> = samples
        .map(|sample| (sample.thread, sample.stack, sample.weight))
        .collect();
    assert_eq!(samples, calls);
    assert_eq!(profile.gathered.rows.len(), samples.len());
}
