//! An allocation becomes a record: the stack that asked for it, and the block behind it.
//!
//! It is the same walk that a sample of a clock is, but from a call of ours, so it begins where that
//! returns to. A handler that comes meanwhile finds the thread's slot busy, and adds its time to the next
//! sample's.

use core::cell::Cell;
use core::sync::atomic::{AtomicU32, Ordering};

use profundo_unwind::{General, Regs};
use profundo_wire::{Block, Freed, Site, Source, State};

use crate::again::Told;
use crate::heap::ReadLog;
use crate::heap::known::{Beginning, Besides, Known};
use crate::heap::sites::{Hash, Sites};
use crate::python::Interpreter;
use crate::sample::{ALL_REGISTERS, Event, Probe, SystemCall};
use crate::shared::SITES;
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
    fn besides(&self) -> Besides {
        Besides {
            frame_pointer: self.registers.fp,
            general: self.base,
        }
    }

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

/// How stacks get numbers.
#[derive(Debug)]
pub struct Numbers<'a> {
    /// What the thread knows.
    pub known: &'a mut Known,
    /// What the process knows.
    pub sites: &'a Sites,
    /// The last number.
    pub count: &'a AtomicU32,
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
        let told = |clock| Told::Block(Block { clock, ..block });
        self.tell_stack(caller, told, None)
    }

    /// The number of the stack that the calling thread has come from, which is told if it gets one now.
    /// 0 if there is none for it.
    ///
    /// # Safety
    /// The thread has just come from there, and `known` is its own.
    #[inline]
    pub unsafe fn site(&self, caller: &Caller, source: Source, numbers: Numbers<'_>) -> u32 {
        let registers = &caller.registers;
        let beginning = Beginning {
            registers: [registers.ip, registers.sp],
            state: self.interpreter_state(),
            generation: self.generation(),
            source: source as u64,
        };
        let besides = caller.besides();
        // SAFETY: the caller vouches; the state is the one that it has now.
        match unsafe { numbers.known.find(&beginning, &besides) } {
            Some(site) => site,
            None => self.new_site(caller, source, beginning, numbers),
        }
    }

    #[cold]
    #[inline(never)]
    fn new_site(
        &self,
        caller: &Caller,
        source: Source,
        beginning: Beginning,
        numbers: Numbers<'_>,
    ) -> u32 {
        /// Milliseconds until a command that does not empty the ring is no longer waited for.
        const PATIENCE: u32 = 200;
        let Numbers {
            known,
            sites,
            count,
        } = numbers;
        /// As above, until code that came a moment ago is listed.
        const NEWS: u32 = 50;
        let mut left = PATIENCE;
        let mut news = NEWS;
        let began = clock::now();
        if known.is_too_deep(&beginning, began) {
            return 0;
        }
        loop {
            known.log.clear();
            // The hash, the number, and whether it is new.
            let found = Cell::new((0, 0, false));
            let generation = self.generation();
            let waits = Cell::new(false);
            let ask = |hash: u64| {
                // Its walk will be right as soon as the command has seen what was loaded.
                if known.log.met_unlisted() && news > 0 && !sites.is_settled(generation) {
                    waits.set(true);
                    return None;
                }
                let hash = Hash::new(hash).with(&[source as u64]).finish();
                if let Some(number) = sites.find(hash) {
                    found.set((hash, number, false));
                    return None;
                }
                let number = count.fetch_add(1, Ordering::Relaxed) + 1;
                if number as usize >= SITES {
                    count.fetch_sub(1, Ordering::Relaxed);
                    return None;
                }
                found.set((hash, number, true));
                Some(Site {
                    clock: 0,
                    number,
                    source,
                })
            };
            let told = self.tell_stack(caller, |_| Told::Ask(&ask), Some(&known.log));
            if waits.get() {
                news -= 1;
                if news == 0 {
                    sites.settle(self.generation());
                }
                sys::sleep_a_millisecond();
                continue;
            }
            let (hash, mut number, is_new) = found.get();
            match told {
                Ok(()) if is_new => number = sites.insert(hash, number),
                Ok(()) => {}
                Err(Untold::Full) if left > 0 => {
                    left -= 1;
                    sys::sleep_a_millisecond();
                    continue;
                }
                Err(_) => return 0,
            }
            known.remember(beginning, caller.besides(), number);
            known.rest_after(&beginning, (began, clock::now()));
            return number;
        }
    }

    /// The interpreter's state of the calling thread; 0 if there is none.
    #[inline]
    fn interpreter_state(&self) -> u64 {
        let interpreter = self.recorder.as_ref().and_then(|own| own.python.get());
        interpreter.map_or(0, Interpreter::thread_state)
    }

    fn tell_stack<'a>(
        &self,
        caller: &Caller,
        told: impl Fn(u64) -> Told<'a>,
        log: Option<&ReadLog>,
    ) -> Result<(), Untold> {
        if !self.is_enabled() {
            return Err(Untold::Unwanted);
        }
        let mut result = Err(Untold::Full);
        // The program may be on a stack that is just large enough for itself.
        self.stacks
            .run_elsewhere(|| result = self.tell_here(caller, &told, log));
        result
    }

    fn tell_here<'a>(
        &self,
        caller: &Caller,
        told: impl Fn(u64) -> Told<'a>,
        log: Option<&ReadLog>,
    ) -> Result<(), Untold> {
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
        let told = (told(clock), log);
        let written = self.write_sample(slot, (event, clock), registers, unknown, told);
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
