//! The part files and their assembly, with the cases of their inventors.

use std::fs;
use std::path::Path;

use profundo_formats::Error;
use profundo_formats::heapsnapshot::{
    Counts, Options, Parts, assemble, assemble_and_remove, remove_parts,
};
use profundo_model::graph::{Label, NodeId, Sink};
use profundo_testing::Folder;

use super::{json, numbers};

/// Root, a table that holds a string twice, in `kinds` kinds of objects.
fn write_parts(prefix: &Path, options: Options, kinds: usize) {
    let mut parts = Parts::create(prefix, options).unwrap();
    let synthetic = parts.node_kind("synthetic").unwrap();
    let string = parts.node_kind("string").unwrap();
    let internal = parts.edge_kind("internal").unwrap();
    let element = parts.edge_kind("element").unwrap();
    let root = parts.name(b"").unwrap();
    let to_table = Label::Name(parts.name(b"table").unwrap());
    // Both lead to an object that has not come yet.
    parts
        .edge(element, Label::Index(7), NodeId(1), NodeId(2))
        .unwrap();
    parts
        .edge(element, Label::Index(1 << 40), NodeId(1), NodeId(2))
        .unwrap();
    parts.node(synthetic, root, 0, 0).unwrap();
    parts
        .edge(internal, to_table, NodeId(0), NodeId(1))
        .unwrap();
    let mut last = string;
    for kind in 0..kinds {
        last = parts.node_kind(&format!("kind {kind}")).unwrap();
    }
    let table = parts.name(b"table").unwrap();
    assert_eq!(Label::Name(table), to_table);
    parts.node(last, table, 0x1000, 64).unwrap();
    let content = parts.content(b"the secret").unwrap();
    assert_eq!(
        parts.node(string, content, 0x2000, u64::MAX).unwrap(),
        NodeId(2)
    );
    assert_eq!((parts.node_count(), parts.edge_count()), (3, 3));
    parts.finish().unwrap();
}

const PLAIN: Options = Options {
    redact: false,
    all_one: false,
};

#[test]
fn what_the_parts_have_is_in_the_file() {
    let folder = Folder::new("parts");
    let (prefix, out) = (folder.join("p"), folder.join("p.heapsnapshot"));
    write_parts(&prefix, PLAIN, 1);
    assert_eq!(fs::metadata(folder.join("p.nodes")).unwrap().len(), 3 * 34);
    assert_eq!(fs::metadata(folder.join("p.edges")).unwrap().len(), 3 * 25);
    let counts = assemble_and_remove(&prefix, &out).unwrap();
    assert_eq!(
        counts,
        Counts {
            nodes: 3,
            edges: 3,
            strings: 3,
            string_bytes: 15
        }
    );
    assert_eq!(folder.names(), ["p.heapsnapshot"]);
    let file = json(&out);
    assert_eq!(
        numbers(&file["nodes"]),
        [
            [0, 0, 0, 0, 1, 0, 0],
            [2, 1, 0x1000, 64, 2, 0, 0],
            [1, 2, 0x2000, u64::MAX, 0, 0, 0]
        ]
        .concat()
    );
    assert_eq!(numbers(&file["edges"]), [0, 1, 7, 1, 7, 14, 1, 1 << 40, 14]);
    assert_eq!(
        file["strings"],
        serde_json::json!(["", "table", "the secret"])
    );
    let meta = &file["snapshot"]["meta"];
    assert_eq!(
        meta["node_types"][0],
        serde_json::json!(["synthetic", "string", "kind 0"])
    );
    assert_eq!(
        meta["edge_types"][0],
        serde_json::json!(["internal", "element"])
    );
    assert_eq!(file["snapshot"]["node_count"], 3);
}

#[test]
fn tables_stand_in_the_order_that_chrome_wants() {
    let folder = Folder::new("order");
    write_parts(&folder.join("p"), PLAIN, 1);
    assemble(folder.join("p"), folder.join("out")).unwrap();
    let text = fs::read_to_string(folder.join("out")).unwrap();
    let places: Vec<usize> = [
        "\"snapshot\"",
        "\"nodes\":[",
        "\"edges\":[",
        "\"trace_function_infos\"",
        "\"trace_tree\"",
        "\"samples\"",
        "\"locations\"",
        "\"strings\"",
    ]
    .iter()
    .map(|word| text.find(word).unwrap())
    .collect();
    assert!(places.is_sorted(), "{places:?}");
}

