//! A heap that is known by construction: a module with a cache of sessions, each with a text and a
//! list; two lists that hold each other; and weak references.

use profundo_model::graph::{Builder, Graph, Label, NodeId, Sink};

use crate::graph::{
    Alive, Branch, Duplicate, Duplicates, Target, TypeRow, Types, below, biggest, by_type,
    difference, dominators, duplicates, paths, tree,
};

/// The heap with `count` sessions, whose objects begin at address `base`.
fn sessions(heap: &mut Builder, count: u32, base: u64) {
    let synthetic = heap.node_kind("synthetic").unwrap();
    let dict = heap.node_kind("dict").unwrap();
    let list = heap.node_kind("list").unwrap();
    let text = heap.node_kind("string").unwrap();
    let object = heap.node_kind("object").unwrap();
    let property = heap.edge_kind("property").unwrap();
    let element = heap.edge_kind("element").unwrap();
    let weak = heap.edge_kind("weak").unwrap();
    let empty = heap.name(b"").unwrap();
    let cache = heap.name(b"cache").unwrap();
    let user = heap.name(b"user").unwrap();
    let session = heap.name(b"Session").unwrap();
    let named = |name| Label::Name(name);
    let mut next = base;
    let mut id = || {
        next += 16;
        next
    };
    let root = heap.node(synthetic, empty, 1, 0).unwrap();
    let held = heap.node(dict, cache, id(), 100).unwrap();
    heap.edge(property, named(cache), root, held).unwrap();
    for index in 0..u64::from(count) {
        let one = heap.node(object, session, id(), 50).unwrap();
        let name = heap
            .content(format!("user {}", index % 2).as_bytes())
            .unwrap();
        let name = heap.node(text, name, id(), 20 + index).unwrap();
        let items = heap.node(list, empty, id(), 200).unwrap();
        heap.edge(element, Label::Index(index), held, one).unwrap();
        heap.edge(property, named(user), one, name).unwrap();
        heap.edge(element, Label::Index(0), one, items).unwrap();
        // A list that refers to its session is dominated by it all the same.
        heap.edge(element, Label::Index(0), items, one).unwrap();
    }
    let lost = heap.node(list, empty, id(), 8).unwrap();
    let other = heap.node(list, empty, id(), 8).unwrap();
    heap.edge(element, Label::Index(0), lost, other).unwrap();
    heap.edge(element, Label::Index(0), other, lost).unwrap();
    let seen = heap.node(object, session, id(), 50).unwrap();
    heap.edge(weak, named(user), held, seen).unwrap();
}

fn heap(count: u32, base: u64) -> Graph {
    let mut heap = Builder::default();
    sessions(&mut heap, count, base);
    heap.finish()
}

fn types_of(graph: &Graph) -> Vec<(String, u64, u64, u64)> {
    let types = Types::new(graph);
    let found = dominators(graph, &Alive::new(graph));
    (by_type(graph, &types, &found).into_iter())
        .map(
            |TypeRow {
                 of,
                 count,
                 bytes,
                 retained,
             }| { (types.name(of).to_owned(), count, bytes, retained) },
        )
        .collect()
}

#[test]
fn a_type_retains_what_would_go_with_all_of_its_objects() {
    let rows = types_of(&heap(3, 0));
    let row = |name: &str, count, bytes, retained| (name.to_owned(), count, bytes, retained);
    assert_eq!(
        rows,
        [
            row("dict", 1, 100, 100 + 3 * 270 + 3),
            // One is only weakly held, and hangs on the root.
            row("Session", 4, 200, 3 * 270 + 3 + 50),
            row("list", 5, 616, 616),
            row("(string)", 3, 63, 63),
        ]
    );
}

#[test]
fn an_object_below_one_of_its_type_is_counted_once() {
    let edges = [(0, 1, "property"), (1, 2, "property"), (2, 3, "property")];
    let rows = types_of(&super::heap(&edges, 4));
    // All are of one kind, whose names are types: o0 to o3, of 1, 2, 4 and 8 bytes.
    let retained: Vec<u64> = rows.iter().map(|row| row.3).collect();
    assert_eq!(retained, [15, 14, 12, 8]);
    let mut heap = Builder::default();
    let kind = heap.node_kind("node").unwrap();
    let next = heap.edge_kind("property").unwrap();
    let name = heap.name(b"next").unwrap();
    for row in 0..5 {
        heap.node(kind, name, row, 10).unwrap();
        if row > 0 {
            let (from, to) = (NodeId(row as u32 - 1), NodeId(row as u32));
            heap.edge(next, Label::Name(name), from, to).unwrap();
        }
    }
    assert_eq!(types_of(&heap.finish()), [("node".to_owned(), 5, 50, 50)]);
}

