//! Massif, DHAT and heaptrack against what `ms_print`, DHAT's own summary and `heaptrack_print`
//! say of the same files.

use std::fs;

use profundo_model::{Amount, Profile, SampleKind, Site, State};

use crate::support::{functions, functions_of_samples, read, read_text, read_value, testdata};

fn text(name: &str) -> String {
    fs::read_to_string(testdata(name)).expect("the tool's output")
}

/// The numbers of a text, which may have commas.
fn numbers(text: &str) -> Vec<u64> {
    text.split(|letter: char| !(letter.is_ascii_digit() || letter == ','))
        .map(|digits| digits.replace(',', ""))
        .filter_map(|digits| digits.parse().ok())
        .collect()
}

fn sum(profile: &Profile, part: impl Fn(&Site) -> Amount) -> (u64, u64) {
    let mut sum = Amount::default();
    profile.heap.sites.iter().for_each(|site| sum += part(site));
    (sum.bytes, sum.count)
}

#[test]
fn massif_has_memory_over_time_and_stacks_at_the_peak() {
    for unit in ["i", "ms", "B"] {
        let imported = read(&format!("massif/{unit}.massif"));
        assert_eq!(imported.reader.name(), "massif");
        let profile = &imported.profile;
        let scale = if unit == "ms" { 1_000_000 } else { 1 };
        let printed = text(&format!("massif/{unit}.txt"));
        let mut gauges = profile.heap.gauges.iter();
        let mut rows = 0;
        let mut peak = false;
        let mut expected = std::collections::BTreeMap::<String, u64>::new();
        let after = printed
            .split("Number of snapshots")
            .nth(1)
            .expect("a table");
        let place = after.split("(peak)").next().expect("a peak");
        let peak_row = numbers(place).pop().expect("a peak");
        for line in after.lines().skip(2) {
            let words: Vec<&str> = line.split_whitespace().collect();
            let row = numbers(line);
            if words.len() == 6 && row.len() == 6 && !line.contains('%') {
                let gauge = gauges.next().expect("a gauge for each row");
                assert_eq!(gauge.time.0, row[1] * scale, "{line}");
                assert_eq!(gauge.in_use, Some(row[3]), "{line}");
                peak = row[0] == peak_row;
                rows += 1;
            } else if let Some((_, frame)) = line.split_once(": ")
                && peak
            {
                let name = frame.split(" (").next().unwrap_or_default();
                let bytes = line.split_once('(').expect(line).1;
                *expected.entry(name.to_owned()).or_default() += numbers(bytes)[0];
            }
        }
        assert_eq!(gauges.count(), 0);
        assert!(rows > 15, "{rows}");
        let at_peak = (profile.heap.sites.iter()).map(|site| (site.stack, site.at_peak.bytes));
        let found = functions(profile, at_peak);
        assert!(expected.len() > 1);
        for (name, bytes) in expected {
            assert_eq!(found[&name].1, bytes, "{unit}: {name}");
        }
        let (bytes, _) = sum(profile, |site| site.at_peak);
        let most = (profile.heap.gauges.iter())
            .filter_map(|gauge| gauge.in_use)
            .max();
        // A peak is found only so exactly.
        assert!(Some(bytes) <= most && bytes > 27_000, "{unit}: {bytes}");
        assert!(profile.frames.iter().any(|frame| frame.line == 24));
    }
}

#[test]
fn massif_may_end_anywhere() {
    let whole = fs::read(testdata("massif/B.massif")).expect("a file");
    let end = whole
        .windows(3)
        .position(|word| word == b"n3:")
        .expect("a tree");
    let options = profundo_import::Options::default();
    let imported = profundo_import::read(&whole[..end + 90], &options).expect("a part");
    assert!(
        imported
            .warnings
            .iter()
            .any(profundo_import::Warning::is_damage)
    );
    assert_eq!(imported.profile.heap.gauges.len(), 6);
}

#[test]
fn dhat_has_exact_sums() {
    let totals = |name: &str| {
        let text = text(name);
        let of = |key: &str| {
            let line = text.lines().find(|line| line.contains(key)).expect(key);
            let numbers = numbers(line.rsplit_once(key).expect(key).1);
            (numbers[0], numbers[1])
        };
        [of("Total:"), of("t-gmax:"), of("t-end:")]
    };
    for name in ["heap", "rust"] {
        let imported = read(&format!("dhat/{name}.dhat.json"));
        assert_eq!(imported.reader.name(), "dhat");
        let profile = &imported.profile;
        let found = [
            sum(profile, |site| site.allocated),
            sum(profile, |site| site.at_peak),
            sum(profile, Site::live),
        ];
        assert_eq!(found, totals(&format!("dhat/{name}.txt")), "{name}");
    }
    let profile = read("dhat/heap.dhat.json").profile;
    let allocated = (profile.heap.sites.iter()).map(|site| (site.stack, site.allocated.bytes));
    let found = functions(&profile, allocated);
    // `malloc` of the tool itself is left out.
    assert_eq!(found["push"], (12_880, 12_880));
    assert_eq!(found["main"], (640, 56_272));
    // Functions inlined into one another have one address.
    let profile = read("dhat/rust.dhat.json").profile;
    let boxes = profile.frames.iter().filter(|frame| frame.inlined);
    assert!(boxes.count() > 5);
    assert!(profile.meta.duration.0 > 0);
}