#[test]
fn more_kinds_than_a_byte_can_count_make_both_files_wide() {
    let folder = Folder::new("wide");
    let (prefix, out) = (folder.join("p"), folder.join("out"));
    write_parts(&prefix, PLAIN, 254);
    assert_eq!(fs::metadata(folder.join("p.nodes")).unwrap().len(), 3 * 34);
    write_parts(&prefix, PLAIN, 300);
    assert_eq!(fs::metadata(folder.join("p.nodes")).unwrap().len(), 3 * 37);
    assert_eq!(fs::metadata(folder.join("p.edges")).unwrap().len(), 3 * 28);
    assemble(&prefix, &out).unwrap();
    let file = json(&out);
    assert_eq!(
        numbers(&file["nodes"])[..14],
        [0, 0, 0, 0, 1, 0, 0, 301, 1, 0x1000, 64, 2, 0, 0]
    );
    assert_eq!(numbers(&file["edges"]), [0, 1, 7, 1, 7, 14, 1, 1 << 40, 14]);
}

#[test]
fn contents_are_hidden_and_sizes_are_one_when_asked() {
    let folder = Folder::new("options");
    let options = Options {
        all_one: true,
        ..Options::default()
    };
    write_parts(&folder.join("p"), options, 1);
    assemble(folder.join("p"), folder.join("out")).unwrap();
    let text = fs::read_to_string(folder.join("out")).unwrap();
    assert!(!text.contains("the secret"), "{text}");
    let file = json(&folder.join("out"));
    let nodes = numbers(&file["nodes"]);
    assert_eq!(file["strings"][nodes[15] as usize], "<redacted>");
    assert_eq!([nodes[3], nodes[10], nodes[17]], [1, 1, 1]);
}

#[cfg(unix)]
#[test]
fn only_the_owner_reads_any_of_the_files() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new("private");
    write_parts(&folder.join("p"), PLAIN, 300);
    assemble(folder.join("p"), folder.join("out")).unwrap();
    for name in folder.names() {
        let mode = fs::metadata(folder.join(&name))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
}

#[test]
fn parts_that_are_not_finished_leave_nothing() {
    let folder = Folder::new("dropped");
    let mut parts = Parts::create(folder.join("p"), PLAIN).unwrap();
    parts.name(b"something").unwrap();
    assert_eq!(folder.names().len(), 3);
    drop(parts);
    assert_eq!(folder.names(), [""; 0]);
    // Neither does one that cannot start.
    let error = Parts::create(folder.join("no/folder/p"), PLAIN).unwrap_err();
    assert!(error.to_string().contains("no/folder/p"), "{error}");
}

#[test]
fn removing_parts_twice_is_no_error() {
    let folder = Folder::new("twice");
    write_parts(&folder.join("p"), PLAIN, 1);
    fs::remove_file(folder.join("p.edges")).unwrap();
    remove_parts(&folder.join("p")).unwrap();
    remove_parts(&folder.join("p")).unwrap();
    assert_eq!(folder.names(), [""; 0]);
}

/// Part files of another writer: two nodes and one edge, with kinds of one byte or four.
fn synthetic(folder: &Folder, is_wide: bool, edge_to: u64, strings: &[u8]) {
    let kind = |kind: u32| match is_wide {
        true => kind.to_ne_bytes().to_vec(),
        false => vec![kind as u8],
    };
    let row = |row_kind, values: &[u64], rest: &[u8]| {
        let mut bytes = kind(row_kind);
        values
            .iter()
            .for_each(|value| bytes.extend(value.to_ne_bytes()));
        bytes.extend(rest);
        bytes
    };
    let preamble = r#"{"snapshot":{"meta":{"node_fields":["type","name","id","self_size","edge_count","trace_node_id","detachedness"]},"node_count":2,"edge_count":1,"trace_function_count":0}}"#;
    fs::write(folder.join("s.metadata.json"), preamble).unwrap();
    let mut nodes = row(0, &[0, 100, 8, 0], &[0]);
    nodes.extend(row(1, &[1, 200, 16, 0], &[0]));
    fs::write(folder.join("s.nodes"), nodes).unwrap();
    fs::write(folder.join("s.edges"), row(3, &[5, 0, edge_to], &[])).unwrap();
    fs::write(folder.join("s.strings"), strings).unwrap();
}

