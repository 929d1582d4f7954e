//! Programs into which the agent cannot be loaded, must not be, or only behind something else:
//! sanitizers, other machines, emulators. They must run as they do without the
//! profiler.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use profundo_testing::{profundo, skip, tool};

use crate::program::{Outcome, Program};
use crate::recording::Recording;
use crate::targets::{self, c, pythons_for, scratch};

const SANITIZED: &str = "sanitized.c";

/// A program by this compiler. The compiler's name is among the flags, because built programs are
/// kept by their flags.
fn by(compiler: &str, name: &str, flags: &[&str]) -> Option<PathBuf> {
    let mark = format!("-DBY_{}", compiler.replace('-', "_"));
    targets::by(compiler, name, &[&[&*mark], flags].concat())
}

/// The outcome without numbers, addresses and times, and without the frames that a sanitizer
/// guesses beyond the end of a stack.
fn comparable(outcome: Outcome) -> Outcome {
    let lines = outcome.stderr.lines();
    let lines = lines.filter(|line| !line.contains("(<unknown module>)"));
    let mut stderr = String::new();
    for line in lines {
        let mut words = line.split(|c: char| !c.is_ascii_alphanumeric());
        // A word with a digit in it may differ: a number, an address, an offset.
        let words = words.by_ref().filter(|word| {
            let is_number = word.starts_with(|c: char| c.is_ascii_digit());
            !is_number && !word.is_empty()
        });
        stderr.push_str(&words.collect::<Vec<_>>().join(" "));
        stderr.push('\n');
    }
    Outcome { stderr, ..outcome }
}

#[track_caller]
fn has_note(recording: &Recording, part: &str) {
    let notes = &recording.profile.meta.notes;
    assert!(notes.iter().any(|note| note.contains(part)), "{notes:?}");
}

#[track_caller]
fn assert_stderr_has(outcome: &Outcome, part: &str) {
    assert!(outcome.stderr.contains(part), "{}", outcome.stderr);
}

/// Runs a program with a mistake in it, and asserts that the sanitizer reports it.
#[track_caller]
fn run_with_mistake(target: &Path, mistake: &str, report: &str, options: &[&str]) -> Recording {
    let program = Program::new(target).with(&[mistake]).options(options);
    let (recording, outcome) = program.run_both_ways_with(comparable);
    assert_stderr_has(&outcome, report);
    recording.assert_share("burn_sanitized", 20.0);
    recording
}

#[test]
fn the_runtime_of_a_sanitizer_comes_before_the_agent() {
    for (flag, mistake, report) in [
        ("-fsanitize=address", "overflow", "heap buffer overflow"),
        ("-fsanitize=thread", "race", "data race"),
        ("-fsanitize=leak", "leak", "detected memory leaks"),
    ] {
        let Some(target) = by("gcc", SANITIZED, &["-g", "-O1", "-pthread", flag]) else {
            return;
        };
        for options in [&[][..], &["--memory"], &["--memory=exact"]] {
            let recording = run_with_mistake(&target, mistake, report, options);
            has_note(&recording, "behind the runtime of a sanitizer");
            if !options.is_empty() {
                has_note(&recording, "allocations are not recorded");
            }
        }
    }
}

#[test]
fn a_sanitizer_that_replaces_nothing_changes_nothing() {
    for compiler in ["gcc", "clang"] {
        let flags = ["-g", "-O1", "-pthread", "-fsanitize=undefined"];
        let Some(target) = by(compiler, SANITIZED, &flags) else {
            return;
        };
        let recording = run_with_mistake(&target, "undefined", "shift exponent", &["--memory"]);
        assert!(recording.profile.meta.notes.is_empty());
    }
}

#[test]
fn nothing_is_loaded_into_a_program_that_has_a_runtime_in_it() {
    for (compiler, flags, mistake, report) in [
        (
            "clang",
            &["-fsanitize=address"][..],
            "overflow",
            "heap buffer overflow",
        ),
        ("clang", &["-fsanitize=thread"], "race", "data race"),
        (
            "clang",
            &["-fsanitize=memory"],
            "uninitialised",
            "use of uninitialized value",
        ),
        (
            "gcc",
            &["-fsanitize=thread", "-static-libtsan"],
            "race",
            "data race",
        ),
    ] {
        let flags = [&["-g", "-O1", "-pthread"], flags].concat();
        let Some(target) = by(compiler, SANITIZED, &flags) else {
            return;
        };
        let recording = run_with_mistake(&target, mistake, report, &["--memory"]);
        has_note(&recording, "have the runtime of a sanitizer in them");
    }
}

