//! The stack of the calling thread, seen from a function of ours, kept in the table of stacks.

use profundo_unwind::{Regs, walk};

use super::{Rooms, Trace, Traces};
use crate::memory::StackMemory;
use crate::sample::wire_end;
use crate::slot::Slot;
use crate::{Probe, clock, regs, sys};

/// The place of the calling thread.
#[derive(Debug, Clone, Copy)]
pub struct Here {
    /// The thread's slot.
    pub slot: &'static Slot,
    /// The number of its stack.
    pub trace: u32,
    /// The cycle counter at the walk.
    pub clock: u64,
}

impl Probe {
    /// Walks from these registers, those of a function on the stack, and keeps the stack: without
    /// its `ours` innermost functions, and with `most` of the others. `None`: there is no room.
    pub fn stack_here(
        &self,
        registers: Regs,
        ours: usize,
        rooms: &Rooms,
        traces: &Traces,
        most: usize,
    ) -> Option<Here> {
        let clock = clock::now();
        let tid = sys::thread_id();
        let thread_pointer = regs::thread_pointer();
        let slot = self.threads.enter(tid, thread_pointer)?;
        let stack_end = self.stack_end(tid, registers.sp, thread_pointer);
        let mut memory = StackMemory::new(slot, registers.sp, stack_end);
        let trace = rooms.with(|room| {
            let most = most.saturating_add(ours).min(room.len());
            let room = room.get_mut(..most)?;
            let (depth, end, generation) = self.with_listing(|listing| {
                let (depth, end) = walk(registers, &listing.modules, &mut memory, room);
                (depth, end, listing.generation)
            });
            let addresses = room.get_mut(ours.min(depth)..depth)?;
            if let Some(leaf) = addresses.first_mut() {
                // A leaf is taken for the instruction that runs; this one is a return address.
                *leaf = leaf.wrapping_sub(1);
            }
            let end = wire_end(end) as u8;
            let trace = Trace {
                addresses,
                end,
                generation,
            };
            traces.intern(trace, clock)
        });
        Some(Here {
            slot,
            trace: trace.flatten()?,
            clock,
        })
    }
}
