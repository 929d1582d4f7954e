//! `merge`, and the reports on what it makes.

use profundo_formats::{read_file, write_file};
use profundo_model::{Nanos, Profile, SampleKind, Tracing};

use crate::machine::Folder;

/// Three runs of one program, of which the last takes longer in `uneven`.
fn with_runs() -> Folder {
    let folder = Folder::new();
    for (name, uneven) in [("a", 100), ("b", 110), ("c", 400)] {
        let text = format!("main;even 300\nmain;uneven {uneven}");
        let mut profile = Profile::from_folded(&text).unwrap();
        profile.meta.duration = Nanos(1_000_000_000);
        profile.processes[0].command = profile.strings.intern("./app");
        write_file(folder.path().join(format!("{name}.profundo")), &profile).unwrap();
    }
    folder
}

const MERGE: [&str; 6] = [
    "merge",
    "run=1:a.profundo",
    "run=2:b.profundo",
    "run=3:c.profundo",
    "-o",
    "m.profundo",
];

#[test]
fn runs_become_one_recording() {
    let folder = with_runs();
    let outcome = folder.run(&MERGE);
    outcome.succeeded();
    assert!(
        outcome
            .err
            .contains("merged 3 recordings with 1510 samples"),
        "{outcome:#?}"
    );
    let head = folder.run(&["report", "m.profundo"]);
    head.succeeded();
    assert!(
        head.out
            .contains("merged from 3 recordings (run = 1…3), side by side"),
        "{head:#?}"
    );
    let one = folder.run(&[
        "report",
        "m.profundo",
        "functions",
        "--label",
        "run=3",
        "--json",
    ]);
    let value: serde_json::Value = serde_json::from_str(&one.succeeded().out).unwrap();
    assert_eq!(value["selection"]["samples"], 700);
    assert_eq!(value["recording"]["merged"].as_array().unwrap().len(), 3);
    let nothing = folder.run(&["report", "m.profundo", "functions", "--label", "run=4"]);
    assert_eq!(nothing.code, Some(4), "{nothing:#?}");
    let flat = folder.run(&["report", "m.profundo", "flat", "--by", "label"]);
    assert!(
        flat.succeeded().out.contains("run=2 Total snapshots: 410"),
        "{flat:#?}"
    );
    let spread = folder.run(&["report", "m.profundo", "spread", "--json"]);
    let value: serde_json::Value = serde_json::from_str(&spread.succeeded().out).unwrap();
    let hottest = &value["functions"][0];
    assert_eq!(hottest["function"], "uneven");
    assert_eq!(hottest["self_most_in"], "run=3");
    assert_eq!(hottest["self_is_uneven"], true);
    let list = folder.run(&["list", "."]);
    assert!(
        list.succeeded().out.contains("(3 merged) ./app"),
        "{list:#?}"
    );
    // The exports have the filter, too.
    let words = [
        "export",
        "m.profundo",
        "--to",
        "collapsed",
        "--label",
        "run=1",
        "-o",
        "-",
    ];
    let folded = folder.run(&words);
    assert_eq!(folded.succeeded().out, "main;even 300\nmain;uneven 100\n");
}

#[test]
fn labels_come_from_options_or_from_the_names_of_files() {
    let folder = with_runs();
    let labels = |words: &[&str]| {
        let mut all = vec!["merge", "--force", "-o", "m.profundo"];
        all.extend(words);
        folder.run(&all).succeeded();
        let (profile, warnings) = read_file(folder.path().join("m.profundo")).unwrap();
        assert!(warnings.is_empty(), "{warnings:?}");
        profile.origin_names().join("; ")
    };
    let files = ["a.profundo", "b.profundo"];
    assert_eq!(labels(&files), "recording=a; recording=b");
    let each = ["--label", "host=x", "--label", "host=y", files[0], files[1]];
    assert_eq!(labels(&each), "host=x; host=y");
    let one = [
        "--label",
        "job=8",
        "run=1:a.profundo",
        "run=2,host=y:b.profundo",
    ];
    assert_eq!(labels(&one), "job=8, run=1; job=8, run=2, host=y");
}

