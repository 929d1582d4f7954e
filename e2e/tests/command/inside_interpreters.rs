//! The agent comes into Python programs with several interpreters, some of which have a lock of
//! their own (GIL): what it replaces may be in use by a thread whose lock it does not hold.

use std::process::Command;

use profundo_testing::{Python, pythons};

use crate::attach::Running;
use crate::inside_memory::{Recorder, ask, compare};
use crate::program::alone;
use crate::targets::source;

const FILE: &str = "late_interpreters.py";

/// The versions in which interpreters may have a lock of their own.
fn versions() -> impl Iterator<Item = &'static Python> {
    pythons().iter().filter(|python| python.version >= (3, 12))
}

fn start(python: &Python) -> Running {
    let mut command = Command::new(&python.path);
    command.args(["-W", "ignore"]).arg(source(FILE));
    Running::start(command)
}

/// Has the program work while the agent is there, so many times with each option.
fn check(python: &Python, times: usize) -> Option<()> {
    let _alone = alone();
    let mut running = start(python);
    let plain = ask(&mut running, "go");
    for option in [
        "--inside",
        "--memory",
        "--memory=exact",
        "--trace",
        "--trace=lines",
    ]
    .repeat(times)
    {
        let recorder = Recorder::start(&running.pid(), &[option])?;
        let mut counted = ask(&mut running, "go");
        assert_eq!(counted, plain, "{python:?}, {option}");
        let (recording, said) = recorder.end();
        assert!(!said.contains("stay"), "{said}");
        if option == "--memory=exact" {
            counted.remove("result");
            compare(&recording, FILE, &counted);
        }
    }
    let results = "[b'49900', b'49900', b'49900']\n".to_owned();
    assert_eq!(running.end(), (results, Some(7)), "{python:?}");
    Some(())
}

#[test]
fn interpreters_beside_the_main_one_go_on() {
    for python in versions() {
        if check(python, 1).is_none() {
            return;
        }
    }
}
