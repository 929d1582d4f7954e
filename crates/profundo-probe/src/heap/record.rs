//! An allocation becomes a record: the stack that asked for it, and the block behind it.
//!
//! The walk is that of a clock's sample, but from a call of ours, so it begins at the call's return
//! address. A handler that comes meanwhile finds the thread's slot busy, and adds its time
//! to the next sample's.

use core::cell::Cell;
use core::sync::atomic::Ordering;

use super::pens::NotWritten;

use profundo_unwind::{General, Memory as _, Regs};
use profundo_wire::{
    BLOCK_WORDS, Block, Freed, SAMPLE_HEAD_WORDS, SampleHead, Site, Source, State,
};

use crate::buffer::Buffer;
use crate::claims::Claim;
use crate::event::{Event, SystemCall};
use crate::heap::known::{Beginning, Besides, Known, KnownRoom};
use crate::heap::recall::{Kept, Recall};
use crate::heap::sites::{Hash, Means, Sites, Walked};
use crate::memory::StackMemory;
use crate::probe::Probe;
use crate::python::Interpreter;
use crate::rewalk::Trailer;
use crate::sample::{Extras, Instant};
use crate::shared::{SITES, SumsHeader};
use crate::{clock, regs, sys};

/// The registers of a thread at its return from a function of ours.
#[derive(Debug, Clone, Copy)]
pub struct Caller {
    /// The return address, the stack pointer and the frame pointer.
    pub registers: Regs,
    /// Another register for finding frames: `rbx` on x86-64.
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
        /// DWARF's number for x86-64.
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

/// The number of frames kept of a stack when there is little room, native ones and Python's each:
/// more than there are between most lines and their callees. And the number when there is hardly
/// any room left.
const SHORT: usize = 96;
const SHORTEST: usize = 16;

/// The number of frames kept of a stack that is too deep for a whole walk each time: more than
/// nested imports have, so that those keep the line of the program that they began with.
const DEEP: usize = 256;

/// The number of frames kept of a new stack: fewer where there is little room for more stacks, or
/// where the recorder is late.
fn room_for(header: &SumsHeader) -> Option<usize> {
    let count = header.sites.load(Ordering::Relaxed) as usize;
    if count > SITES / 16 * 15 {
        Some(SHORTEST)
    } else if count > SITES / 4 * 3 || header.stacks.free() == 0 {
        Some(SHORT)
    } else {
        None
    }
}

/// The means to give numbers to stacks.
#[derive(Debug)]
pub struct Numbers<'a> {
    /// The thread's knowledge.
    pub known: &'a mut Known,
    /// The limit of the knowledge of all its threads.
    pub room: &'a KnownRoom,
    /// The process's knowledge.
    pub sites: &'a Sites,
    /// The source of numbers, and the file for their meaning.
    pub means: Means<'a>,
}

/// The reason why nothing was recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotRecorded {
    /// Samples are not wanted at present.
    Unwanted,
    /// The thread is in a handler that has interrupted another recording, or it has no slot.
    NoFreeSlot,
    /// There is no room.
    Full,
}

/// Writes a stack and a block behind it; returns the claim to go on with. `None`: there is no room.
fn write_kept(
    buffer: &Buffer,
    claim: Option<Claim>,
    head: &SampleHead,
    stack: &[u64],
    block: &Block,
) -> Option<Claim> {
    let words = SAMPLE_HEAD_WORDS + stack.len() + BLOCK_WORDS;
    let mut room = buffer.open(claim)?;
    if room.words.len() < words {
        buffer.abandon(room);
        room = buffer.open_for(words)?;
    }
    let place = room.words.get_mut(..words).filter(|_| {
        let frames = head.frames.into();
        buffer.reserve(frames) == Some(frames)
    });
    let Some((first, rest)) = place.and_then(|place| place.split_first_chunk_mut()) else {
        buffer.abandon(room);
        return None;
    };
    *first = head.to_words();
    let (middle, last) = rest.split_at_mut(stack.len());
    middle.copy_from_slice(stack);
    last.copy_from_slice(&block.to_words());
    Some(buffer.commit(room, words))
}

