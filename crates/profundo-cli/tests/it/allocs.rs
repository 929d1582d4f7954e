//! Reports on allocations.

use std::path::Path;

use profundo_testing::python;

use crate::machine::Folder;

/// A hundred megabytes on one line, of which ten are kept.
const PROGRAM: &str = "
kept = []

def take(step):
    return bytearray(1_000_000)  # TAKES

for step in range(100):
    block = take(step)
    if step % 10 == 0:
        kept.append(block)
del block
";

/// A recording with memory in it, and one without.
fn recorded(python: &Path) -> Folder {
    let folder = Folder::new();
    let program = folder.file("app.py", PROGRAM);
    // So often that next to each block of a megabyte is recorded.
    let often = ["--memory", "--memory-sample", "256K"];
    for (name, options) in [("with", &often[..]), ("without", &[])] {
        let file = format!("{name}.profundo");
        let mut command = folder.profundo(&["record", "-o", &file]);
        let command = command.args(options).arg("--").args([python, &program]);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }
    folder
}

#[test]
fn memory_is_looked_at_in_every_way() {
    let Some(python) = python() else { return };
    let folder = recorded(&python);
    let report = |words: &[&str]| {
        let outcome = folder.run(&[&["report", "with.profundo"], words].concat());
        outcome.succeeded().out.clone()
    };
    let text = report(&["allocs", "--width", "120"]);
    assert!(
        text.contains("app.py:5  return bytearray(1_000_000)  # TAKES"),
        "{text}"
    );
    assert!(report(&[]).contains("Lines that allocate"));
    let lines = report(&["memory-lines"]);
    assert!(lines.contains("Line #    Mem usage    Increment  Occurrences   Line Contents\n"));
    // Large blocks are seen, each of them: a hundred on this line.
    let json = report(&["functions", "--of", "allocated", "--count", "--json"]);
    let take = json
        .lines()
        .find(|line| line.contains("\"function\": \"take\""))
        .unwrap();
    let blocks = take.split("\"total_blocks\": ").nth(1).unwrap();
    let blocks: u64 = blocks.split(',').next().unwrap().parse().unwrap();
    assert!((70..=140).contains(&blocks), "{take}");
    for what in ["tree", "flat", "lines"] {
        let text = report(&[what, "--of", "live"]);
        assert!(
            text.contains("live at the end; shares are of these bytes"),
            "{text}"
        );
    }
    let callers = report(&["callers", "take", "--of", "peak"]);
    // A dozen blocks are too few for shares: then no column has any.
    let is_few = callers.contains("too few for shares");
    assert_eq!(callers.contains(" of 1"), is_few, "{callers}");
    assert_eq!(callers.contains("% of the bytes"), !is_few, "{callers}");
    assert_eq!(callers.contains("All %"), !is_few, "{callers}");
    assert_eq!(callers.contains('±'), !is_few, "{callers}");
}

#[test]
fn a_function_that_allocates_and_takes_no_time_is_found() {
    let Some(python) = python() else { return };
    let folder = Folder::new();
    let program = folder.file("app.py", PROGRAM);
    // So rarely that the program has ended before the first sample.
    let options = ["--rate", "1", "--memory", "--memory-sample", "256K", "--"];
    let mut command = folder.profundo(&["record", "-o", "rare.profundo"]);
    let output = command.args(options).args([&python, &program]).output();
    assert!(output.as_ref().unwrap().status.success(), "{output:?}");
    let report = |words: &[&str]| folder.run(&[&["report", "rare.profundo"], words].concat());
    let callers = report(&["callers", "take", "--of", "allocated"]);
    assert!(
        callers.succeeded().out.contains("take  app.py:5"),
        "{callers:?}"
    );
    assert_eq!(report(&["callers", "take"]).code, Some(4));
}

#[test]
fn a_recording_carries_the_lines_that_allocate() {
    let Some(python) = python() else { return };
    let folder = recorded(&python);
    std::fs::remove_file(folder.path().join("app.py")).unwrap();
    let words = [
        "report",
        "with.profundo",
        "allocs",
        "--width",
        "120",
        "--no-disk",
    ];
    let outcome = folder.run(&words);
    let text = &outcome.succeeded().out;
    assert!(
        text.contains("return bytearray(1_000_000)  # TAKES"),
        "{text}"
    );
}

#[test]
fn exports_hold_memory_too() {
    let Some(python) = python() else { return };
    let folder = recorded(&python);
    let export = |words: &[&str]| {
        let outcome = folder.run(&[&["export", "with.profundo"], words].concat());
        outcome.succeeded().out.clone()
    };
    let folded = export(&["--to", "collapsed", "--of", "allocated", "-o", "-"]);
    let bytes: u64 = (folded.lines().filter(|line| line.contains(";take (")))
        .map(|line| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap())
        .sum();
    assert!((90_000_000..112_000_000).contains(&bytes), "{folded}");
    let scope = export(&["--to", "speedscope", "--of", "peak", "-o", "-"]);
    assert!(scope.contains(r#""unit":"bytes""#), "{scope}");
    let svg = folder.run(&["flame", "with.profundo", "--of", "live", "-o", "-"]);
    let svg = &svg.succeeded().out;
    assert!(
        svg.contains(" MB live at the end") && !svg.contains("CPU time"),
        "{svg}"
    );
    export(&["--to", "pprof", "--of", "live", "-o", "x.pb.gz"]);
    assert!(folder.path().join("x.pb.gz").metadata().unwrap().len() > 100);
}

#[test]
fn what_was_not_recorded_cannot_be_reported() {
    let Some(python) = python() else { return };
    let folder = recorded(&python);
    let refused = |words: &[&str], code, part: &str| {
        folder.run(words).refused(code, part);
    };
    let file = "without.profundo";
    let missing = "what is allocated was not recorded";
    refused(&["report", file, "lines", "--of", "live"], 1, missing);
    refused(&["flame", file, "--of", "live"], 1, missing);
    refused(
        &["report", file, "summary", "--of", "live"],
        2,
        "`summary` has no `--of`",
    );
    refused(&["report", file, "lines", "--count"], 2, "goes with --of");
    refused(
        &["export", file, "--to", "pprof", "--of", "peak"],
        2,
        "pprof has what was allocated, what was live",
    );
    refused(
        &["flame", file, "--of", "live", "--weights", "samples"],
        2,
        "give one of them",
    );
    let outcome = folder.run(&["report", file, "allocs"]);
    assert!(outcome.succeeded().out.contains(missing));
}
