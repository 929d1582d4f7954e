//! A walk that a handler could not finish, for the command to finish.
//!
//! A library that was loaded a moment ago is in no list yet, so its frames have no rows. The
//! handler then keeps the registers and the stack beside its sample, and the command walks it once
//! more when it has the rows. That is rare, but it takes up to a hundred times the room of a
//! sample: the command sets the limit.

use core::cell::Cell;

use profundo_unwind::{End, General, Memory, Modules, Observer, Regs, walk_observed};
use profundo_wire::{
    BLOCK_WORDS, Block, CALL_WORDS, Call, PythonEnd, REWALK_HEAD_WORDS, Rewalk, RewalkHead,
    SITE_WORDS, SampleHead, Site,
};

use crate::buffer::{Buffer, Room};
use crate::memory::StackMemory;
use crate::python;
use crate::recorder::Recorder;
use crate::regs;
use crate::slot::Slot;

/// The largest kept part of the stack in words: half of a chunk.
const MOST_STACK: usize = 4096;

/// Notes whether a walk reached code in no listed module.
#[derive(Debug, Default)]
pub(crate) struct Unlisted(pub(crate) bool);

impl Observer for Unlisted {
    #[inline]
    fn frame(&mut self, _: usize, _: u64, _: u64, _: u64) {}

    fn unlisted(&mut self) {
        self.0 = true;
    }
}

/// The inputs of a walk.
#[derive(Debug)]
pub(crate) struct Beginning<'a> {
    pub(crate) recorder: &'a Recorder,
    pub(crate) slot: &'a Slot,
    pub(crate) registers: Regs,
    pub(crate) general: &'a General,
    pub(crate) stack_end: u64,
    /// Whether the walk reached code in no listed module.
    pub(crate) is_unlisted: &'a Cell<bool>,
    /// The limit of kept frames, if it is less than the room.
    pub(crate) most: Option<usize>,
    /// The record that follows the sample.
    pub(crate) trailer: Trailer<'a>,
}

/// The record that follows a sample.
#[derive(Clone, Copy, Default)]
pub(crate) enum Trailer<'a> {
    #[default]
    Nothing,
    /// The descriptor of the interrupted system call.
    Call(Call),
    /// The allocated block.
    Block(Block),
    /// The allocated block, and a function that keeps the stack for the next allocation.
    Kept(&'a dyn Fn(&SampleHead, &[u64]), Block),
    /// The number of the stack.
    Site(Site),
    /// A function that gives a number to a new stack; for a known stack, nothing is written.
    Ask(&'a dyn Fn(&SampleHead, &[u64]) -> Option<Site>),
}

impl core::fmt::Debug for Trailer<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Nothing => f.write_str("Nothing"),
            Self::Call(call) => call.fmt(f),
            Self::Block(block) | Self::Kept(_, block) => block.fmt(f),
            Self::Site(site) => site.fmt(f),
            Self::Ask(_) => f.write_str("Ask"),
        }
    }
}

impl Trailer<'_> {
    /// The record for this stack. `None`: neither a record nor the stack is written.
    #[inline]
    pub(crate) fn of(self, head: &SampleHead, stack: &[u64]) -> Option<Self> {
        match self {
            Self::Ask(ask) => Some(Self::Site(ask(head, stack)?)),
            Self::Kept(keep, block) => {
                keep(head, stack);
                Some(Self::Block(block))
            }
            trailer => Some(trailer),
        }
    }

    /// The number of its words.
    pub(crate) fn words(&self) -> usize {
        match self {
            Self::Nothing => 0,
            Self::Call(_) => CALL_WORDS,
            Self::Block(_) | Self::Kept(..) => BLOCK_WORDS,
            Self::Site(_) | Self::Ask(_) => SITE_WORDS,
        }
    }
}

/// The interpreter's part: the way in which its entries are found again.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Entries {
    /// The number of entries.
    pub(crate) count: usize,
    pub(crate) is_by_order: bool,
    pub(crate) is_partial: bool,
}

impl Beginning<'_> {
    /// Whether the walk has to be repeated.
    #[inline]
    pub(crate) fn is_wanted(&self) -> bool {
        self.is_unlisted.get()
    }

    /// Appends the record behind the sample to the first `used` words of a room, if there is room
    /// for it. Returns the new number of used words.
    #[inline]
    pub(crate) fn append_trailer(
        &self,
        trailer: Trailer<'_>,
        words: &mut [u64],
        used: usize,
    ) -> usize {
        let behind = words.get_mut(used..used + trailer.words());
        let Some(behind) = behind else {
            return used;
        };
        match trailer {
            Trailer::Nothing | Trailer::Ask(_) => {}
            Trailer::Call(call) => behind.copy_from_slice(&call.to_words()),
            Trailer::Block(block) | Trailer::Kept(_, block) => {
                behind.copy_from_slice(&block.to_words())
            }
            Trailer::Site(site) => behind.copy_from_slice(&site.to_words()),
        }
        used + behind.len()
    }

    /// Appends the data to walk the stack again to the first `used` words of a room, which are a
    /// record, if there is room for it, here or in another chunk. `places` writes the places of the
    /// entries. Returns the place of the record, and the number of used words.
    #[cold]
    pub(crate) fn append<'b>(
        &self,
        buffer: &'b Buffer,
        room: Room<'b>,
        used: usize,
        entries: Entries,
        places: impl FnOnce(&mut [u64]) -> bool,
    ) -> (Room<'b>, usize) {
        let mut memory = StackMemory::new(self.slot, self.registers.sp, self.stack_end);
        let stack = memory.words_above(self.registers.sp, MOST_STACK);
        let before = REWALK_HEAD_WORDS + entries.count;
        if !self.recorder.may_write_rewalk(before + stack) {
            return (room, used);
        }
        let trailer = self.trailer.words();
        let room = buffer.roomier(room, used, before + stack + trailer);
        let most = room.words.len().saturating_sub(trailer);
        let behind = room.words.get_mut(used..most).unwrap_or_default();
        let Some((head, behind)) = behind.split_first_chunk_mut() else {
            return (room, used);
        };
        let Some((beside, behind)) = behind.split_at_mut_checked(entries.count) else {
            return (room, used);
        };
        if !places(beside) {
            return (room, used);
        }
        let out = behind.get_mut(..stack).unwrap_or_default();
        let kept = RewalkHead {
            is_by_order: entries.is_by_order,
            is_partial: entries.is_partial,
            places: entries.count as u16,
            stack: memory.copy(self.registers.sp, out) as u32,
            registers: regs::to_words(self.registers),
            general: self.general.0,
        };
        *head = kept.to_words();
        let words = kept.words();
        (room, used + words)
    }
}

