//! Which asynchronous task a sample belongs to, and what that is called.
//!
//! A task that has a name is known by it, too, so the name is read at each sample: it hangs on objects
//! that stay as they are as long as the thread holds the interpreter's lock. Without it another thread
//! could change them, and then their memory is copied by the kernel, which refuses what is not mapped.

use profundo_cpython::{Frame, Memory, TaskName, TextShape, task_name};
use profundo_wire::{TASK_NAME_HEAD_WORDS, TaskNameHead, TextKind, python_task};

use super::chain::{as_bytes, kind_of};
use super::interpreter::Interpreter;

/// Names are cut here, at their ends.
const LONGEST: u32 = 1024;

/// How much of a name tells it from others.
const TELLING: usize = 8;

/// An odd number with no pattern in it.
const MIX: u64 = 0x9E37_79B9_7F4A_7C15;

/// The outermost coroutine of a stack.
#[derive(Debug, Clone, Copy)]
pub(super) struct Outermost {
    /// The number of its code.
    pub code: u32,
    /// Its frame.
    pub frame: u64,
    /// What called it.
    pub caller: Option<Frame>,
}

/// The number of a task. Its name is written to the end of `free` if it was not told before; how
/// many words that took comes second.
pub(super) fn tell(
    interpreter: &Interpreter,
    memory: &mut impl Memory,
    task: &Outermost,
    free: &mut [u64],
) -> (u64, usize) {
    let caller = task.caller.as_ref();
    let name = caller
        .and_then(|caller| task_name(&interpreter.layout, memory, caller, task.frame))
        .and_then(|name| Some((name, telling(memory, name)?)));
    let Some((name, telling)) = name else {
        return (python_task(task.code, task.frame, 0), 0);
    };
    let number = python_task(task.code, task.frame, telling);
    // Among the code objects, which are known by other mixtures.
    let hash = (number ^ MIX).wrapping_mul(MIX).rotate_left(32);
    if number == 0 || interpreter.codes.find(hash).is_some() {
        return (number, 0);
    }
    let told = write(memory, number, name, free);
    if told != 0 {
        // Only whether it is there is ever asked, so one number does for all.
        interpreter.codes.keep(hash, 1);
    }
    (number, told)
}

/// A number that two names hardly ever share. `None` if the name cannot be read.
fn telling(memory: &mut impl Memory, name: TaskName) -> Option<u64> {
    let TextShape { address, bytes, .. } = match name {
        TaskName::Number(number) => return Some(mixed(number, 1)),
        TaskName::Text(text) => text,
    };
    let mut words = [0; TELLING];
    let read = memory.bytes(address, as_bytes(&mut words, bytes));
    read.then(|| {
        words
            .iter()
            .fold(u64::from(bytes), |sum, &word| mixed(word, sum))
    })
}

fn mixed(word: u64, with: u64) -> u64 {
    let product = u128::from(word ^ MIX) * u128::from(with.rotate_left(29) ^ MIX);
    (product as u64) ^ (product >> 64) as u64
}

/// Writes the name to the end of `free`; returns how many words it took.
fn write(memory: &mut impl Memory, task: u64, name: TaskName, free: &mut [u64]) -> usize {
    let mut number = [0; 32];
    let (kind, bytes) = match name {
        TaskName::Text(text) => (kind_of(text), text.bytes.min(LONGEST)),
        TaskName::Number(value) => (TextKind::One, spelt(value, &mut number)),
    };
    let name_is = (kind, bytes);
    let head = TaskNameHead {
        task,
        name: name_is,
    };
    let words = head.words();
    if words > free.len() / 4 {
        return 0;
    }
    let from = free.len() - words;
    let place = free.get_mut(from..).unwrap_or_default();
    let Some((head_words, place)) = place.split_first_chunk_mut::<TASK_NAME_HEAD_WORDS>() else {
        return 0;
    };
    *head_words = head.to_words();
    if let Some(last) = place.last_mut() {
        *last = 0;
    }
    let place = as_bytes(place, bytes);
    let is_there = match name {
        TaskName::Text(text) => memory.bytes(text.address, place),
        TaskName::Number(_) => {
            let from = number.get(..place.len()).unwrap_or_default();
            place.copy_from_slice(from);
            true
        }
    };
    if is_there { words } else { 0 }
}

/// Spells a task's number as asyncio does; returns how many bytes that took.
fn spelt(number: u64, out: &mut [u8; 32]) -> u32 {
    const PREFIX: &[u8] = b"Task-";
    let digits = number.checked_ilog10().unwrap_or(0) as usize + 1;
    let (prefix, rest) = out.split_at_mut(PREFIX.len());
    prefix.copy_from_slice(PREFIX);
    let mut left = number;
    for place in rest.iter_mut().take(digits).rev() {
        *place = b'0' + (left % 10) as u8;
        left /= 10;
    }
    (PREFIX.len() + digits) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_spelt() {
        for (number, expected) in [
            (0, "Task-0"),
            (7, "Task-7"),
            (10, "Task-10"),
            (12_345, "Task-12345"),
            (u64::MAX, "Task-18446744073709551615"),
        ] {
            let mut out = [0; 32];
            let bytes = spelt(number, &mut out) as usize;
            assert_eq!(&out[..bytes], expected.as_bytes());
        }
    }

    #[test]
    fn names_are_told_apart() {
        let mut seen = std::vec::Vec::new();
        for number in 0..1000 {
            seen.push(mixed(number, 1) & ((1 << 34) - 1));
        }
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), 1000);
    }
}
