//! Python in a container, which knows its threads by other numbers than the recorder.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use profundo_testing::{Python, profundo, skip, tool};

use crate::attach::Running;
use crate::program::{alone, number};
use crate::recording::Recording;
use crate::targets::{c, pythons_for, scratch, source, with_version};

/// The words before a program's that let it run in a pid namespace of its own, without any
/// variable of ours: no agent is loaded into it. `None`, and skipped, where that is not permitted.
fn within() -> Option<Command> {
    let within = |last: &[&str]| {
        let mut command = Command::new("unshare");
        command.args(["--mount", "--pid", "--fork", "--mount-proc"]);
        command.args(last);
        command
    };
    tool("unshare")?;
    let mut probe = within(&["true"]);
    let probe = probe.stderr(Stdio::null()).status();
    if !probe.is_ok_and(|status| status.success()) {
        skip("no pid namespaces can be made");
        return None;
    }
    Some(within(&["env", "-i"]))
}

/// The oldest version and a newer one: the interpreter names its threads by the address of their
/// descriptors up to 3.10, and by the kernel's numbers since.
fn two_versions(what: &str) -> Vec<Python> {
    with_version((3, 8), with_version((3, 12), pythons_for(what)))
}

/// Works in two threads, and says by which number its process knows itself.
const BURNS: &str = "
import os, sys, threading, time
def burns():
    until = time.thread_time() + 0.7
    while time.thread_time() < until:
        for _ in range(1000): pass
thread = threading.Thread(target=burns)
thread.start()
burns()
thread.join()
print(os.getpid())
sys.exit(7)
";

#[test]
fn a_container_that_the_program_starts_shows_its_python_functions() {
    for python in two_versions("a container that the program starts") {
        let Some(within) = within() else { return };
        let _alone = alone();
        let file = scratch().join("namespaces-run.profundo");
        let mut command = Command::new(profundo());
        command.arg("record").arg("-o").arg(&file).arg("--");
        command.arg(within.get_program()).args(within.get_args());
        command.arg(&python.path).args(["-c", BURNS]);
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(7), "{said}");
        assert_eq!(output.stdout, b"1\n");
        let took = Duration::from_secs(1);
        let recording = Recording::read(&file, took, took);
        let _ = fs::remove_file(&file);
        recording.assert_share("burns", 80.0);
        let seconds = recording.seconds();
        assert!((1.0..2.2).contains(&seconds), "{}", recording.outline());
    }
}

#[test]
fn an_agent_that_may_not_be_executed_is_not_loaded() {
    let Some(target) = c("hot.c", &[]) else {
        return;
    };
    if within().is_none() {
        return;
    }
    let _alone = alone();
    let cache = scratch().join(format!("namespaces-cache-{}", number()));
    fs::create_dir_all(&cache).unwrap();
    let file = scratch().join("namespaces-noexec.profundo");
    let line =
        "mount --bind \"$0\" \"$0\" && mount -o remount,bind,noexec \"$0\" && exec \"$1\" 0.5";
    let mut command = Command::new(profundo());
    command.env("XDG_CACHE_HOME", &cache);
    command.arg("record").arg("-o").arg(&file);
    command.args(["--", "unshare", "--mount", "sh", "-c", line]);
    let output = command.arg(&cache).arg(&target).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(7), "{said}");
    assert!(!said.contains("ld.so"), "{said}");
    let took = Duration::from_secs(1);
    let recording = Recording::read(&file, took, took);
    recording.assert_share("six_parts", 30.0);
    let _ = fs::remove_file(&file);
    let _ = fs::remove_dir_all(&cache);
}

/// The only child of a process.
fn child_of(pid: &str) -> String {
    let path = Path::new("/proc").join(pid).join("task").join(pid);
    let children = fs::read_to_string(path.join("children")).unwrap();
    let mut children = children.split_whitespace();
    let child = children.next().expect("a child").to_owned();
    assert_eq!(children.next(), None);
    child
}

#[test]
fn attach_shows_python_functions_of_a_container() {
    for python in two_versions("attach to a container") {
        let Some(mut within) = within() else { return };
        let _alone = alone();
        within.arg(&python.path).arg(source("goes_on.py"));
        let running = Running::start(within);
        let file = scratch().join("namespaces-attach.profundo");
        let mut command = Command::new(profundo());
        command.args(["attach", &child_of(&running.pid()), "-d", "2", "-o"]);
        let output = command.arg(&file).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let took = Duration::from_secs(1);
        let recording = Recording::read(&file, took, took);
        let _ = fs::remove_file(&file);
        for name in ["calls_work", "calls_packs"] {
            let share = recording.share(name);
            assert!(share > 15.0, "{share} % {name}: {}", recording.outline());
        }
        let (said, code) = running.end();
        assert_eq!((said.starts_with("True "), code), (true, Some(7)), "{said}");
    }
}
