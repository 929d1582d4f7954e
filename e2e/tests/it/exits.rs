//! Programs that end while they are sampled end as they do without: by the same code or signal,
//! with the same output.

use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

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
fn every_way_to_end_is_as_it_was() {
    let end = |way: &str, how: &str| {
        let exits = Target::new(env!("CARGO_BIN_EXE_exits"));
        exits.with(&[way, how]).run()
    };
    let plainly: Vec<_> = WAYS.iter().map(|way| end(way, "plainly")).collect();
    on_each_engine(|engine| {
        for (way, plain) in WAYS.iter().zip(&plainly) {
            let sampled = end(way, engine);
            // Where a core was written is a matter of chance.
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
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    thread::sleep(Duration::from_millis(100));
    child.kill().unwrap();
    assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGKILL));
}
