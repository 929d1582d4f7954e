//! Figures of Python programs against ground truth: lines and names, native time, and time waited
//! for the interpreter's lock.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use profundo_model::{Language, LocationKind, Profile, Sample};
use profundo_testing::{Python, profundo, pythons, skip};
use serde_json::Value;

use crate::program::{Program, alone};
use crate::recording::Recording;
use crate::targets::{scratch, source};

/// Records a program of the benches. Returns the truth that it prints, and the recording's file.
fn recorded(version: &Python, name: &str, argument: &str) -> (Option<Value>, PathBuf) {
    let target = source(&format!("../../bench/programs/{name}"));
    let file = scratch().join(format!("{name}-3.{}.profundo", version.version.1));
    let program = Program::new(&version.path)
        .with(&[target])
        .with(&[argument]);
    let output = program.command(Some(&file)).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let printed = String::from_utf8(output.stdout).unwrap();
    let truth = printed.lines().find(|line| line.starts_with('{'));
    (truth.map(|line| serde_json::from_str(line).unwrap()), file)
}

fn report(file: &Path, which: &str) -> Value {
    let mut command = Command::new(profundo());
    let output = command
        .args(["report", "--json"])
        .arg(file)
        .arg(which)
        .output();
    let output = output.unwrap();
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn lines_are_native_or_python() {
    let path = source("../../bench/programs/kinds.py");
    let source = fs::read_to_string(&path).unwrap();
    let source: Vec<&str> = source.lines().collect();
    for version in pythons().iter().filter(|python| !python.is_debug()) {
        let _alone = alone();
        let (_, file) = recorded(version, "kinds.py", "0.15");
        let lines = report(&file, "lines");
        let mut met = BTreeMap::from([("# native", 0.0), ("# pure", 0.0)]);
        let files = lines["files"].as_array().unwrap().iter();
        let of_program = files.filter(|file| file["file"].as_str().unwrap().ends_with("kinds.py"));
        for line in of_program.flat_map(|file| file["lines"].as_array().unwrap()) {
            let text = source[line["line"].as_u64().unwrap() as usize - 1];
            let share = |kind: &str| line[kind].as_f64().unwrap();
            let (python, native) = (share("self_python_share"), share("self_native_share"));
            let seconds = line["self_seconds"].as_f64().unwrap();
            for (mark, time) in &mut met {
                // Shares of a few samples are chance.
                if !text.ends_with(mark) || seconds < 0.04 {
                    continue;
                }
                *time += seconds;
                let wrong = if *mark == "# native" { python } else { native };
                let wrong = 100.0 * wrong / (python + native);
                assert!(
                    wrong <= 12.0,
                    "{:?}: {wrong:.1} % of {text:?}",
                    version.version
                );
            }
        }
        assert!(met["# native"] > 0.2 && met["# pure"] > 0.1, "{met:?}");
        let _ = fs::remove_file(file);
    }
}

#[test]
fn waiting_for_the_lock_is_time_without_work() {
    for version in pythons() {
        if !version.has_lock() {
            skip("this Python has no lock of the interpreter");
            continue;
        }
        let _alone = alone();
        let (truth, file) = recorded(version, "waits.py", "0.6");
        let truth = truth.unwrap();
        let summary = report(&file, "summary");
        let threads = summary["threads"].as_array().unwrap();
        for name in ["left", "right"] {
            let known = |what: &str| truth[name][what].as_f64().unwrap();
            let thread = threads.iter().find(|thread| thread["name"] == name);
            let waited = thread.unwrap()["gil_wait_seconds"].as_f64().unwrap();
            // A thread that waited for a CPU may have waited for the lock at the same time, or not.
            let most = known("wall") - known("cpu");
            let least = most - known("delay");
            assert!(
                waited > 0.9 * least - 0.1 && waited < 1.1 * most + 0.1,
                "{:?}: {name} waited {waited}, and should {least} to {most}",
                version.version
            );
            assert!(waited > 0.01, "{name} did not wait");
        }
        let _ = fs::remove_file(file);
    }
}

/// A line of the target's that calls `burn`, and the functions that it may be in.
fn marked(line: &str, has_inlined_comprehensions: bool) -> Option<&str> {
    let (_, names) = line.split_once("  # ")?;
    Some(match names.split_once(" | ") {
        Some((_, since)) if has_inlined_comprehensions => since,
        Some((before, _)) => before,
        None => names,
    })
}

/// A Python frame of a stack, with the column of its call, or 0.
#[derive(Clone, Copy)]
struct PythonFrame<'a> {
    name: &'a str,
    file: &'a str,
    line: usize,
    column: u16,
}