#[test]
fn a_program_with_a_runtime_in_it_has_its_time_if_it_is_reaped_at_once() {
    let flags = ["-g", "-O1", "-pthread", "-fsanitize=address"];
    let Some(target) = by("clang", SANITIZED, &flags) else {
        return;
    };
    for version in pythons_for("reaped") {
        let calls = "import subprocess, sys; sys.exit(subprocess.call([sys.argv[1], 'leak']))";
        let program = Program::new(&version.path).with(&["-c", calls]);
        let program = program.with(&[&target]).slack(2.0);
        // The symbolizer inherits the clocks, so only the samples have the time of its parent.
        let (recording, _) = program.run_both_ways_with(comparable);
        let profile = &recording.profile;
        let name = target.display().to_string();
        let mut processes = profile.processes.iter();
        let process = processes
            .find(|process| (profile.strings.get(process.command)).starts_with(&name))
            .unwrap();
        let used = process.user.unwrap_or_default().0 + process.system.unwrap_or_default().0;
        assert!(used > 50_000_000, "{used} ns; {}", recording.outline());
    }
}

#[test]
fn a_runtime_is_seen_in_a_program_without_symbols() {
    let flags = ["-pthread", "-fsanitize=address", "-static-libasan", "-s"];
    let Some(target) = by("gcc", SANITIZED, &flags) else {
        return;
    };
    let program = Program::new(target).with(&["overflow"]);
    let (recording, outcome) = program
        .options(&["--memory"])
        .run_both_ways_with(comparable);
    assert_stderr_has(&outcome, "heap buffer overflow");
    has_note(&recording, "have the runtime of a sanitizer in them");
}

#[test]
fn nothing_is_loaded_into_a_program_with_hwasan() {
    let flags = [
        "-g",
        "-O1",
        "-pthread",
        "-fsanitize=hwaddress",
        "-fsanitize-hwaddress-experimental-aliasing",
        "-Wl,--no-relax",
    ];
    let Some(target) = by("clang", SANITIZED, &flags) else {
        return;
    };
    let plain = Command::new(&target).arg("none").output().unwrap();
    if !plain.status.success() {
        let said = String::from_utf8_lossy(&plain.stderr);
        return skip(&format!("HWASan does not run here: {said}"));
    }
    let recording = run_with_mistake(&target, "overflow", "tag mismatch", &["--memory"]);
    has_note(&recording, "have the runtime of a sanitizer in them");
}

#[test]
fn a_sanitizer_is_seen_at_each_exec() {
    let flags = ["-g", "-O1", "-pthread", "-fsanitize=address"];
    let (Some(target), Some(plain)) = (by("gcc", SANITIZED, &flags), c(SANITIZED, &[])) else {
        return;
    };
    let arguments = |words: &[&dyn AsRef<std::ffi::OsStr>]| -> Vec<OsString> {
        words.iter().map(|word| word.as_ref().into()).collect()
    };
    let shell = Program::new("sh").with(&arguments(&[
        &"-c",
        &"\"$@\"; exit $?",
        &"-",
        &target,
        &"overflow",
    ]));
    // The program under test preloads the runtime itself.
    let runtime = Command::new("gcc")
        .arg("-print-file-name=libasan.so")
        .output();
    let runtime = String::from_utf8(runtime.unwrap().stdout).unwrap();
    let preloaded = Program::new("env").with(&arguments(&[
        &format!("LD_PRELOAD={}", runtime.trim()),
        &plain,
        &"none",
        &target,
        &"overflow",
    ]));
    let child_of_plain = Program::new(&plain).with(&arguments(&[&"none", &target, &"overflow"]));
    let plain_child = Program::new(&target).with(&arguments(&[&"overflow", &plain, &"none"]));
    for program in [shell, preloaded, child_of_plain, plain_child] {
        let (recording, outcome) = program
            .options(&["--memory"])
            .run_both_ways_with(comparable);
        assert_stderr_has(&outcome, "heap buffer overflow");
        recording.assert_share("burn_sanitized", 20.0);
        has_note(&recording, "behind the runtime of a sanitizer");
    }
}

