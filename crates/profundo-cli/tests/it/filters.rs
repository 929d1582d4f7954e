//! Filters by expression, transforms, and the time in system calls, on a recording that is known to
//! the last sample.

use profundo_formats::write_file;

use crate::machine::Folder;
use crate::options::profile;

/// A folder with a recording of it.
fn made() -> Folder {
    let folder = Folder::new();
    let app = folder.file("app.py", "");
    write_file(folder.path().join("made.profundo"), &profile(&app)).unwrap();
    folder
}

/// What `export --to collapsed` prints, without its order.
fn collapsed(folder: &Folder, options: &[&str]) -> Vec<String> {
    let export = ["export", "made.profundo", "--to", "collapsed", "-o", "-"];
    let outcome = folder.run(&[&export, options].concat());
    let mut lines: Vec<String> = outcome.succeeded().out.lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

fn count(lines: &[String]) -> u64 {
    let counts = lines.iter().filter_map(|line| line.rsplit_once(' '));
    counts.map(|(_, count)| count.parse::<u64>().unwrap()).sum()
}

#[test]
fn stacks_are_chosen_and_changed() {
    let folder = made();
    let all = collapsed(&folder, &[]);
    let total = count(&all);
    let through = |text: &str| {
        let lines = all.iter().filter(|line| line.contains(text)).cloned();
        count(&lines.collect::<Vec<_>>())
    };
    let json = through("decoder.py");
    assert!(json > 0 && json < total);
    assert_eq!(count(&collapsed(&folder, &["--focus", "decoder"])), json);
    assert_eq!(
        count(&collapsed(&folder, &["--ignore", "json/decoder"])),
        total - json
    );
    for options in [
        ["--hide", "decoder"],
        ["--transform", "merge-library:^json$"],
        ["--transform", "collapse-library:^json$"],
        ["--show", "app.py"],
    ] {
        let left = collapsed(&folder, &options);
        assert_eq!(count(&left), total, "{options:?}");
        assert!(
            !left.iter().any(|line| line.contains("decoder.py")),
            "{options:?}: {left:#?}"
        );
    }
    let left = collapsed(&folder, &["--show-from", "decoder"]);
    assert_eq!(count(&left), json);
    assert!(
        !left.iter().any(|line| line.contains("app.py")),
        "{left:#?}"
    );
}

#[test]
fn a_report_says_what_was_chosen() {
    let folder = made();
    let options = ["--ignore", "decoder", "--hide", "nothing here"];
    let report = |verb: &str, more: &[&str]| {
        let report = ["report", "made.profundo", verb];
        folder.run(&[&report, &options[..], more].concat())
    };
    for verb in ["summary", "tree", "flat", "functions"] {
        let outcome = report(verb, &[]);
        let said = "Only: ignore=decoder hide=\"nothing here\": ";
        assert!(outcome.succeeded().out.contains(said), "{outcome:#?}");
    }
    let outcome = report("functions", &["--json"]);
    let said = r#""filter": "ignore=decoder hide=\"nothing here\"""#;
    assert!(outcome.succeeded().out.contains(said), "{outcome:#?}");
    let outcome = folder.run(&["report", "made.profundo", "flat", "--hide", "decoder"]);
    let said = "Stacks: hide=decoder; no sample is left out.";
    assert!(outcome.succeeded().out.contains(said), "{outcome:#?}");
}

#[test]
fn small_shares_are_left_out_of_trees() {
    let folder = made();
    for verb in ["tree", "flat"] {
        let rows = |share: &str| {
            let options = ["report", "made.profundo", verb, "--min-share", share];
            let outcome = folder.run(&options);
            outcome.succeeded().out.lines().count()
        };
        assert!(rows("0") > rows("40"), "{verb}");
    }
}

#[test]
fn a_wrong_choice_is_explained() {
    let folder = made();
    let refused = |code, options: &[&str], why: &str| {
        let report = ["report", "made.profundo"];
        folder.run(&[&report, options].concat()).refused(code, why);
    };
    let wrong = |options: &[&str], why: &str| {
        let outcome = folder.run(&[&["report", "made.profundo"], options].concat());
        assert_eq!(outcome.code, Some(2), "{outcome:#?}");
        assert!(
            outcome.err.lines().next().unwrap().contains(why),
            "{outcome:#?}"
        );
    };
    wrong(&["--focus", "a("], "unclosed group, at character 2");
    wrong(&["--transform", "melt:a"], "“melt” is no transform");
    wrong(&["--transform", "drop-file"], "wants a regular expression");
    refused(2, &["io", "--hide", "a"], "it has no `--hide`");
    refused(2, &["allocs", "--gil", "held"], "Python's lock");
    refused(
        2,
        &["syscalls", "--transform", "collapse-recursion"],
        "it has no `--transform`",
    );
    let outcome = folder.run(&["report", "made.profundo", "functions", "--gil", "held"]);
    assert_eq!(outcome.code, Some(4), "{outcome:#?}");
    assert!(
        outcome
            .out
            .contains("no samples pass the filter: gil=held."),
        "{outcome:#?}"
    );
    let options = [
        "flame",
        "made.profundo",
        "--transform",
        "drop-file:.",
        "-o",
        "x.svg",
    ];
    folder
        .run(&options)
        .refused(4, "no samples pass the filter (transform=drop-file:.)");
}

#[test]
fn time_in_system_calls_has_a_table() {
    let folder = made();
    let outcome = folder.run(&["report", "made.profundo", "syscalls"]);
    let text = &outcome.succeeded().out;
    assert!(
        text.contains("System calls") && text.contains("10.0 ms"),
        "{outcome:#?}"
    );
    assert!(text.contains("`--wall` records waits too"), "{outcome:#?}");
}
