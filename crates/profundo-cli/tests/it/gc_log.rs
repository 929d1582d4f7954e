//! The log of collections: how long it goes on, and what it is not written over.

use std::fs;

use profundo_testing::python;

use crate::machine::{Folder, Outcome};

/// Collects until the log in its folder has its last lines, then some more, and ends with a code of
/// its own.
const PROGRAM: &str = r#"
import gc, sys, time
began = time.monotonic()
while "at most" not in open("log").read():
    gc.collect()
    time.sleep(0.01)
    if time.monotonic() - began > 100:
        sys.exit("the log does not end")
for _ in range(20):
    gc.collect()
    time.sleep(0.01)
print("goes on")
sys.exit(7)
"#;

#[test]
fn a_program_goes_on_when_its_log_ends() {
    let Some(python) = python() else { return };
    let folder = Folder::new();
    folder.file("app.py", PROGRAM);
    let mut command = folder.profundo(&["gc-log", "-d", "0.5", "-o", "log", "--"]);
    let outcome = Outcome::of(command.arg(python).arg("app.py").output().unwrap());
    assert_eq!(
        (outcome.code, &*outcome.out),
        (Some(7), "goes on\n"),
        "{outcome:#?}"
    );
    let log = fs::read_to_string(folder.path().join("log")).unwrap();
    let (lines, sums): (Vec<&str>, Vec<&str>) =
        log.lines().partition(|line| line.contains("pause"));
    for line in &lines {
        let seconds = line.strip_prefix("GC:").unwrap().trim_start();
        let seconds: f64 = seconds.split(' ').next().unwrap().parse().unwrap();
        assert!(seconds <= 0.5, "{log}");
    }
    let whole = sums
        .iter()
        .find(|line| line.contains("held the program up"));
    let whole = whole.unwrap_or_else(|| panic!("{log}"));
    assert!(whole.contains(" of 0.50 s ("), "{log}");
    assert!(
        whole.starts_with(&format!("GC: {} collection", lines.len())),
        "{log}"
    );
}

#[test]
fn no_foreign_file_is_written_over() {
    let folder = Folder::new();
    folder.file("victim.py", "import gc\n");
    folder
        .run(&["gc-log", "-o", "victim.py", "--", "true"])
        .refused(2, "victim.py is there and is no log of collections");
    let text = fs::read_to_string(folder.path().join("victim.py")).unwrap();
    assert_eq!(text, "import gc\n");
    // An earlier log may go, and an empty file.
    folder.file("log", "");
    for _ in 0..2 {
        let outcome = folder.run(&["gc-log", "-o", "log", "--", "true"]);
        outcome.succeeded();
    }
}

#[test]
fn what_mends_a_refusal_is_the_same_command() {
    let folder = Folder::new();
    let own_pid = std::process::id();
    // Threads of other tests may end at any time.
    let (tell, told) = std::sync::mpsc::channel();
    let (end, ended) = std::sync::mpsc::channel::<()>();
    let own = std::thread::spawn(move || {
        tell.send(fs::read_link("/proc/thread-self").unwrap())
            .unwrap();
        _ = ended.recv();
    });
    let thread = told.recv().unwrap();
    let thread = thread.file_name().unwrap().to_str().unwrap();
    for verb in ["gc-log", "heap", "snapshot"] {
        let mend = format!("mend it with `profundo {verb} {own_pid}`");
        folder.run(&[verb, thread]).refused(1, &mend);
    }
    drop(end);
    own.join().unwrap();
}
