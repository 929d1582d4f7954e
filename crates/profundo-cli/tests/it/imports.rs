//! Files of other tools in the verbs that read recordings.

use crate::machine::Folder;

const STACKS: &str = "main;load;parse 30\nmain;load;read_[k] 10\nmain;render 60\n";

fn with_stacks() -> Folder {
    let folder = Folder::new();
    folder.file("a.folded", STACKS);
    folder.file("b.folded", &STACKS.replace("60", "260"));
    folder
}

#[test]
fn every_reading_verb_takes_them() {
    let folder = with_stacks();
    let run = |words: &[&str]| folder.run(words).succeeded().out.clone();
    let functions = run(&["report", "a.folded", "functions", "--json"]);
    let value: serde_json::Value = serde_json::from_str(&functions).unwrap();
    assert_eq!(value["recording"]["measures"], "events");
    assert_eq!(value["recording"]["event"], "samples");
    assert_eq!(value["selection"]["samples"], 100);
    assert_eq!(value["functions"][0]["function"], "render");
    assert_eq!(value["functions"][0]["self_events"], 60);
    assert_eq!(value["functions"][0]["self_share"], 0.6);
    let head = run(&["report", "a.folded"]);
    assert!(head.starts_with("a.folded\n100 samples"), "{head}");

    assert!(run(&["diff", "a.folded", "b.folded"]).contains("render"));
    assert!(
        run(&["export", "a.folded", "--to", "collapsed", "-o", "-"]).contains("main;render 60")
    );
    run(&["flame", "a.folded", "-o", "a.svg"]);
    run(&["graph", "a.folded", "-o", "a.graph.svg"]);
    run(&["view", "a.folded", "-o", "a.html"]);
    run(&["report", "a.folded", "--html", "pages"]);
    assert!(folder.path().join("pages/index.html").exists());
    run(&["report", "a.folded", "--html", "pages"]);
    std::fs::write(
        folder.path().join("pages/index.html"),
        "<!doctype html>mine",
    )
    .unwrap();
    let other = folder.run(&["report", "a.folded", "--html", "pages"]);
    assert_eq!(other.code, Some(1), "{other:#?}");
    assert!(other.err.contains("is another page"), "{other:#?}");
    let csv = run(&["report", "a.folded", "functions", "--csv"]);
    assert_eq!(csv.lines().count(), 6, "{csv}");

    // A recording of ours keeps what was read.
    run(&["export", "a.folded", "--to", "profundo", "-o", "a.profundo"]);
    let again = run(&["report", "a.profundo", "functions", "--json"]);
    let again: serde_json::Value = serde_json::from_str(&again).unwrap();
    assert_eq!(again["functions"], value["functions"]);
    run(&["merge", "a.folded", "b.folded", "-o", "m.profundo"]);
    let merged = run(&["report", "m.profundo", "functions", "--json"]);
    let merged: serde_json::Value = serde_json::from_str(&merged).unwrap();
    assert_eq!(merged["selection"]["samples"], 400);
}

#[test]
fn what_a_file_lacks_is_said() {
    let folder = with_stacks();
    let report = folder.run(&["report", "a.folded"]);
    assert!(
        report
            .succeeded()
            .out
            .contains("Note: collapsed stacks have no"),
        "{report:#?}"
    );
    let refused = |words: &[&str], why: &str| {
        let outcome = folder.run(words);
        assert_eq!(outcome.code, Some(1), "{outcome:#?}");
        assert!(outcome.err.contains(why), "{outcome:#?}");
    };
    refused(
        &["report", "a.folded", "--from", "1"],
        "a.folded has no times",
    );
    refused(
        &["heatmap", "a.folded", "-o", "x.svg"],
        "the order of time is not known",
    );
    refused(
        &["report", "a.folded", "lines", "--of", "live"],
        "what is allocated was not recorded",
    );
    folder.file("x.nsys-rep", "NVIDIA Tegra Profiler Report\0");
    refused(&["report", "x.nsys-rep"], "nsys export --type sqlite");
    folder.file("x.txt", "just some words\nand others\n");
    refused(&["report", "x.txt"], "neither a recording");
}