#[test]
fn a_recording_may_have_labels_from_its_start() {
    let folder = Folder::new();
    let words = [
        "record",
        "--label",
        "rank=3",
        "--label",
        "host=x",
        "-o",
        "r.profundo",
        "true",
    ];
    folder.run(&words).succeeded();
    let (profile, _) = read_file(folder.path().join("r.profundo")).unwrap();
    assert_eq!(profile.origin_names(), ["rank=3, host=x"]);
    assert!(
        profile
            .processes
            .iter()
            .all(|process| process.origin.is_some())
    );
    let run = folder.run(&["run", "--label", "rank=4", "-o", "s.profundo", "true"]);
    run.succeeded();
    assert!(!run.err.contains("filter"), "{run:#?}");
    folder
        .run(&["merge", "r.profundo", "s.profundo", "-o", "m.profundo"])
        .succeeded();
    let (profile, _) = read_file(folder.path().join("m.profundo")).unwrap();
    assert_eq!(profile.origin_names(), ["rank=3, host=x", "rank=4"]);
    assert!(profile.origins.iter().all(|origin| origin.duration.0 > 0));
}

#[test]
fn what_does_not_fit_is_refused_and_nothing_is_written() {
    let folder = with_runs();
    let mut traced = Profile::from_folded("main 3").unwrap();
    traced.meta.kind = SampleKind::Traced;
    traced.traced.tracing = Tracing::Calls;
    write_file(folder.path().join("t.profundo"), &traced).unwrap();
    let refused = |words: &[&str], code, why| {
        let mut all = vec!["merge", "-o", "m.profundo"];
        all.extend(words);
        folder.run(&all).refused(code, why);
        assert!(!folder.path().join("m.profundo").exists(), "{words:?}");
    };
    refused(&["a.profundo"], 2, "name two or more");
    let twice = ["a.profundo", "b.profundo", "./a.profundo"];
    refused(&twice, 2, "named twice");
    refused(&["a.profundo", "t.profundo"], 1, "these cannot be added up");
    refused(
        &["a.profundo", "none.profundo"],
        1,
        "there is no recording none.profundo",
    );
    refused(
        &["--align", "clock", "a.profundo", "b.profundo"],
        1,
        "does not say when it began",
    );
    let labels = [
        "--label",
        "x=1",
        "--label",
        "x=2",
        "a.profundo",
        "b.profundo",
        "c.profundo",
    ];
    refused(&labels, 2, "2 labels do not fit 3 recordings");
    folder
        .run(&["merge", "a.profundo", "b.profundo", "-o", "a.profundo"])
        .refused(2, "is what is being read");
    for (words, why) in [
        (&["merge", "a.profundo", "b.profundo"][..], "--output"),
        (
            &["merge", "--label", "x", "a.profundo", "-o", "m.profundo"],
            "is no label",
        ),
    ] {
        let outcome = folder.run(words);
        assert_eq!(outcome.code, Some(2), "{outcome:#?}");
        assert!(outcome.err.contains(why), "{outcome:#?}");
    }
}

#[test]
fn a_hundred_recordings_merge() {
    let folder = Folder::new();
    let mut words = vec!["merge".to_owned(), "-o".into(), "m.profundo".into()];
    for number in 0..100 {
        let text = format!("main;work;leaf 50\nmain;own{} 5", number % 3);
        let name = format!("{number}.profundo");
        write_file(
            folder.path().join(&name),
            &Profile::from_folded(&text).unwrap(),
        )
        .unwrap();
        words.push(format!("rank={number}:{name}"));
    }
    folder.run(&words).succeeded();
    let (profile, _) = read_file(folder.path().join("m.profundo")).unwrap();
    assert_eq!((profile.samples.len(), profile.origins.len()), (5500, 100));
    assert_eq!(profile.stacks.len(), 6);
}
