//! The peek takes a snapshot as well, if the environment asks for it.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, Stdio};

use profundo::{peek, set_peek_duration};

use crate::{folder, turn};

/// Set in the environment of the program that is peeked at.
const NAME: &str = "PROFUNDO_TEST_PEEKED_AT";

/// This binary is started again, and runs this test alone.
#[test]
fn stands_for_a_program() {
    if std::env::var_os(NAME).is_none() {
        return;
    }
    peek::install().unwrap();
    set_peek_duration(0.1).unwrap();
    let kept = vec![String::from("a secret that is kept"); 3];
    let mut out = std::io::stdout();
    writeln!(out, "ready").unwrap();
    out.flush().unwrap();
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
    assert_eq!(kept.len(), 3);
}

#[test]
fn a_peek_takes_a_snapshot_if_it_is_to() {
    const SAVED: &str = "Heap snapshot saved to `";
    let _turn = turn();
    let folder = folder();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["peek::stands_for_a_program", "--exact", "--nocapture"])
        .env(NAME, "1")
        .env("PROFUNDO_PEEK_HEAP_SNAPSHOT", "1")
        .current_dir(folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(said.any(|line| line.unwrap().ends_with("ready")));
    // SAFETY: our own child, which we have not waited for, and which has a handler for it.
    assert_eq!(unsafe { libc::kill(child.id() as i32, libc::SIGUSR1) }, 0);
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let saved = lines.find_map(|line| {
        let line = line.unwrap();
        let (_, path) = line.split_once(SAVED)?;
        Some(path.split('`').next().unwrap().to_owned())
    });
    let saved = saved.expect("where it is");
    let report = lines.any(|line| line.unwrap().contains("Overhead ╎"));
    assert!(report, "the report comes as well");
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
    let text = std::fs::read(folder.join(saved)).unwrap();
    assert!(profundo_formats::heapsnapshot::is_heapsnapshot(&text));
    let secret = b"a secret that is kept";
    assert!(!text.windows(secret.len()).any(|bytes| bytes == secret));
}