impl Probe {
    /// Records a block that was allocated by the calling thread. The clock is filled in.
    pub fn record_block(&self, caller: &Caller, block: Block) -> Result<(), NotRecorded> {
        let trailer = |clock| Trailer::Block(Block { clock, ..block });
        if !self.is_enabled() {
            return Err(NotRecorded::Unwanted);
        }
        self.record_stack(caller, trailer, Extras::default())
    }

    /// As [`Self::record_block`], but the stack is walked only if the thread does not remember it.
    ///
    /// # Safety
    /// The thread has just come from there, and `recall` is its own.
    pub unsafe fn record_block_with(
        &self,
        recall: &mut Recall,
        caller: &Caller,
        block: Block,
    ) -> Result<(), NotRecorded> {
        if !self.is_enabled() {
            return Err(NotRecorded::Unwanted);
        }
        let now = clock::now();
        // SAFETY: the caller vouches. The caller of the allocator has the same stack.
        let (beginning, besides) = (unsafe { self.beginning(caller, 0) }, caller.besides());
        // SAFETY: as above; the state is its present one.
        if let Some(kept) = unsafe { recall.find(&beginning, &besides, now) } {
            let clock = now;
            return self.record_kept(&kept, Block { clock, ..block });
        }
        recall.walk(beginning, besides, now, |log, keep| {
            let extras = Extras {
                log: Some(log),
                ..Extras::default()
            };
            let trailer = |clock| Trailer::Kept(keep, Block { clock, ..block });
            self.record_stack(caller, trailer, extras)
        })
    }

    /// Records a block whose stack was written before.
    fn record_kept(&self, kept: &Kept<'_>, block: Block) -> Result<(), NotRecorded> {
        let slot = self
            .threads
            .enter(sys::thread_id(), regs::thread_pointer())
            .ok_or(NotRecorded::NoFreeSlot)?;
        if slot.busy.swap(true, Ordering::Relaxed) {
            return Err(NotRecorded::NoFreeSlot);
        }
        let head = SampleHead {
            clock: block.clock,
            task: slot.task(),
            thread: slot.number(),
            tid: slot.tid(),
            span: match (slot.span(), self.interpreter()) {
                // SAFETY: the calling thread has called an allocator.
                (0, Some(interpreter)) => unsafe { interpreter.current_span() },
                (span, _) => span,
            },
            ..kept.head
        };
        let written = self.record_in(
            |identity| slot.claim(identity),
            |buffer, claim| write_kept(buffer, claim, &head, kept.words, &block),
        );
        if let Some((identity, claim)) = written {
            slot.set_claim(identity, Some(claim));
            slot.samples.fetch_add(1, Ordering::Relaxed);
        }
        slot.busy.store(false, Ordering::Relaxed);
        written.map(drop).ok_or(NotRecorded::Full)
    }

    /// The number of the calling thread's stack, which is written if it is new, whether samples are
    /// wanted or not. 0 if there is no number for it.
    ///
    /// # Safety
    /// The thread has just come from there, and `known` is its own. `now` is the cycle counter.
    #[inline]
    pub unsafe fn site(
        &self,
        caller: Caller,
        source: Source,
        now: u64,
        numbers: Numbers<'_>,
    ) -> u32 {
        // SAFETY: the caller vouches.
        let beginning = unsafe { self.beginning(&caller, source as u64) };
        let besides = caller.besides();
        // SAFETY: the caller vouches; the state is its present one.
        let whole = || unsafe { self.whole_hint(beginning.state) };
        // SAFETY: the caller vouches.
        match unsafe { numbers.known.find(&beginning, &besides, now, whole) } {
            Some(site) => site,
            None => self.new_site(&caller, source, beginning, numbers),
        }
    }

