//! Heap snapshots on the command line: assembled, printed, compared, and not taken for recordings.

use std::fs;
use std::path::Path;

use profundo_formats::heapsnapshot::{Options, Parts};
use profundo_model::graph::{Label, NodeId, Sink};

use crate::machine::Folder;

/// The part files of a heap with so many sessions in a cache.
fn parts(prefix: &Path, sessions: u32, redact: bool) {
    let options = Options {
        redact,
        all_one: false,
    };
    let mut parts = Parts::create(prefix, options).unwrap();
    let kinds = ["synthetic", "dict", "app.Session", "string"];
    let [synthetic, dict, session, string] = kinds.map(|name| parts.node_kind(name).unwrap());
    let property = parts.edge_kind("property").unwrap();
    let element = parts.edge_kind("element").unwrap();
    let [empty, cache] = ["", "cache"].map(|name| parts.name(name.as_bytes()).unwrap());
    parts.node(synthetic, empty, 0, 0).unwrap();
    parts.node(dict, cache, 0x7f00_0000_0000, 500).unwrap();
    parts
        .edge(property, Label::Name(cache), NodeId(0), NodeId(1))
        .unwrap();
    for index in 0..sessions {
        let id = 0x7f00_0000_1000 + 256 * u64::from(index);
        let one = parts.node(session, empty, id, 100).unwrap();
        let text = parts.content(b"somebody's secret").unwrap();
        let text = parts.node(string, text, id + 128, 66).unwrap();
        let label = Label::Index(index.into());
        parts.edge(element, label, NodeId(1), one).unwrap();
        parts.edge(element, Label::Index(0), one, text).unwrap();
    }
    parts.finish().unwrap();
}

#[test]
fn parts_become_a_snapshot_that_says_what_fills_the_heap() {
    let folder = Folder::new();
    parts(&folder.path().join("then"), 10, false);
    parts(&folder.path().join("now"), 15, true);
    let outcome = folder.run(&["assemble", "then"]);
    outcome.succeeded();
    let note = "profundo: wrote then.heapsnapshot: 22 objects, 21 references\n";
    assert_eq!((&*outcome.out, &*outcome.err), ("", note));
    folder
        .run(&["assemble", "now", "-o", "later.any"])
        .succeeded();

    let outcome = folder.run(&["heap", "then.heapsnapshot"]);
    outcome.succeeded();
    assert!(
        outcome.out.contains("22 objects, 21 references"),
        "{outcome:#?}"
    );
    assert!(
        outcome.out.contains("dict cache @0x7f0000000000"),
        "{outcome:#?}"
    );
    assert!(outcome.out.contains("app.Session"), "{outcome:#?}");
    for (question, part) in [
        (&["--types"][..], "1.66 kB   76.9  app.Session"),
        (&["--biggest", "--limit", "1"], "dict cache"),
        (&["--dominators"], "(root)"),
        (&["--path", "app.Session"], "10 objects held like this"),
        (&["--path", "@0x7f0000001080"], "1 object held like this"),
        (&["--duplicates"], "\"somebody's secret\""),
    ] {
        let words = [&["heap", "then.heapsnapshot"], question].concat();
        let outcome = folder.run(&words);
        outcome.succeeded();
        assert!(outcome.out.contains(part), "{words:?} {outcome:#?}");
        let json = folder.run(&[&words[..], &["--json"]].concat());
        json.succeeded();
        assert!(json.out.contains("\"report\": \"heap_"), "{json:#?}");
    }
    // The kind of a file does not depend on its name.
    let outcome = folder.run(&["heap", "then.heapsnapshot", "later.any"]);
    outcome.succeeded();
    assert!(
        outcome.out.contains("22 objects then, 32 now (+10)"),
        "{outcome:#?}"
    );
    let json = folder.run(&["heap", "then.heapsnapshot", "later.any", "--json"]);
    assert!(json.out.contains("\"report\": \"heap_difference\""));
    let outcome = folder.run(&["heap", "later.any", "--duplicates"]);
    assert!(
        outcome.out.contains("hides what strings hold"),
        "{outcome:#?}"
    );
}

#[test]
fn what_cannot_be_assembled_is_one_sentence_and_costs_nothing() {
    let folder = Folder::new();
    folder
        .run(&["assemble", "nothing"])
        .refused(1, "cannot read nothing.metadata.json: no such file");
    parts(&folder.path().join("p"), 3, true);
    folder.file("p.heapsnapshot", "my own text");
    folder
        .run(&["assemble", "p"])
        .refused(2, "p.heapsnapshot is there and is no heap snapshot");
    folder
        .run(&["assemble", "p", "-o", "no/such/folder/x"])
        .refused(1, "cannot write no/such/folder/x");
    let strings = fs::read(folder.path().join("p.strings")).unwrap();
    fs::write(
        folder.path().join("p.strings"),
        &strings[..strings.len() - 1],
    )
    .unwrap();
    folder
        .run(&["assemble", "p", "-o", "out"])
        .refused(1, "truncated strings file");
    assert!(!folder.path().join("out").exists());
    // One snapshot may take the place of another.
    fs::write(folder.path().join("p.strings"), &strings).unwrap();
    for _ in 0..2 {
        folder.run(&["assemble", "p", "-o", "out"]).succeeded();
    }
}

