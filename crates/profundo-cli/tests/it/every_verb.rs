//! Each verb on a Python program and on one in C.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use profundo_formats::read_file;
use profundo_testing::{python, skip, wait_until};

use crate::machine::{Folder, SPIN_C, SPIN_PY, c_program};

/// Recordings that all of these tests read.
struct Recorded {
    folder: Folder,
    python: Option<PathBuf>,
    c: Option<PathBuf>,
}

fn recorded() -> &'static Recorded {
    static RECORDED: OnceLock<Recorded> = OnceLock::new();
    RECORDED.get_or_init(|| {
        let folder = Folder::new();
        folder.file("spin.py", SPIN_PY);
        let record = |name: &str, program: PathBuf, words: &[&str]| {
            let output = folder.path().join(name);
            let status = folder
                .profundo(&["record", "-o", name])
                .arg(program)
                .args(words)
                .stderr(Stdio::null())
                .status()
                .unwrap();
            assert!(status.success());
            output
        };
        let python = python().map(|python| record("py.profundo", python, &["spin.py", "0.8"]));
        let c = c_program(&folder, "spin", SPIN_C)
            .map(|program| record("c.profundo", program, &["0.8"]));
        Recorded { folder, python, c }
    })
}

/// Both, as far as they are there.
fn each(check: impl Fn(&Folder, &str, &str)) {
    let recorded = recorded();
    for (path, name, source) in [
        (&recorded.python, "py.profundo", "spin.py"),
        (&recorded.c, "c.profundo", "spin.c"),
    ] {
        match path {
            Some(_) => check(&recorded.folder, name, source),
            None => skip("one of the two languages is not here"),
        }
    }
}

#[test]
fn every_report_shows_what_is_hot() {
    each(|folder, file, source| {
        for what in ["summary", "tree", "flat", "lines", "functions", "statprof"] {
            let outcome = folder.run(&["report", file, what, "--width", "150"]);
            outcome.succeeded();
            assert!(
                outcome.out.contains("hot") || what == "lines",
                "{what} {outcome:#?}"
            );
            assert!(
                outcome.out.contains(source) || what == "functions",
                "{what} {outcome:#?}"
            );
            assert_eq!(outcome.err, "", "{what}");
            // As an option it is the same.
            let option = folder.run(&["report", file, "--width", "150", "--format", what]);
            assert_eq!(option.out, outcome.out);
            // And in colour, and in any width.
            let wide = folder.run(&["report", file, what, "--color=always", "--width", "200"]);
            assert!(
                wide.out.contains("\x1b[") || ["flat", "statprof"].contains(&what),
                "{what}"
            );
        }
        let outcome = folder.run(&["report", file, "callers", "hot"]);
        assert!(outcome.succeeded().out.contains("main"), "{outcome:#?}");
    });
}

#[test]
fn every_report_is_json_too() {
    each(|folder, file, _| {
        for what in ["summary", "tree", "flat", "lines", "functions", "statprof"] {
            let outcome = folder.run(&["report", file, what, "--json"]);
            outcome.succeeded();
            let mut python = Command::new("python3");
            python.args(["-c", "import json, sys; json.load(open(sys.argv[1]))"]);
            let path = folder.file("x.json", &outcome.out);
            let Ok(status) = python.arg(path).status() else {
                return skip("there is no Python to read JSON");
            };
            assert!(status.success(), "{what} {}", outcome.out);
        }
    });
}

#[test]
fn the_options_of_the_library_are_flags() {
    each(|folder, file, _| {
        for options in [
            &["tree", "--maxdepth", "1"][..],
            &["tree", "--mincount", "10", "--noisefloor", "2.0"],
            &["tree", "--sortedby", "count", "--recur", "flat"],
            &["tree", "--groupby", "thread,task", "--hot-first"],
            &["flat", "--no-combine", "--c"],
            &["flat", "--sort-by", "overhead", "--group-by", "thread"],
            &["tree", "--hyperlinks", "always", "--editor", "vscode"],
        ] {
            let mut words = vec!["report", file];
            words.extend(options);
            let outcome = folder.run(&words);
            assert!(!outcome.succeeded().out.is_empty(), "{options:?}");
        }
        let all = folder.run(&["report", file, "tree"]).out;
        let few = folder.run(&["report", file, "tree", "--maxdepth", "0"]).out;
        assert!(few.lines().count() < all.lines().count());
    });
}

