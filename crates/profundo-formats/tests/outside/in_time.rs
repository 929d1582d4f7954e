//! Formats in which each call has its time: Chrome's CPU profiles and trace events.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use profundo_formats::export::{Format, Options};
use profundo_model::{Gauge, Nanos, ProcessId, Profile};
use profundo_testing::{find_tool, skip};
use serde_json::Value;

use crate::firefox::Shown;
use crate::speedscope::load;
use crate::tables::{self, Name};
use crate::{made, text, tools};

/// Thousandths of a microsecond.
fn nanoseconds(value: &Value) -> u64 {
    (value.as_f64().unwrap() * 1e3).round() as u64
}

/// The own and the total time of each function by our tables.
fn ours(profile: &Profile) -> BTreeMap<Name, (u64, u64)> {
    let functions = tables::functions(profile, false).into_iter();
    functions
        .map(|(name, numbers)| (name, (numbers.own_time, numbers.time)))
        .collect()
}

/// The own and the total time of each function of a CPU profile, by the rows that last until the
/// next one.
fn cpu_profile(file: &Value) -> BTreeMap<Name, (u64, u64)> {
    let nodes = file["nodes"].as_array().unwrap();
    let at: BTreeMap<u64, usize> = (nodes.iter().enumerate())
        .map(|(index, node)| (node["id"].as_u64().unwrap(), index))
        .collect();
    let mut parents = vec![None; nodes.len()];
    for (index, node) in nodes.iter().enumerate() {
        for child in node["children"].as_array().unwrap() {
            parents[at[&child.as_u64().unwrap()]] = Some(index);
        }
    }
    let name = |index: usize| -> Option<Name> {
        let frame = &nodes[index]["callFrame"];
        let name = frame["functionName"].as_str().unwrap();
        let is_owner =
            name.contains(", thread ") || name.starts_with("thread ") || name.contains("(4");
        (!["(root)", "(idle)"].contains(&name) && !is_owner)
            .then(|| (name.into(), frame["url"].as_str().unwrap().into()))
    };
    let mut sums: BTreeMap<Name, (u64, u64)> = BTreeMap::new();
    let samples = file["samples"].as_array().unwrap();
    let deltas = file["timeDeltas"].as_array().unwrap();
    assert_eq!(samples.len(), deltas.len());
    for (sample, length) in samples.iter().zip(&deltas[1..]) {
        let length = nanoseconds(length);
        let leaf = at[&sample.as_u64().unwrap()];
        let path = std::iter::successors(Some(leaf), |&index| parents[index]);
        let mut names: Vec<Name> = path.filter_map(name).collect();
        let Some(own) = names.first() else { continue };
        sums.entry(own.clone()).or_default().0 += length;
        names.sort();
        names.dedup();
        for name in names {
            sums.entry(name).or_default().1 += length;
        }
    }
    let whole: u64 = deltas.iter().map(nanoseconds).sum();
    let length = nanoseconds(&file["endTime"]) - nanoseconds(&file["startTime"]);
    assert_eq!(length, whole);
    sums
}

#[test]
fn a_cpu_profile_has_our_times() {
    for profile in [made::odd(), made::odd_wall(), made::large(4_000)] {
        let text = text(&profile, Format::CPUPROFILE, &Options::default());
        let file: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(cpu_profile(&file), ours(&profile));
        // Each hit is a microsecond.
        let hits: u64 = (file["nodes"].as_array().unwrap().iter())
            .map(|node| node["hitCount"].as_u64().unwrap())
            .sum();
        let length = nanoseconds(&file["endTime"]) - nanoseconds(&file["startTime"]);
        assert!((hits * 1000).abs_diff(length) <= 500, "{hits} of {length}");
    }
}

#[test]
fn devtools_finds_our_times_in_a_cpu_profile() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/outside/devtools_cpu.mjs");
    let packages = match tools::heap_readers() {
        Ok(packages) => packages,
        Err(why) => return skip(&why),
    };
    for (name, profile) in [("odd", made::odd()), ("large", made::large(4_000))] {
        let text = text(&profile, Format::CPUPROFILE, &Options::default());
        let path = tools::put(format!("{name}-devtools.cpuprofile"), text.as_bytes());
        let mut command = Command::new(find_tool("node").unwrap());
        command.arg(&script).arg(packages).arg(tools::folder());
        let shown = tools::text(command.arg(path), 120).unwrap();
        let shown: Value = serde_json::from_str(&shown).unwrap();
        let ours = ours(&profile);
        let owners = |row: &&Value| row["url"] != "" || ours.contains_key(&name_of(row));
        // By hits, of which each function may have one too many or too few in each of its nodes;
        // and by the calls in the order of time, as the Performance panel draws them.
        for (kind, slack) in [("byHits", 1_000), ("byTime", 1)] {
            let rows = shown[kind].as_array().unwrap().iter().filter(owners);
            let mut theirs: BTreeMap<Name, &Value> = rows.map(|row| (name_of(row), row)).collect();
            for (name, &(own, total)) in &ours {
                let row = theirs.remove(name);
                let row = row.unwrap_or_else(|| panic!("{name:?} is not in {kind}"));
                let most = slack * row["nodes"].as_u64().unwrap() + 1;
                for (member, time) in [("own", own), ("total", total)] {
                    let shown = nanoseconds(&row[member]);
                    assert!(
                        shown.abs_diff(time) <= most,
                        "{kind}, {name:?}: {row}, not {time}"
                    );
                }
            }
            assert!(theirs.is_empty(), "{theirs:?}");
        }
        let range = nanoseconds(&shown["range"]);
        let file: Value = serde_json::from_str(&text).unwrap();
        let length = nanoseconds(&file["endTime"]) - nanoseconds(&file["startTime"]);
        assert!(range.abs_diff(length) <= 1, "{range}, not {length}");
    }
}

