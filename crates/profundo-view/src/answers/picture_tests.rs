//! Pictures that act: each box opens and has shares, the graph has the report's numbers, and two
//! parts of a recording are compared.

use std::ops::Range;
use std::path::Path;

use profundo_analysis::Filter;
use profundo_model::{Nanos, Profile, SampleKind};
use profundo_report::Listing;
use serde_json::Value;

use super::answer;
use crate::{Error, Library, Question, Source};

/// Ten seconds of two phases: `parse` in the first half, `write` in the second.
struct Phases;

impl Source for Phases {
    fn path(&self) -> &Path {
        Path::new("/phases")
    }

    fn read(&self, _: Range<Nanos>) -> Result<Profile, String> {
        let text = "main;parse;lex 300\nmain;parse;lex;parse;lex 40\nmain;parse 160\n\
                    main;write;flush 400\nmain;write 100\n";
        let mut profile = Profile::from_folded(text).map_err(|why| why.to_string())?;
        profile.meta.kind = SampleKind::Cpu;
        profile.meta.duration = Nanos(10_000_000_000);
        for (row, sample) in (0..).zip(&mut profile.samples) {
            sample.time = Nanos(10_000_000 * (row + 1));
            sample.weight = Nanos(10_000_000);
        }
        Ok(profile)
    }

    fn listings(&self, _: &mut Profile, _: &Filter, _: &str) -> Result<Vec<Listing>, String> {
        Err("nothing is on this machine".to_owned())
    }
}

fn try_asked(text: &str) -> Result<Value, Error> {
    let library = Library::new(vec![Box::new(Phases)]);
    let (name, query) = text.split_once('?').unwrap_or((text, ""));
    let question = Question::of_address(name, query).unwrap();
    let answer = answer(&library, &question)?;
    Ok(serde_json::from_slice(&answer.bytes).unwrap())
}

fn asked(text: &str) -> Value {
    try_asked(text).unwrap()
}

fn list(value: &Value) -> Vec<i64> {
    let list = value.as_array().unwrap().iter();
    list.map(|one| one.as_i64().unwrap()).collect()
}

/// The box of a picture opens in each shape, with the weight that it has there, and has shares.
#[test]
fn each_box_opens_and_has_shares() {
    let mut seen = 0;
    for shape in [
        "",
        "shape=inverted",
        "shape=callers&function=lex",
        "shape=callees&function=parse",
        "order=widest",
        "by=thread",
    ] {
        let picture = asked(&format!("flame?{shape}"));
        let (paths, functions) = (
            list(&picture["boxes"]["path"]),
            list(&picture["boxes"]["function"]),
        );
        let (weights, owns) = (
            list(&picture["boxes"]["weight"]),
            list(&picture["boxes"]["own"]),
        );
        let total = picture["total"].as_f64().unwrap();
        for at in 0..paths.len() {
            if functions[at] < 0 {
                continue;
            }
            let opened = asked(&format!("flame?{shape}&path={}", paths[at]));
            let boxes = &opened["boxes"];
            assert_eq!(list(&boxes["path"])[0], paths[at], "{shape} {at}");
            assert_eq!(list(&boxes["weight"])[0], weights[at], "{shape} {at}");
            assert_eq!(opened["total"], picture["total"]);
            if shape != "by=thread" {
                let share = asked(&format!("share?{shape}&path={}", paths[at]));
                assert_eq!(share["total_weight"], weights[at], "{shape} {at}");
                assert_eq!(share["self_weight"], owns[at], "{shape} {at}");
                let part = share["total_share"].as_f64().unwrap();
                assert!((part - weights[at] as f64 / total).abs() < 1e-6);
                let low = share["total_share_low"].as_f64().unwrap();
                let high = share["total_share_high"].as_f64().unwrap();
                assert!(low <= part && part <= high, "{share}");
            }
            seen += 1;
        }
        assert!(try_asked(&format!("flame?{shape}&path=12345")).is_err());
    }
    assert!(seen > 20, "{seen}");
}