#[test]
fn the_biggest_are_in_order_and_in_a_tree() {
    let graph = heap(3, 0);
    let found = dominators(&graph, &Alive::new(&graph));
    let most = biggest(&graph, &found, 3);
    // The cache, then the sessions from the one with the longest text on.
    assert_eq!(most, [NodeId(1), NodeId(8), NodeId(5)]);
    assert_eq!(biggest(&graph, &found, 1000).len(), graph.node_count() - 1);
    let rows: Vec<(u32, u32, u64, u64)> = (tree(&graph, &found, 5).iter())
        .map(|branch| (branch.depth, branch.node.0, branch.children, branch.hidden))
        .collect();
    // Each session dominates its text and its list.
    let expected = [
        (0, 0, 4, 3),
        (1, 1, 3, 0),
        (2, 8, 2, 2),
        (2, 5, 2, 2),
        (2, 2, 2, 2),
    ];
    assert_eq!(rows, expected);
    assert_eq!(tree(&graph, &found, 1000).len(), graph.node_count());
    assert!(tree(&graph, &found, 0).is_empty());
}

#[test]
fn a_branch_has_what_the_whole_tree_has_below_it() {
    let graph = heap(3, 0);
    let found = dominators(&graph, &Alive::new(&graph));
    let all = tree(&graph, &found, 1000);
    for (at, whole) in all.iter().enumerate() {
        let under = all[at + 1..].iter();
        let under: Vec<&Branch> = under
            .take_while(|row| row.depth > whole.depth)
            .filter(|row| row.depth == whole.depth + 1)
            .collect();
        let rows = below(&graph, &found, whole.node, 1000);
        assert_eq!(
            (rows[0].node, rows[0].children),
            (whole.node, whole.children)
        );
        assert_eq!((rows[0].hidden, rows[0].hidden_bytes), (0, 0));
        let pairs = |row: &Branch| (row.node, row.children);
        let expected: Vec<_> = under.into_iter().map(pairs).collect();
        assert_eq!(rows[1..].iter().map(pairs).collect::<Vec<_>>(), expected);
        assert!(rows[1..].iter().all(|row| row.hidden == row.children));
    }
    // The root without the two smallest of its four.
    let rows = below(&graph, &found, graph.root(), 2);
    assert_eq!((rows.len(), rows[0].children, rows[0].hidden), (3, 4, 2));
    let whole = below(&graph, &found, graph.root(), 1000);
    let last: u64 = whole[3..].iter().map(|row| found.retained(row.node)).sum();
    assert_eq!(rows[0].hidden_bytes, last);
}

#[test]
fn objects_that_are_held_alike_share_a_way() {
    let graph = heap(40, 0);
    let alive = Alive::new(&graph);
    let found = dominators(&graph, &alive);
    let types = Types::new(&graph);
    let ways = |target| paths(&graph, &alive, &types, &found, target);
    let session = Target::Type(types.find("Session").unwrap());
    let held = ways(session);
    // One is only weakly held.
    assert_eq!((held.count, held.unreached), (41, 1));
    let [most] = &held.held[..] else { panic!() };
    assert_eq!(
        (most.count, most.bytes, most.most_retained),
        (40, 2000, 270 + 39)
    );
    let steps: Vec<u32> = most.steps.iter().map(|step| step.node.0).collect();
    assert_eq!(steps, [0, 1, 2 + 3 * 39]);
    assert_eq!(graph.label(most.steps[2].edge.unwrap()), Label::Index(39));
    // By id: the text of the first session.
    let one = ways(Target::Id(graph.id(NodeId(3))));
    let steps: Vec<u32> = one.held[0].steps.iter().map(|step| step.node.0).collect();
    assert_eq!((one.count, steps), (1, vec![0, 1, 2, 3]));
    let lists = ways(Target::Type(types.find("list").unwrap()));
    assert_eq!((lists.count, lists.unreached), (42, 2));
    assert_eq!(ways(Target::Id(u64::MAX)).count, 0);
}

/// A dead function that refers to its module is no way to what the module holds.
#[test]
fn garbage_is_the_last_way() {
    let mut heap = Builder::default();
    let kind = heap.node_kind("node").unwrap();
    let next = heap.edge_kind("property").unwrap();
    let mut edges = Vec::new();
    for (row, text) in [
        "root",
        "(Garbage, not collected yet)",
        "modules",
        "table",
        "module",
        "held",
        "dead",
    ]
    .iter()
    .enumerate()
    {
        let name = heap.name(text.as_bytes()).unwrap();
        heap.node(kind, name, row as u64, 10).unwrap();
        edges.push(Label::Name(name));
    }
    // From the root to what is held: by garbage 3 steps, by modules 4.
    for (from, to) in [(0, 1), (0, 2), (1, 5), (1, 6), (2, 3), (3, 4), (4, 5)] {
        let label = edges[to as usize];
        heap.edge(next, label, NodeId(from), NodeId(to)).unwrap();
    }
    let graph = heap.finish();
    let alive = Alive::new(&graph);
    let found = dominators(&graph, &alive);
    let types = Types::new(&graph);
    let steps = |id: u64| {
        let ways = paths(&graph, &alive, &types, &found, Target::Id(id));
        let steps = ways.held[0].steps.iter();
        steps.map(|step| step.node.0).collect::<Vec<u32>>()
    };
    assert_eq!(steps(5), [0, 2, 3, 4, 5]);
    assert_eq!(steps(6), [0, 1, 6]);
}