fn name_of(row: &Value) -> Name {
    let text = |member: &str| row[member].as_str().unwrap().to_owned();
    (text("name"), text("url"))
}

#[test]
fn a_cpu_profile_opens_in_other_tools() {
    let profile = made::odd();
    let text = text(&profile, Format::CPUPROFILE, &Options::default());
    match tools::speedscope().and_then(|page| load(page, "odd.cpuprofile", text.as_bytes())) {
        Ok(dom) => assert!(dom.contains("Left Heavy") && !dom.contains("Something went wrong")),
        Err(why) => skip(&why),
    }
    let (node, script) = match tools::profiler_cli() {
        Ok(found) => found,
        Err(why) => return skip(&why),
    };
    let path = tools::put("odd.cpuprofile", text.as_bytes());
    let shown = match Shown::load(&node, &script, &path) {
        Ok(shown) => shown,
        Err(why) => return skip(&why),
    };
    let answer = shown.ask(&["thread", "functions", "--json", "--include-idle"]);
    let answer: Value = serde_json::from_str(&answer).unwrap();
    let names: Vec<&str> = (answer["functions"].as_array().unwrap().iter())
        .map(|function| function["name"].as_str().unwrap())
        .collect();
    for (name, _) in tables::functions(&profile, false).keys() {
        assert!(names.contains(&&name[..]), "{name} is not in {names:?}");
    }
}

/// The own and the total time of each function of a trace, by slices that lie in one another.
fn trace(file: &Value) -> BTreeMap<Name, (u64, u64)> {
    let mut sums: BTreeMap<Name, (u64, u64)> = BTreeMap::new();
    // The names and the ends of the slices around the present one, by track.
    type Open = Vec<(Name, u64)>;
    let mut tracks: BTreeMap<(u64, u64), Open> = BTreeMap::new();
    for event in file["traceEvents"].as_array().unwrap() {
        if event["ph"] != "X" || event["cat"] != "sample" {
            continue;
        }
        let number = |member: &str| event[member].as_u64().unwrap();
        let open = tracks.entry((number("pid"), number("tid"))).or_default();
        let (from, length) = (nanoseconds(&event["ts"]), nanoseconds(&event["dur"]));
        while open.last().is_some_and(|&(_, end)| end <= from) {
            open.pop();
        }
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let name = (text(&event["name"]), text(&event["args"]["file"]));
        if let Some((outer, end)) = open.last() {
            assert!(from + length <= *end, "slices lie in one another");
            sums.get_mut(outer).unwrap().0 -= length;
        }
        let sum = sums.entry(name.clone()).or_default();
        sum.0 += length;
        if !open.iter().any(|(outer, _)| *outer == name) {
            sum.1 += length;
        }
        open.push((name, from + length));
    }
    sums
}

#[test]
fn slices_of_a_trace_have_our_times() {
    for profile in [made::odd(), made::odd_wall(), made::large(4_000)] {
        let text = text(&profile, Format::CHROME, &Options::default());
        let file: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(trace(&file), ours(&profile));
    }
}

#[test]
fn a_trace_has_memory_over_time() {
    let mut profile = made::odd();
    for (time, in_use) in [(0, None), (1_500_000, Some(7))] {
        profile.heap.gauges.push(Gauge {
            process: ProcessId(1),
            time: Nanos(time),
            resident: 5_000,
            in_use,
            ..Gauge::default()
        });
    }
    let text = text(&profile, Format::CHROME, &Options::default());
    let counters: Vec<&str> = text
        .lines()
        .filter(|line| line.contains("\"ph\":\"C\""))
        .collect();
    assert_eq!(counters.len(), 2);
    assert!(counters[0].contains("\"pid\":4100") && counters[0].contains("{\"resident\":5000}"));
    assert!(counters[1].contains("\"ts\":1500.000") && counters[1].contains("\"in use\":7"));
}
