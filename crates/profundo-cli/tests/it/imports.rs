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

#[test]
fn each_verb_chooses_one_of_several_values() {
    let folder = Folder::new();
    // Two events of perf, in functions of their own.
    let script = "\
work   311  10.000000:          5 page-faults:\n\t            1000 touch+0x1 (/bin/work)\n\n\
work   311  10.100000:          7 task-clock:\n\t            2000 reckon+0x1 (/bin/work)\n\n";
    folder.file("a.perf", script);
    folder.file("b.perf", script);
    let run = |words: &[&str]| folder.run(words).succeeded().out.clone();
    let functions = |file: &str, options: &[&str]| {
        let words = [&["report", file, "functions", "--json"], options].concat();
        let value: serde_json::Value = serde_json::from_str(&run(&words)).unwrap();
        let rows = value["functions"].as_array().unwrap().clone();
        let names = rows.iter().map(|row| row["function"].as_str().unwrap());
        names.map(str::to_owned).collect::<Vec<_>>()
    };
    let faults = ["--value", "page-faults"];
    assert_eq!(functions("a.perf", &["--value", "task-clock"]), ["reckon"]);
    assert_eq!(functions("a.perf", &faults), ["touch"]);
    let merge = ["merge", "a.perf", "b.perf", "-o", "m.profundo"];
    run(&[&merge[..], &faults].concat());
    assert_eq!(functions("m.profundo", &[]), ["touch"]);
    run(&[&["flame", "a.perf", "-o", "a.svg"], &faults[..]].concat());
    let text = std::fs::read_to_string(folder.path().join("a.svg")).unwrap();
    assert!(text.contains("touch") && !text.contains("reckon"), "{text}");
    run(&[&["view", "a.perf", "-o", "a.html"], &faults[..]].concat());
    let outcome = folder.run(&["view", "a.perf", "-o", "b.html", "--value", "faults"]);
    assert_eq!(outcome.code, Some(1), "{outcome:#?}");
    assert!(
        outcome.err.contains("it has page-faults and task-clock"),
        "{outcome:#?}"
    );
    // A recording has one, and where there is no file, that is said first.
    let refused = |file: &str, why: &str| {
        let outcome = folder.run(&["report", file, "--value", "page-faults"]);
        assert_eq!(outcome.code, Some(1), "{outcome:#?}");
        assert!(outcome.err.contains(why), "{outcome:#?}");
    };
    refused("m.profundo", "whose samples have one value");
    refused("nothing.perf", "there is no recording nothing.perf");
}

/// A file of the tests of importing.
fn imported(name: &str) -> String {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/import");
    root.join(name).to_string_lossy().into_owned()
}

#[test]
fn counted_events_are_exact() {
    let folder = Folder::new();
    let file = imported("callgrind/c.callgrind");
    let report = folder.run(&["report", &file]).succeeded().out.clone();
    assert!(report.contains(" of 23032 Ir is spent in line"), "{report}");
    assert!(report.contains("each was counted"), "{report}");
    let functions = folder.run(&["report", &file, "functions", "--json"]);
    let value: serde_json::Value = serde_json::from_str(&functions.succeeded().out).unwrap();
    let first = &value["functions"][0];
    assert_eq!(first["self_share_low"], first["self_share"]);
    assert_eq!(first["self_share_high"], first["self_share"]);
    let hottest = report.lines().find(|line| line.contains("  work.c:31"));
    assert!(hottest.is_some_and(|line| !line.contains('–')), "{report}");
}

#[test]
fn unknown_memory_is_not_shown_as_none() {
    let folder = Folder::new();
    let file = imported("massif/i.massif");
    for report in [&["report", &file][..], &["report", &file, "memory"]] {
        let text = folder.run(report).succeeded().out.clone();
        for wrong in ["0 blocks", "RSS", "page faults", "wall"] {
            assert!(!text.contains(wrong), "{wrong}: {text}");
        }
    }
    let text = folder
        .run(&["report", &file, "memory"])
        .succeeded()
        .out
        .clone();
    assert!(text.contains("heap in use"), "{text}");
}