/// When a function was met first, in seconds: what ran before it is over by then.
fn first_of(folder: &Folder, file: &str, function: &str) -> String {
    let (profile, _) = read_file(folder.path().join(file)).unwrap();
    let is_in = |sample: &&profundo_model::Sample| {
        let mut locations = profile.stacks.locations(sample.stack);
        locations.any(|location| {
            let frames = &profile.locations.get(location).frames;
            frames
                .iter()
                .any(|&frame| profile.function_name(frame) == function)
        })
    };
    let first = profile.samples.iter().find(is_in).unwrap();
    format!("{:.6}", first.time.0 as f64 / 1e9 - 1e-6)
}

#[test]
fn filters_leave_out_what_does_not_pass() {
    each(|folder, file, source| {
        let functions = |options: &[&str]| {
            let mut words = vec!["report", file, "functions"];
            words.extend(options);
            let outcome = folder.run(&words);
            let passes_none = outcome.out.contains("no samples pass");
            assert_eq!(
                outcome.code,
                Some(if passes_none { 4 } else { 0 }),
                "{outcome:#?}"
            );
            outcome.out
        };
        assert!(functions(&[]).contains("cool"));
        assert!(!functions(&["--function", "hot"]).contains("cool"));
        assert!(functions(&["--file", source]).contains("cool"));
        assert!(functions(&["--thread", "1"]).contains("cool"));
        assert!(functions(&["--process", "spin"]).contains("cool"));
        assert!(functions(&["--only-mine"]).contains("cool"));
        let turn = first_of(folder, file, "cool");
        assert!(!functions(&["--to", &turn]).contains("cool"));
        assert!(functions(&["--to", &turn]).contains("hot"));
        assert!(!functions(&["--from", &turn]).contains("hot "));
        assert!(functions(&["--from", &turn]).contains("cool"));
        assert!(!functions(&["--thread", "nobody"]).contains("cool"));
        // The same in a picture.
        let path = folder.path().join("filtered.txt");
        let words = [
            "export",
            file,
            "--to",
            "collapsed",
            "--function",
            "hot",
            "-o",
        ];
        folder
            .profundo(&words)
            .arg(&path)
            .stderr(Stdio::null())
            .status()
            .unwrap();
        assert!(!fs::read_to_string(&path).unwrap().contains("cool"));
    });
}

#[test]
fn exports_are_what_they_say() {
    each(|folder, file, _| {
        for (format, ending, begins) in [
            ("pprof", "pb.gz", &b"\x1f\x8b"[..]),
            ("collapsed", "folded", b""),
            ("speedscope", "speedscope.json", b"{"),
        ] {
            let outcome = folder.run(&["export", file, "--to", format]);
            outcome.succeeded();
            let stem = file.strip_suffix(".profundo").unwrap();
            let bytes = fs::read(folder.path().join(format!("{stem}.{ending}"))).unwrap();
            assert!(bytes.starts_with(begins) && !bytes.is_empty(), "{format}");
            let outcome = folder.run(&["export", file, "--to", format, "-o", "-"]);
            assert!(!outcome.succeeded().out.is_empty());
            assert_eq!(outcome.err, "");
        }
        folder.run(&["flame", file, "-o", "x.svg"]).succeeded();
        let picture = fs::read_to_string(folder.path().join("x.svg")).unwrap();
        assert!(picture.contains("<svg") && picture.contains("hot"));
        folder.run(&["heatmap", file, "-o", "h.svg"]).succeeded();
        let picture = fs::read_to_string(folder.path().join("h.svg")).unwrap();
        assert!(picture.contains(" on a CPU in ") && picture.contains("\"hot\""));
    });
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    each(|folder, file, _| {
        let script = format!(
            "set -o pipefail; {} report {file} tree | head -n 1",
            env!("CARGO_BIN_EXE_profundo")
        );
        let output = Command::new("bash")
            .args(["-c", &script])
            .current_dir(folder.path())
            .output();
        let Ok(output) = output else {
            return skip("there is no bash");
        };
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
        assert_eq!(
            output.stdout.iter().filter(|byte| **byte == b'\n').count(),
            1
        );
    });
}

