//! Programs that end while they are sampled: with the same code or signal, and the same output, as
//! without the profiler.

use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};

use crate::run::{Target, alone, on_each_engine};

const WAYS: &[&str] = &[
    "return",
    "exit",
    "_exit",
    "panic",
    "abort",
    "trap",
    "breakpoint",
    "term",
    "thread",
];

#[test]
fn every_end_is_as_without_the_profiler() {
    let end = |way: &str, how: &str| {
        let exits = Target::new(env!("CARGO_BIN_EXE_exits"));
        exits.with(&[way, how]).run()
    };
    let plainly: Vec<_> = WAYS.iter().map(|way| end(way, "plainly")).collect();
    on_each_engine(|engine| {
        for (way, plain) in WAYS.iter().zip(&plainly) {
            let sampled = end(way, engine);
            // The status also says if a core was written, which is chance.
            let ending = |status: std::process::ExitStatus| (status.code(), status.signal());
            assert_eq!(
                ending(sampled.status),
                ending(plain.status),
                "{way} on {engine}: {sampled:?}"
            );
            assert_eq!(sampled.stdout, plain.stdout, "{way} on {engine}");
        }
    });
}

#[test]
fn a_program_can_be_killed() {
    let _alone = alone();
    let mut child = Command::new(env!("CARGO_BIN_EXE_exits"))
        .args(["wait", "auto"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    output.read_line(&mut line).unwrap();
    assert_eq!(line, "about to end\n");
    child.kill().unwrap();
    assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGKILL));
}
