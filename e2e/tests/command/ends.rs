//! The ways in which a program ends, and in which the recorder does.

use std::fs;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};

use profundo_formats::read_file;
use profundo_model::{ProcessId, Profile};
use profundo_testing::{profundo, wait_for};

use crate::program::{Program, alone, empty_folder, number, wait, wait_for_number};
use crate::targets::{c, scratch};

fn check_ends(how: &[&str]) {
    let Some(target) = c("exits.c", &[]) else {
        return;
    };
    for how in how {
        let recording = Program::new(&target).with(&[how]).run_both_ways();
        recording
            .assert_share("burn_in_main", 10.0)
            .assert_share("burn_in_thread", 20.0);
    }
}

#[test]
fn by_itself() {
    check_ends(&["return", "exit", "_exit", "_Exit", "quick_exit", "thread"]);
}

#[test]
fn by_a_signal() {
    check_ends(&[
        "abort",
        "kill",
        "term",
        "segv",
        "stack",
        "fpe",
        "trap",
        "breakpoint",
        "urg-default",
    ]);
}

/// Records the program, and calls a closure with its process while it works.
fn record_while(does: impl Fn(i32) + Copy + 'static) -> Option<crate::recording::Recording> {
    let target = c("works_on.c", &[])?;
    let program = Program::new(target).meanwhile(move |_, folder| {
        does(wait_for_number(folder, "pid"));
        fs::write(folder.join("enough"), "").unwrap();
    });
    let (recording, _) = program.run_both_ways_with(|mut outcome| {
        // The number of the process may have more digits in one of the two runs.
        outcome.files.remove("pid");
        outcome
    });
    Some(recording)
}

fn kill(pid: i32, signal: i32) {
    // SAFETY: a signal to a process of this test.
    let done = unsafe { libc::kill(pid, signal) };
    assert_eq!(done, 0, "no process {pid}");
}

/// The letter that the kernel shows for the state of a process.
fn state(pid: i32) -> Option<char> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.chars().next()
}

#[test]
fn stopped_and_continued() {
    let stop = |pid| {
        for _ in 0..10 {
            kill(pid, libc::SIGSTOP);
            wait_for("a stop", || (state(pid) == Some('T')).then_some(()));
            kill(pid, libc::SIGCONT);
            wait_for("work", || (state(pid) != Some('T')).then_some(()));
        }
    };
    if let Some(recording) = record_while(stop) {
        recording.assert_share("burn_and_burn", 90.0);
    }
}

#[test]
fn killed_midway() {
    if let Some(recording) = record_while(|pid| kill(pid, libc::SIGKILL)) {
        recording.assert_share("burn_and_burn", 90.0);
    }
}

/// The outcome of a signal to the recorder alone.
struct Signalled {
    /// The recorder's exit status.
    status: ExitStatus,
    /// The program's output.
    printed: String,
    file: PathBuf,
}

/// Sends the recorder a signal while the program works, and lets the program end afterwards.
fn signal_recorder(signal: i32, arguments: &[&str]) -> Option<Signalled> {
    let target = c("works_on.c", &[])?;
    let _alone = alone();
    let file = scratch().join(format!("{}.profundo", number()));
    let folder = empty_folder();
    let output = fs::File::create(folder.join("printed")).unwrap();
    let program = Program::new(target).with(arguments);
    let mut command = program.options(&["--label", "run=1"]).command(Some(&file));
    command
        .current_dir(&folder)
        .stdin(Stdio::null())
        .stdout(output)
        .process_group(0);
    let mut child = command.spawn().unwrap();
    let pid = wait_for_number(&folder, "pid");
    kill(child.id() as i32, signal);
    let status = wait(&mut child, "profundo");
    // Now no recorder drains the program's rings.
    let is_alive = state(pid).is_some_and(|state| state != 'Z');
    assert_eq!(is_alive, signal == libc::SIGKILL);
    fs::write(folder.join("enough"), "").unwrap();
    wait_for("the program's end", || {
        let is_gone = state(pid).is_none_or(|state| state == 'Z');
        is_gone.then_some(())
    });
    let printed = fs::read_to_string(folder.join("printed")).unwrap();
    Some(Signalled {
        status,
        printed,
        file,
    })
}

/// The labels of each process's recording.
fn labels(profile: &Profile) -> Vec<String> {
    let ids = (0..profile.processes.len()).map(ProcessId::from_index);
    let origins = ids.map(|id| profile.origin_of(id).expect("each process has an origin"));
    origins.map(|id| profile.labels_of(id)).collect()
}

#[test]
fn a_killed_recorder_does_the_program_no_harm() {
    let Some(killed) = signal_recorder(libc::SIGKILL, &[]) else {
        return;
    };
    assert_eq!(killed.printed, "worked on\n");
    // The samples until then are in the file, and the labels.
    let (profile, _) = read_file(&killed.file).unwrap();
    assert_eq!(labels(&profile), ["run=1"]);
    let weight: u64 = profile.samples.iter().map(|sample| sample.weight.0).sum();
    assert!(weight > 100_000_000, "{weight} ns of 800 ms");
    // The rings have further ones: the program went on writing until they were full.
    let mut recover = Command::new(profundo());
    let output = recover.arg("recover").arg(&killed.file).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let (mended, warnings) = read_file(&killed.file).unwrap();
    assert!(warnings.is_empty(), "{warnings:?}");
    assert!(mended.samples.len() >= profile.samples.len());
    assert_eq!(labels(&mended), ["run=1"]);
    let _ = fs::remove_file(killed.file);
}

#[test]
fn a_request_to_end_is_passed_on_to_the_program() {
    for arguments in [&["handles"][..], &[]] {
        let Some(ended) = signal_recorder(libc::SIGTERM, arguments) else {
            return;
        };
        if arguments.is_empty() {
            assert_eq!(ended.printed, "");
            assert_eq!(ended.status.signal(), Some(libc::SIGTERM));
        } else {
            assert_eq!(ended.printed, "terminated\n");
            assert_eq!(ended.status.code(), Some(9));
        }
        assert!(read_file(&ended.file).unwrap().1.is_empty());
        let _ = fs::remove_file(ended.file);
    }
}

#[test]
fn a_daemon_outlives_the_recorder() {
    let Some(target) = c("daemon.c", &[]) else {
        return;
    };
    let program = Program::new(target).meanwhile(|_, folder| {
        wait_for_number(folder, "daemon.done");
    });
    let (recording, _) = program.run_both_ways_with(|mut outcome| {
        outcome.files.remove("daemon.done");
        outcome
    });
    recording.assert_share("burn_in_parent", 5.0);
}
