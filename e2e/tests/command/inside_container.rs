//! `attach --inside` from the host into a container: its own root directory, its own numbers of
//! processes, sometimes another user. The agent comes and goes as anywhere, and what cannot be
//! entered is said to be in one sentence.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use profundo_testing::{profundo, skip, tool};

use crate::attach::Running;
use crate::calls::{calls_of, report};
use crate::inside::{entered, has_agent};
use crate::inside_memory::{Recorder, ask, compare};
use crate::program::{alone, number};
use crate::targets::{c, pythons_for, scratch, source, with_version};

/// The options of bubblewrap for each kind of container, over a root directory that is read-only.
const KINDS: [&[&str]; 3] = [
    // A memory folder of its own.
    &["--dev", "/dev", "--proc", "/proc", "--unshare-pid"],
    // Root of a user namespace, and nothing to write to but /tmp.
    &[
        "--proc",
        "/proc",
        "--unshare-all",
        "--uid",
        "0",
        "--tmpfs",
        "/dev",
        "--remount-ro",
        "/dev",
        "--tmpfs",
        "/tmp",
    ],
    // The numbers of processes are the host's.
    &["--dev", "/dev", "--proc", "/proc"],
];

/// A command in a container. What it needs lies in the folder of tests, too. `None`, and skipped,
/// where no container can be made.
fn within(kind: &[&str], program: &Path) -> Option<Command> {
    let bwrap = tool("bwrap")?;
    let command = |program: &Path| {
        let mut command = Command::new(&bwrap);
        command.args(["--ro-bind", "/", "/"]).args(kind);
        // These may lie in /tmp, which the container has anew.
        for folder in [scratch(), source("").canonicalize().unwrap()] {
            command.arg("--ro-bind").arg(&folder).arg(&folder);
        }
        if let Some(folder) = program.parent() {
            command.arg("--ro-bind").arg(folder).arg(folder);
        }
        command.arg("--").arg(program);
        command
    };
    let mut probe = command(Path::new("/bin/true"));
    let probe = probe.stderr(Stdio::null()).status();
    if !probe.is_ok_and(|status| status.success()) {
        skip("no containers can be made");
        return None;
    }
    Some(command(program))
}

/// The innermost process that a command has started.
fn innermost(running: &Running) -> String {
    let mut pid = running.pid();
    loop {
        let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
        match children.split_whitespace().next() {
            Some(child) => child.clone_into(&mut pid),
            None => return pid,
        }
    }
}

/// The names in the folders of a process where a session may lie.
fn left_over(pid: &str) -> Vec<String> {
    let own = format!("profundo-0-{}-", std::process::id());
    let names = ["dev/shm", "tmp"].into_iter().flat_map(|folder| {
        let entries = fs::read_dir(format!("/proc/{pid}/root/{folder}"));
        entries.into_iter().flatten().flatten()
    });
    let names = names.map(|entry| entry.file_name().to_string_lossy().into_owned());
    // The host's own are in view where the folder is the host's.
    names
        .filter(|name| name.starts_with("profundo-") && !Path::new("/dev/shm").join(name).exists())
        .filter(|name| !name.starts_with(&own) && !Path::new("/tmp").join(name).exists())
        .collect()
}

#[test]
fn a_program_in_a_container_samples_itself() {
    let Some(program) = c("inside.c", &[]) else {
        return;
    };
    for kind in KINDS {
        let Some(command) = within(kind, &program) else {
            return;
        };
        let _alone = alone();
        let mut running = Running::start(command);
        let pid = innermost(&running);
        let Some(recording) = entered(&pid, "container.profundo", &["-d", "2"]) else {
            return;
        };
        let parts = [("half", 50.0), ("third", 33.3), ("sixth", 16.7)];
        recording.assert_sound().assert_parts(&parts, 4.0);
        recording.assert_sampled(90.0).assert_whole(99.0);
        assert_eq!(recording.profile.processes.len(), 1);
        let threads = &recording.profile.threads;
        assert_eq!(threads.len(), 3, "{kind:?}: {}", recording.outline());
        // They have our numbers.
        for (_, thread) in threads.iter() {
            let task = format!("/proc/{pid}/task/{}", thread.tid);
            assert!(Path::new(&task).exists(), "{kind:?}: {}", thread.tid);
        }
        assert_eq!(left_over(&pid), [""; 0], "{kind:?}");
        // A second recording finds the library there.
        let again = entered(&pid, "container.profundo", &["-d", "1"]).unwrap();
        again.assert_sound();
        running.say("go\n");
        running.until("done\n");
        assert_eq!(running.end().1, Some(7), "{kind:?}");
    }
}

