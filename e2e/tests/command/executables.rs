//! Executables of every kind, and the runtimes of other languages.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;

use profundo::model::Engine;
use profundo_testing::{skip, tool};

use crate::program::{Outcome, Program};
use crate::recording::Recording;
use crate::targets::{c, cpp, go, rust, scratch, source};

fn assert_known_parts(recording: &Recording) {
    let parts = [
        ("six_parts", 60.0),
        ("three_parts", 30.0),
        ("one_part", 10.0),
    ];
    recording.assert_parts(&parts, 5.0).assert_sound();
}

#[test]
fn an_ordinary_program() {
    if let Some(target) = c("hot.c", &[]) {
        assert_known_parts(&Program::new(target).run_both_ways());
    }
}

#[test]
fn without_a_frame_pointer_and_without_debug_information() {
    if let Some(target) = c("hot.c", &["-O2", "-g0", "-fomit-frame-pointer", "-no-pie"]) {
        assert_known_parts(&Program::new(target).run_both_ways());
    }
}

#[test]
fn stripped() {
    // Without names, the time is still sampled.
    if let Some(target) = c("hot.c", &["-s"]) {
        Program::new(target).run_both_ways().assert_sound();
    }
}

/// A program without a loader ignores the variable, but has it: it may start others that have one.
fn without_preload(mut outcome: Outcome) -> Outcome {
    outcome.stdout = outcome
        .stdout
        .replace("with LD_PRELOAD", "without LD_PRELOAD");
    outcome
}

#[test]
fn linked_statically() {
    if let Some(target) = c("hot.c", &["-static"]) {
        let (recording, _) = Program::new(target).run_both_ways_with(without_preload);
        recording
            .assert_share("six_parts", 50.0)
            .assert_sampled(90.0);
    }
}

/// A note says that the engine needs an agent, and not that the kernel refuses it.
#[test]
fn linked_statically_with_an_engine_that_needs_an_agent() {
    if let Some(target) = c("hot.c", &["-static"]) {
        let program = Program::new(target).options(&["--engine", "cpu-timer"]);
        let (recording, _) = program.run_both_ways_with(without_preload);
        let notes = &recording.profile.meta.notes;
        let said = "the engine cpu-timer samples by its agent alone";
        assert!(notes.iter().any(|note| note.contains(said)), "{notes:?}");
    }
}

#[test]
fn linked_statically_at_no_fixed_place() {
    if let Some(target) = c("hot.c", &["-static-pie"]) {
        let (recording, _) = Program::new(target).run_both_ways_with(without_preload);
        recording
            .assert_share("six_parts", 50.0)
            .assert_sampled(90.0);
    }
}

#[test]
fn with_the_rights_of_another_user() {
    let Some(target) = c("hot.c", &[]) else {
        return;
    };
    // SAFETY: asks for a number.
    if unsafe { libc::geteuid() } != 0 {
        skip("only root can make a file of another user's");
        return;
    }
    // The folder of the tests may be mounted without such rights, and closed to others.
    let other = Path::new("/var/tmp").join(format!("profundo-e2e-{}", std::process::id()));
    fs::copy(&target, &other).unwrap();
    chown(&other, Some(65534), Some(65534)).unwrap();
    fs::set_permissions(&other, fs::Permissions::from_mode(0o4755)).unwrap();
    let program = Program::new(&other);
    if program.plain().stdout.contains("users 1 1") {
        skip("/var/tmp gives no file the rights of its owner");
    } else {
        let recording = program.run_both_ways();
        recording.assert_processes("profundo-e2e", 1);
        recording.assert_share("six_parts", 50.0);
    }
    fs::remove_file(&other).unwrap();
}

#[test]
fn libraries_that_come_and_go() {
    let flags = ["-shared", "-fPIC"];
    let (Some(host), Some(plugin)) = (c("dlopen.c", &[]), c("plugin.c", &flags)) else {
        return;
    };
    let recording = Program::new(host).with(&[plugin]).run_both_ways();
    recording
        .assert_share("burn_in_plugin", 70.0)
        .assert_sampled(97.0)
        .assert_whole(95.0);
}