#[test]
fn texts_that_are_there_twice_are_found_unless_they_are_hidden() {
    let graph = heap(5, 0);
    let Duplicates::Found { rows, strings } = duplicates(&graph) else {
        panic!("nothing is hidden");
    };
    assert_eq!(strings, 5);
    let said: Vec<(&[u8], u64, u64, u64)> = (rows.iter())
        .map(
            |&Duplicate {
                 text,
                 count,
                 bytes,
                 wasted,
             }| (graph.text(text), count, bytes, wasted),
        )
        .collect();
    // Those of 20, 22 and 24 bytes, and those of 21 and 23.
    assert_eq!(said, [(&b"user 0"[..], 3, 66, 42), (b"user 1", 2, 44, 21)]);
    let mut redacted = Builder::redacted();
    sessions(&mut redacted, 5, 0);
    assert_eq!(duplicates(&redacted.finish()), Duplicates::Hidden);
}

#[test]
fn new_and_gone_objects_are_found_by_id_and_by_type() {
    let (before, now) = (heap(20, 0), heap(23, 0));
    let types = [Types::new(&before), Types::new(&now)];
    let found = difference((&before, &types[0]), (&now, &types[1]), 2);
    assert!(found.has_stable_ids);
    let row = |name: &str| found.types.iter().find(|row| *row.name == *name).unwrap();
    assert_eq!(row("Session").count, [21, 24]);
    // The weakly held one has moved.
    assert_eq!((row("Session").new[0], row("Session").gone[0]), (4, 1));
    assert_eq!(row("list").grown(), 600);
    assert!(found.types.iter().all(|row| *row.name != *"dict"));
    assert_eq!(&*found.types[0].name, "list");
    let sizes: Vec<u64> = found
        .largest_new
        .iter()
        .map(|node| now.size(*node))
        .collect();
    assert_eq!(sizes, [200, 200]);
    // Nothing differs from itself.
    let same = difference((&now, &types[1]), (&now, &types[1]), 2);
    assert_eq!((same.types.len(), same.largest_new.len()), (0, 0));
    // Another process.
    let other = heap(23, 0x1_0000);
    let far = difference((&before, &types[0]), (&other, &Types::new(&other)), 2);
    assert!(!far.has_stable_ids && far.largest_new.is_empty());
    let sessions = far
        .types
        .iter()
        .find(|row| *row.name == *"Session")
        .unwrap();
    assert_eq!(
        (sessions.count, sessions.new, sessions.gone),
        ([21, 24], [0; 2], [0; 2])
    );
}

#[test]
fn v8s_own_references_hold_as_devtools_says() {
    let mut heap = Builder::default();
    let kind = heap.node_kind("object").unwrap();
    let names = ["root", "system", "window", "page", "table", "key", "value"];
    for (row, name) in names.iter().enumerate() {
        let name = heap.name(name.as_bytes()).unwrap();
        heap.node(kind, name, row as u64 + 10, 1).unwrap();
    }
    let name = heap.name(b"x").unwrap();
    let pair = heap
        .name(b"7 / part of key (Object @15) -> value (Object @16) pair in WeakMap (table @14)")
        .unwrap();
    let edges = [
        ("element", name, 0, 1),
        ("shortcut", name, 0, 2),
        ("property", name, 2, 3),
        // From the system to the page's own: does not count.
        ("property", name, 1, 3),
        ("property", name, 3, 4),
        ("property", name, 3, 5),
        ("internal", pair, 4, 6),
        ("internal", pair, 5, 6),
    ];
    for (kind, name, from, to) in edges {
        let label = if kind == "element" {
            Label::Index(1)
        } else {
            Label::Name(name)
        };
        let kind = heap.edge_kind(kind).unwrap();
        heap.edge(kind, label, NodeId(from), NodeId(to)).unwrap();
    }
    let graph = heap.finish();
    let found = dominators(&graph, &Alive::new(&graph));
    let above: Vec<u32> = graph.nodes().map(|node| found.above(node).0).collect();
    // The value hangs on its key alone, the page on its window.
    assert_eq!(above, [0, 0, 0, 2, 3, 3, 5]);
}
