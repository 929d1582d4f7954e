//! Programs of musl: they are recorded from inside, by the agent that programs of glibc load, and
//! both start each other. The command itself may be of musl, as one static file.
//!
//! `PROFUNDO_E2E_CC=musl-gcc` has all C programs of the suite linked with musl.

use std::path::{Path, PathBuf};
use std::process::Command;

use profundo_model::Profile;
use profundo_testing::skip;

use crate::heap::{amount, line_of, marked};
use crate::loading::run_in_namespaces;
use crate::program::{Outcome, Program};
use crate::targets::{by, c, source};

/// A program that is linked with musl. Built programs are kept by their flags, so the compiler is
/// among them.
fn musl(name: &str, flags: &[&str]) -> Option<PathBuf> {
    by(
        "musl-gcc",
        name,
        &[&["-DBY_musl_gcc", "-g", "-O1", "-pthread"], flags].concat(),
    )
}

/// The number of processes that run a file.
fn processes_of(profile: &Profile, file: &Path) -> usize {
    let file = file.display().to_string();
    let commands = profile.processes.iter().map(|process| process.command);
    commands
        .filter(|&command| profile.strings.get(command).starts_with(&file))
        .count()
}

#[test]
fn a_program_of_musl_samples_itself() {
    let Some(target) = musl("hot.c", &[]) else {
        return;
    };
    for (options, share) in [
        (&[][..], 40.0),
        // On a busy machine it waits for a CPU most of the time.
        (&["--wall"], 5.0),
        (&["--engine", "cpu-timer"], 40.0),
    ] {
        let program = Program::new(&target).with(&["0.5"]).options(options);
        let recording = program.run_both_ways();
        recording.assert_share("six_parts", share);
        let samples = recording.profile.samples.len();
        assert!(samples > 40, "{}", recording.outline());
    }
}

#[test]
fn blocks_of_musl_are_counted_to_the_byte() {
    let Some(target) = musl("known_heap.c", &["-O0", "-fno-builtin"]) else {
        return;
    };
    let program = Program::new(target).options(&["--memory=exact"]);
    let recording = program.run_both_ways();
    let profile = &recording.profile;
    // Of `calloc`, which calls `malloc`, each block counts once.
    for (comment, count, bytes) in [
        ("// keeps", 1000, 599_500),
        ("// zeroes", 1, 30_000),
        ("// grows", 10, 55_000),
        ("// aligns", 1, 640),
        ("// posix", 1, 777),
    ] {
        let line = marked(&source("known_heap.c"), comment);
        let sites = profile.heap.sites.iter();
        let sum = sites
            .filter(|site| line_of(profile, site.stack, "known_heap.c") == Some(line))
            .fold(amount(0, 0), |mut sum, site| {
                sum += site.allocated;
                sum
            });
        assert_eq!(sum, amount(count, bytes), "{comment}");
    }
}

#[test]
fn programs_of_both_libraries_start_each_other() {
    let (Some(musl_program), Some(still), Some(glibc)) = (
        musl("sanitized.c", &[]),
        musl("sanitized.c", &["-static"]),
        by("gcc", "sanitized.c", &["-g", "-O1", "-pthread"]),
    ) else {
        return;
    };
    // Each executes the rest of the line in a child. A static one loads nothing, and passes on what
    // it was given.
    let chain = [
        &glibc,
        &musl_program,
        &still,
        &musl_program,
        &glibc,
        &still,
        &glibc,
    ];
    let mut words = vec!["none".into()];
    for program in &chain[1..] {
        words.extend([program.as_os_str().to_owned(), "none".into()]);
    }
    let first = Program::new(chain[0]).with(&words);
    // The agent hides itself in those that load it.
    let without_static = |outcome: Outcome| Outcome {
        stdout: outcome.stdout.replacen("with LD", "without LD", 2),
        ..outcome
    };
    let first = first.options(&["--memory"]);
    let (recording, _) = first.run_both_ways_with(without_static);
    recording.assert_share("burn_sanitized", 60.0);
    for (program, count) in [(&glibc, 3), (&musl_program, 2), (&still, 2)] {
        let found = processes_of(&recording.profile, program);
        // A child has its parent's name until it executes the next one.
        assert!(
            found >= count,
            "{found} of {}: {}",
            program.display(),
            recording.outline()
        );
    }
}

/// The command as one static file.
fn static_command() -> Option<PathBuf> {
    let named = std::env::var_os("PROFUNDO_STATIC").map(PathBuf::from);
    if named.is_none() {
        skip("PROFUNDO_STATIC names no static command (`cargo xtask static` builds one)");
    }
    named
}

#[test]
fn a_static_command_needs_nothing_but_itself() {
    let (Some(command), Some(target)) = (static_command(), musl("hot.c", &["-static"])) else {
        return;
    };
    // Of a process namespace of its own, it may mount a `/proc`.
    let inner = "mount -t proc none /mnt/proc && TMPDIR=/tmp HOME=/tmp \
        chroot /mnt /profundo run -o /tmp/a.profundo -- /hot 0.5";
    let line = format!(
        "mount -t tmpfs none /mnt; mkdir /mnt/tmp /mnt/proc; cp {} /mnt/profundo; cp $T /mnt/hot; \
         unshare --pid --fork sh -c '{inner}'; \
         chroot /mnt /profundo report /tmp/a.profundo --json",
        command.display()
    );
    let Some(output) = run_in_namespaces(&line, &target) else {
        return;
    };
    let said = String::from_utf8_lossy(&output.stdout);
    let report = said.split_once('{').map(|(_, rest)| format!("{{{rest}"));
    let report = report.unwrap_or_else(|| panic!("{}", String::from_utf8_lossy(&output.stderr)));
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    let seconds = report["selection"]["seconds"].as_f64().unwrap();
    assert!(seconds > 0.3, "{said}");
}

#[test]
fn a_static_command_records_programs_of_both_libraries() {
    const FLAGS: &[&str] = &["-fno-builtin"];
    let (Some(command), Some(musl_program), Some(glibc)) = (
        static_command(),
        musl("known_heap.c", FLAGS),
        c("known_heap.c", FLAGS),
    ) else {
        return;
    };
    let line = marked(&source("known_heap.c"), "// keeps");
    for target in [musl_program, glibc] {
        let file = target.with_extension("static.profundo");
        let mut run = Command::new(&command);
        run.args(["record", "--memory=exact", "-o"]).arg(&file);
        let output = run.arg("--").arg(&target).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        // Only the agent sees allocations.
        let mut report = Command::new(&command);
        let report = report.arg("report").arg(&file).arg("allocs").output();
        let report = String::from_utf8(report.unwrap().stdout).unwrap();
        let place = format!("known_heap.c:{line}");
        assert!(report.contains(&place), "{}: {report}", target.display());
    }
}
