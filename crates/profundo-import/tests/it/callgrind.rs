//! Callgrind's and Cachegrind's text, as Valgrind, Xdebug, yappi and pyprof2calltree write it,
//! against `callgrind_annotate`, `cg_annotate`, `pstats` and yappi's own table.

use std::collections::BTreeMap;
use std::fs;

use profundo_analysis::{CallLabel, Filter, Selection, traced};
use profundo_model::{Clock, Profile, SampleKind};

use crate::support::{functions_of_samples, read, read_text, read_value, testdata};

/// The numbers of each function in a table of `callgrind_annotate` or `cg_annotate`, by the column.
/// Rows of one function in several files are kept apart.
fn table(name: &str, column: usize) -> (u64, Vec<(String, u64)>) {
    let text = fs::read_to_string(testdata(name)).expect("a table");
    let mut rows = Vec::new();
    let mut sum = 0;
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let is_number = |word: &&&str| {
            **word == "."
                || word
                    .bytes()
                    .all(|byte| byte.is_ascii_digit() || byte == b',')
        };
        let numbers = words.iter().take_while(is_number).count();
        if numbers <= column {
            continue;
        }
        let number = words[column].replace(',', "").parse().unwrap_or(0);
        let rest = words[numbers..].join(" ");
        if rest == "PROGRAM TOTALS" {
            sum = number;
            continue;
        }
        let name = rest.split(" [").next().unwrap_or_default();
        // A file, then the function, which may have colons.
        let at = match name.starts_with("php:internal:") {
            true => "php:internal".len(),
            false => name.find(':').unwrap_or(0),
        };
        let (path, function) = name.split_at(at);
        let file = path.rsplit('/').next().unwrap_or(path);
        rows.push((format!("{file}{function}"), number));
    }
    (sum, rows)
}

/// A function's name without its level in a recursion.
fn bare(name: &str) -> &str {
    name.split_once('\'').map_or(name, |(name, _)| name)
}

/// The own cost of each function in each file, which is known by its bare name.
fn check_own(profile: &Profile, name: &str, column: usize, scale: u64) {
    let (_, rows) = table(name, column);
    let mut expected: BTreeMap<String, u64> = BTreeMap::new();
    for (name, number) in rows {
        *expected.entry(bare(&name).to_owned()).or_default() += number * scale;
    }
    expected.retain(|_, own| *own > 0);
    let mut found: BTreeMap<String, u64> = BTreeMap::new();
    for sample in &profile.samples {
        let leaf = profile.stacks.get(sample.stack).location;
        let frame = profile.locations.get(leaf).frames[0];
        let file = match profile.file_path(frame) {
            "" => "???",
            path => path.rsplit('/').next().unwrap_or(path),
        };
        let function = match profile.function_name(frame) {
            "" => "???",
            name => name,
        };
        let key = format!("{file}:{function}");
        *found.entry(key).or_default() += sample.weight.0;
    }
    found.retain(|_, own| *own > 0);
    assert_eq!(found, expected, "{name}");
}

/// Totals with callees. Those of functions in a circle are inflated in the tool's table, and those
/// of callers outside of what was collected have no own cost below them.
fn check_total(profile: &Profile, name: &str, column: usize, scale: u64, checked: &[&str]) {
    let (_, rows) = table(name, column);
    let found = functions_of_samples(profile);
    for &function in checked {
        let is_it = |name: &str| {
            name.split_once(':')
                .is_some_and(|(_, name)| name == function)
        };
        let rows = rows.iter().filter(|(name, _)| is_it(name));
        let expected = rows.map(|(_, total)| *total).max().expect(function) * scale;
        let (_, total) = found[function];
        // Each part of a split cost is rounded.
        let allowed = 2 * scale + expected / 200;
        assert!(
            total.abs_diff(expected) <= allowed,
            "{name}: {function}: {total} and not {expected}"
        );
    }
}

const CHECKED: [&str; 10] = [
    "main",
    "left",
    "right",
    "leaf",
    "fib",
    "copy",
    "malloc",
    "free",
    "printf",
    "_dl_fixup",
];

#[test]
fn own_costs_and_totals_are_those_of_the_tool() {
    let imported = read("callgrind/c.callgrind");
    assert_eq!(imported.reader.name(), "callgrind");
    let profile = &imported.profile;
    assert_eq!(profile.meta.kind, SampleKind::Events);
    assert_eq!(profile.meta.event, "Ir");
    assert!(!profile.has_times());
    let sum: u64 = profile.samples.iter().map(|sample| sample.weight.0).sum();
    assert_eq!(sum, table("callgrind/c.own.txt", 0).0);
    check_own(profile, "callgrind/c.own.txt", 0, 1);
    // The compiler has inlined two of the functions.
    let inlined = ["left", "right"];
    let checked: Vec<&str> = (CHECKED.into_iter())
        .filter(|name| !inlined.contains(name))
        .collect();
    check_total(profile, "callgrind/c.total.txt", 0, 1, &checked);
    // Code of the header was inlined: its lines are known, and its file.
    let mut frames = profile.frames.iter();
    let header = frames.find(|frame| frame.inlined).expect("an inlined one");
    let path = profile.strings.get(profile.files.get(header.file).path);
    assert!(header.line > 0, "{path}");
    let command = profile.processes[0].command;
    assert_eq!(profile.strings.get(command), "./work");
}