fn strings(texts: &[&[u8]]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for text in texts {
        bytes.extend((text.len() as u64).to_ne_bytes());
        bytes.extend(*text);
    }
    bytes
}

#[test]
fn parts_of_other_writers_are_assembled() {
    for is_wide in [false, true] {
        let folder = Folder::new("synthetic");
        synthetic(
            &folder,
            is_wide,
            1,
            &strings(&[b"root \"quoted\"", b"bad \xff"]),
        );
        let counts = assemble(folder.join("s"), folder.join("out")).unwrap();
        assert_eq!((counts.nodes, counts.edges, counts.strings), (2, 1, 2));
        let file = json(&folder.join("out"));
        assert_eq!(
            numbers(&file["nodes"]),
            [0, 0, 100, 8, 1, 0, 0, 1, 1, 200, 16, 0, 0, 0]
        );
        assert_eq!(numbers(&file["edges"]), [3, 5, 7]);
        assert_eq!(file["strings"][0], "root \"quoted\"");
        assert_eq!(file["strings"][1], "bad [invalid unicode character]");
    }
}

/// A failed assembly gives the reason, and leaves the former file.
fn refused(folder: &Folder, why: &str) {
    let out = folder.join("out");
    for existing in [None, Some("what was there")] {
        match existing {
            Some(text) => fs::write(&out, text).unwrap(),
            None => drop(fs::remove_file(&out)),
        }
        let before = folder.names();
        let error = assemble(folder.join("s"), &out).unwrap_err();
        let said = error.to_string();
        assert!(said.contains(why), "{said}");
        assert_eq!(folder.names(), before);
        let after = fs::read_to_string(&out).ok();
        assert_eq!(after.as_deref(), existing);
    }
}

#[test]
fn what_cannot_be_assembled_leaves_what_was_there() {
    let good = strings(&[b"", b"b"]);
    let folder = Folder::new("refused");
    synthetic(&folder, false, 0, &good);
    refused(&folder, "Orphaned nodes: 1 object has no incoming edges");
    synthetic(&folder, false, 2, &good);
    refused(&folder, "s.edges points at an object that is not there");
    for cut in [1, 8, 9] {
        synthetic(&folder, false, 1, &good[..good.len() - cut]);
        refused(&folder, "truncated strings file");
    }
    // A whole text is missing.
    synthetic(&folder, false, 1, &strings(&[b""]));
    refused(&folder, "truncated strings file");
    synthetic(&folder, false, 1, &good);
    let nodes = fs::read(folder.join("s.nodes")).unwrap();
    fs::write(folder.join("s.nodes"), &nodes[..nodes.len() - 1]).unwrap();
    refused(&folder, "s.nodes is not as long");
    for name in ["s.nodes", "s.edges", "s.strings", "s.metadata.json"] {
        synthetic(&folder, true, 1, &good);
        fs::remove_file(folder.join(name)).unwrap();
        refused(&folder, "cannot read");
    }
    synthetic(&folder, true, 1, &good);
    fs::write(folder.join("s.metadata.json"), "{}").unwrap();
    refused(&folder, "s.metadata.json has no counts");
}

#[test]
fn a_full_disk_is_an_error() {
    // Its writes always fail.
    let full = Path::new("/dev/full");
    if !full.exists() {
        return;
    }
    let folder = Folder::new("full");
    write_parts(&folder.join("p"), PLAIN, 1);
    let error = assemble(folder.join("p"), full).unwrap_err();
    assert!(
        matches!(
            error,
            Error::File {
                action: "write",
                ..
            }
        ),
        "{error}"
    );
}