#[test]
fn a_snapshot_takes_the_place_of_nothing_else() {
    let folder = Folder::new();
    // The process is not asked before that is clear.
    let own = std::process::id().to_string();
    folder.file("pages.json", "{\"own\": 1}");
    folder
        .run(&["snapshot", &own, "--pages", "-o", "pages.json"])
        .refused(2, "pages.json is there and is no list of pages");
    for ending in ["nodes", "edges", "strings", "metadata.json"] {
        let part = format!("{ending}.{ending}");
        folder.file(&part, "my own text");
        folder
            .run(&["snapshot", &own, "--streaming", "-o", ending])
            .refused(
                2,
                &format!("{part} is there and is no part of a heap snapshot"),
            );
        let text = fs::read_to_string(folder.path().join(&part)).unwrap();
        assert_eq!(text, "my own text");
    }
    // An earlier one may go: then it is the process that cannot be asked.
    parts(&folder.path().join("p"), 3, true);
    folder.file("old.json", "{\"pages\": [\n]}\n");
    for words in [["--streaming", "-o", "p"], ["--pages", "-o", "old.json"]] {
        let words = [&["snapshot", &own][..], &words].concat();
        folder
            .run(&words)
            .refused(1, "it has no Python interpreter");
    }
}

#[test]
fn what_is_no_snapshot_is_said() {
    let folder = Folder::new();
    parts(&folder.path().join("p"), 3, true);
    folder.run(&["assemble", "p"]).succeeded();
    folder
        .run(&["heap", "gone.heapsnapshot"])
        .refused(1, "there is no heap snapshot gone.heapsnapshot");
    folder.file("text.heapsnapshot", "{\"nodes\":[]}");
    folder
        .run(&["heap", "text.heapsnapshot"])
        .refused(1, "text.heapsnapshot is no heap snapshot");
    folder.file("empty", "");
    folder
        .run(&["heap", "empty"])
        .refused(1, "empty is no heap snapshot");
    let whole = fs::read(folder.path().join("p.heapsnapshot")).unwrap();
    fs::write(folder.path().join("cut"), &whole[..whole.len() / 2]).unwrap();
    folder.run(&["heap", "cut"]).refused(1, "it was cut");
    folder
        .run(&["heap", "p.heapsnapshot", "--path", "session"])
        .refused(1, "no object is of type session; there are: app.Session");
    folder
        .run(&["heap", "p.heapsnapshot", "--path", "@3"])
        .refused(1, "no object has the id @3");
    // What is in parts has to be made whole.
    for part in ["p.nodes", "p.edges", "p.strings", "p.metadata.json"] {
        for verb in ["heap", "assemble"] {
            folder
                .run(&[verb, part])
                .refused(1, "make it whole with `profundo assemble p`");
        }
    }
    // Neither takes the other's files, and both say who does.
    for verb in [&["report"][..], &["flame", "-o", "x.svg"]] {
        let mut words = verb.to_vec();
        words.insert(1, "p.heapsnapshot");
        folder.run(&words).refused(
            1,
            "is a heap snapshot and no recording; `profundo heap p.heapsnapshot`",
        );
    }
    folder.file("other.profundo", "");
    folder
        .run(&["record", "-o", "r.profundo", "true"])
        .succeeded();
    folder.run(&["heap", "r.profundo"]).refused(
        1,
        "is a recording and no heap snapshot; `profundo report r.profundo`",
    );
    // A recording never takes a snapshot's place.
    folder
        .run(&["record", "-o", "p.heapsnapshot", "true"])
        .refused(2, "is there and is no recording");
}

#[test]
fn questions_do_not_mix() {
    let folder = Folder::new();
    for words in [
        &["heap"][..],
        &["heap", "a", "--types", "--biggest"],
        &["heap", "a", "b", "--types"],
        &["heap", "a", "b", "c"],
        &["heap", "a", "--path"],
        &["heap", "a", "--limit", "-1"],
        &["assemble"],
    ] {
        let outcome = folder.run(words);
        assert_eq!(
            (outcome.code, &*outcome.out),
            (Some(2), ""),
            "{words:?} {outcome:#?}"
        );
    }
}
