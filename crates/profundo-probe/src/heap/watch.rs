//! Recording an allocation that was chosen: its stack, who made it, and its end.
//!
//! It runs on the thread that allocates, inside of its allocator. Whoever calls sees to it that the
//! thread does not come in here a second time, out of a signal handler.

use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

use super::followed::Block;
use super::here::Here;
use super::{Few, Followed, Rooms, Rows, SWITCH, Traces};
use crate::heap::rows::Entry;
use crate::{Probe, clock, regs};

/// How many blocks are followed at most.
pub const MOST_FOLLOWED: usize = 1 << 20;

/// The walk itself, and whoever called it: see [`Watch::allocated`].
const OURS: usize = 2;

/// What was recorded.
#[derive(Debug)]
pub struct Tables {
    /// The allocations.
    pub rows: Rows,
    /// Their stacks.
    pub traces: Traces,
}

/// Where allocations are recorded. It is there for good: a thread may be about to look into it at any
/// time. Its tables are not.
#[derive(Debug)]
pub struct Watch {
    /// Null before the first recording. Replaced, and freed, only while nothing is recorded and nobody
    /// is inside.
    pub tables: AtomicPtr<Tables>,
    /// Those that were not freed yet.
    pub followed: &'static Followed<MOST_FOLLOWED>,
    /// What is asked first about each that is freed.
    pub few: &'static Few,
    /// Where stacks are walked into.
    pub rooms: Rooms,
    /// Not 0, in memory that a child process has as zeros: whatever was going on at a fork must not
    /// go on there.
    pub is_ours: &'static AtomicU32,
    /// How many threads are in here.
    pub inside: AtomicU32,
    /// How many blocks were recorded and are not followed.
    pub unfollowed: AtomicU64,
}

impl Watch {
    /// Runs `work` if allocations are recorded by the rule of this number; whoever ends that waits
    /// until all of these are done.
    fn while_recording(&self, rule: u64, work: impl FnOnce(&Tables)) {
        if self.is_ours.load(Ordering::Relaxed) == 0 {
            return;
        }
        // SeqCst pairs with who turns the switch and then looks whether somebody is inside: either
        // we see the switch as it is now, or he sees us.
        self.inside.fetch_add(1, Ordering::SeqCst);
        let wanted = SWITCH.load_in_order();
        let tables = self.tables.load(Ordering::SeqCst);
        // SAFETY: null, or tables that are there as long as somebody is inside who has seen after he came
        // in that allocations are recorded.
        let tables = unsafe { tables.as_ref() };
        if let Some(tables) = tables
            && wanted.is_recording()
            && wanted.rule() == rule
        {
            work(tables);
        }
        // SeqCst, like the look in `is_quiet`: what was written is seen by who sees nobody inside.
        self.inside.fetch_sub(1, Ordering::SeqCst);
    }

    /// Whether nobody is recording at this instant. Once true after the switch was turned off, nobody
    /// does who has not seen it turned on again.
    pub fn is_quiet(&self) -> bool {
        self.inside.load(Ordering::SeqCst) == 0
    }

    /// Records a block that the calling thread has just been given. The function that calls this one
    /// and this one are left out of its stack: neither is inlined, and each has a frame.
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

    /// Lets go of a block that is about to be freed, or moved. Returns its number if it was followed.
    #[cold]
    #[inline(never)]
    pub fn let_go(&self, rule: u64, address: u64) -> Option<Block> {
        let mut found = None;
        self.while_recording(rule, |_| found = self.followed.remove(self.few, address));
        found
    }

    /// Notes that a block is gone that was let go, perhaps before its thread had allocated anything else.
    #[cold]
    #[inline(never)]
    pub fn freed(&self, rule: u64, block: Block, is_temporary: bool) {
        self.while_recording(rule, |tables| {
            (tables.rows).note_freed(block.number, clock::now(), is_temporary);
        });
    }

    /// Follows a block again that was let go, because it stays after all.
    #[cold]
    #[inline(never)]
    pub fn keep(&self, rule: u64, block: Block) {
        // There was room for it a moment ago. If that is taken now, the block is taken for one that stays.
        self.while_recording(rule, |_| {
            if self.followed.insert(self.few, block).is_err() {
                self.unfollowed.fetch_add(1, Ordering::Relaxed);
            }
        });
    }
}