#[test]
fn a_missing_runtime_is_reported_once() {
    let flags = ["-fsanitize=address", "-shared-libasan", "-pthread"];
    let Some(target) = by("clang", SANITIZED, &flags) else {
        return;
    };
    let (_, outcome) = Program::new(target).run_both_ways_with(|outcome| outcome);
    if outcome.code != Some(127) {
        return skip("the loader finds clang's runtime by itself");
    }
    let lines: Vec<&str> = outcome.stderr.lines().collect();
    assert!(
        matches!(lines[..], [line] if line.contains("cannot open shared object file")),
        "{lines:?}"
    );
}

#[test]
fn a_program_of_another_loader_is_started_directly() {
    if let Some(target) = by("gcc", "hot.c", &["-g", "-O1", "-m32"]) {
        let recording = Program::new(target).with(&["0.5"]).run_both_ways();
        assert!(recording.seconds() > 0.1, "{}", recording.outline());
    }
}

#[test]
fn nothing_is_loaded_into_what_is_emulated() {
    let Some(hot) = c("hot.c", &[]) else {
        return;
    };
    for (emulator, arguments) in [
        ("valgrind", &["--leak-check=full"][..]),
        ("valgrind", &["--tool=none"]),
        ("qemu-x86_64", &[]),
    ] {
        let Some(path) = tool(emulator) else {
            continue;
        };
        let program = || {
            Program::new(&path)
                .with(arguments)
                .with(&[&hot])
                .with(&["0.1"])
        };
        for options in [&[][..], &["--memory=exact"]] {
            let (recording, outcome) = program()
                .options(options)
                .slack(5.0)
                .run_both_ways_with(comparable);
            assert_eq!(outcome.code, Some(7), "{}", outcome.stderr);
            has_note(&recording, "emulates the program that it runs");
            assert!(recording.seconds() > 0.02, "{}", recording.outline());
        }
        let mut line = OsString::from("exec \"$0\" \"$@\"");
        line.push(" 0.1");
        let shell = Program::new("sh").with(&[OsString::from("-c"), line, path.into()]);
        let shell = shell.with(arguments).with(&[&hot]).slack(5.0);
        let (recording, outcome) = shell.run_both_ways_with(comparable);
        assert_eq!(outcome.code, Some(7), "{}", outcome.stderr);
        has_note(&recording, "emulates the program that it runs");
    }
}

/// Runs a line of shell with the command as `$P` and the program as `$T`, as root of namespaces of
/// its own; `None`, and skipped, where this user may not make them.
pub fn run_in_namespaces(line: &str, target: &Path) -> Option<std::process::Output> {
    let run = |line: &str| {
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--mount", "sh", "-c", line]);
        command.env("P", profundo()).env("T", target);
        command.current_dir(scratch()).output()
    };
    if !run("mount -t tmpfs none /mnt").is_ok_and(|output| output.status.success()) {
        skip("this user may not make namespaces");
        return None;
    }
    Some(run(line).unwrap())
}

#[test]
fn a_recording_without_proc_notes_why_nothing_has_a_name() {
    let Some(target) = c("hot.c", &[]) else {
        return;
    };
    for (line, why) in [
        (
            "unshare --pid --fork $P run -o namespace.profundo -- $T 0.1",
            "another pid namespace",
        ),
        (
            "mount -t tmpfs none /proc; $P run -o noproc.profundo -- $T 0.1",
            "there is no /proc here",
        ),
    ] {
        let Some(output) = run_in_namespaces(line, &target) else {
            return;
        };
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(7), "{said}");
        assert!(said.contains(why), "{said}");
    }
}

#[test]
fn a_process_of_another_namespace_does_not_end_the_recording() {
    let Some(target) = c("hot.c", &[]) else {
        return;
    };
    // In the child of the fork, the recorder's process does not exist, and there is no /proc.
    let line = "mount -t tmpfs none /mnt; cp $T /mnt/hot;
        $P record -o inner.profundo -- \
            unshare --pid --mount --fork sh -c 'mount -t tmpfs none /proc; /mnt/hot 0.6; true' ; 
        $P report inner.profundo --json";
    let Some(output) = run_in_namespaces(line, &target) else {
        return;
    };
    let said = String::from_utf8_lossy(&output.stdout);
    let report = said.split_once('{').map(|(_, rest)| format!("{{{rest}"));
    let report: serde_json::Value = serde_json::from_str(&report.unwrap()).unwrap();
    let seconds = report["selection"]["seconds"].as_f64().unwrap();
    assert!(seconds > 0.1, "{said}");
}
