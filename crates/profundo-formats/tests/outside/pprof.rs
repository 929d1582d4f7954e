//! The pprof file in Go's pprof and in protoc.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use profundo_formats::export::{Format, Options, Weights};
use profundo_model::{Measure, Nanos, Part, Profile};
use profundo_testing::{find_tool, skip};

use crate::{made, tables, tools, write};

/// Runs pprof on a file, without looking for any of the program's files.
fn run(pprof: &Path, arguments: &[&str], file: &Path) -> String {
    let mut command = Command::new(pprof);
    command
        .args(arguments)
        .arg(file)
        .env("PPROF_BINARY_PATH", "/nonexistent")
        .env("HOME", tools::folder());
    tools::text(&mut command, 60).unwrap()
}

/// The rows of `-top` by name and file: own and total, without their units.
fn top(pprof: &Path, file: &Path, index: &str, unit: &str) -> BTreeMap<String, (u64, u64)> {
    let index = format!("-sample_index={index}");
    let unit_is = format!("-unit={unit}");
    let arguments = [
        "-top",
        "-filefunctions",
        "-nodecount=0",
        "-nodefraction=0",
        "-edgefraction=0",
        "-trim=false",
        &index,
        &unit_is,
    ];
    let text = run(pprof, &arguments, file);
    let mut rows = BTreeMap::new();
    let mut lines = text.lines().skip_while(|line| !line.contains("flat%"));
    assert!(lines.next().is_some(), "{text}");
    for line in lines {
        // own own% sum% total total% name
        let mut rest = line;
        let columns: Vec<&str> = (0..5)
            .map(|_| {
                rest = rest.trim_start();
                let (word, after) = rest.split_once(' ').unwrap();
                rest = after;
                word
            })
            .collect();
        let number = |text: &str| -> u64 {
            let text = text.strip_suffix(unit).unwrap_or(text);
            text.parse().unwrap_or_else(|_| panic!("{text} in {line}"))
        };
        let name = rest.strip_prefix(' ').unwrap_or(rest);
        let name = name.strip_suffix(" (inline)").unwrap_or(name).to_owned();
        let old = rows.insert(name, (number(columns[0]), number(columns[3])));
        assert!(old.is_none(), "{line} twice");
    }
    rows
}

/// Our own rows, with pprof's forms of names and paths.
fn ours(profile: &Profile, weights: Weights) -> BTreeMap<String, (u64, u64)> {
    let functions = tables::functions(profile, false);
    let row = |((name, path), numbers): ((String, String), tables::Numbers)| {
        let name = if path.is_empty() {
            name
        } else {
            format!("{name} {path}")
        };
        let numbers = match weights {
            Weights::Samples => (numbers.own_count, numbers.count),
            Weights::Time => (numbers.own_time, numbers.time),
        };
        (name, numbers)
    };
    functions.into_iter().map(row).collect()
}

#[test]
fn go_reads_the_numbers_of_our_tables() {
    let pprof = match tools::pprof() {
        Ok(pprof) => pprof,
        Err(why) => return skip(&why),
    };
    let profiles = [
        ("odd", made::odd(), "cpu"),
        ("wall", made::odd_wall(), "wall"),
        ("large", made::large(20_000), "cpu"),
    ];
    for (name, profile, clock) in profiles {
        let bytes = write(&profile, Format::PPROF, &Options::default());
        let file = tools::put(format!("{name}.pb.gz"), &bytes);
        assert_eq!(
            top(pprof, &file, "samples", "count"),
            ours(&profile, Weights::Samples),
        );
        assert_eq!(
            top(pprof, &file, clock, "ns"),
            ours(&profile, Weights::Time)
        );
    }
}

#[test]
fn go_finds_what_else_is_in_it() {
    let pprof = match tools::pprof() {
        Ok(pprof) => pprof,
        Err(why) => return skip(&why),
    };
    let bytes = write(&made::odd(), Format::PPROF, &Options::default());
    let file = tools::put("whole.pb.gz", &bytes);
    let raw = run(pprof, &["-raw"], &file);
    let tags = run(pprof, &["-tags"], &file);
    let comments = run(pprof, &["-comments"], &file);
    let there = |text: &str, part: &str| assert!(text.contains(part), "{part} in\n{text}");
    there(&raw, "PeriodType: cpu nanoseconds\nPeriod: 1000000\n");
    there(
        &raw,
        "Time: 2026-09-21 14:13:20 +0000 UTC\nDuration: 2.5s\n",
    );
    there(&raw, "samples/count cpu/nanoseconds[dflt]\n");
    // One location with the inlined function and its caller.
    there(
        &raw,
        "M=3 core::ptr::read /rustc/lib/core/src/ptr/mod.rs:1700 s=0(core::ptr::read::<[u8; 4]>)\n             <server::Item<T> as server::Take>::take /srv/src/item.rs:41 s=0()\n",
    );
    there(&raw, "/usr/bin/python3.12 abcdef01 ");
    there(&raw, "/srv/my app/bin/server  [FN][FL][LN][IN]");
    for label in [
        "process:[python3 app.py --name \"a;b\" <x> & ]]>]",
        "thread:[tokio; worker 12]",
        "task:[fetch \"pages\"]",
        "gil:[waiting]",
        "kind:[system]",
        "pid:[4100]",
        "tid:[4002]",
        "thread_number:[3]",
    ] {
        there(&raw, label);
    }
    // The kinds have all the time between them.
    there(&tags, "kind: Total 818.7ms");
    for kind in ["python", "native", "system"] {
        there(&tags, &format!("%): {kind}\n"));
    }
    there(&comments, "engine perf-signal\n3 samples lost");
    there(&comments, "one <note> & \"another\"\n");
    // A filter by label gives the samples with it.
    let index = ["-top", "-sample_index=samples", "-tagfocus=kind=system"];
    there(
        &run(pprof, &index, &file),
        "Showing nodes accounting for 140, 17.16% of 816 total",
    );
}

