//! What a program sees of the world is the same with us in it.

use crate::program::Program;
use crate::targets::{c, pythons_for, source, tool};

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
