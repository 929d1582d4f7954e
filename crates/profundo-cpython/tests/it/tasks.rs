//! The names of asyncio tasks that block, read from outside while they do.

use std::ops::ControlFlow;

use profundo_cpython::{
    DEBUG_WORDS, End, Frame, Memory, Start, Step, TaskName, flag, layout_from_debug_offsets,
    task_name, walk,
};

use crate::interpreter::{Remote, Target, each, text};

fn check(target: &mut Target) {
    let mut running = target.run(include_str!("tasks.py"), &[]);
    let line = running.line().unwrap();
    let mut numbers = line.split('\t').skip(1).map(|word| word.parse().unwrap());
    let (code_type, runtime): (u64, u64) = (numbers.next().unwrap(), numbers.next().unwrap());
    let mut memory: Remote = running.memory();
    let words: Vec<u64> = (0..DEBUG_WORDS as u64)
        .map(|index| memory.word(runtime + index * 8).unwrap())
        .collect();
    let layout = layout_from_debug_offsets(target.minor, &words).unwrap();
    let (mut has_names, mut count) = (true, 0);
    while let Some(line) = running.line() {
        let fields: Vec<&str> = line.split('\t').collect();
        let (state, name) = match fields[..] {
            ["task", state, name] => (state.parse().unwrap(), name),
            ["none"] => {
                has_names = false;
                continue;
            }
            ["done"] => break,
            _ => panic!("{line:?}"),
        };
        // It says so before it blocks; it is there soon.
        std::thread::sleep(std::time::Duration::from_millis(10));
        let start = Start {
            state,
            code_type,
            ..Start::default()
        };
        let mut outermost: Option<(Frame, Option<Frame>)> = None;
        let end = walk(&layout, &mut memory, start, |_, step| {
            if let Step::Frame(frame) = step {
                if frame.flags & flag::COROUTINE != 0 {
                    outermost = Some((frame, None));
                } else if let Some((_, caller)) = &mut outermost {
                    caller.get_or_insert(frame);
                }
            }
            ControlFlow::Continue(())
        });
        assert_eq!(end, End::Whole, "{}: {name}", target.name);
        let (coroutine, caller) = outermost.unwrap();
        let found = task_name(&layout, &mut memory, &caller.unwrap(), coroutine.address);
        let found = found.map(|name| match name {
            TaskName::Text(shape) => text(&mut memory, shape),
            TaskName::Number(number) => format!("Task-{number}"),
        });
        let expected = has_names.then(|| name.to_owned());
        assert_eq!(found, expected, "{}: line {count}", target.name);
        count += 1;
        running.go_on();
    }
    assert!(count > 70, "{}: {count}", target.name);
    running.finish();
}

#[test]
fn names_of_tasks() {
    for minor in 8..=14 {
        each(minor, check);
    }
}
