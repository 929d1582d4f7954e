//! The list of all threads that an interpreter knows, for whoever looks at it from another process.
//!
//! The runtime has a list of interpreters, each of which has one of thread states. A state says which
//! thread it is of: by the kernel's number from 3.11 on, before that by what `pthread_self` says.

use crate::debug::{DEBUG_WORDS, Refusal};
use crate::layout::Layout;
use crate::memory::Memory;
use crate::thread::in_large_dictionary;
use crate::walk::at;

/// How many states are looked at, at most, and how many interpreters.
const MOST: u32 = 1 << 16;
const MOST_INTERPRETERS: u32 = 1 << 10;

/// Where the lists hang.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThreadList {
    /// In the runtime, of the newest interpreter.
    interpreters: u16,
    /// In an interpreter, of the one before it.
    next_interpreter: u16,
    /// In an interpreter, of its newest state.
    states: u16,
    /// In a state, of the one before it.
    next_state: u16,
    /// In a state, of its thread.
    thread: Thread,
    /// In an interpreter, of the dictionary `sys.modules`.
    modules: u16,
}

/// How a state says which thread it is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Thread {
    /// By what `pthread_self` says, here.
    Pointer(u16),
    /// By the kernel's number, here.
    Number(u16),
}

/// Whose a state is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// What `pthread_self` says there.
    Pointer(u64),
    /// The kernel's number.
    Number(u32),
}

const fn row(interpreters: u16, states: u16, thread: Thread, modules: u16) -> ThreadList {
    ThreadList {
        interpreters,
        next_interpreter: 0,
        states,
        next_state: 8,
        thread,
        modules,
    }
}

impl ThreadList {
    /// Of an interpreter of this minor version, from the words that `_PyRuntime` begins with,
    /// [`DEBUG_WORDS`] of them, which tell it from 3.13 on.
    pub fn of(minor: u8, words: &[u64]) -> Result<Self, Refusal> {
        match minor {
            8 => Ok(row(32, 8, Thread::Pointer(176), 56)),
            9 | 10 => Ok(row(32, 8, Thread::Pointer(176), 856)),
            11 => Ok(row(40, 16, Thread::Number(160), 888)),
            12 => Ok(row(40, 72, Thread::Number(144), 944)),
            13 | 14 => {
                let words = words.get(..DEBUG_WORDS).ok_or(Refusal::Offsets)?;
                let small = |index: usize| {
                    let offset = words.get(index).copied().ok_or(Refusal::Offsets)?;
                    u16::try_from(offset).map_err(|_| Refusal::Offsets)
                };
                // Of the thread state's part of the list.
                let thread = if minor == 13 { 19 } else { 22 };
                let modules = if minor == 13 { 11 } else { 12 };
                Ok(ThreadList {
                    interpreters: small(5)?,
                    next_interpreter: small(8)?,
                    states: small(9)?,
                    next_state: small(thread + 2)?,
                    thread: Thread::Number(small(thread + 6)?),
                    modules: small(modules)?,
                })
            }
            _ => Err(Refusal::Version),
        }
    }

    /// The module of this name in the newest interpreter that has one.
    pub(crate) fn module(
        &self,
        layout: &Layout,
        memory: &mut impl Memory,
        runtime: u64,
        name: &[u8],
    ) -> Option<u64> {
        /// A program that has more modules has imported those of the standard library before.
        const MOST_MODULES: u64 = 1 << 12;
        let mut interpreter = memory.word(at(runtime, self.interpreters))?;
        for _ in 0..MOST_INTERPRETERS {
            if interpreter == 0 {
                break;
            }
            let modules = memory.word(at(interpreter, self.modules))?;
            let found = in_large_dictionary(layout, memory, modules, name, MOST_MODULES);
            if let Some((_, module)) = found {
                return Some(module);
            }
            interpreter = memory.word(at(interpreter, self.next_interpreter))?;
        }
        None
    }

