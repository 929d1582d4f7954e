//! Code that programs make while they run has its names, by each of the ways to tell of it, also
//! where a place is used again.

use std::fs;
use std::process::Command;

use profundo_e2e::sys::skip;
use profundo_model::{Language, State};

use crate::program::{Outcome, Program};
use crate::recording::Recording;
use crate::targets::{c, python_with, pythons, source, tool};

/// Files that have the numbers of processes in their names.
fn without_files(mut outcome: Outcome) -> Outcome {
    outcome.files.clear();
    outcome
}

/// The languages and files of all frames of a name.
fn frames_of(recording: &Recording, function: &str) -> Vec<(Language, String, u32)> {
    let profile = &recording.profile;
    let frames = profile.frames.iter();
    frames
        .filter(|frame| profile.strings.get(frame.function) == function)
        .map(|frame| {
            let path = profile.files.get(frame.file).path;
            let path = profile.strings.get(path).to_owned();
            (frame.language, path, frame.line)
        })
        .collect()
}

fn made_by(way: &str) -> Option<Recording> {
    let target = c("generated.c", &["-fno-omit-frame-pointer"])?;
    let program = Program::new(target).with(&[way]).slack(2.0);
    let (recording, _) = program.same_with(without_files);
    recording
        .parts(&[("early", 40.0), ("late", 60.0)], 5.0)
        .hot("outer", 90.0)
        .hot("main", 90.0)
        .whole(95.0);
    let order = ["outer", "burn", "main"];
    let is_in_order = recording.seconds_where(|sample| {
        let names = recording.names(sample);
        let callers = names.get(1..4).unwrap_or_default();
        matches!(names.first(), Some(&("early" | "late"))) && callers == order
    });
    assert!(
        is_in_order > 0.4 * recording.seconds(),
        "{}",
        recording.outline()
    );
    let found = frames_of(&recording, "late");
    assert!(
        found.iter().all(|frame| frame.0 == Language::Generated),
        "{found:?}"
    );
    Some(recording)
}

#[test]
fn a_perf_map() {
    made_by("map");
}

#[test]
fn a_jitdump_with_lines() {
    if let Some(recording) = made_by("dump") {
        let found = frames_of(&recording, "late");
        let expected = (Language::Generated, "/src/made.code".to_owned(), 11);
        assert!(found.contains(&expected), "{found:?}");
    }
}

#[test]
fn the_list_for_debuggers() {
    made_by("gdb");
}

#[test]
fn node_by_both_of_its_ways() {
    let Some(node) = tool("node") else { return };
    for way in ["--perf-basic-prof", "--perf-prof"] {
        // Inlined, or interpreted, they would have no code of their own.
        let arguments = [
            way.into(),
            "--no-turbo-inlining".into(),
            "--always-sparkplug".into(),
            source("hot_names.js"),
        ];
        let program = Program::new(&node).with(&arguments).slack(4.0);
        let (recording, _) = program.same_with(without_files);
        recording
            .hot("burn", 60.0)
            .hot("sixParts", 60.0)
            .hot("threeParts", 20.0)
            .whole(95.0);
        let found = frames_of(&recording, "burn");
        let file = source("hot_names.js").to_string_lossy().into_owned();
        assert!(!found.is_empty(), "{}", recording.outline());
        for (language, path, line) in &found {
            assert_eq!((*language, path), (Language::JavaScript, &file), "{way}");
            let has_lines = way == "--perf-prof";
            assert!(has_lines || *line == 0, "{way}: {line}");
        }
        // The loop of `burn`.
        let has_loop = found.iter().any(|frame| frame.2 == 5);
        assert_eq!(has_loop, way == "--perf-prof", "{found:?}");
    }
}

#[test]
fn numba_without_being_asked() {
    let Some(python) = python_with("numba") else {
        return;
    };
    let program = Program::new(&python.path).with(&[source("numba_loop.py")]);
    let recording = program.slack(20.0).same();
    let name = "__main__::compiled_sum";
    let found = frames_of(&recording, name);
    let file = source("numba_loop.py").to_string_lossy().into_owned();
    // The loop and the sum in it.
    let is_loop = |line: u32| (10..=11).contains(&line);
    assert!(
        found
            .iter()
            .any(|frame| frame.0 == Language::Generated && frame.1 == file && is_loop(frame.2)),
        "{found:?}; {}",
        recording.outline()
    );
    // Compiling takes most of it.
    assert!(recording.share(name) > 3.0, "{}", recording.outline());
}

