//! Every way in which a program ends, and in which we do.

use std::fs;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};

use profundo_formats::read_file;

use crate::command::profundo;
use crate::program::{Program, alone, folder, number, told, until, wait};
use crate::targets::{c, scratch};

fn ends(how: &[&str]) {
    let Some(target) = c("exits.c", &[]) else {
        return;
    };
    for how in how {
        let recording = Program::new(&target).with(&[how]).same();
        recording
            .hot("burn_in_main", 10.0)
            .hot("burn_in_thread", 20.0);
    }
}

#[test]
fn by_itself() {
    ends(&["return", "exit", "_exit", "_Exit", "quick_exit", "thread"]);
}

#[test]
fn by_a_signal() {
    ends(&[
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

/// Signals to the program, while it works.
fn meanwhile(does: impl Fn(i32) + Copy + 'static) -> Option<crate::recording::Recording> {
    let target = c("works_on.c", &[])?;
    let program = Program::new(target).meanwhile(move |_, folder| {
        does(told(folder, "pid"));
        fs::write(folder.join("enough"), "").unwrap();
    });
    let (recording, _) = program.same_with(|mut outcome| {
        // Its number has as many digits as it has.
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

/// The letter that the kernel shows for what a process does.
fn state(pid: i32) -> Option<char> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.chars().next()
}

#[test]
fn stopped_and_continued() {
    let stop = |pid| {
        for _ in 0..10 {
            kill(pid, libc::SIGSTOP);
            until("a stop", || (state(pid) == Some('T')).then_some(()));
            kill(pid, libc::SIGCONT);
            until("work", || (state(pid) != Some('T')).then_some(()));
        }
    };
    if let Some(recording) = meanwhile(stop) {
        recording.hot("burn_and_burn", 90.0);
    }
}

#[test]
fn killed_midway() {
    if let Some(recording) = meanwhile(|pid| kill(pid, libc::SIGKILL)) {
        recording.hot("burn_and_burn", 90.0);
    }
}

/// What came of a signal to the profiler alone.
struct Signalled {
    /// How the profiler ended.
    status: ExitStatus,
    /// What the program printed.
    said: String,
    file: PathBuf,
}

/// Sends it while the program works, and lets the program end afterwards.
fn signal_to_us(signal: i32, arguments: &[&str]) -> Option<Signalled> {
    let target = c("works_on.c", &[])?;
    let _alone = alone();
    let file = scratch().join(format!("{}.profundo", number()));
    let folder = folder();
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    let said = fs::File::create(folder.join("said")).unwrap();
    let mut command = Program::new(target).with(arguments).command(Some(&file));
    command
        .current_dir(&folder)
        .stdin(Stdio::null())
        .stdout(said)
        .process_group(0);
    let mut child = command.spawn().unwrap();
    let pid = told(&folder, "pid");
    kill(child.id() as i32, signal);
    let status = wait(&mut child, "profundo");
    // Now nobody is there who would drain what the program's handlers write.
    let is_alive = state(pid).is_some_and(|state| state != 'Z');
    assert_eq!(is_alive, signal == libc::SIGKILL);
    fs::write(folder.join("enough"), "").unwrap();
    until("the program's end", || {
        let is_gone = state(pid).is_none_or(|state| state == 'Z');
        is_gone.then_some(())
    });
    let said = fs::read_to_string(folder.join("said")).unwrap();
    Some(Signalled { status, said, file })
}

#[test]
fn our_own_death_does_it_no_harm() {
    let Some(killed) = signal_to_us(libc::SIGKILL, &[]) else {
        return;
    };
    assert_eq!(killed.said, "worked on\n");
    // What was taken until then is there.
    let (profile, _) = read_file(&killed.file).unwrap();
    let weight: u64 = profile.samples.iter().map(|sample| sample.weight.0).sum();
    assert!(weight > 100_000_000, "{weight} ns of 800 ms");
    // And with what is left in the rings, where the program went on to write until they were full.
    let mut recover = Command::new(profundo());
    let output = recover.arg("recover").arg(&killed.file).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let (mended, warnings) = read_file(&killed.file).unwrap();
    assert!(warnings.is_empty(), "{warnings:?}");
    assert!(mended.samples.len() >= profile.samples.len());
    let _ = fs::remove_file(killed.file);
}

#[test]
fn a_request_to_end_is_handed_on() {
    for arguments in [&["handles"][..], &[]] {
        let Some(asked) = signal_to_us(libc::SIGTERM, arguments) else {
            return;
        };
        if arguments.is_empty() {
            assert_eq!(asked.said, "");
            assert_eq!(asked.status.signal(), Some(libc::SIGTERM));
        } else {
            assert_eq!(asked.said, "terminated\n");
            assert_eq!(asked.status.code(), Some(9));
        }
        assert!(read_file(&asked.file).unwrap().1.is_empty());
        let _ = fs::remove_file(asked.file);
    }
}

#[test]
fn a_daemon_outlives_us() {
    let Some(target) = c("daemon.c", &[]) else {
        return;
    };
    let program = Program::new(target).meanwhile(|_, folder| {
        told(folder, "daemon.done");
    });
    let (recording, _) = program.same_with(|mut outcome| {
        outcome.files.remove("daemon.done");
        outcome
    });
    recording.hot("burn_in_parent", 5.0);
}