#[test]
fn any_event_may_be_read_and_names_and_positions_may_be_in_full() {
    let events = [
        "Ir", "Dr", "Dw", "I1mr", "D1mr", "D1mw", "ILmr", "DLmr", "DLmw", "Bc", "Bcm", "Bi", "Bim",
    ];
    for (column, event) in events.into_iter().enumerate() {
        let imported = read_value("callgrind/c.sim.callgrind.gz", Some(event));
        assert_eq!(imported.warnings, []);
        let profile = &imported.profile;
        assert_eq!(profile.meta.event, event);
        check_own(profile, "callgrind/c.sim.own.txt", column, 1);
        if column < 3 {
            check_total(profile, "callgrind/c.sim.total.txt", column, 1, &CHECKED);
        }
    }
    let plain = read("callgrind/c.plain.callgrind").profile;
    check_total(&plain, "callgrind/c.plain.total.txt", 0, 1, &CHECKED);
    let error = profundo_import::read_file(
        &testdata("callgrind/c.callgrind"),
        &profundo_import::Options {
            value: Some("D1mr".to_owned()),
        },
    );
    assert!(error.unwrap_err().to_string().ends_with("it has Ir"));
}

#[test]
fn calls_are_counted_beside_events() {
    let profile = read("callgrind/c.sim.callgrind.gz").profile;
    let table = traced(&profile, &Selection::new(&profile, &Filter::default()));
    let calls = |name: &str| {
        let mut functions = table.functions.iter();
        let found = functions.find(|row| CallLabel::of(&profile, row.place).name == name);
        found.map(|row| row.counted.begun.calls)
    };
    assert_eq!(calls("left"), Some(10));
    assert_eq!(calls("right"), Some(5));
    assert_eq!(calls("leaf"), Some(26));
    assert_eq!(calls("fib"), Some(465));
    assert_eq!(calls("copy"), Some(21));
    assert_eq!(profile.traced.clock, Clock::None);
}

#[test]
fn threads_are_parts_of_one_file() {
    let profile = read("callgrind/c.threads.callgrind").profile;
    assert_eq!(profile.threads.len(), 2);
    let mut sums = [0; 2];
    for sample in &profile.samples {
        sums[sample.thread.index()] += sample.weight.0;
    }
    // The `totals:` of both.
    assert_eq!(sums, [11_100, 18_020]);
    assert_eq!(functions_of_samples(&profile)["spin"], (21_021, 21_021));
}

#[test]
fn xdebug_has_times_calls_and_calling_lines() {
    let imported = read("callgrind/xdebug.cachegrind");
    assert_eq!(imported.reader.name(), "callgrind");
    let profile = &imported.profile;
    assert_eq!(profile.meta.kind, SampleKind::Traced);
    check_own(profile, "callgrind/xdebug.own.txt", 0, 10);
    let checked = ["{main}", "left", "right", "leaf", "Store->keep"];
    check_total(profile, "callgrind/xdebug.total.txt", 0, 10, &checked);
    let line = |number: u32| {
        let mut lines = profile.traced.lines.iter();
        let line = lines.find(|line| profile.frames.get(line.frame).line == number);
        line.map(|line| (line.hits, line.time.0))
    };
    // `if ($i % 2) right(300);` of twenty turns.
    assert_eq!(line(15), Some((10, 343_920)));
    let memory = read_value("callgrind/xdebug.cachegrind", Some("Memory_(bytes)"));
    assert_eq!(memory.profile.meta.kind, SampleKind::Events);
    assert_eq!(
        functions_of_samples(&memory.profile)["php::str_repeat"].0,
        25_600
    );
}

/// Each function's calls, own time and time with callees in the table of counted calls.
fn counted(profile: &Profile) -> BTreeMap<String, (u64, u64, u64)> {
    let table = traced(profile, &Selection::new(profile, &Filter::default()));
    (table.functions.iter())
        .map(|row| {
            let name = CallLabel::of(profile, row.place).name;
            let name = name.trim_matches(['<', '>']);
            let counted = row.counted;
            (
                name.to_owned(),
                (counted.begun.calls, counted.own, counted.total),
            )
        })
        .collect()
}

#[test]
fn pyprof2calltree_has_what_pstats_prints() {
    let imported = read("callgrind/pyprof.callgrind");
    let profile = &imported.profile;
    assert_eq!(profile.meta.kind, SampleKind::Traced);
    let found = counted(profile);
    let text = fs::read_to_string(testdata("callgrind/pyprof.txt")).expect("a table");
    let in_samples = functions_of_samples(profile);
    for line in text.lines() {
        let mut words = line.splitn(5, ' ');
        let mut number = || words.next().expect("a number").parse::<u64>().expect(line);
        let (calls, _, own, total) = (number(), number(), number(), number());
        let name = words.next().expect("a name");
        let short = name.trim_matches(['<', '>']);
        assert_eq!(found[short], (calls, own, total), "{name}");
        let name = if name == "<lambda>" { name } else { short };
        assert_eq!(in_samples[name].0, own);
        // The time of `odd` is that of its calls by `even`, which calls itself through it.
        let allowed = if name == "odd" { total } else { 1 };
        assert!(in_samples[name].1.abs_diff(total) <= allowed, "{name}");
    }
}