/// The Python frames of a sample, innermost first.
fn python_frames<'a>(profile: &'a Profile, sample: &Sample) -> Vec<PythonFrame<'a>> {
    let locations = profile.stacks.locations(sample.stack);
    let frames = locations.flat_map(|location| {
        let location = profile.locations.get(location);
        let column = match location.kind {
            LocationKind::Python { column, .. } => column,
            _ => 0,
        };
        location.frames.iter().map(move |&frame| (frame, column))
    });
    let python = frames
        .filter(|&(frame, _)| profile.frames.get(frame).language == Language::Python)
        .map(|(frame, column)| PythonFrame {
            name: profile.function_name(frame),
            file: profile.file_path(frame),
            line: profile.frames.get(frame).line as usize,
            column,
        });
    python.collect()
}

/// Asserts that all calls of `burn` are from lines and functions that call it, at the right
/// columns.
fn check_callers(version: &Python, how: &str) {
    let target = source("callers.py");
    let text = fs::read_to_string(&target).unwrap();
    let text: Vec<&str> = text.lines().collect();
    let program = Program::new(&version.path).with(&[&target]).with(&[how]);
    let file = scratch().join(format!("callers-{how}-3.{}.profundo", version.version.1));
    let output = program.command(Some(&file)).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let recording = Recording::read(&file, Duration::ZERO, Duration::ZERO);
    let mut met = BTreeSet::new();
    let mut generated = BTreeSet::new();
    for sample in &recording.profile.samples {
        let frames = python_frames(&recording.profile, sample);
        let Some(burn) = frames.iter().position(|frame| frame.name == "burn") else {
            continue;
        };
        let caller = frames[burn + 1];
        if caller.file.ends_with("callers.py") {
            check_caller(version, how, caller, text[caller.line - 1]);
            met.insert(caller.line);
        } else {
            check_generated_caller(version, caller);
            generated.insert(caller.name.to_owned());
        }
    }
    let marks = text.iter().filter(|line| marked(line, true).is_some());
    let marks = marks.count();
    // Each of them runs for some samples' time; on a busy machine a few may be missed.
    let missed = marks - met.len();
    assert!(
        missed * 10 <= marks && generated.len() >= 4,
        "{missed} of {marks}: {met:?}, {generated:?}"
    );
    recording.assert_whole(99.5);
    let _ = fs::remove_file(file);
}

/// A caller in code of `exec` or `eval`, whose function has the line in its name.
fn check_generated_caller(version: &Python, caller: PythonFrame<'_>) {
    let PythonFrame { name, line, .. } = caller;
    let is_right = match name.strip_prefix("made_") {
        Some(number) => line == number.parse::<usize>().unwrap() + 2,
        // Before 3.11 the names of several in one file end in their lines.
        None => name.starts_with("<module>") && line == 1,
    };
    assert!(is_right, "{:?}: {name} at {line}", version.version);
}

/// A caller in the target's file, on a line with this text.
fn check_caller(version: &Python, how: &str, caller: PythonFrame<'_>, text: &str) {
    let PythonFrame {
        name, line, column, ..
    } = caller;
    let case = format!("{:?} {how}: {name} at {line}", version.version);
    let wanted = marked(text, version.version.1 >= 12);
    let wanted = wanted.unwrap_or_else(|| panic!("{case}: {text}"));
    if version.has_columns() {
        assert_eq!(name, wanted, "{case}");
        // Columns count bytes. A call by something else, as of a `key`, is in another column.
        let at = text.get(usize::from(column).wrapping_sub(1)..);
        assert!(
            at.is_some_and(|at| at.starts_with("burn(")),
            "{case}: {at:?}"
        );
    } else {
        // Before 3.11 names come from the file's outline, which has no expressions within
        // expressions.
        let split = |name: &str| {
            let at = name.find(['<']).filter(|_| name.ends_with('>'));
            let head = name[..at.unwrap_or(name.len())].to_owned();
            (head, name.rsplit('.').next().map(str::to_owned))
        };
        assert_eq!(split(name), split(wanted), "{case}");
    }
}

#[test]
fn callers_have_their_lines_and_names_on_every_version() {
    for version in pythons() {
        let _alone = alone();
        check_callers(version, "");
    }
}

#[test]
fn callers_have_their_lines_and_names_below_hooks() {
    for version in pythons() {
        for how in ["profile", "trace", "both"] {
            let _alone = alone();
            check_callers(version, how);
        }
    }
}
