//! The names of asyncio tasks that block, read from outside while they do.

use profundo_cpython::{TaskName, flag, task_name};

use crate::interpreter::{Target, each, text};

fn check(target: &mut Target) {
    let program = include_str!("tasks.py");
    let count = target.names_of_what_blocks(program, "task", |interpreter, frames| {
        let is_coroutine = |at: &usize| frames[*at].flags & flag::COROUTINE != 0;
        let outermost = (0..frames.len()).rfind(is_coroutine).unwrap();
        let coroutine = frames[outermost].address;
        let memory = &mut interpreter.memory;
        let name = task_name(
            &interpreter.layout,
            memory,
            &frames[outermost + 1],
            coroutine,
        )?;
        Some(match name {
            TaskName::Text(shape) => text(memory, shape),
            TaskName::Number(number) => format!("Task-{number}"),
        })
    });
    assert!(count > 70, "{}: {count}", target.name);
}

#[test]
fn names_of_tasks() {
    for minor in 8..=15 {
        each(minor, check);
    }
}
