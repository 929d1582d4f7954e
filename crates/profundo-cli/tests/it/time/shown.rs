//! The printed report, and its place.

use std::fs;

use super::{Figures, Tree};
use crate::machine::Folder;

#[test]
fn posix_wants_three_lines() {
    let Some(tree) = Tree::new() else { return };
    let outcome = tree.run(&["-p"], "waited", "20");
    outcome.succeeded();
    let lines: Vec<Vec<&str>> = outcome
        .err
        .lines()
        .map(|line| line.split(' ').collect())
        .collect();
    let [real, user, sys] = lines.as_slice() else {
        panic!("{outcome:#?}")
    };
    let seconds = |line: &[&str], name: &str| {
        let [found, number] = line else {
            panic!("{line:?}")
        };
        assert_eq!(*found, name);
        number.parse::<f64>().unwrap()
    };
    let (real, user, sys) = (
        seconds(real, "real"),
        seconds(user, "user"),
        seconds(sys, "sys"),
    );
    assert!(real > 0.15 && user + sys > 0.19, "{outcome:#?}");
    // The program's end is no line of theirs.
    let outcome = tree.run(&["-p"], "killed", "1");
    assert_eq!(outcome.err.lines().count(), 3, "{outcome:#?}");
}

#[test]
fn a_table_says_what_figures_mean() {
    let folder = Folder::new();
    let outcome = folder.run(&["time", "--", "sh", "-c", "echo out; exit 3"]);
    assert_eq!((outcome.code, outcome.out.as_str()), (Some(3), "out\n"));
    for part in [
        "sh -c 'echo out; exit 3'\n",
        " ms   from its start to its end\n",
        "\nuser ",
        "\nsys ",
        " %   user + sys by real",
        "\nPeak memory ",
        "\nPage faults ",
        "minor: memory used first",
        "major: read from a disk",
        "voluntary: a thread waited for something",
        "involuntary: another one got its CPU",
        "\nRead ",
        "from disks",
        "\nWritten ",
        "\nProcesses ",
        "\nSignals          unknown   Linux does not count them",
        "\nEnded with   exit code 3\n",
    ] {
        let part = part.replace("count them", "count those that were received");
        assert!(outcome.err.contains(&part), "{part:?} in {}", outcome.err);
    }
    assert!(
        outcome.err.lines().all(|line| line.chars().count() <= 80),
        "{}",
        outcome.err
    );
    assert!(!outcome.err.contains('\x1b'), "{outcome:#?}");
}

#[test]
fn several_runs_are_reported_with_how_they_differ() {
    let Some(tree) = Tree::new() else { return };
    let outcome = tree.run(&["--runs", "4", "--warmup", "1"], "alone", "5");
    outcome.succeeded();
    assert!(
        outcome
            .err
            .starts_with("4 runs, after 1 run to warm up, of "),
        "{outcome:#?}"
    );
    let user = outcome
        .err
        .lines()
        .find(|line| line.starts_with("user "))
        .unwrap();
    let words: Vec<&str> = user.split_whitespace().collect();
    let [
        "user",
        mean,
        "ms",
        "±",
        _,
        "ms",
        least,
        "ms",
        "…",
        most,
        "ms",
    ] = words.as_slice()
    else {
        panic!("{user}")
    };
    let number = |text: &&str| text.parse::<f64>().unwrap();
    let (mean, least, most) = (number(mean), number(least), number(most));
    assert!(least <= mean && mean <= most && least > 30.0, "{user}");
    let outcome = tree.run(&["--runs", "3", "--json"], "alone", "2");
    assert_eq!(
        outcome.err.matches("\"exit_code\": 0").count(),
        3,
        "{outcome:#?}"
    );
    assert!(
        outcome
            .err
            .contains("{\"figure\": \"real_seconds\", \"runs\": 3, \"mean\": "),
        "{outcome:#?}"
    );
}

#[test]
fn the_first_that_fails_is_how_a_series_ends() {
    let folder = Folder::new();
    let script = "echo x >> runs; test $(wc -l < runs) != 2 || exit 7";
    let outcome = folder.run(&[
        "time", "--runs", "3", "--width", "200", "--", "sh", "-c", script,
    ]);
    assert_eq!(outcome.code, Some(7), "{outcome:#?}");
    assert_eq!(
        fs::read_to_string(folder.path().join("runs")).unwrap(),
        "x\nx\nx\n"
    );
    let sentence = "1 of the 3 runs did not end with exit code 0 (the first of them: exit code 7)";
    assert!(outcome.err.contains(sentence), "{outcome:#?}");
}

#[test]
fn runs_before_one_that_cannot_start_are_reported() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    let script = folder.file("once", "#!/bin/sh\ntest -e ran && rm -f \"$0\"\n: > ran\n");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let outcome = folder.run(&["time", "--runs", "4", "--", "./once"]);
    assert!(outcome.err.starts_with("2 runs of ./once"), "{outcome:#?}");
    assert_eq!(outcome.code, Some(127), "{outcome:#?}");
    assert!(outcome.err.contains("profundo: "), "{outcome:#?}");
}

#[test]
fn a_file_takes_the_report() {
    let folder = Folder::new();
    let outcome = folder.run(&[
        "time",
        "-p",
        "-o",
        "report",
        "--",
        "sh",
        "-c",
        "echo err >&2",
    ]);
    assert_eq!(outcome.err, "err\n");
    let read = || fs::read_to_string(folder.path().join("report")).unwrap();
    assert_eq!(read().lines().count(), 3);
    folder
        .run(&["time", "-p", "-a", "-o", "report", "true"])
        .succeeded();
    assert_eq!(read().lines().count(), 6);
    folder
        .run(&["time", "--json", "-o", "report", "true"])
        .succeeded();
    let figures = Figures(read());
    assert!(
        figures.0.starts_with("{\n") && figures.0.ends_with("}\n"),
        "{figures:?}"
    );
    assert_eq!(
        figures.0.matches("\"report\": \"time\"").count(),
        1,
        "{figures:?}"
    );
    // A disk that is full is said, and the program has ended as it has.
    let outcome = folder.run(&["time", "-o", "/dev/full", "sh", "-c", "exit 4"]);
    assert_eq!(outcome.code, Some(4), "{outcome:#?}");
    assert!(
        outcome
            .err
            .starts_with("profundo: cannot write /dev/full: "),
        "{outcome:#?}"
    );
}
