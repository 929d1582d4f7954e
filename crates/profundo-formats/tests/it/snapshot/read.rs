//! The reader: everything that we wrote, other writers' orders, and nothing of a broken file.

use std::fmt::Write as _;
use std::fs;

use profundo_formats::heapsnapshot::{Options, Parts, assemble, read, read_file};
use profundo_formats::{Error, heapsnapshot};
use profundo_model::graph::{Builder, Graph, Label, NodeId, Sink};
use profundo_testing::Folder;
use proptest::prelude::*;

/// The contents of a graph as text.
fn dump(graph: &Graph) -> String {
    let mut text = String::new();
    for node in graph.nodes() {
        let name = String::from_utf8_lossy(graph.text(graph.name(node)));
        let kind = graph.kind_name(graph.kind(node));
        let (id, size) = (graph.id(node), graph.size(node));
        writeln!(text, "{} {kind:?} {name:?} {id} {size}", node.0).unwrap();
        for edge in graph.edges_of(node) {
            let label = match graph.label(edge) {
                Label::Name(name) => format!("{:?}", String::from_utf8_lossy(graph.text(name))),
                Label::Index(index) => index.to_string(),
            };
            let kind = graph.edge_kind_name(graph.edge_kind(edge));
            writeln!(text, "  {kind} {label} -> {}", graph.edge_to(edge).0).unwrap();
        }
    }
    text
}

/// V8's form: fewer fields, another order, tables before the texts, and unknown fields.
const OTHERS: &str = r#" {"snapshot" : {"title":"x","meta":{"node_fields":["id","edge_count","new \"field\"","self_size","name","type"],
"node_types":["number","number",{"a":[1]},"number","string",["hidden","string"]],
"edge_fields":["to_node","type","name_or_index","more"],"edge_types":["node",["element","property"],"string_or_number","number"]},
"node_count":3,"edge_count":2},
"locations":[1,[2,{"x":"]"}],-3.5e2],
"edges":[6,1,0,9
,12,0,18446744073709551615,9],
"nodes":[1,1,77,0,0,0
,3,1,77,40,1,0
,18446744073709551615,0,77,8,2,1
],
"strings":["","a\u00e9\ud83d\ude00\n","<\/x>"]}"#;

const OTHERS_SAY: &str = "0 \"hidden\" \"\" 1 0\n  property \"\" -> 1\n1 \"hidden\" \"aé😀\\n\" 3 40\n  \
    element 18446744073709551615 -> 2\n2 \"string\" \"</x>\" 18446744073709551615 8\n";

#[test]
fn fields_are_found_by_what_the_snapshot_says_of_them() {
    assert_eq!(dump(&read(OTHERS.as_bytes()).unwrap()), OTHERS_SAY);
    // A byte order mark of UTF-8 in front, as some editors write it.
    let marked = format!("\u{feff}{OTHERS}");
    assert_eq!(dump(&read(marked.as_bytes()).unwrap()), OTHERS_SAY);
}

#[test]
fn it_matters_not_how_much_is_read_at_a_time() {
    /// Gives one byte at a time.
    struct Slow<'a>(&'a [u8]);
    impl std::io::Read for Slow<'_> {
        fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
            self.0.read(&mut into[..1])
        }
    }
    assert_eq!(dump(&read(Slow(OTHERS.as_bytes())).unwrap()), OTHERS_SAY);
}

#[test]
fn a_snapshot_that_was_cut_says_so_wherever_it_was() {
    let end = OTHERS.len();
    let first_key = OTHERS.find(':').unwrap();
    for cut in 0..end {
        match read(&OTHERS.as_bytes()[..cut]) {
            Err(Error::NotASnapshot) => assert!(cut <= first_key, "{cut}"),
            Err(Error::SnapshotCut { offset, .. }) => assert_eq!(offset, cut as u64),
            // A number may look whole where it was cut, but then the list has no end.
            other => panic!("cut at {cut}: {other:?}"),
        }
    }
}

#[test]
fn what_cannot_be_is_an_error() {
    let cases = [
        (
            "\"node_count\":3",
            "\"node_count\":4",
            "there are 3 objects, and 4 are counted",
        ),
        (
            "\"edge_count\":2",
            "\"edge_count\":9",
            "there are 2 references, and 9 are counted",
        ),
        ("\"to_node\"", "\"to\"", "no field is called to_node"),
        (
            "[6,1,",
            "[7,1,",
            "leads to number 7, where no object begins",
        ),
        (
            "[6,1,",
            "[60,1,",
            "a reference leads to object 10, which is not there",
        ),
        ("[6,1,", "[6,2,", "kind 2 has no name"),
        ("[6,1,", "[6,300,", "300 is more than is possible there"),
        (
            "[1,1,77",
            "[1,2,77",
            "the objects count 3 references, and there are 2",
        ),
        (",8,2,1", ",8,3,1", "text 3 is used and is not there"),
        (",8,2,1", ",8,2", "the last row is not whole"),
        (",8,2,1", ",8,2,-1", "'-' stands where a number was due"),
        (",\"<\\/x>\"]", ",]", "stands where '\"' was due"),
        (
            "\"locations\"",
            "\"nodes\"",
            "'[' stands where a number was due",
        ),
        (
            "\"locations\":[1,[2,{\"x\":\"]\"}],-3.5e2]",
            "\"strings\":[]",
            "two lists of texts",
        ),
    ];
    for (from, to, why) in cases {
        assert!(OTHERS.contains(from), "{from}");
        let broken = OTHERS.replacen(from, to, 1);
        let error = read(broken.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(why), "{from} {to}: {error}");
        assert!(error.contains("at byte "), "{error}");
    }
    for other in ["", "{}", "[1,2]", "{\"nodes\":[]}", "PROFUNDO"] {
        let error = read(other.as_bytes()).unwrap_err();
        assert!(matches!(error, Error::NotASnapshot), "{error}");
    }
    let no_tables = "{\"snapshot\":{\"meta\":{\"node_fields\":[\"type\",\"name\",\"id\",\"self_size\",\
        \"edge_count\"],\"edge_fields\":[\"type\",\"name_or_index\",\"to_node\"]}}}";
    let error = read(no_tables.as_bytes()).unwrap_err().to_string();
    assert!(error.contains("there are no objects"), "{error}");
}