#[test]
fn threads_and_children_in_a_container_are_recorded() {
    let Some(program) = c("inside.c", &[]) else {
        return;
    };
    let Some(command) = within(KINDS[0], &program) else {
        return;
    };
    let _alone = alone();
    let mut running = Running::start(command);
    let Some(recorder) = Recorder::start(&innermost(&running), &["--inside"]) else {
        return;
    };
    running.say("go\n");
    let said = running.until("done\n");
    assert!(said.contains("a child has ended with 3"), "{said}");
    assert!(said.contains("a program has ended with 5"), "{said}");
    let (recording, _) = recorder.end();
    recording.assert_sound();
    let outline = recording.outline();
    // The thread, and the child.
    let later = recording.seconds_where(|sample| recording.names(sample).contains(&"later"));
    assert!((0.5..0.75).contains(&later), "{later}: {outline}");
    assert!(recording.profile.processes.len() >= 2, "{outline}");
    assert_eq!(running.end(), (String::new(), Some(7)));
}

#[test]
fn what_a_program_in_a_container_allocates_is_counted_to_the_byte() {
    let Some(program) = c("late_heap.c", &["-fno-builtin"]) else {
        return;
    };
    for kind in KINDS {
        let Some(command) = within(kind, &program) else {
            return;
        };
        let _alone = alone();
        let mut running = Running::start(command);
        for _ in 0..2 {
            let pid = innermost(&running);
            let Some(recorder) = Recorder::start(&pid, &["--memory=exact"]) else {
                return;
            };
            let counted: BTreeMap<_, _> = ask(&mut running, "go");
            let (recording, said) = recorder.end();
            assert!(!said.contains("stays"), "{kind:?}: {said}");
            compare(&recording, "late_heap.c", &counted);
            assert_eq!(left_over(&pid), [""; 0], "{kind:?}");
        }
        ask(&mut running, "go");
        assert_eq!(running.end().1, Some(7), "{kind:?}");
    }
}

#[test]
fn python_in_a_container_is_read_and_counted_from_inside() {
    let versions = pythons_for("entering a container");
    for version in with_version((3, 8), with_version((3, 12), versions)) {
        let _alone = alone();
        let Some(mut command) = within(KINDS[0], &version.path) else {
            return;
        };
        command.arg(source("goes_on.py"));
        let running = Running::start(command);
        let pid = innermost(&running);
        for options in [&["-d", "2"][..], &["-d", "2", "--memory=exact"]] {
            let Some(recording) = entered(&pid, "container-python.profundo", options) else {
                return;
            };
            recording.assert_sound();
            let shares = ["work", "packs"].map(|name| recording.share(name));
            let outline = recording.outline();
            assert!(shares.iter().sum::<f64>() > 80.0, "{version:?}: {outline}");
        }
        // No call of a thread that waits has failed.
        let expected = ("True 0\n".to_owned(), Some(7));
        assert_eq!(running.end(), expected, "{version:?}");
    }
}

#[test]
fn calls_of_python_in_a_container_are_counted() {
    for version in with_version((3, 8), pythons_for("counting in a container")) {
        let _alone = alone();
        let Some(mut command) = within(KINDS[0], &version.path) else {
            return;
        };
        command.args(["-W", "ignore"]);
        command.arg(source("counts_inside.py"));
        let mut running = Running::start(command);
        let file = scratch().join(format!("container-trace-{}.profundo", number()));
        let Some(recorder) = Recorder::start_in(&innermost(&running), &["--trace"], file.clone())
        else {
            return;
        };
        running.say("1000\n");
        running.until("done\n");
        recorder.interrupt();
        let table = report(&file, "trace");
        let _ = fs::remove_file(&file);
        assert_eq!(calls_of(&table, "leaf"), 5 * 1000, "{version:?}");
        assert_eq!(calls_of(&table, "caller"), 5, "{version:?}");
        assert_eq!(running.end().1, Some(7), "{version:?}");
    }
}

/// What `attach` says of a program that it does not enter.
fn refusal(pid: &str) -> String {
    let file = scratch().join(format!("container-{}.profundo", number()));
    let output = Command::new(profundo())
        .args(["attach", pid, "--inside", "-d", "0.3", "-o"])
        .arg(&file)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(!file.exists());
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_container_that_cannot_be_entered_goes_on() {
    let Some(program) = c("inside.c", &[]) else {
        return;
    };
    let read_only = [
        "--proc",
        "/proc",
        "--tmpfs",
        "/dev",
        "--remount-ro",
        "/dev",
        "--unshare-pid",
    ];
    for (kind, expected) in [
        // Its /proc shows the host's numbers.
        (
            &["--dev", "/dev", "--unshare-pid"][..],
            "/proc is missing or",
        ),
        (&read_only[..], "no folder in there takes"),
    ] {
        let Some(command) = within(kind, &program) else {
            return;
        };
        let _alone = alone();
        let mut running = Running::start(command);
        let pid = innermost(&running);
        let said = refusal(&pid);
        assert!(said.contains(expected), "{said}");
        assert!(!has_agent(&pid), "{said}");
        assert_eq!(left_over(&pid), [""; 0], "{said}");
        running.say("go\n");
        running.until("done\n");
        assert_eq!(running.end().1, Some(7), "{said}");
    }
}
