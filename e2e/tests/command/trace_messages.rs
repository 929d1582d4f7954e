//! The messages of `trace`: why nothing was counted, where the recording is, and what its figures
//! are.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use profundo_testing::{profundo, pyenv_folders, skip};
use serde_json::Value;

use crate::calls::{report, run, text};
use crate::program::alone;
use crate::targets::{cpp, pythons_for, scratch, source};

/// Traces a command. The name is that of the recording.
fn trace(name: &str, options: &[&str], program: &Path, words: &[&str]) -> (PathBuf, Output) {
    let recording = scratch().join(format!("messages-{name}.profundo"));
    let mut command = Command::new(profundo());
    command.arg("trace").args(options).arg("-o").arg(&recording);
    let output = run(command.arg("--").arg(program).args(words));
    (recording, output)
}

fn script(name: &str) -> String {
    source(name).to_string_lossy().into_owned()
}

/// The functions whose lines were counted, and the hits of each line.
fn functions(recording: &Path) -> Vec<(String, Vec<u64>)> {
    let table = report(recording, "lines");
    let functions = table["functions"].as_array().unwrap().iter();
    let hits = |lines: &Value| {
        let lines = lines.as_array().unwrap().iter();
        lines.map(|line| line["hits"].as_u64().unwrap()).collect()
    };
    functions
        .map(|function| {
            let name = function["function"].as_str().unwrap().to_owned();
            (name, hits(&function["lines"]))
        })
        .collect()
}

#[test]
fn an_old_interpreter_is_named_as_too_old() {
    let old = pyenv_folders()
        .into_iter()
        .filter(|(version, _)| [(2, 7), (3, 6), (3, 7)].contains(version));
    let old: Vec<PathBuf> = old.map(|(_, folder)| folder.join("bin/python")).collect();
    if old.is_empty() {
        return skip("no Python older than 3.8");
    }
    for python in old {
        for options in [&[][..], &["--lines"]] {
            let _alone = alone();
            let (recording, output) = trace("old", options, &python, &["-c", "print(7)"]);
            assert_eq!(text(&output.stdout), "7\n");
            let said = text(&output.stderr);
            assert!(said.contains("3.8 is the oldest"), "{said}");
            assert!(!said.contains("`profundo trace` counts"), "{said}");
            assert!(!said.contains("no samples"), "{said}");
            // The recording has the reason too.
            let mut command = Command::new(profundo());
            let view = if options.is_empty() { "trace" } else { "lines" };
            let later = run(command.arg("report").arg(&recording).arg(view));
            let later = text(&later.stdout);
            assert!(later.contains("3.8 is the oldest"), "{later}");
        }
    }
}

#[test]
fn lines_that_no_function_has_are_not_missing_samples() {
    for version in pythons_for("never_counted.py, lines of nothing") {
        let _alone = alone();
        let script = script("never_counted.py");
        let (recording, output) = trace("none", &["--lines=fob"], &version.path, &[&script]);
        let said = text(&output.stderr);
        assert!(said.contains("fits `fob`"), "{said}");
        let mut command = Command::new(profundo());
        let later = run(command.arg("report").arg(&recording).arg("lines"));
        let later = text(&later.stdout);
        assert!(later.contains("fits `fob`"), "{later}");
        for said in [said, later] {
            assert!(!said.contains("sample"), "{said}");
        }
    }
    let _alone = alone();
    let (_, output) = trace("native", &["--lines"], Path::new("/bin/true"), &[]);
    let said = text(&output.stderr);
    assert!(said.contains("no line was counted"), "{said}");
    assert!(!said.contains("CPU time"), "{said}");
}

#[test]
fn a_file_may_be_named_as_a_shell_completes_it() {
    for version in pythons_for("never_counted.py, ./") {
        let _alone = alone();
        let recording = scratch().join("messages-dot.profundo");
        let mut command = Command::new(profundo());
        command.current_dir(source("never_counted.py").parent().unwrap());
        command.args(["trace", "--lines=./never_counted.py", "-o"]);
        command.arg(&recording).arg("--").arg(&version.path);
        let output = run(command.arg("./never_counted.py"));
        assert!(output.status.success(), "{output:?}");
        let found = functions(&recording);
        assert!(found.iter().any(|(name, _)| name == "down"), "{found:?}");
    }
}

