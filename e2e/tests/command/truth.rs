//! What is said of Python programs is true: their lines and names, what is native, and who waited.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use profundo_model::{Language, LocationKind};
use serde_json::Value;

use crate::command::profundo;
use crate::program::{Program, alone};
use crate::recording::Recording;
use crate::targets::{Python, pythons, scratch, source};

/// A program of the benches' that says what is true, recorded; what it said, and the file.
fn recorded(version: &Python, name: &str, argument: &str) -> (Option<Value>, PathBuf) {
    let target = source(&format!("../../bench/programs/{name}"));
    let file = scratch().join(format!("{name}-3.{}.profundo", version.version.1));
    let program = Program::new(&version.path)
        .with(&[target])
        .with(&[argument]);
    let output = program.command(Some(&file)).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let said = String::from_utf8(output.stdout).unwrap();
    let truth = said.lines().find(|line| line.starts_with('{'));
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
fn lines_are_native_or_they_are_not() {
    let path = source("../../bench/programs/kinds.py");
    let source = fs::read_to_string(&path).unwrap();
    let source: Vec<&str> = source.lines().collect();
    for version in pythons() {
        let _alone = alone();
        let (_, file) = recorded(version, "kinds.py", "0.15");
        let lines = report(&file, "lines");
        let mut met = BTreeMap::from([("# native", 0.0), ("# pure", 0.0)]);
        let files = lines["files"].as_array().unwrap().iter();
        let own = files.filter(|file| file["file"].as_str().unwrap().ends_with("kinds.py"));
        for line in own.flat_map(|file| file["lines"].as_array().unwrap()) {
            let text = source[line["line"].as_u64().unwrap() as usize - 1];
            let share = |kind: &str| line[kind].as_f64().unwrap();
            let (python, native) = (share("self_python_share"), share("self_native_share"));
            let seconds = line["self_seconds"].as_f64().unwrap();
            for (mark, time) in &mut met {
                // A few samples may be anything.
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
fn waiting_for_the_lock_is_what_is_not_work() {
    for version in pythons() {
        let _alone = alone();
        let (truth, file) = recorded(version, "waits.py", "0.6");
        let truth = truth.unwrap();
        let summary = report(&file, "summary");
        let threads = summary["threads"].as_array().unwrap();
        for name in ["left", "right"] {
            let own = |what: &str| truth[name][what].as_f64().unwrap();
            let thread = threads.iter().find(|thread| thread["name"] == name);
            let waited = thread.unwrap()["gil_wait_seconds"].as_f64().unwrap();
            // Who was ready to run may have waited for the lock then, or not.
            let most = own("wall") - own("cpu");
            let least = most - own("delay");
            assert!(
                waited > 0.9 * least - 0.1 && waited < 1.1 * most + 0.1,
                "{:?}: {name} waited {waited}, and should {least} to {most}",
                version.version
            );
            assert!(waited > 0.01, "nobody waits for nobody");
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

/// Whether all calls of `burn` are from lines and functions that call it, at the right columns.
fn check_callers(version: &Python, how: &str) {
    let target = source("callers.py");
    let text = fs::read_to_string(&target).unwrap();
    let text: Vec<&str> = text.lines().collect();
    let program = Program::new(&version.path).with(&[&target]).with(&[how]);
    let file = scratch().join(format!("callers-{how}-3.{}.profundo", version.version.1));
    let output = program.command(Some(&file)).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let recording = Recording::read(&file, Duration::ZERO, Duration::ZERO);
    let profile = &recording.profile;
    let mut met = BTreeMap::<usize, usize>::new();
    let mut made = BTreeMap::<String, usize>::new();
    for sample in &profile.samples {
        let locations: Vec<_> = profile.stacks.locations(sample.stack).collect();
        let python: Vec<_> = (locations.iter())
            .flat_map(|&location| {
                let location = profile.locations.get(location);
                let column = match location.kind {
                    LocationKind::Python { column, .. } => column,
                    _ => 0,
                };
                location.frames.iter().map(move |&frame| (frame, column))
            })
            .filter(|&(frame, _)| profile.frames.get(frame).language == Language::Python)
            .collect();
        let name = |at: usize| profile.function_name(python[at].0);
        let Some(burn) = (0..python.len()).find(|&at| name(at) == "burn") else {
            continue;
        };
        let (caller, column) = python[burn + 1];
        let line = profile.frames.get(caller).line as usize;
        if !profile.file_path(caller).ends_with("callers.py") {
            // Made by `exec` or `eval`: the function says which line it is on.
            let is_right = match name(burn + 1).strip_prefix("made_") {
                Some(number) => line == number.parse::<usize>().unwrap() + 2,
                // Of several in one file each has its line behind its name before 3.11.
                None => name(burn + 1).starts_with("<module>") && line == 1,
            };
            assert!(
                is_right,
                "{:?}: {} at {line}",
                version.version,
                name(burn + 1)
            );
            *made.entry(name(burn + 1).to_owned()).or_default() += 1;
            continue;
        }
        let what = || format!("{:?} {how}: {} at {line}", version.version, name(burn + 1));
        let wanted = marked(text[line - 1], version.version.1 >= 12);
        let wanted = wanted.unwrap_or_else(|| panic!("{}: {}", what(), text[line - 1]));
        let found = name(burn + 1);
        if version.has_columns() {
            assert_eq!(found, wanted, "{}", what());
            // Columns count bytes. A call by something else, as of a `key`, stands elsewhere.
            let at = text[line - 1].get(usize::from(column).wrapping_sub(1)..);
            assert!(
                at.is_some_and(|at| at.starts_with("burn(")),
                "{}: {at:?}",
                what()
            );
        } else {
            // Before 3.11 names come from the file's outline, in which an expression within an expression is not seen.
            let split = |name: &str| {
                let at = name.find(['<']).filter(|_| name.ends_with('>'));
                let head = name[..at.unwrap_or(name.len())].to_owned();
                (head, name.rsplit('.').next().map(str::to_owned))
            };
            assert_eq!(split(found), split(wanted), "{}", what());
        }
        *met.entry(line).or_default() += 1;
    }
    let marks = text.iter().filter(|line| marked(line, true).is_some());
    let marks = marks.count();
    // Each of them runs for some samples' time; on a busy machine a few may be missed.
    let missed = marks - met.len();
    assert!(
        missed * 10 <= marks && made.len() >= 4,
        "{missed} of {marks}: {met:?}, {made:?}"
    );
    recording.whole(99.5);
    let _ = fs::remove_file(file);
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
