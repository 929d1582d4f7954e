//! The files of cProfile, profile and yappi against what `pstats` loads from them. The tables are
//! those of `pstats` itself: function, calls, primitive calls, own and cumulative nanoseconds; the
//! same by caller.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use profundo_analysis::{CallLabel, Counted, Filter, Selection, Shown, shares, traced};
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
    for version in ["2.7", "3.6", "3.8", "3.11", "3.12", "3.13", "3.15"] {
        check(&format!("cprofile-{version}"));
    }
    for name in ["exec-3.13", "profile-3.12", "profile-2.7", "added-3.10"] {
        check(name);
    }
    for name in ["yappi-cpu", "yappi-wall"] {
        check(name);
    }
}

/// The totals of Python's functions in stacks, by their standard names.
fn totals_of_stacks(profile: &Profile) -> BTreeMap<String, u64> {
    let mut totals = BTreeMap::new();
    for sample in &profile.samples {
        let locations = profile.stacks.locations(sample.stack);
        let frames = locations.flat_map(|location| &profile.locations.get(location).frames);
        let names: BTreeSet<String> = frames
            .map(|&frame| {
                let row = profile.frames.get(frame);
                let path = profile.strings.get(profile.files.get(row.file).path);
                format!("{path}:{}({})", row.line, profile.function_name(frame))
            })
            .collect();
        for name in names {
            *totals.entry(name).or_default() += sample.weight.0;
        }
    }
    totals
}

/// The totals of stacks are cumulative times, but for functions that call each other in a circle.
#[test]
fn totals_of_stacks_are_cumulative_times() {
    for name in ["cprofile-3.8", "cprofile-3.13", "yappi-wall"] {
        let profile = check(name).profile;
        let totals = totals_of_stacks(&profile);
        let expected = expected(name);
        let mut count = 0;
        for (function, sums) in &expected {
            let is_function = function.contains(".py:") && !function.contains(" <- ");
            let in_circles = ["(even)", "(odd)", "(<genexpr>)"];
            if !is_function || in_circles.iter().any(|name| function.ends_with(name)) {
                continue;
            }
            count += 1;
            let total = totals.get(function).copied().unwrap_or_default();
            // Times are rounded to nanoseconds.
            assert!(
                total.abs_diff(sums[3]) <= 1_000,
                "{name}: {function} has {total}"
            );
        }
        assert!(count > 5, "{name}");
    }
}

/// In the table of functions those in circles have the times of the file, too.
#[test]
fn totals_of_functions_are_those_of_the_file() {
    for name in ["cprofile-3.8", "cprofile-3.13", "yappi-wall"] {
        let profile = check(name).profile;
        let selection = Selection::new(&profile, &Filter::default());
        let table = traced(&profile, &selection);
        let functions = shares(&profile, &selection, Shown::default());
        assert!(functions.len() > 5, "{name}");
        for function in functions {
            let counted = table
                .of(&profile, function.place)
                .expect("a counted function");
            assert_eq!(function.total_amount.weight, counted.total, "{name}");
        }
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
    let imported = read("pstats/tachyon-3.15.pstats");
    assert_eq!(imported.reader.name(), "pstats");
    let profile = &imported.profile;
    assert_eq!(profile.meta.kind, SampleKind::Wall);
    assert_eq!(profile.meta.period.0, 10_000_000);
    // `58 primitive calls in 0.580 seconds`, in the words of pstats.
    assert_eq!(profile.sample_count(), 58);
    let own = crate::support::functions_of_samples(profile);
    assert_eq!(own.values().map(|(own, _)| own).sum::<u64>(), 580_000_000);
    // Lines 9 and 10 of the file, 4 and 15 samples.
    assert_eq!(own["fib"].0, 190_000_000);
    assert_eq!(own["GC"].0, 40_000_000);
    let lines = profile.frames.iter().filter(|frame| frame.line == 10);
    assert_eq!(lines.count(), 1);
}
