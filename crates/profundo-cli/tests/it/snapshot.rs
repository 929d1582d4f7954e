//! Programs that are asked for their objects while they run: nothing of theirs changes, and all
//! objects are there.

mod broken;
mod known;
mod native;

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use profundo_testing::Python;

use crate::machine::{Folder, Outcome};

/// A program that waits to be asked.
struct Asked {
    child: Child,
    out: BufReader<ChildStdout>,
}

impl Asked {
    /// Starts one of the targets; it has said that it is ready.
    fn begin(python: &Path, name: &str, words: &[&str]) -> Self {
        let mut command = Command::new(python);
        command.arg(target(name)).args(words);
        Self::of(command)
    }

    fn of(mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        out.read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        Self { child, out }
    }

    fn pid(&self) -> String {
        self.child.id().to_string()
    }

    fn is_over(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// Lets the program end; its output and its exit code.
    fn end(mut self) -> (String, Option<i32>) {
        drop(self.child.stdin.take());
        let mut outcome = String::new();
        std::io::Read::read_to_string(&mut self.out, &mut outcome).unwrap();
        (outcome, self.child.wait().unwrap().code())
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn target(name: &str) -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.join("../../e2e/targets").join(name)
}

/// Every CPython of this machine that can be asked, oldest first. The system's is left out where
/// pyenv has that version too.
fn pythons() -> Vec<PathBuf> {
    let present = profundo_testing::pythons();
    let is_system = |python: &Python| python.path.starts_with("/usr");
    let is_twice = |python: &Python| {
        let mut others = present.iter().filter(|other| !is_system(other));
        is_system(python) && others.any(|other| other.version == python.version)
    };
    let found = present.iter().filter(|python| !is_twice(python));
    found.map(|python| python.path.clone()).collect()
}

/// The Pythons that one test is run on: one, by the test's name, or all on request.
fn pythons_for(test: &str) -> Vec<PathBuf> {
    profundo_testing::choose(&pythons(), test)
}

/// Asks again and again until the program has ended; returns how often it answered.
fn ask_again_and_again(folder: &Folder, asked: &mut Asked, most: u32) -> u32 {
    let mut answered = 0;
    while answered < most && !asked.is_over() {
        let outcome = snapshot(folder, asked, &["-o", "x.heapsnapshot"]);
        answered += u32::from(outcome.code == Some(0));
    }
    answered
}

fn snapshot(folder: &Folder, asked: &Asked, words: &[&str]) -> Outcome {
    let pid = asked.pid();
    let mut all = vec!["snapshot", &pid];
    all.extend(words);
    folder.run(&all)
}

/// A target that does this, for so many seconds, is not disturbed by snapshots. A machine with
/// other work may not answer in that time, so it has a second try with more.
#[track_caller]
fn notices_nothing(kind: &str, seconds: u32) {
    for python in pythons_for(kind) {
        if !is_undisturbed(&python, kind, seconds) {
            assert!(
                is_undisturbed(&python, kind, 5 * seconds),
                "{kind} of {} was never asked",
                python.display()
            );
        }
    }
}

/// Whether the program was asked. It fails if the program noticed it.
#[track_caller]
fn is_undisturbed(python: &Path, kind: &str, seconds: u32) -> bool {
    let folder = Folder::new();
    let mut asked = Asked::begin(python, "asked.py", &[kind, &seconds.to_string()]);
    let answered = ask_again_and_again(&folder, &mut asked, 50);
    let (outcome, code) = asked.end();
    assert_eq!(
        (outcome.as_str(), code),
        ("nothing was noticed\n", Some(0)),
        "{kind} of {}",
        python.display()
    );
    answered > 0
}

#[test]
fn sleepers_sleep_as_long_as_they_wanted() {
    for kind in ["sleep", "nanosleep", "select", "poll", "epoll", "locks"] {
        notices_nothing(kind, 2);
    }
}

#[test]
fn calls_that_wait_are_not_interrupted() {
    for kind in [
        "epoll_for_ever",
        "accept",
        "pipe",
        "waits_for_child",
        "children",
    ] {
        notices_nothing(kind, 2);
    }
}

#[test]
fn no_signal_is_lost() {
    for kind in [
        "sigwait",
        "pause",
        "interrupted_read",
        "signals",
        "fault_handler",
    ] {
        notices_nothing(kind, 3);
    }
}

#[test]
fn registers_are_left_alone() {
    notices_nothing("floats", 3);
}

#[test]
fn a_program_in_the_allocator_or_the_loader_is_asked_elsewhere() {
    for kind in ["allocates", "loads", "collects"] {
        notices_nothing(kind, 4);
    }
}

#[test]
fn processes_and_threads_come_and_go() {
    for kind in ["forks", "forks_that_live", "spawns", "threads"] {
        notices_nothing(kind, 3);
    }
}