#[test]
fn trampolines_of_python_are_no_frames_of_their_own() {
    let new: Vec<_> = pythons()
        .iter()
        .filter(|python| python.version >= (3, 12))
        .collect();
    if new.is_empty() {
        skip("no Python here has trampolines for perf");
    }
    for python in new {
        let ways: &[&str] = match python.version >= (3, 13) {
            true => &["perf", "perf_jit"],
            false => &["perf"],
        };
        for way in ways {
            let has_them = Command::new(&python.path)
                .args([
                    "-X",
                    way,
                    "-c",
                    "import sys; sys.exit(not sys.is_stack_trampoline_active())",
                ])
                .output()
                .is_ok_and(|output| output.status.success());
            if !has_them {
                skip("this Python was built without trampolines");
                continue;
            }
            let arguments = [
                "-X".into(),
                (*way).into(),
                source("recursion.py").into_os_string(),
            ];
            let program = Program::new(&python.path).with(&arguments).slack(4.0);
            let (recording, _) = program.same_with(without_files);
            recording.whole(97.0);
            let python_frames = recording.profile.frames.iter();
            let doubled = python_frames
                .filter(|frame| {
                    let path = recording.profile.files.get(frame.file).path;
                    let path = recording.profile.strings.get(path);
                    frame.language == Language::Python && path.ends_with("recursion.py")
                })
                .filter(|frame| frame.line == 0);
            assert_eq!(doubled.count(), 0, "{way}: {}", recording.outline());
            let kinds = recording
                .profile
                .samples
                .iter()
                .map(|sample| recording.names(sample));
            let in_a_row = kinds
                .flat_map(|names| {
                    names
                        .windows(2)
                        .map(|two| two == ["py_trampoline_evaluator"; 2])
                        .collect::<Vec<_>>()
                })
                .filter(|&is| is)
                .count();
            assert_eq!(in_a_row, 0, "{way}: {}", recording.outline());
        }
    }
}

#[test]
fn a_perf_map_for_perf() {
    for python in pythons() {
        let program = Program::new(&python.path)
            .with(&[
                "-c",
                "def in_the_map(): pass\nfor _ in range(100_000): in_the_map()",
            ])
            .options(&["--perf-map"]);
        let (recording, _) = program.slack(4.0).same_with(without_files);
        let pid = recording.profile.processes[0].pid;
        let map = format!("/tmp/perf-{pid}.map");
        let text = fs::read_to_string(&map).unwrap_or_default();
        let _ = fs::remove_file(&map);
        let notes = recording.profile.meta.notes.join("\n");
        match python.version < (3, 12) {
            true => assert!(
                text.is_empty() && notes.contains("no perf map was written by CPython 3."),
                "{notes}"
            ),
            false => {
                assert!(
                    text.contains(" py::in_the_map:<string>\n"),
                    "{}: {text}",
                    python.path.display()
                );
                assert!(!notes.contains("no perf map"), "{notes}");
            }
        }
    }
}

#[test]
fn the_kernel_above_who_calls_it() {
    let paranoid = fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap_or_default();
    let symbols = fs::read_to_string("/proc/kallsyms").unwrap_or_default();
    // SAFETY: asks for a number.
    let is_root = unsafe { libc::geteuid() } == 0;
    let is_permitted = is_root || paranoid.trim().parse().is_ok_and(|level: i32| level <= 1);
    let has_names = symbols
        .lines()
        .next()
        .is_some_and(|line| !line.starts_with("0000000000000000"));
    let Some(dd) = tool("dd") else { return };
    if !is_permitted || !has_names {
        skip("this user may not see the kernel");
        return;
    }
    let program = Program::new(dd)
        .with(&[
            "if=/dev/urandom",
            "of=/dev/null",
            "bs=1M",
            "count=100",
            "status=none",
        ])
        .options(&["--engine", "perf-ring"]);
    let recording = program.same();
    let is_kernels = |name: &&str| name.starts_with("[kernel] ");
    let in_kernel = |sample: &profundo_model::Sample| {
        let names = recording.names(sample);
        let kernels = names.iter().take_while(|name| is_kernels(name)).count();
        let below = names.get(kernels..).unwrap_or_default();
        sample.state == State::System
            && kernels > 1
            && !below.is_empty()
            && !below.iter().any(is_kernels)
    };
    let share = recording.seconds_where(in_kernel) / recording.seconds();
    assert!(share > 0.5, "{share}: {}", recording.outline());
}
