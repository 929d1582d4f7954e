//! The files of cProfile, profile and yappi against what `pstats` loads from them. The tables are
//! those of `pstats` itself: function, calls, primitive calls, own and cumulative nanoseconds; the
//! same by caller.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use profundo_analysis::{CallLabel, Counted, Filter, Selection, traced};
use profundo_import::{Imported, Options};
use profundo_model::{Profile, SampleKind};

use crate::support::{read, testdata};

/// A row of the table: two numbers of calls and two times, as far as there are some.
type Sums = Vec<u64>;

/// The table of a profile.
fn table(profile: &Profile) -> BTreeMap<String, Sums> {
    let table = traced(profile, &Selection::new(profile, &Filter::default()));
    let name = |row: usize| CallLabel::of(profile, table.functions[row].place).standard_name();
    let sums = |counted: &Counted| {
        let (all, outermost) = (counted.begun.all(), counted.outermost.all());
        vec![all, outermost, counted.own, counted.total]
    };
    let mut rows = BTreeMap::new();
    for (row, function) in table.functions.iter().enumerate() {
        rows.insert(name(row), sums(&function.counted));
        for &pair in &function.callers {
            let pair = &table.between[pair];
            let names = format!("{} <- {}", name(row), name(pair.caller));
            rows.insert(names, sums(&pair.counted));
        }
    }
    let sum = table.sum();
    let total = vec![sum.begun.all(), sum.outermost.all(), sum.own];
    rows.insert("total".to_owned(), total);
    rows
}

/// The table as `pstats` has it.
fn expected(name: &str) -> BTreeMap<String, Sums> {
    let text = fs::read_to_string(testdata(&format!("pstats/{name}.table.txt"))).expect("a table");
    let row = |line: &str| {
        let mut words = line.split('\t');
        let names = words.next().expect("a name").split(" <- ").map(builtin);
        let names: Vec<String> = names.collect();
        let mut sums: Sums = words.map(|word| word.parse().expect("a number")).collect();
        // yappi has the numbers of calls in the other order.
        if let [all, outermost, ..] = &mut sums[..]
            && *all < *outermost
        {
            std::mem::swap(all, outermost);
        }
        (names.join(" <- "), sums)
    };
    text.lines().map(row).collect()
}

/// `profile` has the names of builtins in no brackets.
fn builtin(name: &str) -> String {
    let bare = name
        .strip_prefix(":0(")
        .and_then(|name| name.strip_suffix(')'));
    bare.map_or_else(|| name.to_owned(), |bare| format!("{{{bare}}}"))
}

fn check(name: &str) -> Imported {
    let imported = read(&format!("pstats/{name}.pstats"));
    assert_eq!(imported.reader.name(), "pstats");
    assert_eq!(imported.profile.meta.kind, SampleKind::Traced);
    compare(name, &imported.profile);
    imported
}

fn compare(name: &str, profile: &Profile) {
    let (found, expected) = (table(profile), expected(name));
    let (names, wanted): (BTreeSet<_>, BTreeSet<_>) =
        (found.keys().collect(), expected.keys().collect());
    assert_eq!(names, wanted, "{name}");
    for (row, sums) in &expected {
        // Of some callers only the number of calls is known.
        assert_eq!(found[row][..sums.len()], sums[..], "{name}: {row}");
    }
}

#[test]
fn the_tables_are_those_of_pstats() {
    for version in ["2.7", "3.6", "3.8", "3.11", "3.12", "3.13"] {
        check(&format!("cprofile-{version}"));
    }
    for name in ["exec-3.13", "profile-3.12", "profile-2.7", "added-3.10"] {
        check(name);
    }
    for name in ["yappi-cpu", "yappi-wall"] {
        check(name);
    }
}

#[test]
fn what_is_written_again_has_the_same_table() {
    for name in ["cprofile-2.7", "cprofile-3.13", "added-3.10", "yappi-wall"] {
        let imported = check(name);
        let mut file = Vec::new();
        profundo_formats::export::pstats::write(&imported.profile, &mut file).expect("calls");
        let again = profundo_import::read(&file, &Options::default()).expect("a pstats file");
        assert_eq!(again.warnings, []);
        compare(name, &again.profile);
    }
}

#[test]
fn a_cut_file_has_the_functions_before() {
    let bytes = fs::read(testdata("pstats/cprofile-3.12.pstats")).expect("a file");
    let whole = table(&read("pstats/cprofile-3.12.pstats").profile).len();
    let cut = &bytes[..bytes.len() / 2];
    let imported = profundo_import::read(cut, &Options::default()).expect("half of it");
    assert!(imported.warnings[0].is_damage());
    let rows = table(&imported.profile).len();
    assert!(rows > whole / 4 && rows < whole, "{rows} of {whole}");
}

#[test]
fn samples_of_tachyon_are_samples() {
    // {("__sampled__",): True, ("a.py", 3, "f"): (4, 6, 0.004, 0.006, {("a.py", 9, "g"): 6}),
    //  ("a.py", 9, "g"): (1, 7, 0.001, 0.007, {})} in version 4.
    let mut file = b"{)\x01z\x0b__sampled__T".to_vec();
    let text = |file: &mut Vec<u8>, text: &str| {
        file.extend([b'z', text.len() as u8]);
        file.extend(text.bytes());
    };
    let int = |file: &mut Vec<u8>, number: i32| {
        file.push(b'i');
        file.extend(number.to_le_bytes());
    };
    let key = |file: &mut Vec<u8>, line: i32, name: &str| {
        file.extend(b")\x03");
        text(file, "a.py");
        int(file, line);
        text(file, name);
    };
    for (line, name, direct, all) in [(3, "f", 4, 6), (9, "g", 1, 7)] {
        key(&mut file, line, name);
        file.extend(b")\x05");
        int(&mut file, direct);
        int(&mut file, all);
        for samples in [direct, all] {
            file.push(b'g');
            file.extend((f64::from(samples) * 1e-3).to_le_bytes());
        }
        file.push(b'{');
        if name == "f" {
            key(&mut file, 9, "g");
            int(&mut file, 6);
        }
        file.push(b'0');
    }
    file.push(b'0');
    let imported = profundo_import::read(&file, &Options::default()).expect("a file of samples");
    assert_eq!(imported.reader.name(), "pstats");
    assert_eq!(imported.profile.meta.kind, SampleKind::Wall);
    assert_eq!(imported.profile.sample_count(), 5);
    assert_eq!(
        crate::support::stacks(&imported.profile),
        [("g".to_owned(), 1_000_000), ("g;f".to_owned(), 4_000_000)].into()
    );
}
