//! Programs that are asked for their objects while they run: nothing of theirs changes, and all objects are there.

mod broken;
mod known;
mod native;

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use crate::machine::{Folder, Said, skip};

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

    /// What it says in the end, and with which code it ends.
    fn end(mut self) -> (String, Option<i32>) {
        drop(self.child.stdin.take());
        let mut said = String::new();
        std::io::Read::read_to_string(&mut self.out, &mut said).unwrap();
        (said, self.child.wait().unwrap().code())
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

/// Every CPython of this machine that can be asked.
fn pythons() -> Vec<PathBuf> {
    let home = std::env::var_os("HOME").unwrap_or_default();
    let versions = Path::new(&home).join(".pyenv/versions");
    let is_known = |name: &str| {
        let minor = name.strip_prefix("3.").and_then(|it| it.split('.').next());
        minor.is_some_and(|it| it.parse().is_ok_and(|it: u32| (8..=13).contains(&it)))
    };
    let folders = fs::read_dir(versions).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = folders
        .filter(|entry| is_known(&entry.file_name().to_string_lossy()))
        .map(|entry| entry.path().join("bin/python3"))
        .filter(|path| path.exists())
        .collect();
    // 3.8 comes before 3.10.
    let minor = |path: &PathBuf| -> Option<u32> {
        let folder = path.parent()?.parent()?.file_name()?.to_str()?;
        folder.split('.').nth(1)?.parse().ok()
    };
    found.sort_by_key(minor);
    if found.is_empty() {
        skip("there is no Python of pyenv's");
    }
    found
}

/// Asks again and again until the program has ended; returns how often it answered.
fn ask_again_and_again(folder: &Folder, asked: &mut Asked, most: u32) -> u32 {
    let mut answered = 0;
    while answered < most && !asked.is_over() {
        let said = snapshot(folder, asked, &["-o", "x.heapsnapshot"]);
        answered += u32::from(said.code == Some(0));
    }
    answered
}

fn snapshot(folder: &Folder, asked: &Asked, words: &[&str]) -> Said {
    let pid = asked.pid();
    let mut all = vec!["snapshot", &pid];
    all.extend(words);
    folder.said(&all)
}

/// What a target does notices nothing, on these versions.
#[track_caller]
fn notices_nothing(pythons: &[PathBuf], kind: &str, seconds: &str) {
    for python in pythons {
        let folder = Folder::new();
        let mut asked = Asked::begin(python, "asked.py", &[kind, seconds]);
        let answered = ask_again_and_again(&folder, &mut asked, 50);
        let (said, code) = asked.end();
        let who = format!("{kind} of {}", python.display());
        assert_eq!(
            (said.as_str(), code),
            ("nothing was noticed\n", Some(0)),
            "{who}"
        );
        assert!(answered > 0, "{who} was never asked");
    }
}

/// The newest that is there, and the oldest.
fn both_ends() -> Vec<PathBuf> {
    let mut all = pythons();
    let last = all.pop();
    all.truncate(1);
    all.extend(last);
    all
}

#[test]
fn sleepers_sleep_as_long_as_they_wanted() {
    let all = pythons();
    notices_nothing(&all, "sleep", "2");
    for kind in ["nanosleep", "select", "poll", "epoll", "locks"] {
        notices_nothing(&both_ends(), kind, "2");
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
        notices_nothing(&both_ends(), kind, "2");
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
        notices_nothing(&both_ends(), kind, "3");
    }
}

#[test]
fn registers_are_left_alone() {
    notices_nothing(&both_ends(), "floats", "3");
}

#[test]
fn who_is_in_the_allocator_or_the_loader_is_asked_elsewhere() {
    for kind in ["allocates", "loads", "collects"] {
        notices_nothing(&both_ends(), kind, "4");
    }
}

#[test]
fn processes_and_threads_come_and_go() {
    for kind in ["forks", "forks_that_live", "spawns", "threads"] {
        notices_nothing(&both_ends(), kind, "3");
    }
}
