//! What memray 1.20 exports of a recording against what `memray summary` and `memray stats` print
//! of the same.

use std::collections::BTreeMap;
use std::fs;

use profundo_import::Options;
use profundo_model::Profile;

use crate::support::{functions, read, read_text, testdata};

/// Bytes at the peak by function: of its own, and with what it calls.
fn at_peak(profile: &Profile) -> BTreeMap<String, (u64, u64)> {
    let sites = profile.heap.sites.iter();
    functions(profile, sites.map(|site| (site.stack, site.at_peak.bytes)))
}

/// A printed amount, and half of its last digit.
fn printed(text: &str) -> (f64, f64) {
    let (number, scale) = ["kB", "MB", "GB", "B"]
        .into_iter()
        .zip([1e3, 1e6, 1e9, 1.0])
        .find_map(|(unit, scale)| Some((text.strip_suffix(unit)?, scale)))
        .expect("a unit");
    (
        number.parse::<f64>().expect("a number") * scale,
        scale * 5.1e-4,
    )
}

#[test]
fn exports_have_the_amounts_of_the_summary() {
    let csv = read("memray/peak.csv");
    assert_eq!(csv.reader.name(), "memray-csv");
    let graph = read("memray/peak.gprof2dot.json");
    assert_eq!(graph.reader.name(), "gprof2dot");
    let text = fs::read_to_string(testdata("memray/summary.txt")).expect("a summary");
    let mut rows = 0;
    for line in text.lines().filter(|line| line.starts_with('│')) {
        let words: Vec<&str> = line.split('│').map(str::trim).collect();
        let [_, place, total, _, own, _, _, _] = words[..] else {
            panic!("{line}");
        };
        let Some((function, file)) = place.split_once(" at ") else {
            continue;
        };
        // Several files have such functions; the summary shows each of them.
        if ["<module>", "exec_module"].contains(&function) || file.is_empty() {
            continue;
        }
        rows += 1;
        for profile in [&csv.profile, &graph.profile] {
            let (found_own, found_total) = at_peak(profile)[function];
            for (found, text) in [(found_own, own), (found_total, total)] {
                let (expected, rounding) = printed(text);
                let difference = (found as f64 - expected).abs();
                assert!(difference <= rounding, "{function}: {found} {text}");
            }
        }
    }
    assert!(rows > 8, "{rows}");
    // The peak in the metadata of `stats --json`.
    let all: u64 = csv
        .profile
        .heap
        .sites
        .iter()
        .map(|site| site.at_peak.bytes)
        .sum();
    assert_eq!(all, 42_031_975);
}

#[test]
fn leaks_are_the_live_ones() {
    let profile = read("memray/leaks.csv").profile;
    let live: u64 = profile
        .heap
        .sites
        .iter()
        .map(|site| site.live().bytes)
        .sum();
    assert_eq!(live, 2_031_973);
    let lines: Vec<u32> = profile.frames.iter().map(|frame| frame.line).collect();
    assert!(lines.contains(&6), "{lines:?}");
}

#[test]
fn statistics_have_all_allocations_and_the_largest_places() {
    let imported = read("memray/stats.json");
    assert_eq!(imported.reader.name(), "memray-stats");
    let profile = &imported.profile;
    let sites = &profile.heap.sites;
    assert_eq!(
        sites.iter().map(|site| site.allocated.bytes).sum::<u64>(),
        62_403_481
    );
    assert_eq!(
        sites.iter().map(|site| site.allocated.count).sum::<u64>(),
        2145
    );
    let sums = functions(
        profile,
        sites.iter().map(|site| (site.stack, site.allocated.bytes)),
    );
    assert_eq!(sums["large"].0, 60_000_003);
    assert_eq!(sums["small"].0, 2_133_616);
    assert_eq!(profile.processes[0].pid, 3092);
}

#[test]
fn a_recording_is_refused_with_the_way_around() {
    let bytes = fs::read(testdata("memray/recording.bin")).expect("a file");
    let error = profundo_import::read(&bytes, &Options::default()).expect_err("a refusal");
    assert!(
        error.to_string().contains("memray transform csv"),
        "{error}"
    );
    let unpacked = b"memray\0\x0d\0\0\0";
    assert!(profundo_import::refusal(unpacked).is_some());
}

#[test]
fn a_graph_may_have_times() {
    let text = r#"{"version": 0, "costs": [{"description": "time", "unit": "ms"}],
        "functions": [{"name": "leaf"}, {"name": "main", "module": "a.py"}],
        "events": [{"callchain": [0, 1], "cost": [2.5]}, {"callchain": [9], "cost": [1]}]}"#;
    let imported = read_text(text);
    assert_eq!(
        crate::support::stacks(&imported.profile),
        [("main;leaf".to_owned(), 2_500_000)].into()
    );
    assert_eq!(imported.warnings.len(), 1);
}