    /// The interpreter in this process.
    #[inline]
    fn interpreter(&self) -> Option<&'static Interpreter> {
        self.recorder.as_ref()?.python.get()
    }

    /// The inputs of a walk from here.
    ///
    /// # Safety
    /// The calling thread has just come from there.
    #[inline]
    unsafe fn beginning(&self, caller: &Caller, source: u64) -> Beginning {
        let Regs { ip, sp, .. } = caller.registers;
        let interpreter = self.interpreter();
        let state = interpreter.map_or(0, Interpreter::thread_state);
        // SAFETY: the thread runs with that state.
        let leaf = interpreter.map_or(0, |interpreter| unsafe { interpreter.leaf_hint(state) });
        Beginning {
            registers: [ip, sp],
            state,
            leaf,
            generation: self.generation(),
            source,
        }
    }

    /// A hint that distinguishes the stack of the interpreter's frames from most others.
    ///
    /// # Safety
    /// The calling thread runs with that state.
    #[inline(never)]
    unsafe fn whole_hint(&self, state: u64) -> u64 {
        let interpreter = self.interpreter();
        // SAFETY: the caller vouches.
        interpreter.map_or(0, |interpreter| unsafe { interpreter.chain_hint(state) })
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
        let Numbers {
            known,
            room,
            sites,
            means,
        } = numbers;
        let began = clock::now();
        let most = match known.is_too_deep(&beginning, began) {
            true => Some(room_for(means.header).unwrap_or(DEEP)),
            false => room_for(means.header),
        };
        known.begin_walk(began);
        let before = means.header.sites.load(Ordering::Relaxed);
        let found = Cell::new(None);
        let ask = |head: &SampleHead, words: &[u64]| {
            // The recorder walks it once more when it knows the code, so all of it is written.
            let is_unlisted = known.log.met_unlisted();
            let walked = Walked {
                head,
                source,
                words,
                rest: is_unlisted.then(|| self.code_on_stack(caller)),
            };
            found.set(self.write_with(means, || sites.number(means, &walked)));
            let (number, unknown) = found.get()?;
            unknown.map(|_| Site {
                clock: head.clock,
                number,
                source,
            })
        };
        let mut are_written = true;
        let walked = known.walk_buffer.with(
            |buffer| {
                let extras = Extras {
                    log: Some(&known.log),
                    trails: Some(&known.trails),
                    beside: Some(buffer),
                    most,
                    ..Extras::default()
                };
                self.record_stack(caller, |_| Trailer::Ask(&ask), extras)
            },
            // New code objects, and stacks that are walked once more.
            |records| {
                let written = self.write_with(means, || sites.write_records(means, records));
                are_written &= written.is_some();
            },
        );
        let Some((number, unknown)) = found.get().filter(|_| walked.is_ok() && are_written) else {
            return 0;
        };
        if let Some(hash) = unknown {
            sites.insert(hash, number, means.memory);
        }
        known.note_walk(number <= before);
        known.remember(beginning, caller.besides(), number, room);
        known.rest_after(&beginning, began, clock::now());
        number
    }

    /// Writes something new. Asks the recorder for room in good time, and waits for it only when
    /// there is none.
    fn write_with<T>(
        &self,
        means: Means<'_>,
        write: impl Fn() -> Result<T, NotWritten>,
    ) -> Option<T> {
        /// Pens are held for a microsecond, unless the holder is taken off the CPU.
        const ROUNDS: usize = 50;
        let taken = &means.header.stacks.taken;
        let before = taken.load(Ordering::Relaxed);
        for _ in 0..ROUNDS {
            match write() {
                Ok(written) => {
                    if taken.load(Ordering::Relaxed) != before {
                        self.ask_for_room();
                    }
                    return Some(written);
                }
                Err(NotWritten::Busy) => sys::let_others_run(),
                Err(NotWritten::Full) if self.wait_for_room(means.header) => {}
                Err(NotWritten::Full | NotWritten::Never) => return None,
            }
        }
        None
    }

    /// Asks the recorder to check soon whether there is room enough.
    #[cold]
    pub fn ask_for_room(&self) {
        if let Some(recorder) = &self.recorder {
            recorder.ask_to_drain();
        }
    }

    /// Waits until the recorder has given room, for a few milliseconds at most, and only once for a
    /// recorder that does not answer. Returns whether it has.
    #[cold]
    pub fn wait_for_room(&self, header: &SumsHeader) -> bool {
        const TURNS: usize = 5;
        const TURN: u64 = 1_000_000;
        let room = &header.stacks;
        // Acquire pairs with the release of the recorder.
        let given = room.given.load(Ordering::Acquire);
        let in_vain = given.wrapping_add(1).max(1);
        if room.vain.load(Ordering::Relaxed) == in_vain {
            return false;
        }
        let Some(recorder) = &self.recorder else {
            return false;
        };
        recorder.ring_bell();
        for _ in 0..TURNS {
            sys::futex_wait(&room.given, given, TURN);
            if room.given.load(Ordering::Acquire) != given {
                return true;
            }
        }
        room.vain.store(in_vain, Ordering::Relaxed);
        false
    }

    /// A hash to distinguish stacks whose walk ends early in code that is not listed yet: of all
    /// words on the stack that may be addresses of code.
    #[cold]
    fn code_on_stack(&self, caller: &Caller) -> u64 {
        const MOST: usize = 4096;
        /// The distance from the caller's code within which unlisted code is looked for.
        const NEAR: u64 = 64 << 20;
        let Regs { ip, sp, .. } = caller.registers;
        let thread_pointer = regs::thread_pointer();
        let Some(slot) = self.threads.enter(sys::thread_id(), thread_pointer) else {
            return 0;
        };
        let stack_end = self.stack_end(slot.tid(), sp, thread_pointer);
        let mut memory = StackMemory::new(slot, sp, stack_end);
        let most = memory.words_above(sp, MOST) as u64;
        self.with_listing(|listing| {
            let words = (0..most).map_while(|at| memory.read(sp.wrapping_add(8 * at)));
            let codes = words
                .filter(|&word| word.abs_diff(ip) < NEAR || listing.modules.find(word).is_some());
            let hash = codes.fold(Hash::new(0), |hash, word| hash.with(&[word]));
            hash.finish()
        })
    }

    fn record_stack<'a>(
        &self,
        caller: &Caller,
        trailer: impl Fn(u64) -> Trailer<'a>,
        extras: Extras<'a>,
    ) -> Result<(), NotRecorded> {
        let mut result = Err(NotRecorded::Full);
        // The program may be on a stack with no room to spare.
        self.stacks
            .run_elsewhere(|| result = self.record_here(caller, &trailer, extras));
        result
    }

    fn record_here<'a>(
        &self,
        caller: &Caller,
        trailer: impl Fn(u64) -> Trailer<'a>,
        extras: Extras<'a>,
    ) -> Result<(), NotRecorded> {
        let clock = clock::now();
        let slot = self
            .threads
            .enter(sys::thread_id(), regs::thread_pointer())
            .ok_or(NotRecorded::NoFreeSlot)?;
        if slot.busy.swap(true, Ordering::Relaxed) {
            return Err(NotRecorded::NoFreeSlot);
        }
        let event = Event {
            weight: 0,
            state: State::Allocating,
            tag: 0,
            system_call: SystemCall::Never,
            only_if_wanted: false,
        };
        // Callee-saved registers may be anywhere; a walk that needs one ends.
        let unknown = || [0; regs::ALL];
        let instant = Instant {
            event,
            clock,
            registers: caller.registers,
            general: caller.general(),
        };
        let extras = Extras {
            trailer: trailer(clock),
            ..extras
        };
        let written = self.write_sample(slot, instant, unknown, extras);
        slot.busy.store(false, Ordering::Relaxed);
        if written {
            Ok(())
        } else {
            Err(NotRecorded::Full)
        }
    }

    /// Records that a block was freed. The clock is filled in. False: there is no room.
    pub fn record_freed(&self, freed: Freed) -> bool {
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
