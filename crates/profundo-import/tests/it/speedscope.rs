//! Files of speedscope: py-spy's, memray's, speedscope's own, and ours.

use std::collections::BTreeMap;

use profundo_formats::export::{Format, Options, write};
use profundo_model::{Profile, SampleKind};
use proptest::prelude::*;

use crate::support::{functions, functions_of_samples, oracle, read, read_text, stack, stacks};

#[test]
fn functions_are_those_of_speedscope_itself() {
    for name in ["pyspy", "pyspy-idle"] {
        let imported = read(&format!("speedscope/{name}.speedscope.json"));
        assert_eq!(imported.reader.name(), "speedscope");
        assert_eq!(imported.profile.meta.kind, SampleKind::Cpu);
        let expected = oracle(&format!("speedscope/{name}.functions.txt"));
        assert_eq!(functions_of_samples(&imported.profile), expected, "{name}");
    }
}

#[test]
fn threads_have_their_names_and_times() {
    let profile = read("speedscope/pyspy.speedscope.json").profile;
    let names: Vec<&str> = (profile.threads.iter())
        .map(|(_, thread)| profile.strings.get(thread.name))
        .collect();
    assert_eq!(names, ["MainThread", "helper"]);
    assert_eq!(profile.meta.period.0, 5_000_000);
    assert_eq!(profile.meta.duration.0, 405_000_000);
    assert!(profile.has_times());
}

#[test]
fn memrays_bytes_and_blocks_are_memory() {
    for name in ["memray", "memray-leaks"] {
        let profile = read(&format!("speedscope/{name}.speedscope.json")).profile;
        assert!(profile.samples.is_empty());
        let sites = || profile.heap.sites.iter();
        let bytes = functions(
            &profile,
            sites().map(|site| (site.stack, site.at_peak.bytes)),
        );
        let expected = oracle(&format!("speedscope/{name}.functions.txt"));
        assert_eq!(bytes, expected, "{name}");
        assert!(sites().all(|site| site.allocated.count > 0));
    }
    let profile = read("speedscope/memray.speedscope.json").profile;
    let blocks: u64 = (profile.heap.sites.iter())
        .map(|site| site.allocated.count)
        .sum();
    // The `endValue` of `Allocations`.
    assert_eq!(blocks, 1049);
}

#[test]
fn frames_that_open_and_close_have_their_own_time() {
    let text = r#"{"$schema":"https://www.speedscope.app/file-format-schema.json",
        "shared":{"frames":[{"name":"a","file":"a.js","line":3,"col":4},{"name":"b"}]},
        "profiles":[{"type":"evented","name":"x","unit":"milliseconds","startValue":0,"endValue":9,
        "events":[{"type":"O","frame":0,"at":0},{"type":"O","frame":1,"at":2},
        {"type":"C","frame":1,"at":5},{"type":"C","frame":0,"at":7},
        {"type":"O","frame":1,"at":8}]}]}"#;
    let profile = read_text(text).profile;
    assert_eq!(profile.meta.kind, SampleKind::Wall);
    let expected = [
        ("a".to_owned(), 4_000_000),
        ("a;b".to_owned(), 3_000_000),
        ("b".to_owned(), 1_000_000),
    ];
    assert_eq!(stacks(&profile), expected.into());
    let times: Vec<u64> = profile.samples.iter().map(|row| row.time.0).collect();
    assert_eq!(times, [0, 2_000_000, 5_000_000, 8_000_000]);
    assert_eq!(profile.meta.duration.0, 9_000_000);
}

#[test]
fn numbers_without_a_unit_are_samples() {
    let text = r#"{"shared":{"frames":[{"name":"a"},{"name":"b"}]},
        "profiles":[{"type":"sampled","name":"x","unit":"none","startValue":0,"endValue":9,
        "samples":[[0,1],[],[7]],"weights":[4,2,3]}]}"#;
    let profile = read_text(text).profile;
    assert_eq!(profile.meta.kind, SampleKind::Events);
    assert!(!profile.has_times());
    let expected = [("a;b".to_owned(), 4), ("frame 7".to_owned(), 3)];
    assert_eq!(stacks(&profile), expected.into());
}

/// The weights of stacks by thread.
fn by_thread(profile: &Profile) -> BTreeMap<(u64, String, String), u64> {
    let mut sums = BTreeMap::new();
    for sample in &profile.samples {
        let thread = profile.threads.get(sample.thread);
        let name = profile.strings.get(thread.name).to_owned();
        let key = (thread.number, name, stack(profile, sample.stack));
        *sums.entry(key).or_default() += sample.weight.0;
    }
    sums
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn what_is_written_is_read(
        rows in prop::collection::vec((0..4_usize, prop::collection::vec("[a-c\"é\\\\]{1,3}", 1..6)), 1..40)
    ) {
        let text: String = rows.iter().map(|(_, names)| format!("{} 1\n", names.join(";"))).collect();
        let mut profile = Profile::from_folded(&text).unwrap();
        let threads: Vec<_> = (0..4)
            .map(|number| profile.hand_made_thread(number + 2, ["", "a b", "main", "w (tid x)"][number as usize]))
            .collect();
        for (sample, (thread, _)) in profile.samples.iter_mut().zip(&rows) {
            sample.thread = threads[*thread];
        }
        let mut file = Vec::new();
        write(&profile, Format::SPEEDSCOPE, &Options::default(), &mut file).unwrap();
        let again = profundo_import::read(&file, &profundo_import::Options::default()).unwrap();
        prop_assert_eq!(again.warnings.len(), 0);
        prop_assert_eq!(by_thread(&again.profile), by_thread(&profile));
        prop_assert_eq!(again.profile.meta.kind, profile.meta.kind);
    }
}