#[test]
fn a_program_without_a_file_has_lines() {
    for version in pythons_for("-c, its lines") {
        let _alone = alone();
        let code = "def f():\n    return 1\nfor i in range(3):\n    f()\n";
        let (recording, _) = trace("typed", &["--lines"], &version.path, &["-c", code]);
        let found = functions(&recording);
        assert!(found.contains(&("f".into(), vec![3])), "{found:?}");
        let recording = scratch().join("messages-stdin.profundo");
        let mut command = Command::new(profundo());
        command.args(["trace", "--lines", "-o"]).arg(&recording);
        command.arg("--").arg(&version.path);
        command.stdin(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        input.write_all(code.as_bytes()).unwrap();
        drop(input);
        assert!(child.wait().unwrap().success());
        let found = functions(&recording);
        assert!(found.contains(&("f".into(), vec![3])), "{found:?}");
        // Code that a library compiles is not the program's own, if the program has a file.
        let exec = scratch().join("messages_exec.py");
        std::fs::write(&exec, "exec('def g():\\n    return 1\\ng()')\n").unwrap();
        let exec = exec.to_string_lossy().into_owned();
        let (recording, _) = trace("exec", &["--lines"], &version.path, &[&exec]);
        let found = functions(&recording);
        assert!(!found.iter().any(|(name, _)| name == "g"), "{found:?}");
    }
}

#[test]
fn the_recording_and_the_next_command_are_named() {
    for version in pythons_for("never_counted.py, Next") {
        let _alone = alone();
        let script = script("never_counted.py");
        for (options, next) in [
            (&[][..], "profundo report FILE trace"),
            (&["--lines"], "profundo export FILE --to lprof"),
        ] {
            let (recording, output) = trace("next", options, &version.path, &[&script]);
            let said = text(&output.stderr);
            let next = next.replace("FILE", &recording.to_string_lossy());
            assert!(said.contains(&next) && said.contains("Next: "), "{said}");
        }
    }
}

/// The message of a command that must end with this code.
fn refused(words: &[&str], code: i32) -> String {
    let output = run(Command::new(profundo()).args(words));
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{words:?}: {said}");
    said
}

#[test]
fn exports_that_a_recording_of_lines_cannot_give_are_refused() {
    for version in pythons_for("never_counted.py, exports") {
        let _alone = alone();
        let script = script("never_counted.py");
        let (recording, _) = trace("export", &["--lines"], &version.path, &[&script]);
        let recording = recording.to_string_lossy().into_owned();
        let file = scratch().join("messages-export.out");
        let _ = std::fs::remove_file(&file);
        let out = file.to_string_lossy().into_owned();
        for format in ["pprof", "speedscope", "collapsed"] {
            let words = ["export", &recording, "--to", format, "-o", &out];
            assert!(refused(&words, 1).contains("--to lprof"), "{format}");
        }
        refused(&["flame", &recording, "-o", &out], 1);
        assert!(!file.exists());
        for option in ["--all-lines", "--total", "--min-share=1", "--context=2"] {
            let said = refused(&["report", &recording, "lines", option], 2);
            assert!(said.contains("--limit"), "{said}");
        }
        let words = ["export", &recording, "--to", "lprof", "--thread", "2"];
        assert!(refused(&words, 1).contains("nobody knows which thread"));
        let words = ["report", &recording, "lines", "--thread", "2"];
        let output = run(Command::new(profundo()).args(words));
        assert!(text(&output.stdout).contains("nobody knows which thread"));
        let (recording, _) = trace("export", &[], &version.path, &[&script]);
        let recording = recording.to_string_lossy().into_owned();
        let words = ["export", &recording, "--to", "lprof", "-o", &out];
        assert!(refused(&words, 1).contains("`profundo trace --lines`"));
    }
}

#[test]
fn options_that_contradict_each_other_are_refused() {
    for (options, expected) in [
        (&["--lines", "--format", "trace"][..], "instead"),
        (&["--lines", "--format", "tree"], "--format lines"),
        (&["--format", "memory"], "profundo run"),
        (&["--lines", "--no-builtins"], "instead"),
        (&["--lines", "--cpu", "--cheap"], "--cheap"),
        (&["--lines", "--cpu", "--once"], "--once"),
        (&["--lines", "--total"], "--total"),
        (&["--lines", "fib"], "--lines=fib"),
        (&["--functions=a", "--sort=time"], "without times"),
        (&["--functions=a", "--format=tree"], "without times"),
    ] {
        let words = [&["trace"], options, &["--", "/bin/echo", "ran"]].concat();
        let output = run(Command::new(profundo()).args(&words));
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {said}");
        assert!(output.stdout.is_empty(), "{words:?}");
        assert!(said.contains(expected), "{words:?}: {said}");
    }
    let said = refused(&["report", "none.profundo", "trace", "--order", "time"], 2);
    assert!(said.contains("`--sort`"), "{said}");
}

#[test]
fn calls_that_were_only_counted_have_no_times_anywhere() {
    let Some(program) = cpp("known_calls.cpp", &[]) else {
        return;
    };
    let (recording, output) = trace("probed", &["--functions=fib"], &program, &[]);
    if text(&output.stderr).contains("uprobes are for root") {
        return skip("the kernel does not count calls of functions for us");
    }
    let recording = recording.to_string_lossy().into_owned();
    let printed = |words: &[&str]| {
        let output = run(Command::new(profundo()).args(words));
        assert!(output.status.success(), "{output:?}");
        text(&output.stdout)
    };
    let summary = printed(&["report", &recording]);
    assert!(summary.starts_with("1973 function calls\n"), "{summary}");
    assert!(!summary.contains(" 0 s"), "{summary}");
    for view in ["tree", "flat", "lines", "functions"] {
        let why = refused(&["report", &recording, view], 2);
        assert!(why.contains("without times"), "{why}");
    }
    let why = refused(&["report", &recording, "trace", "--sort=time"], 2);
    assert!(why.contains("internal time"), "{why}");
    let file = printed(&["export", &recording, "--to", "callgrind", "-o", "-"]);
    assert!(file.contains("events: Calls\nsummary: 1973\n"), "{file}");
    assert!(file.contains("calls=1973 "), "{file}");
    let file = printed(&["export", &recording, "--to", "collapsed", "-o", "-"]);
    assert_eq!(file.trim().rsplit_once(' ').unwrap().1, "1973", "{file}");
}

#[test]
fn a_recursive_line_takes_no_longer_than_the_program() {
    for version in pythons_for("never_counted.py, recursion") {
        let _alone = alone();
        let script = script("never_counted.py");
        let options = ["--lines=down"];
        let begun = std::time::Instant::now();
        let (recording, _) = trace("down", &options, &version.path, &[&script, "5000"]);
        let whole = begun.elapsed().as_secs_f64();
        let table = report(&recording, "lines");
        let function = &table["functions"][0];
        let lines = function["lines"].as_array().unwrap();
        assert_eq!(lines[1]["hits"], 5000, "{table:#}");
        for line in lines {
            let seconds = line["seconds"].as_f64().unwrap();
            assert!(seconds < whole, "{table:#}");
        }
    }
}

#[test]
fn lines_that_did_not_run_are_named() {
    for version in pythons_for("never_counted.py, once") {
        let _alone = alone();
        let script = script("never_counted.py");
        let options = ["--lines", "--once"];
        let (recording, output) = trace("once", &options, &version.path, &[&script]);
        let said = text(&output.stderr);
        assert!(said.contains("never at line 11: never ran"), "{said}");
        assert!(
            said.contains("Function: down at line 5: 3 of 3 lines ran"),
            "{said}"
        );
        assert!(said.contains("!             return 'unseen'"), "{said}");
        for wrong in ["Timer unit", "Total time", "Hits"] {
            assert!(!said.contains(wrong), "{said}");
        }
        let found = functions(&recording);
        let hits = |wanted: &str| {
            let found = found.iter().find(|(name, _)| name == wanted);
            found.unwrap().1.clone()
        };
        assert_eq!(hits("never"), [0, 0, 0]);
        assert_eq!(hits("one"), [1, 0, 1]);
        assert_eq!(hits("unused"), [0]);
        let options = ["--lines=never", "--once"];
        let (recording, _) = trace("once", &options, &version.path, &[&script]);
        assert_eq!(functions(&recording), [("never".into(), vec![0, 0, 0])]);
    }
}

#[test]
fn chosen_functions_are_shown_beside_marked_ones() {
    for version in pythons_for("calls_marked.py, --lines=unmarked") {
        let _alone = alone();
        let script = script("calls_marked.py");
        let shown = |options: &[&str]| {
            let (recording, output) = trace("marked", options, &version.path, &[&script]);
            let mut names: Vec<_> = functions(&recording)
                .into_iter()
                .map(|(name, _)| name)
                .collect();
            names.sort_unstable();
            (names, text(&output.stderr))
        };
        let (names, said) = shown(&["--lines=unmarked"]);
        assert_eq!(names, ["method", "of_class", "sums", "unmarked"]);
        assert!(!said.contains("only those"), "{said}");
        let (names, said) = shown(&["--lines"]);
        assert_eq!(names, ["method", "of_class", "sums"]);
        assert!(said.contains("marks functions with `@profile`"), "{said}");
    }
}

#[test]
fn sampled_times_are_marked_as_sampled() {
    for version in pythons_for("never_counted.py, cheap") {
        let _alone = alone();
        let script = script("never_counted.py");
        let (_, output) = trace("cheap", &["--lines", "--cheap"], &version.path, &[&script]);
        let said = text(&output.stderr);
        assert!(said.contains("Times: hits are exact"), "{said}");
    }
}
