//! A chart of Vega-Lite, judged by its schema and drawn by Vega.

use std::path::Path;
use std::process::Command;

use profundo_formats::export::{Format, Options};
use profundo_testing::{find_tool, skip};
use serde_json::Value;

use crate::{made, tables, text, tools};

#[test]
fn widths_are_our_totals() {
    let profile = made::large(4_000);
    let options = Options {
        min_share: Some(0.0),
        ..Options::default()
    };
    let text = text(&profile, Format::VEGA_LITE, &options);
    let file: Value = serde_json::from_str(&text).unwrap();
    let values = file["data"]["values"].as_array().unwrap();
    let number = |row: &Value, member: &str| (row[member].as_f64().unwrap() * 1e6).round() as u64;
    let roots = values.iter().filter(|row| row["y"] == 0);
    let whole: u64 = roots.map(|row| number(row, "value")).sum();
    let time: u64 = profile.samples.iter().map(|sample| sample.weight.0).sum();
    assert_eq!(whole, time);
    let functions = tables::functions(&profile, false);
    let own: u64 = values.iter().map(|row| number(row, "own")).sum();
    assert!(values.len() >= 20_000 || own == functions.values().map(|f| f.own_time).sum::<u64>());
    for row in values {
        assert_eq!(number(row, "x2") - number(row, "x"), number(row, "value"));
    }
}

#[test]
fn vega_draws_it() {
    let packages = ["vega@6", "vega-lite@6", "ajv@8", "ajv-formats@3"];
    let (Some(node), modules) = (find_tool("node"), tools::npm("npm-vega", &packages)) else {
        return skip("node is not installed");
    };
    let modules = match modules {
        Ok(modules) => modules,
        Err(why) => return skip(&why),
    };
    let text = text(&made::odd(), Format::VEGA_LITE, &Options::default());
    let path = tools::put("odd.vl.json", text.as_bytes());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/outside/vega.mjs");
    let mut command = Command::new(node);
    let svg = tools::text(command.arg(script).arg(modules).arg(path), 120).unwrap();
    assert!(svg.starts_with("<svg"), "{svg}");
    let rectangles = svg.matches("aria-roledescription=\"rect mark\"").count();
    let values: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        rectangles,
        values["data"]["values"].as_array().unwrap().len()
    );
}