#[test]
fn the_report_after_a_run_goes_to_stderr_or_to_a_file() {
    let Some(python) = python() else { return };
    let folder = Folder::new();
    folder.file("spin.py", SPIN_PY);
    let python = python.to_str().unwrap();
    let outcome = folder.run(&["run", python, "spin.py", "0.3"]);
    assert_eq!(outcome.succeeded().out, "");
    assert!(
        outcome.err.contains("Quality") && outcome.err.contains("Next"),
        "{outcome:#?}"
    );
    folder.run(&["report", "-o", "text.txt"]).succeeded();
    let text = fs::read_to_string(folder.path().join("text.txt")).unwrap();
    assert!(text.contains("Quality"), "{text}");
    let words = [
        "run",
        "--report-to",
        "report.json",
        "--json",
        python,
        "spin.py",
        "0.3",
    ];
    let outcome = folder.run(&words);
    assert_eq!(
        (outcome.succeeded().out.as_str(), outcome.err.as_str()),
        ("", "")
    );
    let report = fs::read_to_string(folder.path().join("report.json")).unwrap();
    assert!(
        report.starts_with('{') && report.contains("hot"),
        "{report}"
    );
    let outcome = folder.run(&["run", "--format", "tree", python, "spin.py", "0.3"]);
    assert!(
        outcome.succeeded().err.contains("indented by depth"),
        "{outcome:#?}"
    );
}

/// The sampled seconds of CPU time.
fn sampled(folder: &Folder, file: &str) -> f64 {
    let (profile, warnings) = read_file(folder.path().join(file)).unwrap();
    assert!(warnings.is_empty(), "{warnings:?}");
    let weights = profile.samples.iter().map(|sample| sample.weight.0);
    weights.sum::<u64>() as f64 / 1e9
}

#[test]
fn sampling_has_a_beginning_and_an_end() {
    let Some(python) = python() else { return };
    let folder = Folder::new();
    folder.file("spin.py", SPIN_PY);
    let python = python.to_str().unwrap();
    for (options, most) in [
        (&["-d", "0.3"][..], 0.5),
        (&["--start-after", "0.3", "--duration", "0.3"], 0.5),
        (&["--paused"], 0.01),
    ] {
        let mut words = vec!["record", "-o", "x.profundo"];
        words.extend(options);
        words.extend([python, "spin.py", "1.2"]);
        folder.run(&words).succeeded();
        let sampled = sampled(&folder, "x.profundo");
        assert!(sampled <= most, "{options:?}: {sampled}");
        assert!(sampled > 0.0 || most < 0.1, "{options:?}: {sampled}");
        if most > 0.1 {
            // Of the 1.2 s of CPU time only those within the sampled time are reported.
            let (profile, _) = read_file(folder.path().join("x.profundo")).unwrap();
            let user = profile.processes[0].user.unwrap().0 as f64 / 1e9;
            assert!(user <= most + 0.05, "{options:?}: {user}");
            let wall = profile.meta.duration.0 as f64 / 1e9;
            assert!((0.29..0.8).contains(&wall), "{options:?}: {wall}");
        }
    }
}

#[test]
fn another_command_starts_and_stops_the_sampling() {
    let Some(python) = python() else { return };
    let folder = Folder::new();
    folder.file("spin.py", SPIN_PY);
    let mut child = folder
        .profundo(&["record", "--paused", "-o", "x.profundo"])
        .arg(python)
        .args(["spin.py", "2"])
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let pid = child.id().to_string();
    wait_until("a session to be found", || {
        folder.run(&["ctl", &pid, "start"]).code == Some(0)
    });
    // What is sampled meanwhile is the subject.
    std::thread::sleep(Duration::from_millis(300));
    folder.run(&["ctl", &pid, "stop"]).succeeded();
    assert!(child.wait().unwrap().success());
    let sampled = sampled(&folder, "x.profundo");
    assert!((0.01..1.5).contains(&sampled), "{sampled}");
    folder
        .run(&["ctl", &pid, "stop"])
        .refused(1, "there is no process");
    folder.run(&["ctl", "1", "stop"]).refused(1, "process 1 is");
}

#[test]
fn children_are_followed_or_not() {
    let Some(python) = python() else { return };
    let folder = Folder::new();
    folder.file("spin.py", SPIN_PY);
    let script = format!("{} spin.py 0.4; exit 0", python.display());
    for (option, followed) in [("--children", true), ("--no-children", false)] {
        let words = ["record", option, "-o", "x.profundo", "sh", "-c", &script];
        folder.run(&words).succeeded();
        let sampled = sampled(&folder, "x.profundo");
        assert_eq!(sampled > 0.2, followed, "{option}: {sampled}");
    }
}
