//! What a program sees of the world is the same with us in it.

use std::cell::RefCell;
use std::fs;

use crate::program::{Program, number};
use crate::targets::{c, pythons_for, scratch, source, tool};

#[test]
fn of_a_c_program() {
    let Some(target) = c("surroundings.c", &[]) else {
        return;
    };
    let program = Program::new(&target).with(&["one", "two words", ""]);
    program.same();
    let bare = Program::new(&target)
        .with(&["x"])
        .bare()
        .env("ONLY", "this one");
    bare.env("PATH", "/usr/bin:/bin").same();
    let own = Program::new(&target)
        .with(&["x"])
        .env("LD_PRELOAD", "libm.so.6");
    own.same();
    Program::new(&target).bare().same();
}

#[test]
fn of_a_python_program() {
    for python in pythons_for("surroundings") {
        for options in [&["-I"][..], &["-X", "dev"], &["-S", "-E"], &["-u", "-O"]] {
            let program = Program::new(&python.path).with(options);
            program.with(&[source("surroundings.py")]).same();
        }
    }
}

#[test]
fn limits() {
    let Some(target) = c("limits.c", &[]) else {
        return;
    };
    for which in ["descriptors", "memory", "time", "file", "pending", "locked"] {
        let recording = Program::new(&target).with(&[which]).same();
        recording.hot("burn_within_limits", 50.0);
    }
}

#[test]
fn a_limited_address_space_is_left_to_the_program() {
    let (Some(target), Some(shell)) = (c("room.c", &[]), tool("bash")) else {
        return;
    };
    // Nothing that others have left among the tables.
    let cache = scratch().join(format!("cache-{}", number()));
    let line = "ulimit -v 200000; exec \"$0\"";
    let program = Program::new(&shell)
        .with(&["-c".into(), line.into(), target.into_os_string()])
        .env("XDG_CACHE_HOME", &cache);
    // Without and with the profiler, in kilobytes: all, and what maps unwind tables.
    let sizes = RefCell::new(Vec::new());
    let (recording, _) = program.same_with(|mut outcome| {
        let numbers = outcome.stdout.split_whitespace();
        let numbers: Vec<u64> = numbers.map(|it| it.parse().unwrap()).collect();
        sizes.borrow_mut().push((numbers[0], numbers[1]));
        outcome.stdout.clear();
        outcome
    });
    recording.hot("burn_in_room", 80.0);
    let _ = fs::remove_dir_all(cache);
    let [(plain, _), (all, tables)] = sizes.borrow()[..] else {
        panic!("{sizes:?}");
    };
    let ours = all - tables - plain;
    assert!(ours <= 16 << 10, "{ours} KB are ours, beside the tables");
    // What there is of tables, and a sixteenth of the limit.
    assert!((1..=16 << 10).contains(&tables), "{tables} KB for tables");
}

#[test]
fn limits_from_the_start() {
    let (Some(target), Some(shell)) = (c("limits.c", &[]), tool("bash")) else {
        return;
    };
    for limit in [
        "-n 8",
        "-v 100000",
        "-s 256",
        "-f 0",
        "-l 0",
        "-i 0",
        "-t 20",
        "-c 0",
    ] {
        let line = format!("ulimit {limit}; exec \"$0\" started-with");
        let program =
            Program::new(&shell).with(&["-c".into(), line.into(), target.clone().into_os_string()]);
        program.same();
    }
}