/// Runs a program that works in each of many libraries for a moment, from the first instant on.
fn check_fresh_libraries(what: &str) {
    /// Each library works for 5 ms, so that most samples come before it can be listed.
    const LIBRARIES: usize = 60;
    let flags = ["-shared", "-fPIC"];
    let (Some(host), Some(plugin)) = (c("fresh.c", &[]), c("plugin.c", &flags)) else {
        return;
    };
    let folder = scratch().join(format!("fresh.{what}"));
    fs::create_dir_all(&folder).unwrap();
    let copy = |number: usize| {
        let copy = folder.join(format!("library{number}.so"));
        fs::copy(&plugin, &copy).unwrap();
        copy.into_os_string()
    };
    let mut words = vec![what.into()];
    words.extend((0..LIBRARIES).map(copy));
    let recording = Program::new(host).with(&words).run_both_ways();
    fs::remove_dir_all(&folder).unwrap();
    recording
        .assert_share("burn_in_plugin", 50.0)
        .assert_sampled(90.0);
    let profile = &recording.profile;
    if what == "close" && profile.meta.engine != Engine::PerfSignal {
        skip("no event reports libraries that have come and gone");
        return;
    }
    recording.assert_whole(99.9);
    let (mut inside, mut libraries) = (0, BTreeSet::new());
    for sample in &profile.samples {
        let names = recording.names(sample);
        if names.contains(&"burn_in_plugin") {
            let has_callers = ["plugin", "main"].iter().all(|name| names.contains(name));
            assert!(has_callers, "{names:?}");
            inside += 1;
            let modules = profile.stacks.locations(sample.stack);
            let modules = modules.filter_map(|at| profile.locations.get(at).module);
            let paths = modules.map(|at| profile.strings.get(profile.modules.get(at).path));
            libraries.extend(paths.filter(|path| path.contains("library")));
        }
    }
    assert!(inside > LIBRARIES, "{inside} samples");
    // Each has its own time, though another one lay at the same place before.
    assert!(libraries.len() > LIBRARIES / 2, "{libraries:?}");
}

#[test]
fn libraries_that_work_at_once() {
    check_fresh_libraries("keep");
}

#[test]
fn libraries_that_work_at_once_and_are_gone() {
    check_fresh_libraries("close");
}

#[test]
fn cpp_with_optimisation() {
    if let Some(target) = cpp("exceptions.cpp", &["-O2"]) {
        Program::new(target).run_both_ways().assert_sampled(97.0);
    }
}

#[test]
fn rust_with_panics() {
    if let Some(target) = rust("hot.rs") {
        let recording = Program::new(target).run_both_ways();
        let short = |name: &str| name.contains("burn_in_rust");
        let share = recording
            .seconds_where(|sample| recording.names(sample).iter().any(|name| short(name)));
        assert!(share > 0.6, "{}", recording.outline());
        assert!(
            recording.threads().contains("worker-1"),
            "{}",
            recording.outline()
        );
    }
}

fn check_go(with_c: bool) {
    if tool("go").is_none() {
        return;
    }
    if let Some(target) = go("hot.go", with_c) {
        let recording = Program::new(target).run_both_ways();
        recording.assert_share("main.burnInGoroutine", 60.0);
    }
}

#[test]
fn go_linked_with_the_c_library() {
    check_go(true);
}

#[test]
fn go_linked_with_nothing() {
    check_go(false);
}

#[test]
fn node_with_workers_and_children() {
    if let Some(node) = tool("node") {
        let program = Program::new(node).with(&["--perf-basic-prof".into(), source("hot.js")]);
        let (recording, _) = program.slack(4.0).run_both_ways_with(|mut outcome| {
            // Their names and sizes have the numbers of processes in them.
            outcome.files.clear();
            outcome
        });
        recording.assert_one_root().assert_processes("child", 1);
        assert!(recording.seconds() > 0.6, "{}", recording.outline());
        let _ = scratch();
    }
}