#[test]
fn go_reads_memory_as_in_its_own_heap_profiles() {
    let pprof = match tools::pprof() {
        Ok(pprof) => pprof,
        Err(why) => return skip(&why),
    };
    let profile = made::odd_memory();
    let live = Measure {
        part: Part::Live,
        counts: false,
    };
    let options = Options {
        measure: Some(live),
        ..Options::default()
    };
    let bytes = write(&profile, Format::PPROF, &options);
    let file = tools::put("memory.pb.gz", &bytes);
    let raw = run(pprof, &["-raw"], &file);
    let types = "samples/count cpu/nanoseconds alloc_objects/count alloc_space/bytes inuse_objects/count inuse_space/bytes[dflt]\n";
    assert!(raw.contains(types), "{raw}");
    // Time is the same as without memory.
    assert_eq!(
        top(pprof, &file, "samples", "count"),
        ours(&made::odd(), Weights::Samples),
    );
    // Each sample took ten blocks of a hundred bytes, and kept one of them.
    let samples = profundo_formats::export::Options::default();
    let mut plain = made::odd();
    plain.meta.period = Nanos(0);
    let counts = tools::put("counts.pb.gz", &write(&plain, Format::PPROF, &samples));
    let counts = top(pprof, &counts, "samples", "count");
    for (index, unit, each) in [
        ("alloc_objects", "count", 10),
        ("alloc_space", "B", 1000),
        ("inuse_objects", "count", 1),
        ("inuse_space", "B", 100),
    ] {
        let rows = top(pprof, &file, index, unit);
        let times = |number: u64| number * each;
        let expected: BTreeMap<String, (u64, u64)> = (counts.iter())
            .map(|(name, (own, total))| (name.clone(), (times(*own), times(*total))))
            .collect();
        assert_eq!(rows, expected, "{index}");
    }
}

#[test]
fn speedscope_reads_it() {
    let page = match tools::speedscope() {
        Ok(page) => page,
        Err(why) => return skip(&why),
    };
    let bytes = write(&made::odd(), Format::PPROF, &Options::default());
    match crate::speedscope::load(page, "odd.pb.gz", &bytes) {
        Ok(dom) => assert!(dom.contains("Left Heavy"), "{dom}"),
        Err(why) => skip(&why),
    }
}

#[test]
fn protoc_decodes_it() {
    let schema = Path::new("/usr/share/gocode/src/github.com/google/pprof/proto");
    let Some(protoc) = find_tool("protoc").filter(|_| schema.is_dir()) else {
        return skip(
            "protoc or pprof's schema is not installed (apt install protobuf-compiler golang-github-google-pprof-dev)",
        );
    };
    let bytes = write(&made::odd(), Format::PPROF, &Options::default());
    let mut message = Vec::new();
    std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(&bytes[..]), &mut message)
        .unwrap();
    let file = tools::put("odd.pb", &message);
    let mut command = Command::new("sh");
    command
        .arg("-c")
        .arg("exec \"$0\" --decode=perftools.profiles.Profile --proto_path=\"$1\" profile.proto < \"$2\"")
        .args([&protoc, schema, &file]);
    let text = tools::text(&mut command, 60).unwrap();
    let count = |line: &str| text.lines().filter(|other| *other == line).count();
    assert_eq!(count("sample_type {"), 2);
    assert_eq!(count("sample {"), 15);
    assert_eq!(count("mapping {"), 4);
    assert!(count("location {") > 12 && count("function {") > 12);
    // Rows unknown to the schema have a number in place of a name.
    let unknown = |line: &&str| line.trim_start().starts_with(|c: char| c.is_ascii_digit());
    let unknown: Vec<&str> = text.lines().filter(unknown).collect();
    // The column of a line is younger than this schema.
    assert!(
        unknown.iter().all(|line| line.trim() == "3: 5"),
        "{unknown:?}"
    );
}
