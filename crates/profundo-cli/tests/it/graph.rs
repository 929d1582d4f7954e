//! `graph`: the files that it writes, and what it refuses.

use std::fs;
use std::process::{Command, Stdio};

use profundo_testing::{python, skip};

use crate::machine::{Folder, SPIN_PY};

/// A folder with a recording of samples, of calls, and of memory.
fn recorded() -> Option<Folder> {
    let python = python()?;
    let python = python.to_str()?;
    let folder = Folder::new();
    folder.file("spin.py", SPIN_PY);
    for words in [
        &[
            "record",
            "--memory",
            "-o",
            "a.profundo",
            python,
            "spin.py",
            "0.3",
        ][..],
        &["trace", "-o", "t.profundo", python, "spin.py", "0.1"],
    ] {
        let mut command = folder.profundo(words);
        let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
        assert!(status.unwrap().success(), "{words:?}");
    }
    Some(folder)
}

#[test]
fn graphs_are_written_and_replaced() {
    let Some(folder) = recorded() else { return };
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    for (words, name, parts) in [
        (
            &["a.profundo"][..],
            "a.graph.svg",
            &["data-graph", "hot", "of CPU time"][..],
        ),
        (
            &["a.profundo", "--square"],
            "a.square.svg",
            &["data-square", "hot"],
        ),
        (&["a.profundo", "-o", "a.dot"], "a.dot", &["digraph", "hot"]),
        (
            &["a.profundo", "--by", "file", "-o", "f.svg"],
            "f.svg",
            &["spin.py"],
        ),
        (
            &["a.profundo", "--by", "crate", "-o", "p.svg"],
            "p.svg",
            &["packages"],
        ),
        (
            &["a.profundo", "--of", "allocated", "-o", "m.svg"],
            "m.svg",
            &["allocated"],
        ),
        (
            &["t.profundo", "-o", "t.svg"],
            "t.svg",
            &["every call counted", "×"],
        ),
    ] {
        // The second time, it replaces its own file.
        for _ in 0..2 {
            let outcome = folder.run(&[&["graph"][..], words].concat());
            assert!(
                outcome.succeeded().err.contains(&format!("wrote {name}")),
                "{outcome:#?}"
            );
        }
        for part in parts {
            assert!(read(name).contains(part), "{name} has no {part}");
        }
    }
    // Not in the place of another kind of picture.
    folder
        .run(&["graph", "a.profundo", "-o", "a.square.svg"])
        .refused(2, "is no call graph");
    let out = folder.run(&["graph", "a.profundo", "-o", "-"]);
    assert!(out.succeeded().out.starts_with("<?xml"));
    // Filters are those of other verbs.
    let filtered = folder.run(&["graph", "a.profundo", "-o", "hot.svg", "--function", "hot"]);
    filtered.succeeded();
    assert!(!read("hot.svg").contains("cool"));
    assert!(read("hot.svg").contains("passes the filter: function=hot<"));
    let none = folder.run(&["graph", "a.profundo", "-o", "x.svg", "--function", "absent"]);
    none.refused(4, "pass the filter");
}

#[test]
fn graphviz_lays_out_where_it_is_installed() {
    if Command::new("dot").arg("-V").output().is_err() {
        return skip("there is no Graphviz");
    }
    let Some(folder) = recorded() else { return };
    let words = ["graph", "a.profundo", "-o", "a.svg", "--engine", "dot"];
    for _ in 0..2 {
        folder.run(&words).succeeded();
    }
    let picture = fs::read_to_string(folder.path().join("a.svg")).unwrap();
    assert!(picture.contains("data-graph=\"dot\"") && picture.contains("hot"));
}

#[test]
fn options_that_change_nothing_are_refused() {
    let folder = Folder::new();
    for (words, why) in [
        (
            &["--square", "--nodes", "3"][..],
            "`--nodes` is about boxes",
        ),
        (&["--square", "--by", "file"], "`--by` is about boxes"),
        (&["--square", "-o", "x.dot"], "the square map is a picture"),
        (&["-o", "x.dot", "--engine", "own"], "is not laid out yet"),
        (&["-o", "x.png"], "ends otherwise"),
        (&["--count"], "`--count` counts blocks"),
    ] {
        folder
            .run(&[&["graph"][..], words].concat())
            .refused(2, why);
    }
}
