//! Heap snapshots: DevTools' own loader and memlab find the same objects in ours, and our
//! dominators and types are those of DevTools in a snapshot of Node's.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use profundo_analysis::graph::{Alive, Duplicates, Types, by_type, dominators, duplicates};
use profundo_formats::heapsnapshot::{Options, Parts, assemble_and_remove, read_file};
use profundo_model::graph::{Graph, Label, NodeId, Sink};
use profundo_testing::{find_tool, skip};
use serde_json::Value;

use crate::tools;

/// Another reader's findings about a snapshot.
struct Theirs {
    nodes: u64,
    edges: u64,
    retained: Vec<u64>,
    all: Value,
}

fn theirs(command: &mut Command, out: &Path) -> Theirs {
    tools::text(command.arg(out), 120).unwrap();
    let all: Value = serde_json::from_slice(&std::fs::read(out).unwrap()).unwrap();
    Theirs {
        nodes: all["nodes"].as_u64().unwrap(),
        edges: all["edges"].as_u64().unwrap(),
        retained: (all["retained"].as_array().unwrap().iter())
            .map(|size| size.as_f64().unwrap() as u64)
            .collect(),
        all,
    }
}

fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/outside")
        .join(name)
}

/// DevTools' answers; `None`, with a message, where they are not available.
fn by_devtools(snapshot: &Path) -> Option<Theirs> {
    let loader = match tools::devtools(&source("devtools.mjs")) {
        Ok(loader) => loader,
        Err(why) => {
            skip(&why);
            return None;
        }
    };
    let mut command = Command::new(find_tool("node").unwrap());
    command
        .arg(source("devtools.mjs"))
        .arg(tools::heap_readers().unwrap());
    command.arg(loader).arg(snapshot);
    Some(theirs(
        &mut command,
        &snapshot.with_extension("devtools.json"),
    ))
}

fn by_memlab(snapshot: &Path) -> Option<Theirs> {
    let folder = match tools::heap_readers() {
        Ok(folder) => folder,
        Err(why) => {
            skip(&why);
            return None;
        }
    };
    let mut command = Command::new(find_tool("node").unwrap());
    command.arg(source("memlab.cjs")).arg(folder).arg(snapshot);
    Some(theirs(
        &mut command,
        &snapshot.with_extension("memlab.json"),
    ))
}

/// A snapshot of ours: lists, trees, circles, shared objects, and weak references on request.
fn ours(name: &str, has_weak: bool) -> PathBuf {
    let path = tools::folder().join(format!("{name}.heapsnapshot"));
    let prefix = path.with_extension("parts");
    let options = Options {
        redact: false,
        all_one: false,
    };
    let mut parts = Parts::create(&prefix, options).unwrap();
    let root_kind = parts.node_kind("synthetic").unwrap();
    let kinds: Vec<_> = (0..300)
        .map(|number| parts.node_kind(&format!("package.Type{number}")).unwrap())
        .collect();
    let string = parts.node_kind("string").unwrap();
    let property = parts.edge_kind("property").unwrap();
    let element = parts.edge_kind("element").unwrap();
    let weak = parts.edge_kind("weak").unwrap();
    let names: Vec<_> = (0..50)
        .map(|number| {
            parts
                .name(format!("field \"{number}\" é\n").as_bytes())
                .unwrap()
        })
        .collect();
    let mut state = 0x1234_5678_9abc_def1_u64;
    let mut below = |end: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 33) % end
    };
    let count = 4000_u32;
    for row in 0..count {
        let node = match (row, below(4)) {
            (0, _) => parts.node(root_kind, names[0], 1, 0),
            (_, 0) => {
                let text = parts
                    .content(format!("text {}", below(400)).as_bytes())
                    .unwrap();
                parts.node(string, text, u64::from(row) * 2 + 1, 24)
            }
            (_, some) => {
                let kind = kinds[(below(60) * some) as usize];
                parts.node(kind, names[3], u64::from(row) * 2 + 1, 8 + 8 * below(30))
            }
        };
        let node = node.unwrap();
        if row == 0 {
            continue;
        }
        let from = match below(3) {
            0 => row - 1,
            1 => row - 1 - below(u64::from(row.min(20))) as u32,
            _ => below(u64::from(row)) as u32,
        };
        let is_weak = has_weak && below(20) == 0;
        let kind = if is_weak { weak } else { property };
        let label = Label::Name(names[below(50) as usize]);
        parts.edge(kind, label, NodeId(from), node).unwrap();
        for index in 0..below(4) {
            let to = NodeId(below(u64::from(count)) as u32);
            parts.edge(element, Label::Index(index), node, to).unwrap();
        }
    }
    parts.finish().unwrap();
    let counts = assemble_and_remove(&prefix, &path).unwrap();
    assert_eq!(counts.nodes, u64::from(count));
    path
}

