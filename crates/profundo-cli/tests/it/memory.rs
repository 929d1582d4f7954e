//! The memory that the agent costs a program.

use std::process::Command;

use profundo_testing::{python, skip};

use crate::machine::Folder;

/// Threads, calls, forks, and a library that is loaded late; then the memory by what is mapped.
const PROGRAM: &str = r#"
import os, threading, time

def work(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        sorted(str(i) for i in range(1000))

threads = [threading.Thread(target=work, args=(0.1,)) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
import decimal, sqlite3
if os.fork() == 0:
    os._exit(0)
os.wait()
path = ""
for line in open("/proc/self/smaps"):
    words = line.split()
    if "-" in words[0] and not words[0].endswith(":"):
        path = words[5] if len(words) > 5 else "anonymous"
    elif words[0] == "Rss:":
        print(words[1], path)
"#;

/// The resident kilobytes, without rings and tables.
fn resident(text: &str) -> u64 {
    let shared = ["/ring.", "/tables"];
    text.lines()
        .filter_map(|line| line.split_once(' '))
        .filter(|(_, path)| !shared.iter().any(|name| path.contains(name)))
        .filter_map(|(kilobytes, _)| kilobytes.parse::<u64>().ok())
        .sum()
}

#[test]
fn the_agent_takes_little_memory() {
    const MOST: u64 = 8 << 10;
    let Some(python) = python() else { return };
    let folder = Folder::new();
    let program = folder.file("memory.py", PROGRAM);
    let plain = Command::new(&python).arg(&program).output().unwrap();
    if !plain.status.success() {
        return skip("this Python lacks a module");
    }
    let ours = folder
        .profundo(&["record", "-o", "x.profundo", "--"])
        .args([&python, &program])
        .output()
        .unwrap();
    let (plain, ours) = (
        String::from_utf8(plain.stdout).unwrap(),
        String::from_utf8(ours.stdout).unwrap(),
    );
    // It was there.
    assert!(ours.contains("/ring.") && !plain.contains("/ring."));
    let (before, after) = (resident(&plain), resident(&ours));
    assert!(after < before + MOST, "{before} kB, then {after} kB");
}
