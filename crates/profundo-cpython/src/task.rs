//! What an asyncio task is called: the name that its maker gave it, or the number of one that has none.
//!
//! An event loop that is written in Python runs a task by a `Handle`, whose `_run` calls the step of the
//! task, and that the coroutine. So below the outermost coroutine's frame is that of `_run`; its first
//! local variable is the `Handle`, which has the step, which has the task. Where in a task its
//! coroutine lies is another place in each version, and sometimes in each release, but its name always
//! comes next: the coroutine is looked for by its address, which nothing else there can have. Loops
//! that are not written in Python, and tasks that are, have no names here.

use crate::code::{TextShape, text};
use crate::layout::{Chain, Layout};
use crate::memory::{Memory, half};
use crate::method::{Method, TYPE};
use crate::walk::{Frame, at};

/// What a task is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskName {
    /// By this text.
    Text(TextShape),
    /// `Task-` and this number: 3.12 and later make the text only when somebody wants it.
    Number(u64),
}

/// Of the callback in a `Handle`: its slots are in the order of the alphabet, in every version.
const CALLBACK: u64 = 24;
/// Of the task in what a `Handle` calls: the step of a task, or a method of it.
const TASKS: [u64; 2] = [16, 24];
/// Where a task's coroutine may lie, and its name behind it.
const COROUTINE: u64 = 104;
const COROUTINES: usize = 9;

/// Of the flags in a type.
const TYPE_FLAGS: u64 = 168;
const IS_NUMBER: u32 = 1 << 24;
const IS_TEXT: u32 = 1 << 28;

/// The function that each turn of a task begins with.
const TURN: Method = Method {
    name: b"_run",
    name_in_class: b"Handle._run",
    file: b"asyncio/events.py",
};

/// The name of the task whose outermost coroutine has the frame at an address, which this one called.
/// `None` if `caller` is not asyncio's, or where anything is not as it should be.
pub fn task_name(
    layout: &Layout,
    memory: &mut impl Memory,
    caller: &Frame,
    coroutine: u64,
) -> Option<TaskName> {
    // What is called by a `Handle` may be anything.
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
    let callback = memory.word(handle.wrapping_add(CALLBACK))?;
    TASKS.into_iter().find_map(|place| {
        let task = memory.word(callback.wrapping_add(place))?;
        let name = name_behind(memory, task, coroutine)?;
        name_of(layout, memory, name)
    })
}

/// The coroutine that a frame is of.
fn owner_of(layout: &Layout, memory: &mut impl Memory, frame: u64) -> Option<u64> {
    match layout.chain {
        // The field before the instruction's number.
        Chain::FrameObjects { .. } => memory.word(at(frame, layout.instruction - 8)),
        // The frame is the coroutine's last part.
        Chain::Marked { .. } => Some(frame.wrapping_sub(80)),
        Chain::Shims { .. } | Chain::Direct { .. } => Some(frame.wrapping_sub(72)),
    }
}

/// What stands behind a coroutine in a task, if it is one that has this coroutine.
fn name_behind(memory: &mut impl Memory, task: u64, coroutine: u64) -> Option<u64> {
    if task == 0 || !task.is_multiple_of(8) || coroutine == 0 {
        return None;
    }
    let first = task.wrapping_add(COROUTINE);
    (0..COROUTINES as u64).find_map(|index| {
        let place = first.wrapping_add(index * 8);
        (memory.word(place)? == coroutine).then(|| memory.word(place.wrapping_add(8)))?
    })
}

/// What a name says: a text, or from 3.12 on a number.
fn name_of(layout: &Layout, memory: &mut impl Memory, name: u64) -> Option<TaskName> {
    /// In a number: how many digits, above its sign and more; and the digits.
    const TAG: u64 = 16;
    const DIGITS: u64 = 24;
    const DIGIT_BITS: u32 = 30;
    let class = memory.word(name.wrapping_add(TYPE))?;
    let flags = half(memory, class.wrapping_add(TYPE_FLAGS))?;
    if flags & IS_TEXT != 0 {
        return text(layout, memory, name).map(TaskName::Text);
    }
    if flags & IS_NUMBER == 0 || layout.minor < 12 {
        return None;
    }
    let tag = memory.word(name.wrapping_add(TAG))?;
    let digit = |memory: &mut _, index: u64| {
        half(memory, name.wrapping_add(DIGITS + 4 * index)).map(u64::from)
    };
    let number = match (tag & 3, tag >> 3) {
        (0, 1) => digit(memory, 0)?,
        (0, 2) => digit(memory, 0)? | digit(memory, 1)? << DIGIT_BITS,
        _ => return None,
    };
    Some(TaskName::Number(number))
}