#[test]
fn dhat_counts_copies_too() {
    let profile = read("dhat/copy.dhat.json").profile;
    assert_eq!(profile.meta.kind, SampleKind::Events);
    assert_eq!(profile.meta.event, "copied bytes");
    let expected = numbers(&text("dhat/copy.txt"));
    let sum = |profile: &Profile| profile.samples.iter().map(|row| row.weight.0).sum::<u64>();
    assert_eq!(sum(&profile), expected[0]);
    let blocks = read_value("dhat/copy.dhat.json", Some("copied blocks")).profile;
    assert_eq!(sum(&blocks), expected[1]);
    assert_eq!(functions_of_samples(&profile)["push"].1, 1550);
    assert_eq!(profile.samples[0].state, State::Running);
}

/// What is above 0, the largest first.
fn sorted(values: impl Iterator<Item = u64>) -> Vec<u64> {
    let mut values: Vec<u64> = values.filter(|value| *value > 0).collect();
    values.sort_unstable_by(|a, b| b.cmp(a));
    values
}

#[test]
fn heaptrack_has_each_allocation() {
    for (file, name) in [
        ("heaptrack/c.heaptrack.zst", "c"),
        ("heaptrack/cpp.heaptrack.gz", "cpp"),
    ] {
        let imported = read(file);
        assert_eq!(imported.reader.name(), "heaptrack");
        let heap = &imported.profile.heap;
        let costs = text(&format!("heaptrack/{name}.costs.txt"));
        let expected = |key: &str| {
            let rows = costs.lines().filter_map(|line| line.split_once(' '));
            let rows = rows.filter(|(cost, _)| *cost == key);
            sorted(rows.map(|(_, value)| value.parse().expect("a number")))
        };
        let found = |part: fn(&Site) -> u64| sorted(heap.sites.iter().map(part));
        assert_eq!(found(|site| site.allocated.count), expected("allocations"));
        // `heaptrack_print` takes the last free of the first kind of allocation for one of a
        // temporary block, whatever was allocated since; `heaptrack` itself does not.
        let mut temporary = expected("temporary");
        assert_eq!(temporary.pop(), Some(1));
        assert_eq!(found(|site| site.temporary.count), temporary);
        assert_eq!(found(|site| site.live().bytes), expected("leaked"));
        assert_eq!(found(|site| site.at_peak.bytes), expected("peak"), "{name}");
        // Printed to three or four digits.
        let printed = text(&format!("heaptrack/{name}.txt"));
        let line = |key: &str| {
            let line = printed.lines().find(|line| line.starts_with(key));
            line.expect(key).rsplit(' ').next().expect(key).to_owned()
        };
        let peak: u64 = heap.sites.iter().map(|site| site.at_peak.bytes).sum();
        let shown = format!("{:.2}K", peak as f64 / 1000.0);
        assert_eq!(shown, line("peak heap"));
        let resident = heap.gauges.iter().map(|gauge| gauge.resident).max();
        let shown = format!("{:.2}M", resident.unwrap_or(0) as f64 / 1e6);
        assert_eq!(shown, line("peak RSS"));
    }
    let profile = read("heaptrack/cpp.heaptrack.gz").profile;
    assert!(profile.meta.duration.0 > 1_700_000_000);
    assert!(profile.heap.moments.len() > 20);
    let allocated = (profile.heap.sites.iter()).map(|site| (site.stack, site.allocated.bytes));
    let found = functions(&profile, allocated);
    assert_eq!(found["fill(int, int)"].1, 672_500);
    assert_eq!(found["sum(int)"].1, 1_310_640);
}

#[test]
fn heaptrack_that_was_not_interpreted_has_addresses_in_modules() {
    let raw = read("heaptrack/raw.heaptrack.zst").profile;
    let named = read("heaptrack/cpp.heaptrack.gz").profile;
    let parts: [fn(&Site) -> Amount; 3] = [|site| site.allocated, |site| site.at_peak, Site::live];
    for part in parts {
        assert_eq!(sum(&raw, part), sum(&named, part));
    }
    let mut modules = raw.modules.iter();
    let (program, module) = modules
        .find(|(_, module)| raw.strings.get(module.path).ends_with("/heapcpp"))
        .expect("the program");
    assert_eq!(module.bias, module.start.0);
    let in_program = (raw.locations.iter()).filter(|(_, row)| row.module == Some(program));
    assert!(in_program.count() >= 4);
}

#[test]
fn older_heaptrack_has_strings_without_lengths() {
    let text = "v 10100 1\nX ./a b\nI 1000 1\ns /bin/a\ns main\ns a.c\ni 4a 1 2 3 7\nt 1 0\n\
                a 10 1\n+ 0\n- 0\n+ 0\nc 5\nR 2\n# strings: 3\n";
    let profile = read_text(text).profile;
    let site = profile.heap.sites[0];
    assert_eq!((site.allocated.count, site.allocated.bytes), (2, 32));
    assert_eq!((site.temporary.count, site.live().bytes), (1, 16));
    assert_eq!(profile.heap.gauges[0].resident, 8192);
    let frame = profile.frames.iter().next().expect("a frame");
    assert_eq!(
        (profile.strings.get(frame.function), frame.line),
        ("main", 7)
    );
    let command = profile.processes[0].command;
    assert_eq!(profile.strings.get(command), "./a b");
}
