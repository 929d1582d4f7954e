//! The environment that a program sees: its arguments, variables, descriptors and limits are the
//! same under the profiler.

use std::cell::RefCell;
use std::fs;

use profundo_testing::tool;

use crate::program::{Program, number};
use crate::targets::{c, pythons_for, scratch, source};

#[test]
fn of_a_c_program() {
    let Some(target) = c("surroundings.c", &[]) else {
        return;
    };
    let program = Program::new(&target).with(&["one", "two words", ""]);
    program.run_both_ways();
    let bare = Program::new(&target)
        .with(&["x"])
        .bare()
        .env("ONLY", "this one");
    bare.env("PATH", "/usr/bin:/bin").run_both_ways();
    let preloading = Program::new(&target)
        .with(&["x"])
        .env("LD_PRELOAD", "libm.so.6");
    preloading.run_both_ways();
    Program::new(&target).bare().run_both_ways();
}

#[test]
fn of_a_python_program() {
    for python in pythons_for("surroundings") {
        for options in [&["-I"][..], &["-X", "dev"], &["-S", "-E"], &["-u", "-O"]] {
            let program = Program::new(&python.path).with(options);
            program.with(&[source("surroundings.py")]).run_both_ways();
        }
    }
}

#[test]
fn limits() {
    let Some(target) = c("limits.c", &[]) else {
        return;
    };
    // Unwind tables of other tests would take a part of the address space.
    let cache = scratch().join(format!("cache-{}", number()));
    for which in ["descriptors", "memory", "time", "file", "pending", "locked"] {
        let program = Program::new(&target).env("XDG_CACHE_HOME", cache.to_str().unwrap());
        let recording = program.with(&[which]).run_both_ways();
        recording.assert_share("burn_within_limits", 50.0);
    }
    fs::remove_dir_all(cache).unwrap();
}

#[test]
fn a_limited_address_space_is_left_to_the_program() {
    let (Some(target), Some(shell)) = (c("room.c", &[]), tool("bash")) else {
        return;
    };
    // An empty cache, without the unwind tables of other tests.
    let cache = scratch().join(format!("cache-{}", number()));
    let line = "ulimit -v 200000; exec \"$0\"";
    let program = Program::new(&shell)
        .with(&["-c".into(), line.into(), target.into_os_string()])
        .env("XDG_CACHE_HOME", &cache);
    // Last without and with the profiler, in kilobytes: all mappings, and those of unwind tables.
    let sizes = RefCell::new(Vec::new());
    let (recording, _) = program.run_both_ways_with(|mut outcome| {
        let numbers = outcome.stdout.split_whitespace();
        let numbers: Vec<u64> = numbers.map(|number| number.parse().unwrap()).collect();
        sizes.borrow_mut().push((numbers[0], numbers[1]));
        outcome.stdout.clear();
        outcome
    });
    recording.assert_share("burn_in_room", 80.0);
    let _ = fs::remove_dir_all(cache);
    let [.., (plain, _), (all, tables)] = sizes.borrow()[..] else {
        panic!("{sizes:?}");
    };
    let agent = all - tables - plain;
    assert!(
        agent <= 16 << 10,
        "{agent} KB are the agent's, beside the tables"
    );
    // There are tables, and they take at most about a twelfth of the limit.
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
        program.run_both_ways();
    }
}
