//! The thread state that a thread runs with, where a program has several interpreters.
//!
//! A thread that runs code in another interpreter has a state in each of them, and the code that
//! asked for it waits below. From 3.12 on the state that the interpreter knows the thread by is the
//! one that ran last. Before, it is the first that the thread had; there the state of the lock's
//! holder is the better answer, if the thread is known to hold it.

use crate::layout::{Chain, Gil, Layout};
use crate::memory::{Memory, at};

/// The states of a thread at its former samples. Zeros at first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct States {
    /// The state that it ran with last; before 3.12 only if that was not the one it is known by.
    pub last: u64,
    /// From 3.12 on, the last one before that in another interpreter.
    pub before: u64,
}

/// The facts of a thread.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Known {
    /// The result of `PyGILState_GetThisThreadState`; not 0.
    pub state: u64,
    /// The result of `pthread_self`.
    pub thread: u64,
    /// Whether it was stopped in the evaluation loop, so that it holds the lock.
    pub is_in_loop: bool,
}

/// The state that a thread runs with, and one in another interpreter whose frames may be below
/// those of the first, or 0. That one may have been freed, or it is above, and then it has no
/// frames. `runtime` is the address of `_PyRuntime`.
#[inline]
pub fn running(
    layout: &Layout,
    memory: &mut impl Memory,
    runtime: u64,
    known: Known,
    states: &mut States,
) -> (u64, u64) {
    match layout.gil {
        Gil::Interpreter { .. } | Gil::Optional { .. } => {
            if known.state != states.last {
                // Either the state that the thread returns to or the one that it leaves was
                // waiting: the one without frames was not.
                if is_elsewhere(layout, memory, states.last, known.state) {
                    states.before = states.last;
                }
                states.last = known.state;
            }
            let before = states.before;
            let below = is_elsewhere(layout, memory, before, known.state);
            (known.state, if below { before } else { 0 })
        }
        Gil::Runtime { holder } => {
            let holder = memory.word(at(runtime, holder)).unwrap_or(0);
            if holder == known.state {
                states.last = 0;
                return (holder, 0);
            }
            if let Some(other) = other(layout, memory, holder, known, states.last) {
                states.last = other;
                return (other, known.state);
            }
            (known.state, 0)
        }
    }
}

/// The state in another interpreter that a thread runs with, before 3.12.
fn other(
    layout: &Layout,
    memory: &mut impl Memory,
    holder: u64,
    known: Known,
    last: u64,
) -> Option<u64> {
    if is_elsewhere(layout, memory, holder, known.state)
        && (known.is_in_loop
            || holder == last
            || word_in_doubt(memory, at(holder, layout.state.thread))? == known.thread)
    {
        return Some(holder);
    }
    // It has released the lock, and may be anywhere. If the other interpreter still has frames,
    // they are above those in this one.
    (last != 0 && has_frames(layout, memory, last)?).then_some(last)
}

/// A word of memory that another thread may free at any time.
fn word_in_doubt(memory: &mut impl Memory, address: u64) -> Option<u64> {
    memory.doubt(true);
    let word = memory.word(address);
    memory.doubt(false);
    word
}

/// Whether two states are in different interpreters. The first one may have been freed, or be 0.
fn is_elsewhere(layout: &Layout, memory: &mut impl Memory, one: u64, other: u64) -> bool {
    if one == 0 {
        return false;
    }
    let one = word_in_doubt(memory, at(one, layout.state.interpreter));
    let other = memory.word(at(other, layout.state.interpreter));
    one.zip(other).is_some_and(|(one, other)| one != other)
}

