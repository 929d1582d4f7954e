//! Any profile keeps its weight in every format, and text stays in its format.

use profundo_formats::export::{Format, Options};
use profundo_model::{Nanos, Profile};
use proptest::prelude::*;
use serde_json::Value;

use crate::text;

/// Stacks of a few names, some of them hard on text formats, with times that may be out of order.
fn profiles() -> impl Strategy<Value = Profile> {
    let name = prop::sample::select(vec![
        "a", "b", "c::d<T>", "\"q\"\\", "e (f) 12", "<module>", "é%{",
    ]);
    let stack = prop::collection::vec(name, 1..6).prop_map(|names| names.join(";"));
    let rows = prop::collection::vec((stack, 0..50_u64, 0..9_000_000_u64), 1..30);
    rows.prop_map(|rows| {
        let lines: String = rows
            .iter()
            .map(|(stack, ..)| format!("{stack} 1\n"))
            .collect();
        let mut profile = Profile::from_folded(&lines).unwrap();
        for (sample, (_, time, weight)) in profile.samples.iter_mut().zip(&rows) {
            (sample.time, sample.weight) = (Nanos(time * 1_000_000), Nanos(weight + 1));
        }
        profile
    })
}

fn sum<'a>(values: impl IntoIterator<Item = &'a Value>, to: f64) -> u64 {
    let each = values
        .into_iter()
        .map(|value| (value.as_f64().unwrap() * to).round() as u64);
    each.sum()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_weight_is_lost(profile in profiles()) {
        let time: u64 = profile.samples.iter().map(|sample| sample.weight.0).sum();
        let options = Options::default();
        let json = |format| -> Value {
            serde_json::from_str(&text(&profile, format, &options)).unwrap()
        };
        let firefox = json(Format::FIREFOX);
        let weights = firefox["threads"][0]["samples"]["weight"].as_array().unwrap().clone();
        prop_assert_eq!(sum(&weights, 1e6), time);

        let cpu = json(Format::CPUPROFILE);
        let rows = cpu["samples"].as_array().unwrap().iter();
        let lengths = cpu["timeDeltas"].as_array().unwrap().iter().skip(1);
        let busy = rows.zip(lengths).filter(|(node, _)| **node != 2).map(|(_, length)| length);
        prop_assert_eq!(sum(busy, 1e3), time);

        let trace = json(Format::CHROME);
        let slices = trace["traceEvents"].as_array().unwrap().iter();
        // The roots lie in nothing.
        let mut end = 0;
        let mut whole = 0;
        for slice in slices.filter(|event| event["ph"] == "X") {
            let [from, length] = ["ts", "dur"].map(|member| sum([&slice[member]], 1e3));
            if from >= end {
                (end, whole) = (from + length, whole + length);
            }
        }
        prop_assert_eq!(whole, time);

        // Calls too narrow to see are left out of a chart, unless all are asked for.
        let all = Options { min_share: Some(0.0), ..Options::default() };
        let chart = text(&profile, Format::VEGA_LITE, &all);
        let vega: Value = serde_json::from_str(&chart).unwrap();
        let roots = vega["data"]["values"].as_array().unwrap().iter().filter(|row| row["y"] == 0);
        prop_assert_eq!(sum(roots.map(|row| &row["value"]), 1e6), time);

        let callgrind = text(&profile, Format::CALLGRIND, &options);
        let summary = format!("\nsummary: {}\n", time);
        prop_assert!(callgrind.contains(&summary));

        let script = text(&profile, Format::PERF_SCRIPT, &options);
        let entries = script.split("\n\n").filter(|entry| !entry.is_empty());
        prop_assert_eq!(entries.count(), profile.samples.len());
    }
}
