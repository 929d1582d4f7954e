//! Generated code has its names, by each of the interfaces for them, also where an address is used
//! again.

use std::fs;
use std::process::Command;

use profundo_model::{Language, State};
use profundo_testing::{Python, pythons, skip, tool};

use crate::program::{Outcome, Program};
use crate::recording::Recording;
use crate::targets::{c, python_with, source};

/// The outcome without its files, which have the numbers of processes in their names.
fn without_files(mut outcome: Outcome) -> Outcome {
    outcome.files.clear();
    outcome
}

/// The language, file and line of each frame of this function.
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

/// Records the program that publishes its names in this way.
fn recorded(interface: &str) -> Option<Recording> {
    let target = c("generated.c", &["-fno-omit-frame-pointer"])?;
    let program = Program::new(target).with(&[interface]).slack(2.0);
    let (recording, _) = program.run_both_ways_with(without_files);
    recording
        .assert_parts(&[("early", 40.0), ("late", 60.0)], 5.0)
        .assert_share("outer", 90.0)
        .assert_share("main", 90.0)
        .assert_whole(95.0);
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
    recorded("map");
}

#[test]
fn a_jitdump_with_lines() {
    if let Some(recording) = recorded("dump") {
        let found = frames_of(&recording, "late");
        let expected = (Language::Generated, "/src/made.code".to_owned(), 11);
        assert!(found.contains(&expected), "{found:?}");
    }
}

#[test]
fn the_list_for_debuggers() {
    recorded("gdb");
}

#[test]
fn node_by_both_of_its_ways() {
    let Some(node) = tool("node") else { return };
    for way in ["--perf-basic-prof", "--perf-prof"] {
        // Functions that are inlined or interpreted have no code of their own.
        let arguments = [
            way.into(),
            "--no-turbo-inlining".into(),
            "--always-sparkplug".into(),
            source("hot_names.js"),
        ];
        let program = Program::new(&node).with(&arguments).slack(4.0);
        let (recording, _) = program.run_both_ways_with(without_files);
        recording
            .assert_share("burn", 60.0)
            .assert_share("sixParts", 60.0)
            .assert_share("threeParts", 20.0)
            .assert_whole(95.0);
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
fn numba_without_an_option() {
    let Some(python) = python_with("numba") else {
        return;
    };
    let program = Program::new(&python.path).with(&[source("numba_loop.py")]);
    let recording = program.slack(20.0).run_both_ways();
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
    // Compiling takes most of the time.
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
        let modes: &[&str] = match python.version >= (3, 13) {
            true => &["perf", "perf_jit"],
            false => &["perf"],
        };
        for mode in modes {
            if !has_trampolines(python, mode) {
                skip("this Python was built without trampolines");
                continue;
            }
            let arguments = [
                "-X".into(),
                (*mode).into(),
                source("recursion.py").into_os_string(),
                // Deeper ones are cut.
                "200".into(),
            ];
            let program = Program::new(&python.path).with(&arguments).slack(4.0);
            let (recording, _) = program.run_both_ways_with(without_files);
            recording.assert_whole(97.0);
            check_trampolines(&recording, mode);
        }
    }
}

fn has_trampolines(python: &Python, mode: &str) -> bool {
    const TEST: &str = "import sys; sys.exit(not sys.is_stack_trampoline_active())";
    Command::new(&python.path)
        .args(["-X", mode, "-c", TEST])
        .output()
        .is_ok_and(|output| output.status.success())
}

/// No Python frame comes from a trampoline, which has no line, and no trampoline follows another.
fn check_trampolines(recording: &Recording, mode: &str) {
    let profile = &recording.profile;
    let without_line = profile.frames.iter().filter(|frame| {
        let path = profile.strings.get(profile.files.get(frame.file).path);
        frame.language == Language::Python && path.ends_with("recursion.py") && frame.line == 0
    });
    assert_eq!(without_line.count(), 0, "{mode}: {}", recording.outline());
    let in_a_row = profile.samples.iter().map(|sample| {
        let names = recording.names(sample);
        let pairs = names.windows(2);
        pairs
            .filter(|pair| *pair == ["py_trampoline_evaluator"; 2])
            .count()
    });
    assert_eq!(
        in_a_row.sum::<usize>(),
        0,
        "{mode}: {}",
        recording.outline()
    );
}

#[test]
fn a_perf_map_for_perf() {
    for python in pythons() {
        let program = Program::new(&python.path)
            .with(&[
                // With a JIT, the interpreter warns that these maps turn it off.
                "-W",
                "ignore",
                "-c",
                "def in_the_map(): pass\nfor _ in range(100_000): in_the_map()",
            ])
            .options(&["--perf-map"]);
        let (recording, _) = program.slack(4.0).run_both_ways_with(without_files);
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
fn kernel_functions_are_above_their_callers() {
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
    let recording = program.run_both_ways();
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
