//! Reports on heap snapshots, as people see them.

use expect_test::expect;
use profundo_model::graph::{Builder, Graph, Label, NodeId, Sink};
use profundo_report::{Error, HeapQuestion, HeapSnapshot, Look, When};

/// A program with a cache of sessions, each with a user and what it holds.
fn program(sessions: u32, mut heap: Builder) -> Graph {
    let kinds = [
        "synthetic",
        "module",
        "dict",
        "app.Session",
        "string",
        "list",
    ];
    let kinds = kinds.map(|name| heap.node_kind(name).unwrap());
    let [property, element, weak] =
        ["property", "element", "weak"].map(|name| heap.edge_kind(name).unwrap());
    let names = ["", "app", "cache", "user", "items", "last"];
    let [empty, app, cache, user, items, last] =
        names.map(|name| heap.name(name.as_bytes()).unwrap());
    let mut address = 0x7f12_0000_0000;
    let mut next = || {
        address += 64;
        address
    };
    let root = heap.node(kinds[0], empty, 1, 0).unwrap();
    let module = heap.node(kinds[1], app, next(), 80).unwrap();
    let held = heap.node(kinds[2], cache, next(), 9_300).unwrap();
    heap.edge(property, Label::Name(app), root, module).unwrap();
    heap.edge(property, Label::Name(cache), module, held)
        .unwrap();
    for index in 0..sessions {
        let one = heap.node(kinds[3], empty, next(), 48).unwrap();
        let text = format!("user \u{1b}[31m{}", index % 3);
        let text = heap.content(text.as_bytes()).unwrap();
        let text = heap.node(kinds[4], text, next(), 60).unwrap();
        let list = heap
            .node(kinds[5], empty, next(), 56 + 800 * u64::from(index))
            .unwrap();
        heap.edge(element, Label::Index(index.into()), held, one)
            .unwrap();
        heap.edge(property, Label::Name(user), one, text).unwrap();
        heap.edge(property, Label::Name(items), one, list).unwrap();
    }
    let lost = heap.node(kinds[3], empty, next(), 48).unwrap();
    heap.edge(weak, Label::Name(last), held, lost).unwrap();
    assert_eq!(root, NodeId(0));
    heap.finish()
}

fn asked(question: HeapQuestion) -> HeapSnapshot {
    HeapSnapshot::new()
        .question(question)
        .look(Look::new().width(80))
}

