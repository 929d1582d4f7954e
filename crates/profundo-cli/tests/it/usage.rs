//! Wrong usage, and what needs no program.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use profundo_testing::python;

use crate::machine::{Folder, Outcome};

#[test]
fn wrong_usage_is_code_2_with_a_suggestion() {
    let folder = Folder::new();
    for (words, hint) in [
        (&["rcord", "true"][..], "record"),
        (&["record", "--rat", "5", "true"], "--rate"),
        (&["report", "x.profundo", "fucntions"], "functions"),
        (&["export", "x.profundo", "--to", "ppprof"], "pprof"),
        (&["run", "--engine", "perf_signal", "true"], "perf-signal"),
        (&["report", "x.profundo", "--maxdept", "3"], "--maxdepth"),
        (&["flame", "x.profundo", "--invert"], "--inverted"),
        (&["export", "x.profundo", "--weight", "time"], "--weights"),
        (&["report", "x.profundo", "--by", "threads"], "thread"),
    ] {
        let outcome = folder.run(words);
        assert_eq!(outcome.code, Some(2), "{words:?} {outcome:#?}");
        assert!(outcome.err.starts_with("profundo: "), "{outcome:#?}");
        assert!(outcome.err.contains(&format!("'{hint}'")), "{outcome:#?}");
    }
    assert!(folder.recordings().is_empty());
}

#[test]
fn wrong_values_and_missing_words_are_code_2() {
    let folder = Folder::new();
    for words in [
        &["run"][..],
        &["record", "-r", "0", "true"],
        &["record", "-r", "1e9", "true"],
        &["record", "-d", "-1", "true"],
        &["record", "-d", "0", "true"],
        &["record", "-r", "-5", "true"],
        &["record", "--max-size", "-1", "true"],
        &["record", "-o", "", "true"],
        &["report", "x.profundo", "callees"],
        &["report", "x.profundo", "calls"],
        &["run", "--format", "callees", "true"],
        &["report", "x.profundo", "--width", "3"],
        &["report", "x.profundo", "functions", "--limit", "-1"],
        &["report", "x.profundo", "functions", "--min-share", "101"],
        &["report", "x.profundo", "tree", "--maxdepth", "-1"],
        &["report", "x.profundo", "tree", "--noisefloor", "NaN"],
        &["report", "x.profundo", "--from", "5", "--to", "2"],
        &["flame", "x.profundo", "--from", "-1"],
        &["export", "x.profundo", "--to", "pprof", "--to", "-1"],
        &[
            "report",
            "x.profundo",
            "lines",
            "--libraries",
            "--only-mine",
        ],
        &["record", "--max-size", "big", "true"],
        &["report", "callers"],
        &["report", "x.profundo", "callers"],
        &["report", "x.profundo", "tree", "name"],
        &["report", "x.profundo", "--sortedby", "size"],
        &["report", "x.profundo", "flat", "--recur", "flat"],
        &["export", "x.profundo"],
        &["record", "--memory=all", "true"],
        &["record", "--memory-sample", "1M", "true"],
        &["record", "--memory=exact", "--memory-sample", "1M", "true"],
        &["ctl", "1"],
        &["ctl", "one", "start"],
        &["gc-log", "--slow", "nan", "--", "true"],
        &["gc-log", "--slow=-5", "--", "true"],
        &["gc-log", "--slow", "abc", "--", "true"],
        &["gc-log", "-d", "0", "--", "true"],
        &["heap", "x.heapsnapshot", "--limit", "abc"],
        &["heap", "x.heapsnapshot", "--no-redact"],
        &["heap", "x.heapsnapshot", "--native"],
    ] {
        let outcome = folder.run(words);
        assert_eq!(outcome.code, Some(2), "{words:?} {outcome:#?}");
        assert!(outcome.err.starts_with("profundo: "), "{outcome:#?}");
        assert_eq!(outcome.out, "");
    }
    assert!(folder.recordings().is_empty());
}

#[test]
fn help_and_version_are_answers() {
    let folder = Folder::new();
    for words in [
        &["--help"][..],
        &["help"],
        &["help", "run"],
        &["run", "-h"],
        &["--version"],
    ] {
        let outcome = folder.run(words);
        outcome.succeeded();
        assert!(outcome.out.contains("profundo"), "{outcome:#?}");
        assert_eq!(outcome.err, "");
    }
    let all = folder.run(&["--help"]).out;
    for verb in [
        "run", "record", "report", "list", "export", "bench", "flame", "heap",
    ] {
        assert!(all.contains(&format!("\n  {verb} ")), "{verb} in {all}");
    }
    // Nothing at all is a question too, but not a success.
    let outcome = folder.run::<&str>(&[]);
    assert_eq!(outcome.code, Some(2));
    assert!(outcome.err.contains("Usage"), "{outcome:#?}");
}

