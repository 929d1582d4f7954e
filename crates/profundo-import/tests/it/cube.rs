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

/// An archive with the time and the visits of places and threads. The values are the same bytes.
fn archive(places: &str, regions: &str, threads: &[(u32, u32)], values: &[u8]) -> Vec<u8> {
    let metric = |id: u32, name: &str, unit: &str| {
        format!(
            "<metric id=\"{id}\" type=\"EXCLUSIVE\"><uniq_name>{name}</uniq_name>\
             <dtype>DOUBLE</dtype><uom>{unit}</uom></metric>"
        )
    };
    let mut anchor = format!("<?xml version=\"1.0\"?><cube>{}", metric(0, "time", "sec"));
    anchor += &metric(1, "visits", "occ");
    anchor += &format!("{regions}{places}<locationgroup><rank>0</rank>");
    for (id, rank) in threads {
        anchor += &format!("<location Id=\"{id}\"><rank>{rank}</rank></location>");
    }
    anchor += "</locationgroup></cube>";
    let count = places.matches("<cnode").count() as u32;
    let mut index = b"CUBEX.INDEX\x01\0\0\0\0\0\0".to_vec();
    index.extend(count.to_le_bytes());
    index.extend((0..count).flat_map(u32::to_le_bytes));
    let mut tar = Vec::new();
    for (name, content) in [
        ("anchor.xml", anchor.as_bytes()),
        ("0.index", &index),
        ("0.data", values),
        ("1.index", &index),
        ("1.data", values),
    ] {
        let mut head = [0; 512];
        head[..name.len()].copy_from_slice(name.as_bytes());
        head[124..135].copy_from_slice(format!("{:011o}", content.len()).as_bytes());
        head[257..262].copy_from_slice(b"ustar");
        tar.extend(head);
        tar.extend(content);
        tar.resize(tar.len().next_multiple_of(512), 0);
    }
    tar.resize(tar.len() + 1024, 0);
    tar
}

fn read_archive(archive: &[u8]) -> profundo_model::Profile {
    profundo_import::read(archive, &Default::default())
        .unwrap()
        .profile
}

#[test]
fn threads_of_the_same_number_are_apart() {
    let mut values = b"CUBEX.DATA".to_vec();
    values.extend(
        [1.0_f64, 2.0, 4.0]
            .iter()
            .flat_map(|value| value.to_le_bytes()),
    );
    let regions = "<region id=\"0\"><name>f</name></region>";
    let threads = [(0, 0), (1, 0), (2, 1)];
    let archive = archive("<cnode calleeId=\"0\"/>", regions, &threads, &values);
    let profile = read_archive(&archive);
    assert_eq!(profile.threads.len(), 3);
    let weights = profile
        .samples
        .iter()
        .map(|row| row.weight.0 / 1_000_000_000);
    assert_eq!(weights.collect::<Vec<_>>(), [1, 2, 4]);
}

/// Values that are all zero have no bytes, and a long name stands there once.
#[test]
fn many_zeros_and_long_names_take_little_time() {
    let threads: Vec<(u32, u32)> = (0..5_000).map(|id| (id, id)).collect();
    let places = "<cnode calleeId=\"0\"/>".repeat(8_000);
    let regions = format!(
        "<region id=\"0\"><name>{}</name></region>",
        "f".repeat(400_000)
    );
    let mut values = b"ZCUBEX.DATA".to_vec();
    values.extend(8_000_u64.to_le_bytes());
    values.resize(values.len() + 24 * 8_000, 0);
    let profile = read_archive(&archive(&places, &regions, &threads, &values));
    assert!(profile.samples.is_empty());
    assert_eq!(profile.stacks.len(), 1);
}