fn text(report: &HeapSnapshot, graph: &Graph) -> String {
    let mut out = Vec::new();
    report.write(graph, &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    for line in text.lines().filter(|line| !line.starts_with("Warning:")) {
        assert!(line.chars().count() <= 80, "{line}");
        assert!(!line.contains('\u{1b}'), "{line:?}");
    }
    text
}

/// Every report as JSON, in every variation that changes its members.
pub fn documents() -> Vec<String> {
    let graph = program(5, Builder::default());
    let redacted = program(5, Builder::redacted());
    let later = program(8, Builder::default());
    let path = |of: &str| HeapQuestion::Path(of.into());
    let mut all: Vec<Vec<u8>> = Vec::new();
    for question in [
        HeapQuestion::Summary,
        HeapQuestion::Types,
        HeapQuestion::Biggest,
        HeapQuestion::Dominators,
        HeapQuestion::Below(String::new()),
        path("app.Session"),
        path("@1"),
        HeapQuestion::Duplicates,
    ] {
        for graph in [&graph, &redacted] {
            let mut out = Vec::new();
            asked(question.clone()).write_json(graph, &mut out).unwrap();
            all.push(out);
        }
    }
    for now in [&later, &graph] {
        let mut out = Vec::new();
        HeapSnapshot::new()
            .write_difference_json(&graph, now, &mut out)
            .unwrap();
        all.push(out);
    }
    all.into_iter()
        .map(|out| String::from_utf8(out).unwrap())
        .collect()
}

#[test]
fn what_fills_the_heap() {
    let graph = program(5, Builder::default());
    expect![[r#"
        Heap snapshot: 19 objects, 18 references, 18.2 kB
        1 object held by weak references only, or by one another; counted all the same.

        Types, by the bytes that would go with all of their objects
          Objects     Bytes      %  Retained      %  Type
                1      80 B    0.4   18.2 kB   99.7  module
                1   9.30 kB   51.0   18.1 kB   99.3  dict
                6     288 B    1.6   8.87 kB   48.6  app.Session
                5   8.28 kB   45.4   8.28 kB   45.4  list
         and 1 type more (--limit)

        Objects, by the bytes that would go with each
         Retained      %     Bytes  Object
          18.2 kB   99.7      80 B  module app @0x7f1200000040
          18.1 kB   99.3   9.30 kB  dict cache @0x7f1200000080
          3.36 kB   18.4      48 B  app.Session @0x7f12000003c0
          3.26 kB   17.8   3.26 kB  list @0x7f1200000440
    "#]]
    .assert_eq(&text(&asked(HeapQuestion::Summary).limit(4), &graph));
    expect![[r#"
        Heap snapshot: 19 objects, 18 references, 18.2 kB
        1 object held by weak references only, or by one another; counted all the same.

        Types, by the bytes that would go with all of their objects
          Objects     Bytes      %  Retained      %  Type
                1      80 B    0.4   18.2 kB   99.7  module
                1   9.30 kB   51.0   18.1 kB   99.3  dict
                6     288 B    1.6   8.87 kB   48.6  app.Session
                5   8.28 kB   45.4   8.28 kB   45.4  list
                5     300 B    1.6     300 B    1.6  (string)
    "#]]
    .assert_eq(&text(&asked(HeapQuestion::Types), &graph));
    expect![[r#"
        Heap snapshot: 19 objects, 18 references, 18.2 kB
        1 object held by weak references only, or by one another; counted all the same.

        Objects, by the bytes that would go with each
         Retained      %     Bytes  Object
          18.2 kB   99.7      80 B  module app @0x7f1200000040
          18.1 kB   99.3   9.30 kB  dict cache @0x7f1200000080
          3.36 kB   18.4      48 B  app.Session @0x7f12000003c0
          3.26 kB   17.8   3.26 kB  list @0x7f1200000440
          2.56 kB   14.1      48 B  app.Session @0x7f1200000300
    "#]]
    .assert_eq(&text(&asked(HeapQuestion::Biggest).limit(5), &graph));
    expect![[r#"
        Heap snapshot: 19 objects, 18 references, 18.2 kB
        1 object held by weak references only, or by one another; counted all the same.

        What each object holds alone: without it, all below it would go
         Retained      %     Bytes  Object
          18.2 kB  100.0       0 B  (root)  (1 below, 48 B)
          18.2 kB   99.7      80 B    module app @0x7f1200000040
          18.1 kB   99.3   9.30 kB      dict cache @0x7f1200000080  (3 below, 2.89 kB)
          3.36 kB   18.4      48 B        app.Session @0x7f12000003c0  (1 below, 60 B)
          3.26 kB   17.8   3.26 kB          list @0x7f1200000440
          2.56 kB   14.1      48 B        app.Session @0x7f1200000300  (2 below, 2.52 k…
    "#]]
    .assert_eq(&text(&asked(HeapQuestion::Dominators).limit(6), &graph));
}

#[test]
fn paths_to_the_holders() {
    let graph = program(5, Builder::default());
    let path = |of: &str| asked(HeapQuestion::Path(of.into()));
    expect![[r#"
        Heap snapshot: 19 objects, 18 references, 18.2 kB
        1 object held by weak references only, or by one another; counted all the same.

        Who holds app.Session: the shortest ways from the root to 6 objects

        5 objects held like this, 240 B of their own; the largest retains 3.36 kB
          (root)
          app → module app @0x7f1200000040
          cache → dict cache @0x7f1200000080
          [4] → app.Session @0x7f12000003c0

        1 object held by weak references only, or by one another.
    "#]]
    .assert_eq(&text(&path("app.Session"), &graph));
    expect![[r#"
        Heap snapshot: 19 objects, 18 references, 18.2 kB
        1 object held by weak references only, or by one another; counted all the same.

        Who holds @0x7f1200000100: the shortest ways from the root to 1 object

        1 object held like this, 60 B of their own; retains 60 B
          (root)
          app → module app @0x7f1200000040
          cache → dict cache @0x7f1200000080
          [0] → app.Session @0x7f12000000c0
          user → (string) "user \u{1b}[31m0" @0x7f1200000100
    "#]]
    .assert_eq(&text(&path("@0x7f1200000100"), &graph));
    let error = |of: &str| path(of).write(&graph, Vec::new()).unwrap_err();
    assert!(matches!(error("@5"), Error::NoObject { .. }));
    assert_eq!(error("@5").to_string(), "no object has the id @5");
    let near = "no object is of type session; there are: app.Session";
    assert_eq!(error("session").to_string(), near);
    assert_eq!(error("Cat").to_string(), "no object is of type Cat");
    let mut heap = Builder::default();
    let [root, class] = ["synthetic", "class"].map(|name| heap.node_kind(name).unwrap());
    let held = heap.edge_kind("property").unwrap();
    let name = heap.name(b"int").unwrap();
    let root = heap.node(root, name, 1, 0).unwrap();
    let class = heap.node(class, name, 3, 400).unwrap();
    heap.edge(held, Label::Name(name), root, class).unwrap();
    let of_types = path("type").write(&heap.finish(), Vec::new()).unwrap_err();
    let near = "no object is of type type; there are: class";
    assert_eq!(of_types.to_string(), near);
    // Without its module. The title has what was asked for.
    let ways = |of: &str| {
        let text = text(&path(of), &graph);
        text.replace(&format!("Who holds {of}:"), "")
    };
    assert_eq!(ways("Session"), ways("app.Session"));
}

#[test]
fn what_is_there_twice() {
    let graph = program(5, Builder::default());
    expect![[r#"
        Heap snapshot: 19 objects, 18 references, 18.2 kB
        1 object held by weak references only, or by one another; counted all the same.

        Texts that are there more than once: 120 B of 18.2 kB wasted, among 5 strings in
        all
           Wasted      %   Objects     Bytes  Text
             60 B    0.3         2     120 B  "user \u{1b}[31m0"
             60 B    0.3         2     120 B  "user \u{1b}[31m1"
    "#]]
    .assert_eq(&text(&asked(HeapQuestion::Duplicates), &graph));
    let redacted = program(5, Builder::redacted());
    expect![[r#"
        Heap snapshot: 19 objects, 18 references, 18.2 kB
        1 object held by weak references only, or by one another; counted all the same.

        Warning: this snapshot hides what strings hold (it was redacted when it was taken), so equal ones cannot be told.
    "#]].assert_eq(&text(&asked(HeapQuestion::Duplicates), &redacted));
}

#[test]
fn what_grew() {
    let difference = |before: &Graph, now: &Graph| {
        let mut out = Vec::new();
        asked(HeapQuestion::Summary)
            .limit(3)
            .write_difference(before, now, &mut out)
            .unwrap();
        String::from_utf8(out).unwrap()
    };
    let (before, now) = (
        program(5, Builder::default()),
        program(8, Builder::default()),
    );
    expect![[r#"
        Heap snapshots: 19 objects then, 28 now (+9); 18.2 kB then, 33.1 kB now
        (+14.9 kB)

        Types, by how much they have grown
            Bytes   Objects       New      Gone       Now  Type
         +14.6 kB        +3         3         0         8  list
           +180 B        +3         3         0         8  (string)
           +144 B        +3         3         0         9  app.Session

        The largest objects that are new
            Bytes  Object
          5.66 kB  list @0x7f1200000680
          4.86 kB  list @0x7f12000005c0
          4.06 kB  list @0x7f1200000500
    "#]]
    .assert_eq(&difference(&before, &now));
    expect![[r#"
        Heap snapshots: 28 objects then, 19 now (-9); 33.1 kB then, 18.2 kB now
        (-14.9 kB)

        Types, by how much they have grown
            Bytes   Objects       New      Gone       Now  Type
           -144 B        -3         0         3         6  app.Session
           -180 B        -3         0         3         5  (string)
         -14.6 kB        -3         0         3         5  list
    "#]]
    .assert_eq(&difference(&now, &before));
    expect![[r#"
        Heap snapshots: 28 objects then, 28 now (0); 33.1 kB then, 33.1 kB now (0 B)

        Nothing has changed.
    "#]]
    .assert_eq(&difference(&now, &now));
}

#[test]
fn sentences_are_broken_between_words() {
    let graph = program(5, Builder::default());
    let mut out = Vec::new();
    HeapSnapshot::new()
        .look(Look::new().width(40))
        .write_difference(&graph, &program(8, Builder::default()), &mut out)
        .unwrap();
    let text = String::from_utf8(out).unwrap();
    let head: Vec<&str> = text.lines().take_while(|line| !line.is_empty()).collect();
    assert!(
        head.len() > 1 && head.iter().all(|line| line.chars().count() <= 40),
        "{text}"
    );
    let whole = head.join(" ");
    assert!(
        whole.starts_with("Heap snapshots: ") && whole.ends_with("(+14.9 kB)"),
        "{text}"
    );
}

#[test]
fn colours_say_nothing_that_the_text_does_not() {
    let graph = program(5, Builder::default());
    let colored = |when| {
        let look = Look::new().width(80).colors(when);
        let mut out = Vec::new();
        HeapSnapshot::new()
            .look(look)
            .write(&graph, &mut out)
            .unwrap();
        String::from_utf8(out).unwrap()
    };
    let mut plain = String::new();
    let mut is_escape = false;
    for letter in colored(When::Always).chars() {
        is_escape |= letter == '\u{1b}';
        if !is_escape {
            plain.push(letter);
        }
        is_escape &= letter != 'm';
    }
    assert_eq!(plain, colored(When::Never));
    assert_ne!(plain, colored(When::Always));
}
