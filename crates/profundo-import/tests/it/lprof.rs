//! Files of line_profiler 3.0 and 5.1 against what `line_profiler.load_stats` loads from them, in
//! each protocol of pickles.

use std::fs;

use profundo_analysis::{Filter, traced_lines};
use profundo_import::Options;
use profundo_model::{Clock, Profile, Tracing};

use crate::support::{read, testdata};

/// The lines of a profile, as the tables in `testdata` have them.
fn table(profile: &Profile) -> String {
    let mut text = String::new();
    for function in traced_lines(profile, &Filter::default()) {
        let (file, name) = (
            profile.file_path(function.frame),
            profile.function_name(function.frame),
        );
        for line in &function.lines {
            let (number, hits, time) = (line.line, line.hits, line.time);
            let first = function.first;
            text += &format!("{file}\t{first}\t{name}\t{number}\t{hits}\t{time}\n");
        }
    }
    text
}

fn expected(name: &str) -> String {
    fs::read_to_string(testdata(&format!("lprof/{name}.table.txt"))).expect("a table")
}

#[test]
fn lines_are_those_of_line_profiler() {
    for version in ["v3.0", "v5.1"] {
        let imported = read(&format!("lprof/{version}.lprof"));
        assert_eq!(imported.reader.name(), "lprof");
        assert_eq!(imported.profile.traced.tracing, Tracing::Lines);
        assert_eq!(imported.profile.traced.clock, Clock::Wall);
        assert_eq!(table(&imported.profile), expected(version), "{version}");
    }
    for protocol in 0..=5 {
        let imported = read(&format!("lprof/protocol-{protocol}.lprof"));
        assert_eq!(imported.reader.name(), "lprof");
        assert_eq!(table(&imported.profile), expected("v5.1"), "{protocol}");
    }
}

#[test]
fn what_is_written_again_has_the_same_lines() {
    let profile = read("lprof/v5.1.lprof").profile;
    let mut file = Vec::new();
    profundo_formats::export::lprof::write(&profile, &mut file).expect("lines");
    let again = profundo_import::read(&file, &Options::default()).expect("an lprof file");
    assert_eq!(table(&again.profile), expected("v5.1"));
}

#[test]
fn a_cut_file_has_the_functions_before() {
    let bytes = fs::read(testdata("lprof/v5.1.lprof")).expect("a file");
    let imported = profundo_import::read(&bytes[..200], &Options::default()).expect("most of it");
    assert!(imported.warnings[0].is_damage());
    assert_eq!(imported.profile.traced.clock, Clock::None);
    let lines: Vec<u64> = imported
        .profile
        .traced
        .lines
        .iter()
        .map(|line| line.hits)
        .collect();
    assert_eq!(lines, [2, 3002, 3000, 2]);
}

#[test]
fn a_pickle_of_anything_else_is_not_taken_and_never_run() {
    let system = b"cos\nsystem\n(S'touch /tmp/never'\ntR.";
    assert!(profundo_import::read(system, &Options::default()).is_err());
    let mut mixed = b"cline_profiler\nLineStats\n".to_vec();
    mixed.extend(system);
    assert!(profundo_import::read(&mixed, &Options::default()).is_err());
}
