//! Failures: the program goes on, nothing is left, and one sentence says why.

use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use profundo_testing::python;

use super::{Asked, pythons_for, snapshot, target};
use crate::machine::Folder;

/// Nothing but what was there before.
#[track_caller]
fn is_empty(folder: &Folder) {
    let entries = std::fs::read_dir(folder.path()).unwrap().flatten();
    let names: Vec<_> = entries.map(|entry| entry.file_name()).collect();
    assert!(names.is_empty(), "{names:?}");
}

#[test]
fn a_command_that_is_killed_leaves_a_program_that_goes_on() {
    is_killed(Duration::from_secs(1), "3");
}

#[test]
#[ignore = "long: a minute of commands that are killed, at many more moments"]
fn a_command_that_is_killed_again_and_again_leaves_a_program_that_goes_on() {
    is_killed(Duration::from_secs(4), "12");
}

/// Kills commands for some time, each at another moment; the program runs for so many seconds.
fn is_killed(time: Duration, seconds: &str) {
    for kind in ["sleep", "floats", "allocates"] {
        for python in pythons_for(kind) {
            let folder = Folder::new();
            let asked = Asked::begin(&python, "asked.py", &[kind, seconds]);
            let began = Instant::now();
            let mut moment = Duration::ZERO;
            while began.elapsed() < time {
                let mut command = folder.profundo(&["snapshot", &asked.pid(), "-o", "x"]);
                let mut child = command.stderr(Stdio::null()).spawn().unwrap();
                // The moment is the subject: another one each time, up to its end.
                thread::sleep(moment);
                child.kill().unwrap();
                let status = child.wait().unwrap();
                moment = match status.success() {
                    true => Duration::ZERO,
                    false => moment + Duration::from_millis(13),
                };
            }
            let who = format!("{kind} of {}", python.display());
            // It can still be asked, and what was left of those before is put away by the way.
            snapshot(&folder, &asked, &["-o", "y"]).succeeded();
            let (outcome, code) = asked.end();
            assert_eq!(code, Some(0), "{who}: {outcome}");
            assert_eq!(outcome, "nothing was noticed\n", "{who}");
        }
    }
}

#[test]
fn a_command_that_is_interrupted_leaves_no_half_file() {
    let Some(python) = python() else { return };
    let folder = Folder::new();
    let asked = Asked::begin(&python, "asked.py", &["keeps_the_lock", "20"]);
    let mut command = folder.profundo(&["snapshot", &asked.pid(), "-o", "x"]);
    let child = command.stderr(Stdio::piped()).spawn().unwrap();
    // It cannot be seen that it waits for the lock: it does by now, or is about to.
    thread::sleep(Duration::from_millis(900));
    // SAFETY: our own child, which has not been reaped.
    unsafe { libc::kill(child.id() as i32, libc::SIGINT) };
    let output = child.wait_with_output().unwrap();
    assert!(!output.status.success(), "{output:?}");
    is_empty(&folder);
}

#[test]
fn a_program_that_keeps_the_lock_is_left_alone_later_too() {
    for python in pythons_for("keeps_the_lock") {
        let folder = Folder::new();
        let asked = Asked::begin(&python, "asked.py", &["keeps_the_lock", "4"]);
        let began = Instant::now();
        let outcome = snapshot(&folder, &asked, &["-o", "x", "--timeout", "0.5"]);
        if outcome.code != Some(0) {
            outcome.refused(1, "keeps the lock");
            assert!(began.elapsed() < Duration::from_secs(60));
            is_empty(&folder);
        }
        let (outcome, code) = asked.end();
        assert_eq!((outcome.as_str(), code), ("nothing was noticed\n", Some(0)));
    }
}

