//! LCOV's tracefiles: of lcov 1.16 with GCC 12 and of coverage.py 7.17, against `lcov --list` and
//! `coverage report`.

use std::collections::BTreeMap;
use std::fs;

use profundo_model::{Profile, Tracing};

use crate::support::{read, read_text, testdata};

/// The function, its first line and the runs of each line.
fn lines(profile: &Profile) -> BTreeMap<(String, u32), (String, u32, u64)> {
    let mut lines = BTreeMap::new();
    for row in &profile.traced.lines {
        let path = profile.file_path(row.frame);
        let file = path.rsplit('/').next().unwrap_or(path).to_owned();
        let line = profile.frames.get(row.frame).line;
        let function = profile.function_name(row.frame).to_owned();
        let old = lines.insert((file, line), (function, row.first, row.hits));
        assert_eq!(old, None, "line {line} twice");
    }
    lines
}

/// The share of lines that ran, as tools print it, and the number of lines, by file.
fn rates(profile: &Profile) -> BTreeMap<String, (String, u64)> {
    let mut sums: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for ((file, _), (_, _, runs)) in lines(profile) {
        let sum = sums.entry(file).or_default();
        sum.0 += u64::from(runs > 0);
        sum.1 += 1;
    }
    let rate = |(ran, all): (u64, u64)| (format!("{:.1}%", ran as f64 * 100.0 / all as f64), all);
    sums.into_iter()
        .map(|(file, sum)| (file, rate(sum)))
        .collect()
}

#[test]
fn lines_are_those_of_lcov() {
    let imported = read("lcov/c.info");
    assert_eq!(imported.reader.name(), "lcov");
    let profile = &imported.profile;
    assert_eq!(profile.traced.tracing, Tracing::Lines);
    let list = fs::read_to_string(testdata("lcov/c.list.txt")).unwrap();
    // `name |rate lines|rate functions|…`
    let rows = list.lines().filter(|line| line.starts_with("shapes"));
    let expected: BTreeMap<String, (String, u64)> = rows
        .map(|row| {
            let (name, rest) = row.split_once('|').unwrap();
            let mut words = rest.split(['|', ' ']).filter(|word| !word.is_empty());
            let rate = words.next().unwrap().to_owned();
            let lines = words.next().unwrap().parse().unwrap();
            (name.trim().to_owned(), (rate, lines))
        })
        .collect();
    assert_eq!(expected.len(), 2);
    assert_eq!(rates(profile), expected);
    let lines = lines(profile);
    let line = |file: &str, line| lines[&(file.to_owned(), line)].clone();
    assert_eq!(line("shapes.c", 6), ("total".to_owned(), 3, 2000));
    assert_eq!(line("shapes.c", 11), ("never".to_owned(), 10, 0));
    assert_eq!(line("shapes.h", 4), ("area".to_owned(), 1, 2000));
}

#[test]
fn runs_of_several_tests_add_up() {
    let (one, two) = (read("lcov/c.info"), read("lcov/two-tests.info"));
    let (one, two) = (lines(&one.profile), lines(&two.profile));
    let doubled: Vec<_> = one.values().map(|(_, _, runs)| runs * 2).collect();
    let runs: Vec<_> = two.values().map(|(_, _, runs)| *runs).collect();
    assert_eq!(runs, doubled);
}

#[test]
fn lines_are_those_of_coverage_py() {
    let profile = read("lcov/py.info").profile;
    // It only marks the lines that ran.
    assert_eq!(profile.traced.tracing, Tracing::LinesOnce);
    let report = fs::read_to_string(testdata("lcov/py.report.txt")).unwrap();
    let row = report
        .lines()
        .find(|line| line.starts_with("shapes.py"))
        .unwrap();
    let columns: Vec<&str> = row.split_whitespace().collect();
    let lines = lines(&profile);
    assert_eq!(columns[1], lines.len().to_string());
    let missing = lines.iter().filter(|(_, (_, _, runs))| *runs == 0);
    let missing: Vec<String> = missing.map(|((_, line), _)| line.to_string()).collect();
    assert_eq!(row.rsplit("%   ").next().unwrap(), missing.join(", "));
    let function = |line| lines[&("shapes.py".to_owned(), line)].0.clone();
    assert_eq!(function(7), "Shape.area");
    assert_eq!(function(13), "total.one");
    assert_eq!(function(14), "total");
    assert_eq!(function(21), "shapes.py");
}

#[test]
fn other_writers_have_other_forms() {
    // Coverage.jl has lines alone; LCOV 2 has numbered functions; some have checksums, fractions.
    let text = "SF:src/a.jl\nDA:1,3\nDA:4,0\nLH:1\nLF:2\nend_of_record\n\
        SF:b.cc\nFNL:0,2,9\nFNA:0,7,std::f(int, int)\nDA:2,7,abcdef==\nDA:3,1e3\nend_of_record\n";
    let imported = read_text(text);
    assert_eq!(imported.warnings, []);
    let lines = lines(&imported.profile);
    let line = |file: &str, line| lines[&(file.to_owned(), line)].clone();
    assert_eq!(line("a.jl", 1), ("a.jl".to_owned(), 1, 3));
    assert_eq!(line("b.cc", 2), ("std::f(int, int)".to_owned(), 2, 7));
    assert_eq!(line("b.cc", 3), ("std::f(int, int)".to_owned(), 2, 1000));
    let odd = read_text("SF:a.c\nDA:1\nDA:2,5\nnothing\n");
    assert_eq!(odd.warnings.len(), 1);
    assert_eq!(odd.profile.traced.lines.len(), 1);
}
