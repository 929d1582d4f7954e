//! Graphs that the program knows itself: each object is in the snapshot, with its size, its type,
//! and all that it holds.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use profundo_formats::heapsnapshot;
use profundo_model::graph::{Graph, Label, NodeId};

use super::{Asked, pythons_for, snapshot};
use crate::machine::Folder;

/// An object as the program knows it.
struct Truth {
    address: u64,
    size: u64,
    kind: String,
    held: Vec<u64>,
}

fn truth(path: &Path) -> Vec<Truth> {
    let text = fs::read_to_string(path).unwrap();
    let of = |line: &str| {
        let fields: Vec<&str> = line.split('\t').collect();
        Truth {
            address: fields[0].parse().unwrap(),
            size: fields[1].parse().unwrap(),
            kind: fields[2].to_owned(),
            held: fields[4]
                .split_whitespace()
                .map(|id| id.parse().unwrap())
                .collect(),
        }
    };
    text.lines().map(of).collect()
}

fn counts(all: impl Iterator<Item = u64>) -> HashMap<u64, usize> {
    let mut counts = HashMap::new();
    for one in all {
        *counts.entry(one).or_default() += 1;
    }
    counts
}

fn held_in(graph: &Graph, node: NodeId) -> HashMap<u64, usize> {
    counts(
        graph
            .edges_of(node)
            .map(|edge| graph.id(graph.edge_to(edge))),
    )
}

/// The errors of a snapshot.
fn wrong(graph: &Graph, truth: &[Truth]) -> Vec<String> {
    let rows: HashMap<u64, NodeId> = graph.nodes().map(|node| (graph.id(node), node)).collect();
    let mut wrong = Vec::new();
    for object in truth {
        let Some(&node) = rows.get(&object.address) else {
            wrong.push(format!("a {} is missing", object.kind));
            continue;
        };
        if graph.size(node) != object.size {
            wrong.push(format!(
                "a {} has {} bytes, not {}",
                object.kind,
                object.size,
                graph.size(node)
            ));
        }
        let kind = graph.kind_name(graph.kind(node));
        let name = String::from_utf8_lossy(graph.text(graph.name(node)));
        if kind == "object" && name != object.kind {
            wrong.push(format!("a {} is called {name}", object.kind));
        }
        let there = held_in(graph, node);
        for (held, count) in counts(object.held.iter().copied()) {
            if there.get(&held).copied().unwrap_or(0) < count {
                let what = rows
                    .get(&held)
                    .map(|&object| graph.text(graph.name(object)));
                let what = String::from_utf8_lossy(what.unwrap_or(b"?"));
                wrong.push(format!("a {} does not hold its {what}", object.kind));
            }
        }
    }
    wrong
}

const SECRETS: [&str; 3] = [
    "a secret of the value",
    "a secret of the key",
    "kept-in-an-attribute",
];

#[test]
fn a_snapshot_has_every_object_and_every_reference() {
    for python in pythons_for("a_snapshot_has_every_object_and_every_reference") {
        let folder = Folder::new();
        let path = folder.path().join("truth");
        let asked = Asked::begin(&python, "known_graph.py", &[path.to_str().unwrap()]);
        let truth = truth(&path);
        assert!(truth.len() > 5000);
        let read = |name: &str, words: &[&str]| {
            let mut all = vec!["-o", name];
            all.extend(words);
            snapshot(&folder, &asked, &all).succeeded();
            let path = folder.path().join(name);
            (
                heapsnapshot::read_file(&path).unwrap(),
                fs::read_to_string(&path).unwrap(),
            )
        };
        let (graph, text) = read("plain.heapsnapshot", &[]);
        let found = wrong(&graph, &truth);
        assert!(found.is_empty(), "{}: {found:#?}", python.display());
        for secret in SECRETS {
            assert!(!text.contains(secret), "{secret} of {}", python.display());
        }
        assert!(
            text.contains("secret_attribute"),
            "names of attributes are written"
        );
        let (_, text) = read("unredacted.heapsnapshot", &["--no-redact"]);
        for secret in SECRETS {
            assert!(text.contains(secret), "{secret} of {}", python.display());
        }
        let (ones, _) = read("ones.heapsnapshot", &["--all-one"]);
        assert!(ones.nodes().all(|node| ones.size(node) <= 1));
        assert!(ones.node_count() >= truth.len());
        let (outcome, code) = asked.end();
        assert_eq!((outcome.as_str(), code), ("", Some(0)));
    }
}

