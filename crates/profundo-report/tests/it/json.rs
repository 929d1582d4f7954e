//! The schema of the JSON, as it is documented.

use std::path::{Path, PathBuf};

use profundo_report::{
    Callers, Choices, Format, Functions, GroupBy, Lines, Report, Statprof, Summary, View,
};
use serde_json::Value;

use crate::mixed::{crowd, python};

fn document() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/json.md")
}

fn reports() -> Vec<(&'static str, String)> {
    let command = Choices::command();
    let tree = Report::new()
        .choices(command.clone())
        .noisefloor(2.0)
        .maxdepth(2);
    let flat = tree.clone().format(Format::Flat).mincount(1200);
    let groups = Report::new()
        .choices(command.only_mine(true))
        .format(Format::Functions);
    let groups = groups.group_by(GroupBy::Process).json(&crowd());
    let profile = python();
    vec![
        ("lines", Lines::new().min_share(0.2).json(&profile).unwrap()),
        (
            "functions",
            Functions::new().limit(2).json(&profile).unwrap(),
        ),
        ("statprof", Statprof::new().json(&profile).unwrap()),
        ("callers", Callers::new("randint").json(&profile).unwrap()),
        (
            "callees",
            Callers::callees_of("randint").json(&profile).unwrap(),
        ),
        ("calls", Callers::both("randint").json(&profile).unwrap()),
        ("summary", Summary::new().json(&crowd()).unwrap()),
        ("tree", tree.json(&profile).unwrap()),
        ("flat", flat.json(&profile).unwrap()),
        ("function_groups", groups.unwrap()),
    ]
}

/// `BLESS=1` rewrites the examples.
#[test]
fn the_documented_examples_are_what_is_written() {
    let text = std::fs::read_to_string(document()).unwrap();
    let reports = reports();
    let mut parts = text.split("```json\n");
    let mut written = parts.next().unwrap().to_owned();
    let mut count = 0;
    for part in parts {
        let (example, after) = part.split_once("```").unwrap();
        let (_, name) = example.split_once("\"report\": \"").unwrap();
        let name = name.split('"').next().unwrap();
        let (_, json) = reports.iter().find(|(report, _)| *report == name).unwrap();
        written += &format!("```json\n{json}```{after}");
        count += 1;
    }
    assert!(count >= 3, "{count} examples");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(document(), written).unwrap();
    } else {
        assert_eq!(written, text);
    }
}

#[test]
fn a_tree_names_callers_that_came_before() {
    let (_, json) = reports()
        .into_iter()
        .find(|(name, _)| *name == "tree")
        .unwrap();
    let value: Value = serde_json::from_str(&json).unwrap();
    let nodes = value["groups"][0]["nodes"].as_array().unwrap();
    for node in nodes {
        let number = node["node"].as_u64().unwrap();
        assert!(node["caller"].as_u64().is_none_or(|caller| caller < number));
    }
    let roots: u64 = (nodes.iter().filter(|node| node["caller"].is_null()))
        .map(|node| node["count"].as_u64().unwrap())
        .sum();
    assert_eq!(roots, value["groups"][0]["count"].as_u64().unwrap());
}

#[test]
fn a_full_disk_is_an_error() {
    struct Full;
    impl std::io::Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    for failed in [
        Summary::new().write_json(&python(), Full),
        Summary::new().write(&python(), Full),
        Report::new().write_json(&python(), Full),
    ] {
        let said = failed.unwrap_err().to_string();
        assert_eq!(said, "write the report");
    }
}