/// Walks the stack of a sample again, with these modules and reads by `memory`, into `out`. The
/// entries among the interpreter's words get the frames that they belong to now. `evaluation` has
/// the addresses of the evaluation loop. Returns the depth of the stack, and the reason why the
/// walk ended.
pub fn walk_again(
    again: &Rewalk<'_>,
    modules: &Modules<'_>,
    memory: &mut impl Memory,
    evaluation: &[(u64, u64)],
    python: &mut [u64],
    python_end: PythonEnd,
    out: &mut [u64],
) -> (usize, End) {
    let registers = regs::from_words(again.head.registers);
    let general = General(again.head.general);
    let mut merge = python::Merge::with_places(python, again.places);
    let (depth, end) = walk_observed(registers, &general, modules, None, memory, out, &mut merge);
    merge.finish();
    let stack = out.get(..depth).unwrap_or_default();
    if !again.head.is_by_order {
        python::close_again(python, stack, evaluation);
    } else {
        let is_whole = end == End::Root && again.is_all_of_python(python_end);
        python::pair_again(python, stack, evaluation, is_whole);
    }
    (depth, end)
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;
    use profundo_unwind::{Module, Row, Rule, TableRef};
    use profundo_wire::PythonWord;
    use std::vec::Vec;

    const BASE: u64 = 0x1000;
    const STACK: u64 = 0x7000;

    struct Stack<'a>(&'a [u64]);

    impl Memory for Stack<'_> {
        fn read(&mut self, address: u64) -> Option<u64> {
            let index = address.checked_sub(STACK)? / 8;
            self.0.get(index as usize).copied()
        }
    }

    /// Functions of 0x10 bytes that have pushed one word each; the last one has no caller.
    fn rows() -> [Row; 5] {
        let rule = |at, rule| Row::new(at, rule);
        [
            rule(0x00, Rule::sp(16)),
            rule(0x10, Rule::sp(16)),
            rule(0x20, Rule::sp(16)),
            rule(0x30, Rule::ROOT),
            rule(0x40, Rule::NONE),
        ]
    }

    /// Three frames below the root.
    const WORDS: [u64; 6] = [7, BASE + 0x15, 8, BASE + 0x25, 9, BASE + 0x35];

    /// Walks that again, with two entries of the interpreter.
    fn again(is_by_order: bool, places: &[u64], evaluation: &[(u64, u64)]) -> (Vec<u64>, Vec<u64>) {
        let rows = rows();
        let table = TableRef {
            base: BASE,
            rows: &rows,
            index: &[0, 5],
        };
        let (start, end) = (BASE, BASE + 0x40);
        let modules = [Module { start, end, table }];
        let head = RewalkHead {
            is_by_order,
            places: places.len() as u16,
            stack: WORDS.len() as u32,
            registers: [BASE + 5, STACK, 0, 0],
            ..RewalkHead::default()
        };
        let again = Rewalk {
            head,
            places,
            stack: &WORDS,
        };
        let entry = PythonWord::Entry { native: None }.to_word();
        let mut python = [1 << 32, entry, 2 << 32, entry];
        let mut out = [0; 8];
        let modules = Modules::new(&modules);
        let memory = &mut Stack(&WORDS);
        let (depth, end) = walk_again(
            &again,
            &modules,
            memory,
            evaluation,
            &mut python,
            PythonEnd::Whole,
            &mut out,
        );
        assert_eq!(end, End::Root);
        (out[..depth].to_vec(), python.to_vec())
    }

    fn entries(python: &[u64]) -> Vec<Option<u16>> {
        let words = python.iter().map(|&word| PythonWord::from_word(word));
        words
            .filter_map(|word| match word {
                PythonWord::Entry { native } => Some(native),
                PythonWord::Frame { .. } => None,
            })
            .collect()
    }

    #[test]
    fn a_walk_is_done_again_with_the_interpreters_frames() {
        let places = [STACK + 0x10, STACK + 0x20];
        let (frames, python) = again(false, &places, &[]);
        let expected = [BASE + 5, BASE + 0x15, BASE + 0x25, BASE + 0x35];
        assert_eq!(frames, expected);
        assert_eq!(entries(&python), [Some(1), Some(2)]);
        assert_eq!((python[0], python[2]), (1 << 32, 2 << 32));
        // A missing place leaves the others as they are.
        let (_, python) = again(false, &places[..1], &[]);
        assert_eq!(entries(&python), [Some(1), None]);
    }

    #[test]
    fn frames_of_an_old_interpreter_are_paired_again() {
        let loops = [(BASE + 0x10, BASE + 0x20), (BASE + 0x30, BASE + 0x40)];
        let (_, python) = again(true, &[], &loops);
        assert_eq!(entries(&python), [Some(1), Some(3)]);
    }
}
