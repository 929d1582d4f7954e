//! The list of all threads of an interpreter, for a reader in another process.
//!
//! The runtime has a list of interpreters, each of which has one of thread states. A state
//! identifies its thread: by the kernel's number from 3.11 on, before that by its `pthread_self`.

use crate::dict::in_large_dictionary;
use crate::layout::{Layout, Thread, ThreadList};
use crate::memory::{Memory, at};

/// The most states that are looked at, and the most interpreters.
const MOST: u32 = 1 << 16;
const MOST_INTERPRETERS: u32 = 1 << 10;

/// The thread of a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// Its `pthread_self`.
    Pointer(u64),
    /// The kernel's number.
    Number(u32),
}

impl ThreadList {
    /// The module of this name in the newest interpreter that has one.
    pub(crate) fn module(
        &self,
        layout: &Layout,
        memory: &mut impl Memory,
        runtime: u64,
        name: &[u8],
    ) -> Option<u64> {
        /// A program with more modules has imported those of the standard library before.
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

    /// The thread of a state.
    pub fn owner(&self, memory: &mut impl Memory, state: u64) -> Option<Owner> {
        match self.thread {
            Thread::Pointer(offset) => Some(Owner::Pointer(memory.word(at(state, offset))?)),
            Thread::Number(offset) => Some(Owner::Number(memory.word(at(state, offset))? as u32)),
        }
    }

    /// The place of a thread's `pthread_self` in its state.
    pub fn pointer_at(&self, state: u64) -> u64 {
        match self.thread {
            Thread::Pointer(offset) => at(state, offset),
            // `native_thread_id` stands right behind `thread_id`.
            Thread::Number(offset) => at(state, offset).wrapping_sub(8),
        }
    }

    /// Calls `visit` with every thread state and its thread. The lists may change meanwhile: then
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

/// The state that a thread runs with, of all of its own: the one that holds the lock, or else the
/// innermost one with frames.
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
            // Of those that wait, the innermost was begun last: the lists have the newest first.
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
        let list = Layout::of(12).unwrap().threads;
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
        let list = Layout::of(9).unwrap().threads;
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
}
