//! The asynchronous task of a sample, and its name.
//!
//! A name is a part of its task's identity, so it is read at each sample: it hangs on objects that
//! do not change as long as the thread holds the interpreter's lock. Without it another thread
//! could change them, and then their memory is copied by the kernel, which refuses unmapped
//! addresses.

use profundo_cpython::{Frame, Layout, Memory, TaskName, TextShape, task_name};
use profundo_wire::{TASK_NAME_HEAD_WORDS, TaskNameHead, TextKind, python_task};

use super::interpreter::Interpreter;
use super::text::{as_bytes, kind_of};

/// Names are cut here, at their ends.
const LONGEST: u32 = 1024;

/// The number of words of a name that its hash covers.
const HASHED_WORDS: usize = 8;

/// An odd number with no pattern in it.
const MIX: u64 = 0x9E37_79B9_7F4A_7C15;

/// The outermost coroutine of a stack.
#[derive(Debug, Clone, Copy)]
pub struct Outermost {
    /// The number of its code.
    pub code: u32,
    /// Its frame.
    pub frame: u64,
    /// Its caller.
    pub caller: Option<Frame>,
}

/// A task, as found on a stack.
#[derive(Debug, Clone, Copy)]
pub struct Task {
    /// Its number.
    pub number: u64,
    /// Its own name, if it has one.
    pub name: Option<TaskName>,
}

impl Task {
    /// The task of a stack's outermost coroutine.
    pub fn of(layout: &Layout, memory: &mut impl Memory, coroutine: &Outermost) -> Self {
        let caller = coroutine.caller.as_ref();
        let name = caller
            .and_then(|caller| task_name(layout, memory, caller, coroutine.frame))
            .and_then(|name| Some((name, name_hash(memory, name)?)));
        let hash = name.map_or(0, |(_, hash)| hash);
        Self {
            number: python_task(coroutine.code, coroutine.frame, hash),
            name: name.map(|(name, _)| name),
        }
    }

    /// Its hash among those of code objects, which are mixed in another way.
    pub fn hash(&self) -> u64 {
        (self.number ^ MIX).wrapping_mul(MIX).rotate_left(32)
    }

    /// Writes its name to the end of `free`; returns the number of words used.
    pub fn write(&self, memory: &mut impl Memory, free: &mut [u64]) -> usize {
        match self.name {
            Some(name) if self.number != 0 => write(memory, self.number, name, free),
            _ => 0,
        }
    }
}

/// The number of a task, and the number of words used: its name is written to the end of `free` if
/// it is new.
pub(super) fn write_if_new(
    interpreter: &Interpreter,
    memory: &mut impl Memory,
    coroutine: &Outermost,
    free: &mut [u64],
) -> (u64, usize) {
    let task = Task::of(&interpreter.layout, memory, coroutine);
    let hash = task.hash();
    if task.name.is_none() || interpreter.codes.find(hash).is_some() {
        return (task.number, 0);
    }
    let used = task.write(memory, free);
    if used != 0 {
        // Only its presence is ever checked, so one number does for all.
        interpreter.codes.keep(hash, 1);
    }
    (task.number, used)
}

/// A number that two names hardly ever share. `None` if the name cannot be read.
fn name_hash(memory: &mut impl Memory, name: TaskName) -> Option<u64> {
    let TextShape { address, bytes, .. } = match name {
        TaskName::Number(number) => return Some(mixed(number, 1)),
        TaskName::Text(text) => text,
    };
    let mut words = [0; HASHED_WORDS];
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

/// Writes the name to the end of `free`; returns the number of words used.
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

/// Spells a task's number as asyncio does; returns the number of bytes used.
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
    fn names_have_different_hashes() {
        let mut seen = std::vec::Vec::new();
        for number in 0..1000 {
            seen.push(mixed(number, 1) & ((1 << 34) - 1));
        }
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), 1000);
    }
}
