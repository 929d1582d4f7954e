//! Recording a sampled allocation: its stack, its thread, and its end.
//!
//! The watch runs on the thread that allocates, inside of its allocator. The caller keeps the
//! thread from reentering this from a signal handler.

use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

use super::followed::Block;
use super::here::Here;
use super::{Few, Followed, Rooms, Rows, SWITCH, Traces};
use crate::heap::rows::Entry;
use crate::{Probe, clock, regs};

/// The number of blocks followed at most.
pub const MOST_FOLLOWED: usize = 1 << 20;

/// The functions left out of the stack, the walk itself and its caller: see [`Watch::allocated`].
const OURS: usize = 2;

/// The tables of a recording.
#[derive(Debug)]
pub struct Tables {
    /// The allocations.
    pub rows: Rows,
    /// Their stacks.
    pub traces: Traces,
}

/// The recording of allocations. It is never freed: a thread may read it at any time. Its tables
/// may be freed.
#[derive(Debug)]
pub struct Watch {
    /// Null before the first recording. Replaced, and freed, only while nothing is recorded and no
    /// thread is inside.
    pub tables: AtomicPtr<Tables>,
    /// The live recorded blocks.
    pub followed: &'static Followed<MOST_FOLLOWED>,
    /// The filter that is checked first for each freed block.
    pub few: &'static Few,
    /// The buffers for walks.
    pub rooms: Rooms,
    /// Not 0, in memory that a child process has as zeros: a recording under way at a fork must not
    /// go on there.
    pub is_ours: &'static AtomicU32,
    /// The number of threads inside.
    pub inside: AtomicU32,
    /// The number of blocks recorded but not followed.
    pub unfollowed: AtomicU64,
}

impl Watch {
    /// Runs `work` if allocations are recorded by the rule of this number; ending a rule waits
    /// until all of these are done.
    fn while_recording(&self, rule: u64, work: impl FnOnce(&Tables)) {
        if self.is_ours.load(Ordering::Relaxed) == 0 {
            return;
        }
        // SeqCst pairs with the thread that turns the switch and then checks for threads inside:
        // either we see its switch, or it sees us.
        self.inside.fetch_add(1, Ordering::SeqCst);
        let wanted = SWITCH.load_in_order();
        let tables = self.tables.load(Ordering::SeqCst);
        // SAFETY: null, or tables that are there as long as a thread is inside that has seen, after
        // it came in, that allocations are recorded.
        let tables = unsafe { tables.as_ref() };
        if let Some(tables) = tables
            && wanted.is_recording()
            && wanted.rule() == rule
        {
            work(tables);
        }
        // SeqCst, like the load in `is_idle`: a thread that sees no one inside sees all that was
        // written.
        self.inside.fetch_sub(1, Ordering::SeqCst);
    }

    /// Whether no thread is recording at this instant. Once true after the switch was turned off,
    /// no thread does before it sees the switch turned on again.
    pub fn is_idle(&self) -> bool {
        self.inside.load(Ordering::SeqCst) == 0
    }

    /// Records a block just allocated by the calling thread. This function and its caller are left
    /// out of the stack: neither is inlined, and each has a frame.
    #[inline(never)]
    pub fn allocated(&self, probe: &Probe, rule: u64, address: u64, size: u64) {
        let registers = regs::here();
        self.while_recording(rule, |Tables { rows, traces }| {
            let Some(Here { slot, trace, clock }) =
                probe.stack_here(registers, OURS, &self.rooms, traces, usize::MAX)
            else {
                return rows.lose();
            };
            let entry = Entry {
                size,
                clock,
                freed: 0,
                task: slot.task(),
                thread: slot.number(),
                trace,
                rule: rule as u32,
                is_temporary: false,
                span: slot.span(),
            };
            let Some(number) = rows.write(entry) else {
                return;
            };
            let block = Block {
                address,
                number,
                size,
            };
            if self.followed.insert(self.few, block).is_err() {
                self.unfollowed.fetch_add(1, Ordering::Relaxed);
            }
        });
    }

    /// Stops following a block that is about to be freed, or moved. Returns its number if it was
    /// followed.
    #[cold]
    #[inline(never)]
    pub fn let_go(&self, rule: u64, address: u64) -> Option<Block> {
        let mut found = None;
        self.while_recording(rule, |_| found = self.followed.remove(self.few, address));
        found
    }

    /// Notes that a released block is gone, perhaps before its thread allocated anything else.
    #[cold]
    #[inline(never)]
    pub fn freed(&self, rule: u64, block: Block, is_temporary: bool) {
        self.while_recording(rule, |tables| {
            (tables.rows).note_freed(block.number, clock::now(), is_temporary);
        });
    }

    /// Follows a released block again, because it stays after all.
    #[cold]
    #[inline(never)]
    pub fn keep(&self, rule: u64, block: Block) {
        // There was room for it a moment ago. If that is taken now, the block counts as one that
        // stays.
        self.while_recording(rule, |_| {
            if self.followed.insert(self.few, block).is_err() {
                self.unfollowed.fetch_add(1, Ordering::Relaxed);
            }
        });
    }
}
