//! The agent comes into programs that are about to end: in their handlers and destructors, while a
//! thread ends all others, or while an interpreter goes. They end as they do without it.

use crate::program::Program;
use crate::targets::{cpp, pythons_for, source};

const OPTIONS: [&str; 3] = ["--inside", "--memory=exact", "--memory"];

fn check_native(times: u32) {
    let Some(program) = cpp("late_ends.cpp", &[]) else {
        return;
    };
    for how in [
        "return", "exit", "quick", "hard", "thread", "last", "fork", "signal",
    ] {
        let program = Program::new(&program).with(&[how]);
        program.run_entered_near_its_end(&OPTIONS, times);
    }
}

fn check_python(times: u32) {
    let options = [&OPTIONS[..], &["--trace", "--trace=lines"]].concat();
    for version in pythons_for("late_ends.py") {
        for how in ["exit", "hard", "thread", "exception", "again"] {
            let program = Program::new(&version.path).with(&[source("late_ends.py")]);
            let program = program.with(&[how]);
            program.run_entered_near_its_end(&options, times);
        }
    }
}

#[test]
fn programs_that_are_entered_while_they_end_do_not_notice() {
    check_native(6);
}

#[test]
fn interpreters_that_are_entered_while_they_end_do_not_notice() {
    check_python(5);
}

#[test]
#[ignore = "long: enters at a hundred moments of each end"]
fn programs_that_are_entered_at_many_moments_of_their_ends_do_not_notice() {
    check_native(100);
    check_python(100);
}
