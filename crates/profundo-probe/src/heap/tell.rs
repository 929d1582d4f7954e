//! An allocation becomes a record: the stack that asked for it, and the block behind it.
//!
//! It is the same walk that a sample of a clock is, but from a call of ours, so it begins where that
//! returns to. A handler that comes meanwhile finds the thread's slot busy, and adds its time to the next
//! sample's.

use core::sync::atomic::Ordering;

use profundo_unwind::{General, Regs};
use profundo_wire::{Block, Freed, Site, State};

use crate::again::Told;
use crate::sample::{ALL_REGISTERS, Event, Probe, SystemCall};
use crate::{clock, regs, sys};

/// The registers of a thread that has called a function of ours, as they are when that returns.
#[derive(Debug, Clone, Copy)]
pub struct Caller {
    /// Where it goes on, its stack pointer and its frame pointer.
    pub registers: Regs,
    /// What else it may find its frames by: `rbx` on x86-64.
    pub base: u64,
}

impl Caller {
    fn general(&self) -> General {
        /// By DWARF's numbers for x86-64.
        const BASE: usize = 3;
        const FRAME: usize = 6;
        const STACK: usize = 7;
        let mut general = [0; 16];
        if cfg!(target_arch = "x86_64") {
            (general[BASE], general[FRAME]) = (self.base, self.registers.fp);
            general[STACK] = self.registers.sp;
        }
        General(general)
    }
}

/// Why something was not told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Untold {
    /// Samples are not wanted at present.
    Unwanted,
    /// The thread is in a handler that has interrupted the telling of something else, or it is not known.
    Stranger,
    /// There is no room.
    Full,
}

impl Probe {
    /// Tells of a block that the calling thread has been given. The clock is filled in.
    pub fn tell_block(&self, caller: &Caller, block: Block) -> Result<(), Untold> {
        self.tell_stack(caller, |clock| Told::Block(Block { clock, ..block }))
    }

    /// Tells which number the calling thread's stack has. The clock is filled in.
    pub fn tell_site(&self, caller: &Caller, site: Site) -> Result<(), Untold> {
        self.tell_stack(caller, |clock| Told::Site(Site { clock, ..site }))
    }

    fn tell_stack(&self, caller: &Caller, told: impl Fn(u64) -> Told) -> Result<(), Untold> {
        if !self.is_enabled() {
            return Err(Untold::Unwanted);
        }
        let mut result = Err(Untold::Full);
        // The program may be on a stack that is just large enough for itself.
        self.stacks
            .run_elsewhere(|| result = self.tell_here(caller, &told));
        result
    }

    fn tell_here(&self, caller: &Caller, told: impl Fn(u64) -> Told) -> Result<(), Untold> {
        let clock = clock::now();
        let slot = self
            .threads
            .enter(sys::thread_id(), regs::thread_pointer())
            .ok_or(Untold::Stranger)?;
        if slot.busy.swap(true, Ordering::Relaxed) {
            return Err(Untold::Stranger);
        }
        let event = Event {
            weight: 0,
            state: State::Allocating,
            tag: 0,
            system_call: SystemCall::Never,
            only_if_wanted: false,
        };
        // What a function keeps for its caller may be anywhere; where a walk needs it, it ends.
        let unknown = || [0; ALL_REGISTERS];
        let registers = (caller.registers, caller.general());
        let written = self.write_sample(slot, (event, clock), registers, unknown, told(clock));
        slot.busy.store(false, Ordering::Relaxed);
        if written { Ok(()) } else { Err(Untold::Full) }
    }

    /// Tells that a block was freed. The clock is filled in. False: there is no room.
    pub fn tell_freed(&self, freed: Freed) -> bool {
        let pointer = self.buffer.load(Ordering::SeqCst);
        // SAFETY: an agent's buffer is never freed.
        let Some(buffer) = (unsafe { pointer.as_ref() }) else {
            return false;
        };
        let words = Freed {
            clock: clock::now(),
            ..freed
        }
        .to_words();
        let Some(room) = buffer.open_beside(words.len()) else {
            return false;
        };
        let Some(place) = room.words.first_chunk_mut() else {
            buffer.abandon(room);
            return false;
        };
        *place = words;
        let claim = buffer.commit_others(room, words.len());
        if let Some(recorder) = &self.recorder
            && buffer.claims().is_filling(claim)
        {
            recorder.ask_to_drain();
        }
        true
    }
}
