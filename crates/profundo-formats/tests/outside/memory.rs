//! Memory in the formats of Chrome and of Valgrind's tools.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use profundo_analysis::{heap_samples, measured};
use profundo_formats::Error;
use profundo_formats::export::{Format, Options};
use profundo_model::{Measure, Part, Profile};
use profundo_testing::{find_tool, skip};
use serde_json::Value;

use crate::speedscope::load;
use crate::tables::{self, Name};
use crate::{made, text, tools};

fn measure(part: Part) -> Measure {
    Measure {
        part,
        counts: false,
    }
}

/// Own and total bytes of each function, by our tables.
fn ours(profile: &Profile, part: Part) -> BTreeMap<Name, (u64, u64)> {
    let functions = tables::functions(&measured(profile.clone(), measure(part)), false);
    (functions.into_iter())
        .map(|(name, numbers)| (name, (numbers.own_time, numbers.time)))
        .collect()
}

fn whole(profile: &Profile, part: Part) -> u64 {
    let samples = heap_samples(profile, measure(part));
    samples.iter().map(|sample| sample.weight.0).sum()
}

/// Adds the bytes of a node to all functions above it, each of them once.
fn add(node: &Value, above: &mut Vec<Name>, sums: &mut BTreeMap<Name, (u64, u64)>) {
    let text = |member: &str| node["callFrame"][member].as_str().unwrap().to_owned();
    above.push((text("functionName"), text("url")));
    let own = node["selfSize"].as_u64().unwrap();
    if own > 0 {
        sums.entry(above[above.len() - 1].clone()).or_default().0 += own;
        let mut names = above.clone();
        names.sort();
        names.dedup();
        for name in names {
            sums.entry(name).or_default().1 += own;
        }
    }
    for child in node["children"].as_array().unwrap() {
        add(child, above, sums);
    }
    above.pop();
}

#[test]
fn a_heap_profile_has_our_bytes() {
    let profile = made::odd_memory();
    for part in [Part::Live, Part::Allocated] {
        let options = Options {
            measure: Some(measure(part)),
            ..Options::default()
        };
        let text = text(&profile, Format::HEAPPROFILE, &options);
        let file: Value = serde_json::from_str(&text).unwrap();
        let mut sums = BTreeMap::new();
        add(&file["head"], &mut Vec::new(), &mut sums);
        sums.remove(&("(root)".into(), String::new()));
        assert_eq!(sums, ours(&profile, part));
        let samples = file["samples"].as_array().unwrap().iter();
        let sizes: u64 = samples.map(|sample| sample["size"].as_u64().unwrap()).sum();
        assert_eq!(sizes, whole(&profile, part));
    }
    let text = text(&profile, Format::HEAPPROFILE, &Options::default());
    match tools::speedscope().and_then(|page| load(page, "odd.heapprofile", text.as_bytes())) {
        Ok(dom) => assert!(dom.contains("Left Heavy") && !dom.contains("Something went wrong")),
        Err(why) => skip(&why),
    }
}

#[test]
fn ms_print_shows_our_peak() {
    let profile = made::odd_memory();
    let text = text(&profile, Format::MASSIF, &Options::default());
    let tree = text.split("heap_tree=peak\n").nth(1).unwrap();
    let mut lines = tree.lines();
    let bytes = |line: &str| -> u64 {
        let number = line.split(": ").nth(1).unwrap();
        number.split(' ').next().unwrap().parse().unwrap()
    };
    let peak = bytes(lines.next().unwrap());
    assert_eq!(peak, whole(&profile, Part::Peak));
    let first = lines.take_while(|line| line.starts_with(' '));
    let first = first.filter(|line| line.starts_with(" n"));
    assert_eq!(first.map(bytes).sum::<u64>(), peak);
    let Some(ms_print) = find_tool("ms_print") else {
        return skip("ms_print is not installed (apt install valgrind)");
    };
    let path = tools::put("odd.massif", text.as_bytes());
    let printed = tools::text(Command::new(ms_print).arg(path), 60).unwrap();
    assert!(printed.contains("(peak)"), "{printed}");
    let words: Vec<String> = (printed.lines())
        .map(|line| line.replace(',', ""))
        .collect();
    assert!(
        words.iter().any(|line| line.contains(&format!(" {peak} "))),
        "{printed}"
    );
}

/// The readings alone: there is no tree.
#[test]
fn resident_memory_is_a_curve_without_trees() {
    let mut profile = made::odd();
    for (time, resident) in [(1, 5_000), (2, 9_000), (3, 4_000)] {
        profile.heap.gauges.push(profundo_model::Gauge {
            time: profundo_model::Nanos(time * 1_000_000_000),
            resident,
            ..Default::default()
        });
    }
    let text = text(&profile, Format::MASSIF, &Options::default());
    assert!(text.contains("time=2000\nmem_heap_B=9000\n"), "{text}");
    assert_eq!(text.matches("heap_tree=empty").count(), 3);
}

#[test]
fn dhats_viewer_shows_our_sums() {
    let profile = made::odd_memory();
    let text = text(&profile, Format::DHAT, &Options::default());
    let whole = [Part::Allocated, Part::Peak, Part::Live].map(|part| whole(&profile, part));
    let file: Value = serde_json::from_str(&text).unwrap();
    let points = file["pps"].as_array().unwrap();
    for (member, whole) in ["tb", "gb", "eb"].iter().zip(whole) {
        let sum: u64 = points
            .iter()
            .map(|point| point[member].as_u64().unwrap())
            .sum();
        assert_eq!(sum, whole, "{member}");
    }
    for point in points {
        assert!(point["mb"].as_u64() >= point["gb"].as_u64());
        assert!(point["mb"].as_u64() >= point["eb"].as_u64());
    }
    let viewer = Path::new("/usr/libexec/valgrind/dh_view.js");
    let (Some(node), true) = (find_tool("node"), viewer.exists()) else {
        return skip("node and DHAT's viewer are not both installed (apt install nodejs valgrind)");
    };
    let path = tools::put("odd.dhat.json", text.as_bytes());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/outside/dhat.mjs");
    let mut command = Command::new(node);
    let shown = tools::text(command.arg(script).arg(viewer).arg(path), 60).unwrap();
    let shown: Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(shown["root"], serde_json::json!(whole));
}

#[test]
fn what_has_no_memory_is_refused() {
    for format in [Format::HEAPPROFILE, Format::DHAT, Format::MASSIF] {
        let mut out = Vec::new();
        let refused =
            profundo_formats::export::write(&made::odd(), format, &Options::default(), &mut out);
        let refused = refused.unwrap_err();
        assert!(matches!(refused, Error::NoAllocations | Error::NoMemory));
        assert!(refused.to_string().contains("--memory"), "{refused}");
    }
}
