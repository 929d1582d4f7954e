//! The sets of calling instructions against the interpreter's own list of names.

use profundo_cpython::is_call;

use crate::interpreter::{Target, each};

fn check(target: &mut Target) {
    let mut running = target.run(include_str!("opcodes.py"), &[]);
    let mut calls = [false; 256];
    while let Some(line) = running.line() {
        let (name, number) = line.split_once(' ').unwrap();
        let number: u8 = number.parse().unwrap();
        let name = name.trim_start_matches("INSTRUMENTED_");
        calls[usize::from(number)] = (name.starts_with("CALL") || name.starts_with("PRECALL"))
            && !name.starts_with("CALL_INTRINSIC")
            && name != "CALL_FINALLY";
    }
    for (opcode, expected) in (0..=255).zip(calls) {
        let found = is_call(target.minor, opcode);
        assert_eq!(found, expected, "{}: {opcode}", target.name);
    }
    running.finish();
}

#[test]
fn calls_of_each_version() {
    for minor in 8..=15 {
        each(minor, check);
    }
}
