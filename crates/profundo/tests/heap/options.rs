//! Options of a snapshot, and refusals.

use std::hint::black_box;

use profundo::{Error, heap};

use crate::graph::{Graph, Hidden};
use crate::{folder, turn};

#[test]
fn text_is_left_out_unless_it_is_wanted() {
    let _turn = turn();
    let folder = folder();
    let text = black_box(format!("redact_{}", "this"));
    let at = Hidden::of(text.as_ptr());
    let path = folder.join("a.heapsnapshot");
    heap::options().to(&path).take().unwrap();
    assert!(
        !std::fs::read_to_string(&path)
            .unwrap()
            .contains("redact_this")
    );
    assert!(!Graph::read(&path).at(at).name.contains("redact"));
    heap::options().redact(false).to(&path).take().unwrap();
    let graph = Graph::read(&path);
    let node = graph.at(at);
    assert!(node.name.starts_with("redact_this"), "{}", node.name);
    assert_eq!(node.kind, "string");
}

#[test]
fn every_object_can_count_as_one() {
    let _turn = turn();
    let folder = folder();
    let path = folder.join("a.heapsnapshot");
    heap::options().all_one(true).to(&path).take().unwrap();
    let graph = Graph::read(&path);
    assert!(graph.nodes.len() > 10);
    assert!(graph.nodes.iter().all(|node| node.size == 1));
}

#[test]
fn parts_are_made_one_file_later() {
    let _turn = turn();
    let folder = folder();
    let prefix = folder.join("p");
    let snapshot = heap::options().streaming(true).to(&prefix).take().unwrap();
    assert_eq!(
        folder.names(),
        ["p.edges", "p.metadata.json", "p.nodes", "p.strings"]
    );
    let out = folder.join("out.heapsnapshot");
    heap::assemble(&prefix, &out).unwrap();
    assert_eq!(Graph::read(&out).nodes.len() as u64, snapshot.nodes());
    heap::remove_parts(&prefix).unwrap();
    heap::remove_parts(&prefix).unwrap();
    assert_eq!(folder.names(), ["out.heapsnapshot"]);
    // An incomplete set of parts is no snapshot, and existing files stay.
    std::fs::write(folder.join("p.nodes"), [0; 10]).unwrap();
    let error = heap::assemble(&prefix, &out).unwrap_err();
    assert!(error.to_string().contains("p."), "{error}");
    assert_eq!(Graph::read(&out).nodes.len() as u64, snapshot.nodes());
}

#[test]
fn a_snapshot_goes_to_the_given_place() {
    let _turn = turn();
    let folder = folder();
    let snapshot = heap::options().dir(folder.path()).take().unwrap();
    let name = snapshot.path().file_name().unwrap().to_str().unwrap();
    assert!(
        name.starts_with(&format!("{}_", std::process::id())),
        "{name}"
    );
    assert_eq!(folder.names(), [name]);
    let mut bytes = Vec::new();
    let written = heap::options().write(&mut bytes).unwrap();
    assert!(bytes.starts_with(b"{\"snapshot\":") && written.path().as_os_str().is_empty());
    let text = snapshot.to_string();
    assert!(
        text.contains(" blocks of ") && text.contains(name),
        "{text}"
    );
    assert!(snapshot.blocks() > 0 && snapshot.bytes() > 0 && snapshot.missed() == 0);
    assert!((0.0..=1.0).contains(&snapshot.untyped_share()));
}

#[test]
fn what_cannot_be_written_leaves_nothing() {
    let _turn = turn();
    let folder = folder();
    let inside = folder.join("none").join("x.heapsnapshot");
    let error = heap::options().to(&inside).take().unwrap_err();
    assert!(matches!(error, Error::Format(_)), "{error}");
    // A folder is in the way of the file, but not of its parts.
    std::fs::create_dir_all(folder.join("y.heapsnapshot/z")).unwrap();
    let error = heap::options().to(folder.join("y.heapsnapshot")).take();
    let error = error.unwrap_err();
    assert!(error.to_string().contains("y.heapsnapshot"), "{error}");
    assert_eq!(folder.names(), ["y.heapsnapshot"]);
    // It can be assembled later.
    heap::options()
        .to(folder.join("x.heapsnapshot"))
        .take()
        .unwrap();
}