    /// Whose a state is.
    pub fn owner(&self, memory: &mut impl Memory, state: u64) -> Option<Owner> {
        match self.thread {
            Thread::Pointer(offset) => Some(Owner::Pointer(memory.word(at(state, offset))?)),
            Thread::Number(offset) => Some(Owner::Number(memory.word(at(state, offset))? as u32)),
        }
    }

    /// Calls `visit` with every thread state and whose it is. The lists may change meanwhile: then
    /// some are missed, or met twice.
    pub fn each(&self, memory: &mut impl Memory, runtime: u64, mut visit: impl FnMut(u64, Owner)) {
        let mut interpreter = memory.word(at(runtime, self.interpreters)).unwrap_or(0);
        let mut left = MOST;
        for _ in 0..MOST_INTERPRETERS {
            if interpreter == 0 {
                return;
            }
            let mut state = memory.word(at(interpreter, self.states)).unwrap_or(0);
            while state != 0 && left > 0 {
                left -= 1;
                let Some(owner) = self.owner(memory, state) else {
                    break;
                };
                visit(state, owner);
                state = memory.word(at(state, self.next_state)).unwrap_or(0);
            }
            interpreter = memory
                .word(at(interpreter, self.next_interpreter))
                .unwrap_or(0);
        }
    }
}

/// Whether a thread holds the lock, of the states that are its own the one that runs, and another
/// one whose frames may wait below: where a thread has one state, that one.
pub fn running_of(
    layout: &Layout,
    memory: &mut impl Memory,
    runtime: u64,
    states: &[u64],
) -> Option<u64> {
    match states {
        [] => None,
        [one] => Some(*one),
        several => {
            let holds = several.iter().find(|&&state| {
                crate::gil::is_holder(layout, memory, runtime, state) == Some(true)
            });
            if let Some(&state) = holds {
                return Some(state);
            }
            // Of those that wait, the innermost is the one that was begun last: the lists have
            // the newest first.
            let busy = several
                .iter()
                .find(|&&state| crate::running::has_frames(layout, memory, state) == Some(true));
            busy.or(several.last()).copied()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use std::vec::Vec;

    struct Words(BTreeMap<u64, u64>);

    impl Memory for Words {
        fn word(&mut self, address: u64) -> Option<u64> {
            self.0.get(&address).copied()
        }

        fn bytes(&mut self, _: u64, _: &mut [u8]) -> bool {
            false
        }
    }

    #[test]
    fn every_state_of_every_interpreter_is_met() {
        let list = ThreadList::of(12, &[]).unwrap();
        let words = [
            (0x1000 + 40, 0x2000),
            (0x2000, 0x3000),
            (0x2000 + 72, 0x4000),
            (0x3000, 0),
            (0x3000 + 72, 0x5000),
            (0x4000 + 144, 7),
            (0x4000 + 8, 0),
            (0x5000 + 144, 8),
            (0x5000 + 8, 0x6000),
            (0x6000 + 144, 9),
            (0x6000 + 8, 0),
        ];
        let mut memory = Words(words.into());
        let mut met = Vec::new();
        list.each(&mut memory, 0x1000, |state, owner| met.push((state, owner)));
        let expected = [
            (0x4000, Owner::Number(7)),
            (0x5000, Owner::Number(8)),
            (0x6000, Owner::Number(9)),
        ];
        assert_eq!(met, expected);
    }

    #[test]
    fn a_list_that_bites_its_tail_ends() {
        let list = ThreadList::of(9, &[]).unwrap();
        let words = [
            (0x1000 + 32, 0x2000),
            (0x2000, 0x2000),
            (0x2000 + 8, 0x4000),
            (0x4000 + 176, 7),
            (0x4000 + 8, 0x4000),
        ];
        let mut count = 0;
        list.each(&mut Words(words.into()), 0x1000, |_, owner| {
            assert_eq!(owner, Owner::Pointer(7));
            count += 1;
        });
        assert_eq!(count, MOST);
    }

    #[test]
    fn an_unknown_version_has_none() {
        assert_eq!(ThreadList::of(15, &[]), Err(Refusal::Version));
        assert_eq!(ThreadList::of(13, &[]), Err(Refusal::Offsets));
    }
}