/// A snapshot that Node takes of itself; `None`, with a message, where it is not installed.
fn nodes_own() -> Option<PathBuf> {
    const PROGRAM: &str = "
class Leaky { constructor(i) { this.data = new Array(1000).fill(i); this.name = 'leak ' + i % 10; } }
globalThis.cache = new Map();
for (let i = 0; i < 50; i++) cache.set('k' + i, new Leaky(i));
globalThis.weak = new WeakMap(); globalThis.keys = [];
for (let i = 0; i < 20; i++) { const key = {i}; keys.push(key); weak.set(key, {v: new Array(100).fill(i + 0.5)}); }
require('v8').writeHeapSnapshot(process.argv[1]);
";
    let Some(node) = find_tool("node") else {
        skip("node is not installed");
        return None;
    };
    let path = tools::folder().join("node.heapsnapshot");
    let _ = std::fs::remove_file(&path);
    tools::text(Command::new(node).arg("-e").arg(PROGRAM).arg(&path), 120).unwrap();
    Some(path)
}

fn retained(graph: &Graph) -> Vec<u64> {
    let found = dominators(graph, &Alive::new(graph));
    graph.nodes().map(|node| found.retained(node)).collect()
}

#[test]
fn devtools_finds_in_our_snapshots_what_we_find() {
    for (name, has_weak) in [("strong", false), ("weak", true)] {
        let path = ours(&format!("devtools-{name}"), has_weak);
        let graph = read_file(&path).unwrap();
        let Some(theirs) = by_devtools(&path) else {
            return;
        };
        assert_eq!(theirs.nodes, graph.node_count() as u64);
        assert_eq!(theirs.edges, graph.edge_count() as u64);
        assert_eq!(theirs.retained, retained(&graph));
        assert_eq!(theirs.types(), types(&graph, |kind| format!("({kind})")));
        assert_eq!(theirs.duplicates(), our_duplicates(&graph));
    }
}

#[test]
fn memlab_finds_in_our_snapshots_what_we_find() {
    let path = ours("memlab", false);
    let graph = read_file(&path).unwrap();
    let Some(theirs) = by_memlab(&path) else {
        return;
    };
    assert_eq!(theirs.nodes, graph.node_count() as u64);
    assert_eq!(theirs.edges, graph.edge_count() as u64);
    assert_eq!(theirs.retained, retained(&graph));
}

#[test]
fn we_find_in_nodes_snapshots_what_devtools_finds() {
    let Some(path) = nodes_own() else { return };
    let graph = read_file(&path).unwrap();
    let ours = types(&graph, str::to_owned);
    // Fifty of them, each with a thousand numbers.
    let leaky = ours["Leaky"];
    assert_eq!(leaky[0], 50);
    assert!((400_000..450_000).contains(&leaky[2]), "{leaky:?}");
    if let Some(theirs) = by_memlab(&path) {
        assert_eq!(theirs.nodes, graph.node_count() as u64);
        assert_eq!(theirs.edges, graph.edge_count() as u64);
    }
    let Some(theirs) = by_devtools(&path) else {
        return;
    };
    assert_eq!(theirs.nodes, graph.node_count() as u64);
    assert_eq!(theirs.edges, graph.edge_count() as u64);
    assert_eq!(theirs.retained, retained(&graph));
    // DevTools invents types for plain objects that look alike, and marks detached ones: those that
    // it has under our names are the same.
    let all = theirs.types();
    let same = all
        .iter()
        .filter(|(name, row)| ours.get(*name) == Some(row))
        .count();
    assert!(
        same > 100 && same * 10 > ours.len() * 9,
        "{same} of {}",
        ours.len()
    );
    for name in [
        "Leaky",
        "(string)",
        "(array)",
        "(system)",
        "(compiled code)",
        "Function",
    ] {
        assert_eq!(all[name], ours[name], "{name}");
    }
    // It joins the texts that V8 has not; we leave those out.
    let all = theirs.duplicates();
    for (text, [count, bytes]) in our_duplicates(&graph) {
        assert!(all[&text][0] >= count && all[&text][1] >= bytes, "{text}");
    }
}

impl Theirs {
    /// For each type: objects, bytes, retained bytes.
    fn types(&self) -> BTreeMap<String, [u64; 3]> {
        rows(&self.all["types"])
    }

    /// For each text: objects, bytes.
    fn duplicates(&self) -> BTreeMap<String, [u64; 2]> {
        rows(&self.all["duplicates"])
    }
}

fn rows<const N: usize>(rows: &Value) -> BTreeMap<String, [u64; N]> {
    (rows.as_array().unwrap().iter())
        .map(|row| {
            let name = row[0].as_str().unwrap().to_owned();
            (
                name,
                std::array::from_fn(|at| row[at + 1].as_u64().unwrap()),
            )
        })
        .collect()
}

/// Our types, with DevTools' names for kinds that it does not know.
fn types(graph: &Graph, unknown: fn(&str) -> String) -> BTreeMap<String, [u64; 3]> {
    let types = Types::new(graph);
    let found = dominators(graph, &Alive::new(graph));
    (by_type(graph, &types, &found).into_iter())
        .map(|row| {
            let name = types.name(row.of);
            let name = match graph.kind_names().any(|kind| kind == name) {
                true => unknown(name),
                false => name.to_owned(),
            };
            (name, [row.count, row.bytes, row.retained])
        })
        .collect()
}

fn our_duplicates(graph: &Graph) -> BTreeMap<String, [u64; 2]> {
    let Duplicates::Found { rows, .. } = duplicates(graph) else {
        panic!("nothing is hidden");
    };
    (rows.into_iter())
        .map(|row| {
            let text = String::from_utf8_lossy(graph.text(row.text)).into_owned();
            (text, [row.count, row.bytes])
        })
        .collect()
}
