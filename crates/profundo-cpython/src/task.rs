//! The name of an asyncio task: the one that the program gave it, or the number of an unnamed task.
//!
//! An event loop that is written in Python runs a task by a `Handle`, whose `_run` calls the step
//! of the task, and that the coroutine. So below the outermost coroutine's frame is that of `_run`;
//! its first local variable is the `Handle`, which has the step, which has the task. A task's
//! coroutine lies at another place in each version, and sometimes in each release, but its name
//! always comes next: the coroutine is looked for by its address, which no other field there can
//! have. Loops that are not written in Python, and tasks that are, have no names here.

use crate::code::{TextShape, text};
use crate::layout::Layout;
use crate::layout::objects::{int, object, type_flag, type_object};
use crate::memory::{Memory, at, half};
use crate::method::Method;
use crate::walk::Frame;

/// The name of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskName {
    /// A text.
    Text(TextShape),
    /// `Task-` and this number: 3.12 and later make the text only when it is asked for.
    Number(u64),
}

/// Of the callback in a `Handle`: its slots are in alphabetical order, in every version.
const CALLBACK: u64 = 24;
/// Of the task in the callback of a `Handle`: the step of a task, or a method of it.
const TASKS: [u64; 2] = [16, 24];
/// The first place of a task's coroutine; its name is behind it.
const COROUTINE: u64 = 104;
const COROUTINES: usize = 9;

/// The function that each turn of a task begins with.
const TURN: Method = Method {
    name: b"_run",
    name_in_class: b"Handle._run",
    file: b"asyncio/events.py",
};

/// The name of the task whose outermost coroutine has the frame at an address; `caller` is that
/// frame's caller. `None` if `caller` is not asyncio's, or if anything is not as expected.
pub fn task_name(
    layout: &Layout,
    memory: &mut impl Memory,
    caller: &Frame,
    coroutine: u64,
) -> Option<TaskName> {
    // The callback of a `Handle` may be anything.
    memory.doubt(true);
    let name = find(layout, memory, caller, coroutine);
    memory.doubt(false);
    name
}

fn find(
    layout: &Layout,
    memory: &mut impl Memory,
    caller: &Frame,
    coroutine: u64,
) -> Option<TaskName> {
    let handle = TURN.object(layout, memory, caller.address, caller.code)?;
    let coroutine = owner_of(layout, memory, coroutine)?;
    let callback = memory.word(layout.field(handle, CALLBACK))?;
    TASKS.into_iter().find_map(|place| {
        let task = memory.word(layout.field(callback, place))?;
        let name = name_behind(layout, memory, task, coroutine)?;
        name_of(layout, memory, name)
    })
}

/// The coroutine of a frame.
fn owner_of(layout: &Layout, memory: &mut impl Memory, frame: u64) -> Option<u64> {
    match layout.objects.generator {
        // The field before the instruction's number.
        None => memory.word(at(frame, layout.frame.instruction - 8)),
        // The frame is the coroutine's last part.
        Some(generator) => Some(frame.wrapping_sub(u64::from(generator.frame))),
    }
}

/// The word behind a coroutine in a task, if the task has this coroutine.
fn name_behind(
    layout: &Layout,
    memory: &mut impl Memory,
    task: u64,
    coroutine: u64,
) -> Option<u64> {
    if task == 0 || !task.is_multiple_of(8) || coroutine == 0 {
        return None;
    }
    let first = layout.field(task, COROUTINE);
    (0..COROUTINES as u64).find_map(|index| {
        let place = first.wrapping_add(index * 8);
        (memory.word(place)? == coroutine).then(|| memory.word(place.wrapping_add(8)))?
    })
}

/// The value of a name: a text, or from 3.12 on a number.
fn name_of(layout: &Layout, memory: &mut impl Memory, name: u64) -> Option<TaskName> {
    let class = memory.word(layout.field(name, object::TYPE))?;
    let flags = memory.word(layout.field(class, type_object::FLAGS))?;
    if flags & type_flag::TEXT != 0 {
        return text(layout, memory, name).map(TaskName::Text);
    }
    if flags & type_flag::INT == 0 || !layout.objects.has_numbered_tasks {
        return None;
    }
    let tag = memory.word(layout.field(name, int::TAG))?;
    let digit = |memory: &mut _, index: u64| {
        half(memory, layout.field(name, int::DIGITS + 4 * index)).map(u64::from)
    };
    let number = match (tag & 3, tag >> 3) {
        (0, 1) => digit(memory, 0)?,
        (0, 2) => digit(memory, 0)? | digit(memory, 1)? << int::DIGIT_BITS,
        _ => return None,
    };
    Some(TaskName::Number(number))
}