#[test]
fn yappi_names_functions_with_their_places() {
    let imported = read("callgrind/yappi.callgrind");
    let profile = &imported.profile;
    let found = counted(profile);
    let text = fs::read_to_string(testdata("callgrind/yappi.txt")).expect("a table");
    let mut rows = 0;
    for line in text.lines().filter(|line| line.starts_with('/')) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let time = |word: &str| (word.parse::<f64>().expect(line) * 1e9).round() as u64;
        let (own, total) = (time(words[3]), time(words[4]));
        let name = words[1].trim_matches(['<', '>']);
        let (_, found_own, found_total) = found
            .get(name)
            .or_else(|| found.get(words[1]))
            .copied()
            .expect(name);
        // Printed to microseconds, as in the file; sums of calls are rounded each.
        assert_eq!(found_own, own, "{name}");
        assert!(found_total.abs_diff(total) <= 4_000, "{name}");
        rows += 1;
    }
    assert_eq!(rows, 8);
}

#[test]
fn what_we_write_is_read_again() {
    let profile = read("callgrind/pyprof.callgrind").profile;
    let mut text = Vec::new();
    profundo_formats::export::callgrind::write(&profile, &Default::default(), &mut text)
        .expect("it has calls");
    let again = profundo_import::read(&text, &profundo_import::Options::default());
    let again = again.expect("our own text");
    assert_eq!(again.warnings, []);
    let (before, after) = (counted(&profile), counted(&again.profile));
    assert_eq!(before.len(), after.len());
    for (name, (calls, own, total)) in before {
        let after = after[&name];
        assert_eq!((after.0, after.1), (calls, own), "{name}");
        assert!(after.2.abs_diff(total) <= 2, "{name}: {after:?} {total}");
    }
}

#[test]
fn a_formula_is_an_event() {
    let text = "event: Both = 2 A + B : Twice\nevents: A B\nfl=a.c\nfn=f\n3 10 5\n+1 0x10\n";
    let options = profundo_import::Options {
        value: Some("both".to_owned()),
    };
    let profile = profundo_import::read(text.as_bytes(), &options)
        .unwrap()
        .profile;
    let sums: Vec<_> = profile.samples.iter().map(|row| row.weight.0).collect();
    assert_eq!(sums, [25, 32]);
    let lines: Vec<_> = profile.frames.iter().map(|frame| frame.line).collect();
    assert_eq!(lines, [3, 4]);
}

#[test]
fn a_shared_callee_has_each_caller_in_proportion() {
    let text = "events: Ir\nfl=a.c\nfn=main\n1 5\ncfn=one\ncalls=1 10\n2 30\ncfn=two\ncalls=1 20\n\
                3 90\nfn=one\n10 10\ncfn=leaf\ncalls=2 30\n11 20\nfn=two\n20 10\ncfn=leaf\n\
                calls=8 30\n21 80\nfn=leaf\n30 100\n";
    let profile = read_text(text).profile;
    let stacks = crate::support::stacks(&profile);
    assert_eq!(stacks["main;one;leaf"], 20);
    assert_eq!(stacks["main;two;leaf"], 80);
    assert_eq!(functions_of_samples(&profile)["main"], (5, 125));
    assert!(profile.meta.notes[0].contains("estimated"));
}

#[test]
fn odd_lines_are_counted_and_a_cut_file_says_so() {
    let imported = read_text("events: Ir\nfn=f\n1 2\nnonsense\n2 x\n");
    assert_eq!(imported.warnings.len(), 1);
    assert!(imported.warnings[0].to_string().contains("2 lines"));
    let text = "version: 1\ncreator: callgrind-3.19.0\nevents: Ir\nfn=f\n1 2\n";
    let imported = read_text(text);
    assert!(imported.warnings[0].is_damage());
}

#[test]
fn cachegrind_has_lines_without_calls() {
    let imported = read("cachegrind/c.cachegrind.gz");
    assert_eq!(imported.reader.name(), "cachegrind");
    let profile = &imported.profile;
    assert_eq!(profile.meta.event, "Ir");
    let sum: u64 = profile.samples.iter().map(|sample| sample.weight.0).sum();
    assert_eq!(sum, table("cachegrind/c.txt", 0).0);
    check_own(profile, "cachegrind/c.txt", 0, 1);
    for (column, event) in ["I1mr", "ILmr", "Dr", "D1mr", "DLmr", "Dw"]
        .into_iter()
        .enumerate()
    {
        let profile = read_value("cachegrind/c.cachegrind.gz", Some(event)).profile;
        check_own(&profile, "cachegrind/c.txt", column + 1, 1);
    }
    assert!(profile.traced.calls.is_empty());
    assert!(profile.frames.iter().any(|frame| frame.line > 0));
}
