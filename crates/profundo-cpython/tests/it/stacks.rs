//! Stacks that an interpreter blocks in, read from outside while it does.

use profundo_cpython::{End, Frame, Memory, code_key, code_shape, flag, is_holder, lines};

use crate::interpreter::{Interpreter, Target, each, text};

/// A frame, as it is read or as the interpreter prints it.
#[derive(Debug, PartialEq, Eq, Clone)]
struct FrameFacts {
    name: String,
    file: String,
    line: i32,
    first_line: i32,
    column: Option<u32>,
    end_column: Option<u32>,
    is_coroutine: bool,
}

impl Interpreter {
    fn describe(&mut self, frame: Frame) -> FrameFacts {
        let layout = self.layout;
        let key = code_key(&layout, &mut self.memory, frame.code).unwrap();
        let shape = code_shape(&layout, &mut self.memory, &key).unwrap();
        let mut table = vec![0; shape.lines.bytes as usize];
        assert!(self.memory.bytes(shape.lines.address, &mut table));
        let position =
            lines::position(layout.minor, &table, shape.first_line, frame.offset).unwrap();
        FrameFacts {
            name: text(&mut self.memory, shape.name),
            file: text(&mut self.memory, shape.file),
            line: position.line.unwrap(),
            first_line: shape.first_line,
            column: position.column,
            end_column: position.end_column,
            is_coroutine: frame.flags & flag::COROUTINE != 0,
        }
    }
}

fn check(target: &mut Target) {
    let (mut running, mut interpreter) = target.interpret(include_str!("stacks.py"));
    let (mut stacks, mut printed) = (0, Vec::new());
    while let Some(line) = running.line() {
        let fields: Vec<&str> = line.split('\t').collect();
        match fields[..] {
            [
                "frame",
                name,
                file,
                line,
                first_line,
                _,
                column,
                end_column,
                flags,
            ] => {
                let flags: u32 = flags.parse().unwrap();
                printed.push(FrameFacts {
                    name: name.to_owned(),
                    file: file.to_owned(),
                    line: line.parse().unwrap(),
                    first_line: first_line.parse().unwrap(),
                    column: column.parse().ok(),
                    end_column: end_column.parse().ok(),
                    is_coroutine: flags & flag::COROUTINE != 0,
                });
            }
            ["stack", state] => {
                running.wait_until_blocked();
                check_stack(target, &mut interpreter, state.parse().unwrap(), &printed);
                stacks += 1;
                printed.clear();
                running.go_on();
            }
            ["done"] => break,
            _ => panic!("{line:?}"),
        }
    }
    assert!(stacks > 30, "{}: {stacks}", target.name);
    running.finish();
}

fn check_stack(target: &Target, interpreter: &mut Interpreter, state: u64, printed: &[FrameFacts]) {
    let (frames, entries, end) = interpreter.walk(state);
    assert_eq!(end, End::Whole, "{}: {printed:?}", target.name);
    let mut found: Vec<FrameFacts> = frames
        .iter()
        .map(|&frame| interpreter.describe(frame))
        .collect();
    let mut expected = printed.to_vec();
    // The innermost one has gone on within its line since it printed that.
    for leaf in [&mut found[0], &mut expected[0]] {
        (leaf.column, leaf.end_column) = (None, None);
    }
    assert_eq!(found, expected, "{}", target.name);
    assert!(frames[0].is_call, "{}: it is in os.read", target.name);

    assert_eq!(entries.last().unwrap().0, frames.len(), "{}", target.name);
    if target.minor < 11 {
        assert_eq!(entries.len(), frames.len());
    } else {
        let stacks: Vec<u64> = entries.iter().map(|(_, stack)| stack.unwrap()).collect();
        assert!(stacks.is_sorted(), "{}: {stacks:x?}", target.name);
        assert!(stacks[0] != 0, "{}", target.name);
        // The functions that C code called are the first of their loops.
        for (before, function) in found.windows(2).map(|pair| (&pair[0], &pair[1])) {
            if function.name == "through_sorted" {
                let at = found.iter().position(|other| other == before).unwrap();
                assert!(entries.iter().any(|&(count, _)| count == at + 1));
            }
        }
    }
    let Interpreter {
        layout,
        memory,
        runtime,
        ..
    } = interpreter;
    let holds = is_holder(layout, memory, *runtime, state);
    assert_eq!(holds, Some(false), "{}: it blocks", target.name);
}

macro_rules! versions {
    ($($name:ident $minor:literal)*) => {
        $(
            #[test]
            fn $name() {
                each($minor, check);
            }
        )*
    };
}

versions! {
    stacks_of_3_8 8
    stacks_of_3_9 9
    stacks_of_3_10 10
    stacks_of_3_11 11
    stacks_of_3_12 12
    stacks_of_3_13 13
    stacks_of_3_14 14
    stacks_of_3_15 15
}
