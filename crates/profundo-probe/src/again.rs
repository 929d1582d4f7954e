//! A walk that a handler could not finish, and how the command finishes it.
//!
//! A library that was loaded a moment ago is in no list yet, so its frames have no rows. The handler
//! then keeps the registers and the stack beside its sample, and whoever has the rows walks once more.
//! That is seldom, but it takes up to a hundred times the room of a sample: the command says how much
//! of it there may be.

use core::cell::Cell;

use profundo_unwind::{End, General, Memory, Modules, Observer, Regs, walk_observed};
use profundo_wire::{AGAIN_HEAD_WORDS, Again, AgainHead, PythonEnd};

use crate::buffer::{Buffer, Room};
use crate::memory::StackMemory;
use crate::python;
use crate::recorder::Recorder;
use crate::regs;
use crate::threads::Slot;

/// How much of the stack is kept, in words: half of a chunk.
const MOST_STACK: usize = 4096;

/// Notes whether a walk came upon code in no listed module.
#[derive(Debug, Default)]
pub(crate) struct Unlisted(pub(crate) bool);

impl Observer for Unlisted {
    #[inline]
    fn frame(&mut self, _: usize, _: u64, _: u64, _: u64) {}

    fn unlisted(&mut self) {
        self.0 = true;
    }
}

/// What a walk began with.
#[derive(Debug)]
pub(crate) struct Beginning<'a> {
    pub(crate) recorder: &'a Recorder,
    pub(crate) slot: &'a Slot,
    pub(crate) registers: Regs,
    pub(crate) general: &'a General,
    pub(crate) stack_end: u64,
    /// Whether the walk came upon code in no listed module.
    pub(crate) is_unlisted: &'a Cell<bool>,
}

/// The interpreter's part: how its entries are found again.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Entries {
    /// How many there are.
    pub(crate) count: usize,
    pub(crate) is_by_order: bool,
    pub(crate) is_partial: bool,
}

impl Beginning<'_> {
    /// Whether the walk is to be done again.
    #[inline]
    pub(crate) fn is_wanted(&self) -> bool {
        self.is_unlisted.get()
    }

    /// Writes behind the first `used` words of a room, which are a record, what it takes to walk its
    /// stack again, if there is room for it, here or in another chunk. `places` writes the places of
    /// the entries. Returns where the record is then, and all that is used.
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
        let before = AGAIN_HEAD_WORDS + entries.count;
        if !self.recorder.may_write_again(before + stack) {
            return (room, used);
        }
        let room = buffer.roomier(room, used, before + stack);
        let behind = room.words.get_mut(used..).unwrap_or_default();
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
        let kept = AgainHead {
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

/// Walks the stack of a sample again, by these modules and what `memory` reads, into `out`. The
/// entries among the interpreter's words get the frames that they belong to now. `evaluation` says
/// where the evaluation loop lies. Returns how deep the stack is, and why the walk ended.
pub fn walk_again(
    again: &Again<'_>,
    modules: &Modules<'_>,
    memory: &mut impl Memory,
    evaluation: &[(u64, u64)],
    (python, python_end): (&mut [u64], PythonEnd),
    out: &mut [u64],
) -> (usize, End) {
    let registers = regs::from_words(again.head.registers);
    let general = General(again.head.general);
    let mut merge = python::Merge::again(python, again.places);
    let (depth, end) =
        walk_observed(registers, &general, modules, None, memory, out, &mut merge);
    merge.finish();
    if again.head.is_by_order {
        let stack = out.get(..depth).unwrap_or_default();
        let is_whole = end == End::Root && again.is_all_of_python(python_end);
        python::pair_again(python, stack, evaluation, is_whole);
    }
    (depth, end)
}
