//! The global lock: its holder and its place.

use crate::layout::{Collecting, Gil, Layout};
use crate::memory::{Memory, at, half};

/// The offsets of the last holder and of the flag in the lock of 3.12 and later.
const LAST_HOLDER: u64 = 8;
const LOCKED: u64 = 16;
/// By how much they are larger in a build that can run without the lock, which begins with a flag
/// of 32 bits that says whether it is used.
const ENABLED: u64 = 8;

/// Whether the thread of this state holds the lock; `None` if that is not known. `runtime` is the
/// address of `_PyRuntime`.
pub fn is_holder(
    layout: &Layout,
    memory: &mut impl Memory,
    runtime: u64,
    state: u64,
) -> Option<bool> {
    match layout.gil {
        Gil::Runtime { holder } => {
            let holder = memory.word(at(runtime, holder))?;
            Some(holder == state)
        }
        Gil::Interpreter { lock } => {
            let interpreter = memory.word(at(state, layout.state.interpreter))?;
            let lock = memory.word(at(interpreter, lock))?;
            is_holder_of(memory, lock, state)
        }
        Gil::Optional { lock } => {
            let interpreter = memory.word(at(state, layout.state.interpreter))?;
            let lock = memory.word(at(interpreter, lock))?;
            match half(memory, lock)? {
                0 => None,
                _ => is_holder_of(memory, lock.wrapping_add(ENABLED), state),
            }
        }
    }
}

fn is_holder_of(memory: &mut impl Memory, lock: u64, state: u64) -> Option<bool> {
    let holder = memory.word(lock.wrapping_add(LAST_HOLDER))?;
    let locked = half(memory, lock.wrapping_add(LOCKED))?;
    Some(locked == 1 && holder == state)
}

/// Whether the interpreter of a state collects garbage; `None` if that is not known.
pub fn is_collecting(
    layout: &Layout,
    memory: &mut impl Memory,
    runtime: u64,
    state: u64,
) -> Option<bool> {
    let base = match layout.collecting {
        Collecting::Unknown => return None,
        Collecting::Runtime(_) => runtime,
        Collecting::Interpreter(_) => memory.word(at(state, layout.state.interpreter))?,
    };
    let (Collecting::Runtime(offset) | Collecting::Interpreter(offset)) = layout.collecting else {
        return None;
    };
    Some(half(memory, at(base, offset))? != 0)
}

/// Whether an address may lie in the lock that all interpreters share; `None` where each has a lock
/// of its own. The runtime has other locks too, but no thread waits long for them.
pub fn is_in_shared_lock(layout: &Layout, runtime: u64, address: u64) -> Option<bool> {
    /// The largest size of `_PyRuntime`.
    const RUNTIME: u64 = 1 << 14;
    match layout.gil {
        Gil::Runtime { .. } => Some(address.wrapping_sub(runtime) < RUNTIME),
        Gil::Interpreter { .. } | Gil::Optional { .. } => None,
    }
}

/// Whether an address lies in the lock of the interpreter that a state belongs to; false where that
/// lies in the runtime.
pub fn is_in_lock(layout: &Layout, memory: &mut impl Memory, state: u64, address: u64) -> bool {
    /// The size of a lock: four words, two conditions and two mutexes of the C library's.
    const SIZE: u64 = 208;
    let (Gil::Interpreter { lock } | Gil::Optional { lock }) = layout.gil else {
        return false;
    };
    let interpreter = memory.word(at(state, layout.state.interpreter));
    let lock = interpreter.and_then(|interpreter| memory.word(at(interpreter, lock)));
    lock.is_some_and(|lock| address.wrapping_sub(lock) < SIZE)
}