pub(crate) fn has_frames(layout: &Layout, memory: &mut impl Memory, state: u64) -> Option<bool> {
    let frame = match layout.chain {
        Chain::FrameObjects { frame, .. } | Chain::Direct { frame } => {
            word_in_doubt(memory, at(state, frame))?
        }
        Chain::Marked { record, frame, .. } | Chain::Shims { record, frame, .. } => {
            let record = word_in_doubt(memory, at(state, record))?;
            word_in_doubt(memory, at(record, frame))?
        }
    };
    Some(frame != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    struct Words(BTreeMap<u64, u64>);

    impl Memory for Words {
        fn word(&mut self, address: u64) -> Option<u64> {
            self.0.get(&address).copied()
        }

        fn bytes(&mut self, _: u64, _: &mut [u8]) -> bool {
            false
        }
    }

    const RUNTIME: u64 = 0x10000;
    const OWN: u64 = 0x1000;
    const SUB: u64 = 0x2000;
    const OTHERS: u64 = 0x3000;

    /// Python 3.9: a thread with a state in each of two interpreters, and another thread.
    struct Program {
        words: Words,
        states: States,
    }

    impl Program {
        fn new() -> Self {
            let states = [(OWN, 0xA, 1), (SUB, 0xB, 1), (OTHERS, 0xA, 2)];
            let words = states.iter().flat_map(|&(state, interpreter, thread)| {
                [
                    (state + 16, interpreter),
                    (state + 176, thread),
                    (state + 24, 0),
                ]
            });
            Self {
                words: Words(words.collect()),
                states: States::default(),
            }
        }

        fn run(&mut self, holder: u64, is_in_loop: bool) -> (u64, u64) {
            self.words.0.insert(RUNTIME + 568, holder);
            let known = Known {
                state: OWN,
                thread: 1,
                is_in_loop,
            };
            let layout = Layout::of(9).unwrap();
            running(layout, &mut self.words, RUNTIME, known, &mut self.states)
        }

        fn frame(&mut self, state: u64, frame: u64) {
            self.words.0.insert(state + 24, frame);
        }
    }

    #[test]
    fn the_holder_is_the_thread_or_another() {
        let mut program = Program::new();
        assert_eq!(program.run(OWN, true), (OWN, 0));
        assert_eq!(program.run(OTHERS, false), (OWN, 0));
        assert_eq!(program.run(OTHERS, true), (OWN, 0), "the same interpreter");
        assert_eq!(program.run(SUB, false), (SUB, OWN));
        // Started by another thread, and recognised once it was seen to run here.
        program.words.0.insert(SUB + 176, 2);
        program.states = States::default();
        assert_eq!(program.run(SUB, false), (OWN, 0));
        assert_eq!(program.run(SUB, true), (SUB, OWN));
        assert_eq!(program.run(SUB, false), (SUB, OWN));
    }

    #[test]
    fn without_the_lock_the_frames_decide() {
        let mut program = Program::new();
        program.frame(SUB, 0x77);
        assert_eq!(program.run(0, false), (OWN, 0), "it was never seen there");
        assert_eq!(program.run(SUB, true), (SUB, OWN));
        assert_eq!(program.run(0, false), (SUB, OWN));
        assert_eq!(program.run(OTHERS, false), (SUB, OWN));
        program.frame(SUB, 0);
        assert_eq!(program.run(0, false), (OWN, 0));
        program.words.0.clear();
        assert_eq!(program.run(0, false), (OWN, 0), "it was freed");
    }

    #[test]
    fn from_3_12_on_the_last_one_is_known() {
        let mut states = States::default();
        let mut run = |state| {
            let known = Known {
                state,
                ..Known::default()
            };
            let layout = Layout::of(12).unwrap();
            let all = [(OWN, 0xA), (SUB, 0xB), (OTHERS, 0xB)];
            let words = all.map(|(state, interpreter)| (state + 16, interpreter));
            let mut words = Words(words.into());
            running(layout, &mut words, RUNTIME, known, &mut states)
        };
        assert_eq!(run(OWN), (OWN, 0));
        assert_eq!(run(SUB), (SUB, OWN));
        assert_eq!(run(SUB), (SUB, OWN));
        assert_eq!(run(OWN), (OWN, SUB), "it has no frames then");
        assert_eq!(run(OTHERS), (OTHERS, OWN));
        assert_eq!(run(SUB), (SUB, OWN), "the same interpreter");
    }
}