#[test]
fn small_boxes_open_in_every_shape() {
    let second = "filter=from%3D2.5%20to%3D6&after=from%3D6%20to%3D9";
    for question in [
        "flame?pixels=3".to_owned(),
        "flame?pixels=3&shape=inverted".to_owned(),
        "flame?pixels=3&by=thread".to_owned(),
        "flame?pixels=5&shape=callees&function=parse".to_owned(),
        format!("diff_flame?pixels=3&{second}"),
    ] {
        let whole = asked(&question);
        let boxes = &whole["boxes"];
        let functions = list(&boxes["function"]);
        let narrow = functions.iter().position(|&function| function == -3);
        let at = narrow.unwrap_or_else(|| panic!("{question}: nothing is narrow"));
        let (path, least) = (list(&boxes["path"])[at], &whole["least"]);
        let opened = asked(&format!("{question}&path={path}.{least}"));
        let shown = &opened["boxes"];
        assert_eq!(list(&shown["function"])[0], -3, "{question}");
        for column in ["line", "weight"] {
            assert_eq!(
                list(&shown[column])[0],
                list(&boxes[column])[at],
                "{question}"
            );
        }
        let first = list(&shown["level"])
            .iter()
            .filter(|&&level| level == 1)
            .count();
        assert_eq!(
            first as i64,
            list(&boxes["line"])[at],
            "{question} {opened}"
        );
    }
}

#[test]
fn the_graph_has_the_numbers_of_the_report() {
    let graph = asked("graph");
    let report = asked("report?what=functions&limit=100");
    let functions = report["functions"].as_array().unwrap();
    let nodes = graph["nodes"].as_array().unwrap();
    assert_eq!(nodes.len(), functions.len());
    for node in nodes {
        let is_it = |row: &&Value| row["function"] == node["name"];
        let row = functions.iter().find(is_it).unwrap();
        for member in [
            "self_share",
            "total_share",
            "self_share_low",
            "self_share_high",
        ] {
            let (a, b) = (
                node[member].as_f64().unwrap(),
                row[member].as_f64().unwrap(),
            );
            assert!((a - b).abs() < 1e-6, "{member} {node} {row}");
        }
    }
    assert_eq!(
        (&graph["nodes_left_out"], &graph["edges_left_out"]),
        (&0.into(), &0.into())
    );
    let few = asked("graph?nodes=2");
    assert_eq!(few["nodes"].as_array().unwrap().len(), 2);
    assert_eq!(few["nodes_left_out"], nodes.len() - 2);
    let some = asked("graph?arrows=0.35");
    let edges = |graph: &Value| graph["edges"].as_array().unwrap().len();
    assert!(edges(&some) < edges(&graph));
    assert_eq!(some["edges_left_out"], edges(&graph) - edges(&some));
}

#[test]
fn a_graph_around_a_function_is_about_it() {
    let graph = asked("graph?function=parse&steps=1");
    let names: Vec<&str> = (graph["nodes"].as_array().unwrap().iter())
        .map(|node| node["name"].as_str().unwrap())
        .collect();
    assert!(names.contains(&"main") && names.contains(&"lex") && !names.contains(&"write"));
    assert_eq!(names[graph["centre"].as_u64().unwrap() as usize], "parse");
    let none = try_asked("graph?function=nowhere").unwrap_err().to_string();
    assert!(none.contains("nowhere"), "{none}");
}

#[test]
fn two_parts_of_a_recording_are_compared() {
    let sides = "filter=from%3D1%20to%3D3&after=from%3D6%20to%3D9";
    let diff = asked(&format!("diff?{sides}&all=1"));
    assert_eq!(diff["before"][0]["name"], "1 s to 3 s");
    assert_eq!(diff["after"][0]["name"], "6 s to 9 s");
    assert_eq!(diff["scale"]["per"], "second");
    // Both were busy all the time, however long they are.
    let near = |value: &Value| (value.as_f64().unwrap() - 1.0).abs() < 0.02;
    assert!(near(&diff["whole"]["before"]), "{}", diff["whole"]);
    assert!(near(&diff["whole"]["after"]), "{}", diff["whole"]);
    let picture = asked(&format!("diff_flame?{sides}"));
    let functions = list(&picture["boxes"]["function"]);
    let trends: Vec<char> = picture["boxes"]["trend"]
        .as_str()
        .unwrap()
        .chars()
        .collect();
    let trend_of = |name: &str| {
        let names = picture["functions"]["name"].as_array().unwrap();
        let row = names.iter().position(|known| known == name).unwrap();
        let at = functions
            .iter()
            .position(|&function| function == row as i64);
        trends[at.unwrap()]
    };
    assert_eq!((trend_of("parse"), trend_of("write")), ('g', 'n'));
    assert_eq!(trend_of("main"), '.');
    // Nothing made all of one part faster.
    assert_eq!(diff["common_factor"], 1.0);
    // The same part twice has not changed.
    let same = asked("diff?filter=from%3D1%20to%3D3&after=from%3D1%20to%3D3");
    assert_eq!(same["whole"]["changed"], false);
    // One recording alone has nothing to be compared with.
    assert!(try_asked("diff").is_err());
}