#[test]
fn a_program_that_ends_or_becomes_another_is_let_go() {
    let Some(python) = python() else { return };
    const ENDS: &str =
        "import os, sys, time\nprint('ready', flush=True)\ntime.sleep(float(sys.argv[1]))\n";
    for (then, code) in [
        ("os._exit(7)", Some(7)),
        ("os.execlp('sh', 'sh', '-c', 'sleep 0.5; exit 9')", Some(9)),
    ] {
        for step in 0..12 {
            let folder = Folder::new();
            let source = folder.file("ends.py", &format!("{ENDS}{then}\n"));
            let mut command = Command::new(&python);
            command
                .arg(source)
                .arg(format!("{}", f64::from(step) * 0.04));
            let asked = Asked::of(command);
            let outcome = snapshot(&folder, &asked, &["-o", "x"]);
            if outcome.code != Some(0) {
                outcome.refused(outcome.code.unwrap(), "process");
                assert!(!folder.path().join("x").exists());
            }
            let (_, ended) = asked.end();
            assert_eq!(ended, code, "{then}");
        }
    }
}

#[test]
fn two_at_once_are_both_answered_or_refused_with_a_reason() {
    let Some(python) = python() else { return };
    let folder = Folder::new();
    let mut asked = Asked::begin(&python, "asked.py", &["floats", "4"]);
    let mut answered = 0;
    while !asked.is_over() {
        let begin = |name: &str| {
            let mut command = folder.profundo(&["snapshot", &asked.pid(), "-o", name]);
            command.stderr(Stdio::piped()).spawn().unwrap()
        };
        let both = [begin("one"), begin("other")];
        for child in both {
            answered += u32::from(child.wait_with_output().unwrap().status.success());
        }
    }
    let (outcome, code) = asked.end();
    assert_eq!((outcome.as_str(), code), ("nothing was noticed\n", Some(0)));
    assert!(answered > 0);
}

#[test]
fn a_program_that_lacks_means_is_refused_and_goes_on() {
    for (kind, part) in [
        ("no_files", "Too many open files"),
        ("little_memory", "cannot load"),
    ] {
        for python in pythons_for(kind) {
            let folder = Folder::new();
            let asked = Asked::begin(&python, "asked.py", &[kind, "3"]);
            // It may not have come so far yet.
            thread::sleep(Duration::from_secs(1));
            snapshot(&folder, &asked, &["-o", "x"]).refused(1, part);
            is_empty(&folder);
            let (outcome, code) = asked.end();
            assert_eq!(
                (outcome.as_str(), code),
                ("nothing was noticed\n", Some(0)),
                "{kind}"
            );
        }
    }
}

#[test]
fn a_program_that_is_stopped_is_not_asked_and_stays_stopped() {
    let Some(python) = python() else { return };
    let folder = Folder::new();
    let asked = Asked::begin(&python, "asked.py", &["sleep", "1"]);
    let send = |signal| {
        // SAFETY: our own child, which has not been reaped.
        assert_eq!(unsafe { libc::kill(asked.child.id() as i32, signal) }, 0);
    };
    send(libc::SIGSTOP);
    thread::sleep(Duration::from_millis(200));
    snapshot(&folder, &asked, &["-o", "x"]).refused(1, "stopped");
    is_empty(&folder);
    send(libc::SIGCONT);
    let (outcome, code) = asked.end();
    assert_eq!((outcome.as_str(), code), ("nothing was noticed\n", Some(0)));
}

#[test]
fn other_and_missing_processes_are_refused_in_a_sentence() {
    let folder = Folder::new();
    let mut sleep = Command::new("sleep").arg("60").spawn().unwrap();
    let outcome = folder.run(&["snapshot", &sleep.id().to_string(), "-o", "x"]);
    sleep.kill().unwrap();
    sleep.wait().unwrap();
    outcome.refused(1, "no Python interpreter");
    for missing in ["4194305", "0"] {
        let outcome = folder.run(&["snapshot", missing, "-o", "x"]);
        assert!(outcome.code.is_some_and(|code| code > 0), "{outcome:#?}");
        assert!(outcome.err.starts_with("profundo: "), "{outcome:#?}");
    }
    is_empty(&folder);
    assert!(target("asked.py").exists());
}
