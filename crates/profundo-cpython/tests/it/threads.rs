//! The names of threads that block, read from outside while they do.

use profundo_cpython::thread_name;

use crate::interpreter::{Target, each, text};

fn check(target: &mut Target) {
    let program = include_str!("threads.py");
    let count = target.names_of_what_blocks(program, "thread", |interpreter, frames| {
        let outermost = frames.last().unwrap();
        let memory = &mut interpreter.memory;
        let (frame, code) = (outermost.address, outermost.code);
        let shape = thread_name(&interpreter.layout, memory, frame, code)?;
        Some(text(memory, shape))
    });
    assert!(count > 50, "{}: {count}", target.name);
}

#[test]
fn names_of_threads() {
    for minor in 8..=15 {
        each(minor, check);
    }
}
