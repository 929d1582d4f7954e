//! `gmon.out` and gprof's own text of it.

use std::collections::BTreeMap;
use std::fs;

use profundo_model::{LocationKind, Profile, SampleKind};

use crate::support::{functions_of_samples, read, testdata};

/// The flat profile and the roots of a text of gprof: own nanoseconds, calls, nanoseconds with
/// callees.
fn flat(name: &str) -> BTreeMap<String, (f64, f64, f64)> {
    let text = fs::read_to_string(testdata(name)).expect("gprof's text");
    let table = text.split("name    \n").nth(1).expect("a flat profile");
    let scale = if text.contains("us/call") { 1e3 } else { 1e6 };
    let rows = table.lines().take_while(|line| !line.trim().is_empty());
    rows.filter_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let number = |at: usize| words[at].parse::<f64>().ok();
        let calls = number(3)?;
        let total = number(5)? * calls * scale;
        let name = words[6..].join(" ");
        Some((name, (number(2)? * 1e9, calls, total)))
    })
    .collect()
}

/// Names for addresses, from `nm`.
fn name_all(profile: &mut Profile, name: &str) {
    let text = fs::read_to_string(testdata(name)).expect("nm's text");
    let mut starts: Vec<(u64, &str)> = (text.lines())
        .map(|line| {
            let (start, name) = line.split_once(' ').expect(line);
            (u64::from_str_radix(start, 16).expect(line), &name[2..])
        })
        .collect();
    starts.sort_unstable();
    let locations: Vec<_> = (profile.locations.iter())
        .filter_map(|(id, location)| match location.kind {
            LocationKind::Code(address) => Some((id, address.for_lookup().0)),
            _ => None,
        })
        .collect();
    for (id, address) in locations {
        let after = starts.partition_point(|&(start, _)| start <= address);
        let function = after.checked_sub(1).map_or("", |at| starts[at].1);
        let frame = profile.frame(profundo_model::FrameKey {
            function,
            ..Default::default()
        });
        profile.locations.set_frames(id, &[frame]);
    }
}

fn check(profile: &Profile, expected: &BTreeMap<String, (f64, f64, f64)>) {
    /// Times are printed to this.
    const PRINTED: f64 = 6e6;
    let found = functions_of_samples(profile);
    for (name, &(own, calls, total)) in expected {
        let (found_own, found_total) = found.get(name).copied().unwrap_or_default();
        assert!(
            (found_own as f64 - own).abs() <= PRINTED,
            "{name}: {found_own} {own}"
        );
        // Of functions that call each other in a circle gprof has the part outside of it.
        if !["even", "odd"].contains(&&name[..]) {
            let rounded = PRINTED + calls * 5e3;
            assert!(
                (found_total as f64 - total).abs() <= rounded,
                "{name}: {found_total} {total}"
            );
        }
    }
    let all: u64 = profile.samples.iter().map(|row| row.weight.0).sum();
    assert_eq!(found["main"].1, all);
}

/// The number of calls between two functions.
fn calls(profile: &Profile, caller: &str, callee: &str) -> u64 {
    let rows = profile.traced.calls.iter();
    let found = rows.filter(|call| {
        let stack = crate::support::stack(profile, call.stack);
        stack == format!("{caller};{callee}")
    });
    found.map(|call| call.calls).sum()
}

#[test]
fn addresses_are_those_of_the_program_beside_the_file() {
    let imported = read("gmon/pie/gmon.out");
    assert_eq!(imported.reader.name(), "gmon");
    let mut profile = imported.profile;
    assert_eq!(profile.meta.kind, SampleKind::Cpu);
    assert_eq!(profile.meta.period.0, 10_000_000);
    let (_, module) = profile.modules.iter().next().expect("the program");
    assert!(profile.strings.get(module.path).ends_with("/gmon/pie/prof"));
    assert_eq!(module.bias, 0);
    name_all(&mut profile, "gmon/pie/functions.txt");
    check(&profile, &flat("gprof/c.gprof"));
    assert_eq!(calls(&profile, "even", "leaf"), 2600);
    assert_eq!(calls(&profile, "left", "leaf"), 20);
    assert_eq!(calls(&profile, "main", "even"), 100);
    assert_eq!(calls(&profile, "fib", "fib"), 48_315_632);
}

#[test]
fn without_the_program_functions_begin_where_they_are_called() {
    let imported = read("gmon/static/gmon.out");
    let mut profile = imported.profile;
    assert!(profile.modules.is_empty());
    assert!(
        profile
            .meta
            .notes
            .iter()
            .any(|note| note.contains("was not found"))
    );
    name_all(&mut profile, "gmon/static/functions.txt");
    let found = functions_of_samples(&profile);
    for (name, (own, ..)) in flat("gprof/static.gprof") {
        let (found, _) = found.get(&name).copied().unwrap_or_default();
        assert!((found as f64 - own).abs() <= 6e6, "{name}");
    }
}

#[test]
fn gprofs_text_has_both_tables() {
    for name in ["gprof/c.gprof", "gprof/static.gprof", "gprof/cpp.gprof"] {
        let imported = read(name);
        assert_eq!(imported.reader.name(), "gprof");
        check(&imported.profile, &flat(name));
    }
    let profile = read("gprof/c.gprof").profile;
    assert_eq!(calls(&profile, "even", "leaf"), 2600);
    assert_eq!(calls(&profile, "fib", "fib"), 48_315_632);
    assert_eq!(profile.meta.period.0, 10_000_000);
    let profile = read("gprof/line.gprof").profile;
    let frame = profile
        .frames
        .iter()
        .find(|frame| frame.line == 3)
        .expect("a line");
    assert_eq!(profile.strings.get(frame.function), "leaf");
}

/// Histograms and calls of a machine with the other byte order and short addresses.
fn big_and_short() -> Vec<u8> {
    let mut file = b"gmon\0\0\0\x01".to_vec();
    file.extend([0; 12]);
    for start in [0x1000_u32, 0x8000] {
        file.push(0);
        file.extend(start.to_be_bytes());
        file.extend((start + 8).to_be_bytes());
        file.extend(4_u32.to_be_bytes());
        file.extend(1000_u32.to_be_bytes());
        file.extend(*b"seconds\0\0\0\0\0\0\0\0s");
        file.extend([0, 0, 0, 3, 0, 0, 1, 0]);
    }
    file.push(2);
    file.extend(1_u32.to_be_bytes());
    file.extend([0; 8]);
    file.push(1);
    file.extend(0x1004_u32.to_be_bytes());
    file.extend(0x8000_u32.to_be_bytes());
    file.extend(7_u32.to_be_bytes());
    file
}

#[test]
fn other_machines_and_several_histograms_are_read() {
    let file = big_and_short();
    let options = profundo_import::Options::default();
    let imported = profundo_import::read(&file, &options).expect("a whole file");
    assert_eq!(imported.warnings, []);
    let profile = imported.profile;
    let all: u64 = profile.samples.iter().map(|row| row.weight.0).sum();
    assert_eq!(all, 2 * 259 * 1_000_000);
    assert_eq!(profile.traced.calls[0].calls, 7);
    assert_eq!(profile.sample_count(), 518);
    let cut = profundo_import::read(&file[..file.len() - 3], &options).expect("a part");
    assert!(cut.warnings.iter().any(profundo_import::Warning::is_damage));
    assert_eq!(cut.profile.samples.len(), 4);
}