#[test]
fn a_preamble_that_claims_too_much_costs_nothing() {
    let broken = OTHERS.replacen("\"node_count\":3", "\"node_count\":9999999999999", 1);
    let folder = Folder::new("claims");
    let path = folder.join("a");
    fs::write(&path, broken).unwrap();
    let error = read_file(&path).unwrap_err();
    assert!(matches!(error, Error::Content { .. }), "{error}");
}

/// One item of a heap.
#[derive(Debug, Clone)]
enum Item {
    Node(u8, String, u64, u64),
    Edge(u8, bool, u64, u32, u32),
}

fn pass<S: Sink>(sink: &mut S, items: &[Item], nodes: u32) -> Result<(), S::Error> {
    let root = sink.node_kind("synthetic")?;
    let holds = sink.edge_kind("property")?;
    let name = sink.name(b"a name")?;
    sink.node(root, name, 0, 0)?;
    let mut row = 0;
    for item in items {
        match item {
            Item::Node(kind, text, id, size) => {
                row += 1;
                // References come before and after the objects that they lead to.
                sink.edge(holds, Label::Name(name), NodeId(0), NodeId(row))?;
                let kind = sink.node_kind(&format!("kind {kind}"))?;
                let text = sink.content(text.as_bytes())?;
                sink.node(kind, text, *id, *size)?;
            }
            Item::Edge(kind, is_index, number, from, to) => {
                let (kind, label) = match is_index {
                    true => ("element".to_owned(), Label::Index(*number)),
                    false => (format!("edge {kind}"), Label::Name(name)),
                };
                let kind = sink.edge_kind(&kind)?;
                sink.edge(kind, label, NodeId(from % nodes), NodeId(to % nodes))?;
            }
        }
    }
    Ok(())
}

fn any_items() -> impl Strategy<Value = Vec<Item>> {
    let node = (any::<u8>(), any::<String>(), any::<u64>(), any::<u64>())
        .prop_map(|(kind, text, id, size)| Item::Node(kind, text, id, size));
    let edge = (
        0_u8..5,
        any::<bool>(),
        any::<u64>(),
        any::<u32>(),
        any::<u32>(),
    )
        .prop_map(|(kind, is_index, number, from, to)| {
            Item::Edge(kind, is_index, number, from, to)
        });
    prop::collection::vec(prop_oneof![node, edge], 0..60)
}

proptest! {
    #[test]
    fn what_is_written_is_read_again(items in any_items()) {
        let nodes = 1 + items.iter().filter(|item| matches!(item, Item::Node(..))).count() as u32;
        let folder = Folder::new("again");
        let options = Options { redact: false, all_one: false };
        let mut parts = Parts::create(folder.join("p"), options).unwrap();
        pass(&mut parts, &items, nodes).unwrap();
        parts.finish().unwrap();
        assemble(folder.join("p"), folder.join("out")).unwrap();
        let mut held = Builder::default();
        pass(&mut held, &items, nodes).unwrap();
        let read = read_file(folder.join("out")).unwrap();
        prop_assert_eq!(dump(&read), dump(&held.finish()));
    }

    #[test]
    fn no_bytes_do_harm(change in any::<(usize, u8)>(), bytes in prop::collection::vec(any::<u8>(), 0..40)) {
        let mut text = OTHERS.as_bytes().to_vec();
        let at = change.0 % text.len();
        text[at] = change.1;
        let _ = read(&text[..]);
        text.splice(at..at, bytes);
        let _ = read(&text[..]);
    }
}

#[test]
fn a_snapshot_is_known_by_how_it_begins() {
    assert!(heapsnapshot::is_heapsnapshot(OTHERS.as_bytes()));
    assert!(!heapsnapshot::is_heapsnapshot(b"PROFUNDO\0\0\0\0"));
}

/// The corpus of the fuzz target, with its earlier findings.
#[test]
fn the_fuzz_corpus_does_no_harm() {
    use profundo_analysis::graph::{Alive, Types, by_type, dominators, duplicates};
    let corpus = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../fuzz/corpus/heapsnapshot"
    );
    let (mut files, mut graphs) = (0, 0);
    for entry in fs::read_dir(corpus).unwrap() {
        let bytes = fs::read(entry.unwrap().path()).unwrap();
        files += 1;
        if let Ok(graph) = read(&bytes[..]) {
            graphs += 1;
            let found = dominators(&graph, &Alive::new(&graph));
            let types = Types::new(&graph);
            let rows = by_type(&graph, &types, &found);
            assert!(rows.iter().all(|row| row.count > 0));
            let _ = duplicates(&graph);
        }
    }
    assert!(
        files >= 3 && graphs >= 2 && graphs < files,
        "{files} {graphs}"
    );
}