/// Every option is in the pages, since it could not be found otherwise.
#[test]
fn every_option_is_in_the_pages() {
    let folder = Folder::new();
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let pages: String = fs::read_dir(docs)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "md"))
        .map(|path| fs::read_to_string(path).unwrap())
        .collect();
    for verb in [
        "run",
        "record",
        "report",
        "export",
        "flame",
        "graph",
        "heatmap",
        "view",
        "recover",
        "merge",
        "ctl",
        "track-allocation",
        "time",
        "trace",
        "bench",
    ] {
        let help = folder.run(&[verb, "--help-all"]).out;
        // What may be repeated ends with dots.
        let words = help.split(|c: char| c.is_whitespace() || ",[]:.".contains(c));
        let options: BTreeSet<&str> = words.filter(|word| word.starts_with("--")).collect();
        assert!(options.len() > 1 || verb == "ctl", "{help}");
        for option in options.into_iter().filter(|option| option.len() > 2) {
            let is_documented = pages
                .split(option)
                .skip(1)
                .any(|after| !after.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '-'));
            assert!(is_documented, "{option} of {verb} is in no page");
        }
    }
}

/// The completions of the last of these words in bash.
fn offered(folder: &Folder, words: &[&str]) -> Vec<String> {
    let mut line = vec!["--", "profundo"];
    line.extend(words);
    let index = words.len().to_string();
    let mut command = folder.profundo(&line);
    command.env("PROFUNDO_COMPLETE", "bash");
    command.env("_CLAP_COMPLETE_INDEX", index);
    command.env("_CLAP_IFS", "\n");
    let outcome = Outcome::of(command.output().unwrap());
    let lines = outcome.succeeded().out.lines();
    lines.map(|line| line.trim_end().to_owned()).collect()
}

#[test]
fn completions_are_made() {
    let folder = Folder::new();
    for shell in ["bash", "zsh", "fish"] {
        let outcome = folder.run(&["completions", shell]);
        outcome.succeeded();
        assert!(
            outcome.out.contains("PROFUNDO_COMPLETE"),
            "{shell}: {outcome:?}"
        );
    }
    assert!(offered(&folder, &["rep"]).contains(&"report".to_owned()));
    for (verb, start, option) in [
        ("run", "--max", "--max-size"),
        ("report", "--min-s", "--min-share"),
        ("flame", "--ici", "--icicle"),
        ("export", "--wei", "--weights"),
    ] {
        let offered = offered(&folder, &[verb, start]);
        assert!(offered.contains(&option.to_owned()), "{verb}: {offered:?}");
    }
    // There is no recording, and nothing to say about that.
    assert_eq!(offered(&folder, &["flame", "@"]), [""; 0]);
}

#[test]
fn completions_know_recordings_and_what_is_in_them() {
    let folder = Folder::new();
    let Some(python) = python() else {
        return;
    };
    let script = "def busy():\n    return sum(i * i for i in range(3000000))\nbusy()\n";
    folder.file("app.py", script);
    folder
        .run(&[
            OsStr::new("record"),
            python.as_os_str(),
            OsStr::new("app.py"),
        ])
        .succeeded();
    assert_eq!(offered(&folder, &["flame", "@"]), ["@1"]);
    assert_eq!(offered(&folder, &["report", "li"]), ["lines"]);
    assert_eq!(
        offered(&folder, &["report", "@1", "callers", "bu"]),
        ["busy"]
    );
    assert_eq!(offered(&folder, &["report", "--function", "bu"]), ["busy"]);
    assert_eq!(
        offered(&folder, &["flame", "@1", "--file", "ap"]),
        ["app.py"]
    );
    let threads = offered(&folder, &["report", "--thread", ""]);
    assert_eq!(threads.len(), 1, "{threads:?}");
}

#[test]
fn the_manual_has_a_page_for_each_command() {
    let folder = Folder::new();
    let manual = folder.run(&["man"]);
    let titles = |text: &str| -> Vec<String> {
        let titles = text.lines().filter_map(|line| line.strip_prefix(".TH "));
        let names = titles.filter_map(|title| title.split_whitespace().next());
        names.map(str::to_owned).collect()
    };
    let verbs = [
        "run",
        "record",
        "time",
        "attach",
        "peek",
        "top",
        "watch",
        "report",
        "diff",
        "regressions",
        "list",
        "merge",
        "export",
        "push",
        "receive",
        "symbols",
        "bench",
        "flame",
        "graph",
        "heatmap",
        "view",
        "trace",
        "track-allocation",
        "heap",
        "snapshot",
        "gc-log",
        "assemble",
        "ctl",
        "doctor",
        "recover",
        "completions",
        "man",
    ];
    let mut expected = vec!["profundo".to_owned()];
    expected.extend(verbs.iter().map(|verb| format!("profundo-{verb}")));
    assert_eq!(titles(&manual.succeeded().out), expected);
    let page = folder.run(&["man", "report"]);
    assert_eq!(titles(&page.succeeded().out), ["profundo-report"]);
    assert!(page.out.contains("min\\-share"), "{page:#?}");
    // What is typed, not the page's name, stands in its synopsis.
    assert!(page.out.contains("\\fBprofundo report\\fR"), "{page:#?}");
    folder
        .run(&["man", "nothing"])
        .refused(2, "there is no command `nothing`");
}
