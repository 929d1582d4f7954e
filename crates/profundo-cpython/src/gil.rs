//! Who holds the global lock, and where it lies.

use crate::layout::{Collecting, Gil, Layout};
use crate::memory::{Memory, half};

/// Of the last holder and of the flag in the lock of 3.12 and later.
const LAST_HOLDER: u64 = 8;
const LOCKED: u64 = 16;

/// Whether the thread of this state holds the lock; `None` if it cannot be told. `runtime` is the
/// address of `_PyRuntime`.
pub fn is_holder(
    layout: &Layout,
    memory: &mut impl Memory,
    runtime: u64,
    state: u64,
) -> Option<bool> {
    match layout.gil {
        Gil::Runtime { holder } => {
            let holder = memory.word(runtime.wrapping_add(u64::from(holder)))?;
            Some(holder == state)
        }
        Gil::Interpreter { lock } => {
            let at = state.wrapping_add(u64::from(layout.interpreter));
            let interpreter = memory.word(at)?;
            let lock = memory.word(interpreter.wrapping_add(u64::from(lock)))?;
            let holder = memory.word(lock.wrapping_add(LAST_HOLDER))?;
            let locked = half(memory, lock.wrapping_add(LOCKED))?;
            Some(locked == 1 && holder == state)
        }
    }
}

/// Whether the interpreter of a state collects garbage; `None` if it cannot be told.
pub fn is_collecting(
    layout: &Layout,
    memory: &mut impl Memory,
    runtime: u64,
    state: u64,
) -> Option<bool> {
    let base = match layout.collecting {
        Collecting::Unknown => return None,
        Collecting::Runtime(_) => runtime,
        Collecting::Interpreter(_) => {
            memory.word(state.wrapping_add(u64::from(layout.interpreter)))?
        }
    };
    let (Collecting::Runtime(offset) | Collecting::Interpreter(offset)) = layout.collecting else {
        return None;
    };
    Some(half(memory, base.wrapping_add(u64::from(offset)))? != 0)
}

/// Whether an address lies in the lock of the interpreter that a state belongs to; false where that
/// lies in the runtime.
pub fn is_in_lock(layout: &Layout, memory: &mut impl Memory, state: u64, address: u64) -> bool {
    /// Of a lock: four words, two conditions and two mutexes of the C library's.
    const SIZE: u64 = 208;
    let Gil::Interpreter { lock } = layout.gil else {
        return false;
    };
    let interpreter = memory.word(state.wrapping_add(u64::from(layout.interpreter)));
    let lock =
        interpreter.and_then(|interpreter| memory.word(interpreter.wrapping_add(u64::from(lock))));
    lock.is_some_and(|lock| address.wrapping_sub(lock) < SIZE)
}