#[test]
fn garbage_is_there_and_stays_garbage() {
    for python in pythons_for("garbage") {
        let folder = Folder::new();
        let path = folder.path().join("truth");
        let asked = Asked::begin(&python, "known_graph.py", &[path.to_str().unwrap()]);
        snapshot(&folder, &asked, &["-o", "x.heapsnapshot"]).succeeded();
        let graph = heapsnapshot::read_file(folder.path().join("x.heapsnapshot")).unwrap();
        let mut nodes = graph.nodes();
        let garbage = nodes.find(|&node| graph.text(graph.name(node)).starts_with(b"(Garbage"));
        let held = graph.edges_of(garbage.unwrap()).count();
        assert!(
            held >= 1,
            "a list that holds itself, of {}",
            python.display()
        );
    }
}

#[test]
fn what_is_suspended_holds_by_the_names_of_variables() {
    for python in pythons_for("what_is_suspended_holds_by_the_names_of_variables") {
        let folder = Folder::new();
        let asked = Asked::begin(&python, "named_holders.py", &[]);
        let path = folder.path().join("x.heapsnapshot");
        let read = |words: &[&str]| {
            snapshot(
                &folder,
                &asked,
                &[&["-o", "x.heapsnapshot"], words].concat(),
            )
            .succeeded();
            heapsnapshot::read_file(&path).unwrap()
        };
        let graph = read(&["--no-redact"]);
        for (kind, wanted) in [
            ("OfGenerator", "in_generator"),
            ("OfCoroutine", "in_coroutine"),
            ("OfAsyncGenerator", "in_async_generator"),
            ("OfFrame", "in_frame"),
            ("OfNumber", "4711"),
        ] {
            let found = holders(&graph, &format!("__main__.{kind}"));
            assert!(
                found.contains(&wanted.to_owned()),
                "{found:?} of {}",
                python.display()
            );
        }
        // Numbers may be as secret as texts.
        let found = holders(&read(&[]), "__main__.OfNumber");
        assert!(!found.contains(&"4711".to_owned()), "{found:?}");
        assert_eq!(asked.end().1, Some(0));
    }
}

/// By what the objects of a type are held.
fn holders(graph: &Graph, kind: &str) -> Vec<String> {
    let is_it = |node: NodeId| {
        graph.text(graph.name(node)) == kind.as_bytes()
            && graph.kind_name(graph.kind(node)) == "object"
    };
    let edges = graph.nodes().flat_map(|node| graph.edges_of(node));
    let edges = edges.filter(|&edge| is_it(graph.edge_to(edge)));
    edges
        .map(|edge| match graph.label(edge) {
            Label::Name(name) => String::from_utf8_lossy(graph.text(name)).into_owned(),
            Label::Index(index) => index.to_string(),
        })
        .collect()
}

#[test]
fn four_files_make_the_same_snapshot() {
    for python in pythons_for("four_files_make_the_same_snapshot") {
        let folder = Folder::new();
        let path = folder.path().join("truth");
        let asked = Asked::begin(&python, "known_graph.py", &[path.to_str().unwrap()]);
        let truth = truth(&path);
        snapshot(&folder, &asked, &["--streaming", "-o", "big"]).succeeded();
        folder.run(&["assemble", "big"]).succeeded();
        let files = fs::read_dir(folder.path()).unwrap().flatten();
        let whole = files.map(|entry| entry.path()).find(|path| {
            path.extension()
                .is_some_and(|ending| ending == "heapsnapshot")
        });
        let graph = heapsnapshot::read_file(whole.unwrap()).unwrap();
        let found = wrong(&graph, &truth);
        assert!(found.is_empty(), "{}: {found:#?}", python.display());
    }
}
