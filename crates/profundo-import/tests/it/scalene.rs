//! Profiles of Scalene 1.5 and 2.4 against its own sums by function.

use std::fs;

use profundo_model::{Profile, SampleKind};

use crate::support::{functions_of_samples, read, testdata};

/// Bytes allocated in a function.
fn allocated(profile: &Profile, function: &str) -> u64 {
    let sites = profile
        .heap
        .sites
        .iter()
        .filter(|site| crate::support::stack(profile, site.stack) == function);
    sites.map(|site| site.allocated.bytes).sum()
}

#[test]
fn lines_add_up_to_its_functions() {
    for name in ["v1.5", "v2.4", "v2.4-cpu"] {
        let imported = read(&format!("scalene/{name}.json.gz"));
        assert_eq!(imported.reader.name(), "scalene");
        let profile = &imported.profile;
        assert_eq!(profile.meta.kind, SampleKind::Wall);
        let path = testdata(&format!("scalene/{name}.functions.txt"));
        let text = fs::read_to_string(path).expect("sums by function");
        let rows: Vec<(&str, Vec<f64>)> = text
            .lines()
            .map(|line| {
                let mut words = line.split('\t');
                let function = words.next().expect("a name");
                (
                    function,
                    words.map(|word| word.parse().expect("a number")).collect(),
                )
            })
            .collect();
        let (_, elapsed) = rows
            .iter()
            .find(|(name, _)| *name == "elapsed")
            .expect("a time");
        assert_eq!(profile.meta.duration.0, (elapsed[0] * 1e9).round() as u64);
        let sums = functions_of_samples(profile);
        for (function, numbers) in rows.iter().filter(|(name, _)| *name != "elapsed") {
            let [python, native, system, megabytes, _] = numbers[..] else {
                panic!("{function}");
            };
            let expected = (python + native + system) / 100.0 * elapsed[0] * 1e9;
            // Scalene 2 shows the two lines of this loop with the time of both, also in its total
            // of 100 %, and counts one of them for the function.
            let is_loop = *function == "python_work" && name != "v1.5";
            let expected = if is_loop { expected * 2.0 } else { expected };
            let (_, total) = sums[*function];
            assert!(
                (total as f64 - expected).abs() < 50.0,
                "{name}: {function} {total} {expected}"
            );
            let bytes = megabytes * 1024.0 * 1024.0;
            let found = allocated(profile, function) as f64;
            assert!(
                (found - bytes).abs() < 5.0,
                "{name}: {function} {found} {bytes}"
            );
        }
        // `% of time = 100.00%`
        let all: u64 = profile.samples.iter().map(|sample| sample.weight.0).sum();
        assert!(all.abs_diff(profile.meta.duration.0) < 200, "{name}: {all}");
        assert!(!profile.sources.is_empty());
        assert_eq!(profile.heap.gauges.is_empty(), name == "v2.4-cpu");
    }
}
