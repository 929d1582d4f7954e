//! Files that Score-P and CubeLib wrote (`testdata/import/cube/README.md`), against what pyCubexR
//! reads of them.

use std::collections::BTreeMap;
use std::fs;

use profundo_model::SampleKind;

use crate::support::{functions_of_samples, read, read_value, stack, testdata};

/// The calls, own and total weights of functions.
fn oracle(file: &str) -> BTreeMap<String, (u64, u64, u64)> {
    let text = fs::read_to_string(testdata(&format!("cube/{file}.sums.txt"))).unwrap();
    let row = |line: &str| {
        let cells: Vec<&str> = line.split('\t').collect();
        let [calls, own, total, name] = cells[..] else {
            panic!("{line}");
        };
        let number = |text: &str| text.parse().unwrap();
        (name.to_owned(), (number(calls), number(own), number(total)))
    };
    text.lines().map(row).collect()
}

#[track_caller]
fn check(file: &str) {
    let imported = read(&format!("cube/{file}.cubex.gz"));
    assert_eq!(imported.reader.name(), "cube");
    let profile = &imported.profile;
    assert_eq!(profile.meta.kind, SampleKind::Traced);
    let mut calls: BTreeMap<String, u64> = BTreeMap::new();
    for call in &profile.traced.calls {
        let stack = stack(profile, call.stack);
        let name = stack.rsplit(';').next().unwrap();
        *calls.entry(name.to_owned()).or_default() += call.calls;
    }
    let sums = functions_of_samples(profile);
    let sums = sums.into_iter().map(|(name, (own, total))| {
        let calls = calls.get(&name).copied().unwrap_or(0);
        (name, (calls, own, total))
    });
    let mut expected = oracle(&format!("{file}.time"));
    expected.retain(|_, row| *row != (0, 0, 0));
    assert_eq!(sums.collect::<BTreeMap<_, _>>(), expected, "{file}");
}

#[test]
fn times_and_calls_are_those_that_pycubexr_reads() {
    check("call_tree");
    // With the highest byte first.
    check("kripke");
    // With packed values.
    check("packed");
    let profile = read("cube/kripke.cubex.gz").profile;
    assert_eq!(profile.processes.len(), 8);
}

#[test]
fn any_metric_is_chosen_by_name() {
    for (file, value) in [
        ("kripke", "bytes_sent"),
        ("values", "INT16"),
        ("values", "UINT64"),
        ("values", "DOUBLE"),
    ] {
        let profile = read_value(&format!("cube/{file}.cubex.gz"), Some(value)).profile;
        let sums = functions_of_samples(&profile);
        let expected = oracle(&format!("{file}.{value}"));
        let expected = expected.into_iter().filter(|(_, row)| row.2 > 0);
        let expected = expected.map(|(name, (_, own, total))| (name, (own, total)));
        assert_eq!(sums, expected.collect(), "{file} {value}");
    }
}
